//! The cached paths of a switch, by slot of its first table, and what is counted on them.
//!
//! A frame that goes a cached path to its end is counted once, on the path: every entry on it has matched
//! that frame. The count belongs to the entries. Each entry names the path that counts for it, and
//! its counters are read as the sum of both. Before an entry changes or goes, the path is *settled*: its
//! count is added to the entries, and the path is void. If several cached paths share an entry, one of them
//! counts for it, and the frames of the others write to the entry itself.

use super::action_program::{ActionProgram, ActionPrograms};
use super::cached_path::{CachedPath, PathHops, Record, STAGES};
use super::compile::{CompileInputs, CompiledPath, compile};
use super::meter_monitor_store::{MeterMonitorStore, Records};
use crate::Work;
use crate::switch::meter::MeterState;
use crate::switch::monitor::MonitorState;
use crate::switch::tables::Tables;
use crate::switch::tables::chunks::Chunks;
use crate::switch::tables::counted_table::CountedTable;
use crate::switch::tables::usage::{EntryCounter, Use};
use std::borrow::Cow;
use tenuto_units::Instant;

/// What cached paths have in common that lead through the same tables: how many frames these have seen.
#[derive(Clone, Debug)]
pub(in crate::switch) struct TableSequence {
    states: [u16; STAGES],
    stages: u8,
    /// The stages that cached paths count for, a bit each.
    counts: u8,
    /// Frames that went to the end.
    pub(in crate::switch) passed: u64,
}

impl TableSequence {
    /// The places of tables whose look-ups it counts.
    fn counted(&self) -> impl Iterator<Item = usize> {
        let stages = self.states.iter().take(self.stages.into()).enumerate();
        stages.filter(|(stage, _)| self.counts >> stage & 1 == 1).map(|(_, &state)| state.into())
    }
}

/// Cached paths by slot of the first table.
#[derive(Clone, Debug)]
pub(in crate::switch) struct PathCache {
    records: Records,
    hops: Chunks<PathHops>,
    store: MeterMonitorStore,
    /// At most 256 table sequences fit into the number that a path has for them; frames of paths with
    /// further sequences take the slow path.
    sequences: Vec<TableSequence>,
    programs: ActionPrograms,
    /// Whether a cached path of this generation leads through tables by what entries have written: a change of
    /// one concerns cached paths that do not have its pattern then.
    is_any_by_written: bool,
    /// Cached paths of another generation are void.
    generation: u32,
}

impl PathCache {
    pub(in crate::switch) fn new() -> Self {
        Self {
            records: Chunks::new(),
            hops: Chunks::new(),
            store: MeterMonitorStore::default(),
            sequences: Vec::new(),
            programs: ActionPrograms::default(),
            is_any_by_written: false,
            generation: 1,
        }
    }

    /// A meter by number, but for what is lent of it.
    pub(in crate::switch) fn meter(&self, id: u32) -> Option<&MeterState> {
        self.store.meter(id)
    }

    /// Makes room for the path of a slot.
    pub(in crate::switch) fn reach(&mut self, slot: u32) {
        while self.records.len() <= slot as usize {
            self.records.push(Record::NONE);
            self.hops.push(PathHops::NONE);
        }
    }

    /// Makes all cached paths void. What they have counted stays theirs until they are settled.
    pub(super) fn make_all_void(&mut self) {
        self.is_any_by_written = false;
        self.generation = self.generation.checked_add(1).unwrap_or_else(|| {
            // After hours of changes: no path of an old generation may come back.
            self.records.iter_mut().for_each(|record| record.path.make_void());
            1
        });
    }

    /// Whether a cached path leads through tables by what entries have written.
    pub(super) const fn is_any_by_written(&self) -> bool {
        self.is_any_by_written
    }

    /// Makes the path of a slot void.
    pub(super) fn make_void(&mut self, slot: u32) {
        if let Some(record) = self.records.get_mut(slot) {
            record.path.make_void();
        }
    }

    /// What the path that counts for an entry adds to it, and when it was last used on it.
    pub(in crate::switch) fn counted_for(&self, entry: &Use) -> (EntryCounter, Instant) {
        let Some(Record { path, .. }) = self.records.get(entry.path) else {
            return (entry.counter, entry.used);
        };
        let mut counter = entry.counter;
        counter.add_all(path.passed());
        (counter, entry.used.max(path.used()))
    }

    /// Frames that were looked up in each of so many tables and are counted on cached paths.
    pub(in crate::switch) fn looked_up(&self, tables: usize) -> Vec<u64> {
        let mut found = vec![0; tables];
        for sequence in &self.sequences {
            sequence.counted().for_each(|state| found[state] += sequence.passed);
        }
        found
    }

