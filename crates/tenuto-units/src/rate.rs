//! Data rates in bit/s.

use crate::{Picos, Span};
use std::fmt;

const NS_PER_S: u128 = 1_000_000_000;

/// A data rate in whole bits per second, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// A rate of `bits_per_s`; `None` for zero, at which nothing would ever leave.
    pub const fn from_bps(bits_per_s: u64) -> Option<Self> {
        if bits_per_s == 0 { None } else { Some(Self(bits_per_s)) }
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Whether every bit takes a whole number of nanoseconds, so that serialisation times are
    /// exact in [`Span`] and no tick of rounding has to be charged.
    pub const fn has_whole_nanosecond_bits(self) -> bool {
        1_000_000_000 % self.0 == 0
    }

    /// Time to serialise `bits`, plus a carried `remainder`, in nanoseconds **down**, with the
    /// new remainder in units of 1/rate nanoseconds (so nothing is ever lost).
    #[inline]
    pub fn serialise(self, bits: u64, remainder: u64) -> (Span, u64) {
        // A frame's bits take one division of 64 bits, which costs a fraction of one of 128.
        let total = bits.checked_mul(1_000_000_000).and_then(|it| it.checked_add(remainder));
        if let Some(total) = total {
            return (Span::from_ns(total / self.0), total % self.0);
        }
        let total = u128::from(bits) * NS_PER_S + u128::from(remainder);
        let ns = total / u128::from(self.0);
        let rest = total % u128::from(self.0);
        (
            Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX)),
            u64::try_from(rest).expect("a remainder is below the divisor, which is a u64"),
        )
    }

    /// Time to serialise `bits`, in nanoseconds rounded **up**.
    pub fn time_up(self, bits: u64) -> Span {
        let (span, rest) = self.serialise(bits, 0);
        if rest == 0 { span } else { span + Span::from_ns(1) }
    }

    /// Time to serialise `bits`, in picoseconds rounded **up**.
    pub fn picos_up(self, bits: u64) -> Picos {
        let total = i128::from(bits) * 1_000_000_000_000;
        let rate = i128::from(self.0);
        Picos(total.div_euclid(rate) + i128::from(total % rate != 0))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            r if r % 1_000_000_000 == 0 => write!(f, "{} Gbit/s", r / 1_000_000_000),
            r if r % 1_000_000 == 0 => write!(f, "{} Mbit/s", r / 1_000_000),
            r if r % 1_000 == 0 => write!(f, "{} kbit/s", r / 1_000),
            r => write!(f, "{r} bit/s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remainders_add_up_exactly() {
        // 3 Mbit/s: one bit takes 333.3 ns; a thousand single bits must take as long as 1000 at once.
        let rate = Rate::from_bps(3_000_000).expect("not zero");
        let (mut sum, mut rest) = (Span::ZERO, 0);
        for _ in 0..1_000 {
            let (step, carried) = rate.serialise(1, rest);
            (sum, rest) = (sum + step, carried);
        }
        assert_eq!((sum, rest), rate.serialise(1_000, 0));
    }

    #[test]
    fn usual_rates_have_whole_nanosecond_bits() {
        for (bps, whole) in [(100_000_000, true), (1_000_000_000, true), (10_000_000_000, false)] {
            assert_eq!(Rate::from_bps(bps).map(Rate::has_whole_nanosecond_bits), Some(whole));
        }
    }
}
