//! The frames of a message, as end systems cut it.

use tenuto_model::{SEGMENT_PAYLOAD_BYTES, SHIM_BYTES, Size, UDP_FRAME_OVERHEAD_BYTES};
use tenuto_units::FRAME_BYTES_MIN;

/// What a frame carries beside its part of a message, bytes.
const MESSAGE_OVERHEAD_BYTES: u32 = UDP_FRAME_OVERHEAD_BYTES + SHIM_BYTES;

/// Frame sizes (bytes with FCS, padded) of a message of `bytes`, in the unit of the flow's `size`.
pub(crate) fn frames_of(size: Size, bytes: u32) -> impl Iterator<Item = u32> {
    let (full, last) = match size {
        Size::FrameBytes(_) => (0, bytes),
        Size::PayloadBytes(_) => (0, bytes + UDP_FRAME_OVERHEAD_BYTES),
        Size::MessageBytes(_) => {
            let full = bytes.div_ceil(SEGMENT_PAYLOAD_BYTES).max(1) - 1;
            (full, bytes - full * SEGMENT_PAYLOAD_BYTES + MESSAGE_OVERHEAD_BYTES)
        }
    };
    let full_bytes = SEGMENT_PAYLOAD_BYTES + MESSAGE_OVERHEAD_BYTES;
    (0..full).map(move |_| full_bytes).chain([last.max(FRAME_BYTES_MIN)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenuto_units::wire_bits;

    #[test]
    fn messages_are_cut_as_contracts_count_them() {
        for bytes in [1, 6, 1_460, 1_461, 2_920, 8_000, 154_000] {
            let size = Size::MessageBytes(bytes);
            let mix = size.frames(false);
            assert_eq!(frames_of(size, bytes).count(), usize::try_from(mix.frames).unwrap());
            let bits: u64 = frames_of(size, bytes).map(wire_bits).sum();
            assert_eq!(bits, mix.message_wire_bits, "{bytes} B");
        }
        let frames: Vec<u32> = frames_of(Size::MessageBytes(9_000), 3_000).collect();
        assert_eq!(frames, [1_518, 1_518, 138]);
        assert_eq!(frames_of(Size::FrameBytes(200), 60).collect::<Vec<_>>(), [64]);
    }
}
