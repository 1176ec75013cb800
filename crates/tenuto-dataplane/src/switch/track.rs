//! The whole way of a frame, known from the first entry that it matches.
//!
//! Where the masks of all later tables ask for nothing that the first entry does not ask for, all
//! frames that match it take the same way: so virtual links do, which are told apart by the same
//! fields in every table. The way is laid down at the first such frame, in one line of cache, and
//! the others follow it: one look-up in place of three. Everything that is counted, watched and
//! metered on the walk is counted, watched and metered on the track, in the same order.
//!
//! A track is void as soon as an entry on it, or one that could be on it, comes, goes or changes
//! ([`Tables`] sees to it), and in any other mode; the next frame is then walked by the new rules
//! and lays another. So a frame costs at worst the walk, and the laying: as many look-ups again.

use super::Switch;
use super::SwitchEvent;
use super::entry::ActionStep;
use super::pipeline::{ActionSet, Passage};
use super::tables::{TABLE_WATCH, Tables};
use crate::{DropReason, Effects, Frames};
use tenuto_openflow::constants::port;

/// Tables of a track: watch, police, forward.
const STAGES: usize = 3;
/// No meter: `OFPM_ALL`, which names none. No monitor either.
const NO_ID: u32 = u32::MAX;
/// Not in any stage.
const NO_STAGE: u8 = u8::MAX;

/// The way of all frames that match an entry of the first table.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Track {
    cookie: u64,
    generation: u32,
    level: u8,
    admitted: u8,
    /// Tables that it leads through; none if frames have to be walked one by one.
    stages: u8,
    meter_stage: u8,
    monitor_stage: u8,
    tables: [u8; STAGES],
    /// Where the tables are, in their levels.
    states: [u16; STAGES],
    /// Probes of each look-up, but for the first, which is made.
    probes: [u8; STAGES],
    actions: [u8; STAGES],
    slots: [u32; STAGES],
    meter: u32,
    monitor: u32,
    queue: u32,
    /// Where it ends.
    place: u32,
}

impl Track {
    /// Not laid yet: no generation has this number.
    pub(super) const NONE: Self = Self {
        cookie: 0,
        generation: 0,
        level: 0,
        admitted: 0,
        stages: 0,
        meter_stage: NO_STAGE,
        monitor_stage: NO_STAGE,
        tables: [TABLE_WATCH; STAGES],
        states: [0; STAGES],
        probes: [0; STAGES],
        actions: [0; STAGES],
        slots: [0; STAGES],
        meter: NO_ID,
        monitor: NO_ID,
        queue: 0,
        place: 0,
    };

    /// Whether it was laid for this generation of the tables, and this mode.
    #[inline]
    pub(super) const fn is_of(&self, generation: u32, (level, admitted): (u8, u8)) -> bool {
        self.generation == generation && self.level == level && self.admitted == admitted
    }

    /// Whether there is one way for all frames.
    #[inline]
    pub(super) const fn is_fixed(&self) -> bool {
        self.stages > 0
    }

    /// Lays the track of the entry in a slot of the first table.
    #[cold]
    pub(super) fn lay(
        tables: &Tables,
        slot: u32,
        (generation, (level, admitted)): (u32, (u8, u8)),
        place: impl Fn(u32) -> Option<usize>,
    ) -> Self {
        let none = Self { generation, level, admitted, ..Self::NONE };
        let mut track = none;
        match track.lead_through(tables, slot, place) {
            Some(()) => track,
            None => none,
        }
    }

