//! All tables of a switch: one set per mode level, with the counters beside them.
//!
//! Table 0 watches and is the same in every level; table 1 admits and follows the admitted level;
//! the others forward and follow the forwarding level. A mode change changes which tables are
//! looked up, nothing else: no entry is copied.

pub(in crate::switch) mod chunks;
pub(in crate::switch) mod compact_instructions;
pub(in crate::switch) mod counted_table;
pub(in crate::switch) mod entry;
pub(in crate::switch) mod expiry;
pub(in crate::switch) mod queue_assignment;
pub(in crate::switch) mod table_set;
mod time_outs;
pub(in crate::switch) mod usage;
pub(in crate::switch) mod users;

use self::counted_table::CountedTable;
pub use self::counted_table::TableState;
use self::entry::Entry;
use self::queue_assignment::QueueAssignment;
use self::usage::NO_PATH;
pub use self::usage::{EntryAge, EntryCounter};
use self::users::{Seat, User, Users};
use crate::switch::classifier::key::Pattern;
use crate::switch::classifier::table::Table;
use crate::switch::config::SwitchConfig;
use crate::switch::path_cache::invalidation::Change;
use crate::switch::path_cache::store::PathCache;
use crate::switch::policy::Policy;
use std::ops::RangeInclusive;
use std::sync::Arc;
use tenuto_openflow::constants::flow_flag;
use tenuto_units::Instant;

/// The table whose entries are the same in every level.
pub(in crate::switch) const TABLE_WATCH: u8 = 0;
/// The table that follows the admitted level.
pub(in crate::switch) const TABLE_ADMIT: u8 = 1;

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

/// All tables of all levels.
#[derive(Clone, Debug)]
pub struct Tables {
    /// All tables of the lowest level, then those of the next.
    pub(in crate::switch) states: Vec<CountedTable>,
    levels: u8,
    places: QueueAssignment,
    /// By level.
    users: Vec<Users>,
    entries: usize,
    /// Distinct masks of all tables and levels, and actions of all entries.
    masks: usize,
    actions: usize,
    /// By slot of the first table, the path of all frames that its entry matches.
    pub(in crate::switch) path_cache: PathCache,
    /// How often an entry has come or gone.
    revision: u64,
    config: Arc<SwitchConfig>,
    policy: Policy,
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

impl Tables {
    /// Empty tables of one level.
    pub fn new(config: Arc<SwitchConfig>) -> Self {
        let mut tables = Self {
            states: Vec::new(),
            levels: 0,
            places: QueueAssignment::default(),
            users: Vec::new(),
            entries: 0,
            masks: 0,
            actions: 0,
            path_cache: PathCache::new(),
            revision: 0,
            policy: Policy::new(config.general.as_ref(), config.ports.len()),
            config,
        };
        tables.set_levels(1);
        tables
    }

    /// Makes room for so many levels; those above lose their entries.
    pub fn set_levels(&mut self, levels: u8) {
        while levels > 1 && !self.note_places(usize::MAX) {}
        self.levels = levels.max(1);
        self.revision += 1;
        let count = usize::from(self.levels) * usize::from(self.config.tables);
        let (kind, hash_key) = (self.config.classifier, self.config.hash_key.clone());
        self.path_cache.settle_all(&mut self.states);
        self.count_out_from(count);
        let table = || CountedTable::new(Table::new(kind, hash_key.clone()));
        self.states.resize_with(count, table);
        self.invalidate_paths(Change::Any);
        self.places.set_levels(self.levels.into());
        self.users.resize_with(self.levels.into(), Users::default);
    }

    /// Goes on preparing for more levels than one, looking at so many slots; true if that is done.
    pub fn note_places(&mut self, looks: usize) -> bool {
        let lowest = usize::from(self.config.tables).min(self.states.len());
        self.places.note_some(looks, &self.states[..lowest])
    }

