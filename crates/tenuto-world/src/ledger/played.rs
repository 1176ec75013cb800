//! What a scenario was to show: its length, its events, the flows that it sends for certain.

use crate::fault_model;
use tenuto_model::{EventAction, Expect, Flow, Network, Scenario};

/// A flow is expected to be seen in a run of so many of its periods: the first release lies within
/// the first one, and may be served late.
const PERIODS: u64 = 2;

/// What a scenario was to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Length of the scenario as written, nanoseconds.
    pub whole_ns: u64,
    /// So much of it is played, nanoseconds.
    pub play_ns: u64,
    /// Its events: when, nanoseconds after traffic starts, and in words.
    pub events: Vec<(u64, String)>,
    /// Indices of the flows that it sends for certain.
    pub sends: Vec<u16>,
    /// What it expects.
    pub expect: Expect,
}

impl Played {
    /// What a scenario shows where every flow is sent by an end system of ours.
    pub fn simulated(network: &Network, scenario: &Scenario) -> Self {
        let flows = (0_u16..).zip(&network.flows);
        let sent = flows.filter(|(_, flow)| is_sent(flow, scenario));
        let words = |event: &tenuto_model::Event| {
            (event.at_ns, fault_model::describe(&event.action, network))
        };
        Self {
            whole_ns: scenario.whole_ns(),
            play_ns: scenario.duration_ns,
            events: scenario.events.iter().map(words).collect(),
            sends: sent.map(|(index, _)| index).collect(),
            expect: scenario.expect,
        }
    }

    /// What a scenario shows live, where programs of the user's own send what they like.
    pub fn live(network: &Network, scenario: &Scenario) -> Self {
        let mut played = Self::simulated(network, scenario);
        let is_ours = |index: &u16| {
            let flow = network.flows.get(usize::from(*index));
            flow.is_some_and(|flow| !scenario.programs.contains_key(&flow.source))
        };
        played.sends.retain(is_ours);
        played
    }

    /// What a scenario shows where releases are repeated as they were recorded: no flow is sent for certain.
    pub fn repeated(network: &Network, scenario: &Scenario) -> Self {
        Self { sends: Vec::new(), ..Self::simulated(network, scenario) }
    }
}

/// Whether the run is long enough for a message of the flow to arrive, and no event stops it before.
fn is_sent(flow: &Flow, scenario: &Scenario) -> bool {
    let Some(contract) = flow.contract(0) else { return false };
    let deadlines = flow.targets.iter().filter_map(|target| target.deadline_ns.first());
    let arrives_ns = contract.jitter_ns.saturating_add(deadlines.max().copied().unwrap_or(0));
    let first_ns = contract.period_ns.saturating_mul(PERIODS).saturating_add(arrives_ns);
    let stops = |event: &&tenuto_model::Event| matches!(&event.action, EventAction::StopFlow { flow: it } if *it == flow.name);
    let stopped = scenario.events.iter().filter(stops).map(|event| event.at_ns).min();
    first_ns <= scenario.duration_ns && stopped.is_none_or(|at_ns| first_ns <= at_ns)
}
