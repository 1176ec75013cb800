//! One babbling host: whatever its meters pass, and, where a raise is not wanted, its monitors bear with.

use crate::aim::Aim;
use crate::layout::Layout;
use crate::play::Player;
use crate::schedule::{Release, Schedule};
use tenuto_model::MonitorKind;
use tenuto_units::{Draws, FRAME_BYTES_MIN, WIRE_OVERHEAD_BYTES};

/// Frames of one flow in a flood.
const FRAMES_MAX: u64 = 1_200;
/// Messages of one flow that its monitor bears with.
const MESSAGES_MAX: u64 = 6;

/// Lets a host babble in a constructed schedule; `None` if the victim is its own, or nothing of it meets the path.
pub fn flooded(
    (layout, aim): (&Layout, &Aim),
    player: &mut Player<'_>,
    schedule: &Schedule,
    host: usize,
    draws: &mut Draws,
) -> Option<(Schedule, u64)> {
    let flows: Vec<usize> =
        (0..layout.flows.len()).filter(|&it| layout.flows[it].host == host).collect();
    if flows.is_empty() || flows.contains(&aim.victim) {
        return None;
    }
    let mut flooded = schedule.clone();
    flooded.babbler = Some(host);
    flooded.releases.retain(|it| !flows.contains(&it.flow));
    let victim = flooded.releases.iter().find(|it| it.flow == aim.victim)?.at_ns;
    let ahead_ns = draws.below(aim.window_ns + 1);
    let start_ns = victim.saturating_sub(ahead_ns);
    let frame_bytes = draws.one_of(&[64, 64, 128, 1_518]);
    // Flows that cannot matter are not played: they would only take time of the host's line.
    for &flow in flows.iter().filter(|it| aim.flows.contains(it)) {
        if is_watched(layout, aim, flow) {
            babble_within_monitor(layout, aim, flow, start_ns, frame_bytes, &mut flooded, draws);
        } else {
            fill_bucket(layout, aim, flow, start_ns, frame_bytes, &mut flooded);
        }
    }
    aim.tame(layout, player, &mut flooded);
    let seen = player.outcome().seen.get(aim.row).unwrap_or(0);
    Some((flooded, seen))
}

/// Whether too much of a flow would raise the mode.
fn is_watched(layout: &Layout, aim: &Aim, flow: usize) -> bool {
    let flow = &layout.flows[flow];
    flow.watched_by.is_some() && flow.level > aim.start_level
}

/// Frames of one size, back to back: the burst of the meter, and its rate for as long as it matters.
fn fill_bucket(
    layout: &Layout,
    aim: &Aim,
    flow: usize,
    start_ns: u64,
    frame_bytes: u32,
    schedule: &mut Schedule,
) {
    let root = &layout.hops[layout.flows[flow].roots[0]];
    let Some((meter, counts)) = root.meter.map(|it| &layout.meters[it]) else { return };
    let counted = u64::from(counts.counted_bytes(frame_bytes));
    let earned_bits = u128::from(meter.rate_bps) * u128::from(aim.window_ns) / 1_000_000_000;
    let earned = u64::try_from(earned_bits / 8).unwrap_or(0);
    let frames = ((meter.burst_bytes + earned) / counted + 1).min(FRAMES_MAX);
    let slot_ns = layout.ports[root.port].time_ns(tenuto_units::wire_bits(frame_bytes));
    for number in 0..frames {
        let message = u32::try_from(number).unwrap_or(0);
        let at_ns = start_ns + number * slot_ns;
        schedule.releases.push(babbled(at_ns, flow, frame_bytes, message));
    }
}

/// Messages as large and as early as the monitor bears with: the first frame of each in time, the rest of it as
/// late as still counts for that message, the next message as early as its guide time allows.
fn babble_within_monitor(
    layout: &Layout,
    aim: &Aim,
    flow: usize,
    start_ns: u64,
    frame_bytes: u32,
    schedule: &mut Schedule,
    draws: &mut Draws,
) {
    let Some(monitor) = layout.flows[flow].watched_by.map(|it| &layout.monitors[it]) else {
        return;
    };
    let Some(of) = monitor.contracts.iter().find(|it| it.level == aim.start_level) else { return };
    let wire_bytes = |frame_bytes: u32| frame_bytes + WIRE_OVERHEAD_BYTES;
    let frame_bytes = match monitor.kind {
        MonitorKind::Frame => of.bytes_max.saturating_sub(WIRE_OVERHEAD_BYTES).max(FRAME_BYTES_MIN),
        MonitorKind::Message => frame_bytes.min(of.bytes_max.saturating_sub(WIRE_OVERHEAD_BYTES)),
    };
    let of_message = match monitor.kind {
        MonitorKind::Frame => 1,
        MonitorKind::Message => {
            u64::from(of.bytes_max / wire_bytes(frame_bytes).max(1)).min(FRAMES_MAX / 4)
        }
    };
    let late_ns = if draws.below(2) == 0 { of.jitter_ns } else { 0 };
    let messages = (aim.window_ns / of.period_ns.max(1) + 2).min(MESSAGES_MAX);
    for number in 0..messages {
        let early_ns = if number == 0 { 0 } else { of.jitter_ns.min(of.period_ns) };
        let at_ns = start_ns + number * of.period_ns - early_ns;
        let message = u32::try_from(number).unwrap_or(0);
        for frame in 0..of_message {
            let is_rest = number == 0 && frame > 0;
            let at_ns = if is_rest { at_ns + late_ns } else { at_ns };
            schedule.releases.push(babbled(at_ns, flow, frame_bytes, message));
        }
    }
}

const fn babbled(at_ns: u64, flow: usize, bytes: u32, message: u32) -> Release {
    Release { at_ns, flow, bytes, latency: None, babbled: Some(message) }
}
