//! Contracts as token buckets, and what is enforced at the first switch (theory, "Contracts as
//! token buckets").

use std::ops::RangeInclusive;
use tenuto_calculus::{Bucket, Staircase, div_up, ubits};
use tenuto_model::{Contract, Flow, MeterCounts, MonitorKind, Profile};
use tenuto_units::{FRAME_BYTES_MAX, FRAME_BYTES_MIN, Picos, WIRE_OVERHEAD_BYTES};

const NS_PER_S: i128 = 1_000_000_000;
const MILLION: i128 = 1_000_000;
/// The most that bands of OpenFlow state: 2³² − 1 kbit/s.
const RATE_BPS_MAX: u64 = u32::MAX as u64 * 1_000;

/// How contracts are read: sizes and clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// Frames below 64 B as stated, for comparison only.
    pub(crate) as_stated: bool,
    /// Summed tolerance of clocks ρ, parts per million.
    pub(crate) clock_ppm: u32,
}

/// The setting of a contract meter, in the device's own steps and counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MeterSetting {
    pub(crate) rate_bps: u64,
    pub(crate) burst_bytes: u64,
}

impl Reading {
    /// r = bits·(1+ρ)/T, rounded up.
    fn rate_ubps(self, bits: u64, period_ns: u64) -> i128 {
        let stretched = i128::from(bits) * (MILLION + i128::from(self.clock_ppm)) * NS_PER_S;
        div_up(stretched, i128::from(period_ns.max(1)))
    }

    /// Bits on the wire of a largest message.
    pub(crate) fn message_bits(self, contract: &Contract) -> u64 {
        contract.size.frames(self.as_stated).message_wire_bits
    }

    /// Largest frame of a contract on the wire, 10⁻⁶ bit.
    pub(crate) fn frame_ubit(self, contract: &Contract) -> i128 {
        ubits(contract.size.frames(self.as_stated).frame_wire_bits_max)
    }

    /// The contract with a jitter of `jitter`: b = M + r·J.
    pub(crate) fn bucket(self, contract: &Contract, jitter: Picos) -> Bucket {
        let bits = self.message_bits(contract);
        let rate_ubps = self.rate_ubps(bits, contract.period_ns);
        Bucket { burst_ubit: ubits(bits), rate_ubps }.grown(jitter)
    }

    /// The largest burst and rate of the contracts of those modes at the source.
    pub(crate) fn at_source(self, flow: &Flow, modes: RangeInclusive<usize>) -> Bucket {
        let contracts = modes.filter_map(|mode| flow.contract(mode));
        contracts.map(|c| self.bucket(c, jitter(c))).fold(Bucket::ZERO, Bucket::or)
    }

    /// The contracts of those modes as whole messages: the largest at the shortest distance. Every
    /// higher mode allows what a lower one does, so that is the highest of them.
    pub(crate) fn messages(self, flow: &Flow, modes: RangeInclusive<usize>) -> Option<Staircase> {
        let contracts = || modes.clone().filter_map(|mode| flow.contract(mode));
        Some(Staircase {
            message_ubit: ubits(contracts().map(|c| self.message_bits(c)).max()?),
            period_ps: i128::from(contracts().map(|c| c.period_ns).min()?) * 1_000,
            fast_ppm: self.clock_ppm,
            jitter: contracts().map(jitter).max()?,
        })
    }

    /// What every part of a message that counts behind the source's port has of its own time on the
    /// line: of messages of several frames, all that may be in front of its last frame; of frames
    /// that are messages, the least frame.
    pub(crate) fn own_ubit(self, flow: &Flow) -> i128 {
        let contracts = || flow.contracts.iter();
        let message = contracts().map(|c| ubits(self.message_bits(c))).max().unwrap_or(0);
        let frame = contracts().map(|c| self.frame_ubit(c)).max().unwrap_or(0);
        if contracts().any(|c| c.size.frames(self.as_stated).frames > 1) {
            return (message - frame).max(0);
        }
        let least = |c: &Contract| {
            let stated = c.frame_bytes_min.unwrap_or(0).max(FRAME_BYTES_MIN);
            ubits(u64::from(stated + WIRE_OVERHEAD_BYTES) * 8).min(self.frame_ubit(c))
        };
        contracts().map(least).min().unwrap_or(0)
    }

    /// Whether excess over the contract of `mode` raises the mode: a higher contract differs on the
    /// wire. Sizes that are padded to the same frames do not.
    pub(crate) fn excess_raises(self, flow: &Flow, mode: usize) -> bool {
        let Some(now) = flow.contract(mode) else { return false };
        let asked = |c: &Contract| (c.period_ns, self.message_bits(c), c.jitter_ns);
        flow.contracts.iter().skip(mode + 1).any(|c| asked(c) != asked(now))
    }

    /// What a monitor lets pass, as whole messages: none begins earlier than it allows, and each
    /// may be spread.
    pub(crate) fn monitored_messages(
        self,
        flow: &Flow,
        modes: RangeInclusive<usize>,
        varying: Picos,
    ) -> Option<Staircase> {
        let period = |mode| flow.contract(mode).map(|c| self.monitored_period_ns(c).max(1));
        let period_ns = modes.clone().filter_map(period).min()?;
        let own = self.messages(flow, modes)?;
        let late = i128::from(varying.to_ns_up()) * 1_000;
        let late = late.saturating_add(spread(flow, late));
        Some(
            Staircase { period_ps: i128::from(period_ns) * 1_000, fast_ppm: 0, ..own }
                .late(Picos(late)),
        )
    }

