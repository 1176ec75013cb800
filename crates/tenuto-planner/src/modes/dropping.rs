//! Switches that may keep lines idle at a raise, while they ask queued frames where they belong (theory, "What a swap costs a
//! frame that stays").

use crate::input::topology::{Node, Topology};
use crate::routes::Tree;
use std::collections::BTreeSet;
use tenuto_units::wire_bits;

/// Whether a node asks too slowly for each of its ports to know its next frame when the one before has left: ports ask in turn, for a frame
/// that leaves and for the one behind it.
pub(crate) fn may_idle(topology: &Topology<'_>, trees: &[Tree]) -> Vec<bool> {
    let behind = trees.iter().flat_map(|tree| tree.hops.iter().filter(|hop| hop.parent.is_some()));
    let used: BTreeSet<usize> = behind.map(|hop| hop.server).collect();
    let asks_late = |(node, it): (usize, &Node<'_>)| {
        let purge_ns = it.profile.map_or(0, |profile| profile.purge_frame_ns_max);
        let servers = used.iter().map(|&server| &topology.servers[server]);
        let own: Vec<u64> =
            servers.filter(|egress| egress.node == node).map(|egress| egress.rate_bps).collect();
        let fastest_bps = own.iter().copied().max().unwrap_or(0);
        let asked_ns = 2 * own.len() as u128 * u128::from(purge_ns);
        asked_ns * u128::from(fastest_bps) > u128::from(wire_bits(64)) * 1_000_000_000
    };
    topology.nodes.iter().enumerate().map(asks_late).collect()
}
