//! Lines that may be idle at a raise while frames wait: their switch asks queued frames where they belong.
//!
//! Ports ask in turn, for a frame that leaves and for the one behind it. Where that takes no longer than the smallest frame on
//! the line, each port knows its next frame in time. Else a line is idle for no longer than all that its switch asks takes.

use crate::rows::context::Context;
use std::collections::{BTreeMap, BTreeSet};

/// Bits of the smallest frame on the wire.
const SMALLEST_BITS: u128 = 84 * 8;

/// Nodes whose lines may be idle at a raise while frames wait.
pub(crate) fn may_idle(context: &Context<'_>) -> BTreeSet<usize> {
    let net = context.net;
    let places = context.streams.iter().flat_map(|stream| &stream.tree);
    let used: BTreeSet<usize> =
        places.filter(|place| place.parent.is_some()).map(|place| place.port).collect();
    let mut by_node: BTreeMap<usize, (u128, u64)> = BTreeMap::new();
    for info in used.into_iter().map(|port| &net.ports[port]) {
        let (ports, fastest_bps) = by_node.entry(info.node).or_default();
        (*ports, *fastest_bps) = (*ports + 1, info.rate_bps.max(*fastest_bps));
    }
    let asks_late = |&(node, (ports, fastest_bps)): &(usize, (u128, u64))| {
        let purge_ns = net.profile(node).map_or(0, |it| u128::from(it.purge_frame_ns_max));
        let asked_ns = 2 * purge_ns * ports;
        asked_ns.saturating_mul(fastest_bps.into()) > SMALLEST_BITS * 1_000_000_000
    };
    by_node.into_iter().filter(asks_late).map(|(node, _)| node).collect()
}
