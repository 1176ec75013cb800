//! The fast path: a frame on a cached path does what the slow path would do, with one look-up.
//!
//! Most frames need nothing but the path, the monitor, the meter and the port. This case is inlined into
//! the caller. Any other (the mode changes, a meter refuses, the port is closed) is rebuilt from the
//! hops of the path, as if the frame had come so far on the slow path.

use super::cached_path::Record;
use super::compile::CompileInputs;
use super::store::Current;
use crate::switch::actions::displace::{Refused, report_refused};
use crate::switch::actions::group::Liveness;
use crate::switch::attendre::Attendre;
use crate::switch::classifier::ethernet_key::EthernetKey;
use crate::switch::classifier::key::PacketKey;
use crate::switch::monitor::Observation;
use crate::switch::pipeline::executor::Executor;
use crate::switch::pipeline::{LookUp, PacketContext, bits_metered, bits_of};
use crate::switch::{Switch, SwitchEvent};
use crate::{DropReason, Effects, FRAME_CAPACITY, FrameId, Frames, Queued, Work};
use tenuto_openflow::constants::config_flag;
use tenuto_units::Instant;
use tenuto_wire::{EtherType, frame_bytes};

/// The slot of a frame that no entry of the first table matches.
const NO_SLOT: u32 = u32::MAX;

/// A frame that has entered, and the entry of the first table that it matches.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct ClassifiedFrame {
    pub(in crate::switch) arrival: Instant,
    pub(in crate::switch) frame: FrameId,
    /// With FCS.
    pub(in crate::switch) frame_bytes: u32,
    /// The place of the port.
    place: u32,
    /// The entry that it matches, if any.
    pub(in crate::switch) slot: u32,
    pub(in crate::switch) probes: u32,
}

impl ClassifiedFrame {
    /// Not looked up yet.
    #[inline]
    pub(in crate::switch) const fn new(arrival: Instant, frame: FrameId) -> Self {
        Self { arrival, frame, frame_bytes: 0, place: 0, slot: NO_SLOT, probes: 0 }
    }

    /// The place of the port that it entered by.
    #[inline]
    pub(in crate::switch) const fn place(&self) -> usize {
        self.place as usize
    }

    /// The look-up of the first table.
    fn looked_up(&self) -> LookUp {
        ((self.slot != NO_SLOT).then_some(self.slot), self.probes)
    }
}

/// Where a cached path ends.
#[derive(Clone, Copy)]
struct PathEnd {
    place: u16,
    queue: u8,
    cookie: u64,
}

impl Switch {
    /// Whether frames that enter at a place may follow cached paths now. Frames of a dry run, and frames of a
    /// general switch that asks more than its tables, take the slow path.
    #[inline]
    pub(in crate::switch) fn has_paths(&self, place: usize) -> bool {
        self.trace.is_none() && (!self.policy.is_general() || self.asks_tables_only(place))
    }

    /// Whether a general switch handles every frame that enters at a place by its tables alone.
    #[inline(never)]
    fn asks_tables_only(&self, place: usize) -> bool {
        let Some(general) = &self.general else { return true };
        let keeps = general.attendre.as_ref().is_some_and(Attendre::is_keeping);
        let drops = general.flags & config_flag::FRAG_DROP != 0;
        !keeps && !drops && !self.ports[place].takes_nothing() && !self.is_standalone()
    }

    /// Looks up a frame that entered at a place; `None` if it is for the switch itself, or cannot be
    /// read, or the switch has no table.
    #[inline(always)]
    pub(in crate::switch) fn look_first(
        &self,
        (place, in_port): (usize, u32),
        ClassifiedFrame { arrival, frame, .. }: ClassifiedFrame,
        frames: &impl Frames,
    ) -> Option<ClassifiedFrame> {
        let bytes = frames.bytes(frame);
        let first = self.tables.first()?;
        let (slot, probes) = if first.asks_ethernet()
            && bytes.len() <= FRAME_CAPACITY
            && let Some(key) = EthernetKey::read(bytes, in_port)
            && is_ordinary(key.eth_type())
        {
            first.look_up_ethernet(&key)
        } else {
            self.look_first_closely(bytes, in_port)?
        };
        #[allow(clippy::cast_possible_truncation)] // ports are fewer than their numbers
        let place = place as u32;
        let frame_bytes = frame_bytes(bytes.len());
        let slot = slot.unwrap_or(NO_SLOT);
        Some(ClassifiedFrame { arrival, frame, frame_bytes, place, slot, probes })
    }

