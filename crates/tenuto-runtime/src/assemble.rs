//! From a plan to the jobs of its nodes.

use crate::protocol::ModesJob;
use std::collections::{BTreeMap, BTreeSet};
use tenuto_model::{HostDeployment, Network, Offsets, Plan, Scenario, SwitchDeployment};
use tenuto_units::Draws;
use tenuto_world::mode_settings;

/// A lab starts afresh: its plan is the first that its switches see.
const GENERATION: u64 = 1;

/// The plan without what only planning needs.
fn bare(plan: &Plan, network: Network) -> Plan {
    Plan {
        schema: plan.schema.clone(),
        version: plan.version.clone(),
        description_digest: plan.description_digest.clone(),
        plan_hash: plan.plan_hash.clone(),
        network,
        model: plan.model,
        as_stated: plan.as_stated,
        line_shaping: plan.line_shaping,
        staircases: plan.staircases,
        feasible: plan.feasible,
        modelled: plan.modelled,
        quiet_ns: plan.quiet_ns,
        signal_copies: plan.signal_copies,
        routes: Vec::new(),
        ports: Vec::new(),
        processors: Vec::new(),
        witnesses: tenuto_model::Witnesses::default(),
        processor_rows: Vec::new(),
        port_rows: Vec::new(),
        flows: Vec::new(),
        mode_changes: Vec::new(),
        switches: Vec::new(),
        hosts: Vec::new(),
        link_losses: Vec::new(),
        refusals: Vec::new(),
        assumptions: Vec::new(),
        ranked: plan.ranked,
    }
}

/// What a switch needs of the plan to be made.
pub(crate) fn switch_plan(plan: &Plan, deployment: &SwitchDeployment) -> Plan {
    let mut network = plan.network.clone();
    network.hosts.clear();
    network.links.clear();
    network.flows.clear();
    network.controllers.clear();
    network.switches.retain(|switch| switch.name == deployment.switch);
    let used: BTreeSet<_> = network.switches.iter().map(|s| s.profile.clone()).collect();
    network.profiles.retain(|name, _| used.contains(name));
    bare(plan, network)
}

/// What a host needs of the plan: names and numbers of all nodes and flows.
pub(crate) fn host_plan(plan: &Plan) -> Plan {
    let mut network = plan.network.clone();
    network.links.clear();
    network.controllers.clear();
    network.profiles.clear();
    bare(plan, network)
}

/// What the switches are told about modes.
pub(crate) fn modes(plan: &Plan) -> ModesJob {
    let settings = mode_settings(plan, GENERATION);
    ModesJob {
        generation: settings.generation,
        levels: settings.levels,
        quiet_ns: settings.quiet_ns,
        signal_copies: settings.signal_copies,
        dwell_ns: settings.dwell_ns,
        members: settings.members,
    }
}

/// Cookies of flows that have no place in the highest mode.
pub(crate) fn out_of_mode(network: &Network) -> BTreeSet<u64> {
    let flows = network.flows.iter().zip(1..);
    flows.filter(|(flow, _)| flow.contracts.len() < network.modes.len()).map(|it| it.1).collect()
}

/// First release of each flow of this host that our sender generates.
pub(crate) fn offsets(
    plan: &Plan,
    deployment: &HostDeployment,
    scenario: &Scenario,
    seed: u64,
) -> BTreeMap<u16, u64> {
    let offset = |flow: u16| match scenario.traffic.offsets {
        Offsets::Zero => 0,
        Offsets::Random => {
            let contract = plan.network.flows.get(usize::from(flow)).and_then(|f| f.contract(0));
            let period_ns = contract.map_or(1, |c| c.period_ns.max(1));
            mix(seed ^ mix(u64::from(flow) + 1)) % period_ns
        }
    };
    deployment.senders.iter().map(|s| (s.flow_index, offset(s.flow_index))).collect()
}

/// Spreads a number over all 64 bits.
pub(crate) const fn mix(seed: u64) -> u64 {
    Draws::new(seed).word()
}
