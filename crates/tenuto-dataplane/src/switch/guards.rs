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
        let all = (0u32..).zip(&self.meters);
        all.filter_map(move |(id, meter)| {
            let meter = meter.as_ref()?;
            let record = records.get(meter.lent);
            Some((id, record.map_or(Cow::Borrowed(meter), |it| Cow::Owned(meter.with(it)))))
        })
    }

    /// Monitors as they are now.
    pub(super) fn monitors<'a>(
        &'a self,
        records: &'a Records,
    ) -> impl Iterator<Item = (u32, Cow<'a, MonitorState>)> {
        let all = (0u32..).zip(&self.monitors);
        all.filter_map(move |(id, monitor)| {
            let monitor = monitor.as_ref()?;
            let record = records.get(monitor.lent);
            Some((id, record.map_or(Cow::Borrowed(monitor), |it| Cow::Owned(monitor.with(it)))))
        })
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
        let meter = self.meters.get_mut(id as usize)?.as_mut()?;
        if meter.lent != NOT_LENT {
            recall_meter(meter, records);
        }
        Some(meter)
    }

    /// A monitor, all of it.
    #[inline]
    pub(super) fn monitor_mut(
        &mut self,
        id: u32,
        records: &mut Records,
    ) -> Option<&mut MonitorState> {
        let monitor = self.monitors.get_mut(id as usize)?.as_mut()?;
        if monitor.lent != NOT_LENT {
            recall_monitor(monitor, records);
        }
        Some(monitor)
    }

    /// The place of a meter that is to come, change or go; the track that it was lent to is laid anew.
    pub(super) fn meter_place(
        &mut self,
        id: u32,
        records: &mut Records,
    ) -> &mut Option<MeterState> {
        let place = place(&mut self.meters, id);
        if let Some(meter) = place {
            let record = records.get_mut(meter.lent);
            record.into_iter().for_each(|record| record.track.make_void());
            recall_meter(meter, records);
        }
        place
    }

    /// The same of a monitor.
    pub(super) fn monitor_place(
        &mut self,
        id: u32,
        records: &mut Records,
    ) -> &mut Option<MonitorState> {
        let place = place(&mut self.monitors, id);
        if let Some(monitor) = place {
            let record = records.get_mut(monitor.lent);
            record.into_iter().for_each(|record| record.track.make_void());
            recall_monitor(monitor, records);
        }
        place
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
        if let Some(Some(meter)) = self.meters.get_mut(way.meter as usize)
            && meter.lent == slot
        {
            recall_meter(meter, records);
        }
        if let Some(Some(monitor)) = self.monitors.get_mut(way.monitor as usize)
            && monitor.lent == slot
        {
            recall_monitor(monitor, records);
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

fn place<T: Clone>(all: &mut Vec<Option<T>>, id: u32) -> &mut Option<T> {
    let id = id as usize;
    if all.len() <= id {
        all.resize(id + 1, None);
    }
    &mut all[id]
}

#[cold]
fn recall_meter(meter: &mut MeterState, records: &mut Records) {
    if let Some(record) = records.get_mut(meter.lent) {
        meter.take_in(record);
        record.track.part();
    }
    meter.lent = NOT_LENT;
}

#[cold]
fn recall_monitor(monitor: &mut MonitorState, records: &mut Records) {
    if let Some(record) = records.get_mut(monitor.lent) {
        monitor.take_in(record);
        record.track.part();
    }
    monitor.lent = NOT_LENT;
}
