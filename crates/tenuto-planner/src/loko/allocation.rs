//! The service and the buffer of a switch for one use, and what of them is given away.

use tenuto_model::{Profile, Use};

const PS_PER_S: u128 = 1_000_000_000_000;

/// A switch for frames of one size: β_{R,T} and a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchModel {
    /// R, bit/s.
    pub rate_bps: u64,
    /// T, picoseconds.
    pub latency_ps: u64,
    /// Frames that fit, times their size, bytes.
    pub buffer_bytes: u64,
    /// The frame, bytes.
    pub frame_bytes: u32,
}

/// What all flows through a switch may bring together, and what they get for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Sum of rates, bit/s.
    pub rate_bps: u64,
    /// Sum of bursts as they arrive at this switch, bytes.
    pub burst_bytes: u64,
    /// No frame takes longer than this, picoseconds.
    pub delay_ps: u64,
}

impl SwitchModel {
    /// The model of a profile for a stated use; `None` without a processor or a stated buffer.
    pub fn of(profile: &Profile, it: &Use) -> Option<Self> {
        let service = profile.processor.as_ref()?.service(it);
        let frames = profile.receive_buffer?.frames(it.frame_bytes);
        Some(Self {
            rate_bps: service.rate_bps,
            latency_ps: service.latency_ps,
            buffer_bytes: frames.saturating_mul(it.frame_bytes.into()),
            frame_bytes: it.frame_bytes,
        })
    }

    /// The switch with a buffer so many times as large.
    #[must_use]
    pub const fn with_buffer(self, times: u64) -> Self {
        Self { buffer_bytes: self.buffer_bytes.saturating_mul(times), ..self }
    }

    /// Rate R/k and the largest burst for which b + r·T fits the buffer (\[Loko\] section 5).
    ///
    /// `None` where not even one frame is left as a burst: the white cells of Fig. 14.
    pub fn share(&self, k: u64) -> Option<Allocation> {
        self.at_rate(self.rate_bps / k.max(1))
    }

    /// That rate and the largest burst beside it; `None` as [`Self::share`].
    pub(crate) fn at_rate(&self, rate_bps: u64) -> Option<Allocation> {
        let queued_bits = u128::from(rate_bps) * u128::from(self.latency_ps);
        let queued = u64::try_from(queued_bits.div_ceil(8 * PS_PER_S)).ok()?;
        self.with(rate_bps, self.buffer_bytes.checked_sub(queued)?)
    }

    /// That rate and burst; `None` where they exceed the service or the buffer, or where the burst
    /// is less than a frame.
    pub fn with(&self, rate_bps: u64, burst_bytes: u64) -> Option<Allocation> {
        let queued_bits = u128::from(rate_bps) * u128::from(self.latency_ps);
        let backlog = u128::from(burst_bytes) + queued_bits.div_ceil(8 * PS_PER_S);
        let fits = rate_bps <= self.rate_bps && backlog <= u128::from(self.buffer_bytes);
        if !fits || burst_bytes < u64::from(self.frame_bytes) || self.rate_bps == 0 {
            return None;
        }
        let served = (u128::from(burst_bytes) * 8 * PS_PER_S).div_ceil(self.rate_bps.into());
        let delay_ps = self.latency_ps.checked_add(u64::try_from(served).ok()?)?;
        Some(Allocation { rate_bps, burst_bytes, delay_ps })
    }
}
