//! Meters and monitors by number, and where the state of each is.
//!
//! A frame of a virtual link needs its track, its meter and its monitor, and has to wait for every
//! line of cache that they lie on. So the state of a meter or monitor that one track alone leads past is
//! *lent* to that track while it is laid: what a frame writes then lies side by side. Whoever asks by
//! number is told what is lent as well; whoever changes something, or lets another frame be
//! judged, has it *recalled* first. State is in one place at any time, and the meter or monitor knows
//! in which.

use super::chunks::Chunks;
use super::meter::{BandEffect, Bucket, MeterState};
use super::monitor::MonitorState;
use super::track::{Record, Way};
use std::borrow::Cow;

/// Lent to no track.
pub(super) const NOT_LENT: u32 = u32::MAX;

/// Records of tracks, by slot of the first table.
pub(super) type Records = Chunks<Record>;

/// A meter or a monitor.
pub(super) trait Guard: Clone {
    /// The track that its state is lent to.
    fn lent_to(&self) -> u32;

    /// The same, to change.
    fn lent(&mut self) -> &mut u32;

    /// Takes over what that track has of it.
    fn take_in(&mut self, record: &Record);
}

/// Meters and monitors by number.
#[derive(Clone, Debug, Default)]
pub(super) struct Guards {
    meters: Vec<Option<MeterState>>,
    monitors: Vec<Option<MonitorState>>,
}

impl Guards {
    /// Meters as they are now.
    pub(super) fn meters<'a>(
        &'a self,
        records: &'a Records,
    ) -> impl Iterator<Item = (u32, Cow<'a, MeterState>)> {
        whole(&self.meters, records)
    }

    /// Monitors as they are now.
    pub(super) fn monitors<'a>(
        &'a self,
        records: &'a Records,
    ) -> impl Iterator<Item = (u32, Cow<'a, MonitorState>)> {
        whole(&self.monitors, records)
    }

    /// A meter as it is now.
    pub(super) fn meter_now<'a>(
        &'a self,
        id: u32,
        records: &'a Records,
    ) -> Option<Cow<'a, MeterState>> {
        self.meter(id).map(|meter| as_now(meter, records))
    }

    /// A meter without what is lent of it.
    pub(super) fn meter(&self, id: u32) -> Option<&MeterState> {
        self.meters.get(id as usize)?.as_ref()
    }

    /// A monitor without what is lent of it.
    pub(super) fn monitor(&self, id: u32) -> Option<&MonitorState> {
        self.monitors.get(id as usize)?.as_ref()
    }

    /// The same, to change what is never lent.
    pub(super) fn monitor_beside(&mut self, id: u32) -> Option<&mut MonitorState> {
        self.monitors.get_mut(id as usize)?.as_mut()
    }

    /// A meter, all of it.
    #[inline]
    pub(super) fn meter_mut(&mut self, id: u32, records: &mut Records) -> Option<&mut MeterState> {
        recalled(&mut self.meters, id, records)
    }

    /// A monitor, all of it.
    #[inline]
    pub(super) fn monitor_mut(
        &mut self,
        id: u32,
        records: &mut Records,
    ) -> Option<&mut MonitorState> {
        recalled(&mut self.monitors, id, records)
    }

    /// The place of a meter that is to come, change or go; the track that it was lent to is laid anew.
    pub(super) fn meter_place(
        &mut self,
        id: u32,
        records: &mut Records,
    ) -> &mut Option<MeterState> {
        place(&mut self.meters, id, records)
    }

    /// The same of a monitor.
    pub(super) fn monitor_place(
        &mut self,
        id: u32,
        records: &mut Records,
    ) -> &mut Option<MonitorState> {
        place(&mut self.monitors, id, records)
    }

    /// The numbers of all places of meters.
    pub(super) fn meter_ids(&self) -> std::ops::Range<u32> {
        0..u32::try_from(self.meters.len()).unwrap_or(u32::MAX)
    }

    /// Lends a track that was just laid what it leads past. If something else leads past it as well, or
    /// there is no room for such a thing on a track, frames ask for it by number.
    pub(super) fn lend(&mut self, slot: u32, way: &Way, generation: u32, records: &mut Records) {
        let Record { track, monitor: line } = records[slot];
        let is_free = |lent: u32, records: &Records| match records.get(lent) {
            Some(other) => !other.track.is_laid_in(generation),
            None => true,
        };
        let meter = self.meters.get(way.meter as usize).and_then(Option::as_ref);
        let bucket = meter.filter(|it| is_free(it.lent, records)).and_then(MeterState::bucket);
        let monitor = self.monitors.get(way.monitor as usize).and_then(Option::as_ref);
        let can_watch = monitor.is_some_and(|it| is_free(it.lent, records) && it.is_narrow());
        if track.has_meter() && bucket.is_none() || track.has_monitor() && !can_watch {
            return records[slot].track.part();
        }
        let mut lent = Record { track, monitor: line };
        if track.has_meter()
            && let Some(meter) = self.meter_mut(way.meter, records)
        {
            // Recalled only now, so that it is whole.
            lent.track.bucket = meter.bucket().unwrap_or(Bucket::NONE);
            meter.lent = slot;
        }
        if track.has_monitor()
            && let Some(monitor) = self.monitor_mut(way.monitor, records)
        {
            lent.monitor = *monitor.line();
            monitor.lent = slot;
        }
        records[slot] = lent;
    }

    /// What was lent to a track is taken back.
    pub(super) fn take_back(&mut self, slot: u32, way: &Way, records: &mut Records) {
        if self.meter(way.meter).is_some_and(|meter| meter.lent == slot) {
            self.meter_mut(way.meter, records);
        }
        if self.monitor(way.monitor).is_some_and(|monitor| monitor.lent == slot) {
            self.monitor_mut(way.monitor, records);
        }
    }

    /// A meter has lent a track its bucket, and that did not hold a frame.
    #[cold]
    pub(super) fn count_refused(&mut self, id: u32, frame_bytes: u32) {
        if let Some(Some(meter)) = self.meters.get_mut(id as usize) {
            meter.seen.add(frame_bytes);
            let effect = meter.apply(0, frame_bytes);
            debug_assert_eq!(effect, BandEffect::Drop, "others are not lent");
        }
    }

    /// Messages of a lent monitor that its line has not room for.
    #[cold]
    pub(super) fn add_messages(&mut self, id: u32, more: u64) {
        if let Some(monitor) = self.monitor_beside(id) {
            monitor.add_messages(more);
        }
    }

    /// A message has violated a contract that is lent to a track.
    #[cold]
    pub(super) fn count_violation(&mut self, id: u32) {
        if let Some(monitor) = self.monitor_beside(id) {
            monitor.violations += 1;
        }
    }
}

