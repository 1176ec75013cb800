//! What routing gives: one tree of ports per flow and copy.

use crate::input::topology::Topology;
use tenuto_model::{Chosen, Refusal, Route, RoutedCopy};

/// One copy of a flow and the ports that carry it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    /// Index of the flow.
    pub(crate) flow: usize,
    /// Index into the flow's copies.
    pub(crate) copy: Option<usize>,
    /// Ports, parents first.
    pub(crate) hops: Vec<TreeHop>,
    /// Per target, in the flow's order: indices of hops from the source on.
    pub(crate) paths: Vec<Vec<usize>>,
}

/// One port of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TreeHop {
    /// Index of the egress.
    pub(crate) server: usize,
    /// The hop before, `None` at the source.
    pub(crate) parent: Option<usize>,
}

/// What routing gave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    pub(crate) trees: Vec<Tree>,
    /// Per tree, why it is this one.
    pub(crate) chosen: Vec<Chosen>,
    pub(crate) refusals: Vec<Refusal>,
}

/// A tree in the words of the plan.
pub(crate) fn describe(topology: &Topology<'_>, tree: &Tree, chosen: Chosen) -> Route {
    let flow = &topology.network.flows[tree.flow];
    let port = |&hop: &usize| topology.servers[tree.hops[hop].server].port();
    let paths = flow.targets.iter().zip(&tree.paths).map(|(target, path)| RoutedCopy {
        target: target.host.clone(),
        ports: path.iter().map(port).collect(),
    });
    Route {
        flow: flow.name.clone(),
        copy: tree.copy.map(|copy| flow.copies[copy].clone()),
        chosen,
        paths: paths.collect(),
    }
}

/// Why a tree cannot be grown: the place, and the reason in words.
pub(crate) type Refused = (String, String);