    /// Puts what a cached path has counted into its entries, and takes it up.
    pub(in crate::switch) fn settle(&mut self, slot: u32, states: &mut [CountedTable]) {
        let Some(&hops) = self.hops.get(slot) else { return };
        self.store.take_back(slot, &hops, &mut self.records);
        let path = &mut self.records[slot].path;
        for stage in 0..path.stages.into() {
            if path.counts_at(stage) {
                let state = &mut states[usize::from(hops.states[stage])];
                state.add_passed(hops.slots[stage], path.passed(), path.used());
            }
        }
        if let Some(number) = path.program() {
            self.programs.give_back(number);
        }
        *path = CachedPath::NONE;
    }

    /// Puts what all cached paths have counted into their entries and tables, and takes them up.
    pub(in crate::switch) fn settle_all(&mut self, states: &mut [CountedTable]) {
        let slots = u32::try_from(self.records.len()).unwrap_or(u32::MAX);
        (0..slots).for_each(|slot| self.settle(slot, states));
        for sequence in self.sequences.drain(..) {
            sequence.counted().for_each(|state| states[state].add_look_ups(sequence.passed));
        }
    }

    /// Puts a compiled path into a slot whose last one is settled; its program is in the draft.
    pub(in crate::switch) fn compile(
        &mut self,
        slot: u32,
        compiled: CompiledPath,
        states: &mut [CountedTable],
    ) {
        let CompiledPath { mut path, hops, is_by_written } = compiled;
        let none = path.unfixed();
        self.is_any_by_written |= is_by_written;
        if path.ends_in_several() {
            path.set_program(self.programs.keep());
        }
        for stage in 0..path.stages.into() {
            let state = &mut states[usize::from(hops.states[stage])];
            if state.count_by(hops.slots[stage], slot) {
                path.count_at(stage);
            }
        }
        let sequence = self.sequence(&path, &hops);
        (self.records[slot].path, self.hops[slot]) = (path, hops);
        match sequence {
            Some(sequence) => {
                self.records[slot].path.sequence = sequence;
                self.store.lend(slot, &hops, self.generation, &mut self.records);
            }
            None => {
                self.settle(slot, states);
                self.records[slot].path = none;
            }
        }
    }

    /// The number of the table sequence of a cached path; `None` if there are too many.
    fn sequence(&mut self, path: &CachedPath, hops: &PathHops) -> Option<u8> {
        let (states, stages, counts) = (hops.states, path.stages, path.counts());
        let is_same =
            |it: &TableSequence| (it.states, it.stages, it.counts) == (states, stages, counts);
        let place = self.sequences.iter().position(is_same).unwrap_or(self.sequences.len());
        let number = u8::try_from(place).ok()?;
        if place == self.sequences.len() {
            self.sequences.push(TableSequence { states, stages, counts, passed: 0 });
        }
        Some(number)
    }
}

/// A cached path that counts now, and what its frames write.
pub(in crate::switch) struct Current<'a> {
    pub(in crate::switch) record: &'a mut Record,
    pub(in crate::switch) sequences: &'a mut [TableSequence],
    pub(in crate::switch) store: &'a mut MeterMonitorStore,
    pub(in crate::switch) hops: &'a Chunks<PathHops>,
}

