//! Concave curves as points: exact values at every break, and the slope behind the last.
//!
//! Data in 10⁻¹⁸ bit, time in ps, rates in 10⁻⁶ bit/s, so that rate times time is data.

use super::read::{Bucket, RateLatency};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;

/// 10⁻¹⁸ bit in 10⁻⁶ bit.
pub(super) const FINE: i128 = 1_000_000_000_000;

pub(super) fn whole(value: i128) -> BigRational {
    BigRational::from_integer(BigInt::from(value))
}

/// A bucket in fine units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) burst: BigInt,
    pub(super) rate: BigInt,
}

impl Line {
    pub(super) fn of(bucket: Bucket) -> Self {
        Self { burst: BigInt::from(bucket.burst_ubit) * FINE, rate: bucket.rate_ubps.into() }
    }

    /// What it bounds a time `by` later.
    pub(super) fn later(&self, by: &BigInt) -> Self {
        Self { burst: &self.burst + &self.rate * by, rate: self.rate.clone() }
    }

    pub(super) fn within(&self, span: &BigInt) -> BigInt {
        &self.burst + &self.rate * span
    }

    fn at(&self, t: &BigRational) -> BigRational {
        t * &self.rate + &self.burst
    }
}

/// A concave curve for t > 0; the first point is its limit at 0.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    points: Vec<(BigRational, BigRational)>,
    tail: BigRational,
}

impl Pieces {
    pub(super) fn zero() -> Self {
        let zero = whole(0);
        Self { points: vec![(zero.clone(), zero.clone())], tail: zero }
    }

    /// The minimum of at least one line.
    pub(super) fn least(lines: &[Line]) -> Self {
        let mut times = vec![whole(0)];
        for (i, a) in lines.iter().enumerate() {
            for b in &lines[i + 1..] {
                if a.rate != b.rate {
                    let t = BigRational::new(&b.burst - &a.burst, &a.rate - &b.rate);
                    if t > whole(0) {
                        times.push(t);
                    }
                }
            }
        }
        times.sort();
        times.dedup();
        let value = |t: &BigRational| lines.iter().map(|line| line.at(t)).min();
        let tail = lines.iter().map(|line| line.rate.clone()).min().unwrap_or_default();
        Self {
            points: times.into_iter().map(|t| (t.clone(), value(&t).unwrap_or_default())).collect(),
            tail: BigRational::from_integer(tail),
        }
    }

    pub(super) fn at(&self, t: &BigRational) -> BigRational {
        let behind = self.points.partition_point(|(time, _)| time <= t).max(1);
        let (from, value) = &self.points[behind - 1];
        value + (t - from) * self.slope(behind - 1)
    }

    fn slope(&self, index: usize) -> BigRational {
        match self.points.get(index + 1) {
            Some((until, there)) => {
                let (from, here) = &self.points[index];
                (there - here) / (until - from)
            }
            None => self.tail.clone(),
        }
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let mut times: Vec<&BigRational> =
            self.points.iter().chain(&other.points).map(|(t, _)| t).collect();
        times.sort();
        times.dedup();
        let point = |t: &BigRational| (t.clone(), self.at(t) + other.at(t));
        Self { points: times.into_iter().map(point).collect(), tail: &self.tail + &other.tail }
    }

    /// The minimum of this and a line.
    pub(super) fn capped(&self, line: &Line) -> Self {
        let rate = BigRational::from_integer(line.rate.clone());
        let mut times: Vec<BigRational> = self.points.iter().map(|(t, _)| t.clone()).collect();
        for (index, (from, value)) in self.points.iter().enumerate() {
            let slope = self.slope(index);
            if slope == rate {
                continue;
            }
            let cross = from + (line.at(from) - value) / (slope - &rate);
            let is_inside = self.points.get(index + 1).is_none_or(|(until, _)| cross < *until);
            if cross > *from && is_inside {
                times.push(cross);
            }
        }
        times.sort();
        times.dedup();
        let point = |t: BigRational| (t.clone(), self.at(&t).min(line.at(&t)));
        let points = times.into_iter().map(point).collect();
        Self { points, tail: self.tail.clone().min(rate) }
    }
}

/// A convex service curve: the maximum of rate-latencies, of which `held` is held back.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pieces: Vec<(BigInt, BigInt)>,
    held: BigInt,
}

impl Service {
    pub(super) fn of(service: &[RateLatency], held: BigInt) -> Self {
        let piece = |s: &RateLatency| (s.rate_ubps.into(), s.latency_ps.into());
        Self { pieces: service.iter().map(piece).collect(), held }
    }

    fn at(&self, t: &BigRational) -> BigRational {
        let value = |(rate, latency): &(BigInt, BigInt)| (t - latency) * rate - &self.held;
        self.pieces.iter().map(value).max().unwrap_or_default().max(whole(0))
    }

    fn top_rate(&self) -> BigRational {
        let top = self.pieces.iter().map(|(rate, _)| rate.clone()).max();
        BigRational::from_integer(top.unwrap_or_default())
    }

    /// Times at which the curve may bend.
    fn bends(&self) -> Vec<BigRational> {
        let mut bends = Vec::new();
        for (i, (rate, latency)) in self.pieces.iter().enumerate() {
            if !rate.is_zero() {
                bends.push(BigRational::new(rate * latency + &self.held, rate.clone()));
            }
            for (other, late) in &self.pieces[i + 1..] {
                if rate != other {
                    bends.push(BigRational::new(rate * latency - other * late, rate - other));
                }
            }
        }
        bends
    }

    /// Whether everything is served `delay` after it came, if service is in order of arrival:
    /// β(t + delay) ≥ α(t) for all t. The difference is concave, so its bends decide.
    pub(super) fn keeps_up(&self, arrival: &Pieces, delay_ps: i128) -> bool {
        let delay = whole(delay_ps);
        let shifted = self.bends().into_iter().map(|t| t - &delay).filter(|t| *t > whole(0));
        let mut times = arrival.points.iter().map(|(t, _)| t.clone()).chain(shifted);
        arrival.tail <= self.top_rate() && times.all(|t| self.at(&(&t + &delay)) >= arrival.at(&t))
    }

    /// Whether from `end` on no more has come than is served: no busy period is longer.
    pub(super) fn catches_up(&self, arrival: &Pieces, end: i128) -> bool {
        let end = whole(end);
        let bends = self.bends().into_iter();
        let later = arrival.points.iter().map(|(t, _)| t.clone()).chain(bends).filter(|t| *t > end);
        let mut times = later.chain([end.clone()]);
        arrival.tail <= self.top_rate() && times.all(|t| self.at(&t) >= arrival.at(&t))
    }
}
