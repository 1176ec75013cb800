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

/// One group at a port, as seen from class k; or a set of it that came over a slower
/// line farther back (theory, "Lines farther back").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupCurves {
    /// K: flows of class k.
    pub class: Flows,
    /// H: flows of the classes above.
    pub higher: Flows,
    /// Λ: the line that carries them all, those of the sets within too, where it shapes them.
    pub line: Option<Bucket>,
    /// The set next around it, by its place in the same list, in front of this one; its flows are
    /// not told again there. `None` for a group.
    pub under: Option<usize>,
}

impl GroupCurves {
    /// The set around it, for the one at `place`: none that does not stand in front of it.
    pub(crate) fn around(&self, place: usize) -> Option<usize> {
        self.under.filter(|around| *around < place)
    }

    /// The flows of this group without a line; a set within then counts as its flows.
    #[must_use]
    pub const fn free(self) -> Self {
        Self { line: None, ..self }
    }
}
