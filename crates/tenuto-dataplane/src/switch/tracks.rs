//! The tracks of a switch, by slot of its first table, and what is counted on them.
//!
//! A frame that goes a track to its end is counted once, on the track: every entry on it has matched
//! that frame. What is counted belongs to the entries all the same. An entry says which track counts
//! for it, so that whoever asks adds that up; before the entry changes or goes, the track is *settled*:
//! its count is put where it belongs and the track taken up. An entry that several tracks share counts
//! for one of them that way, and is written to by the others' frames.

use super::chunks::Chunks;
use super::counted_table::{CountedTable, EntryCounter};
use super::tables::Tables;
use super::track::{STAGES, Surroundings, Track, Way};
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
    tracks: Chunks<Track>,
    ways: Chunks<Way>,
    /// As many as a track can name; frames of further ones walk.
    forms: Vec<Form>,
    /// Tracks of another generation are void.
    generation: u32,
}

impl Tracks {
    pub(super) const fn new() -> Self {
        Self { tracks: Chunks::new(), ways: Chunks::new(), forms: Vec::new(), generation: 1 }
    }

    /// Makes room for the track of a slot.
    pub(super) fn reach(&mut self, slot: u32) {
        while self.tracks.len() <= slot as usize {
            self.tracks.push(Track::NONE);
            self.ways.push(Way::NONE);
        }
    }

    /// Makes all tracks void. What they have counted stays theirs until they are settled.
    pub(super) fn forget(&mut self) {
        self.generation = self.generation.checked_add(1).unwrap_or_else(|| {
            // After hours of changes: no track of an old generation may come back.
            self.tracks.iter_mut().for_each(Track::make_void);
            1
        });
    }

    /// Makes the track of a slot void.
    pub(super) fn make_void(&mut self, slot: u32) {
        if let Some(track) = self.tracks.get_mut(slot) {
            track.make_void();
        }
    }

    /// What the track that counts for an entry adds to it, and when it was last used on it.
    pub(super) fn counted_for(&self, entry: &Use) -> (EntryCounter, Instant) {
        let Some(track) = self.tracks.get(entry.track) else {
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
        let Some(track) = self.tracks.get_mut(slot) else { return };
        let way = self.ways[slot];
        for stage in 0..track.stages.into() {
            if track.counts_at(stage) {
                let state = &mut states[usize::from(way.states[stage])];
                state.add_passed(way.slots[stage], track.passed(), track.used());
            }
        }
        *track = Track::NONE;
    }

    /// Puts what all tracks have counted into their entries and tables, and takes them up.
    pub(super) fn settle_all(&mut self, states: &mut [CountedTable]) {
        let slots = u32::try_from(self.tracks.len()).unwrap_or(u32::MAX);
        (0..slots).for_each(|slot| self.settle(slot, states));
        for form in self.forms.drain(..) {
            form.counted().for_each(|state| states[state].add_look_ups(form.passed));
        }
    }

    /// Lays a track in a slot whose last one is settled.
    pub(super) fn lay(
        &mut self,
        slot: u32,
        (mut track, way): (Track, Way),
        states: &mut [CountedTable],
    ) {
        let none = track.unfixed();
        for stage in 0..track.stages.into() {
            let state = &mut states[usize::from(way.states[stage])];
            if state.count_by(way.slots[stage], slot) {
                track.count_at(stage);
            }
        }
        let form = self.form(&track, &way);
        (self.tracks[slot], self.ways[slot]) = (track, way);
        match form {
            Some(form) => self.tracks[slot].form = form,
            None => {
                self.settle(slot, states);
                self.tracks[slot] = none;
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

impl Tables {
    /// The track of all frames that match the entry in a slot of the first table, if it is laid for a
    /// mode of `level` and `admitted`.
    #[inline]
    pub(super) fn current_track(
        &mut self,
        slot: u32,
        mode: (u8, u8),
    ) -> Option<(&mut Track, &mut [Form])> {
        let Tracks { tracks, generation, forms, .. } = &mut self.tracks;
        let track = tracks.get_mut(slot).filter(|track| track.is_of(*generation, mode))?;
        Some((track, forms))
    }

    /// The track of a slot, void or not.
    #[inline]
    pub(super) fn track_near(&self, slot: u32) -> Option<&Track> {
        self.tracks.tracks.get(slot)
    }

    /// A track as it lies, and where it leads.
    pub(super) fn laid(&self, slot: u32) -> (Track, Way) {
        (self.tracks.tracks[slot], self.tracks.ways[slot])
    }

    /// A frame has gone a track to its end; whether the track counts that for all of its entries.
    #[inline]
    pub(super) fn pass(&mut self, slot: u32, now: Instant, frame_bytes: u32) -> bool {
        let Tracks { tracks, forms, .. } = &mut self.tracks;
        tracks[slot].pass(forms, now, frame_bytes)
    }

    /// Counts a frame that has gone a track to its end for the entries that the track does not count
    /// for.
    #[cold]
    pub(super) fn count_beside(&mut self, slot: u32, now: Instant, frame_bytes: u32) {
        let (track, way) = self.laid(slot);
        for stage in (0..track.stages.into()).filter(|&stage| !track.counts_at(stage)) {
            self.count_stage(way, stage, now, frame_bytes);
        }
    }

    /// Counts a frame for the entry of one stage.
    pub(super) fn count_stage(&mut self, way: Way, stage: usize, now: Instant, frame_bytes: u32) {
        let state = &mut self.states[usize::from(way.states[stage])];
        state.count(Some(way.slots[stage]), now, frame_bytes);
    }

    /// Lays the track of a slot.
    pub(super) fn lay_track(
        &mut self,
        slot: u32,
        around: &Surroundings<impl Fn(u32) -> Option<usize>, impl Fn(u32) -> bool>,
    ) {
        self.tracks.settle(slot, &mut self.states);
        let laid = Track::lay(self, slot, self.tracks.generation, around);
        self.tracks.lay(slot, laid, &mut self.states);
    }
}
