//! All tables of a switch: one set per mode level, with the counters beside them.
//!
//! Table 0 watches and is the same in every level; table 1 admits and follows the admitted level;
//! the others forward and follow the forwarding level. A mode change changes which tables are
//! looked up, nothing else: no entry is copied.

use super::config::SwitchConfig;
use super::key::Pattern;
use super::table::{ActionStep, Entry, Table};
use std::collections::BTreeMap;
use std::sync::Arc;
use tenuto_openflow::constants::flow_flag;

/// The table whose entries are the same in every level.
pub(super) const TABLE_WATCH: u8 = 0;
/// The table that follows the admitted level.
pub(super) const TABLE_ADMIT: u8 = 1;

/// Frames and bytes that an entry matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryCounter {
    /// Frames.
    pub frames: u64,
    /// Bytes, FCS included.
    pub bytes: u64,
}

/// One table with its counters by slot.
#[derive(Clone, Debug)]
pub struct TableState {
    table: Arc<Table>,
    counters: Vec<EntryCounter>,
    settled: bool,
}

/// All tables of all levels.
#[derive(Clone, Debug)]
pub struct Tables {
    levels: Vec<Vec<TableState>>,
    /// Per level: the queue of a flow's frames by cookie, `None` if they have no place.
    places: Vec<Arc<BTreeMap<u64, Option<u8>>>>,
    entries: usize,
    config: Arc<SwitchConfig>,
}

/// No room for another entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TablesFull;

impl TableState {
    fn new(config: &SwitchConfig) -> Self {
        Self { table: Arc::new(Table::new(config.classifier)), counters: Vec::new(), settled: true }
    }

    /// The entries and their index.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Counters by slot.
    pub fn counters(&self) -> &[EntryCounter] {
        &self.counters
    }

    /// Notes a match.
    pub fn count(&mut self, slot: u32, frame_bytes: u32) {
        let counter = &mut self.counters[slot as usize];
        counter.frames += 1;
        counter.bytes += u64::from(frame_bytes);
    }

    fn retain(&mut self, mut keep: impl FnMut(&Entry) -> bool) -> Vec<Entry> {
        let mut removed = Vec::new();
        let entries = Arc::make_mut(&mut self.table).entries_mut();
        let counters = std::mem::take(&mut self.counters);
        let (mut kept, mut kept_counters) = (Vec::new(), Vec::new());
        for (entry, counter) in entries.drain(..).zip(counters) {
            if keep(&entry) {
                kept.push(entry);
                kept_counters.push(counter);
            } else {
                removed.push(entry);
            }
        }
        *entries = kept;
        self.counters = kept_counters;
        self.settled &= removed.is_empty();
        removed
    }

    fn settle(&mut self) {
        if self.settled {
            return;
        }
        let table = Arc::make_mut(&mut self.table);
        let mut pairs: Vec<(Entry, EntryCounter)> =
            table.entries_mut().drain(..).zip(self.counters.drain(..)).collect();
        pairs.sort_by_key(|(entry, _)| entry.rank());
        let (entries, counters) = pairs.into_iter().unzip();
        table.set_entries(entries);
        self.counters = counters;
        self.settled = true;
    }
}

impl Tables {
    /// Empty tables of one level.
    pub fn new(config: Arc<SwitchConfig>) -> Self {
        let mut tables = Self { levels: Vec::new(), places: Vec::new(), entries: 0, config };
        tables.set_levels(1);
        tables
    }

    /// Makes room for so many levels; those above lose their entries.
    pub fn set_levels(&mut self, levels: u8) {
        let set = || (0..self.config.tables).map(|_| TableState::new(&self.config)).collect();
        let levels = usize::from(levels.max(1));
        let mut all = std::mem::take(&mut self.levels);
        all.resize_with(levels, set);
        self.levels = all;
        self.places.resize_with(levels, Arc::default);
        self.entries = self.levels.iter().flatten().map(|t| t.table.entries().len()).sum();
    }

    /// Number of levels.
    pub fn levels(&self) -> u8 {
        u8::try_from(self.levels.len()).expect("set_levels takes a u8")
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
        self.levels.get(usize::from(level))?.get(usize::from(table))
    }

    /// A table of a level; `None` beyond the last.
    pub fn get_mut(&mut self, level: u8, table: u8) -> Option<&mut TableState> {
        self.levels.get_mut(usize::from(level))?.get_mut(usize::from(table))
    }

    /// Entries over all tables and levels.
    pub const fn entries(&self) -> usize {
        self.entries
    }

