//! Token buckets of flows: what the contract allows at the source, what is enforced behind the
//! first switch, and how both grow from hop to hop.

use crate::description::net::Net;
use crate::description::packets::{WIRE_BITS_MAX, wire_per_counted};
use crate::description::read;
use crate::streams::attributed::Attributed;
use crate::streams::messages::{Messages, WINDOW_PS_MAX};
use crate::streams::scale::Scale;
use crate::streams::stream::Stream;
use num_bigint::BigInt;
use std::ops::RangeInclusive;

/// What a stamp can be off: meters and monitors judge by whole nanoseconds, rounded up.
pub(crate) const STAMP_PS: u64 = 1_000;

/// A token bucket; without a burst nothing bounds what comes at once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bucket {
    pub(crate) burst: Option<BigInt>,
    pub(crate) rate: BigInt,
}

/// A bucket and the largest frame in it, a size of the scale.
#[derive(Clone, Debug)]
pub(crate) struct Envelope {
    pub(crate) bucket: Bucket,
    pub(crate) frame_max: BigInt,
    /// The envelope as whole messages, where they are known to come so: of what a host releases, and
    /// behind a monitor; never behind a meter alone.
    pub(crate) messages: Option<Messages>,
}

/// What the first switch of a stream enforces, as deployed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Enforced<'a> {
    pub(crate) meter: Option<&'a read::Meter>,
    pub(crate) monitor: Option<&'a read::Monitor>,
}

/// Meter and monitor of every stream at its first switch; absent where there is not exactly one.
///
/// A monitor that no frame is shown to enforces nothing: only where a flow is to be watched does the
/// walk ask for it.
pub(crate) fn enforced<'a>(attributed: &Attributed<'a>, streams: &[Stream]) -> Vec<Enforced<'a>> {
    let both = |(index, stream): (usize, &Stream)| Enforced {
        meter: attributed.meter(index),
        monitor: stream.first_switch.and_then(|first| attributed.monitor(index, first)),
    };
    streams.iter().enumerate().map(both).collect()
}

/// The bucket of the contracts `low..=high` at the source's queue: the largest burst and the
/// largest rate.
pub(crate) fn contract_envelope(
    net: &Net<'_>,
    scale: &Scale,
    flow: usize,
    (low, high): (usize, usize),
) -> Envelope {
    let mut burst = BigInt::default();
    let (mut rate, mut frame_max) = (BigInt::default(), BigInt::default());
    let mut messages = Messages {
        size: BigInt::default(),
        period_ps: u128::MAX,
        tolerance_ppm: net.tolerance_ppm.into(),
        jitter_ps: 0,
    };
    for contract in &net.flows[flow].contracts[low..=high] {
        let message = contract.packets.wire_bits();
        let r = scale.rate(message, contract.period_ns, 1_000_000 + net.tolerance_ppm, 1_000_000);
        burst = burst.max(scale.bits(message, 1, 1) + &r * contract.jitter_ps);
        rate = rate.max(r);
        frame_max = frame_max.max(scale.bits(contract.packets.frame_bits_max(), 1, 1));
        messages.add(scale.bits(message, 1, 1), contract.period_ns, contract.jitter_ps);
    }
    let bucket = Bucket { burst: Some(burst), rate };
    Envelope { bucket, frame_max, messages: Some(messages) }
}

/// Bits of its own that are on the source's line, in every case, before a part of a message counts
/// behind it (theory, "Staircases"): the least frame of a flow whose frames are its messages; of one
/// with longer messages, all but a largest frame of the largest.
pub(crate) fn own_bits(net: &Net<'_>, flow: usize) -> u64 {
    let contracts = &net.flows[flow].contracts;
    if contracts.iter().all(|contract| contract.packets.is_one_frame()) {
        return contracts.iter().map(|contract| contract.frame_bits_min).min().unwrap_or(0);
    }
    let message = contracts.iter().map(|contract| contract.packets.wire_bits()).max();
    let frame = contracts.iter().map(|contract| contract.packets.frame_bits_max()).max();
    message.zip(frame).map_or(0, |(message, frame)| message.saturating_sub(frame))
}

/// Whether excess over the contract of `level` raises the mode: a higher contract allows more.
pub(crate) fn raises(net: &Net<'_>, flow: usize, level: usize) -> bool {
    let contracts = &net.flows[flow].contracts;
    let here = &contracts[level];
    contracts[level + 1..].iter().any(|higher| {
        higher.packets.wire_bits() > here.packets.wire_bits()
            || higher.period_ns < here.period_ns
            || higher.jitter_ps > here.jitter_ps
    })
}

/// Whether the first switch bounds what goes on of a stream, by its monitor or its meter: of a host
/// that may babble always, of a trusted one where it may keep a higher contract than the monitor asks.
pub(crate) fn is_bounded_anew(
    net: &Net<'_>,
    stream: &Stream,
    enforced: Enforced<'_>,
    levels: (usize, usize),
) -> bool {
    net.is_babbling() || watcher(net, stream, enforced, levels).is_some()
}

