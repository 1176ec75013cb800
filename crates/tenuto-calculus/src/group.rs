//! Groups: what arrives at a port over one incoming line.

use crate::Bucket;

/// Sum of flows; some of them may end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flows {
    /// Flows without end.
    pub steady: Bucket,
    /// Flows that end at the age Θ of the busy period: b + r·min(t, Θ).
    pub ending: Bucket,
}

impl Flows {
    /// All of them as if none ended.
    pub const fn all(self) -> Bucket {
        self.steady.plus(self.ending)
    }

    /// Adds one flow.
    pub const fn add(&mut self, bucket: Bucket, ends: bool) {
        if ends {
            self.ending = self.ending.plus(bucket);
        } else {
            self.steady = self.steady.plus(bucket);
        }
    }

    /// Nothing ever arrives.
    pub const fn is_zero(self) -> bool {
        self.all().is_zero()
    }
}

/// What one group brings to a port, as seen from class k.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupCurves {
    /// K: flows of class k.
    pub class: Flows,
    /// H: flows of the classes above.
    pub higher: Flows,
    /// Λ: the line that carries them all, where it shapes them.
    pub line: Option<Bucket>,
}
