//! Whether a port that drops frames of flows that a raise ends is as fast as if it sent them (theory, "Raise from level a to
//! level c"), the frame that stays behind one and is asked as well included.

use crate::input::topology::Topology;
use crate::routes::Tree;
use std::collections::BTreeSet;
use tenuto_units::wire_bits;

/// A switch whose ports take longer for frames that they drop than for sending them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlowDrops {
    pub(crate) node: usize,
    /// Ports by which flows leave that a raise ends: each drops in turn.
    pub(crate) ports: usize,
    /// What each of them takes for a frame that it drops and one that stays, picoseconds.
    pub(crate) needed_ps: u64,
    /// The smallest frame on the fastest of their lines, picoseconds.
    pub(crate) available_ps: u64,
}

/// The first switch where it is so, of a network with several modes.
pub(crate) fn slow_drops(topology: &Topology<'_>, trees: &[Tree]) -> Option<SlowDrops> {
    let network = topology.network;
    let ends = |tree: &&Tree| network.flows[tree.flow].level + 1 < network.modes.len();
    let mut dropping: BTreeSet<(usize, usize)> = BTreeSet::new();
    for tree in trees.iter().filter(ends) {
        let behind = tree.hops.iter().filter(|hop| hop.parent.is_some());
        dropping.extend(behind.map(|hop| (topology.servers[hop.server].node, hop.server)));
    }
    let smallest_bits = wire_bits(64);
    let nodes: BTreeSet<usize> = dropping.iter().map(|(node, _)| *node).collect();
    nodes.into_iter().find_map(|node| {
        let servers: Vec<usize> =
            dropping.iter().filter(|(at, _)| *at == node).map(|(_, server)| *server).collect();
        let purge_ns = topology.nodes[node].profile?.purge_frame_ns_max;
        let fastest_bps = servers.iter().map(|&it| topology.servers[it].rate_bps).max()?;
        let asked = 2 * servers.len() as u64;
        let needed_ps = asked.saturating_mul(purge_ns).saturating_mul(1_000);
        let available_ps = smallest_bits.saturating_mul(1_000_000_000_000) / fastest_bps;
        let it = SlowDrops { node, ports: servers.len(), needed_ps, available_ps };
        (needed_ps > available_ps).then_some(it)
    })
}