/// The monitor whose leniency bounds a stream: excess raises the mode in every one of the levels.
fn watcher<'a>(
    net: &Net<'_>,
    stream: &Stream,
    enforced: Enforced<'a>,
    (low, high): (usize, usize),
) -> Option<&'a read::Monitor> {
    enforced.monitor.filter(|_| (low..=high).all(|level| raises(net, stream.flow, level)))
}

/// What reaches the queue of the first switch `node` where `is_bounded_anew`: what the monitor bears
/// with where excess raises the mode in every one of the levels, else what the meter lets through.
/// Both are taken as deployed, since that is what is enforced.
pub(crate) fn enforced_envelope(
    net: &Net<'_>,
    scale: &Scale,
    stream: &Stream,
    node: usize,
    enforced: Enforced<'_>,
    levels: (usize, usize),
) -> Envelope {
    match watcher(net, stream, enforced, levels) {
        Some(monitor) => monitored(net, scale, node, monitor, levels.0..=levels.1),
        None => metered(net, scale, node, enforced.meter),
    }
}

/// What a monitor bears with in every one of the levels.
fn monitored(
    net: &Net<'_>,
    scale: &Scale,
    node: usize,
    monitor: &read::Monitor,
    levels: RangeInclusive<usize>,
) -> Envelope {
    let frame_limit = scale.bits(WIRE_BITS_MAX, 1, 1);
    let jitter_ps = net.latency_jitter_ps(node).saturating_add(STAMP_PS);
    let (mut burst, mut rate) = (BigInt::default(), BigInt::default());
    let mut messages =
        Messages { size: BigInt::default(), period_ps: u128::MAX, tolerance_ppm: 0, jitter_ps: 0 };
    // Frames of one message may arrive so far apart, as far as the monitor can tell.
    let spread_ns = match monitor.kind {
        read::MonitorKind::Frame => 0,
        read::MonitorKind::Message => {
            monitor.contracts.iter().map(|c| c.jitter_ns).max().unwrap_or(0)
        }
    };
    for level in levels {
        let named = |c: &&read::LevelContract| usize::from(c.level) == level;
        let contract = monitor.contracts.iter().find(named).filter(|c| c.period_ns != 0);
        let Some(contract) = contract else { return unbounded(frame_limit) };
        let message = u64::from(contract.bytes_max) * 8;
        let r = scale.rate(message, contract.period_ns, 1, 1);
        let size = scale.bits(message, 1, 1);
        let late = &r * contract.jitter_ns * 1_000 + &r * spread_ns * 1_000;
        burst = burst.max(&size + late + &r * jitter_ps);
        rate = rate.max(r);
        let late_ns = contract.jitter_ns.saturating_add(spread_ns);
        messages.add(size, contract.period_ns, late_ns.saturating_mul(1_000));
    }
    let bucket = Bucket { burst: Some(burst), rate };
    let frame_max = messages.size.clone().min(frame_limit);
    Envelope { bucket, frame_max, messages: Some(messages.late(0, jitter_ps)) }
}

/// What a meter lets through.
fn metered(net: &Net<'_>, scale: &Scale, node: usize, meter: Option<&read::Meter>) -> Envelope {
    let frame_limit = scale.bits(WIRE_BITS_MAX, 1, 1);
    let (Some(meter), Some(profile)) = (meter, net.profile(node)) else {
        return unbounded(frame_limit);
    };
    let (num, den) = wire_per_counted(profile.meter_counts);
    let rate = scale.bps(meter.rate_bps, num, den);
    let passed = scale.bits(meter.burst_bits(), num, den);
    let jitter_ps = net.latency_jitter_ps(node).saturating_add(STAMP_PS);
    let burst = Some(&passed + &rate * jitter_ps);
    let bucket = Bucket { burst, rate };
    Envelope { bucket, frame_max: passed.min(frame_limit), messages: None }
}

fn unbounded(frame_max: BigInt) -> Envelope {
    let bucket = Bucket { burst: None, rate: BigInt::default() };
    Envelope { bucket, frame_max, messages: None }
}

impl Envelope {
    /// The envelope behind a server of delay `delay_ps` and a node of jitter `jitter_ps`.
    ///
    /// `own_ps` of the delay is no jitter of whole messages: behind the source's port, what every
    /// part of a message has of its own time on the line (`own_bits`).
    pub(crate) fn behind(&self, delay_ps: Option<u64>, jitter_ps: u64, own_ps: u64) -> Self {
        let messages = self.messages.as_ref().zip(delay_ps);
        let messages = messages
            .map(|(messages, delay)| messages.late(delay.saturating_sub(own_ps), jitter_ps));
        Self {
            bucket: self.bucket.behind(delay_ps, jitter_ps),
            frame_max: self.frame_max.clone(),
            messages: messages.filter(|messages| messages.jitter_ps <= WINDOW_PS_MAX),
        }
    }
}

impl Bucket {
    /// The bucket behind a server of delay `delay_ps` and a node of jitter `jitter_ps`.
    pub(crate) fn behind(&self, delay_ps: Option<u64>, jitter_ps: u64) -> Self {
        let grown =
            |burst: &BigInt, delay: u64| burst + &self.rate * delay + &self.rate * jitter_ps;
        let burst = self.burst.as_ref().zip(delay_ps).map(|(burst, delay)| grown(burst, delay));
        Self { burst, rate: self.rate.clone() }
    }
}
