//! The largest excess of arrivals over service, exactly.

use crate::concave::{Line, Ratio};

/// Where Σ curves − C·t is largest: between the piece left of it and the piece right of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peak {
    pub(crate) left: Line,
    pub(crate) right: Line,
    pub(crate) at: Ratio,
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
