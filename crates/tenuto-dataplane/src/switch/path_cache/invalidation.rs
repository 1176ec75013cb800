//! When cached paths become void: the one rule.
//!
//! Who changes something says what ([`Change`]), and the cache finds the paths that this concerns. A path
//! that is void needlessly is compiled again; one that is kept wrongly would send frames where no entry
//! says. So every doubt makes all paths void. Paths are also void in any other mode, of their own, and
//! that of a meter or monitor that comes or goes ([`meter_monitor_store`](super::meter_monitor_store)).

use super::store::PathCache;
use crate::switch::classifier::key::{PacketKey, Pattern};
use crate::switch::classifier::table::Table;
use crate::switch::tables::{TABLE_WATCH, Tables};

/// Masks of the first table that are searched for paths when an entry changes; with more of them, all
/// paths are void.
const MASKS_SEARCHED: usize = 8;

/// What has changed.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) enum Change<'a> {
    /// In a table, an entry of this pattern came, went or does something else. The index of the table is
    /// arranged as before, so that other look-ups take as many probes.
    Entry { table: u8, pattern: &'a Pattern },
    /// Several entries, the arrangement of an index, levels, groups, or what is live.
    Any,
}

impl<'a> Change<'a> {
    /// An entry of a pattern came or went, and the index may have been arranged anew.
    pub(in crate::switch) const fn of_entry(
        table: u8,
        pattern: &'a Pattern,
        is_arranged_alike: bool,
    ) -> Self {
        if is_arranged_alike { Self::Entry { table, pattern } } else { Self::Any }
    }
}

impl Tables {
    /// Makes the cached paths void that a change concerns.
    pub(in crate::switch) fn invalidate_paths(&mut self, change: Change<'_>) {
        let Some(first) = self.states.first() else { return };
        self.path_cache.invalidate(change, first.table());
    }
}

impl PathCache {
    /// Makes the paths void that a change concerns, where `first` is the first table.
    fn invalidate(&mut self, change: Change<'_>, first: &Table) {
        match change {
            Change::Entry { table, pattern } if !self.may_be_led_by(table, pattern, first) => {
                first.of_pattern(pattern).for_each(|slot| self.make_void(slot));
            }
            Change::Entry { .. } | Change::Any => self.make_all_void(),
        }
    }

    /// Whether paths of other patterns may lead through an entry of this one, or would if it were there.
    fn may_be_led_by(&self, table: u8, pattern: &Pattern, first: &Table) -> bool {
        // A mask that asks for more may have any number of entries whose frames match the pattern;
        // one that does not ask for all of it has no path through another table with it, unless by what
        // entries have written.
        let is_beyond =
            |m: &PacketKey| *m != pattern.mask && m.masked(&pattern.mask) == pattern.mask;
        let asks_beyond = || first.masks() > MASKS_SEARCHED || first.each_mask().any(is_beyond);
        let is_behind = table != TABLE_WATCH;
        is_behind && (self.is_any_by_written() || asks_beyond()) || first.is_chained(pattern)
    }
}
