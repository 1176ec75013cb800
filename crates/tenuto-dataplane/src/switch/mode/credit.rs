//! How many mode signals a port may still send.

use super::debts::DWELL;
use tenuto_units::{Instant, Span};

/// What a port may still send: a bucket of `limit` frames per [`DWELL`], full at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::switch) struct Credit {
    /// The bucket is full again at this instant (generic cell rate algorithm).
    full_at: Instant,
}

impl Credit {
    pub(super) fn take(&mut self, now: Instant, limit: u32) -> bool {
        let each = Span::from_ns(DWELL.as_ns() / u64::from(limit.max(1)));
        let depth = each.times(u64::from(limit.max(1)) - 1);
        if self.full_at > now + depth {
            return false;
        }
        self.full_at = self.full_at.max(now) + each;
        true
    }

    pub(in crate::switch) fn relative(self, now: Instant) -> u64 {
        self.full_at.since(now).as_ns()
    }
}
