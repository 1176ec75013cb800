//! Which nodes a message passes: only what stalls there says anything of its delay.

use std::collections::BTreeSet;
use tenuto_model::Plan;

/// The nodes on the way of every flow to every target, over all its copies.
#[derive(Clone, Debug)]
pub(super) struct Paths(Vec<Vec<BTreeSet<String>>>);

impl Paths {
    pub(super) fn new(plan: &Plan) -> Self {
        let nodes = |flow: &tenuto_model::Flow, target: &String| {
            let mut nodes = BTreeSet::from([flow.source.clone(), target.clone()]);
            let routes = plan.routes.iter().filter(|route| route.flow == flow.name);
            let paths = routes.flat_map(|route| &route.paths).filter(|p| p.target == *target);
            nodes.extend(paths.flat_map(|path| &path.ports).map(|port| port.node.clone()));
            nodes
        };
        let of_flow = |flow: &tenuto_model::Flow| {
            flow.targets.iter().map(|target| nodes(flow, &target.host)).collect()
        };
        Self(plan.network.flows.iter().map(of_flow).collect())
    }

    /// Whether the node is on the way of the flow to its target of this place.
    pub(super) fn passes(&self, flow: usize, place: usize, node: &str) -> bool {
        self.0.get(flow).and_then(|targets| targets.get(place)).is_some_and(|n| n.contains(node))
    }
}
