//! Exact arithmetic: fractions, and sums of concave curves.

use num_bigint::{BigInt, Sign};
use num_traits::{One, Signed, Zero};
use std::cmp::Ordering;

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

    /// A quotient; `None` of nothing.
    pub(crate) fn of(num: BigInt, den: BigInt) -> Option<Self> {
        match den.sign() {
            Sign::NoSign => None,
            Sign::Plus => Some(Self { num, den }),
            Sign::Minus => Some(Self { num: -num, den: -den }),
        }
    }

    pub(crate) fn plus(&self, more: &BigInt) -> Self {
        Self { num: &self.num + more * &self.den, den: self.den.clone() }
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

    /// What it bounds a time `by` later.
    pub(crate) fn later(&self, by: &BigInt) -> Self {
        Self { burst: self.within(by), rate: self.rate.clone() }
    }

    pub(crate) fn within(&self, span: &BigInt) -> BigInt {
        &self.burst + &self.rate * span
    }

    /// Its value at `t`, times the denominator of `t`.
    pub(crate) fn at(&self, t: &Frac) -> BigInt {
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

/// The times at which another line of a curve becomes the least; `None` if it is infinite.
pub(crate) fn breaks(curve: &[Line]) -> Option<Vec<Frac>> {
    Some(least_lines(curve)?.into_iter().map(|(from, _)| from).collect())
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

/// Σ curves(t); `None` if one of the curves is infinite.
pub(crate) fn sum_at(curves: &[Curve], t: u64) -> Option<BigInt> {
    let least = |curve: &Curve| curve.iter().map(|line| &line.burst + &line.rate * t).min();
    curves.iter().map(least).sum()
}

#[cfg(test)]
#[path = "../../tests/unit/kernel_exact.rs"]
mod tests;
