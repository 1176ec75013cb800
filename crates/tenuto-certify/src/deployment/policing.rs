//! Meters and monitors: large enough that a conforming message never suffers.
//!
//! How much they let through beyond that is not judged here: the envelopes behind them are built
//! from the deployed values.

use crate::description::net::{Contract, Flow, Net};
use crate::description::read::{self, MonitorKind, Size};
use crate::finding::rule;
use crate::rows::context::Context;
use crate::streams::levels::watching;
use crate::streams::stream::Stream;
use num_bigint::BigInt;

/// The step of a monitor's jitter.
const JITTER_STEP_PS: u128 = 1_000;

/// The delay variation of a stream from its release to the reception by the switch `node`: every
/// delay on the way, the largest of any mode in which the flow takes part, how much the processors of
/// the switches before it vary, and the jitter of every switch up to and including it. `None` if
/// unbounded.
///
/// At its source's port a flow takes part in every mode: a frame that waited there in a mode that
/// does not admit it can reach the meter after the return.
fn variation(context: &Context<'_>, stream: &Stream, node: usize) -> Option<u64> {
    let net = context.net;
    let level = net.flows[stream.flow].level;
    let mut at = stream.tree.iter().position(|place| net.ports[place.port].peer == node);
    let mut sum = net.latency_jitter_ps(node);
    while let Some(here) = at {
        let place = stream.tree[here];
        let (mut largest, mut longest) = (0, 0);
        for mode in context.steady_modes().chain(context.raises()) {
            if let Some(parent) = place.parent
                && crate::streams::levels::levels(mode, level).is_some()
            {
                longest =
                    longest.max(context.conforming_varies_ps(mode, stream.tree[parent].port)?);
            }
            let claim = if place.parent.is_none() {
                context.claim_at_source(mode, stream, place.port)?
            } else if crate::streams::levels::levels(mode, level).is_some() {
                context.claim_for(mode, stream, place.port)?
            } else {
                0
            };
            largest = largest.max(claim);
        }
        sum = sum.checked_add(largest)?.checked_add(longest)?;
        if place.parent.is_some() {
            sum = sum.checked_add(net.latency_jitter_ps(net.ports[place.port].node))?;
        }
        at = place.parent;
    }
    Some(sum)
}

/// Checks the meter and the monitors of every stream.
pub(crate) fn check(context: &Context<'_>) {
    for (index, stream) in context.streams.iter().enumerate() {
        let Some(first) = stream.first_switch else { continue };
        let flow = &context.net.flows[stream.flow];
        let place = format!("{} at {}", flow.raw.name, context.net.nodes[first].name);
        match context.enforced[index].meter {
            Some(meter) => check_meter(context, stream, first, meter, &place),
            None => context.wrong(rule::METER, place, "no meter", "one meter at the first switch"),
        }
        let watching = watching(context.net, stream);
        if watching.is_empty() && crate::streams::levels::is_watched(context.net, stream.flow) {
            let found = "a flow whose contracts differ is watched on its way";
            context.wrong(rule::MONITOR, &flow.raw.name, "no monitor", found);
        }
        for node in watching {
            let place = format!("{} at {}", flow.raw.name, context.net.nodes[node].name);
            match context.attributed.monitor(index, node) {
                Some(one) => check_monitor(context, stream, node, one, &place),
                None => {
                    let found = "one monitor where it is watched, told by the port of each copy";
                    context.wrong(rule::MONITOR, place, "none, or several", found);
                }
            }
        }
    }
}

fn check_meter(
    context: &Context<'_>,
    stream: &Stream,
    node: usize,
    meter: &read::Meter,
    place: &str,
) {
    let (net, scale) = (context.net, &context.scale);
    let Some(profile) = net.profile(node) else { return };
    let variation = variation(context, stream, node);
    if variation.is_none() && context.plan.feasible {
        context.wrong(rule::METER, place, "a meter", "the jitter in front of it is unbounded");
    }
    for contract in &net.flows[stream.flow].contracts {
        let counted = contract.packets.counted_bits(profile.meter_counts);
        let tolerance = 1_000_000 + net.tolerance_ppm;
        let needed = scale.rate(counted, contract.period_ns, tolerance, 1_000_000);
        let least = Some(scale.to_bps_up(&needed));
        net.at_least((rule::METER, place, "bit/s"), "rate", meter.rate_bps, least);
        // Without a bound in front of the meter the flow has none behind it either.
        let Some(variation) = variation else { continue };
        let jitter = BigInt::from(contract.jitter_ps) + variation;
        let needed = scale.bits(counted, 1, 1) + needed * jitter;
        let least = Some(scale.to_bits_up(&needed));
        net.at_least((rule::METER, place, "bit"), "burst", meter.burst_bits(), least);
    }
}

