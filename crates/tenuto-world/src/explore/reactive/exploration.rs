//! Reactive applications explored, and counterexamples played again.

use super::super::frames::Interned;
use super::super::retrace::retrace;
use super::super::search::{Outcome, search};
use super::Settings;
use super::fixed::Fixed;
use super::property::{Finding, Property};
use super::setup::Setup;
use super::trace::{Step, Trace};
use super::world::World;
use tenuto_controller::reactive::ReactiveApp;
use tenuto_model::Network;

/// Explores a scenario, telling states visited and states waiting every so often.
///
/// # Errors
/// In words, if the settings fit no scenario.
pub fn explore(
    settings: &Settings,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Outcome<Trace>, String> {
    explored(&Fixed::of_scenario(settings)?, settings.states_max, progress)
}

/// Replays a trace and gives it as it goes now, with the property that it violates; `None` if it
/// violates nothing any more.
///
/// # Errors
/// In words, if a step is not possible: the trace is of other settings or of another version.
pub fn replay(settings: &Settings, trace: &Trace) -> Result<Option<Trace>, String> {
    replayed(&Fixed::of_scenario(settings)?, trace)
}

/// Explores an application on a network. Its state is that of its copies: an application that is given in its
/// state at the start.
///
/// # Errors
/// In words, if the set-up does not fit the network, or something is wrong before the first packet.
pub fn explore_on(
    network: &Network,
    app: Box<dyn ReactiveApp>,
    setup: &Setup,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Outcome<Trace>, String> {
    explored(&Fixed::on_network(network, app, setup)?, setup.states_max, progress)
}

/// Replays a trace of [`explore_on`].
///
/// # Errors
/// As [`replay`] and [`explore_on`].
pub fn replay_on(
    network: &Network,
    app: Box<dyn ReactiveApp>,
    setup: &Setup,
    trace: &Trace,
) -> Result<Option<Trace>, String> {
    replayed(&Fixed::on_network(network, app, setup)?, trace)
}

/// What a set-up looks at on a network.
pub fn properties_of(setup: &Setup) -> Vec<Property> {
    super::on_network::properties(setup)
}

fn explored(
    fixed: &Fixed,
    states_max: usize,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Outcome<Trace>, String> {
    let mut frames = Interned::default();
    let start = World::start(fixed, &mut frames)?;
    let mut found = search(&start, fixed, &mut frames, states_max, progress)?;
    if found.counterexample.is_some() && fixed.reductions.lengthen() {
        let all = Fixed { reductions: fixed.reductions.with_every_step(), ..fixed.clone() };
        let shortest = search(&start, &all, &mut frames, states_max, progress)?.counterexample;
        found.counterexample = shortest.or(found.counterexample);
    }
    Ok(found.map(|(finding, steps)| told(finding, steps)))
}

fn replayed(fixed: &Fixed, trace: &Trace) -> Result<Option<Trace>, String> {
    let mut frames = Interned::default();
    let start = World::start(fixed, &mut frames)?;
    let actions = trace.steps.iter().map(|step| &step.action);
    let again = retrace(&start, actions, fixed, &mut frames)?;
    Ok(again.finding.map(|finding| told(finding, again.steps)))
}

fn told((property, finding): Finding, steps: Vec<Step>) -> Trace {
    let schema = "tenuto-reactive-trace/1".into();
    Trace { schema, property: property.name().into(), finding, steps }
}
