//! How exactly a meter passes what it is set to pass, in virtual time: the same on every machine.

use super::PlannedSwitch;
use serde::Serialize;
use tenuto_units::{Instant, Span};

/// Frames that are let pass at each rate.
const PASSED: u64 = 5_000;
/// Offered is so much of the rate.
const OFFERED: u64 = 3;
const BITS_PER_KBIT: u64 = 1_000;

/// What a meter passed of an overload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeterAccuracy {
    /// What the meter is set to, kbit/s of the line.
    pub rate_kbps: u32,
    /// Bytes of a frame, FCS included.
    pub frame_bytes: usize,
    /// What three times the rate left of itself, kbit/s of the line.
    pub passed_kbps: f64,
    /// Most that ever passed beyond burst + rate · time, or was still due when a frame was refused,
    /// in frames: below 1 if exact.
    pub error_frames: f64,
}

/// Offers three times its rate to a meter and counts what passes.
pub fn meter_accuracy(rate_kbps: u32, frame_bytes: usize) -> MeterAccuracy {
    let frame_bits = (frame_bytes as u64 + 20) * 8;
    let burst_kbit = u32::try_from((2 * frame_bits).div_ceil(BITS_PER_KBIT)).unwrap_or(u32::MAX);
    let mut switch = PlannedSwitch::metered(rate_kbps, burst_kbit, frame_bytes);
    let start = Instant::from_ns(1_000_000_000);
    let rate_bps = u64::from(rate_kbps.max(1)) * BITS_PER_KBIT;
    let gap_ns = frame_bits * 1_000_000_000 / (rate_bps * OFFERED);
    let burst_bits = i128::from(burst_kbit) * i128::from(BITS_PER_KBIT);
    let (mut now, mut passed, mut error) = (start, 0_u64, 0);
    let mut half = (start, 0);
    let mut last = start;
    while passed < PASSED {
        let elapsed_ns = i128::from(now.since(start).as_ns());
        // In bits times 10^9, so that nothing is rounded: what may have passed at this instant.
        let may = burst_bits * 1_000_000_000 + i128::from(rate_bps) * elapsed_ns;
        let is_passed = switch.offer(now);
        passed += u64::from(is_passed);
        let left = may - i128::from(passed * frame_bits) * 1_000_000_000;
        // What passed too much, and what was refused although there was room for so much.
        error = error.max(if is_passed { -left } else { left });
        if is_passed {
            last = now;
            if passed == PASSED / 2 {
                half = (now, passed);
            }
        }
        now += Span::from_ns(gap_ns);
    }
    // The first half has spent the burst: of the second, the rate alone counts.
    let (from, before) = half;
    let seconds = last.since(from).as_ns().max(1) as f64 / 1e9;
    MeterAccuracy {
        rate_kbps,
        frame_bytes,
        passed_kbps: ((passed - before) * frame_bits) as f64 / seconds / 1e3,
        error_frames: error as f64 / 1e9 / frame_bits as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_errs_by_less_than_a_frame() {
        for rate in [1, 10_000, 1_000_000] {
            for bytes in [64, 1500] {
                let it = meter_accuracy(rate, bytes);
                assert!((0.0..1.0).contains(&it.error_frames), "{it:?}");
                let quotient = it.passed_kbps / f64::from(rate);
                assert!((0.9995..1.0005).contains(&quotient), "{it:?}");
            }
        }
    }
}
