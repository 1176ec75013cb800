//! The tracks of a switch, by slot of its first table, and what is counted on them.
//!
//! A frame that goes a track to its end is counted once, on the track: every entry on it has matched
//! that frame. What is counted belongs to the entries all the same. An entry says which track counts
//! for it, so that whoever asks adds that up; before the entry changes or goes, the track is *settled*:
//! its count is put where it belongs and the track taken up. An entry that several tracks share counts
//! for one of them that way, and is written to by the others' frames.

use super::chunks::Chunks;
use super::counted_table::{CountedTable, EntryCounter};
use super::guards::{Guards, Records};
use super::laying::{Laid, Surroundings, lay};
use super::meter::MeterState;
use super::monitor::MonitorState;
use super::tables::Tables;
use super::tail::{Tail, Tails};
use super::track::{Record, STAGES, Track, Way};
use crate::Work;
use std::borrow::Cow;
use tenuto_units::Instant;

/// No track counts for an entry.
pub(super) const NO_TRACK: u32 = u32::MAX;

/// What an entry is used for, beside what it does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub(super) counter: EntryCounter,
    /// When a frame last matched it.
    pub(super) used: Instant,
    /// The track that counts for it.
    pub(super) track: u32,
}

impl Use {
    pub(super) fn new(now: Instant) -> Self {
        Self { counter: EntryCounter::default(), used: now, track: NO_TRACK }
    }
}

/// What tracks have in common that lead through the same tables: how many frames these have seen.
#[derive(Clone, Debug)]
pub(super) struct Form {
    states: [u16; STAGES],
    stages: u8,
    /// The stages that tracks count for, a bit each.
    counts: u8,
    /// Frames that went to the end.
    pub(super) passed: u64,
}

impl Form {
    /// The places of tables whose look-ups it counts.
    fn counted(&self) -> impl Iterator<Item = usize> {
        let stages = self.states.iter().take(self.stages.into()).enumerate();
        stages.filter(|(stage, _)| self.counts >> stage & 1 == 1).map(|(_, &state)| state.into())
    }
}

/// Tracks by slot of the first table.
#[derive(Clone, Debug)]
pub(super) struct Tracks {
    records: Records,
    ways: Chunks<Way>,
    guards: Guards,
    /// As many as a track can name; frames of further ones walk.
    forms: Vec<Form>,
    tails: Tails,
    /// Whether a track of this generation leads through tables by what entries have written: a change of
    /// one concerns tracks that do not have its pattern then.
    is_any_by_written: bool,
    /// Tracks of another generation are void.
    generation: u32,
}

impl Tracks {
    pub(super) fn new() -> Self {
        Self {
            records: Chunks::new(),
            ways: Chunks::new(),
            guards: Guards::default(),
            forms: Vec::new(),
            tails: Tails::default(),
            is_any_by_written: false,
            generation: 1,
        }
    }

    /// A meter by number, but for what is lent of it.
    pub(super) fn meter(&self, id: u32) -> Option<&MeterState> {
        self.guards.meter(id)
    }

    /// Makes room for the track of a slot.
    pub(super) fn reach(&mut self, slot: u32) {
        while self.records.len() <= slot as usize {
            self.records.push(Record::NONE);
            self.ways.push(Way::NONE);
        }
    }

    /// Makes all tracks void. What they have counted stays theirs until they are settled.
    pub(super) fn forget(&mut self) {
        self.is_any_by_written = false;
        self.generation = self.generation.checked_add(1).unwrap_or_else(|| {
            // After hours of changes: no track of an old generation may come back.
            self.records.iter_mut().for_each(|record| record.track.make_void());
            1
        });
    }

    /// Whether a track leads through tables by what entries have written.
    pub(super) const fn is_any_by_written(&self) -> bool {
        self.is_any_by_written
    }

    /// Makes the track of a slot void.
    pub(super) fn make_void(&mut self, slot: u32) {
        if let Some(record) = self.records.get_mut(slot) {
            record.track.make_void();
        }
    }

