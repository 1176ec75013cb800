//! What a switch has to purge at a swap: what waited when the raise was triggered, and what has come since.
//!
//! Until the swap a host that has turned to its higher contract goes on sending, and keeps others back: the
//! backlog of the mode before is not enough.

use crate::description::packets::{WIRE_BITS_MAX, WIRE_BITS_MIN};
use crate::description::read::{Mode, Model, OtherTraffic};
use crate::kernel::exact::ceil_div;
use crate::rows::context::Context;
use num_bigint::BigInt;
use std::collections::{BTreeMap, BTreeSet};

/// Picoseconds of a second.
const PS_PER_S: u128 = 1_000_000_000_000;

/// The time in which every switch purges, by node, picoseconds; `None` without a bound.
pub(crate) type PurgeTimes = BTreeMap<usize, Option<u64>>;

/// The time in which every switch purges such backlogs, in whole bits by port.
pub(crate) fn times(
    context: &Context<'_>,
    backlogs: &BTreeMap<usize, Option<BigInt>>,
) -> PurgeTimes {
    let net = context.net;
    let mut by_switch: BTreeMap<usize, Option<BigInt>> = BTreeMap::new();
    for (port, backlog) in backlogs {
        let node = net.ports[*port].node;
        if net.profile(node).is_some_and(|p| p.purge_frame_ns_max > 0) {
            let sum = by_switch.entry(node).or_insert_with(|| Some(BigInt::default()));
            *sum = sum.take().zip(backlog.as_ref()).map(|(sum, backlog)| sum + backlog);
        }
    }
    let time = |(node, bits): (usize, Option<BigInt>)| {
        let frame_ps = net.profile(node).map_or(0, |p| p.purge_frame_ns_max * 1_000);
        let time = bits.map(|bits| ceil_div(bits, WIRE_BITS_MIN.into()) * frame_ps);
        (node, time.and_then(|time| u64::try_from(time).ok()))
    };
    by_switch.into_iter().map(time).collect()
}

/// The longest time in which a switch purges `backlogs`, those of the mode before the trigger, and
/// what comes in the `since_ps` from there to the swap.
pub(crate) fn longest_ps(
    context: &Context<'_>,
    frames: &BTreeMap<usize, u64>,
    backlogs: &BTreeMap<usize, Option<BigInt>>,
    since_ps: u128,
) -> Option<u128> {
    let at_swap = |(&port, backlog): (&usize, &Option<BigInt>)| {
        let node = context.net.ports[port].node;
        let bits = match context.net.device(node) {
            // At a processor that ports share more may wait than lines bring in that time.
            Some(_) => claimed_bits(context, port).map(BigInt::from),
            None => {
                let came = come_bits(context, frames, port, since_ps);
                backlog.as_ref().map(|bits| bits + BigInt::from(came))
            }
        };
        (port, bits)
    };
    let at_swap = backlogs.iter().map(at_swap).collect();
    let mut longest = 0;
    for time in times(context, &at_swap).into_values() {
        longest = longest.max(u128::from(time?));
    }
    Some(longest)
}

/// The largest claim of what waits at a port in any mode or raise; it is checked as every claim is.
fn claimed_bits(context: &Context<'_>, port: usize) -> Option<u64> {
    let is_of = |row: &&crate::description::read::PortRow| {
        !matches!(row.mode, Mode::Return { .. }) && context.net.port(&row.port) == Some(port)
    };
    let claims = context.plan.port_rows.iter().filter(is_of).map(|row| row.backlog_bound_bits);
    claims.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).flatten()
}

/// Bits that lines bring to a port's queue in so long: of each line that feeds it a frame, what is below the
/// scheduler at its other end, and its rate for that time and for what the way to the queue varies by.
fn come_bits(
    context: &Context<'_>,
    frames: &BTreeMap<usize, u64>,
    port: usize,
    since_ps: u128,
) -> u128 {
    let net = context.net;
    let node = net.ports[port].node;
    let carries_other = matches!(net.raw.other_traffic, OtherTraffic::Carry { .. });
    let mut lines: BTreeSet<usize> = BTreeSet::new();
    if carries_other {
        lines.extend((0..net.ports.len()).filter(|line| net.ports[*line].peer == node));
    }
    for stream in context.streams {
        let here = stream.tree.iter().filter(|place| place.port == port);
        lines.extend(here.filter_map(|place| Some(stream.tree[place.parent?].port)));
    }
    let is_for_frames = context.plan.model == Model::StoreAndForward;
    let frame = frames.get(&port).copied().unwrap_or(0);
    let frame = if carries_other { frame.max(WIRE_BITS_MAX) } else { frame };
    let (mut first, mut brought) = (0_u128, 0_u128);
    for line in lines {
        let (info, mut ps) = (&net.ports[line], since_ps);
        if is_for_frames {
            first += u128::from(frame) + u128::from(net.below_scheduler_bits(info.node));
            ps += u128::from(net.latency_jitter_ps(node)) + u128::from(info.tick_ps);
        }
        brought = brought.saturating_add(ps.saturating_mul(info.rate_bps.into()));
    }
    brought.div_ceil(PS_PER_S).saturating_add(first)
}
