//! Service curves, which are convex, against what arrives, which is concave: their bends decide.
//!
//! Data in 10⁻¹⁸ bit, time in ps, rates in 10⁻⁶ bit/s, so that rate times time is data.

use super::read::{Bucket, RateLatency};
use crate::kernel::exact::{Curve, Frac, Line, breaks};
use num_bigint::BigInt;
use num_traits::Signed;

/// 10⁻¹⁸ bit in 10⁻⁶ bit.
pub(crate) const FINE: i128 = 1_000_000_000_000;

/// A bucket in fine units.
pub(super) fn fine(bucket: Bucket) -> Line {
    Line::new(BigInt::from(bucket.burst_ubit) * FINE, bucket.rate_ubps.into())
}

/// A convex service curve: the maximum of rate-latencies, of which `held` is held back.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    pieces: Vec<(BigInt, BigInt)>,
    held: BigInt,
}

impl Service {
    pub(super) fn of(service: &[RateLatency], held: BigInt) -> Self {
        let piece = |s: &RateLatency| (s.rate_ubps.into(), s.latency_ps.into());
        Self { pieces: service.iter().map(piece).collect(), held }
    }

    /// Its value at `t`, times the denominator of `t`.
    fn at(&self, t: &Frac) -> BigInt {
        let value = |(rate, latency): &(BigInt, BigInt)| {
            rate * (&t.num - latency * &t.den) - &self.held * &t.den
        };
        self.pieces.iter().map(value).max().unwrap_or_default().max(BigInt::ZERO)
    }

    /// Times at which the curve may bend.
    fn bends(&self) -> Vec<Frac> {
        let zero = (BigInt::ZERO, BigInt::ZERO);
        let mut bends = Vec::new();
        for (i, (rate, latency)) in self.pieces.iter().enumerate() {
            let meets = |(other, late): &(BigInt, BigInt), held: &BigInt| {
                Frac::of(rate * latency - other * late + held, rate - other)
            };
            bends.extend(meets(&zero, &self.held));
            bends.extend(self.pieces[i + 1..].iter().filter_map(|it| meets(it, &zero.0)));
        }
        bends
    }

    /// Whether everything is served `delay` after it came, if service is in order of arrival:
    /// β(t + delay) ≥ α(t) for all t. The difference is concave, so its bends decide.
    pub(crate) fn keeps_up(&self, arrival: &Curve, delay_ps: i128) -> bool {
        self.is_above(arrival, BigInt::ZERO, delay_ps.into())
    }

    /// Whether from `end` on no more has come than is served: no busy period is longer.
    pub(crate) fn catches_up(&self, arrival: &Curve, end_ps: i128) -> bool {
        self.is_above(arrival, end_ps.into(), BigInt::ZERO)
    }

    /// β(t + later) ≥ α(t) for all t from `start` on.
    fn is_above(&self, arrival: &Curve, start: BigInt, later: BigInt) -> bool {
        let Some(mut times) = breaks(arrival) else { return false };
        times.extend(self.bends().iter().map(|bend| bend.plus(&-&later)));
        times.retain(|t| t.plus(&-&start).num.is_positive());
        times.push(Frac::whole(start));
        let holds = |t: &Frac| {
            let come = arrival.iter().map(|line| line.at(t)).min().unwrap_or_default();
            self.at(&t.plus(&later)) >= come
        };
        let slowest = arrival.iter().map(|line| &line.rate).min();
        let fastest = self.pieces.iter().map(|(rate, _)| rate).max();
        slowest <= fastest && times.iter().all(holds)
    }
}
