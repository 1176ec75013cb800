//! Token buckets: the arrival curves of contracts, meters and lines.

use serde::{Deserialize, Serialize};
use tenuto_units::Picos;

/// How many units of a burst make a bit.
pub const UBIT_PER_BIT: i128 = 1_000_000;
/// 10⁻¹⁸ bit per 10⁻⁶ bit; also picoseconds per second.
pub(crate) const FINE: i128 = 1_000_000_000_000;

/// An arrival curve b + r·t.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// Burst b, 10⁻⁶ bit.
    pub burst_ubit: i128,
    /// Rate r, 10⁻⁶ bit/s.
    pub rate_ubps: i128,
}

impl Bucket {
    /// Nothing ever arrives.
    pub const ZERO: Self = Self { burst_ubit: 0, rate_ubps: 0 };

    /// A line of `rate_bps` with a burst of `burst_ubit`.
    pub const fn line(burst_ubit: i128, rate_bps: u64) -> Self {
        Self { burst_ubit, rate_ubps: rate_bps as i128 * UBIT_PER_BIT }
    }

    /// Both together; saturates, and saturated curves have no bound.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            burst_ubit: self.burst_ubit.saturating_add(other.burst_ubit),
            rate_ubps: self.rate_ubps.saturating_add(other.rate_ubps),
        }
    }

    /// The larger burst and the larger rate: bounds either, and any change from one to the other.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            burst_ubit: self.burst_ubit.max(other.burst_ubit),
            rate_ubps: self.rate_ubps.max(other.rate_ubps),
        }
    }

    /// The curve after a delay that varies by up to `by`: b + r·by, rounded **up**.
    #[must_use]
    pub const fn grown(self, by: Picos) -> Self {
        let growth = match self.rate_ubps.checked_mul(by.0) {
            Some(product) => div_up(product, FINE),
            None => i128::MAX,
        };
        Self { burst_ubit: self.burst_ubit.saturating_add(growth), ..self }
    }

    /// The burst in whole bits, rounded **up**.
    pub fn burst_bits(self) -> u64 {
        u64::try_from(div_up(self.burst_ubit, UBIT_PER_BIT)).unwrap_or(u64::MAX)
    }

    /// The rate in whole bit/s, rounded **up**.
    pub fn rate_bps(self) -> u64 {
        u64::try_from(div_up(self.rate_ubps, UBIT_PER_BIT)).unwrap_or(u64::MAX)
    }

    /// Nothing ever arrives.
    pub const fn is_zero(self) -> bool {
        self.burst_ubit == 0 && self.rate_ubps == 0
    }
}

/// So many bits in 10⁻⁶ bit.
pub const fn ubits(bits: u64) -> i128 {
    bits as i128 * UBIT_PER_BIT
}

/// `a / b` rounded towards +∞, for b > 0.
pub const fn div_up(a: i128, b: i128) -> i128 {
    a.div_euclid(b) + (a.rem_euclid(b) != 0) as i128
}