    /// The first look-up of a frame whose Ethernet header does not decide it.
    #[inline(never)]
    fn look_first_closely(&self, bytes: &[u8], in_port: u32) -> Option<LookUp> {
        let mut key = PacketKey::default();
        let is_whole = self.read_key(bytes, in_port, &mut key);
        let is_for_tables = is_whole && is_ordinary(key.eth_type());
        Some(self.tables.first().filter(|_| is_for_tables)?.look_up(&key))
    }

    /// Reads something of what a frame is about to meet on its path, so that it is near when it is
    /// needed.
    #[inline(always)]
    pub(in crate::switch) fn touch(&self, it: ClassifiedFrame) -> u64 {
        let Some(Record { path, monitor }) = self.tables.record_near(it.slot) else { return 0 };
        let watched = if path.has_monitor() { monitor.touch() } else { 0 };
        path.cookie ^ watched
    }

    /// Handles a frame that is looked up.
    #[inline(always)]
    pub(in crate::switch) fn process_entered(
        &mut self,
        now: Instant,
        it: ClassifiedFrame,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let counters = &mut self.ports[it.place as usize].counters;
        counters.received += 1;
        counters.received_bytes += u64::from(it.frame_bytes);
        self.follow(now, it, frames, fx)
    }

    /// Follows the path that begins with what was found, if there is one.
    #[inline(always)]
    fn follow(
        &mut self,
        now: Instant,
        it: ClassifiedFrame,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let Self { tables, config, .. } = self;
        let ClassifiedFrame { arrival, frame, frame_bytes, probes, .. } = it;
        let current = tables.current_path(it.slot, (self.level, self.admitted));
        let Some(Current { record: Record { path, monitor }, sequences, store, hops }) = current
        else {
            return self.compile_and_follow(now, it, frames, fx);
        };
        // A frame never goes back to where it came from.
        if !path.is_fixed() || u32::from(path.place) == it.place {
            return self.walk_entered(now, it, frames, fx);
        }
        if path.is_apart() {
            return self.follow_apart(now, it, frames, fx);
        }
        if path.has_monitor() {
            let seen = monitor.see(arrival, frames.bytes(frame), frame_bytes);
            if seen.begins
                && let Some(more) = monitor.begin()
            {
                store.add_messages(hops[it.slot].monitor, more);
            }
            if seen.wanted > 0 {
                return self.note_and_follow(now, it, seen, frames, fx);
            }
        }
        if path.has_meter() && !path.bucket.conforms(arrival, bits_metered(config, frame_bytes)) {
            self.tables.count_refused(it.slot, frame_bytes);
            return self.police(now, it, frames, fx);
        }
        let work = path.work(probes, frame_bytes);
        let counts_all = path.pass(sequences, now, frame_bytes);
        let end = PathEnd { place: path.place, queue: path.queue, cookie: path.cookie };
        // There is no place of this number where there are several.
        if usize::from(end.place) >= self.ports.len() {
            return self.end_in_several((now, counts_all), it, frames, fx);
        }
        self.end(now, it, (end, counts_all), frames, fx);
        work
    }

    /// Queues a frame where its path ends, and counts it for entries that the path does not count
    /// for.
    #[inline(always)]
    fn end(
        &mut self,
        now: Instant,
        it: ClassifiedFrame,
        (end, counts_all): (PathEnd, bool),
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let port = &mut self.ports[usize::from(end.place)];
        if port.is_closed() {
            self.end_at_closed(now, it, frames, fx);
        } else {
            let (frame, wire_bits) = (it.frame, bits_of(it.frame_bytes));
            // The hold on the frame goes with it.
            let queued = Queued { frame, wire_bits, cookie: end.cookie, since: now };
            if port.enqueue(end.queue, queued, frames, fx).is_err() {
                self.refuse(it, queued, frames, fx);
            }
        }
        if !counts_all {
            self.tables.count_beside(it.slot, now, it.frame_bytes);
        }
    }

