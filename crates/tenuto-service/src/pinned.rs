//! Flows as they were decided: routes and ports written down, so that no later decision moves them.

use std::collections::BTreeSet;
use tenuto_model::{Addressing, Network, Plan};

/// The first port that is given to flows that name none.
const PORT_FIRST: u16 = 20_000;

/// The network of a plan with every route that was chosen and every port that was given written down.
pub(crate) fn pinned(plan: &Plan) -> Network {
    let mut network = plan.network.clone();
    // With the window written down: another one would start modes afresh at every switch.
    if network.modes.len() > 1 {
        network.mode_return.quiet_ns = network.mode_return.quiet_ns.or(plan.quiet_ns);
    }
    let addressing = Addressing::new(&plan.network);
    for (index, flow) in network.flows.iter_mut().enumerate() {
        if flow.vl.is_none() {
            flow.udp_port = Some(addressing.flow(index).udp_port);
        }
        for route in plan.routes.iter().filter(|route| route.flow == flow.name) {
            let copy = |name: &String| flow.copies.iter().position(|copy| copy == name);
            let copy = route.copy.as_ref().and_then(copy).unwrap_or(0);
            for path in &route.paths {
                let target = flow.targets.iter_mut().find(|target| target.host == path.target);
                let nodes = path.ports.iter().skip(1).map(|port| port.node.clone());
                if let Some(slot) = target.and_then(|target| target.routes.get_mut(copy)) {
                    *slot = Some(nodes.collect());
                }
            }
        }
    }
    network
}

/// A port that no flow has: one above the highest that was given, or else the least that is free.
pub(crate) fn free_port(network: &Network) -> Option<u16> {
    let taken: BTreeSet<u16> = network.flows.iter().filter_map(|flow| flow.udp_port).collect();
    let above = taken.last().map_or(PORT_FIRST, |last| last.saturating_add(1).max(PORT_FIRST));
    (above..=u16::MAX)
        .chain(1..PORT_FIRST)
        .chain(PORT_FIRST..above)
        .find(|port| !taken.contains(port))
}

/// A network without what may change.
pub(crate) fn bare(network: &Network) -> Network {
    Network { flows: Vec::new(), ..network.clone() }
}