    /// Leads it from table to table; `None` if frames of the entry can differ, or do anything that
    /// a track has no place for.
    fn lead_through(
        &mut self,
        tables: &Tables,
        first: u32,
        place: impl Fn(u32) -> Option<usize>,
    ) -> Option<()> {
        let pattern = tables.get(0, TABLE_WATCH)?.table().entry(first).pattern;
        let (mut table, mut slot, mut probes) = (TABLE_WATCH, first, 0);
        for stage in 0..STAGES {
            let state = tables.get(self.level_of(table), table)?;
            let course = state.course(slot);
            if course.writes || stage > 0 && course.cookie != self.cookie {
                return None;
            }
            self.cookie = course.cookie;
            (self.tables[stage], self.slots[stage], self.probes[stage]) = (table, slot, probes);
            self.states[stage] = tables.state_of(self.level_of(table), table)?;
            self.stages = u8::try_from(stage + 1).ok()?;
            if let Some(meter) = course.meter() {
                self.set_meter(meter)?;
            }
            let mut end = None;
            self.actions[stage] = u8::try_from(course.steps()?).ok()?;
            for step in 0..course.steps()? {
                match course.step(step) {
                    _ if end.is_some() => return None,
                    ActionStep::SetQueue(queue) => self.queue = queue,
                    ActionStep::Monitor(id) => self.set_monitor(id)?,
                    // The numbers above are those of no port alone.
                    ActionStep::Output(number) if number <= port::MAX => {
                        end = Some(u32::try_from(place(number)?).ok()?);
                    }
                    _ => return None,
                }
            }
            match (end, course.goto()) {
                (Some(place), None) => {
                    self.place = place;
                    return Some(());
                }
                (None, Some(next)) => table = next,
                _ => return None,
            }
            let next = tables.get(self.level_of(table), table)?.table();
            if !next.tells_nothing_beyond(&pattern) {
                return None;
            }
            let (found, count) = next.look_up(&pattern.value);
            (slot, probes) = (found?, u8::try_from(count).ok()?);
        }
        None
    }

    const fn level_of(&self, table: u8) -> u8 {
        Tables::level_of(table, self.level, self.admitted)
    }

    /// There is room for one.
    fn set_meter(&mut self, meter: u32) -> Option<()> {
        let is_first = self.meter_stage == NO_STAGE;
        (self.meter, self.meter_stage) = (meter, self.stages - 1);
        is_first.then_some(())
    }

    /// There is room for one, which stands in front of all queues: what it sees may change the mode,
    /// and the frame then leaves the track with the queue that it came with.
    fn set_monitor(&mut self, monitor: u32) -> Option<()> {
        let is_first = self.monitor_stage == NO_STAGE && self.queue == 0;
        (self.monitor, self.monitor_stage) = (monitor, self.stages - 1);
        is_first.then_some(())
    }
}

impl Switch {
    /// The track of a frame that has matched an entry of the first table, if it has one.
    #[inline]
    pub(super) fn track_of(&mut self, first: u32, passage: &Passage) -> Option<Track> {
        let index = &self.port_index;
        let mode = (self.level, self.admitted);
        let track = self.tables.track(first, mode, |number| index.get(&number).copied());
        // A frame never goes back to where it came from.
        let leads = track.is_fixed() && passage.place != Some(track.place as usize);
        leads.then_some(*track)
    }

    /// Follows a track that begins with a look-up of so many probes; the reason if the frame goes
    /// nowhere.
    pub(super) fn follow(
        &mut self,
        track: &Track,
        probes: u32,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Option<DropReason> {
        passage.cookie = track.cookie;
        passage.work.probes += probes;
        passage.work.lookups += u32::from(track.stages);
        let stages = STAGES.min(track.stages.into());
        for stage in 0..stages {
            let (state, slot) = (track.states[stage], track.slots[stage]);
            self.tables.count(state, slot, passage.now, passage.frame_bytes);

            passage.work.probes += u32::from(track.probes[stage]);
            if usize::from(track.meter_stage) == stage
                && !self.meter_passes(track.meter, passage, frames)
            {
                passage.work.lookups -= u32::from(track.stages) - 1 - u32::from(track.meter_stage);
                return Some(DropReason::Policed);
            }
            passage.work.actions += u32::from(track.actions[stage]);
            if usize::from(track.monitor_stage) == stage {
                self.observe(track.monitor, passage, frames, fx);
                let is_in_mode = (self.level, self.admitted) == (track.level, track.admitted);
                if !is_in_mode && stage + 1 < stages {
                    passage.work.lookups -=
                        u32::from(track.stages) - 1 - u32::from(track.monitor_stage);
                    // On a track it has not been asked for since it was looked up.
                    let bytes = frames.bytes(passage.frame);
                    passage.key = self.key_of(bytes, passage.in_port).unwrap_or_default();
                    let (next, set) = (track.tables[stage + 1], ActionSet::default());
                    return self.walk_from(next, set, passage, frames, fx);
                }
            }
        }
        passage.queue = track.queue;
        self.send(track.place as usize, passage, frames, fx);
        if passage.outputs > 0 {
            return None;
        }
        let level = track.level_of(track.tables[stages - 1]);
        let outside = level > 0 && passage.cookie != 0;
        let reason = if outside { DropReason::OutOfMode } else { DropReason::NoOutput };
        Some(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_track_is_one_line_of_cache() {
        assert_eq!(size_of::<Track>(), 64);
    }
}
