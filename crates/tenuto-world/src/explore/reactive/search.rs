//! Breadth-first search over fingerprints: the first counterexample found is a shortest one.

use super::super::frames::Interned;
use super::Settings;
use super::properties::{Finding, check_end, check_step};
use super::scenario::Fixed;
use super::trace::{Action, Step, Trace};
use super::world::World;
use std::collections::{HashSet, VecDeque};
use std::hash::BuildHasherDefault;
use tenuto_dataplane::switch::WordHasher;

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
    /// A run that violates a property.
    pub counterexample: Option<Trace>,
}

/// How a state was first reached.
struct Origin {
    parent: u32,
    action: Option<Action>,
    depth: usize,
}

/// Explores a scenario, telling states visited and states waiting every so often.
///
/// # Errors
/// In words, if the settings fit no scenario.
pub fn explore(
    settings: &Settings,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Outcome, String> {
    let mut frames = Interned::default();
    let (fixed, start) = Fixed::new(settings, &mut frames)?;
    let mut visited = HashSet::<u128, BuildHasherDefault<WordHasher>>::default();
    visited.insert(start.fingerprint(&frames));
    let mut origins = vec![Origin { parent: 0, action: None, depth: 0 }];
    let mut queue = VecDeque::from([(0_u32, start.clone())]);
    let mut outcome =
        Outcome { states: 1, transitions: 0, depth: 0, is_exhaustive: true, counterexample: None };
    while let Some((id, world)) = queue.pop_front() {
        let (must, may) = world.actions(&fixed, &frames);
        if must.is_empty()
            && let Some(finding) = check_end(&world, &fixed)
        {
            let steps = path(&origins, id, None);
            outcome.counterexample = Some(trace(&start, &fixed, &mut frames, finding, steps));
            return Ok(outcome);
        }
        for action in must.into_iter().chain(may) {
            let Some((next, _)) = world.after(&action, &fixed, &mut frames) else { continue };
            outcome.transitions += 1;
            if let Some(finding) = check_step(&next, &fixed) {
                let steps = path(&origins, id, Some(action));
                outcome.counterexample = Some(trace(&start, &fixed, &mut frames, finding, steps));
                return Ok(outcome);
            }
            if !visited.insert(next.fingerprint(&frames)) {
                continue;
            }
            if origins.len() >= settings.states_max {
                outcome.is_exhaustive = false;
                continue;
            }
            let number = u32::try_from(origins.len()).map_err(|error| error.to_string())?;
            let depth = origins[id as usize].depth + 1;
            origins.push(Origin { parent: id, action: Some(action), depth });
            outcome.states = origins.len();
            outcome.depth = depth;
            if outcome.states.is_multiple_of(10_000) {
                progress(outcome.states, queue.len());
            }
            queue.push_back((number, next));
        }
    }
    Ok(outcome)
}

fn path(origins: &[Origin], mut id: u32, last: Option<Action>) -> Vec<Action> {
    let mut steps: Vec<Action> = last.into_iter().collect();
    while let Origin { parent, action: Some(action), .. } = &origins[id as usize] {
        steps.push(action.clone());
        id = *parent;
    }
    steps.reverse();
    steps
}

fn trace(
    start: &World,
    fixed: &Fixed,
    frames: &mut Interned,
    (property, finding): Finding,
    actions: Vec<Action>,
) -> Trace {
    let mut world = start.clone();
    let mut steps = Vec::new();
    for action in actions {
        // The very actions that led here are possible again.
        let Some((next, note)) = world.after(&action, fixed, frames) else { break };
        world = next;
        steps.push(Step { action, note });
    }
    Trace {
        schema: "tenuto-reactive-trace/1".into(),
        property: property.name().into(),
        finding,
        steps,
    }
}

/// Replays a trace and gives it as it goes now, with the property that it violates; `None` if it
/// violates nothing any more.
///
/// # Errors
/// In words, if a step is not possible: the trace is of other settings or of another version.
pub fn replay(settings: &Settings, trace: &Trace) -> Result<Option<Trace>, String> {
    let mut frames = Interned::default();
    let (fixed, start) = Fixed::new(settings, &mut frames)?;
    let mut world = start;
    let mut steps = Vec::new();
    let schema = trace.schema.clone();
    for (number, step) in (1..).zip(&trace.steps) {
        let (must, may) = world.actions(&fixed, &frames);
        let is_possible = must.contains(&step.action) || may.contains(&step.action);
        let next = world.after(&step.action, &fixed, &mut frames).filter(|_| is_possible);
        let impossible = || format!("step {number} is not possible here: {}", step.action);
        let (next, note) = next.ok_or_else(impossible)?;
        world = next;
        steps.push(Step { action: step.action.clone(), note });
        let (must, _) = world.actions(&fixed, &frames);
        let end = || must.is_empty().then(|| check_end(&world, &fixed)).flatten();
        if let Some((property, finding)) = check_step(&world, &fixed).or_else(end) {
            let property = property.name().into();
            return Ok(Some(Trace { schema, property, finding, steps }));
        }
    }
    Ok(None)
}