    /// Compiles the path where there is none for this mode, and runs it. A frame that matches nothing
    /// takes the slow path.
    #[cold]
    #[inline(never)]
    fn compile_and_follow(
        &mut self,
        now: Instant,
        it: ClassifiedFrame,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        if it.slot == NO_SLOT {
            return self.walk_entered(now, it, frames, fx);
        }
        let Self { groups, ports, port_index, .. } = self;
        let inputs = CompileInputs {
            mode: (self.level, self.admitted),
            live: Liveness { groups, ports, index: port_index },
            counts: self.general.as_ref().map(|general| &general.groups),
            copies_max: self.policy.copies_max,
        };
        self.tables.compile_path(it.slot, &inputs);
        self.follow(now, it, frames, fx)
    }

    /// The slow path, with the first look-up made.
    #[cold]
    #[inline(never)]
    fn walk_entered(
        &mut self,
        now: Instant,
        it: ClassifiedFrame,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let mut packet = self.packet_context(now, it);
        self.read_key(frames.bytes(it.frame), packet.in_port, &mut packet.key);
        let first = Some(it.looked_up());
        let reason = self.walk_with(first, &mut packet, frames, fx);
        self.finish(reason, &packet, frames, fx);
        packet.work
    }

    /// Runs a path that meter and monitor are not lent to: both are found by number.
    #[inline(never)]
    fn follow_apart(
        &mut self,
        now: Instant,
        it: ClassifiedFrame,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let (path, hops) = self.tables.compiled(it.slot);
        if path.has_monitor()
            && let Some(monitor) = self.tables.monitor_mut(hops.monitor)
        {
            let wanted = monitor.see(it.arrival, frames.bytes(it.frame), it.frame_bytes);
            if wanted > 0 {
                return self.ask_and_follow(now, it, wanted, frames, fx);
            }
        }
        self.follow_behind_monitor(now, it, frames, fx)
    }

    /// A monitor that is lent to a cached path has seen a frame that asks for more than the start level.
    #[cold]
    #[inline(never)]
    fn note_and_follow(
        &mut self,
        now: Instant,
        it: ClassifiedFrame,
        seen: Observation,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        if seen.violates {
            self.tables.count_violation(it.slot);
        }
        self.ask_and_follow(now, it, seen.wanted, frames, fx)
    }

    /// The monitor of a cached path has seen a frame that asks for more than the start level: for another
    /// mode, perhaps, in which the frame goes on.
    #[cold]
    #[inline(never)]
    fn ask_and_follow(
        &mut self,
        now: Instant,
        it: ClassifiedFrame,
        wanted: u8,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let (path, hops) = self.tables.compiled(it.slot);
        self.ask_for(wanted, hops.monitor, (now, it.arrival), frames, fx);
        let is_in_mode = path.is_in((self.level, self.admitted));
        if !is_in_mode && hops.monitor_stage + 1 < path.stages {
            return self.leave(now, it, frames, fx);
        }
        self.follow_behind_monitor(now, it, frames, fx)
    }

    /// The rest of a cached path, from its meter on.
    fn follow_behind_monitor(
        &mut self,
        now: Instant,
        it: ClassifiedFrame,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let (path, _) = self.tables.compiled(it.slot);
        let bits = bits_metered(&self.config, it.frame_bytes);
        if path.has_meter() && !self.tables.passes(it.slot, it.arrival, bits, it.frame_bytes) {
            return self.police(now, it, frames, fx);
        }
        let counts_all = self.tables.pass(it.slot, now, it.frame_bytes);
        if path.ends_in_several() {
            return self.end_in_several((now, counts_all), it, frames, fx);
        }
        let end = PathEnd { place: path.place, queue: path.queue, cookie: path.cookie };
        self.end(now, it, (end, counts_all), frames, fx);
        path.work(it.probes, it.frame_bytes)
    }