    /// The period that a monitor enforces: T·(1−ρ), rounded down.
    pub(crate) fn monitored_period_ns(self, contract: &Contract) -> u64 {
        let ppm = u128::from(self.clock_ppm.min(1_000_000));
        let shortened = u128::from(contract.period_ns) * (1_000_000 - ppm) / 1_000_000;
        u64::try_from(shortened).unwrap_or(u64::MAX)
    }

    /// What a monitor lets pass that allows a delay variation of `varying` since the release:
    /// its own period and jitter, as enforced, in whole nanoseconds. A message of several frames
    /// may be spread by the jitter as well, the largest of all its contracts.
    pub(crate) fn monitored(
        self,
        flow: &Flow,
        modes: RangeInclusive<usize>,
        varying: Picos,
    ) -> Bucket {
        let contracts = modes.filter_map(|mode| flow.contract(mode));
        let late = i128::from(varying.to_ns_up()) * 1_000;
        let spread = spread(flow, late);
        let behind = |c: &Contract| {
            let bits = self.message_bits(c);
            let period = i128::from(self.monitored_period_ns(c).max(1));
            let rate_ubps = div_up(i128::from(bits) * MILLION * NS_PER_S, period);
            let enforced = Bucket { burst_ubit: ubits(bits), rate_ubps };
            enforced.grown(Picos(jitter(c).0.saturating_add(late).saturating_add(spread)))
        };
        contracts.map(behind).fold(Bucket::ZERO, Bucket::or)
    }

    /// The meter at the first switch, `varying` after the release: never drops what conforms. A burst
    /// that the device does not have is refused elsewhere.
    pub(crate) fn meter(self, flow: &Flow, profile: &Profile, varying: Picos) -> MeterSetting {
        let rate_bps = self.rate_bps(flow, profile);
        let allowed = Bucket { burst_ubit: 0, rate_ubps: ubits(rate_bps) };
        let burst = |c: &Contract| {
            let late = Picos(jitter(c).0.saturating_add(varying.0));
            allowed.grown(late).burst_ubit.saturating_add(ubits(self.counted_bits(c, profile)))
        };
        let burst_ubit = flow.contracts.iter().map(burst).max().unwrap_or(0);
        let burst_bytes = stepped(burst_ubit, ubits(8), profile.meter_burst_step_bytes);
        MeterSetting { rate_bps, burst_bytes }
    }

    fn rate_bps(self, flow: &Flow, profile: &Profile) -> u64 {
        let counted = |c: &Contract| self.counted_bits(c, profile);
        let rate = |c: &Contract| self.rate_ubps(counted(c), c.period_ns);
        let rate_ubps = flow.contracts.iter().map(rate).max().unwrap_or(0);
        stepped(rate_ubps, ubits(1), profile.meter_rate_step_bps).min(RATE_BPS_MAX)
    }

    /// Bits that the meters of a device count for a message.
    fn counted_bits(self, contract: &Contract, profile: &Profile) -> u64 {
        profile.meter_counts.counted_message_bits(contract.size, self.as_stated)
    }
}

impl MeterSetting {
    /// The bucket in the device's own counting.
    pub(crate) const fn counted(self) -> Bucket {
        Bucket { burst_ubit: ubits(8) * self.burst_bytes as i128, rate_ubps: ubits(self.rate_bps) }
    }

    /// What the meter lets through, in bits on the wire: κ times what it counts.
    pub(crate) fn envelope(self, counts: MeterCounts) -> Bucket {
        let wire = i128::from(FRAME_BYTES_MIN + WIRE_OVERHEAD_BYTES);
        let counted = i128::from(counts.counted_bytes(FRAME_BYTES_MIN));
        let on_wire = |ubits: i128| div_up(ubits * wire, counted);
        let Bucket { burst_ubit, rate_ubps } = self.counted();
        Bucket { burst_ubit: on_wire(burst_ubit), rate_ubps: on_wire(rate_ubps) }
    }
}

/// How far apart a monitor lets the frames of one message come, picoseconds.
fn spread(flow: &Flow, late: i128) -> i128 {
    match flow.monitor_kind() {
        MonitorKind::Frame => 0,
        MonitorKind::Message => {
            let longest = flow.contracts.iter().map(|c| jitter(c).0).max().unwrap_or(0);
            longest.saturating_add(late)
        }
    }
}

/// The largest frame that passes where only a bucket is enforced, 10⁻⁶ bit.
pub(crate) fn frame_within(burst_ubit: i128) -> i128 {
    burst_ubit.min(ubits(u64::from(FRAME_BYTES_MAX + WIRE_OVERHEAD_BYTES) * 8))
}

/// Release jitter.
pub(crate) fn jitter(contract: &Contract) -> Picos {
    Picos(i128::from(contract.jitter_ns) * 1_000)
}

/// In so large units, rounded up to a multiple of the device's step.
fn stepped(value: i128, unit: i128, step: u64) -> u64 {
    let step = i128::from(step.max(1));
    let units = div_up(div_up(value, unit), step).saturating_mul(step);
    u64::try_from(units).unwrap_or(u64::MAX)
}
