//! The most that a flow brings, by the clock of the network: its bucket, its source's clock being fast.

use crate::network::Network;
use crate::request::Request;

const NS_PER_S: u128 = 1_000_000_000;
const MILLION: u128 = 1_000_000;

/// A token bucket that bounds what a flow brings to its source's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Envelope {
    /// b, bits.
    pub(crate) burst_bits: u64,
    /// r·(1+ρ) rounded up, bit/s. Bursts of b that come a whole number of nanoseconds apart, as a
    /// contract states a period, need a little more where b/r is no such number: that counts.
    pub(crate) rate_bps: u64,
}

/// A meter at the first switch that drops no frame of a flow that conforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meter {
    /// Bit/s on the wire.
    pub rate_bps: u64,
    /// Bits on the wire.
    pub burst_bits: u64,
}

impl Envelope {
    /// The bucket of a request over a network whose clocks differ by ρ.
    pub(crate) fn of(request: &Request, network: &Network) -> Self {
        let fast = MILLION + u128::from(network.clock_tolerance_ppm());
        let asked = (u128::from(request.rate_bps) * fast).div_ceil(MILLION);
        let burst = u128::from(request.burst_bits);
        let period_ns = u128::from(request.period_ns());
        let periodic = (burst * NS_PER_S * fast).div_ceil(MILLION * period_ns);
        // Within a period of less than a nanosecond no contract could state the flow anyway.
        let most = if period_ns > 1 { asked.max(periodic) } else { asked };
        let rate_bps = u64::try_from(most).unwrap_or(u64::MAX);
        Self { burst_bits: request.burst_bits, rate_bps }
    }

    /// The meter at a first switch where frames come within `varying_ns` of their release.
    pub(crate) fn meter(self, varying_ns: u64) -> Meter {
        let late = (u128::from(self.rate_bps) * u128::from(varying_ns)).div_ceil(NS_PER_S);
        let late = u64::try_from(late).unwrap_or(u64::MAX);
        Meter { rate_bps: self.rate_bps, burst_bits: self.burst_bits.saturating_add(late) }
    }
}
