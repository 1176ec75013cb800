//! Where the frames of each flow belong, level by level: what a change of mode asks of queued frames.
//!
//! A flow is a cookie. Its place in a level is the queue of its last entry in the tables that
//! forward, by table and then in canonical order. Changes of entries name the cookies whose last
//! entries may be others now, and [`Places::settle`] looks at these and no more. What that entry does
//! with frames is asked when somebody wants to know: a changed group may move any number of flows.

use super::counted_table::CountedTable;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The first table that forwards.
const TABLES_FORWARD: u8 = 2;

/// Where a flow's frames belong in one level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Place {
    /// Table and slot of the last of its entries, which decides.
    last: Option<(u8, u32)>,
    /// The entries of the flow: table and slot.
    entries: Vec<(u8, u32)>,
}

/// Where all flows belong.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    levels: Vec<Arc<BTreeMap<u64, Place>>>,
    /// Level and cookie of flows to look at.
    stale: Vec<(u8, u64)>,
    /// Entries of the lowest level in front of this table and slot are noted. Places are asked for at a
    /// change of levels only, so none is before there are to be more levels than one; then they are
    /// noted some at a time, and for good.
    noted_to: (u8, u32),
}

/// All entries of the lowest level are noted.
const ALL_NOTED: (u8, u32) = (u8::MAX, u32::MAX);

impl Places {
    /// Levels that go have lost their entries before; if there are several, all entries of the lowest
    /// one were noted before.
    pub(super) fn set_levels(&mut self, levels: usize) {
        self.levels.resize_with(levels, Arc::default);
        self.stale.retain(|&(level, _)| usize::from(level) < levels);
    }

    /// Notes the next entries of the lowest level, which has these tables, looking at so many slots;
    /// true if there are no more.
    pub(super) fn note_some(&mut self, looks: usize, lowest: &[CountedTable]) -> bool {
        for _ in 0..looks {
            let (table, slot) = self.noted_to;
            if self.noted_to == ALL_NOTED {
                return true;
            }
            let Some(entries) = lowest.get(usize::from(table)).map(CountedTable::table) else {
                self.noted_to = ALL_NOTED;
                return true;
            };
            if table < TABLES_FORWARD || slot as usize >= entries.slots() {
                self.noted_to = (table + 1, 0);
                continue;
            }
            self.noted_to = (table, slot + 1);
            if let Some(entry) = entries.get(slot) {
                self.note_added((0, table, slot), entry.cookie);
            }
        }
        self.noted_to == ALL_NOTED
    }

    /// Whether a change of the entry in a slot is worth noting: cookie 0 names no flow, whose frames
    /// stay where they are.
    fn notes(&self, (level, table, slot): (u8, u8, u32), cookie: u64) -> bool {
        let is_noted = level > 0 || (table, slot) < self.noted_to;
        is_noted && table >= TABLES_FORWARD && cookie != 0
    }

    /// An entry has come.
    pub(super) fn note_added(&mut self, (level, table, slot): (u8, u8, u32), cookie: u64) {
        if self.notes((level, table, slot), cookie) {
            let flows = Arc::make_mut(&mut self.levels[usize::from(level)]);
            flows.entry(cookie).or_default().entries.push((table, slot));
            self.stale.push((level, cookie));
        }
    }

    /// An entry does something else now.
    pub(super) fn note_changed(&mut self, (level, table, slot): (u8, u8, u32), cookie: u64) {
        if self.notes((level, table, slot), cookie) {
            self.stale.push((level, cookie));
        }
    }

    /// An entry has gone.
    pub(super) fn note_removed(&mut self, (level, table, slot): (u8, u8, u32), cookie: u64) {
        if self.notes((level, table, slot), cookie) {
            let flows = Arc::make_mut(&mut self.levels[usize::from(level)]);
            if let Some(place) = flows.get_mut(&cookie) {
                place.entries.retain(|entry| *entry != (table, slot));
            }
            self.stale.push((level, cookie));
        }
    }

    /// Looks at what may have changed, in the tables of all levels, so many in each; gives how many
    /// flows that were.
    pub(super) fn settle(&mut self, states: &[CountedTable], tables: u8) -> usize {
        if self.stale.is_empty() {
            return 0;
        }
        let entries_of = |level: u8, table: u8| {
            states[usize::from(level) * usize::from(tables) + usize::from(table)].table()
        };
        let mut stale = std::mem::take(&mut self.stale);
        stale.sort_unstable();
        stale.dedup();
        for &(level, cookie) in &stale {
            let flows = Arc::make_mut(&mut self.levels[usize::from(level)]);
            let Some(place) = flows.get_mut(&cookie) else { continue };
            let of =
                |&(table, slot): &(u8, u32)| (table, entries_of(level, table).rank(slot), slot);
            let last = place.entries.iter().map(of).max();
            match last {
                Some((table, _, slot)) => place.last = Some((table, slot)),
                None => {
                    flows.remove(&cookie);
                }
            }
        }
        let looked_at = stale.len();
        stale.clear();
        self.stale = stale;
        looked_at
    }

    /// Table and slot of the entry that says where a flow's frames belong in a level; `Some(None)` if
    /// there is none yet, `None` if the cookie is unknown.
    pub(super) fn last(&self, level: u8, cookie: u64) -> Option<Option<(u8, u32)>> {
        self.levels.get(usize::from(level))?.get(&cookie).map(|place| place.last)
    }
}
