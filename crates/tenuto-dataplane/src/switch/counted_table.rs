//! A table of a level with what is counted of its entries, beside them by slot.

use super::chunks::Chunks;
use super::course::Course;
use super::entry::Entry;
use super::table::Table;
use super::tables::{Removed, Tables};
use super::tracks::{NO_TRACK, Use};
use std::sync::Arc;
use tenuto_units::Instant;

/// Frames and bytes that an entry matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryCounter {
    /// Frames.
    pub frames: u64,
    /// Bytes, FCS included.
    pub bytes: u64,
}

impl EntryCounter {
    #[inline]
    pub(super) fn add(&mut self, frame_bytes: u32) {
        self.frames += 1;
        self.bytes += u64::from(frame_bytes);
    }

    /// The same of many frames.
    pub(super) const fn add_all(&mut self, other: Self) {
        self.frames += other.frames;
        self.bytes += other.bytes;
    }
}

/// When an entry came, and when a frame last matched it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryAge {
    /// When it was installed.
    pub since: Instant,
    /// When a frame last matched it; when it was installed, before the first.
    pub used: Instant,
}

/// One table, and what is counted of it but for what tracks count.
#[derive(Clone, Debug)]
pub(super) struct CountedTable {
    pub(super) table: Arc<Table>,
    courses: Chunks<Course>,
    pub(super) uses: Chunks<Use>,
    /// When each entry came, and whether its first frame has taken its commands along (Attendre).
    since: Chunks<(Instant, bool)>,
    /// Frames looked up, and those among them that matched.
    looked_up: u64,
    matched: u64,
}

impl CountedTable {
    pub(super) fn new(table: Table) -> Self {
        Self {
            table: Arc::new(table),
            courses: Chunks::new(),
            uses: Chunks::new(),
            since: Chunks::new(),
            looked_up: 0,
            matched: 0,
        }
    }

    /// The entries and their index.
    #[inline]
    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// The way of a frame through the entry of a slot.
    #[inline]
    pub(super) fn course(&self, slot: u32) -> &Course {
        &self.courses[slot]
    }

    /// Notes a look-up and its match.
    #[inline]
    pub(super) fn count(&mut self, slot: Option<u32>, now: Instant, frame_bytes: u32) {
        self.looked_up += 1;
        if let Some(slot) = slot {
            self.matched += 1;
            let it = &mut self.uses[slot];
            it.counter.add(frame_bytes);
            it.used = now;
        }
    }

    /// Lets a track count for an entry; `false` if another one does.
    pub(super) fn count_by(&mut self, slot: u32, track: u32) -> bool {
        let it = &mut self.uses[slot];
        let is_free = it.track == NO_TRACK;
        if is_free {
            it.track = track;
        }
        is_free
    }

    /// Takes over what tracks have counted of look-ups here, all of which matched.
    pub(super) const fn add_look_ups(&mut self, frames: u64) {
        self.looked_up += frames;
        self.matched += frames;
    }

    /// Takes over what the track that counts for an entry has counted.
    pub(super) fn add_passed(&mut self, slot: u32, passed: EntryCounter, used: Instant) {
        let it = &mut self.uses[slot];
        it.counter.add_all(passed);
        it.used = it.used.max(used);
        it.track = NO_TRACK;
    }

    /// The commands of the entry in a slot have left with a frame.
    pub(super) fn spend(&mut self, slot: u32) {
        self.since[slot].1 = true;
    }

    pub(super) fn insert(&mut self, entry: Entry, now: Instant) -> u32 {
        let course = Course::of(&entry);
        let fresh = Use::new(now);
        let table = Arc::make_mut(&mut self.table);
        let slot = table.insert(entry);
        if table.slots() > self.courses.len() {
            self.courses.push(course);
            self.uses.push(fresh);
            self.since.push((now, false));
        }
        (self.courses[slot], self.uses[slot], self.since[slot]) = (course, fresh, (now, false));
        slot
    }

    /// Puts an entry into the place of one of the same pattern and precedence, for which no track
    /// counts any more.
    pub(super) fn replace(&mut self, slot: u32, entry: Entry, now: Instant, resets: bool) {
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
    pub(super) fn change(&mut self, slot: u32, change: impl FnOnce(&mut Entry)) {
        Arc::make_mut(&mut self.table).change(slot, change);
        self.courses[slot] = Course::of(self.table.entry(slot));
        self.since[slot].1 = false;
    }

    /// Takes out an entry for which no track counts any more.
    pub(super) fn remove(&mut self, slot: u32) -> Removed {
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
    pub(super) const fn new(tables: &'a Tables, place: usize) -> Self {
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

    /// What each entry counted, in the order of the entries.
    pub fn counters(self) -> impl ExactSizeIterator<Item = EntryCounter> {
        self.table().entries().with_slots().map(move |(slot, _)| self.counter(slot))
    }

    /// What the entry of a slot counted.
    pub fn counter(self, slot: u32) -> EntryCounter {
        self.tables.tracks.counted_for(&self.counted().uses[slot]).0
    }

    /// When the entry of a slot came and was last used.
    pub fn age(self, slot: u32) -> EntryAge {
        let (_, used) = self.tables.tracks.counted_for(&self.counted().uses[slot]);
        EntryAge { since: self.counted().since[slot].0, used }
    }

    /// Whether the commands of the entry in a slot have left with a frame.
    pub(super) fn is_spent(self, slot: u32) -> bool {
        self.counted().since[slot].1
    }

    /// Frames looked up here, and those among them that matched.
    pub fn lookups(self) -> (u64, u64) {
        self.lookups_and(&self.tables.looked_up_on_tracks())
    }

    /// The same, where it is known what tracks have counted, by place.
    pub(super) fn lookups_and(self, on_tracks: &[u64]) -> (u64, u64) {
        let CountedTable { looked_up, matched, .. } = *self.counted();
        let more = on_tracks.get(self.place).copied().unwrap_or(0);
        (looked_up + more, matched + more)
    }
}
