//! Sizes on the wire: what a list states, as frames take it.

/// The largest frame of any traffic, 1518 B, with preamble and gap, bytes on the wire.
pub(crate) const FRAME_BYTES_MAX: u32 = 1_538;
/// The shortest frame, 64 B, with preamble and gap, bytes on the wire.
const FRAME_BYTES_MIN: u64 = 84;

/// Burst and largest frame of so many bytes on the wire, bits: full frames and one with what is left,
/// none shorter than a frame can be.
pub(crate) fn burst_and_frame_bits(bytes: u64) -> (u64, u64) {
    let full = u64::from(FRAME_BYTES_MAX);
    let (frames, rest) = (bytes / full, bytes % full);
    let last = if rest == 0 && frames > 0 { 0 } else { rest.max(FRAME_BYTES_MIN) };
    let burst = frames.saturating_mul(full).saturating_add(last);
    (burst.saturating_mul(8), burst.min(full) * 8)
}

/// The rate of frames that take more than was stated for a burst of so many bytes, bit/s rounded up.
pub(crate) fn padded_bps(rate_bps: u64, stated_bytes: u64) -> u64 {
    let (burst_bits, _) = burst_and_frame_bits(stated_bytes);
    let stated_bits = u128::from(stated_bytes.max(1)) * 8;
    let grown = (u128::from(rate_bps) * u128::from(burst_bits)).div_ceil(stated_bits);
    u64::try_from(grown).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::burst_and_frame_bits;

    #[test]
    fn no_frame_is_shorter_or_longer_than_a_line_carries() {
        assert_eq!(burst_and_frame_bits(0), (84 * 8, 84 * 8));
        assert_eq!(burst_and_frame_bits(64), (84 * 8, 84 * 8));
        assert_eq!(burst_and_frame_bits(306), (306 * 8, 306 * 8));
        assert_eq!(burst_and_frame_bits(1_538), (1_538 * 8, 1_538 * 8));
        assert_eq!(burst_and_frame_bits(1_600), ((1_538 + 84) * 8, 1_538 * 8));
        assert_eq!(burst_and_frame_bits(3 * 1_538), (3 * 1_538 * 8, 1_538 * 8));
    }
}
