//! Concave arrival curves and convex service curves, and how far they are apart.
//!
//! One code for two number types: rationals, whose results are claimed, and floats, in which
//! fixed points are approached. Data is in 10⁻¹⁸ bit, rates in 10⁻⁶ bit/s, time in ps, so that a
//! rate times a time is data without a factor.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{FromPrimitive, Num, ToPrimitive};
use tenuto_calculus::{Bucket, RateLatency};
use tenuto_units::Picos;

/// 10⁻¹⁸ bit in 10⁻⁶ bit; also ps in a second.
pub(crate) const FINE: i128 = 1_000_000_000_000;

/// A field in which curves are computed.
pub(crate) trait Number: Clone + PartialOrd + Num {
    /// The number itself, or the nearest.
    fn of(value: i128) -> Self;

    /// What is above this may be zero: rounding put it below.
    fn rounding() -> Self {
        Self::zero()
    }

    fn larger(self, other: Self) -> Self {
        if self < other { other } else { self }
    }

    fn smaller(self, other: Self) -> Self {
        if other < self { other } else { self }
    }
}

impl Number for BigRational {
    fn of(value: i128) -> Self {
        Self::from_integer(BigInt::from(value))
    }
}

impl Number for f64 {
    fn of(value: i128) -> Self {
        Self::from_i128(value).unwrap_or(Self::INFINITY)
    }

    fn rounding() -> Self {
        -1e-9
    }
}

/// The least whole picosecond that is not below `value`; `None` out of range.
pub(crate) fn picos_up(value: &BigRational) -> Option<Picos> {
    value.ceil().to_integer().to_i128().map(|ps| Picos(ps.max(0)))
}

/// burst + rate·t.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line<N> {
    pub(crate) burst: N,
    pub(crate) rate: N,
}

impl<N: Number> Line<N> {
    pub(crate) fn of(bucket: Bucket) -> Self {
        Self { burst: N::of(bucket.burst_ubit) * N::of(FINE), rate: N::of(bucket.rate_ubps) }
    }

    pub(crate) fn grown(&self, by: &N) -> Self {
        let burst = self.burst.clone() + self.rate.clone() * by.clone();
        Self { burst, rate: self.rate.clone() }
    }

    pub(crate) fn at(&self, t: &N) -> N {
        self.burst.clone() + self.rate.clone() * t.clone()
    }

    fn plus(&self, other: &Self) -> Self {
        Self {
            burst: self.burst.clone() + other.burst.clone(),
            rate: self.rate.clone() + other.rate.clone(),
        }
    }

    /// When this steeper line meets a flatter one that starts higher.
    fn meets(&self, flatter: &Self) -> N {
        (flatter.burst.clone() - self.burst.clone()) / (self.rate.clone() - flatter.rate.clone())
    }
}

/// The minimum of lines, for t > 0: only lines that are least somewhere, steepest first.
#[derive(Clone, Debug)]
pub(crate) struct Concave<N> {
    lines: Vec<Line<N>>,
}

impl<N: Number> Concave<N> {
    /// Nothing ever arrives.
    pub(crate) fn zero() -> Self {
        Self { lines: vec![Line { burst: N::zero(), rate: N::zero() }] }
    }

    /// The minimum of at least one line.
    pub(crate) fn min_of(mut lines: Vec<Line<N>>) -> Self {
        lines.sort_by(|a, b| {
            let by_rate = b.rate.partial_cmp(&a.rate);
            let order = by_rate.map(|o| {
                o.then_with(|| b.burst.partial_cmp(&a.burst).unwrap_or(std::cmp::Ordering::Equal))
            });
            order.unwrap_or(std::cmp::Ordering::Equal)
        });
        let mut hull: Vec<Line<N>> = Vec::new();
        for line in lines {
            // A flatter line that starts no higher replaces what is steeper.
            while hull.last().is_some_and(|last| line.burst <= last.burst) {
                hull.pop();
            }
            while let [.., before, last] = hull.as_slice() {
                if before.meets(&line) > before.meets(last) {
                    break;
                }
                hull.pop();
            }
            hull.push(line);
        }
        Self { lines: hull }
    }

    /// Also bounded by `line`.
    pub(crate) fn capped(self, line: Line<N>) -> Self {
        let mut lines = self.lines;
        lines.push(line);
        Self::min_of(lines)
    }

    /// Its lines, seen `by` later.
    pub(crate) fn moved(&self, by: &N) -> Vec<Line<N>> {
        self.lines.iter().map(|line| line.grown(by)).collect()
    }

