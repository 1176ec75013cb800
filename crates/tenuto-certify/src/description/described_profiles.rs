//! What the profile of a device may say.

use crate::description::described::QUEUES_MAX;
use crate::description::net::Net;
use crate::description::read::{BufferUnit, LookUp, Processor, Profile, Receive, ReceiveBuffer};
use crate::description::slices::are_slices;
use crate::finding::rule;

/// Entries, meters and groups of a device; units of its receive buffer.
const COUNT_MAX: u64 = 1_000_000_000;
/// Frames that a processor takes from one port at a visit.
const VISIT_FRAMES_MAX: u32 = 1_000_000;
/// The largest burst that a band states, 2³² − 1 kbit.
const BURST_BYTES_MAX: u64 = u32::MAX as u64 * 125;

/// Checks every profile, used or not.
pub(crate) fn check(net: &Net<'_>) {
    for (name, profile) in &net.raw.profiles {
        for flaw in flaws(name, profile) {
            net.wrong(rule::DESCRIPTION, name, "a profile", flaw);
        }
    }
}

fn flaws<'a>(name: &'a str, profile: &'a Profile) -> impl Iterator<Item = &'static str> + 'a {
    let counts = [profile.entries_max, profile.meters_max, profile.groups_max];
    let is_step = |step: u64| step > 0;
    let rules = [
        (profile.name == name, "the name that switches call it by"),
        ((1..=QUEUES_MAX).contains(&profile.queues_per_port), "1 to 64 queues per port"),
        (
            counts.into_iter().all(|count| u64::from(count) <= COUNT_MAX),
            "at most 10^9 entries, meters and groups",
        ),
        (
            is_step(profile.meter_rate_step_bps) && is_step(profile.meter_burst_step_bytes),
            "steps of meters above zero",
        ),
        (
            (1..=BURST_BYTES_MAX).contains(&profile.meter_burst_max_bytes),
            "bursts of meters that a band can state",
        ),
    ];
    let own = rules.into_iter().filter_map(|(holds, flaw)| (!holds).then_some(flaw));
    own.chain(profile.processor.as_ref().and_then(processor_flaw))
        .chain(profile.receive_buffer.and_then(buffer_flaw))
}

fn processor_flaw(it: &Processor) -> Option<&'static str> {
    if it.link.is_some() && it.receive != Receive::Fifo {
        return Some("frames that share a link to the processor are one queue");
    }
    if it.base_ps == 0 && it.per_byte_ps == 0 && it.link.is_none() {
        return Some("frames that take time of the processor");
    }
    let takes_too_many =
        matches!(it.receive, Receive::RoundRobin(frames) if frames > VISIT_FRAMES_MAX);
    if takes_too_many || it.look_up == LookUp::ByMask(0) {
        return Some("one mask at least, and visits of at most 10^6 frames");
    }
    if !are_slices(&it.slices) {
        return Some("at most 64 slices, each with a name and budgets of its own");
    }
    None
}

fn buffer_flaw(it: ReceiveBuffer) -> Option<&'static str> {
    let is_counted = match it.unit {
        BufferUnit::Bytes => true,
        BufferUnit::Frames => (1..=COUNT_MAX).contains(&it.count),
        BufferUnit::Cells(bytes) => bytes > 0 && (1..=COUNT_MAX).contains(&it.count),
    };
    (!is_counted).then_some("a receive buffer of 1 to 10^9 frames, or cells of at least a byte")
}
