//! Reactive applications explored, and counterexamples played again.

use super::super::frames::Interned;
use super::super::retrace::retrace;
use super::super::search::{Outcome, search};
use super::Settings;
use super::properties::Finding;
use super::scenario::Fixed;
use super::trace::{Step, Trace};

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
    Ok(found.map(|(finding, steps)| told(finding, steps)))
}

/// Replays a trace and gives it as it goes now, with the property that it violates; `None` if it
/// violates nothing any more.
///
/// # Errors
/// In words, if a step is not possible: the trace is of other settings or of another version.
pub fn replay(settings: &Settings, trace: &Trace) -> Result<Option<Trace>, String> {
    let mut frames = Interned::default();
    let (fixed, start) = Fixed::new(settings, &mut frames)?;
    let actions = trace.steps.iter().map(|step| &step.action);
    let again = retrace(&start, actions, &fixed, &mut frames)?;
    Ok(again.finding.map(|finding| told(finding, again.steps)))
}

fn told((property, finding): Finding, steps: Vec<Step>) -> Trace {
    let schema = "tenuto-reactive-trace/1".into();
    Trace { schema, property: property.name().into(), finding, steps }
}