    /// Adds an entry, replacing one of the same pattern and precedence; its counters are copied
    /// over unless `OFPFF_RESET_COUNTS` says otherwise (OpenFlow 1.3.5, section 6.4).
    ///
    /// # Errors
    /// [`TablesFull`] if there are as many entries as the switch may have.
    ///
    /// # Panics
    /// If the level or table does not exist: the control channel checks both first.
    pub fn add(&mut self, level: u8, table: u8, entry: Entry) -> Result<(), TablesFull> {
        let full = self.entries >= self.config.entries_max;
        let state = self.get_mut(level, table).expect("the caller checked level and table");
        let place = state.table.find(&entry.pattern, entry.precedence);
        let entries = Arc::make_mut(&mut state.table).entries_mut();
        match place {
            Some(slot) => {
                if entry.flags & flow_flag::RESET_COUNTS != 0 {
                    state.counters[slot] = EntryCounter::default();
                }
                entries[slot] = entry;
            }
            None if full => return Err(TablesFull),
            None => {
                entries.push(entry);
                state.counters.push(EntryCounter::default());
                self.entries += 1;
            }
        }
        let state = self.get_mut(level, table).expect("checked above");
        state.settled = false;
        Ok(())
    }

    /// Changes the behaviour of every entry that `chosen` picks, keeping its counters unless
    /// `reset` says otherwise; returns how many.
    pub fn modify(
        &mut self,
        level: u8,
        table: u8,
        chosen: impl Fn(&Entry) -> bool,
        change: impl Fn(&mut Entry),
        reset: bool,
    ) -> usize {
        let Some(state) = self.get_mut(level, table) else { return 0 };
        let mut changed = 0;
        let entries = Arc::make_mut(&mut state.table).entries_mut();
        for (entry, counter) in entries.iter_mut().zip(&mut state.counters) {
            if chosen(entry) {
                change(entry);
                changed += 1;
                if reset {
                    *counter = EntryCounter::default();
                }
            }
        }
        state.settled &= changed == 0;
        changed
    }

    /// Removes every entry that `chosen` picks and returns them.
    pub fn remove(&mut self, level: u8, table: u8, chosen: impl Fn(&Entry) -> bool) -> Vec<Entry> {
        let Some(state) = self.get_mut(level, table) else { return Vec::new() };
        let removed = state.retain(|entry| !chosen(entry));
        self.entries -= removed.len();
        removed
    }

    /// Whether an entry of the same precedence, but another pattern, matches some of the same frames
    /// (OpenFlow 1.3.5, section 6.4, `OFPFF_CHECK_OVERLAP`).
    pub fn overlaps(&self, level: u8, table: u8, entry: &Entry) -> bool {
        self.get(level, table).is_some_and(|state| {
            state.table.entries().iter().any(|e| {
                e.precedence == entry.precedence
                    && e.pattern != entry.pattern
                    && e.pattern.overlaps(&entry.pattern)
            })
        })
    }

    /// Makes the next [`Tables::settle`] look at everything again: a group has changed.
    pub fn touch(&mut self) {
        self.levels.iter_mut().flatten().for_each(|state| state.settled = false);
    }

    /// Puts all changes into effect: rebuilds the indices of changed tables and the places of
    /// flows, with the queues of groups given by `group_queue`.
    pub fn settle(&mut self, group_queue: impl Fn(u32) -> Option<u8>) {
        if self.levels.iter().flatten().all(|state| state.settled) {
            return;
        }
        self.levels.iter_mut().flatten().for_each(TableState::settle);
        for (level, places) in self.levels.iter().zip(&mut self.places) {
            let entries = level.iter().skip(2).flat_map(|state| state.table.entries());
            // Cookie 0 names no flow: such frames stay where they are.
            let flows = entries.filter(|e| e.cookie != 0);
            *places = Arc::new(flows.map(|e| (e.cookie, e.queue(&group_queue))).collect());
        }
    }

    /// The queue of a flow's frames in a level; `Some(None)` if it has no place there, `None` if
    /// the cookie is unknown.
    pub fn place(&self, level: u8, cookie: u64) -> Option<Option<u8>> {
        self.places.get(usize::from(level))?.get(&cookie).copied()
    }
}

impl Entry {
    /// Canonical order: best precedence first, then by pattern.
    fn rank(&self) -> (std::cmp::Reverse<u16>, Pattern) {
        (std::cmp::Reverse(self.precedence), self.pattern)
    }

    /// The queue through which it sends, if it sends at all.
    fn queue(&self, group_queue: impl Fn(u32) -> Option<u8>) -> Option<u8> {
        let steps = self.behaviour.apply.iter().chain(&self.behaviour.write);
        let mut queue = 0;
        let mut sends = None;
        for step in steps {
            match *step {
                ActionStep::SetQueue(id) => queue = u8::try_from(id).unwrap_or(u8::MAX - 1),
                ActionStep::Output(_) => sends = sends.or(Some(queue)),
                ActionStep::Group(id) => sends = sends.or_else(|| group_queue(id)),
                ActionStep::Monitor(_) => {}
            }
        }
        sends
    }
}
