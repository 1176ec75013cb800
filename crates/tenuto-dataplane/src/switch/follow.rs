//! A frame on a track: what the walk would do, without looking anything up again.
//!
//! Most frames need nothing but the track, the monitor, the meter and the port. That way is kept
//! short, and is compiled into whoever hands frames over. Whatever else can happen (the mode changes, a
//! meter refuses, the port is closed) is told from the entries that the track leads through, as if the
//! frame had walked so far.

use super::attendre::Attendre;
use super::displacing::displace;
use super::ethernet_key::EthernetKey;
use super::group::Liveness;
use super::key::PacketKey;
use super::laying::Surroundings;
use super::monitor::Observation;
use super::pipeline::{ActionSet, LookUp, Passage, bits_metered, message_of};
use super::track::Record;
use super::tracks::Current;
use super::{Switch, SwitchEvent};
use crate::{DropReason, Dropped, Effects, FRAME_CAPACITY, FrameId, Frames, Queued, Work};
use tenuto_openflow::constants::config_flag;
use tenuto_units::{Instant, wire_bits};
use tenuto_wire::{EtherType, frame_bytes};

/// The slot of a frame that no entry of the first table matches.
const NO_SLOT: u32 = u32::MAX;

/// A frame that has come in, and what is there for it in the first table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entered {
    pub(super) arrival: Instant,
    pub(super) frame: FrameId,
    /// With FCS.
    pub(super) frame_bytes: u32,
    /// The place of the port.
    place: u32,
    /// The entry that it matches, if any.
    pub(super) slot: u32,
    pub(super) probes: u32,
}

impl Entered {
    /// Not looked up yet.
    #[inline]
    pub(super) const fn new(arrival: Instant, frame: FrameId) -> Self {
        Self { arrival, frame, frame_bytes: 0, place: 0, slot: NO_SLOT, probes: 0 }
    }

    /// The place of the port that it entered by.
    #[inline]
    pub(super) const fn place(&self) -> usize {
        self.place as usize
    }

    /// The look-up of the first table.
    fn looked_up(&self) -> LookUp {
        ((self.slot != NO_SLOT).then_some(self.slot), self.probes)
    }
}

/// Where a track ends.
#[derive(Clone, Copy)]
struct TrackEnd {
    place: u16,
    queue: u8,
    cookie: u64,
}

impl Switch {
    /// Whether frames that enter at a place may follow tracks now: where every step is noted, and where
    /// a general switch asks more than its tables, they walk.
    #[inline]
    pub(super) fn has_tracks(&self, place: usize) -> bool {
        self.trace.is_none() && (self.general.is_none() || self.asks_tables_only(place))
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
    pub(super) fn look_first(
        &self,
        (place, in_port): (usize, u32),
        Entered { arrival, frame, .. }: Entered,
        frames: &impl Frames,
    ) -> Option<Entered> {
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
        Some(Entered { arrival, frame, frame_bytes, place, slot, probes })
    }

    /// The same where the Ethernet header does not say enough.
    #[inline(never)]
    fn look_first_closely(&self, bytes: &[u8], in_port: u32) -> Option<LookUp> {
        let mut key = PacketKey::default();
        let is_whole = self.read_key(bytes, in_port, &mut key);
        let is_for_tables = is_whole && is_ordinary(key.eth_type());
        Some(self.tables.first().filter(|_| is_for_tables)?.look_up(&key))
    }

    /// Reads something of what a frame is about to meet on its track, so that it is near when it is
    /// needed.
    #[inline(always)]
    pub(super) fn touch(&self, it: Entered) -> u64 {
        let Some(Record { track, monitor }) = self.tables.record_near(it.slot) else { return 0 };
        let watched = if track.has_monitor() { monitor.touch() } else { 0 };
        track.cookie ^ watched
    }

    /// Handles a frame that is looked up.
    #[inline(always)]
    pub(super) fn process_entered(
        &mut self,
        now: Instant,
        it: Entered,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let counters = &mut self.ports[it.place as usize].counters;
        counters.received += 1;
        counters.received_bytes += u64::from(it.frame_bytes);
        self.follow(now, it, frames, fx)
    }

    /// Follows the track that begins with what was found, if there is one.
    #[inline(always)]
    fn follow(
        &mut self,
        now: Instant,
        it: Entered,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let Self { tables, config, .. } = self;
        let Entered { arrival, frame, frame_bytes, probes, .. } = it;
        let current = tables.current_track(it.slot, (self.level, self.admitted));
        let Some(Current { record: Record { track, monitor }, forms, guards, ways }) = current
        else {
            return self.lay_and_follow(now, it, frames, fx);
        };
        // A frame never goes back to where it came from.
        if !track.is_fixed() || u32::from(track.place) == it.place {
            return self.walk_entered(now, it, frames, fx);
        }
        if track.is_apart() {
            return self.follow_apart(now, it, frames, fx);
        }
        if track.has_monitor() {
            let seen = monitor.see(arrival, frames.bytes(frame), frame_bytes);
            if seen.begins
                && let Some(more) = monitor.begin()
            {
                guards.add_messages(ways[it.slot].monitor, more);
            }
            if seen.wanted > 0 {
                return self.note_and_follow(now, it, seen, frames, fx);
            }
        }
        if track.has_meter() && !track.bucket.conforms(arrival, bits_metered(config, frame_bytes)) {
            self.tables.count_refused(it.slot, frame_bytes);
            return self.police(now, it, frames, fx);
        }
        let work = track.work(probes, frame_bytes);
        let counts_all = track.pass(forms, now, frame_bytes);
        let end = TrackEnd { place: track.place, queue: track.queue, cookie: track.cookie };
        // There is no place of this number where there are several.
        if usize::from(end.place) >= self.ports.len() {
            return self.end_in_several((now, counts_all), it, frames, fx);
        }
        self.end(now, it, (end, counts_all), frames, fx);
        work
    }

    /// Queues a frame where its track ends, and counts it for entries that the track does not count
    /// for.
    #[inline(always)]
    fn end(
        &mut self,
        now: Instant,
        it: Entered,
        (end, counts_all): (TrackEnd, bool),
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
            let taken = port.egress.enqueue(end.queue, queued);
            if taken.or_else(|_| displace(port, end.queue, queued, frames, fx)).is_err() {
                self.refuse(now, it, frames, fx);
            }
        }
        if !counts_all {
            self.tables.count_beside(it.slot, now, it.frame_bytes);
        }
    }