    /// Forgets what is in the tables from a place on.
    fn count_out_from(&mut self, place: usize) {
        for table in self.states.iter().skip(place).map(CountedTable::table) {
            self.entries -= table.entries().len();
            self.masks -= table.masks();
            self.actions -= table.each().map(Entry::actions).sum::<usize>();
        }
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
    #[inline]
    pub fn get(&self, level: u8, table: u8) -> Option<TableState<'_>> {
        self.place_of(level, table).map(|place| TableState::new(self, place))
    }

    /// The table that every frame is looked up in first; `None` if there is no table at all.
    #[inline]
    pub(in crate::switch) fn first(&self) -> Option<&Table> {
        self.states.first().map(CountedTable::table)
    }

    /// The table at that place, to count in.
    #[inline]
    pub(in crate::switch) fn get_mut(&mut self, level: u8, table: u8) -> Option<&mut CountedTable> {
        let place = self.place_of(level, table)?;
        self.states.get_mut(place)
    }

    #[inline]
    fn place_of(&self, level: u8, table: u8) -> Option<usize> {
        let tables = self.config.tables;
        let is_there = level < self.levels && table < tables;
        is_there.then(|| usize::from(level) * usize::from(tables) + usize::from(table))
    }

    /// Where a table of a level is among all.
    pub(in crate::switch) fn state_of(&self, level: u8, table: u8) -> Option<u16> {
        u16::try_from(self.place_of(level, table)?).ok()
    }

    /// How many entries of a level use a meter or a group.
    pub(in crate::switch) fn users(&self, level: u8, used: User) -> u32 {
        let users = self.users.get(usize::from(level)).map_or(0, |users| users.of(used));
        u32::try_from(users).unwrap_or(u32::MAX)
    }

    /// Level, table and slot of the entries that use something of a range, level by level; of those
    /// that use several of it, several times.
    pub(in crate::switch) fn seats(
        &self,
        used: RangeInclusive<User>,
    ) -> impl Iterator<Item = (u8, Seat)> {
        let levels = (0..).zip(&self.users);
        levels.flat_map(move |(level, users)| {
            users.seats(used.clone()).map(move |seat| (level, seat))
        })
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
    /// [`TablesFull`] if there are as many entries, masks or actions as the switch may have.
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
        let place = self.place_of(level, table).expect("the caller checked level and table");
        let known = self.states[place].table.find(&entry.pattern, entry.precedence);
        let more = self.actions + entry.actions();
        let less = known.map_or(0, |slot| self.states[place].table.entry(slot).actions());
        if more - less > self.actions_max() || known.is_none() && !self.has_room(place, &entry) {
            return Err(TablesFull);
        }
        self.actions = more - less;
        let (state, users) = (&mut self.states[place], &mut self.users[usize::from(level)]);
        let slot = match known {
            Some(slot) => {
                self.places.note_removed((level, table, slot), state.table.entry(slot));
                users.count_out(state.table.entry(slot), (table, slot));
                users.count_in(&entry, (table, slot));
                let (pattern, resets) = (entry.pattern, entry.flags & flow_flag::RESET_COUNTS != 0);
                self.settled(level, table, slot).replace(slot, entry, now, resets);
                self.invalidate_paths(Change::Entry { table, pattern: &pattern });
                slot
            }
            None => {
                let (pattern, before) = (entry.pattern, state.table.arrangements());
                let masks = state.table.masks();
                let slot = state.insert(entry, now);
                users.count_in(state.table.entry(slot), (table, slot));
                self.masks += state.table.masks() - masks;
                self.entries += 1;
                self.revision += 1;
                let state = self.get(level, table).expect("it was just changed");
                let is_arranged_alike = state.table().arrangements() == before;
                self.invalidate_paths(Change::of_entry(table, &pattern, is_arranged_alike));
                if (level, table) == (0, TABLE_WATCH) {
                    self.path_cache.reach(slot);
                }
                slot
            }
        };
        self.places.note_added((level, table, slot), self.states[place].table.entry(slot));
        Ok(slot)
    }

    /// Whether there is room for an entry that is not there yet.
    fn has_room(&self, place: usize, entry: &Entry) -> bool {
        let is_known = || self.states[place].table.knows(&entry.pattern.mask);
        self.entries < self.config.entries_max && (self.masks < self.policy.masks_max || is_known())
    }

