//! Rates and sizes of a plan as whole numbers.
//!
//! A rate is a whole number of 1/S bit/s and a size a whole number of 1/(S·10¹²) bit, so that rate
//! times picoseconds is a size without rounding. S is a common multiple of all periods of the plan,
//! hence every rate is exact; where the periods have no common multiple of reasonable size, rates
//! are rounded up to 10⁻¹² bit/s, which is the safe direction and finer than the chapter asks for.

use crate::kernel::exact::ceil_div;
use num_bigint::BigInt;

const PS_PER_S: u64 = 1_000_000_000_000;
/// Common multiples above this are given up.
const SCALE_MAX: u128 = 1 << 64;

/// The factor S.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    factor: BigInt,
}

impl Scale {
    /// A scale in which rates with these periods (nanoseconds) are whole.
    pub(crate) fn new(periods_ns: impl Iterator<Item = u64>) -> Self {
        // 80: the quotients 84/64 and 84/60 behind meters have the denominators 16 and 5.
        let mut factor = 80_u128;
        for period in periods_ns.map(u128::from).filter(|p| *p > 0) {
            factor = factor / gcd(factor, period) * period;
            if factor > SCALE_MAX {
                factor = 80 * u128::from(PS_PER_S);
                break;
            }
        }
        Self { factor: factor.into() }
    }

    /// The rate of `bits` per `ns`, times `num`/`den`; up.
    pub(crate) fn rate(&self, bits: u64, ns: u64, num: u64, den: u64) -> BigInt {
        let top = &self.factor * bits * num * 1_000_000_000_u64;
        ceil_div(top, BigInt::from(ns.max(1)) * den.max(1))
    }

    /// A rate in bit/s, times `num`/`den`; up.
    pub(crate) fn bps(&self, bps: u64, num: u64, den: u64) -> BigInt {
        ceil_div(&self.factor * bps * num, den.max(1).into())
    }

    /// A size in bits, times `num`/`den`; up.
    pub(crate) fn bits(&self, bits: u64, num: u64, den: u64) -> BigInt {
        ceil_div(&self.factor * PS_PER_S * bits * num, den.max(1).into())
    }

    /// The size in whole bits; up.
    pub(crate) fn to_bits_up(&self, size: &BigInt) -> BigInt {
        ceil_div(size.clone(), &self.factor * PS_PER_S)
    }

    /// The size in whole bits; down, for what is not negative.
    pub(crate) fn to_bits_down(&self, size: &BigInt) -> BigInt {
        size / (&self.factor * PS_PER_S)
    }

    /// The size in 10⁻⁶ bit; up.
    pub(crate) fn to_ubits_up(&self, size: &BigInt) -> BigInt {
        ceil_div(size * 1_000_000, &self.factor * PS_PER_S)
    }

    /// The rate in 10⁻⁶ bit/s; up.
    pub(crate) fn to_ubps_up(&self, rate: &BigInt) -> BigInt {
        ceil_div(rate * 1_000_000, self.factor.clone())
    }

    /// The rate in whole bit/s; up.
    pub(crate) fn to_bps_up(&self, rate: &BigInt) -> BigInt {
        ceil_div(rate.clone(), self.factor.clone())
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd_loop(a, b) }
}

fn gcd_loop(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
#[path = "../../tests/unit/streams_scale.rs"]
mod tests;
