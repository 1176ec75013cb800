//! How much may be computed for one document: curves that are looked at. A plan that is in order
//! takes a thousandth of it; one made to keep the checker busy ends here, with a finding.

use std::cell::Cell;
use std::rc::Rc;

/// Curves of one certification.
const CURVES_MAX: u64 = 2_000_000_000;

/// What is left, shared by all that compute.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    left: Rc<Cell<u64>>,
}

impl Budget {
    pub(crate) fn new() -> Self {
        Self { left: Rc::new(Cell::new(CURVES_MAX)) }
    }

    /// Takes so many; `false` once there are not as many left, then and ever after.
    pub(crate) fn spend(&self, curves: usize) -> bool {
        let curves = u64::try_from(curves).unwrap_or(u64::MAX);
        let left = self.left.get().checked_sub(curves);
        self.left.set(left.unwrap_or(0));
        left.is_some() && !self.is_spent()
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }
}

#[cfg(test)]
#[path = "../tests/unit/budget.rs"]
mod tests;
