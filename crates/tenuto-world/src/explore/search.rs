//! Breadth-first search over fingerprints: the first counterexample found is a shortest one.

use super::frames::Interned;
use super::properties::{check_end, check_step};
use super::trace::{Action, Step, Trace};
use super::world::{Fixed, World};
use super::{Property, Settings};
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use tenuto_dataplane::switch::WordHasher;
use tenuto_model::Plan;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Distinct states.
    pub states: usize,
    /// Transitions, those to known states included.
    pub transitions: u64,
    /// Longest shortest path from the start, in steps.
    pub depth: usize,
    /// Whether every reachable state was visited.
    pub is_exhaustive: bool,
    /// Directed links between switches.
    pub links: usize,
    /// A run that violates a property.
    pub counterexample: Option<Trace>,
}

/// Parent and action of every state, for traces.
#[derive(Clone, Debug)]
struct Origin {
    parent: u32,
    action: Action,
    depth: u32,
}

type Visited = HashMap<u128, u32, BuildHasherDefault<WordHasher>>;

/// Explores a plan's mode changes.
///
/// # Errors
/// In words, if the settings name flows that do not fit the plan.
pub fn explore(plan: &Plan, settings: &Settings) -> Result<Outcome, String> {
    explore_with_progress(plan, settings, &mut |_, _| {})
}

/// As [`explore`], telling states visited and states waiting every so often.
///
/// # Errors
/// As [`explore`].
pub fn explore_with_progress(
    plan: &Plan,
    settings: &Settings,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Outcome, String> {
    let mut frames = Interned::default();
    let (fixed, start) = Fixed::new(plan, settings, &mut frames)?;
    let mut visited = Visited::default();
    let mut origins: Vec<Origin> = vec![Origin { parent: 0, action: Action::Tick, depth: 0 }];
    let mut queue = VecDeque::from([(0u32, start.clone())]);
    visited.insert(start.fingerprint(&frames), 0);
    let mut outcome = Outcome {
        states: 1,
        transitions: 0,
        depth: 0,
        is_exhaustive: true,
        links: fixed.links(),
        counterexample: None,
    };
    while let Some((id, world)) = queue.pop_front() {
        let actions = world.actions(&fixed);
        let only_time = actions == [Action::Tick];
        for action in actions {
            let Some(next) = world.after(&action, &fixed, &mut frames) else { continue };
            outcome.transitions += 1;
            let key = next.fingerprint(&frames);
            let mut finding = check_step(&world, &next, &fixed);
            let known = visited.get(&key).copied();
            if only_time && known == Some(id) {
                finding = finding.or_else(|| check_end(&next, &fixed));
            }
            if let Some(finding) = finding {
                let steps = path(&origins, id, action);
                outcome.counterexample = Some(trace(&start, &fixed, &mut frames, finding, steps));
                return Ok(outcome);
            }
            if known.is_some() {
                continue;
            }
            if visited.len() >= settings.states_max {
                outcome.is_exhaustive = false;
                continue;
            }
            let number = u32::try_from(origins.len()).map_err(|error| error.to_string())?;
            let depth = origins[id as usize].depth + 1;
            origins.push(Origin { parent: id, action, depth });
            visited.insert(key, number);
            outcome.states = visited.len();
            outcome.depth = depth as usize;
            if outcome.states.is_multiple_of(10_000) {
                progress(outcome.states, queue.len());
            }
            queue.push_back((number, next));
        }
    }
    Ok(outcome)
}

fn path(origins: &[Origin], mut id: u32, last: Action) -> Vec<Action> {
    let mut steps = vec![last];
    while id != 0 {
        let origin = &origins[id as usize];
        steps.push(origin.action.clone());
        id = origin.parent;
    }
    steps.reverse();
    steps
}

fn trace(
    start: &World,
    fixed: &Fixed,
    frames: &mut Interned,
    (property, finding): (Property, String),
    actions: Vec<Action>,
) -> Trace {
    let mut world = start.clone();
    let mut steps = Vec::new();
    for action in actions {
        let tick = world.tick;
        if let Some(next) = world.after(&action, fixed, frames) {
            world = next;
        }
        steps.push(Step { action, tick, modes: world.modes(fixed) });
    }
    Trace { schema: "tenuto-trace/1".into(), property: property.name().into(), finding, steps }
}

/// Replays a trace in virtual time and tells which property it violates, if it still does.
///
/// # Errors
/// In words, if a step is not possible: the trace is of another plan or other settings.
pub fn replay(plan: &Plan, settings: &Settings, trace: &Trace) -> Result<Option<Trace>, String> {
    let mut frames = Interned::default();
    let (fixed, start) = Fixed::new(plan, settings, &mut frames)?;
    let mut world = start.clone();
    let mut done = Vec::new();
    for (number, step) in (1..).zip(&trace.steps) {
        if !world.actions(&fixed).contains(&step.action) {
            return Err(format!("step {number} is not possible here: {}", step.action));
        }
        let next = world.after(&step.action, &fixed, &mut frames);
        let next = next.ok_or_else(|| format!("step {number} is not possible here"))?;
        done.push(step.action.clone());
        let still = next.fingerprint(&frames) == world.fingerprint(&frames);
        let ended = step.action == Action::Tick && still;
        let finding = check_step(&world, &next, &fixed)
            .or_else(|| ended.then(|| check_end(&next, &fixed)).flatten());
        if let Some(finding) = finding {
            return Ok(Some(self::trace(&start, &fixed, &mut frames, finding, done)));
        }
        world = next;
    }
    Ok(None)
}
