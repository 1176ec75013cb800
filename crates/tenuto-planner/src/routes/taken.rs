//! What copies of a flow keep to themselves.

use super::tree::Tree;
use crate::input::topology::Topology;
use tenuto_model::Apart;

/// What a copy of a flow has for itself: its switches, or its links.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    apart: Apart,
    all: Vec<usize>,
}

impl Taken {
    pub(super) const fn nothing() -> Self {
        Self { apart: Apart::Switches, all: Vec::new() }
    }

    /// By trees of other copies.
    pub(super) fn by<'a>(
        topology: &Topology<'_>,
        apart: Apart,
        trees: impl Iterator<Item = &'a Tree>,
    ) -> Self {
        let hops = trees.flat_map(|tree| &tree.hops);
        let all = match apart {
            Apart::Links => hops.map(|hop| hop.server / 2).collect(),
            Apart::Switches => {
                let from = hops.map(|hop| topology.servers[hop.server].node);
                from.filter(|&node| !topology.nodes[node].is_host()).collect()
            }
        };
        Self { apart, all }
    }

    /// Whether a port is none for this copy.
    pub(super) fn forbids(&self, server: usize, peer: usize) -> bool {
        self.all.contains(&match self.apart {
            Apart::Links => server / 2,
            Apart::Switches => peer,
        })
    }
}
