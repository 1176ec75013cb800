//! All tables of a switch: one set per mode level, with the counters beside them.
//!
//! Table 0 watches and is the same in every level; table 1 admits and follows the admitted level;
//! the others forward and follow the forwarding level. A mode change changes which tables are
//! looked up, nothing else: no entry is copied.

use super::chunks::Chunks;
use super::config::SwitchConfig;
use super::course::Course;
use super::entry::Entry;
use super::key::{PacketKey, Pattern};
use super::places::Places;
use super::table::Table;
use super::track::Track;
use super::users::{User, Users};
use std::sync::Arc;
use tenuto_openflow::constants::flow_flag;
use tenuto_units::Instant;

/// The table whose entries are the same in every level.
pub(super) const TABLE_WATCH: u8 = 0;
/// The table that follows the admitted level.
pub(super) const TABLE_ADMIT: u8 = 1;

/// Masks of the first table that are searched for tracks when an entry changes; with more of them,
/// all tracks are forgotten.
const MASKS_SEARCHED: usize = 8;

/// Frames and bytes that an entry matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryCounter {
    /// Frames.
    pub frames: u64,
    /// Bytes, FCS included.
    pub bytes: u64,
}

impl EntryCounter {
    pub(super) fn add(&mut self, frame_bytes: u32) {
        self.frames += 1;
        self.bytes += u64::from(frame_bytes);
    }
}

/// What is written of an entry at each frame.
#[derive(Clone, Copy, Debug)]
struct Use {
    counter: EntryCounter,
    /// When a frame last matched it.
    used: Instant,
}

/// When an entry came, and when a frame last matched it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryAge {
    /// When it was installed.
    pub since: Instant,
    /// When a frame last matched it; when it was installed, before the first.
    pub used: Instant,
}

/// Which entries a change may touch.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'a> {
    /// The one with exactly this pattern and precedence.
    Exact(&'a Pattern, u16),
    /// Those all of whose frames this pattern matches (OpenFlow 1.3.5, section 6.4).
    Within(&'a Pattern),
    /// Any.
    All,
}

/// One table with what is counted of it, by slot.
#[derive(Clone, Debug)]
pub struct TableState {
    table: Arc<Table>,
    courses: Chunks<Course>,
    uses: Chunks<Use>,
    /// When each entry came, and whether its first frame has taken its commands along (Attendre).
    since: Chunks<(Instant, bool)>,
    /// Frames looked up, and those among them that matched.
    looked_up: u64,
    matched: u64,
}

/// All tables of all levels.
#[derive(Clone, Debug)]
pub struct Tables {
    /// All tables of the lowest level, then those of the next.
    states: Vec<TableState>,
    levels: u8,
    places: Places,
    /// By level.
    users: Vec<Users>,
    entries: usize,
    /// By slot of the first table of a planned switch, the way of all that its entry matches.
    tracks: Chunks<Track>,
    /// Tracks of another generation are void.
    generation: u32,
    /// How often an entry has come or gone.
    revision: u64,
    config: Arc<SwitchConfig>,
}

/// No room for another entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TablesFull;

/// An entry that is gone, and what was counted of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The slot where it was.
    pub slot: u32,
    /// The entry.
    pub entry: Entry,
    /// What it matched.
    pub counter: EntryCounter,
    /// When it came and was last used.
    pub age: EntryAge,
}

impl TableState {
    fn new(config: &SwitchConfig) -> Self {
        Self {
            table: Arc::new(Table::new(config.classifier)),
            courses: Chunks::new(),
            uses: Chunks::new(),
            since: Chunks::new(),
            looked_up: 0,
            matched: 0,
        }
    }

    /// The entries and their index.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// What each entry counted, in the order of the entries.
    pub fn counters(&self) -> impl ExactSizeIterator<Item = &EntryCounter> {
        self.table.entries().with_slots().map(|(slot, _)| &self.uses[slot].counter)
    }

    /// What the entry of a slot counted.
    pub fn counter(&self, slot: u32) -> EntryCounter {
        self.uses[slot].counter
    }

    /// When the entry of a slot came and was last used.
    pub fn age(&self, slot: u32) -> EntryAge {
        EntryAge { since: self.since[slot].0, used: self.uses[slot].used }
    }

