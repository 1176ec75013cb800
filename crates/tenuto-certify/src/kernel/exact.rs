//! Exact arithmetic: scaled integers, fractions, and sums of concave curves.
//!
//! A rate is a whole number of 1/S bit/s and a size a whole number of 1/(S·10¹²) bit, so that rate
//! times picoseconds is a size without rounding. S is a common multiple of all periods of the plan,
//! hence every rate is exact; where the periods have no common multiple of reasonable size, rates
//! are rounded up to 10⁻¹² bit/s, which is the safe direction and finer than the chapter asks for.

use num_bigint::BigInt;
use num_traits::{One, Signed, Zero};
use std::cmp::Ordering;

const PS_PER_S: u64 = 1_000_000_000_000;
/// Common multiples above this are given up.
const SCALE_MAX: u128 = 1 << 64;

/// The factor S.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    factor: BigInt,
}

/// An affine function: `burst` at 0 and `rate` per picosecond.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) burst: BigInt,
    pub(crate) rate: BigInt,
}

/// A concave curve: the minimum of its lines; without lines, infinite.
pub(crate) type Curve = Vec<Line>;

/// A fraction with a positive denominator, not reduced.
#[derive(Clone, Debug)]
pub(crate) struct Frac {
    pub(crate) num: BigInt,
    pub(crate) den: BigInt,
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

/// a / b for b > 0, rounded up.
pub(crate) fn ceil_div(a: BigInt, b: BigInt) -> BigInt {
    let quotient = &a / &b;
    let rest = a - &quotient * b;
    if rest.is_positive() { quotient + 1 } else { quotient }
}

impl Frac {
    pub(crate) fn whole(num: BigInt) -> Self {
        Self { num, den: BigInt::one() }
    }

    pub(crate) fn ceil(&self) -> BigInt {
        ceil_div(self.num.clone(), self.den.clone())
    }

    fn cmp(&self, other: &Self) -> Ordering {
        (&self.num * &other.den).cmp(&(&other.num * &self.den))
    }

    /// Whether it is at most the whole number `limit`.
    pub(crate) fn at_most(&self, limit: &BigInt) -> bool {
        self.num <= limit * &self.den
    }
}

impl Line {
    pub(crate) const fn new(burst: BigInt, rate: BigInt) -> Self {
        Self { burst, rate }
    }

    /// Its value at `t`, times the denominator of `t`.
    fn at(&self, t: &Frac) -> BigInt {
        &self.burst * &t.den + &self.rate * &t.num
    }
}

/// Sum of two curves: every pair of lines; infinite if one of them is.
pub(crate) fn add(one: &[Line], two: &[Line]) -> Curve {
    let pair = |a: &Line, b: &Line| Line::new(&a.burst + &b.burst, &a.rate + &b.rate);
    one.iter().flat_map(|a| two.iter().map(move |b| pair(a, b))).collect()
}

/// The lines of a curve that are least anywhere from 0 on, in order of time, each with the time
/// from which it is; `None` if the curve is infinite.
fn least_lines(curve: &[Line]) -> Option<Vec<(Frac, &Line)>> {
    let mut lines: Vec<&Line> = curve.iter().collect();
    lines.sort_by(|a, b| b.rate.cmp(&a.rate).then_with(|| b.burst.cmp(&a.burst)));
    let mut least: Vec<(Frac, &Line)> = Vec::with_capacity(lines.len());
    for line in lines {
        // A flatter line ends every one that it meets before that became the least, or at 0.
        let from = loop {
            let Some((since, last)) = least.last() else { break Frac::whole(BigInt::zero()) };
            if line.burst > last.burst {
                let met = Frac { num: &line.burst - &last.burst, den: &last.rate - &line.rate };
                if met.cmp(since) == Ordering::Greater {
                    break met;
                }
            }
            least.pop();
        };
        least.push((from, line));
    }
    (!least.is_empty()).then_some(least)
}

/// Sum of many curves, as the lines that are least anywhere from 0 on; infinite if one of them is.
pub(crate) fn sum(curves: &[Curve]) -> Curve {
    let mut now = Line::new(BigInt::zero(), BigInt::zero());
    let mut changes = Vec::new();
    for curve in curves {
        let Some(lines) = least_lines(curve) else { return Curve::new() };
        let mut before: Option<&Line> = None;
        for (from, line) in lines {
            match before.replace(line) {
                None => now = Line::new(now.burst + &line.burst, now.rate + &line.rate),
                Some(last) => changes.push((from, last, line)),
            }
        }
    }
    changes.sort_by(|a, b| a.0.cmp(&b.0));
    let mut all = vec![now.clone()];
    for (_, last, line) in changes {
        now.burst += &line.burst - &last.burst;
        now.rate += &line.rate - &last.rate;
        all.push(now.clone());
    }
    all
}

/// The difference between a sum of curves and a line through the origin, as a walk over time.
struct Excess<'a> {
    curves: &'a [Curve],
    capacity: &'a BigInt,
    /// Slope from 0 on, and the changes of slope behind it in order of time.
    slope: BigInt,
    breaks: Vec<(Frac, BigInt)>,
}

impl<'a> Excess<'a> {
    /// `None` if one of the curves is infinite.
    fn new(curves: &'a [Curve], capacity: &'a BigInt) -> Option<Self> {
        let (mut slope, mut breaks) = (-capacity, Vec::new());
        for curve in curves {
            let mut before: Option<&Line> = None;
            for (from, line) in least_lines(curve)? {
                match before.replace(line) {
                    None => slope += &line.rate,
                    Some(last) => breaks.push((from, &line.rate - &last.rate)),
                }
            }
        }
        breaks.sort_by(|a, b| a.0.cmp(&b.0));
        Some(Self { curves, capacity, slope, breaks })
    }

