//! What watches and polices a flow at a switch: the deployed monitor and the deployed meter.

use tenuto_model::{LevelContract, MeterCounts, MeterSpec, MonitorKind, MonitorSpec};
use tenuto_units::{WIRE_OVERHEAD_BYTES, frame_bytes_padded};

/// A bucket's tokens are 10⁻⁹ bit: what a nanosecond at 1 bit/s brings.
const TOKENS_PER_BIT: u128 = 1_000_000_000;

/// A deployed monitor and what it has seen (`docs/theory/modes.md`, "monitor, then meter").
#[derive(Clone, Debug)]
pub(crate) struct Monitor {
    kind: MonitorKind,
    guides: Vec<Guide>,
    message: Option<u32>,
    wire_bytes: u64,
    /// Frames of the message that come later begin another one.
    message_until_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Guide {
    contract: LevelContract,
    not_before_ns: u64,
    /// How long before the guide time the message came.
    early_ns: u64,
}

impl Monitor {
    pub(crate) fn new(spec: &MonitorSpec) -> Self {
        let guide = |&contract| Guide { contract, not_before_ns: 0, early_ns: 0 };
        Self {
            kind: spec.kind,
            guides: spec.contracts.iter().map(guide).collect(),
            message: None,
            wire_bytes: 0,
            message_until_ns: 0,
        }
    }

    /// Forgets what it has seen.
    pub(crate) fn clear(&mut self) {
        for guide in &mut self.guides {
            (guide.not_before_ns, guide.early_ns) = (0, 0);
        }
        (self.message, self.wire_bytes, self.message_until_ns) = (None, 0, 0);
    }

    /// The level that the message of this frame asks for so far.
    pub(crate) fn observe(&mut self, arrival_ns: u64, message: u32, frame_bytes: u32) -> u8 {
        let wire_bytes = u64::from(frame_bytes_padded(frame_bytes) + WIRE_OVERHEAD_BYTES);
        let is_message = self.kind == MonitorKind::Message;
        if is_message && self.message == Some(message) && arrival_ns <= self.message_until_ns {
            self.wire_bytes += wire_bytes;
            return self.wanted();
        }
        self.message = is_message.then_some(message);
        self.wire_bytes = wire_bytes;
        for guide in &mut self.guides {
            guide.begin_message(arrival_ns);
        }
        let spread_ns = self.guides.iter().map(|it| it.contract.jitter_ns).max().unwrap_or(0);
        self.message_until_ns = arrival_ns + spread_ns;
        self.wanted()
    }

    /// How much too early the message was for a level and those above it, ns.
    pub(crate) fn early_ns(&self, level: u8) -> u64 {
        let of = self.guides.iter().filter(|it| it.contract.level >= level);
        of.map(|it| it.early_ns).max().unwrap_or(0)
    }

    /// The lowest level from which on every contract is kept; the highest if none is.
    fn wanted(&self) -> u8 {
        let is_broken =
            |it: &Guide| it.early_ns > 0 || self.wire_bytes > u64::from(it.contract.bytes_max);
        let first_kept = self.guides.iter().rposition(is_broken).map_or(0, |last| last + 1);
        let guide = self.guides.get(first_kept).or(self.guides.last());
        guide.map_or(0, |it| it.contract.level)
    }
}

impl Guide {
    fn begin_message(&mut self, arrival_ns: u64) {
        self.early_ns = self.not_before_ns.saturating_sub(arrival_ns);
        let earliest_ns = arrival_ns.saturating_sub(self.contract.jitter_ns);
        let base_ns =
            if self.early_ns > 0 { earliest_ns } else { self.not_before_ns.max(earliest_ns) };
        self.not_before_ns = base_ns + self.contract.period_ns;
    }
}

/// A deployed contract meter.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    counts: MeterCounts,
    rate_bps: u128,
    depth: u128,
    tokens: u128,
    refilled_ns: u64,
}

impl Meter {
    pub(crate) fn new(spec: &MeterSpec, counts: MeterCounts) -> Self {
        let depth = u128::from(spec.burst_bytes) * 8 * TOKENS_PER_BIT;
        Self { counts, rate_bps: spec.rate_bps.into(), depth, tokens: depth, refilled_ns: 0 }
    }

    /// Fills its bucket.
    pub(crate) fn clear(&mut self) {
        (self.tokens, self.refilled_ns) = (self.depth, 0);
    }

    /// Whether a frame conforms; its tokens are taken then.
    pub(crate) fn passes(&mut self, arrival_ns: u64, frame_bytes: u32) -> bool {
        let earned = u128::from(arrival_ns.saturating_sub(self.refilled_ns)) * self.rate_bps;
        self.tokens = (self.tokens + earned).min(self.depth);
        self.refilled_ns = self.refilled_ns.max(arrival_ns);
        let counted = self.counts.counted_bytes(frame_bytes_padded(frame_bytes));
        let cost = u128::from(counted) * 8 * TOKENS_PER_BIT;
        let passes = cost <= self.tokens;
        if passes {
            self.tokens -= cost;
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn monitor(kind: MonitorKind) -> Monitor {
        let level =
            |level, period_ns| LevelContract { level, bytes_max: 1_000, period_ns, jitter_ns: 100 };
        let contracts = vec![level(0, 10_000), level(1, 2_000)];
        Monitor::new(&MonitorSpec { id: 1, flow: "f".into(), kind, contracts })
    }

    #[test]
    fn a_message_may_come_early_by_the_jitter_and_no_more() {
        let mut it = monitor(MonitorKind::Message);
        assert_eq!(it.observe(5_000, 1, 500), 0);
        assert_eq!(it.observe(14_900, 2, 500), 0, "exactly at the guide time");
        assert_eq!(it.observe(24_899, 3, 500), 1, "1 ns before it");
    }

    #[test]
    fn bytes_of_a_message_add_up_within_the_jitter() {
        let mut it = monitor(MonitorKind::Message);
        assert_eq!(it.observe(5_000, 1, 480), 0);
        assert_eq!(it.observe(5_100, 1, 480), 0, "1000 B on the wire");
        assert_eq!(it.observe(5_100, 1, 64), 1, "one frame too many");
    }

    #[test]
    fn a_monitor_of_frames_tells_them_apart_by_nothing() {
        let mut it = monitor(MonitorKind::Frame);
        assert_eq!(it.observe(5_000, 1, 64), 0);
        assert_eq!(it.observe(5_001, 1, 64), 1);
    }

    #[test]
    fn a_meter_passes_its_burst_and_then_its_rate() {
        let spec = MeterSpec { id: 1, flow: None, rate_bps: 8_000_000, burst_bytes: 168 };
        let mut it = Meter::new(&spec, MeterCounts::Wire);
        assert!(it.passes(0, 64) && it.passes(0, 64) && !it.passes(0, 64));
        // A byte in a microsecond.
        assert!(!it.passes(83_999, 64) && it.passes(84_000, 64));
    }
}
