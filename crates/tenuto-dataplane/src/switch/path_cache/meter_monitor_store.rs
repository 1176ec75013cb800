//! Meters and monitors by number, and where the state of each is.
//!
//! A frame of a virtual link needs its path, its meter and its monitor, and has to wait for every
//! line of cache that they lie on. So the state of a meter or monitor that one path alone leads past is
//! *lent* to that path while it is compiled: what a frame writes then lies side by side. Whoever asks by
//! number is told what is lent as well; whoever changes something, or lets another frame be
//! judged, has it *recalled* first. State is in one place at any time, and the meter or monitor knows
//! in which.

use super::cached_path::{PathHops, Record};
use crate::switch::meter::{BandEffect, Bucket, MeterState};
use crate::switch::monitor::MonitorState;
use crate::switch::tables::chunks::Chunks;
use std::borrow::Cow;

/// Lent to no path.
pub(in crate::switch) const NOT_LENT: u32 = u32::MAX;

/// Records of cached paths, by slot of the first table.
pub(in crate::switch) type Records = Chunks<Record>;

/// A meter or a monitor.
pub(in crate::switch) trait Lendable: Clone {
    /// The path that its state is lent to.
    fn lent_to(&self) -> u32;

    /// The path that its state is lent to, to change.
    fn lent(&mut self) -> &mut u32;

    /// Takes over what that path has of it.
    fn take_in(&mut self, record: &Record);
}

/// Meters and monitors by number.
#[derive(Clone, Debug, Default)]
pub(in crate::switch) struct MeterMonitorStore {
    meters: Vec<Option<MeterState>>,
    monitors: Vec<Option<MonitorState>>,
}

impl MeterMonitorStore {
    /// Meters as they are now.
    pub(in crate::switch) fn meters<'a>(
        &'a self,
        records: &'a Records,
    ) -> impl Iterator<Item = (u32, Cow<'a, MeterState>)> {
        whole(&self.meters, records)
    }

    /// Monitors as they are now.
    pub(in crate::switch) fn monitors<'a>(
        &'a self,
        records: &'a Records,
    ) -> impl Iterator<Item = (u32, Cow<'a, MonitorState>)> {
        whole(&self.monitors, records)
    }

    /// A meter as it is now.
    pub(in crate::switch) fn meter_now<'a>(
        &'a self,
        id: u32,
        records: &'a Records,
    ) -> Option<Cow<'a, MeterState>> {
        self.meter(id).map(|meter| as_now(meter, records))
    }

    /// A meter without what is lent of it.
    pub(in crate::switch) fn meter(&self, id: u32) -> Option<&MeterState> {
        self.meters.get(id as usize)?.as_ref()
    }

    /// A monitor without what is lent of it.
    pub(in crate::switch) fn monitor(&self, id: u32) -> Option<&MonitorState> {
        self.monitors.get(id as usize)?.as_ref()
    }

    /// The part of a monitor that is never lent, to change.
    pub(in crate::switch) fn monitor_beside(&mut self, id: u32) -> Option<&mut MonitorState> {
        self.monitors.get_mut(id as usize)?.as_mut()
    }

    /// A meter, all of it.
    #[inline]
    pub(in crate::switch) fn meter_mut(
        &mut self,
        id: u32,
        records: &mut Records,
    ) -> Option<&mut MeterState> {
        recalled(&mut self.meters, id, records)
    }

    /// A monitor, all of it.
    #[inline]
    pub(in crate::switch) fn monitor_mut(
        &mut self,
        id: u32,
        records: &mut Records,
    ) -> Option<&mut MonitorState> {
        recalled(&mut self.monitors, id, records)
    }

    /// The place of a meter that is to come, change or go; the path that it was lent to is compiled anew.
    pub(in crate::switch) fn meter_place(
        &mut self,
        id: u32,
        records: &mut Records,
    ) -> &mut Option<MeterState> {
        place(&mut self.meters, id, records)
    }

    /// The place of a monitor that is to come or go; the path that it was lent to is compiled anew.
    pub(in crate::switch) fn monitor_place(
        &mut self,
        id: u32,
        records: &mut Records,
    ) -> &mut Option<MonitorState> {
        place(&mut self.monitors, id, records)
    }

    /// The numbers of all places of meters.
    pub(in crate::switch) fn meter_ids(&self) -> std::ops::Range<u32> {
        0..u32::try_from(self.meters.len()).unwrap_or(u32::MAX)
    }

    /// Lends a cached path that was just compiled what it leads past. If something else leads past it as well, or
    /// there is no room for such a thing on a cached path, frames ask for it by number.
    pub(in crate::switch) fn lend(
        &mut self,
        slot: u32,
        hops: &PathHops,
        generation: u32,
        records: &mut Records,
    ) {
        let Record { path, monitor: line } = records[slot];
        let is_free = |lent: u32, records: &Records| match records.get(lent) {
            Some(other) => !other.path.is_compiled_in(generation),
            None => true,
        };
        let meter = self.meters.get(hops.meter as usize).and_then(Option::as_ref);
        let bucket = meter.filter(|it| is_free(it.lent, records)).and_then(MeterState::bucket);
        let monitor = self.monitors.get(hops.monitor as usize).and_then(Option::as_ref);
        let can_watch = monitor.is_some_and(|it| is_free(it.lent, records) && it.is_narrow());
        if path.has_meter() && bucket.is_none() || path.has_monitor() && !can_watch {
            return records[slot].path.part();
        }
        let mut lent = Record { path, monitor: line };
        if path.has_meter()
            && let Some(meter) = self.meter_mut(hops.meter, records)
        {
            // Recalled only now, so that it is whole.
            lent.path.bucket = meter.bucket().unwrap_or(Bucket::NONE);
            meter.lent = slot;
        }
        if path.has_monitor()
            && let Some(monitor) = self.monitor_mut(hops.monitor, records)
        {
            lent.monitor = *monitor.line();
            monitor.lent = slot;
        }
        records[slot] = lent;
    }

    /// What was lent to a cached path is taken back.
    pub(in crate::switch) fn take_back(
        &mut self,
        slot: u32,
        hops: &PathHops,
        records: &mut Records,
    ) {
        if self.meter(hops.meter).is_some_and(|meter| meter.lent == slot) {
            self.meter_mut(hops.meter, records);
        }
        if self.monitor(hops.monitor).is_some_and(|monitor| monitor.lent == slot) {
            self.monitor_mut(hops.monitor, records);
        }
    }

    /// A meter has lent a cached path its bucket, and that did not hold a frame.
    #[cold]
    pub(in crate::switch) fn count_refused(&mut self, id: u32, frame_bytes: u32) {
        if let Some(Some(meter)) = self.meters.get_mut(id as usize) {
            meter.seen.add(frame_bytes);
            let effect = meter.apply(0, frame_bytes);
            debug_assert_eq!(effect, BandEffect::Drop, "others are not lent");
        }
    }

    /// Messages of a lent monitor that its line has not room for.
    #[cold]
    pub(in crate::switch) fn add_messages(&mut self, id: u32, more: u64) {
        if let Some(monitor) = self.monitor_beside(id) {
            monitor.add_messages(more);
        }
    }

    /// A message has violated a contract that is lent to a cached path.
    #[cold]
    pub(in crate::switch) fn count_violation(&mut self, id: u32) {
        if let Some(monitor) = self.monitor_beside(id) {
            monitor.violations += 1;
        }
    }
}

