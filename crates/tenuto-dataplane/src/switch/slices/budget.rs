//! What control messages of a slice may take of the switch: token buckets by kind.
//!
//! The world leaves a message where it is until it is within the budget ([`Budget::ready_at`]), which TCP then tells
//! the controller; what is handed over earlier all the same is refused.

use crate::switch::token_bucket::Meter;
use tenuto_units::Instant;

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
}

impl Default for MessageBudget {
    fn default() -> Self {
        Self {
            messages: 5_000,
            changes: 1_000,
            packet_outs: 2_000,
            statistics: 100,
            packet_ins: 2_000,
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
}

impl Budget {
    pub(crate) fn new(budget: MessageBudget) -> Self {
        Self {
            all: Meter::of_packets(budget.messages),
            changes: Meter::of_packets(budget.changes),
            packet_outs: Meter::of_packets(budget.packet_outs),
            statistics: Meter::of_packets(budget.statistics),
            packet_ins: Meter::of_packets(budget.packet_ins),
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

    /// When a message of a kind is within the budget: `now` or later.
    pub(crate) fn ready_at(&self, kind: MessageKind, now: Instant) -> Instant {
        let own = self.of(kind).map_or(now, |meter| meter.packet_at(now));
        own.max(self.all.packet_at(now))
    }

    /// Whether a message is within the budget, from which it is then taken.
    pub(crate) fn takes(&mut self, kind: MessageKind, now: Instant) -> bool {
        if self.ready_at(kind, now) > now {
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

    pub(crate) fn takes_packet_in(&mut self, now: Instant) -> bool {
        self.packet_ins.takes_packet(now)
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
        };
        let mut left = Budget::new(budget);
        let now = Instant::from_ns(1_000_000_000);
        let mut taken = |kind, at| (0..100).filter(|_| left.takes(kind, at)).count();
        assert_eq!(taken(MessageKind::Statistics, now), 1, "a tenth of ten");
        assert_eq!(taken(MessageKind::Change, now), 2);
        assert_eq!(taken(MessageKind::Other, now), 2, "five of all kinds");
        assert_eq!(taken(MessageKind::PacketOut, now), 0);
        let ready = left.ready_at(MessageKind::Statistics, now);
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
}