    /// What the track that counts for an entry adds to it, and when it was last used on it.
    pub(super) fn counted_for(&self, entry: &Use) -> (EntryCounter, Instant) {
        let Some(Record { track, .. }) = self.records.get(entry.track) else {
            return (entry.counter, entry.used);
        };
        let mut counter = entry.counter;
        counter.add_all(track.passed());
        (counter, entry.used.max(track.used()))
    }

    /// Frames that were looked up in each of so many tables and are counted on tracks.
    pub(super) fn looked_up(&self, tables: usize) -> Vec<u64> {
        let mut found = vec![0; tables];
        for form in &self.forms {
            form.counted().for_each(|state| found[state] += form.passed);
        }
        found
    }

    /// Puts what a track has counted into its entries, and takes it up.
    pub(super) fn settle(&mut self, slot: u32, states: &mut [CountedTable]) {
        let Some(&way) = self.ways.get(slot) else { return };
        self.guards.take_back(slot, &way, &mut self.records);
        let track = &mut self.records[slot].track;
        for stage in 0..track.stages.into() {
            if track.counts_at(stage) {
                let state = &mut states[usize::from(way.states[stage])];
                state.add_passed(way.slots[stage], track.passed(), track.used());
            }
        }
        if let Some(number) = track.tail() {
            self.tails.give_back(number);
        }
        *track = Track::NONE;
    }

    /// Puts what all tracks have counted into their entries and tables, and takes them up.
    pub(super) fn settle_all(&mut self, states: &mut [CountedTable]) {
        let slots = u32::try_from(self.records.len()).unwrap_or(u32::MAX);
        (0..slots).for_each(|slot| self.settle(slot, states));
        for form in self.forms.drain(..) {
            form.counted().for_each(|state| states[state].add_look_ups(form.passed));
        }
    }

    /// Lays a track in a slot whose last one is settled; what is at its end is in the draft.
    pub(super) fn lay(&mut self, slot: u32, laid: Laid, states: &mut [CountedTable]) {
        let Laid { mut track, way, is_by_written } = laid;
        let none = track.unfixed();
        self.is_any_by_written |= is_by_written;
        if track.ends_in_several() {
            track.set_tail(self.tails.keep());
        }
        for stage in 0..track.stages.into() {
            let state = &mut states[usize::from(way.states[stage])];
            if state.count_by(way.slots[stage], slot) {
                track.count_at(stage);
            }
        }
        let form = self.form(&track, &way);
        (self.records[slot].track, self.ways[slot]) = (track, way);
        match form {
            Some(form) => {
                self.records[slot].track.form = form;
                self.guards.lend(slot, &way, self.generation, &mut self.records);
            }
            None => {
                self.settle(slot, states);
                self.records[slot].track = none;
            }
        }
    }

    /// The form of a track; `None` if there are too many.
    fn form(&mut self, track: &Track, way: &Way) -> Option<u8> {
        let (states, stages, counts) = (way.states, track.stages, track.counts());
        let is_same = |it: &Form| (it.states, it.stages, it.counts) == (states, stages, counts);
        let place = self.forms.iter().position(is_same).unwrap_or(self.forms.len());
        let number = u8::try_from(place).ok()?;
        if place == self.forms.len() {
            self.forms.push(Form { states, stages, counts, passed: 0 });
        }
        Some(number)
    }
}

/// A track, and what a frame on it writes.
pub(super) struct Current<'a> {
    pub(super) record: &'a mut Record,
    pub(super) forms: &'a mut [Form],
    pub(super) guards: &'a mut Guards,
    pub(super) ways: &'a Chunks<Way>,
}