fn check_monitor(
    context: &Context<'_>,
    stream: &Stream,
    node: usize,
    monitor: &read::Monitor,
    place: &str,
) {
    let net = context.net;
    let flow = &net.flows[stream.flow];
    let levels: Vec<usize> = monitor.contracts.iter().map(|c| usize::from(c.level)).collect();
    if !levels.iter().copied().eq(0..=flow.level) {
        let found = format!("one contract per level up to {}", flow.level);
        context.wrong(rule::MONITOR, place, format!("levels {levels:?}"), found);
    }
    if !is_fit(flow, monitor.kind) {
        let found = "messages that are numbered, or frames that are one message each";
        context.wrong(rule::MONITOR, place, format!("{:?}", monitor.kind), found);
    }
    let variation = variation(context, stream, node);
    for (contract, watched) in flow.contracts.iter().zip(&monitor.contracts) {
        check_watched(net, contract, watched, place);
        match variation {
            Some(variation) => {
                let jitter = u128::from(contract.jitter_ps) + u128::from(variation);
                check_watched_jitter(net, watched, jitter, place);
            }
            None if context.plan.feasible => {
                let found = "the jitter in front of it is unbounded";
                context.wrong(rule::MONITOR, place, "a monitor", found);
            }
            None => {}
        }
    }
}

fn is_fit(flow: &Flow<'_>, kind: MonitorKind) -> bool {
    match kind {
        // It reads the numbers of messages, which stand in front of messages only.
        MonitorKind::Message => {
            flow.raw.contracts.iter().all(|c| matches!(c.size, Size::Message(_)))
        }
        MonitorKind::Frame => flow.contracts.iter().all(|c| c.packets.is_one_frame()),
    }
}

/// Size and period of one level, as the monitor has them.
fn check_watched(net: &Net<'_>, contract: &Contract, watched: &read::LevelContract, place: &str) {
    let bytes = contract.packets.wire_bytes();
    if u64::from(watched.bytes_max) != bytes {
        let claim = format!("{} B in level {}", watched.bytes_max, watched.level);
        net.wrong(rule::MONITOR, place, claim, format!("{bytes} B on the wire"));
    }
    let kept = u128::from(1_000_000 - net.tolerance_ppm);
    let period = u128::from(contract.period_ns) * kept / 1_000_000;
    // Behind a host that may babble what the monitor lets through is analysed as deployed;
    // a trusted one is analysed by its contract, so more must raise the mode.
    let is_lax = !net.is_babbling() && u128::from(watched.period_ns) < period;
    if u128::from(watched.period_ns) > period || watched.period_ns == 0 || is_lax {
        let claim = format!("{} ns in level {}", watched.period_ns, watched.level);
        net.wrong(rule::MONITOR, place, claim, format!("{period} ns"));
    }
}

fn check_watched_jitter(
    net: &Net<'_>,
    watched: &read::LevelContract,
    jitter_ps: u128,
    place: &str,
) {
    if u128::from(watched.jitter_ns) * 1_000 < jitter_ps {
        let claim = format!("jitter {} ns in level {}", watched.jitter_ns, watched.level);
        net.wrong(rule::MONITOR, place, claim, format!("at least {jitter_ps} ps"));
    }
    if !net.is_babbling() && u128::from(watched.jitter_ns) * 1_000 >= jitter_ps + JITTER_STEP_PS {
        let claim = format!("jitter {} ns in level {}", watched.jitter_ns, watched.level);
        let found = format!("{jitter_ps} ps: what exceeds the contract raises the mode");
        net.wrong(rule::MONITOR, place, claim, found);
    }
}
