//! Token buckets of flows: what the contract allows at the source, what is enforced behind the
//! first switch, and how both grow from hop to hop.

use crate::attributed::Attributed;
use crate::exact::Scale;
use crate::messages::{Messages, WINDOW_PS_MAX};
use crate::network::Net;
use crate::packets::{WIRE_BITS_MAX, wire_per_counted};
use crate::read::{self, Mode};
use crate::routes::Stream;
use num_bigint::BigInt;
use std::ops::RangeInclusive;

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
    /// The same as whole messages, where they are known to come so: of what a host releases, and
    /// behind a monitor; never behind a meter alone.
    pub(crate) messages: Option<Messages>,
}

/// What the first switch of a stream enforces, as deployed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Enforced<'a> {
    pub(crate) meter: Option<&'a read::Meter>,
    pub(crate) monitor: Option<&'a read::Monitor>,
}

/// The levels of a flow whose contracts count in a mode, or `None` if it takes no part. Until a
/// return, who has a place in the mode before keeps the contracts of the mode after it.
pub(crate) fn levels(mode: Mode, flow_level: usize) -> Option<(usize, usize)> {
    let (low, high) = match mode {
        Mode::Steady(level) => (level, level),
        Mode::Raise { from, to } => (from, to),
        Mode::Return { from, to } => {
            return (usize::from(from) <= flow_level).then_some((to.into(), to.into()));
        }
    };
    let (low, high) = (usize::from(low), usize::from(high).min(flow_level));
    (low <= flow_level).then_some((low, high))
}

/// The same of a stream. What its first switch does not watch may come by the highest contract before
/// anybody sees it; before a return nobody has exceeded the mode after it for a quiet window.
pub(crate) fn levels_of(net: &Net<'_>, stream: &Stream, mode: Mode) -> Option<(usize, usize)> {
    let flow_level = net.flows[stream.flow].level;
    let (low, high) = levels(mode, flow_level)?;
    let is_late = stream.is_watched_late && !matches!(mode, Mode::Return { .. });
    Some((low, if is_late { flow_level } else { high }))
}

/// Whether the flow is forwarded for as long as the mode lasts: after the change, or until the
/// return.
pub(crate) fn is_guaranteed(mode: Mode, flow_level: usize) -> bool {
    match mode {
        Mode::Steady(level) | Mode::Raise { to: level, .. } | Mode::Return { from: level, .. } => {
            usize::from(level) <= flow_level
        }
    }
}

/// The levels of a flow whose contracts its host may keep while no switch forwards it: any, but
/// before a return nobody exceeds the mode after it.
pub(crate) fn unforwarded_levels(mode: Mode, flow_level: usize) -> (usize, usize) {
    match mode {
        Mode::Return { to, .. } if usize::from(to) <= flow_level => (to.into(), to.into()),
        _ => (0, flow_level),
    }
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

/// Whether a monitor has to watch the flow: its contracts differ in size, period or jitter. What
/// nobody watched could be sent by a higher contract in a mode analysed by a lower one.
pub(crate) fn is_watched(net: &Net<'_>, flow: usize) -> bool {
    let asked = |contract: &read::Contract| (contract.period_ns, contract.size, contract.jitter_ns);
    let contracts = &net.flows[flow].raw.contracts;
    contracts.windows(2).any(|pair| asked(&pair[0]) != asked(&pair[1]))
}

/// What reaches the queue of the first switch `node` from a source that may babble: what the
/// monitor enforces where excess raises the mode in every one of the levels, else what the meter
/// lets through. Both are taken as deployed, since that is what is enforced.
pub(crate) fn enforced_envelope(
    net: &Net<'_>,
    scale: &Scale,
    stream: &Stream,
    node: usize,
    enforced: Enforced<'_>,
    (low, high): (usize, usize),
) -> Envelope {
    let is_monitored = (low..=high).all(|level| raises(net, stream.flow, level));
    match enforced.monitor.filter(|_| is_monitored) {
        Some(monitor) => monitored(net, scale, node, monitor, low..=high),
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
    let jitter_ps = net.latency_jitter_ps(node);
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
    let burst = Some(&passed + &rate * net.latency_jitter_ps(node));
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
    /// Behind its source's port, `own_rate` (a rate of the scale), a message has spent at least its
    /// own time on the line, and a smaller one has so much less to wait: that is no jitter.
    pub(crate) fn behind(
        &self,
        delay_ps: Option<u64>,
        jitter_ps: u64,
        own_rate: Option<&BigInt>,
    ) -> Self {
        let messages = self.messages.as_ref().zip(delay_ps);
        let messages = messages.map(|(messages, delay)| {
            let own = own_rate.map_or(0, |rate| messages.sending_ps(rate));
            messages.late(delay.saturating_sub(own), jitter_ps)
        });
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