    /// The value at `t`, exactly: every curve's least line, whatever the walk said.
    fn at(&self, t: &Frac) -> Frac {
        let least = |curve: &Curve| curve.iter().map(|line| line.at(t)).min().unwrap_or_default();
        let sum: BigInt = self.curves.iter().map(least).sum();
        Frac { num: sum - self.capacity * &t.num, den: t.den.clone() }
    }
}

/// The largest difference Σ curves(t) − capacity·t over t ≥ 0; `None` if there is none.
///
/// The difference is concave, so it is largest where its slope stops being positive.
pub(crate) fn largest_excess(curves: &[Curve], capacity: &BigInt) -> Option<Frac> {
    let excess = Excess::new(curves, capacity)?;
    let mut slope = excess.slope.clone();
    if !slope.is_positive() {
        return Some(excess.at(&Frac::whole(BigInt::zero())));
    }
    for (time, change) in &excess.breaks {
        slope += change;
        if !slope.is_positive() {
            return Some(excess.at(time));
        }
    }
    None
}

/// The time from which `start` + Σ curves(t) ≤ capacity·t, up to a whole picosecond; `None` if
/// there is none. The end of the longest busy period.
pub(crate) fn busy_period(start: &BigInt, curves: &[Curve], capacity: &BigInt) -> Option<BigInt> {
    let excess = Excess::new(curves, capacity)?;
    let value = |t: &Frac| {
        let at = excess.at(t);
        Frac { num: at.num + start * &at.den, den: at.den }
    };
    let mut slope = excess.slope.clone();
    let mut from = Frac::whole(BigInt::zero());
    let mut here = value(&from);
    for (time, change) in &excess.breaks {
        let there = value(time);
        if !there.num.is_positive() && !slope.is_positive() {
            break;
        }
        (from, here) = (time.clone(), there);
        slope += change;
    }
    if !here.num.is_positive() && !slope.is_positive() {
        return Some(from.ceil().max(BigInt::zero()));
    }
    if !slope.is_negative() {
        return None;
    }
    // from + here / −slope
    let fall = -slope;
    let num = &from.num * &here.den * &fall + &here.num * &from.den;
    Some(ceil_div(num, &from.den * &here.den * fall))
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_rational::BigRational;

    fn line(burst: i64, rate: i64) -> Line {
        Line::new(burst.into(), rate.into())
    }

    /// The naive twin: every crossing of two lines of one curve is tried.
    fn largest_naive(curves: &[Curve], capacity: i64) -> Option<BigRational> {
        let whole = |n: &BigInt| BigRational::from_integer(n.clone());
        let tail: BigInt =
            curves.iter().map(|c| c.iter().map(|l| l.rate.clone()).min().unwrap_or_default()).sum();
        if tail > capacity.into() {
            return None;
        }
        let mut times = vec![whole(&BigInt::zero())];
        for curve in curves {
            for a in curve {
                for b in curve.iter().filter(|b| b.rate < a.rate && b.burst > a.burst) {
                    times.push(BigRational::new(&b.burst - &a.burst, &a.rate - &b.rate));
                }
            }
        }
        let at = |t: &BigRational| -> BigRational {
            let least = |c: &Curve| c.iter().map(|l| whole(&l.burst) + whole(&l.rate) * t).min();
            let sum: BigRational = curves.iter().filter_map(least).sum();
            sum - whole(&capacity.into()) * t
        };
        times.iter().map(at).max()
    }

    #[test]
    fn the_walk_agrees_with_trying_every_crossing() {
        // A small linear congruential generator: the same cases in every run.
        let mut state = 7_u64;
        let mut draw = |limit: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            i64::try_from((state >> 33) % limit).expect("small")
        };
        for _ in 0..3_000 {
            let curves: Vec<Curve> = (0..1 + draw(4))
                .map(|_| (0..1 + draw(4)).map(|_| line(draw(50), draw(12))).collect())
                .collect();
            let total = sum(&curves);
            for t in [0, 1, 3, 17, 60].map(BigInt::from) {
                let least = |c: &Curve| c.iter().map(|l| &l.burst + &l.rate * &t).min();
                let each: BigInt = curves.iter().filter_map(least).sum();
                assert_eq!(least(&total), Some(each), "{curves:?} at {t}");
            }
            let capacity = 1 + draw(20);
            let fast = largest_excess(&curves, &capacity.into());
            let fast = fast.map(|f| BigRational::new(f.num, f.den));
            assert_eq!(fast, largest_naive(&curves, capacity), "{curves:?} over {capacity}");

            let start = BigInt::from(draw(30));
            if let Some(end) = busy_period(&start, &curves, &capacity.into()) {
                let excess_at = |t: &BigInt| -> BigInt {
                    let least = |c: &Curve| c.iter().map(|l| &l.burst + &l.rate * t).min();
                    curves.iter().filter_map(least).sum::<BigInt>() + &start - t * capacity
                };
                assert!(!excess_at(&end).is_positive(), "{curves:?} {start} {capacity} {end}");
                if end.is_positive() {
                    let before = excess_at(&(&end - 1));
                    assert!(before.is_positive(), "{curves:?} {start} {capacity} {end}");
                }
            }
        }
    }

    #[test]
    fn rates_are_exact_where_the_periods_allow() {
        let scale = Scale::new([3_000_000_u64, 7_000_000].into_iter());
        // 1000 bit every 3 ms, three times, are 1000 bit/s exactly.
        let rate = scale.rate(1_000, 3_000_000, 1, 1);
        assert_eq!(rate * 3, scale.bps(1_000_000, 1, 1));
        assert_eq!(scale.to_bits_up(&(scale.bits(5, 1, 1) + 1)), BigInt::from(6));
    }
}
