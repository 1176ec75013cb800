//! Messages cut into frames.

use crate::description::read::{MeterCounts, Size};
use tenuto_units::{FRAME_BYTES_MAX, FRAME_BYTES_MIN, WIRE_OVERHEAD_BYTES};

/// Payload of one frame of a segmented message.
const SEGMENT_BYTES: u32 = 1460;
/// Ethernet header and FCS, IPv4, UDP.
const UDP_OVERHEAD_BYTES: u32 = 14 + 4 + 20 + 8;
/// The message shim behind UDP.
const SHIM_BYTES: u32 = 12;
/// The largest frame on the wire, bits.
pub(crate) const WIRE_BITS_MAX: u64 = (FRAME_BYTES_MAX as u64 + WIRE_OVERHEAD_BYTES as u64) * 8;
/// The least frame on the wire, bits.
pub(crate) const WIRE_BITS_MIN: u64 = (FRAME_BYTES_MIN as u64 + WIRE_OVERHEAD_BYTES as u64) * 8;

/// The frames of one largest message: `full` equal ones and a last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packets {
    full: u32,
    full_bytes: u32,
    last_bytes: u32,
}

impl Packets {
    /// `None` for a size that no frame can have.
    pub(crate) fn of(size: Size, as_stated: bool) -> Option<Self> {
        let padded = |bytes: u32| {
            let fits = (1..=FRAME_BYTES_MAX).contains(&bytes);
            fits.then(|| if as_stated { bytes } else { bytes.max(FRAME_BYTES_MIN) })
        };
        let one =
            |bytes: Option<u32>| Some(Self { full: 0, full_bytes: 0, last_bytes: padded(bytes?)? });
        match size {
            Size::Frame(frame) => one(Some(frame)),
            Size::Payload(payload) => one(payload.checked_add(UDP_OVERHEAD_BYTES)),
            Size::Message(message) => {
                let overhead = UDP_OVERHEAD_BYTES + SHIM_BYTES;
                let frames = message.div_ceil(SEGMENT_BYTES).max(1);
                let last = message - (frames - 1) * SEGMENT_BYTES + overhead;
                Some(Self {
                    full: frames - 1,
                    full_bytes: SEGMENT_BYTES + overhead,
                    last_bytes: padded(last)?,
                })
            }
        }
    }

    fn sum(self, bytes_of: impl Fn(u32) -> u32) -> u64 {
        let full = u64::from(self.full) * u64::from(bytes_of(self.full_bytes));
        full + u64::from(bytes_of(self.last_bytes))
    }

    /// Its frames: how many, and their bytes with FCS.
    pub(crate) fn each(self) -> impl Iterator<Item = (u64, u32)> {
        [(u64::from(self.full), self.full_bytes), (1, self.last_bytes)].into_iter()
    }

    /// Its largest frame, bytes with FCS.
    pub(crate) const fn frame_bytes_max(self) -> u32 {
        if self.full > 0 { self.full_bytes } else { self.last_bytes }
    }

    /// Whether the whole message is one frame.
    pub(crate) const fn is_one_frame(self) -> bool {
        self.full == 0
    }

    /// Bytes on the wire of the whole message.
    pub(crate) fn wire_bytes(self) -> u64 {
        self.sum(|frame| frame + WIRE_OVERHEAD_BYTES)
    }

    /// Bits on the wire of the whole message.
    pub(crate) fn wire_bits(self) -> u64 {
        self.wire_bytes() * 8
    }

    /// Bits on the wire of its largest frame.
    pub(crate) fn frame_bits_max(self) -> u64 {
        (u64::from(self.frame_bytes_max()) + u64::from(WIRE_OVERHEAD_BYTES)) * 8
    }

    /// Bits that a meter counts for the whole message.
    pub(crate) fn counted_bits(self, counts: MeterCounts) -> u64 {
        self.sum(|frame| match counts {
            MeterCounts::L2WithoutFcs => frame.saturating_sub(4),
            MeterCounts::Frame => frame,
            MeterCounts::Wire => frame + WIRE_OVERHEAD_BYTES,
        }) * 8
    }

    /// Whether the frame is below what a wire carries (only with sizes as stated).
    pub(crate) const fn is_unpadded(self) -> bool {
        self.last_bytes < FRAME_BYTES_MIN
    }
}

/// κ: the largest quotient of wire bytes and counted bytes over frames from 64 B on.
pub(crate) const fn wire_per_counted(counts: MeterCounts) -> (u64, u64) {
    match counts {
        MeterCounts::Wire => (1, 1),
        MeterCounts::Frame => (84, 64),
        MeterCounts::L2WithoutFcs => (84, 60),
    }
}

/// Bits on the wire of a frame of `bytes` with FCS, padded.
pub(crate) fn wire_bits(bytes: u32) -> u64 {
    (u64::from(bytes.max(FRAME_BYTES_MIN)) + u64::from(WIRE_OVERHEAD_BYTES)) * 8
}

#[cfg(test)]
#[path = "../../tests/unit/description_packets.rs"]
mod tests;
