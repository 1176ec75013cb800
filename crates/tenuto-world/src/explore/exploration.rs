//! A plan's mode changes explored, and counterexamples played again.

use super::Settings;
use super::frames::Interned;
use super::properties::Finding;
use super::retrace::retrace;
use super::search::{Outcome, search};
use super::trace::{Step, Trace};
use super::world::Fixed;
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
    Ok(found.map(|(finding, steps)| told(finding, steps)))
}

/// Replays a trace and tells which property it violates, if it still does.
///
/// # Errors
/// In words, if a step is not possible: the trace is of another plan or other settings.
pub fn replay(plan: &Plan, settings: &Settings, trace: &Trace) -> Result<Option<Trace>, String> {
    let mut frames = Interned::default();
    let (fixed, start) = Fixed::new(plan, settings, &mut frames)?;
    let actions = trace.steps.iter().map(|step| &step.action);
    let again = retrace(&start, actions, &fixed, &mut frames)?;
    Ok(again.finding.map(|finding| told(finding, again.steps)))
}

fn told((property, finding): Finding, steps: Vec<Step>) -> Trace {
    Trace { schema: "tenuto-trace/1".into(), property: property.name().into(), finding, steps }
}
