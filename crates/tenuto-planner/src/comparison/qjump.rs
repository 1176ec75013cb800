//! QJump: one frame per host and network epoch (\[Loko\] section 2.3).

const PS_PER_S: u128 = 1_000_000_000_000;

/// The epoch 2·n·P/R + ε, which is also the promised latency, picoseconds up.
pub fn epoch_ps(hosts: u32, frame_bytes: u32, line_bps: u64, epsilon_ps: u64) -> u64 {
    let bits = 2 * u128::from(hosts) * u128::from(frame_bytes) * 8;
    let sending = (bits * PS_PER_S).div_ceil(u128::from(line_bps.max(1)));
    u64::try_from(sending).unwrap_or(u64::MAX).saturating_add(epsilon_ps)
}

/// What a host may send: one frame per epoch, bit/s down.
pub fn rate_bps(frame_bytes: u32, epoch_ps: u64) -> u64 {
    let bits = u128::from(frame_bytes) * 8 * PS_PER_S;
    u64::try_from(bits / u128::from(epoch_ps.max(1))).unwrap_or(u64::MAX)
}
