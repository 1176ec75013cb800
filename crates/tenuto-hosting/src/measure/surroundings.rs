//! What all series of a measurement share.

use super::settings::MeasureSettings;
use crate::groups::Groups;
use tenuto_io::{MonotonicClock, PollSet};
use tenuto_units::Span;

/// What all series share.
pub(super) struct Surroundings<'a> {
    pub(super) settings: &'a MeasureSettings,
    pub(super) host: String,
    pub(super) groups: Groups,
    /// Of switches, and of control planes.
    pub(super) processors: [usize; 2],
}

impl Surroundings<'_> {
    /// Removes the groups: processes that have ended leave theirs a moment later.
    pub(super) fn remove_groups(&self) {
        const TRIES: usize = 50;
        for _ in 0..TRIES {
            let names = self.groups.names();
            let left = names.iter().filter(|name| !self.groups.remove(name)).count();
            if left == 0 && self.groups.remove_all() {
                return;
            }
            let _ = PollSet::new().wait(Some(MonotonicClock::now() + Span::from_ms(10)));
        }
    }
}