impl Tables {
    /// The track of all frames that match the entry in a slot of the first table, if it is laid for a
    /// mode of `level` and `admitted`.
    #[inline]
    pub(super) fn current_track(&mut self, slot: u32, mode: (u8, u8)) -> Option<Current<'_>> {
        let Tracks { records, ways, guards, generation, forms, .. } = &mut self.tracks;
        let record = records.get_mut(slot).filter(|it| it.track.is_of(*generation, mode))?;
        Some(Current { record, forms, guards, ways })
    }

    /// The track of a slot, void or not.
    #[inline]
    pub(super) fn record_near(&self, slot: u32) -> Option<&Record> {
        self.tracks.records.get(slot)
    }

    /// A track as it lies, and where it leads.
    pub(super) fn laid(&self, slot: u32) -> (Track, Way) {
        (self.tracks.records[slot].track, self.tracks.ways[slot])
    }

    /// Meters by number.
    pub(super) fn meters(&self) -> impl Iterator<Item = (u32, Cow<'_, MeterState>)> {
        self.tracks.guards.meters(&self.tracks.records)
    }

    /// A meter as it is now.
    pub(super) fn meter(&self, id: u32) -> Option<Cow<'_, MeterState>> {
        self.tracks.guards.meter_now(id, &self.tracks.records)
    }

    /// Monitors by number.
    pub(super) fn monitors(&self) -> impl Iterator<Item = (u32, Cow<'_, MonitorState>)> {
        self.tracks.guards.monitors(&self.tracks.records)
    }

    /// Whether there is a monitor of a number.
    pub(super) fn has_monitor(&self, id: u32) -> bool {
        self.tracks.guards.monitor(id).is_some()
    }

    /// Whether there is a meter of a number.
    pub(super) fn has_meter(&self, id: u32) -> bool {
        self.tracks.guards.meter(id).is_some()
    }

    /// A meter, to be judged by.
    #[inline]
    pub(super) fn meter_mut(&mut self, id: u32) -> Option<&mut MeterState> {
        self.tracks.guards.meter_mut(id, &mut self.tracks.records)
    }

    /// A monitor, to be judged by.
    #[inline]
    pub(super) fn monitor_mut(&mut self, id: u32) -> Option<&mut MonitorState> {
        self.tracks.guards.monitor_mut(id, &mut self.tracks.records)
    }

    /// What frames do not write of a monitor.
    pub(super) fn monitor_beside(&mut self, id: u32) -> Option<&mut MonitorState> {
        self.tracks.guards.monitor_beside(id)
    }

    /// The place of a meter that is to come, change or go.
    pub(super) fn meter_place(&mut self, id: u32) -> &mut Option<MeterState> {
        self.tracks.guards.meter_place(id, &mut self.tracks.records)
    }

    /// The place of a monitor that is to come or go.
    pub(super) fn monitor_place(&mut self, id: u32) -> &mut Option<MonitorState> {
        self.tracks.guards.monitor_place(id, &mut self.tracks.records)
    }

    /// The numbers of all places of meters.
    pub(super) fn meter_ids(&self) -> std::ops::Range<u32> {
        self.tracks.guards.meter_ids()
    }

    /// A message on a track has violated what its monitor watches over.
    pub(super) fn count_violation(&mut self, slot: u32) {
        let way = &self.tracks.ways[slot];
        self.tracks.guards.count_violation(way.monitor);
    }

    /// The bucket of a track has not held a frame.
    pub(super) fn count_refused(&mut self, slot: u32, frame_bytes: u32) {
        let way = &self.tracks.ways[slot];
        self.tracks.guards.count_refused(way.meter, frame_bytes);
    }

    /// Whether the meter on a track lets a frame pass.
    pub(super) fn passes(
        &mut self,
        slot: u32,
        arrival: Instant,
        bits: u64,
        frame_bytes: u32,
    ) -> bool {
        let Tracks { records, ways, guards, .. } = &mut self.tracks;
        let (track, id) = (&mut records[slot].track, ways[slot].meter);
        if track.is_apart() {
            // One that is not there passes nothing, on the walk neither.
            let meter = guards.meter_mut(id, records);
            return meter.is_some_and(|it| it.judge(arrival, bits, frame_bytes).is_none());
        }
        let conforms = track.bucket.conforms(arrival, bits);
        if !conforms {
            guards.count_refused(id, frame_bytes);
        }
        conforms
    }

    /// A frame has gone a track to its end; whether that is all there is to count.
    #[inline]
    pub(super) fn pass(&mut self, slot: u32, now: Instant, frame_bytes: u32) -> bool {
        let Tracks { records, forms, .. } = &mut self.tracks;
        records[slot].track.pass(forms, now, frame_bytes)
    }

    /// Counts a frame that has gone a track to its end for the entries that the track does not count
    /// for. A track that is full is taken up.
    #[cold]
    pub(super) fn count_beside(&mut self, slot: u32, now: Instant, frame_bytes: u32) {
        let (track, way) = self.laid(slot);
        for stage in (0..track.stages.into()).filter(|&stage| !track.counts_at(stage)) {
            self.count_stage(way, stage, now, frame_bytes);
        }
        if track.is_full() {
            self.tracks.settle(slot, &mut self.states);
        }
    }

    /// Counts a frame for the entry of one stage.
    pub(super) fn count_stage(&mut self, way: Way, stage: usize, now: Instant, frame_bytes: u32) {
        let state = &mut self.states[usize::from(way.states[stage])];
        state.count(Some(way.slots[stage]), now, frame_bytes);
    }

    /// Lays the track of a slot.
    pub(super) fn lay_track(&mut self, slot: u32, around: &Surroundings<'_>) {
        self.tracks.settle(slot, &mut self.states);
        let mut draft = std::mem::take(&mut self.tracks.tails.draft);
        let laid = lay(self, &mut draft, (slot, self.tracks.generation), around);
        self.tracks.tails.draft = draft;
        self.tracks.lay(slot, laid, &mut self.states);
    }

    /// The number of the tail of a track that has one, and what a frame costs up to there, after a look-up
    /// of so many probes.
    #[inline]
    pub(super) fn laid_tail(&self, slot: u32, (probes, frame_bytes): (u32, u32)) -> (u32, Work) {
        let track = &self.tracks.records[slot].track;
        (track.tail().unwrap_or(u32::MAX), track.work(probes, frame_bytes))
    }

    /// What becomes of frames at the end of a track.
    #[inline]
    pub(super) fn tail(&self, number: u32) -> Option<&Tail> {
        self.tracks.tails.get(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EgressConfig;
    use crate::switch::group::{Groups, Liveness};
    use crate::switch::port_index::PortIndex;
    use crate::switch::{
        ActionStep, Behaviour, ClassifierKind, Entry, Pattern, PortConfig, PortRole, PortState,
        SwitchConfig,
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
    fn a_track_that_is_full_is_taken_up_and_nothing_is_lost() {
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
        let around = Surroundings { mode: (0, 0), live, counts: None, copies_max: 1 };
        let mut passed: u64 = 0;
        for _ in 0..3 {
            tables.lay_track(0, &around);
            let track = &mut tables.current_track(0, (0, 0)).expect("laid").record.track;
            assert!(track.has_meter() && !track.is_apart());
            track.fill_but_one(FRAME_BYTES);
            passed += track.passed().frames + 1;
            assert!(tables.passes(0, NOW, 1, FRAME_BYTES) && !tables.pass(0, NOW, FRAME_BYTES));
            tables.count_beside(0, NOW, FRAME_BYTES);
            assert!(tables.current_track(0, (0, 0)).is_none(), "taken up");
            let bytes = passed * u64::from(FRAME_BYTES);
            let all = EntryCounter { frames: passed, bytes };
            assert_eq!(tables.get(0, 0).expect("there").counter(0), all);
            let (_, meter) = tables.meters().next().expect("there");
            assert_eq!((meter.seen, meter.lent), (all, crate::switch::guards::NOT_LENT));
        }
    }
}
