//! Minima of lines and their sums: concave curves for a fixed delay, walked from the left.

use crate::peak::Peak;
use std::cmp::{Ordering, Reverse};

/// A quotient with a positive denominator; compared without overflow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ratio {
    pub(crate) over: i128,
    pub(crate) under: i128,
}

impl Ratio {
    pub(crate) const ZERO: Self = Self { over: 0, under: 1 };

    /// Exact: whole parts first, then the remainders, which are below the denominators.
    pub(crate) fn compare(self, other: Self) -> Ordering {
        let whole = |r: Self| (r.over.div_euclid(r.under), r.over.rem_euclid(r.under));
        let ((a, rest_a), (b, rest_b)) = (whole(self), whole(other));
        a.cmp(&b).then_with(|| (rest_a * other.under).cmp(&(rest_b * self.under)))
    }
}

/// `at_zero + slope·t`, in 10⁻¹⁸ bit; `by_delay` is how fast it rises with the delay d.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Line {
    pub(crate) at_zero: i128,
    pub(crate) slope: i128,
    pub(crate) by_delay: i128,
}

impl Line {
    pub(crate) const fn plus(self, other: Self) -> Self {
        Self {
            at_zero: self.at_zero + other.at_zero,
            slope: self.slope + other.slope,
            by_delay: self.by_delay + other.by_delay,
        }
    }

    pub(crate) const fn minus(self, other: Self) -> Self {
        Self {
            at_zero: self.at_zero - other.at_zero,
            slope: self.slope - other.slope,
            by_delay: self.by_delay - other.by_delay,
        }
    }

    /// This line seen from `by` on.
    pub(crate) const fn shifted(self, by: i128) -> Self {
        Self { at_zero: self.at_zero + self.slope * by, ..self }
    }
}

/// A sum of minima of lines over t ≥ 0: its first piece, and where and how it turns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    first: Line,
    /// Of every minimum in turn, not yet in one order.
    breaks: Vec<(Ratio, Line)>,
}

impl Sum {
    pub(crate) const fn of(base: Line) -> Self {
        Self { first: base, breaks: Vec::new() }
    }

    /// Adds the minimum of `lines`, which are put in order for it; a minimum of none is zero.
    ///
    /// The steepest come first: a flatter line takes over from the last one where they cross,
    /// and in its place altogether if that is before the last one took over itself.
    pub(crate) fn add_least(&mut self, lines: &mut [Line]) {
        lines.sort_unstable_by_key(|line| Reverse((line.slope, line.at_zero)));
        let mut kept = 0;
        for next in 0..lines.len() {
            let line = lines[next];
            while let Some(&last) = lines[..kept].last() {
                let crossing =
                    Ratio { over: line.at_zero - last.at_zero, under: last.slope - line.slope };
                if !self.takes_place(crossing, kept) {
                    self.breaks.push((crossing, line.minus(last)));
                    break;
                }
                kept -= 1;
                if kept > 0 {
                    self.breaks.pop();
                }
            }
            lines[kept] = line;
            kept += 1;
        }
        if let Some(&first) = lines.first() {
            self.first = self.first.plus(first);
        }
    }

    /// Whether the last of `kept` lines has nowhere left where it is the least.
    fn takes_place(&self, crossing: Ratio, kept: usize) -> bool {
        let started = match self.breaks.last() {
            Some((at, _)) if kept > 1 => *at,
            _ => Ratio::ZERO,
        };
        crossing.under == 0 || crossing.compare(started).is_le()
    }

    /// Lines whose minimum is the sum, in place of what `lines` held.
    pub(crate) fn pieces(mut self, lines: &mut Vec<Line>) {
        lines.clear();
        lines.push(self.first);
        self.breaks.sort_by(|(a, _), (b, _)| a.compare(*b));
        let mut current = self.first;
        for (_, change) in self.breaks {
            current = current.plus(change);
            lines.push(current);
        }
    }

    /// Where the sum is largest; `None` if it grows without end.
    ///
    /// It is concave: its largest value is at the first break behind which it does not rise.
    pub(crate) fn peak(mut self) -> Option<Peak> {
        let mut right = self.first;
        if right.slope <= 0 {
            return Some(Peak { left: right, right, at: Ratio::ZERO });
        }
        self.breaks.sort_by(|(a, _), (b, _)| a.compare(*b));
        for (at, change) in self.breaks {
            let left = right;
            right = right.plus(change);
            if right.slope <= 0 {
                return Some(Peak { left, right, at });
            }
        }
        None
    }
}