    /// When each line but the first takes over.
    fn breaks(&self) -> Vec<N> {
        self.lines.windows(2).map(|pair| pair[0].meets(&pair[1])).collect()
    }

    /// Both together.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let (mine, theirs) = (self.breaks(), other.breaks());
        let (mut i, mut j) = (0, 0);
        let mut lines = vec![self.lines[0].plus(&other.lines[0])];
        while i < mine.len() || j < theirs.len() {
            let first = match (mine.get(i), theirs.get(j)) {
                (Some(a), Some(b)) => a <= b,
                (first, _) => first.is_some(),
            };
            if first {
                i += 1
            } else {
                j += 1
            }
            lines.push(self.lines[i].plus(&other.lines[j]));
        }
        Self::min_of(lines)
    }

    pub(crate) fn at(&self, t: &N) -> N {
        let values = self.lines.iter().map(|line| line.at(t));
        values.reduce(Number::smaller).unwrap_or_else(N::zero)
    }

    /// The rate in the long run.
    pub(crate) fn tail_rate(&self) -> N {
        self.lines.last().map_or_else(N::zero, |line| line.rate.clone())
    }

    /// The first t > 0 from which the curve is at least `value`; `None` if it never is.
    fn reaches(&self, value: &N) -> Option<N> {
        let mut latest = N::zero();
        for line in &self.lines {
            if line.burst >= *value {
                continue;
            }
            if line.rate.is_zero() {
                return None;
            }
            let t = (value.clone() - line.burst.clone()) / line.rate.clone();
            latest = latest.larger(t);
        }
        Some(latest)
    }
}

/// The maximum of rate-latencies, for t ≥ 0: only those that are greatest somewhere, flattest
/// first.
#[derive(Clone, Debug)]
pub(crate) struct Convex<N> {
    /// Rate and latency.
    pieces: Vec<(N, N)>,
}

impl<N: Number> Convex<N> {
    /// The maximum of these; `None` if no rate is positive.
    pub(crate) fn max_of(service: &[RateLatency]) -> Option<Self> {
        let positive = service.iter().filter(|s| s.rate_ubps > 0);
        let mut all: Vec<RateLatency> = positive.copied().collect();
        // A piece that is no faster and no earlier than another is never greatest.
        all.sort_by_key(|s| (s.latency, -s.rate_ubps));
        let mut pieces: Vec<(N, N)> = Vec::new();
        let mut fastest = 0;
        for s in all {
            if s.rate_ubps > fastest {
                fastest = s.rate_ubps;
                pieces.push((N::of(s.rate_ubps), N::of(s.latency.0.max(0))));
            }
        }
        (!pieces.is_empty()).then_some(Self { pieces })
    }

    fn top_rate(&self) -> N {
        let rates = self.pieces.iter().map(|(rate, _)| rate.clone());
        rates.reduce(Number::larger).unwrap_or_else(N::zero)
    }

    /// [β − amount]⁺.
    pub(crate) fn lowered(&self, amount: &N) -> Self {
        let later = |(rate, latency): &(N, N)| {
            (rate.clone(), latency.clone() + amount.clone() / rate.clone())
        };
        Self { pieces: self.pieces.iter().map(later).collect() }
    }

    /// The first time at which so much was served.
    fn reaches(&self, value: &N) -> N {
        let time = |(rate, latency): &(N, N)| latency.clone() + value.clone() / rate.clone();
        self.pieces.iter().map(time).reduce(Number::smaller).unwrap_or_else(N::zero)
    }

    /// Values at which one piece takes over from another, those that matter and perhaps others.
    fn kinks(&self) -> Vec<N> {
        let mut kinks = Vec::new();
        for (i, (slow, early)) in self.pieces.iter().enumerate() {
            for (fast, late) in &self.pieces[i + 1..] {
                let meet = (fast.clone() * late.clone() - slow.clone() * early.clone())
                    / (fast.clone() - slow.clone());
                kinks.push(slow.clone() * (meet - early.clone()));
            }
        }
        kinks
    }
}

/// The largest horizontal distance: sup over t of the time until α(t) is served, less t.
///
/// `None` if the arrivals outgrow the service. The distance is concave between the kinks of the
/// service, so it is largest at a break of either curve.
pub(crate) fn fifo_delay<N: Number>(arrival: &Concave<N>, service: &Convex<N>) -> Option<N> {
    if arrival.tail_rate() > service.top_rate() {
        return None;
    }
    let mut times = arrival.breaks();
    times.push(N::zero());
    times.extend(service.kinks().iter().filter_map(|value| arrival.reaches(value)));
    let distance = |t: &N| service.reaches(&arrival.at(t)) - t.clone();
    Some(times.iter().map(distance).fold(N::zero(), Number::larger))
}

