//! The largest excess of arrivals over service, exactly.

use crate::concave::{Line, Lines, Ratio};

/// Where Σ curves − C·t is largest: between the piece left of it and the piece right of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peak {
    left: Line,
    right: Line,
    at: Ratio,
}

/// The peak of `base` + Σ `curves`; `base` carries −C·t. `None` if it grows without end.
///
/// The sum is concave, so its largest value is at the first break point behind which it does not
/// rise; the walk along the break points stops there.
pub(crate) fn peak(base: Line, curves: &[Lines]) -> Option<Peak> {
    let mut breaks: Vec<(Ratio, Line)> = Vec::new();
    let mut right = base;
    for curve in curves {
        let mut current = curve.first();
        right = right.plus(current);
        while let Some((at, line)) = curve.next_after(current) {
            breaks.push((at, line.minus(current)));
            current = line;
        }
    }
    if right.slope <= 0 {
        return Some(Peak { left: right, right, at: Ratio::ZERO });
    }
    breaks.sort_by(|(a, _), (b, _)| a.compare(*b));
    for (at, change) in breaks {
        let left = right;
        right = right.plus(change);
        if right.slope <= 0 {
            return Some(Peak { left, right, at });
        }
    }
    None
}

impl Peak {
    /// The largest value, rounded **up** to 10⁻¹⁸ bit.
    pub(crate) fn value_up(&self) -> i128 {
        let (whole, rest) = (self.at.over.div_euclid(self.at.under), self.at.over % self.at.under);
        self.left.at_zero
            + self.left.slope * whole
            + crate::div_up(self.left.slope * rest, self.at.under)
    }

    /// How fast the largest value falls with the delay, rounded **up**: a tangent of the concave
    /// function "largest value over d", so that its root is never below the least delay.
    pub(crate) fn fall_up(&self) -> i128 {
        let (left, right) = (self.left, self.right);
        if left.slope == right.slope || left.slope <= 0 {
            return -right.by_delay;
        }
        let weighted = -right.slope * left.by_delay + left.slope * right.by_delay;
        crate::div_up(-weighted, left.slope - right.slope)
    }
}
