//! Entries that go with the table or level they are in, some at a time, and of which nobody hears.

use super::long_work::SLOTS_LOOKED_AT;
use super::task::Sweep;
use crate::switch::Switch;

impl Switch {
    /// Removes the next entries of the levels and tables that go, as many as are touched at once; true
    /// if none is left.
    pub(super) fn sweep(&mut self, at: &mut Sweep, goes: impl Fn(&Self, u8, u8) -> bool) -> bool {
        let limit = self.entries_at_once().unwrap_or(usize::MAX);
        let (mut looks, mut removed) = (limit.saturating_mul(SLOTS_LOOKED_AT), 0);
        while looks > 0 && removed < limit {
            looks -= 1;
            if at.level >= self.tables.levels() {
                return true;
            }
            let state = self.tables.get(at.level, at.table);
            let state = state.filter(|_| goes(self, at.level, at.table));
            let slots = state.map_or(0, |state| state.table().slots());
            if at.slot as usize >= slots {
                at.next_table(self.config.tables);
                continue;
            }
            if state.is_some_and(|state| state.table().get(at.slot).is_some()) {
                self.tables.remove_slot(at.level, at.table, at.slot);
                self.disarm(at.level, at.table, at.slot);
                removed += 1;
            }
            at.slot += 1;
        }
        false
    }
}
