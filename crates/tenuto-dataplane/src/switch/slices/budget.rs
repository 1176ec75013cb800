//! What control messages of a slice may take of the switch: token buckets by kind, and of bytes.
//!
//! The world leaves a message where it is until it is within the budget ([`Budget::ready_at`]), which TCP then tells
//! the controller; what is handed over earlier all the same is refused. What plans count of it, and why that is
//! all, is in docs/theory/analysis.md, "Slices".

use super::byte_credit::ByteCredit;
use crate::switch::token_bucket::Meter;
use tenuto_units::Instant;

/// What a packet-in has beside the frame, at most: header, match and padding.
const PACKET_IN_BYTES: u64 = 128;

/// Most messages of a slice in a second, by kind, with a tenth of that at once (one at least).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageBudget {
    /// Messages of all kinds, malformed ones included.
    pub messages: u32,
    /// Messages that change state: flow-mods, group-mods, meter-mods and the like.
    pub changes: u32,
    /// Packet-outs.
    pub packet_outs: u32,
    /// Requests for statistics and descriptions.
    pub statistics: u32,
    /// Packet-ins, over all its ports.
    pub packet_ins: u32,
    /// Bytes of messages and of what is answered, and as many of packet-ins; a tenth of a second at once, or
    /// one longest message.
    pub bytes: u64,
}

impl Default for MessageBudget {
    fn default() -> Self {
        Self {
            messages: 5_000,
            changes: 1_000,
            packet_outs: 2_000,
            statistics: 100,
            packet_ins: 2_000,
            bytes: 2_000_000,
        }
    }
}

/// The kind of a message, as far as budgets tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageKind {
    Change,
    PacketOut,
    Statistics,
    Other,
}

impl MessageKind {
    /// By the type in its header (`OFPT_*`, OpenFlow 1.3.5, section 7.1).
    pub(crate) const fn of_type(type_: u8) -> Self {
        match type_ {
            // Experimenter, set-config, the mods, role request, set-async.
            4 | 9 | 14..=17 | 24 | 28 | 29 => Self::Change,
            13 => Self::PacketOut,
            // Multipart and queue configuration.
            18 | 22 => Self::Statistics,
            _ => Self::Other,
        }
    }
}

/// What is left of a budget.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    all: Meter,
    changes: Meter,
    packet_outs: Meter,
    statistics: Meter,
    packet_ins: Meter,
    bytes: ByteCredit,
    packet_in_bytes: ByteCredit,
}

impl Budget {
    pub(crate) fn new(budget: MessageBudget) -> Self {
        Self {
            all: Meter::of_packets(budget.messages),
            changes: Meter::of_packets(budget.changes),
            packet_outs: Meter::of_packets(budget.packet_outs),
            statistics: Meter::of_packets(budget.statistics),
            packet_ins: Meter::of_packets(budget.packet_ins),
            bytes: ByteCredit::new(budget.bytes),
            packet_in_bytes: ByteCredit::new(budget.bytes),
        }
    }

    const fn of(&self, kind: MessageKind) -> Option<&Meter> {
        match kind {
            MessageKind::Change => Some(&self.changes),
            MessageKind::PacketOut => Some(&self.packet_outs),
            MessageKind::Statistics => Some(&self.statistics),
            MessageKind::Other => None,
        }
    }

    /// When a message of a kind and length is within the budget: `now` or later.
    pub(crate) fn ready_at(&self, kind: MessageKind, bytes: u64, now: Instant) -> Instant {
        self.count_at(kind, now).max(self.bytes.ready_at(bytes, now))
    }

    fn count_at(&self, kind: MessageKind, now: Instant) -> Instant {
        let own = self.of(kind).map_or(now, |meter| meter.packet_at(now));
        own.max(self.all.packet_at(now))
    }

    /// Bytes of a message have come, or answers have been made: what that leaves below zero has to be earned
    /// before anything else is done.
    pub(crate) fn charge(&mut self, bytes: u64, now: Instant) {
        self.bytes.charge(bytes, now);
    }

    /// Whether a message, whose bytes have been charged, is within the budget, from which it is then taken.
    pub(crate) fn takes(&mut self, kind: MessageKind, now: Instant) -> bool {
        if self.count_at(kind, now) > now || self.bytes.ready_at(0, now) > now {
            return false;
        }
        let own = match kind {
            MessageKind::Change => self.changes.takes_packet(now),
            MessageKind::PacketOut => self.packet_outs.takes_packet(now),
            MessageKind::Statistics => self.statistics.takes_packet(now),
            MessageKind::Other => true,
        };
        own && self.all.takes_packet(now)
    }

