//! Instants and spans in nanoseconds; picoseconds for bounds.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A point in time: nanoseconds since the epoch of the world it belongs to.
///
/// Live, the epoch is that of the monotonic clock; simulated and explored, the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A length of time in nanoseconds, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Instant {
    /// The epoch itself.
    pub const ZERO: Self = Self(0);
    /// Later than every instant that occurs.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `ns` nanoseconds after the epoch.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the epoch.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// The span since `earlier`, zero if `earlier` is in fact later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// This instant moved back by `span`, not below the epoch.
    pub const fn saturating_sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// A span of `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }

    /// A span of `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// A span of `s` seconds.
    pub const fn from_s(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000_000))
    }

    /// Whole nanoseconds.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// This span less `other`, not below zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This span `n` times, saturating.
    pub const fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

/// Adding saturates at [`Instant::MAX`]: a deadline that far off never comes.
impl Add<Span> for Instant {
    type Output = Self;

    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Instant {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Add for Span {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Self;

    /// Saturates at zero, as [`Span::saturating_sub`].
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

impl fmt::Display for Span {
    /// In the largest unit that keeps three digits in front of the point or fewer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        match ns {
            0..1_000 => write!(f, "{ns} ns"),
            1_000..1_000_000 => write!(f, "{}.{:03} us", ns / 1_000, ns % 1_000),
            1_000_000..1_000_000_000 => {
                write!(f, "{}.{:03} ms", ns / 1_000_000, ns / 1_000 % 1_000)
            }
            _ => write!(f, "{}.{:03} s", ns / 1_000_000_000, ns / 1_000_000 % 1_000),
        }
    }
}

/// A length of time in picoseconds, in which bounds are computed and certified.
///
/// Signed and 128 bits wide, so that products of rates, bits and times of any network of this
/// field stay exact.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Picos(pub i128);

impl Picos {
    /// Whole nanoseconds, rounded **up**; saturates at the ends of the range.
    pub fn to_ns_up(self) -> u64 {
        u64::try_from(self.0.max(0).div_euclid(1_000) + i128::from(self.0.max(0) % 1_000 != 0))
            .unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_saturate_instead_of_wrapping() {
        assert_eq!(Instant::from_ns(u64::MAX - 1) + Span::from_s(1), Instant::MAX);
        assert_eq!(Instant::from_ns(1).since(Instant::from_ns(2)), Span::ZERO);
    }

    #[test]
    fn picoseconds_round_up_to_the_printed_digit() {
        assert_eq!(Picos(1_001).to_ns_up(), 2);
        assert_eq!(Picos(1_000).to_ns_up(), 1);
        assert_eq!(Picos(-5).to_ns_up(), 0);
    }

    #[test]
    fn spans_print_in_a_readable_unit() {
        assert_eq!(Span::from_ns(14_604_001).to_string(), "14.604 ms");
        assert_eq!(Span::from_us(5).to_string(), "5.000 us");
        assert_eq!(Span::from_s(20).to_string(), "20.000 s");
    }
}
