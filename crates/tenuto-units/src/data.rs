//! Sizes of Ethernet frames, always qualified: *frame* (with FCS) or *wire* (frame + 20 B).

/// Preamble, start delimiter and inter-frame gap: what a frame costs on the wire beyond itself.
pub const WIRE_OVERHEAD_BYTES: u32 = 20;
/// The least frame, FCS included; shorter ones are padded.
pub const FRAME_BYTES_MIN: u32 = 64;
/// The largest untagged frame, FCS included.
pub const FRAME_BYTES_MAX: u32 = 1518;

/// The size that a frame of `frame_bytes` (FCS included) has after padding.
pub const fn frame_bytes_padded(frame_bytes: u32) -> u32 {
    if frame_bytes < FRAME_BYTES_MIN { FRAME_BYTES_MIN } else { frame_bytes }
}

/// Bits on the wire of a frame of `frame_bytes` (FCS included), padding counted.
pub const fn wire_bits(frame_bytes: u32) -> u64 {
    (frame_bytes_padded(frame_bytes) as u64 + WIRE_OVERHEAD_BYTES as u64) * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_frame_takes_84_bytes_of_wire() {
        assert_eq!(wire_bits(1), 84 * 8);
        assert_eq!(wire_bits(64), 84 * 8);
        assert_eq!(wire_bits(1518), 1538 * 8);
    }
}
