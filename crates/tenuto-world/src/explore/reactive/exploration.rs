//! Reactive applications explored, and counterexamples played again.

use super::super::frames::Interned;
use super::super::search::{Outcome, search};
use super::Settings;
use super::properties::{Finding, check_end, check_step};
use super::scenario::Fixed;
use super::trace::{Action, Step, Trace};
use super::world::World;

/// Explores a scenario, telling states visited and states waiting every so often.
///
/// # Errors
/// In words, if the settings fit no scenario.
pub fn explore(
    settings: &Settings,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Outcome<Trace>, String> {
    let mut frames = Interned::default();
    let (fixed, start) = Fixed::new(settings, &mut frames)?;
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
        // The very actions that led here are possible again.
        let Some((next, note)) = world.step(&action, fixed, frames) else { break };
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
        let next = world.step(&step.action, &fixed, &mut frames).filter(|_| is_possible);
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
