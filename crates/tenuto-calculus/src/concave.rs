//! Minima of lines, walked from the left: the concave curves of one group for a fixed delay.

use std::cmp::Ordering;

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
}

/// The minimum of a few lines.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lines {
    lines: [Line; Self::MAX],
    len: usize,
}

impl Lines {
    /// Two shapes of K times two of H, two of Λ(t) + H(d), and Λ(t+d).
    const MAX: usize = 7;

    pub(crate) fn push(&mut self, line: Line) {
        self.lines[self.len] = line;
        self.len += 1;
    }

    pub(crate) fn as_slice(&self) -> &[Line] {
        &self.lines[..self.len]
    }

    /// The line that is least at t = 0 (and right of it); a minimum of no lines is zero.
    pub(crate) fn first(&self) -> Line {
        let least = self.as_slice().iter().min_by_key(|line| (line.at_zero, line.slope));
        least.copied().unwrap_or_default()
    }

    /// Where a flatter line first goes below `current`, and which.
    pub(crate) fn next_after(&self, current: Line) -> Option<(Ratio, Line)> {
        let flatter = self.as_slice().iter().filter(|line| line.slope < current.slope);
        let crossings = flatter.map(|line| {
            let over = line.at_zero - current.at_zero;
            (Ratio { over, under: current.slope - line.slope }, *line)
        });
        crossings.min_by(|(a, one), (b, other)| a.compare(*b).then(one.slope.cmp(&other.slope)))
    }
}
