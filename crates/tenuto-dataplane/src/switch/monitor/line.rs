//! The monitor of most flows, in one line of cache: two contracts, of spans below four seconds.
//!
//! Every message writes here, and links are many: what is not in the line has to be waited for.

use super::wide::{Guide, WideMonitor};
use super::{LevelContract, MonitorKind, Observation};
use tenuto_units::{Instant, Span, WIRE_OVERHEAD_BYTES, frame_bytes_padded};
use tenuto_wire::shim::message_id;

/// Contracts that there is room for.
const CONTRACTS: usize = 2;

/// What [`WideMonitor`] keeps, packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C, align(64))]
pub(in crate::switch) struct LineMonitor {
    not_before: [Instant; CONTRACTS],
    message_until: Instant,
    message: u32,
    /// No more than a number above every contract.
    message_wire_bytes: u32,
    period_ns: [u32; CONTRACTS],
    jitter_ns: [u32; CONTRACTS],
    wire_bytes_max: [u32; CONTRACTS],
    level: [u8; CONTRACTS],
    /// A bit for each contract that the current message came too early for.
    early: u8,
    has_message: bool,
    pub(super) kind: MonitorKind,
    /// Whether it is a wide one, which is elsewhere.
    pub(super) is_wide: bool,
    /// Messages that began since they were last added up.
    begun: u16,
}

impl LineMonitor {
    /// In the place of none.
    pub(in crate::switch) const NONE: Self = Self::wide(MonitorKind::Frame);

    /// In the place of a wide one.
    pub(super) const fn wide(kind: MonitorKind) -> Self {
        Self {
            not_before: [Instant::ZERO; CONTRACTS],
            message_until: Instant::ZERO,
            message: 0,
            message_wire_bytes: 0,
            period_ns: [0; CONTRACTS],
            jitter_ns: [0; CONTRACTS],
            wire_bytes_max: [0; CONTRACTS],
            level: [0; CONTRACTS],
            early: 0,
            has_message: false,
            kind,
            is_wide: true,
            begun: 0,
        }
    }

    /// One that has seen nothing; `None` if the contracts do not fit.
    pub(super) fn new(kind: MonitorKind, contracts: &[LevelContract]) -> Option<Self> {
        let mut it = Self { is_wide: false, ..Self::wide(kind) };
        for (place, contract) in <&[_; CONTRACTS]>::try_from(contracts).ok()?.iter().enumerate() {
            it.period_ns[place] = u32::try_from(contract.period.as_ns()).ok()?;
            it.jitter_ns[place] = u32::try_from(contract.jitter.as_ns()).ok()?;
            it.wire_bytes_max[place] = Some(contract.wire_bytes_max).filter(|&it| it < u32::MAX)?;
            it.level[place] = contract.level;
        }
        Some(it)
    }

    /// What it judges of a frame of so many bytes with FCS: the message, and bytes on the wire.
    #[inline(always)]
    pub(super) fn read(&self, bytes: &[u8], frame_bytes: u32) -> (Option<u32>, u32) {
        let message = match self.kind {
            MonitorKind::Message => message_id(bytes),
            MonitorKind::Frame => None,
        };
        (message, frame_bytes_padded(frame_bytes) + WIRE_OVERHEAD_BYTES)
    }

    /// Takes in a frame where there is no wide one.
    #[inline(always)]
    pub(in crate::switch) fn see(
        &mut self,
        arrival: Instant,
        bytes: &[u8],
        frame_bytes: u32,
    ) -> Observation {
        let (message, wire_bytes) = self.read(bytes, frame_bytes);
        self.observe(arrival, message, wire_bytes)
    }