    /// Whether the commands of the entry in a slot have left with a frame.
    pub(super) fn is_spent(&self, slot: u32) -> bool {
        self.since[slot].1
    }

    pub(super) fn spend(&mut self, slot: u32) {
        self.since[slot].1 = true;
    }

    /// Frames looked up here, and those among them that matched.
    pub const fn lookups(&self) -> (u64, u64) {
        (self.looked_up, self.matched)
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

    fn insert(&mut self, entry: Entry, now: Instant) -> u32 {
        let course = Course::of(&entry);
        let fresh = Use { counter: EntryCounter::default(), used: now };
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

    /// Changes an entry in its slot, but neither its pattern nor its precedence.
    fn change(&mut self, slot: u32, change: impl FnOnce(&mut Entry)) {
        Arc::make_mut(&mut self.table).change(slot, change);
        self.courses[slot] = Course::of(self.table.entry(slot));
    }

    fn remove(&mut self, slot: u32) -> Removed {
        let (counter, age) = (self.counter(slot), self.age(slot));
        let entry = Arc::make_mut(&mut self.table).remove(slot);
        Removed { slot, entry, counter, age }
    }
}

impl Tables {
    /// Empty tables of one level.
    pub fn new(config: Arc<SwitchConfig>) -> Self {
        let mut tables = Self {
            states: Vec::new(),
            levels: 0,
            places: Places::default(),
            users: Vec::new(),
            entries: 0,
            tracks: Chunks::new(),
            generation: 1,
            revision: 0,
            config,
        };
        tables.set_levels(1);
        tables
    }

    /// Makes room for so many levels; those above lose their entries.
    pub fn set_levels(&mut self, levels: u8) {
        self.levels = levels.max(1);
        self.revision += 1;
        let count = usize::from(self.levels) * usize::from(self.config.tables);
        let config = &self.config;
        self.states.resize_with(count, || TableState::new(config));
        self.forget_tracks();
        self.places.set_levels(self.levels.into());
        self.users.resize_with(self.levels.into(), Users::default);
        self.entries = self.states.iter().map(|t| t.table.entries().len()).sum();
    }

    /// Number of levels.
    pub const fn levels(&self) -> u8 {
        self.levels
    }

    /// Which level a table is looked up in.
    pub const fn level_of(table: u8, level: u8, admitted: u8) -> u8 {
        match table {
            TABLE_WATCH => 0,
            TABLE_ADMIT => admitted,
            _ => level,
        }
    }

    /// A table of a level; `None` beyond the last.
    pub fn get(&self, level: u8, table: u8) -> Option<&TableState> {
        self.states.get(self.place_of(level, table)?)
    }

    /// A table of a level; `None` beyond the last.
    pub fn get_mut(&mut self, level: u8, table: u8) -> Option<&mut TableState> {
        let place = self.place_of(level, table)?;
        self.states.get_mut(place)
    }

    #[inline]
    fn place_of(&self, level: u8, table: u8) -> Option<usize> {
        let tables = self.config.tables;
        let is_there = level < self.levels && table < tables;
        is_there.then(|| usize::from(level) * usize::from(tables) + usize::from(table))
    }

    /// Where a table of a level is, for [`Tables::count`].
    pub(super) fn state_of(&self, level: u8, table: u8) -> Option<u16> {
        u16::try_from(self.place_of(level, table)?).ok()
    }

    /// How many entries of a level use a meter or a group.
    pub(super) fn users(&self, level: u8, used: User) -> u32 {
        self.users.get(usize::from(level)).map_or(0, |users| users.of(used))
    }

    /// Entries over all tables and levels.
    pub const fn entries(&self) -> usize {
        self.entries
    }

    /// Adds an entry, replacing one of the same pattern and precedence; its counters are copied
    /// over unless `OFPFF_RESET_COUNTS` says otherwise (OpenFlow 1.3.5, section 6.4). Gives its
    /// slot.
    ///
    /// # Errors
    /// [`TablesFull`] if there are as many entries as the switch may have.
    ///
    /// # Panics
    /// If the level or table does not exist: the control channel checks both first.
    pub fn add(
        &mut self,
        now: Instant,
        level: u8,
        table: u8,
        entry: Entry,
    ) -> Result<u32, TablesFull> {
        let full = self.entries >= self.config.entries_max;
        let is_planned = self.config.general.is_none();
        let place = self.place_of(level, table).expect("the caller checked level and table");
        let (state, users) = (&mut self.states[place], &mut self.users[usize::from(level)]);
        let cookie = entry.cookie;
        let slot = match state.table.find(&entry.pattern, entry.precedence) {
            Some(slot) => {
                let old = state.table.entry(slot).cookie;
                users.count_out(state.table.entry(slot));
                users.count_in(&entry);
                let it = &mut state.uses[slot];
                it.used = now;
                if entry.flags & flow_flag::RESET_COUNTS != 0 {
                    it.counter = EntryCounter::default();
                }
                state.since[slot] = (now, false);
                let pattern = entry.pattern;
                state.change(slot, |old| *old = entry);
                self.forget_tracks_of(table, &pattern);
                self.places.note_removed((level, table, slot), old);
                slot
            }
            None if full => return Err(TablesFull),
            None => {
                let (pattern, before) = (entry.pattern, state.table.arrangements());
                users.count_in(&entry);
                let slot = state.insert(entry, now);
                self.entries += 1;
                self.revision += 1;
                let state = self.get(level, table).expect("it was just changed");
                match state.table.arrangements() == before {
                    true => self.forget_tracks_of(table, &pattern),
                    false => self.forget_tracks(),
                }
                let is_first = (level, table) == (0, TABLE_WATCH);
                if is_first && is_planned && slot as usize >= self.tracks.len() {
                    self.tracks.push(Track::NONE);
                }
                slot
            }
        };
        self.places.note_added((level, table, slot), cookie);
        Ok(slot)
    }

    /// Slots of the entries in a scope that `chosen` picks, in canonical order.
    fn chosen(
        &self,
        level: u8,
        table: u8,
        scope: Scope<'_>,
        chosen: impl Fn(&Entry) -> bool,
    ) -> Vec<u32> {
        let Some(TableState { table, .. }) = self.get(level, table) else { return Vec::new() };
        let chosen = |slot: &u32| chosen(table.entry(*slot));
        match scope {
            Scope::Exact(pattern, precedence) => {
                table.find(pattern, precedence).into_iter().filter(chosen).collect()
            }
            Scope::Within(pattern) => table.sorted(table.within(pattern).filter(chosen).collect()),
            Scope::All => table.sorted(table.in_use().filter(chosen).collect()),
        }
    }

    /// Changes the behaviour of every entry in a scope that `chosen` picks, keeping its counters
    /// unless `reset` says otherwise; returns how many.
    pub fn modify(
        &mut self,
        (level, table): (u8, u8),
        scope: Scope<'_>,
        chosen: impl Fn(&Entry) -> bool,
        change: impl Fn(&mut Entry),
        reset: bool,
    ) -> usize {
        let slots = self.chosen(level, table, scope, chosen);
        for &slot in &slots {
            let place = self.place_of(level, table).expect("the slots are of this table");
            let (state, users) = (&mut self.states[place], &mut self.users[usize::from(level)]);
            users.count_out(state.table.entry(slot));
            state.change(slot, &change);
            users.count_in(state.table.entry(slot));
            state.since[slot].1 = false;
            if reset {
                state.uses[slot].counter = EntryCounter::default();
            }
            let cookie = state.table.entry(slot).cookie;
            self.places.note_changed((level, table), cookie);
        }
        match slots[..] {
            [slot] => {
                let state = self.get(level, table).expect("the slot is of this table");
                let pattern = state.table.entry(slot).pattern;
                self.forget_tracks_of(table, &pattern);
            }
            _ => self.forget_tracks(),
        }
        slots.len()
    }

    /// Removes every entry in a scope that `chosen` picks, and returns them in canonical order.
    pub fn remove(
        &mut self,
        level: u8,
        table: u8,
        scope: Scope<'_>,
        chosen: impl Fn(&Entry) -> bool,
    ) -> Vec<Removed> {
        let slots = self.chosen(level, table, scope, chosen);
        slots.iter().map(|&slot| self.remove_slot(level, table, slot)).collect()
    }

    /// Removes the entry of a slot.
    ///
    /// # Panics
    /// If there is none.
    pub fn remove_slot(&mut self, level: u8, table: u8, slot: u32) -> Removed {
        let state = self.get_mut(level, table).expect("the caller found it there");
        let before = state.table.arrangements();
        let removed = state.remove(slot);
        let is_arranged_alike = state.table.arrangements() == before;
        self.entries -= 1;
        self.revision += 1;
        match is_arranged_alike {
            true => self.forget_tracks_of(table, &removed.entry.pattern),
            false => self.forget_tracks(),
        }
        self.users[usize::from(level)].count_out(&removed.entry);
        self.places.note_removed((level, table, slot), removed.entry.cookie);
        removed
    }

    /// The track of all frames that match the entry in a slot of the first table, in a mode of
    /// `level` and `admitted`; laid at the first of them.
    #[inline]
    pub(super) fn track(
        &mut self,
        slot: u32,
        mode: (u8, u8),
        place: impl Fn(u32) -> Option<usize>,
    ) -> &Track {
        if !self.tracks[slot].is_of(self.generation, mode) {
            self.tracks[slot] = Track::lay(self, slot, (self.generation, mode), place);
        }
        &self.tracks[slot]
    }

    /// How often an entry has come or gone: look-ups of the same revision find the same.
    pub(super) const fn revision(&self) -> u64 {
        self.revision
    }

    /// Notes a look-up and its match, in the table that [`Tables::state_of`] gave.
    #[inline]
    pub(super) fn count(&mut self, state: u16, slot: u32, now: Instant, frame_bytes: u32) {
        self.states[usize::from(state)].count(Some(slot), now, frame_bytes);
    }

    /// Forgets the tracks that lead through an entry of this pattern, or would if it were there.
    fn forget_tracks_of(&mut self, table: u8, pattern: &Pattern) {
        let Some(first) = self.states.first() else { return };
        // A mask that asks for more may have any number of entries whose frames match the pattern;
        // one that does not ask for all of it has no track through another table with it.
        let is_beyond =
            |m: &PacketKey| *m != pattern.mask && m.masked(&pattern.mask) == pattern.mask;
        let asks_beyond =
            first.table.masks() > MASKS_SEARCHED || first.table.each_mask().any(is_beyond);
        if asks_beyond && table != TABLE_WATCH {
            return self.forget_tracks();
        }
        for slot in first.table.of_pattern(pattern) {
            if let Some(track) = self.tracks.get_mut(slot) {
                *track = Track::NONE;
            }
        }
    }

    /// Makes all tracks void.
    fn forget_tracks(&mut self) {
        self.generation = self.generation.checked_add(1).unwrap_or_else(|| {
            // After hours of changes: no track of an old generation may come back.
            self.tracks.iter_mut().for_each(|track| *track = Track::NONE);
            1
        });
    }

    /// Whether an entry of the same precedence, but another pattern, matches some of the same frames
    /// (OpenFlow 1.3.5, section 6.4, `OFPFF_CHECK_OVERLAP`).
    pub fn overlaps(&self, level: u8, table: u8, entry: &Entry) -> bool {
        let state = self.get(level, table);
        state.is_some_and(|state| state.table.overlaps(&entry.pattern, entry.precedence))
    }

    /// Makes the next [`Tables::settle`] look at the places of all flows: a group has changed.
    pub fn touch(&mut self) {
        self.places.touch();
    }

    /// Puts changes of the places of flows into effect, with the queues of groups given by
    /// `group_queue`; gives how many flows were looked at, which are those whose entries have changed.
    /// Entries themselves are in effect as soon as they are added.
    pub fn settle(&mut self, group_queue: impl Fn(u32) -> Option<u8>) -> usize {
        self.places.settle(&self.states, self.config.tables, group_queue)
    }

    /// The queue of a flow's frames in a level; `Some(None)` if it has no place there, `None` if
    /// the cookie is unknown.
    pub fn place(&self, level: u8, cookie: u64) -> Option<Option<u8>> {
        self.places.get(level, cookie)
    }
}
