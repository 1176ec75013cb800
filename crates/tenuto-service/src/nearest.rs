//! Which switches are near to the destinations of what a decision changes.

use std::collections::BTreeMap;
use tenuto_model::{Plan, Route};

/// Datapath ids of the switches of changed flows, those next to destinations first: by the largest number of
/// switches that lie between it and a destination. Flows that go against each other have one order only together, so
/// with several the order holds for each as far as the others allow.
pub(crate) fn nearest(old: &Plan, new: &Plan) -> Vec<Vec<u64>> {
    let mut between: BTreeMap<&str, usize> = BTreeMap::new();
    for route in differing(old, new).chain(differing(new, old)) {
        for path in &route.paths {
            // The first port is the source's own.
            for (count, port) in path.ports.iter().skip(1).rev().enumerate() {
                let known = between.entry(port.node.as_str()).or_default();
                *known = count.max(*known);
            }
        }
    }
    let mut waves: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for switch in &new.switches {
        if let Some(count) = between.get(switch.switch.as_str()) {
            waves.entry(*count).or_default().push(switch.datapath_id);
        }
    }
    waves.into_values().collect()
}

/// Routes of flows that the other plan has not, or not so.
fn differing<'a>(plan: &'a Plan, other: &'a Plan) -> impl Iterator<Item = &'a Route> {
    plan.routes.iter().filter(move |route| {
        let is_same = plan.network.flow(&route.flow) == other.network.flow(&route.flow);
        !is_same || !other.routes.contains(route)
    })
}