    fn actions_max(&self) -> usize {
        self.policy.actions_max
    }

    /// Slots of the entries in a scope that `chosen` picks, in canonical order.
    fn chosen(
        &self,
        level: u8,
        table: u8,
        scope: Scope<'_>,
        chosen: impl Fn(&Entry) -> bool,
    ) -> Vec<u32> {
        let Some(table) = self.get(level, table).map(TableState::table) else { return Vec::new() };
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
    /// unless `reset` says otherwise; returns how many. Each has so many `actions` then.
    ///
    /// # Errors
    /// [`TablesFull`] if these would be more than the switch may have; nothing is changed.
    pub fn modify(
        &mut self,
        (level, table): (u8, u8),
        scope: Scope<'_>,
        chosen: impl Fn(&Entry) -> bool,
        (change, actions): (impl Fn(&mut Entry), usize),
        reset: bool,
    ) -> Result<usize, TablesFull> {
        let slots = self.chosen(level, table, scope, chosen);
        let now = |slot: &u32| {
            self.get(level, table).map_or(0, |state| state.table().entry(*slot).actions())
        };
        let less: usize = slots.iter().map(now).sum();
        let in_all = self.actions - less + slots.len() * actions;
        if in_all > self.actions_max().max(self.actions) {
            return Err(TablesFull);
        }
        self.actions = in_all;
        for &slot in &slots {
            self.settled(level, table, slot);
            let place = self.place_of(level, table).expect("the slots are of this table");
            let (state, users) = (&mut self.states[place], &mut self.users[usize::from(level)]);
            users.count_out(state.table.entry(slot), (table, slot));
            state.change(slot, &change);
            users.count_in(state.table.entry(slot), (table, slot));
            if reset {
                state.uses[slot].counter = EntryCounter::default();
            }
        }
        match slots[..] {
            [slot] => {
                let state = self.get(level, table).expect("the slot is of this table");
                let pattern = state.table().entry(slot).pattern;
                self.invalidate_paths(Change::Entry { table, pattern: &pattern });
            }
            [] => {}
            _ => self.invalidate_paths(Change::Any),
        }
        Ok(slots.len())
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
        let state = self.settled(level, table, slot);
        let (before, masks) = (state.table.arrangements(), state.table.masks());
        let removed = state.remove(slot);
        let masks = masks - state.table.masks();
        let is_arranged_alike = state.table.arrangements() == before;
        self.entries -= 1;
        self.masks -= masks;
        self.actions -= removed.entry.actions();
        self.revision += 1;
        let pattern = &removed.entry.pattern;
        self.invalidate_paths(Change::of_entry(table, pattern, is_arranged_alike));
        self.users[usize::from(level)].count_out(&removed.entry, (table, slot));
        self.places.note_removed((level, table, slot), &removed.entry);
        removed
    }

    /// How often an entry has come or gone: look-ups of the same revision find the same.
    pub(in crate::switch) const fn revision(&self) -> u64 {
        self.revision
    }

    /// The table of an entry, once no path counts for the entry any more.
    fn settled(&mut self, level: u8, table: u8, slot: u32) -> &mut CountedTable {
        let place = self.place_of(level, table).expect("the caller found the entry there");
        let path = self.states[place].uses[slot].path;
        if path != NO_PATH {
            self.path_cache.settle(path, &mut self.states);
        }
        &mut self.states[place]
    }

    /// What cached paths have counted of look-ups, by place.
    pub(in crate::switch) fn looked_up_on_paths(&self) -> Vec<u64> {
        self.path_cache.looked_up(self.states.len())
    }

    /// The queue of a flow's frames in a level, with the queues of groups given by `group_queue`;
    /// `Some(None)` if it has no place there, `None` if the cookie is unknown.
    pub fn place(
        &self,
        level: u8,
        cookie: u64,
        group_queue: impl Fn(u32) -> Option<u8>,
    ) -> Option<Option<u8>> {
        let (table, slot) = self.places.last(level, cookie)?;
        let entry = self.get(level, table)?.table().get(slot);
        Some(entry.and_then(|entry| entry.queue(group_queue)))
    }
}