    /// The same where there is no track for this mode, or the frame has matched nothing.
    #[cold]
    #[inline(never)]
    fn lay_and_follow(
        &mut self,
        now: Instant,
        it: Entered,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        if it.slot == NO_SLOT {
            return self.walk_entered(now, it, frames, fx);
        }
        let Self { groups, ports, port_index, .. } = self;
        let surroundings = Surroundings {
            mode: (self.level, self.admitted),
            live: Liveness { groups, ports, index: port_index },
            counts: self.general.as_ref().map(|general| &general.groups),
            copies_max: self.general.as_ref().map_or(u32::MAX, |general| general.copies_max),
        };
        self.tables.lay_track(it.slot, &surroundings);
        self.follow(now, it, frames, fx)
    }

    /// Walks where there is no track.
    #[cold]
    #[inline(never)]
    fn walk_entered(
        &mut self,
        now: Instant,
        it: Entered,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let mut passage = self.passage(now, it);
        self.read_key(frames.bytes(it.frame), passage.in_port, &mut passage.key);
        let first = Some(it.looked_up());
        let reason = self.walk_with(first, &mut passage, frames, fx);
        self.finish(reason, &passage, frames, fx);
        passage.work
    }

    /// The same where meter and monitor are not lent to the track.
    #[inline(never)]
    fn follow_apart(
        &mut self,
        now: Instant,
        it: Entered,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let (track, way) = self.tables.laid(it.slot);
        if track.has_monitor()
            && let Some(monitor) = self.tables.monitor_mut(way.monitor)
        {
            let wanted = monitor.see(it.arrival, frames.bytes(it.frame), it.frame_bytes);
            if wanted > 0 {
                return self.ask_and_follow(now, it, wanted, frames, fx);
            }
        }
        self.follow_behind_monitor(now, it, frames, fx)
    }

    /// A monitor that is lent to a track has seen a frame that asks for more than the start level.
    #[cold]
    #[inline(never)]
    fn note_and_follow(
        &mut self,
        now: Instant,
        it: Entered,
        seen: Observation,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        if seen.violates {
            self.tables.count_violation(it.slot);
        }
        self.ask_and_follow(now, it, seen.wanted, frames, fx)
    }

    /// The monitor of a track has seen a frame that asks for more than the start level: for another
    /// mode, perhaps, in which the frame goes on.
    #[cold]
    #[inline(never)]
    fn ask_and_follow(
        &mut self,
        now: Instant,
        it: Entered,
        wanted: u8,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let (track, way) = self.tables.laid(it.slot);
        self.ask_for(wanted, way.monitor, (now, it.arrival), frames, fx);
        let is_in_mode = track.is_in((self.level, self.admitted));
        if !is_in_mode && way.monitor_stage + 1 < track.stages {
            return self.leave(now, it, frames, fx);
        }
        self.follow_behind_monitor(now, it, frames, fx)
    }

