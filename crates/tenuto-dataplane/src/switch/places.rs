//! Where the frames of each flow belong, level by level: what a change of mode asks of queued frames.
//!
//! A flow is a cookie. Its place in a level is the queue of its last entry in the tables that
//! forward, by table and then in canonical order. Changes of entries name the cookies whose last
//! entries may be others now, and [`Places::settle`] looks at these and no more. What that entry does
//! with frames is asked when somebody wants to know: a changed group may move any number of flows.

use super::counted_table::CountedTable;
use super::entry::Entry;
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
    /// Whether all flows of all levels are to be looked at, and their entries found again.
    are_all_stale: bool,
}

impl Places {
    pub(super) fn set_levels(&mut self, levels: usize) {
        self.levels.resize_with(levels, Arc::default);
        self.touch();
    }

    /// Any flow may belong elsewhere.
    fn touch(&mut self) {
        self.are_all_stale = true;
        self.stale.clear();
    }

    /// Whether single changes are worth noting: places are asked for at a change of levels only, so
    /// one level needs none; cookie 0 names no flow, whose frames stay where they are.
    fn notes(&self, table: u8, cookie: u64) -> bool {
        self.levels.len() > 1 && !self.are_all_stale && table >= TABLES_FORWARD && cookie != 0
    }

    /// An entry has come.
    pub(super) fn note_added(&mut self, (level, table, slot): (u8, u8, u32), cookie: u64) {
        if self.notes(table, cookie) {
            let flows = Arc::make_mut(&mut self.levels[usize::from(level)]);
            flows.entry(cookie).or_default().entries.push((table, slot));
            self.stale.push((level, cookie));
        }
    }

    /// An entry does something else now.
    pub(super) fn note_changed(&mut self, (level, table): (u8, u8), cookie: u64) {
        if self.notes(table, cookie) {
            self.stale.push((level, cookie));
        }
    }

    /// An entry has gone.
    pub(super) fn note_removed(&mut self, (level, table, slot): (u8, u8, u32), cookie: u64) {
        if self.notes(table, cookie) {
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
        if self.levels.len() < 2 {
            return 0;
        }
        if self.are_all_stale {
            self.find_all(states, tables);
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

    /// Finds the entries of every flow again; each is to be looked at.
    fn find_all(&mut self, states: &[CountedTable], tables: u8) {
        self.are_all_stale = false;
        let levels = states.chunks(tables.max(1).into());
        for ((number, level), flows) in (0..).zip(levels).zip(&mut self.levels) {
            let mut found: BTreeMap<u64, Place> = BTreeMap::new();
            for (table, state) in (0..).zip(level).skip(usize::from(TABLES_FORWARD)) {
                let is_flow = |(_, entry): &(u32, &Entry)| entry.cookie != 0;
                for (slot, entry) in state.table().entries().with_slots().filter(is_flow) {
                    found.entry(entry.cookie).or_default().entries.push((table, slot));
                }
            }
            self.stale.extend(found.keys().map(|&cookie| (number, cookie)));
            *flows = Arc::new(found);
        }
    }

    /// Table and slot of the entry that says where a flow's frames belong in a level; `Some(None)` if
    /// there is none yet, `None` if the cookie is unknown.
    pub(super) fn last(&self, level: u8, cookie: u64) -> Option<Option<(u8, u32)>> {
        self.levels.get(usize::from(level))?.get(&cookie).map(|place| place.last)
    }
}