    /// The port at the end of a cached path has no room for a frame.
    #[cold]
    #[inline(never)]
    fn refuse(
        &mut self,
        it: ClassifiedFrame,
        queued: Queued,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let (path, _) = self.tables.compiled(it.slot);
        let (entered, place) = (Some(it.place()), usize::from(path.place));
        let refused = Refused { entered, place, frame_bytes: it.frame_bytes };
        report_refused(&mut self.ports, refused, queued, frames, fx);
        frames.release(it.frame);
    }

    /// The port at the end of a cached path is closed: a frame that went all the way goes nowhere.
    #[cold]
    #[inline(never)]
    fn end_at_closed(
        &mut self,
        now: Instant,
        it: ClassifiedFrame,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let (path, _) = self.tables.compiled(it.slot);
        let (reason, packet) = self.end_nowhere(now, it);
        self.ports[usize::from(path.place)].counters.not_sent += 1;
        self.finish(Some(reason), &packet, frames, fx);
    }

    /// Why a frame that went all the way is dropped if it has gone nowhere.
    pub(in crate::switch) fn end_nowhere(
        &self,
        now: Instant,
        it: ClassifiedFrame,
    ) -> (DropReason, PacketContext) {
        let (path, hops) = self.tables.compiled(it.slot);
        let last = usize::from(path.stages) - 1;
        let mut packet = self.packet_context(now, it);
        packet.cookie = hops.cookies[last];
        let outside = path.level_of(hops.tables[last]) > 0 && packet.cookie != 0;
        let reason = if outside { DropReason::OutOfMode } else { DropReason::NoOutput };
        (reason, packet)
    }

    /// The meter of a cached path lets a frame go no further.
    #[inline(never)]
    fn police(
        &mut self,
        now: Instant,
        it: ClassifiedFrame,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let (path, hops) = self.tables.compiled(it.slot);
        let mut packet = self.come_through(now, it, hops.meter_stage + 1);
        let before = &hops.actions[..hops.meter_stage.into()];
        packet.work.actions = before.iter().copied().map(u32::from).sum();
        packet.work.monitors = u32::from(path.has_monitor());
        self.finish(Some(DropReason::Policed), &packet, frames, fx);
        packet.work
    }

    /// The mode is another than that of the path: behind its monitor the frame walks on by the new
    /// rules.
    #[cold]
    #[inline(never)]
    fn leave(
        &mut self,
        now: Instant,
        it: ClassifiedFrame,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let (_, hops) = self.tables.compiled(it.slot);
        let next = usize::from(hops.monitor_stage) + 1;
        let mut packet = self.come_through(now, it, hops.monitor_stage + 1);
        packet.work.actions = hops.actions[..next].iter().copied().map(u32::from).sum();
        packet.work.monitors = 1;
        self.read_key(frames.bytes(it.frame), packet.in_port, &mut packet.key);
        self.clear_set();
        let reason = Executor::new(self, &mut packet, frames, fx).run_from(hops.tables[next]);
        self.finish(reason, &packet, frames, fx);
        packet.work
    }

    /// A frame that has gone through so many tables of a cached path, their entries counted.
    fn come_through(&mut self, now: Instant, it: ClassifiedFrame, tables: u8) -> PacketContext {
        let (_, hops) = self.tables.compiled(it.slot);
        let mut packet = self.packet_context(now, it);
        packet.work.lookups = u32::from(tables);
        packet.work.probes = it.probes;
        for stage in 0..usize::from(tables) {
            packet.work.probes += u32::from(hops.probes[stage]);
            packet.cookie = hops.cookies[stage];
            self.tables.count_stage(hops, stage, now, it.frame_bytes);
        }
        packet
    }

    /// A frame that is on its way by itself from here on; its key is not read.
    pub(in crate::switch) fn packet_context(
        &self,
        now: Instant,
        it: ClassifiedFrame,
    ) -> PacketContext {
        let place = it.place as usize;
        let port = (Some(place), self.ports[place].number);
        PacketContext::new((now, it.arrival), port, it.frame, it.frame_bytes)
    }
}

/// Whether a frame is looked up: signals and commands are for the switch itself.
#[inline]
const fn is_ordinary(eth_type: u16) -> bool {
    eth_type & !1 != EtherType::MODE_SIGNAL.0
}
