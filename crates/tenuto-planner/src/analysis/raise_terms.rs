//! How long a raise takes.

/// The terms of D_mc for a raise, picoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RaiseTerms {
    pub(crate) arrange: i128,
    pub(crate) update: i128,
    pub(crate) queue: i128,
}

impl RaiseTerms {
    /// D_mc.
    pub(crate) const fn sum(self) -> i128 {
        self.arrange + self.update + self.queue
    }
}