    /// The rest of a track, from its meter on.
    fn follow_behind_monitor(
        &mut self,
        now: Instant,
        it: Entered,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let (track, _) = self.tables.laid(it.slot);
        let bits = bits_metered(&self.config, it.frame_bytes);
        if track.has_meter() && !self.tables.passes(it.slot, it.arrival, bits, it.frame_bytes) {
            return self.police(now, it, frames, fx);
        }
        let counts_all = self.tables.pass(it.slot, now, it.frame_bytes);
        if track.ends_in_several() {
            return self.end_in_several((now, counts_all), it, frames, fx);
        }
        let end = TrackEnd { place: track.place, queue: track.queue, cookie: track.cookie };
        self.end(now, it, (end, counts_all), frames, fx);
        track.work(it.probes, it.frame_bytes)
    }

    /// The port at the end of a track has no room for a frame.
    #[cold]
    #[inline(never)]
    fn refuse(
        &mut self,
        now: Instant,
        it: Entered,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let (track, _) = self.tables.laid(it.slot);
        let mut passage = self.passage(now, it);
        passage.cookie = track.cookie;
        let dropped = Dropped {
            reason: DropReason::BufferFull,
            port: self.ports[usize::from(track.place)].number,
            cookie: track.cookie,
            message: message_of(frames.bytes(it.frame), track.cookie),
            frame_bytes: it.frame_bytes,
        };
        self.report(dropped, passage.place, fx);
        self.finish(None, &passage, frames, fx);
    }

    /// The port at the end of a track is closed: a frame that went all the way goes nowhere.
    #[cold]
    #[inline(never)]
    fn end_at_closed(
        &mut self,
        now: Instant,
        it: Entered,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let (track, _) = self.tables.laid(it.slot);
        let (reason, passage) = self.end_nowhere(now, it);
        self.ports[usize::from(track.place)].counters.not_sent += 1;
        self.finish(Some(reason), &passage, frames, fx);
    }

    /// Why a frame that went all the way is dropped if it has gone nowhere.
    pub(super) fn end_nowhere(&self, now: Instant, it: Entered) -> (DropReason, Passage) {
        let (track, way) = self.tables.laid(it.slot);
        let last = usize::from(track.stages) - 1;
        let mut passage = self.passage(now, it);
        passage.cookie = way.cookies[last];
        let outside = track.level_of(way.tables[last]) > 0 && passage.cookie != 0;
        let reason = if outside { DropReason::OutOfMode } else { DropReason::NoOutput };
        (reason, passage)
    }

    /// The meter of a track lets a frame go no further.
    #[inline(never)]
    fn police(
        &mut self,
        now: Instant,
        it: Entered,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let (track, way) = self.tables.laid(it.slot);
        let mut passage = self.come_through(now, it, way.meter_stage + 1);
        let before = &way.actions[..way.meter_stage.into()];
        passage.work.actions = before.iter().copied().map(u32::from).sum();
        passage.work.monitors = u32::from(track.has_monitor());
        self.finish(Some(DropReason::Policed), &passage, frames, fx);
        passage.work
    }

    /// The mode is another than that of the track: behind its monitor the frame walks on by the new
    /// rules.
    #[cold]
    #[inline(never)]
    fn leave(
        &mut self,
        now: Instant,
        it: Entered,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let (_, way) = self.tables.laid(it.slot);
        let next = usize::from(way.monitor_stage) + 1;
        let mut passage = self.come_through(now, it, way.monitor_stage + 1);
        passage.work.actions = way.actions[..next].iter().copied().map(u32::from).sum();
        passage.work.monitors = 1;
        self.read_key(frames.bytes(it.frame), passage.in_port, &mut passage.key);
        self.clear_set();
        let set = ActionSet::default();
        let reason = self.walk_from(way.tables[next], set, &mut passage, frames, fx);
        self.finish(reason, &passage, frames, fx);
        passage.work
    }

    /// A frame that has gone through so many tables of a track, their entries counted.
    fn come_through(&mut self, now: Instant, it: Entered, tables: u8) -> Passage {
        let (_, way) = self.tables.laid(it.slot);
        let mut passage = self.passage(now, it);
        passage.work.lookups = u32::from(tables);
        passage.work.probes = it.probes;
        for stage in 0..usize::from(tables) {
            passage.work.probes += u32::from(way.probes[stage]);
            passage.cookie = way.cookies[stage];
            self.tables.count_stage(way, stage, now, it.frame_bytes);
        }
        passage
    }

    /// A frame that is on its way by itself from here on; its key is not read.
    pub(super) fn passage(&self, now: Instant, it: Entered) -> Passage {
        let place = it.place as usize;
        let port = (Some(place), self.ports[place].number);
        Passage::new((now, it.arrival), port, it.frame, it.frame_bytes)
    }
}

/// Whether a frame is looked up: signals and commands are for the switch itself.
#[inline]
const fn is_ordinary(eth_type: u16) -> bool {
    eth_type & !1 != EtherType::MODE_SIGNAL.0
}

/// Bits on the wire.
#[inline]
pub(super) fn bits_of(frame_bytes: u32) -> u32 {
    u32::try_from(wire_bits(frame_bytes)).unwrap_or(u32::MAX)
}
