//! A port that drops frames of flows that a raise ends takes no longer for them than sending them would: rows of raises
//! count them as sent.
//!
//! The ports of a switch that drop do so in turn, so each of them takes the time of all; and a frame that stays behind
//! one that is dropped is asked where it belongs in the same time.

use crate::description::read::Mode;
use crate::finding::rule;
use crate::rows::context::Context;
use std::collections::{BTreeMap, BTreeSet};

/// Bits of the smallest frame on the wire.
const SMALLEST_BITS: u128 = 84 * 8;

/// Checks every switch, if anything is claimed of raises.
pub(crate) fn check(context: &Context<'_>) {
    let plan = context.plan;
    let is_raise = |mode: &Mode| matches!(mode, Mode::Raise { .. });
    let claims = context.claims.iter().any(|(mode, at)| is_raise(mode) && !at.is_empty());
    if !claims && plan.mode_changes.is_empty() && !plan.feasible {
        return;
    }
    for (node, ports) in dropping(context) {
        let profile = context.net.profile(node);
        let purge_ns = profile.map_or(0, |it| u128::from(it.purge_frame_ns_max));
        let fastest_bps = ports.iter().map(|port| context.net.ports[*port].rate_bps).max();
        let needed_ns = 2 * purge_ns * ports.len() as u128;
        let bits_ns = needed_ns.saturating_mul(fastest_bps.unwrap_or(0).into());
        if bits_ns > SMALLEST_BITS * 1_000_000_000 {
            let claim = format!("{needed_ns} ns for a frame that is dropped");
            let found = "the smallest frame takes less on the fastest line there";
            context.wrong(rule::MODE_CHANGE, context.net.nodes[node].name, claim, found);
        }
    }
}

/// Ports of switches by which flows leave that a raise ends, by node.
fn dropping(context: &Context<'_>) -> BTreeMap<usize, BTreeSet<usize>> {
    let net = context.net;
    let mut all: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for stream in context.streams {
        if net.flows[stream.flow].level + 1 >= net.raw.modes.len() {
            continue;
        }
        for place in stream.tree.iter().filter(|place| place.parent.is_some()) {
            all.entry(net.ports[place.port].node).or_default().insert(place.port);
        }
    }
    all
}