/// The longest busy period: the last t at which α(t) exceeds β(t).
///
/// It bounds the delay in a strict server whatever the order between flows. `None` if it never
/// ends.
pub(crate) fn busy_period<N: Number>(arrival: &Concave<N>, service: &Convex<N>) -> Option<N> {
    // α − β is concave and not below zero at first, so the least of the times at which one pair
    // of a line and a piece crosses is where the minimum α goes below the maximum β.
    let mut end: Option<N> = None;
    for line in &arrival.lines {
        for (rate, latency) in &service.pieces {
            let need = line.burst.clone() + rate.clone() * latency.clone();
            let meets = if line.rate < *rate {
                Some(need / (rate.clone() - line.rate.clone()))
            } else {
                (line.rate == *rate && need.is_zero()).then(N::zero)
            };
            end = match (end, meets) {
                (Some(a), Some(b)) => Some(a.smaller(b)),
                (a, b) => a.or(b),
            };
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn concave(lines: &[(i128, i128)]) -> Concave<BigRational> {
        let line = |&(burst, rate): &(i128, i128)| Line {
            burst: BigRational::of(burst),
            rate: BigRational::of(rate),
        };
        Concave::min_of(lines.iter().map(line).collect())
    }

    fn convex(pieces: &[(i128, i128)]) -> Convex<BigRational> {
        let piece = |&(rate, latency): &(i128, i128)| RateLatency {
            rate_ubps: rate,
            latency: Picos(latency),
        };
        let service: Vec<RateLatency> = pieces.iter().map(piece).collect();
        Convex::max_of(&service).expect("a positive rate")
    }

    fn served(service: &Convex<BigRational>, t: &BigRational) -> BigRational {
        let value = |(rate, latency): &(BigRational, BigRational)| {
            rate * (t - latency).larger(BigRational::of(0))
        };
        service.pieces.iter().map(value).reduce(Number::larger).expect("not empty")
    }

    fn lines() -> impl Strategy<Value = Vec<(i128, i128)>> {
        prop::collection::vec((0_i128..40, 0_i128..9), 1..5)
    }

    fn pieces() -> impl Strategy<Value = Vec<(i128, i128)>> {
        prop::collection::vec((1_i128..12, 0_i128..9), 1..4)
    }

    fn naive(lines: &[(i128, i128)], t: &BigRational) -> BigRational {
        let values = lines.iter().map(|&(b, r)| BigRational::of(b) + BigRational::of(r) * t);
        values.reduce(Number::smaller).expect("not empty")
    }

    proptest! {
        /// The sum of hulls is the sum of minima, everywhere.
        #[test]
        fn sums_are_exact(a in lines(), b in lines(), t in 0_i128..60) {
            let t = BigRational::new(t.into(), 3.into());
            let sum = concave(&a).plus(&concave(&b)).at(&t);
            prop_assert_eq!(sum, naive(&a, &t) + naive(&b, &t));
        }

        /// Served d later, whatever has come by t; and d is needed at some t of a fine grid.
        #[test]
        fn fifo_delay_is_the_least(a in lines(), s in pieces()) {
            let (arrival, service) = (concave(&a), convex(&s));
            let Some(delay) = fifo_delay(&arrival, &service) else {
                let top = s.iter().map(|p| p.0).max().expect("not empty");
                prop_assert!(arrival.tail_rate() > BigRational::of(top));
                return Ok(());
            };
            let mut needed = BigRational::of(0);
            for step in 0..600 {
                let t = BigRational::new(step.into(), 10.into());
                let brought = arrival.at(&t);
                prop_assert!(served(&service, &(t.clone() + delay.clone())) >= brought);
                needed = needed.larger(service.reaches(&brought) - t);
            }
            // Break points are quotients of small numbers: the grid comes close to all.
            let slack = delay - needed;
            prop_assert!(slack <= BigRational::of(1), "{slack}");
        }

        /// Behind the end of the busy period more was served than had come; not before it.
        #[test]
        fn busy_periods_end(a in lines(), s in pieces()) {
            let (arrival, service) = (concave(&a), convex(&s));
            let excess = |t: &BigRational| arrival.at(t) - served(&service, t);
            match busy_period(&arrival, &service) {
                Some(end) => {
                    prop_assert!(excess(&end) <= BigRational::of(0));
                    let half = end.clone() / BigRational::of(2);
                    prop_assert!(end == BigRational::of(0) || excess(&half) >= BigRational::of(0));
                }
                None => prop_assert!(excess(&BigRational::of(10_000)) > BigRational::of(0)),
            }
        }
    }
}