    /// When the next step of what takes several is within the budget: each counts as a message.
    pub(crate) fn step_at(&self, now: Instant) -> Instant {
        self.ready_at(MessageKind::Other, 0, now)
    }

    /// Whether a packet-in with so many bytes of a frame may be made, for so many controllers.
    pub(crate) fn takes_packet_in(&mut self, bytes: usize, hearers: usize, now: Instant) -> bool {
        let each = u64::try_from(bytes).unwrap_or(u64::MAX).saturating_add(PACKET_IN_BYTES);
        let all = each.saturating_mul(u64::try_from(hearers).unwrap_or(u64::MAX));
        if !self.packet_in_bytes.holds(all, now) || !self.packet_ins.takes_packet(now) {
            return false;
        }
        self.packet_in_bytes.charge(all, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenuto_units::Span;

    #[test]
    fn each_kind_has_its_own_budget_and_all_share_one() {
        let budget = MessageBudget {
            messages: 50,
            changes: 20,
            packet_outs: 20,
            statistics: 10,
            packet_ins: 10,
            bytes: 1_000_000,
        };
        let mut left = Budget::new(budget);
        let now = Instant::from_ns(1_000_000_000);
        let mut taken = |kind, at| (0..100).filter(|_| left.takes(kind, at)).count();
        assert_eq!(taken(MessageKind::Statistics, now), 1, "a tenth of ten");
        assert_eq!(taken(MessageKind::Change, now), 2);
        assert_eq!(taken(MessageKind::Other, now), 2, "five of all kinds");
        assert_eq!(taken(MessageKind::PacketOut, now), 0);
        let ready = left.ready_at(MessageKind::Statistics, 8, now);
        assert_eq!(ready, now + Span::from_ms(100));
        assert!(!left.takes(MessageKind::Statistics, now + Span::from_ms(99)));
        assert!(left.takes(MessageKind::Statistics, ready));
    }

    /// A message that does not conform takes nothing, whatever it is refused for.
    #[test]
    fn what_is_refused_takes_nothing() {
        let budget = MessageBudget { statistics: 10, ..MessageBudget::default() };
        let mut left = Budget::new(budget);
        let now = Instant::from_ns(1_000_000_000);
        assert!(left.takes(MessageKind::Statistics, now));
        let before = left.all;
        assert!(!left.takes(MessageKind::Statistics, now));
        assert_eq!(left.all, before);
    }

    /// A second of ten megabytes holds one at once; answers make debts, which are earned before the next message.
    #[test]
    fn bytes_are_counted_and_answers_make_debts() {
        let budget = MessageBudget { bytes: 100_000, ..MessageBudget::default() };
        let mut left = Budget::new(budget);
        let now = Instant::from_ns(1_000_000_000);
        let message = |left: &mut Budget, bytes, at| {
            if left.ready_at(MessageKind::Other, bytes, at) > at {
                return false;
            }
            left.charge(bytes, at);
            assert!(left.takes(MessageKind::Other, at), "it was within the budget");
            true
        };
        assert!(message(&mut left, 65_535, now), "the longest message always fits");
        assert!(!message(&mut left, 8, now));
        left.charge(34_465, now);
        let ready = left.ready_at(MessageKind::Other, 0, now);
        assert_eq!(ready, now + Span::from_us(344_650));
        assert!(!left.takes(MessageKind::Other, now), "in debt");
        assert!(message(&mut left, 0, ready));
        assert_eq!(left.ready_at(MessageKind::Other, 100, ready), ready + Span::from_ms(1));
    }

    #[test]
    fn packet_ins_have_bytes_of_their_own() {
        let budget =
            MessageBudget { bytes: 100_000, packet_ins: 1_000, ..MessageBudget::default() };
        let mut left = Budget::new(budget);
        let now = Instant::from_ns(1_000_000_000);
        // 65,535 B hold 39 of 1646 B each; for two controllers half as many.
        assert_eq!((0..99).filter(|_| left.takes_packet_in(1_518, 1, now)).count(), 39);
        assert!(left.takes(MessageKind::Other, now), "messages go on");
        let mut left = Budget::new(budget);
        assert_eq!((0..99).filter(|_| left.takes_packet_in(1_518, 2, now)).count(), 19);
        assert!(!left.takes_packet_in(65_500, 1, now) && left.packet_ins.takes_packet(now));
    }
}
