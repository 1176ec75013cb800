//! The stamp that our end systems write at the start of the application's payload, so that the
//! receiver can hold the delay that it sees against the bound (docs/theory/README.md, "Delay and loss").
//!
//! Sixteen bytes, because the smallest frame that must carry one does not have more: an AFDX
//! frame of 63 B as stated has 17 B of UDP payload, the last of them the sequence number.
//! Release instants compare only between nodes that share an epoch.

use crate::bytes::{be_u16, be_u32, be_u64};
use std::fmt;
use tenuto_units::Instant;

/// The stamp.
pub const STAMP_BYTES: usize = 16;
const MAGIC: u16 = 0x7e70;

mod field {
    use std::ops::Range;

    pub(super) const RELEASE_NS: Range<usize> = 0..8;
    pub(super) const MAGIC: Range<usize> = 8..10;
    pub(super) const FLOW: Range<usize> = 10..12;
    pub(super) const MESSAGE_ID: Range<usize> = 12..16;
}

/// When the message of a frame was released, and which it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// Release at the sender's shaper, where the delay of a message begins.
    pub release: Instant,
    /// Index of the flow in the plan.
    pub flow: u16,
    /// Number of the message within its flow, wrapping.
    pub message_id: u32,
}

impl Stamp {
    /// Reads the stamp at the start of `payload`; `None` where it is too short for one or
    /// carries something else.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let stamp = payload.get(..STAMP_BYTES)?;
        (be_u16(stamp, field::MAGIC) == MAGIC).then(|| Self {
            release: Instant::from_ns(be_u64(stamp, field::RELEASE_NS)),
            flow: be_u16(stamp, field::FLOW),
            message_id: be_u32(stamp, field::MESSAGE_ID),
        })
    }

    /// Writes the stamp at the start of `payload` if there is room, and says whether there was.
    /// Payloads below [`STAMP_BYTES`] travel unstamped and untouched.
    #[must_use = "a payload without room is not stamped"]
    pub fn emit(&self, payload: &mut [u8]) -> bool {
        let Some(stamp) = payload.get_mut(..STAMP_BYTES) else { return false };
        stamp[field::RELEASE_NS].copy_from_slice(&self.release.as_ns().to_be_bytes());
        stamp[field::MAGIC].copy_from_slice(&MAGIC.to_be_bytes());
        stamp[field::FLOW].copy_from_slice(&self.flow.to_be_bytes());
        stamp[field::MESSAGE_ID].copy_from_slice(&self.message_id.to_be_bytes());
        true
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { release, flow, message_id } = self;
        write!(f, "flow {flow}, message {message_id}, released at {} ns", release.as_ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp =
        Stamp { release: Instant::from_ns(0x0102_0304_0506_0708), flow: 265, message_id: 7 };
    const BYTES: [u8; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 0x7e, 0x70, 0x01, 0x09, 0, 0, 0, 7];

    #[test]
    fn a_stamp_is_sixteen_bytes() {
        let mut bytes = [0xee; 17];
        assert!(STAMP.emit(&mut bytes));
        assert_eq!(bytes[..16], BYTES);
        assert_eq!(bytes[16], 0xee);
        assert_eq!(Stamp::parse(&bytes), Some(STAMP));
    }

    #[test]
    fn short_or_foreign_payloads_carry_none() {
        let mut short = [0xee; 15];
        assert!(!STAMP.emit(&mut short));
        assert_eq!(short, [0xee; 15]);
        assert_eq!(Stamp::parse(&BYTES[..15]), None);
        let mut foreign = BYTES;
        foreign[9] ^= 1;
        assert_eq!(Stamp::parse(&foreign), None);
    }
}