impl Tables {
    /// The path of all frames that match the entry in a slot of the first table, if it is compiled for a
    /// mode of `level` and `admitted`.
    #[inline]
    pub(in crate::switch) fn current_path(
        &mut self,
        slot: u32,
        mode: (u8, u8),
    ) -> Option<Current<'_>> {
        let PathCache { records, hops, store, generation, sequences, .. } = &mut self.path_cache;
        let record = records.get_mut(slot).filter(|it| it.path.is_of(*generation, mode))?;
        Some(Current { record, sequences, store, hops })
    }

    /// The path of a slot, void or not.
    #[inline]
    pub(in crate::switch) fn record_near(&self, slot: u32) -> Option<&Record> {
        self.path_cache.records.get(slot)
    }

    /// A cached path as it lies, and where it leads.
    pub(in crate::switch) fn compiled(&self, slot: u32) -> (CachedPath, PathHops) {
        (self.path_cache.records[slot].path, self.path_cache.hops[slot])
    }

    /// Meters by number.
    pub(in crate::switch) fn meters(&self) -> impl Iterator<Item = (u32, Cow<'_, MeterState>)> {
        self.path_cache.store.meters(&self.path_cache.records)
    }

    /// A meter as it is now.
    pub(in crate::switch) fn meter(&self, id: u32) -> Option<Cow<'_, MeterState>> {
        self.path_cache.store.meter_now(id, &self.path_cache.records)
    }

    /// Monitors by number.
    pub(in crate::switch) fn monitors(&self) -> impl Iterator<Item = (u32, Cow<'_, MonitorState>)> {
        self.path_cache.store.monitors(&self.path_cache.records)
    }

    /// Whether there is a monitor of a number.
    pub(in crate::switch) fn has_monitor(&self, id: u32) -> bool {
        self.path_cache.store.monitor(id).is_some()
    }

    /// Whether there is a meter of a number.
    pub(in crate::switch) fn has_meter(&self, id: u32) -> bool {
        self.path_cache.store.meter(id).is_some()
    }

    /// A meter, to be judged by.
    #[inline]
    pub(in crate::switch) fn meter_mut(&mut self, id: u32) -> Option<&mut MeterState> {
        self.path_cache.store.meter_mut(id, &mut self.path_cache.records)
    }

    /// A monitor, to be judged by.
    #[inline]
    pub(in crate::switch) fn monitor_mut(&mut self, id: u32) -> Option<&mut MonitorState> {
        self.path_cache.store.monitor_mut(id, &mut self.path_cache.records)
    }

    /// What frames do not write of a monitor.
    pub(in crate::switch) fn monitor_beside(&mut self, id: u32) -> Option<&mut MonitorState> {
        self.path_cache.store.monitor_beside(id)
    }

    /// The place of a meter that is to come, change or go.
    pub(in crate::switch) fn meter_place(&mut self, id: u32) -> &mut Option<MeterState> {
        self.path_cache.store.meter_place(id, &mut self.path_cache.records)
    }

    /// The place of a monitor that is to come or go.
    pub(in crate::switch) fn monitor_place(&mut self, id: u32) -> &mut Option<MonitorState> {
        self.path_cache.store.monitor_place(id, &mut self.path_cache.records)
    }

    /// The numbers of all places of meters.
    pub(in crate::switch) fn meter_ids(&self) -> std::ops::Range<u32> {
        self.path_cache.store.meter_ids()
    }

    /// A message on a cached path has violated what its monitor watches over.
    pub(in crate::switch) fn count_violation(&mut self, slot: u32) {
        let hops = &self.path_cache.hops[slot];
        self.path_cache.store.count_violation(hops.monitor);
    }

    /// The bucket of a cached path has not held a frame.
    pub(in crate::switch) fn count_refused(&mut self, slot: u32, frame_bytes: u32) {
        let hops = &self.path_cache.hops[slot];
        self.path_cache.store.count_refused(hops.meter, frame_bytes);
    }

    /// Whether the meter on a cached path lets a frame pass.
    pub(in crate::switch) fn passes(
        &mut self,
        slot: u32,
        arrival: Instant,
        bits: u64,
        frame_bytes: u32,
    ) -> bool {
        let PathCache { records, hops, store, .. } = &mut self.path_cache;
        let (path, id) = (&mut records[slot].path, hops[slot].meter);
        if path.is_apart() {
            // A meter that is not there passes nothing, as on the slow path.
            let meter = store.meter_mut(id, records);
            return meter.is_some_and(|it| it.judge(arrival, bits, frame_bytes).is_none());
        }
        let conforms = path.bucket.conforms(arrival, bits);
        if !conforms {
            store.count_refused(id, frame_bytes);
        }
        conforms
    }

    /// A frame has gone a cached path to its end; whether that is all there is to count.
    #[inline]
    pub(in crate::switch) fn pass(&mut self, slot: u32, now: Instant, frame_bytes: u32) -> bool {
        let PathCache { records, sequences, .. } = &mut self.path_cache;
        records[slot].path.pass(sequences, now, frame_bytes)
    }

    /// Counts a frame that has gone a cached path to its end for the entries that the path does not count
    /// for. A cached path that is full is taken up.
    #[cold]
    pub(in crate::switch) fn count_beside(&mut self, slot: u32, now: Instant, frame_bytes: u32) {
        let (path, hops) = self.compiled(slot);
        for stage in (0..path.stages.into()).filter(|&stage| !path.counts_at(stage)) {
            self.count_stage(hops, stage, now, frame_bytes);
        }
        if path.is_full() {
            self.path_cache.settle(slot, &mut self.states);
        }
    }

    /// Counts a frame for the entry of one stage.
    pub(in crate::switch) fn count_stage(
        &mut self,
        hops: PathHops,
        stage: usize,
        now: Instant,
        frame_bytes: u32,
    ) {
        let state = &mut self.states[usize::from(hops.states[stage])];
        state.count(Some(hops.slots[stage]), now, frame_bytes);
    }

    /// Compiles the path of a slot.
    pub(in crate::switch) fn compile_path(&mut self, slot: u32, around: &CompileInputs<'_>) {
        self.path_cache.settle(slot, &mut self.states);
        let mut draft = std::mem::take(&mut self.path_cache.programs.draft);
        let compiled = compile(self, &mut draft, (slot, self.path_cache.generation), around);
        self.path_cache.programs.draft = draft;
        self.path_cache.compile(slot, compiled, &mut self.states);
    }

    /// The number of the program of a cached path that has one, and what a frame costs up to there, after a look-up
    /// of so many probes.
    #[inline]
    pub(in crate::switch) fn program_of(
        &self,
        slot: u32,
        (probes, frame_bytes): (u32, u32),
    ) -> (u32, Work) {
        let path = &self.path_cache.records[slot].path;
        (path.program().unwrap_or(u32::MAX), path.work(probes, frame_bytes))
    }

    /// What becomes of frames at the end of a cached path.
    #[inline]
    pub(in crate::switch) fn program(&self, number: u32) -> Option<&ActionProgram> {
        self.path_cache.programs.get(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EgressConfig;
    use crate::switch::actions::group::{Groups, Liveness};
    use crate::switch::port::index::PortIndex;
    use crate::switch::{
        ActionStep, Behaviour, ClassifierKind, Entry, HashKey, Pattern, PortConfig, PortRole,
        PortState, SwitchConfig,
    };
    use std::sync::Arc;
    use tenuto_openflow::constants::meter_flag;
    use tenuto_openflow::{Match, MeterBand};
    use tenuto_units::{Rate, Span};

    const NOW: Instant = Instant::from_ns(1_000);
    const FRAME_BYTES: u32 = 1_522;

    /// One entry that meters and sends.
    fn tables() -> Tables {
        let config = SwitchConfig {
            datapath_id: 1,
            ports: Vec::new(),
            tables: 1,
            entries_max: 1,
            meters_max: 1,
            groups_max: 0,
            meter_extra_bytes: 4,
            classifier: ClassifierKind::ByMask,
            hash_key: HashKey::fixed(),
            boot_seed: 1,
            mode_retry: Span::from_ms(1),
            general: None,
        };
        let mut tables = Tables::new(Arc::new(config));
        let bands = [MeterBand::Drop { rate: 100_000_000, burst_size: 100 }];
        let flags = meter_flag::KBPS | meter_flag::BURST;
        *tables.meter_place(1) = Some(MeterState::new(flags, &bands, NOW));
        let apply = vec![ActionStep::Output(1)];
        let entry = Entry {
            pattern: Pattern::from_match(&Match::ANY).expect("it asks for nothing"),
            precedence: 1,
            cookie: 1,
            flags: 0,
            idle_timeout: 0,
            hard_timeout: 0,
            behaviour: Behaviour { meter: Some(1), apply, ..Behaviour::default() },
            version: None,
            matching: Match::ANY,
            instructions: Vec::new(),
        };
        assert_eq!(tables.add(NOW, 0, 0, entry), Ok(0));
        tables
    }

    #[test]
    fn a_path_that_is_full_is_taken_up_and_nothing_is_lost() {
        let mut tables = tables();
        let egress = EgressConfig {
            rate: Rate::from_bps(1_000_000).expect("not zero"),
            queues: 1,
            buffer_bits: 0,
            unpromised_from: None,
        };
        let ports = [PortState::new(&PortConfig { port: 1, role: PortRole::Host, egress }, 1)];
        let (groups, index) = (Groups::default(), PortIndex::from_iter([(1, 0)]));
        let live = Liveness { groups: &groups, ports: &ports, index: &index };
        let around = CompileInputs { mode: (0, 0), live, counts: None, copies_max: 1 };
        let mut passed: u64 = 0;
        for _ in 0..3 {
            tables.compile_path(0, &around);
            let path = &mut tables.current_path(0, (0, 0)).expect("compiled").record.path;
            assert!(path.has_meter() && !path.is_apart());
            path.fill_but_one(FRAME_BYTES);
            passed += path.passed().frames + 1;
            assert!(tables.passes(0, NOW, 1, FRAME_BYTES) && !tables.pass(0, NOW, FRAME_BYTES));
            tables.count_beside(0, NOW, FRAME_BYTES);
            assert!(tables.current_path(0, (0, 0)).is_none(), "taken up");
            let bytes = passed * u64::from(FRAME_BYTES);
            let all = EntryCounter { frames: passed, bytes };
            assert_eq!(tables.get(0, 0).expect("there").counter(0), all);
            let (_, meter) = tables.meters().next().expect("there");
            assert_eq!(
                (meter.seen, meter.lent),
                (all, crate::switch::path_cache::meter_monitor_store::NOT_LENT)
            );
        }
    }
}
