//! A plan's mode changes explored, and counterexamples played again.

use super::Settings;
use super::frames::Interned;
use super::properties::Finding;
use super::search::{Explored, Outcome, search};
use super::trace::{Action, Step, Trace};
use super::world::{Fixed, World};
use tenuto_model::Plan;

/// Explores a plan's mode changes.
///
/// # Errors
/// In words, if the settings name flows that do not fit the plan.
pub fn explore(plan: &Plan, settings: &Settings) -> Result<Outcome<Trace>, String> {
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
) -> Result<Outcome<Trace>, String> {
    let mut frames = Interned::default();
    let (fixed, start) = Fixed::new(plan, settings, &mut frames)?;
    let found = search(&start, &fixed, &mut frames, settings.states_max, progress)?;
    Ok(found.map(|(finding, actions)| trace(&start, &fixed, &mut frames, finding, actions)))
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
        let is_end = step.action == Action::Tick && still;
        if let Some(finding) = world.check(&next, is_end, &fixed) {
            return Ok(Some(self::trace(&start, &fixed, &mut frames, finding, done)));
        }
        world = next;
    }
    Ok(None)
}
