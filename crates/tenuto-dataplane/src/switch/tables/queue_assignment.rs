//! Queue assignment: the queue of each flow's frames, level by level. A change of mode moves or purges
//! queued frames by it.
//!
//! A flow is a cookie. Its place in a level is the queue of its last entry in the tables that
//! forward, by table and then in canonical order. So the entries of all flows are kept in that order:
//! one that comes or goes costs the same however many others its flow has. What the last one does with
//! frames is asked when somebody wants to know: a changed group may move any number of flows.

use super::counted_table::CountedTable;
use super::entry::Entry;
use crate::switch::classifier::key::Pattern;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The first table that forwards.
const TABLES_FORWARD: u8 = 2;

/// What the order goes by: cookie, table, and what says where in it an entry stands.
type Rank = (u64, u8, Reverse<u16>, Pattern);

/// The queues of all flows.
#[derive(Clone, Debug, Default)]
pub(in crate::switch) struct QueueAssignment {
    /// Of each level, the slots of all entries that name a flow.
    levels: Vec<Arc<BTreeMap<Rank, u32>>>,
    /// Entries of the lowest level in front of this table and slot are noted. Places are asked for at a
    /// change of levels only, so none is before there are to be more levels than one; then they are
    /// noted some at a time, and for good.
    noted_to: (u8, u32),
}

/// All entries of the lowest level are noted.
const ALL_NOTED: (u8, u32) = (u8::MAX, u32::MAX);

impl QueueAssignment {
    /// Levels that go have lost their entries before; if there are several, all entries of the lowest
    /// one were noted before.
    pub(in crate::switch) fn set_levels(&mut self, levels: usize) {
        self.levels.resize_with(levels, Arc::default);
    }

    /// Notes the next entries of the lowest level, which has these tables, looking at so many slots;
    /// true if there are no more.
    pub(in crate::switch) fn note_some(&mut self, looks: usize, lowest: &[CountedTable]) -> bool {
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
                self.note_added((0, table, slot), entry);
            }
        }
        self.noted_to == ALL_NOTED
    }

    /// Whether the entry in a slot is worth noting: cookie 0 names no flow, whose frames stay where they
    /// are.
    fn notes(&self, (level, table, slot): (u8, u8, u32), cookie: u64) -> bool {
        let is_noted = level > 0 || (table, slot) < self.noted_to;
        is_noted && table >= TABLES_FORWARD && cookie != 0
    }

    /// An entry has come.
    pub(in crate::switch) fn note_added(&mut self, seat: (u8, u8, u32), entry: &Entry) {
        if self.notes(seat, entry.cookie) {
            let (level, table, slot) = seat;
            Arc::make_mut(&mut self.levels[usize::from(level)]).insert(rank(table, entry), slot);
        }
    }

    /// An entry has gone, or is about to.
    pub(in crate::switch) fn note_removed(&mut self, seat: (u8, u8, u32), entry: &Entry) {
        if self.notes(seat, entry.cookie) {
            let (level, table, _) = seat;
            Arc::make_mut(&mut self.levels[usize::from(level)]).remove(&rank(table, entry));
        }
    }

    /// Table and slot of the entry that says where a flow's frames belong in a level; `None` if the
    /// cookie is unknown.
    pub(in crate::switch) fn last(&self, level: u8, cookie: u64) -> Option<(u8, u32)> {
        let all = self.levels.get(usize::from(level))?;
        let last = match cookie.checked_add(1) {
            Some(next) => all.range(..(next, 0, Reverse(u16::MAX), Pattern::default())).next_back(),
            None => all.last_key_value(),
        };
        last.filter(|(rank, _)| rank.0 == cookie).map(|(rank, &slot)| (rank.1, slot))
    }
}

/// What the order of an entry in a table goes by.
fn rank(table: u8, entry: &Entry) -> Rank {
    (entry.cookie, table, Reverse(entry.precedence), entry.pattern)
}