    /// Takes in a frame, as [`WideMonitor::observe`] does.
    #[inline(always)]
    pub(super) fn observe(
        &mut self,
        arrival: Instant,
        message: Option<u32>,
        wire_bytes: u32,
    ) -> Observation {
        let message = message.filter(|_| self.kind == MonitorKind::Message);
        let is_same = self.has_message && message == Some(self.message);
        if is_same && arrival <= self.message_until {
            let before = self.wanted();
            self.message_wire_bytes = self.message_wire_bytes.saturating_add(wire_bytes);
            let wanted = self.wanted();
            return Observation { wanted, begins: false, violates: wanted > 0 && before == 0 };
        }
        (self.message, self.has_message) = (message.unwrap_or(0), message.is_some());
        self.message_wire_bytes = wire_bytes;
        self.early = 0;
        for place in 0..CONTRACTS {
            let not_before = self.not_before[place];
            let is_early = arrival < not_before;
            let earliest = arrival.saturating_sub(span(self.jitter_ns[place]));
            let base = if is_early { earliest } else { not_before.max(earliest) };
            self.not_before[place] = base + span(self.period_ns[place]);
            self.early |= u8::from(is_early) << place;
        }
        let [one, other] = self.jitter_ns;
        self.message_until = arrival + span(one.max(other));
        let wanted = self.wanted();
        Observation { wanted, begins: true, violates: wanted > 0 }
    }

    /// The lower level if the message keeps both contracts so far, else the higher.
    #[inline]
    fn wanted(&self) -> u8 {
        let [lower, higher] = self.wire_bytes_max;
        let is_broken = self.early != 0 || self.message_wire_bytes > lower.min(higher);
        self.level[usize::from(is_broken)]
    }

    /// Counts a message; how many there are to be added up, once in a long while.
    #[inline]
    pub(in crate::switch) fn begin(&mut self) -> Option<u64> {
        self.begun = self.begun.wrapping_add(1);
        (self.begun == 0).then_some(1 << u16::BITS)
    }

    /// Messages that are not added up yet.
    pub(super) const fn begun(&self) -> u16 {
        self.begun
    }

    /// Reads something of it.
    #[inline]
    pub(in crate::switch) const fn touch(&self) -> u64 {
        self.message_until.as_ns()
    }

    /// The same monitor, as wide as any.
    pub(super) fn widened(&self) -> WideMonitor {
        let guide = |place: usize| Guide {
            level: self.level[place],
            early: self.early >> place & 1 == 1,
            wire_bytes_max: self.wire_bytes_max[place],
            period: span(self.period_ns[place]),
            jitter: span(self.jitter_ns[place]),
            not_before: self.not_before[place],
        };
        WideMonitor {
            kind: self.kind,
            guides: (0..CONTRACTS).map(guide).collect(),
            message: self.has_message.then_some(self.message),
            message_wire_bytes: self.message_wire_bytes.into(),
            message_until: self.message_until,
        }
    }
}

#[inline]
const fn span(ns: u32) -> Span {
    Span::from_ns(ns as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn contract() -> impl Strategy<Value = LevelContract> {
        let small = prop_oneof![Just(0), 0..40_u64, Just(u64::from(u32::MAX))];
        (0..3_u8, 0..500_u32, small.clone(), small).prop_map(|(level, bytes, period, jitter)| {
            let (period, jitter) = (Span::from_ns(period), Span::from_ns(jitter));
            LevelContract { level, wire_bytes_max: bytes, period, jitter }
        })
    }

    proptest! {
        #[test]
        fn it_judges_as_a_wide_one_does(
            contracts in [contract(), contract()],
            counts_frames: bool,
            start in prop_oneof![Just(0_u64), Just(u64::MAX - 500)],
            frames in prop::collection::vec((0..30_u64, prop::option::of(0..3_u32), 1..300_u32), 1..60),
        ) {
            let kind = if counts_frames { MonitorKind::Frame } else { MonitorKind::Message };
            let mut quick = LineMonitor::new(kind, &contracts).expect("it fits");
            let mut wide = WideMonitor::new(kind, &contracts);
            let mut at = start;
            for (wait, message, wire_bytes) in frames {
                at = at.saturating_add(wait);
                let arrival = Instant::from_ns(at);
                let seen = quick.observe(arrival, message, wire_bytes);
                prop_assert_eq!(seen, wide.observe(arrival, message, wire_bytes));
                prop_assert_eq!(&quick.widened(), &wide);
            }
        }
    }

    #[test]
    fn it_is_a_line_of_cache() {
        assert_eq!(size_of::<LineMonitor>(), 64);
    }
}