/// All that there are, as they are now.
fn whole<'a, G: Guard>(
    all: &'a [Option<G>],
    records: &'a Records,
) -> impl Iterator<Item = (u32, Cow<'a, G>)> {
    let there = (0u32..).zip(all).filter_map(|(id, guard)| Some((id, guard.as_ref()?)));
    there.map(|(id, guard)| (id, as_now(guard, records)))
}

/// One with what it has lent.
fn as_now<'a, G: Guard>(guard: &'a G, records: &'a Records) -> Cow<'a, G> {
    let Some(record) = records.get(guard.lent_to()) else { return Cow::Borrowed(guard) };
    let mut guard = guard.clone();
    guard.take_in(record);
    *guard.lent() = NOT_LENT;
    Cow::Owned(guard)
}

#[inline]
fn recalled<'a, G: Guard>(
    all: &'a mut [Option<G>],
    id: u32,
    records: &mut Records,
) -> Option<&'a mut G> {
    let guard = all.get_mut(id as usize)?.as_mut()?;
    if guard.lent_to() != NOT_LENT {
        recall(guard, records);
    }
    Some(guard)
}

fn place<'a, G: Guard>(
    all: &'a mut Vec<Option<G>>,
    id: u32,
    records: &mut Records,
) -> &'a mut Option<G> {
    let id = id as usize;
    if all.len() <= id {
        all.resize(id + 1, None);
    }
    if let Some(guard) = &mut all[id] {
        let record = records.get_mut(guard.lent_to());
        record.into_iter().for_each(|record| record.track.make_void());
        recall(guard, records);
    }
    &mut all[id]
}

#[cold]
fn recall<G: Guard>(guard: &mut G, records: &mut Records) {
    if let Some(record) = records.get_mut(guard.lent_to()) {
        guard.take_in(record);
        record.track.part();
    }
    *guard.lent() = NOT_LENT;
}
