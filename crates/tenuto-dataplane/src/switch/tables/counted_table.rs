//! A table of a level with what is counted of its entries, beside them by slot.

use super::chunks::Chunks;
use super::compact_instructions::CompactInstructions;
use super::entry::Entry;
use super::usage::{EntryAge, EntryCounter, NO_PATH, Use};
use super::{Removed, Tables};
use crate::switch::classifier::table::Table;
use std::sync::Arc;
use tenuto_units::Instant;

/// One table, and what is counted of it but for what cached paths count.
#[derive(Clone, Debug)]
pub(in crate::switch) struct CountedTable {
    pub(in crate::switch) table: Arc<Table>,
    compact: Chunks<CompactInstructions>,
    pub(in crate::switch) uses: Chunks<Use>,
    /// When each entry came, and whether its first frame has taken its commands along (Attendre).
    since: Chunks<(Instant, bool)>,
    /// Frames looked up, and those among them that matched.
    looked_up: u64,
    matched: u64,
}

impl CountedTable {
    pub(in crate::switch) fn new(table: Table) -> Self {
        Self {
            table: Arc::new(table),
            compact: Chunks::new(),
            uses: Chunks::new(),
            since: Chunks::new(),
            looked_up: 0,
            matched: 0,
        }
    }

    /// The entries and their index.
    #[inline]
    pub(in crate::switch) fn table(&self) -> &Table {
        &self.table
    }

    /// The instructions of the entry of a slot.
    #[inline]
    pub(in crate::switch) fn compact(&self, slot: u32) -> &CompactInstructions {
        &self.compact[slot]
    }

    /// Notes a look-up and its match.
    #[inline]
    pub(in crate::switch) fn count(&mut self, slot: Option<u32>, now: Instant, frame_bytes: u32) {
        self.looked_up += 1;
        if let Some(slot) = slot {
            self.matched += 1;
            let it = &mut self.uses[slot];
            it.counter.add(frame_bytes);
            it.used = now;
        }
    }

    /// Lets a cached path count for an entry; `false` if another one does.
    pub(in crate::switch) fn count_by(&mut self, slot: u32, path: u32) -> bool {
        let it = &mut self.uses[slot];
        let is_free = it.path == NO_PATH;
        if is_free {
            it.path = path;
        }
        is_free
    }

    /// Takes over what cached paths have counted of look-ups here, all of which matched.
    pub(in crate::switch) const fn add_look_ups(&mut self, frames: u64) {
        self.looked_up += frames;
        self.matched += frames;
    }

    /// Takes over what the path that counts for an entry has counted.
    pub(in crate::switch) fn add_passed(&mut self, slot: u32, passed: EntryCounter, used: Instant) {
        let it = &mut self.uses[slot];
        it.counter.add_all(passed);
        it.used = it.used.max(used);
        it.path = NO_PATH;
    }

    /// The commands of the entry in a slot have left with a frame.
    pub(in crate::switch) fn spend(&mut self, slot: u32) {
        self.since[slot].1 = true;
    }

    pub(in crate::switch) fn insert(&mut self, entry: Entry, now: Instant) -> u32 {
        let compact = CompactInstructions::of(&entry);
        let fresh = Use::new(now);
        let table = Arc::make_mut(&mut self.table);
        let slot = table.insert(entry);
        if table.slots() > self.compact.len() {
            self.compact.push(compact);
            self.uses.push(fresh);
            self.since.push((now, false));
        }
        (self.compact[slot], self.uses[slot], self.since[slot]) = (compact, fresh, (now, false));
        slot
    }

    /// Puts an entry into the place of one of the same pattern and precedence, for which no path
    /// counts any more.
    pub(in crate::switch) fn replace(
        &mut self,
        slot: u32,
        entry: Entry,
        now: Instant,
        resets: bool,
    ) {
        let it = &mut self.uses[slot];
        it.used = now;
        if resets {
            it.counter = EntryCounter::default();
        }
        self.change(slot, |old| *old = entry);
        self.since[slot].0 = now;
    }

    /// Changes an entry in its slot, but neither its pattern nor its precedence; its commands are
    /// there anew.
    pub(in crate::switch) fn change(&mut self, slot: u32, change: impl FnOnce(&mut Entry)) {
        Arc::make_mut(&mut self.table).change(slot, change);
        self.compact[slot] = CompactInstructions::of(self.table.entry(slot));
        self.since[slot].1 = false;
    }

    /// Takes out an entry for which no path counts any more.
    pub(in crate::switch) fn remove(&mut self, slot: u32) -> Removed {
        let Use { counter, used, .. } = self.uses[slot];
        let age = EntryAge { since: self.since[slot].0, used };
        let entry = Arc::make_mut(&mut self.table).remove(slot);
        Removed { slot, entry, counter, age }
    }
}

/// A table of a level, to look at.
#[derive(Clone, Copy, Debug)]
pub struct TableState<'a> {
    tables: &'a Tables,
    /// Its place among all.
    place: usize,
}

impl<'a> TableState<'a> {
    #[inline]
    pub(in crate::switch) const fn new(tables: &'a Tables, place: usize) -> Self {
        Self { tables, place }
    }

    #[inline]
    fn counted(self) -> &'a CountedTable {
        &self.tables.states[self.place]
    }

    /// The entries and their index.
    #[inline]
    pub fn table(self) -> &'a Table {
        self.counted().table()
    }

    /// The instructions of the entry of a slot.
    #[inline]
    pub(in crate::switch) fn compact(self, slot: u32) -> &'a CompactInstructions {
        self.counted().compact(slot)
    }

    /// What each entry counted, in the order of the entries.
    pub fn counters(self) -> impl ExactSizeIterator<Item = EntryCounter> {
        self.table().entries().with_slots().map(move |(slot, _)| self.counter(slot))
    }

    /// What the entry of a slot counted.
    pub fn counter(self, slot: u32) -> EntryCounter {
        self.tables.path_cache.counted_for(&self.counted().uses[slot]).0
    }

    /// When the entry of a slot came and was last used.
    pub fn age(self, slot: u32) -> EntryAge {
        let (_, used) = self.tables.path_cache.counted_for(&self.counted().uses[slot]);
        EntryAge { since: self.counted().since[slot].0, used }
    }

    /// Whether the commands of the entry in a slot have left with a frame.
    pub(in crate::switch) fn is_spent(self, slot: u32) -> bool {
        self.counted().since[slot].1
    }

    /// Frames looked up here, and those among them that matched.
    pub fn lookups(self) -> (u64, u64) {
        self.lookups_and(&self.tables.looked_up_on_paths())
    }

    /// The same, where it is known what cached paths have counted, by place.
    pub(in crate::switch) fn lookups_and(self, on_paths: &[u64]) -> (u64, u64) {
        let CountedTable { looked_up, matched, .. } = *self.counted();
        let more = on_paths.get(self.place).copied().unwrap_or(0);
        (looked_up + more, matched + more)
    }
}