/// All that there are, as they are now.
fn whole<'a, G: Lendable>(
    all: &'a [Option<G>],
    records: &'a Records,
) -> impl Iterator<Item = (u32, Cow<'a, G>)> {
    let there = (0u32..).zip(all).filter_map(|(id, lendable)| Some((id, lendable.as_ref()?)));
    there.map(|(id, lendable)| (id, as_now(lendable, records)))
}

/// One with what it has lent.
fn as_now<'a, G: Lendable>(lendable: &'a G, records: &'a Records) -> Cow<'a, G> {
    let Some(record) = records.get(lendable.lent_to()) else { return Cow::Borrowed(lendable) };
    let mut lendable = lendable.clone();
    lendable.take_in(record);
    *lendable.lent() = NOT_LENT;
    Cow::Owned(lendable)
}

#[inline]
fn recalled<'a, G: Lendable>(
    all: &'a mut [Option<G>],
    id: u32,
    records: &mut Records,
) -> Option<&'a mut G> {
    let lendable = all.get_mut(id as usize)?.as_mut()?;
    if lendable.lent_to() != NOT_LENT {
        recall(lendable, records);
    }
    Some(lendable)
}

fn place<'a, G: Lendable>(
    all: &'a mut Vec<Option<G>>,
    id: u32,
    records: &mut Records,
) -> &'a mut Option<G> {
    let id = id as usize;
    if all.len() <= id {
        all.resize(id + 1, None);
    }
    if let Some(lendable) = &mut all[id] {
        let record = records.get_mut(lendable.lent_to());
        record.into_iter().for_each(|record| record.path.make_void());
        recall(lendable, records);
    }
    &mut all[id]
}

#[cold]
fn recall<G: Lendable>(lendable: &mut G, records: &mut Records) {
    if let Some(record) = records.get_mut(lendable.lent_to()) {
        lendable.take_in(record);
        record.path.part();
    }
    *lendable.lent() = NOT_LENT;
}
