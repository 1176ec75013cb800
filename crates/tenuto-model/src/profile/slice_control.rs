//! What the control messages of tenants' slices may take of a switch's processor.
//!
//! A slice has token buckets of messages, of packet-ins and of bytes, which the switch enforces; what they let
//! through costs so much per message and per byte (docs/theory/analysis.md, "Slices").

use serde::{Deserialize, Serialize};

/// The longest message of OpenFlow, whose length is a field of 16 bits: each bucket of bytes holds it.
pub const MESSAGE_BYTES_MAX: u64 = 65_535;
/// Bytes that the answers to one message, or to a step of one, have at most.
pub const ANSWER_BYTES_MAX: u64 = 131_072;
/// A bucket holds what it earns in a tenth of a second.
const AT_ONCE_PER_S: u64 = 10;

/// Slices of a switch, and what their messages cost its processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceControl {
    /// A message, a packet-in or a step of long work, its bytes apart, picoseconds.
    pub message_ps: u64,
    /// A byte that is received, or sent, picoseconds.
    pub byte_ps: u64,
    /// The budget of each slice, by the order of the file.
    pub budgets: Vec<SliceShare>,
}

/// What one slice may ask of the processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceShare {
    /// Name of the slice.
    pub name: String,
    /// Messages of its controllers in a second, of all kinds.
    pub messages: u32,
    /// Packet-ins in a second.
    pub packet_ins: u32,
    /// Bytes in a second of messages and answers, and as many of packet-ins.
    pub bytes: u64,
}

/// Work that is at hand at once, and that comes in a second, picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlWork {
    /// At once.
    pub burst_ps: u128,
    /// In a second.
    pub per_s_ps: u128,
}

impl SliceControl {
    /// What a message costs where nobody says it.
    pub const MESSAGE_PS: u64 = 25_000_000;
    /// What a byte costs where nobody says it.
    pub const BYTE_PS: u64 = 8_000;
    /// No slices.
    pub const NONE: Self =
        Self { message_ps: Self::MESSAGE_PS, byte_ps: Self::BYTE_PS, budgets: Vec::new() };

    /// Whether there is no slice.
    pub const fn is_empty(&self) -> bool {
        self.budgets.is_empty()
    }

    /// What one slice may take.
    pub fn of(&self, share: &SliceShare) -> ControlWork {
        let (message, byte) = (u128::from(self.message_ps), u128::from(self.byte_ps));
        let at_once = |rate: u32| u128::from(rate.div_ceil(10).max(1));
        let bytes_at_once = share.bytes.div_ceil(AT_ONCE_PER_S).max(MESSAGE_BYTES_MAX);
        let messages = at_once(share.messages) + at_once(share.packet_ins);
        let bytes = 2 * u128::from(bytes_at_once) + u128::from(ANSWER_BYTES_MAX);
        let per_s = u128::from(share.messages) + u128::from(share.packet_ins);
        ControlWork {
            burst_ps: messages * message + bytes * byte,
            per_s_ps: per_s * message + 2 * u128::from(share.bytes) * byte,
        }
    }

    /// What all of them may take.
    pub fn work(&self) -> ControlWork {
        self.budgets.iter().fold(ControlWork::default(), |sum, share| {
            let own = self.of(share);
            ControlWork {
                burst_ps: sum.burst_ps + own.burst_ps,
                per_s_ps: sum.per_s_ps + own.per_s_ps,
            }
        })
    }
}

impl Default for SliceControl {
    fn default() -> Self {
        Self::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_takes_what_its_buckets_hold_and_earn() {
        let share = SliceShare { name: "a".into(), messages: 1_000, packet_ins: 5, bytes: 10_000 };
        let control = SliceControl { message_ps: 1_000_000, byte_ps: 10, budgets: vec![share] };
        // 100 messages and 1 packet-in; the longest message both ways, and one answer.
        let bytes = 2 * 65_535 + 131_072;
        let work = control.work();
        assert_eq!(work.burst_ps, 101 * 1_000_000 + bytes * 10);
        assert_eq!(work.per_s_ps, 1_005 * 1_000_000 + 20_000 * 10);
        assert_eq!(SliceControl::NONE.work(), ControlWork::default());
    }
}
