//! Lines that may be idle at a raise while frames wait: their switch asks queued frames where they belong.
//!
//! Ports ask in turn, for a frame that leaves and for the one behind it. Where that takes no longer than the smallest frame on
//! the line, each port knows its next frame in time. Else a line is idle for no longer than all that its switch asks takes.

use crate::rows::context::Context;
use std::collections::BTreeSet;

/// Bits of the smallest frame on the wire.
const SMALLEST_BITS: u128 = 84 * 8;

/// Whether lines of a node may be idle at a raise while frames wait.
pub(crate) fn may_idle(context: &Context<'_>, node: usize) -> bool {
    let net = context.net;
    let places = context.streams.iter().flat_map(|stream| &stream.tree);
    let behind = places.filter(|place| place.parent.is_some()).map(|place| place.port);
    let ports: BTreeSet<usize> = behind.filter(|port| net.ports[*port].node == node).collect();
    let fastest_bps = ports.iter().map(|port| net.ports[*port].rate_bps).max().unwrap_or(0);
    let purge_ns = net.profile(node).map_or(0, |it| u128::from(it.purge_frame_ns_max));
    let asked_ns = 2 * purge_ns * ports.len() as u128;
    asked_ns.saturating_mul(fastest_bps.into()) > SMALLEST_BITS * 1_000_000_000
}
