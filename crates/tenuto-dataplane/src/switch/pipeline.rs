//! One frame through the tables.

use super::config::SwitchConfig;
use super::course::Course;
use super::entry::{ActionStep, Entry};
use super::follow::Entered;
use super::key::PacketKey;
use super::meter::BandEffect;
use super::packet::Layers;
use super::tables::{TABLE_WATCH, Tables};
use super::{Switch, SwitchEvent, TraceStep};
use crate::{DropReason, Dropped, Effects, FRAME_CAPACITY, FrameId, Frames, Work};
use tenuto_openflow::PacketInReason;
use tenuto_openflow::constants::config_flag;
use tenuto_units::{Instant, Span};
use tenuto_wire::shim::{MessagePart, payload_bytes_of_frame};
use tenuto_wire::stamp::STAMP_BYTES;
use tenuto_wire::{EtherType, Stamp, frame_bytes};

/// While a flow keeps asking for more than the start level, observers hear of it this often.
const TELL_AGAIN: Span = Span::from_ms(1);

/// Actions that a general switch carries out for one frame; a frame that asks for more goes no
/// further, so that it cannot keep the others waiting. A planned switch knows its entries.
const ACTIONS_MAX: u32 = 1 << 16;

/// The slot that a look-up found, and how many probes it took.
pub(super) type LookUp = (Option<u32>, u32);

/// A frame on its way, and what has been decided about it.
#[derive(Clone)]
pub(super) struct Passage {
    pub(super) now: Instant,
    pub(super) arrival: Instant,
    /// The port that it entered by; `None` for a packet of a controller that names none.
    pub(super) place: Option<usize>,
    /// The number of that port, as entries see it.
    pub(super) in_port: u32,
    pub(super) frame: FrameId,
    /// Bytes with FCS, as it is now.
    pub(super) frame_bytes: u32,
    pub(super) cookie: u64,
    pub(super) queue: u32,
    pub(super) outputs: u32,
    pub(super) work: Work,
    pub(super) key: PacketKey,
    /// The table of the entry at hand, its cookie while its own actions are carried out, else
    /// [`NO_COOKIE`], and whether it is a table-miss entry.
    pub(super) table: u8,
    pub(super) entry_cookie: u64,
    pub(super) is_miss: bool,
    /// Whether actions have changed the frame: it is then in the switch's own buffer.
    pub(super) edited: bool,
    /// The changed frame in the store, held until it changes again.
    pub(super) copy: Option<FrameId>,
    /// Groups around the action at hand.
    pub(super) depth: usize,
    /// Whether it has cost as much as a frame may: then even copies of it go no further.
    pub(super) spent: bool,
    /// Level and slot of the entry at hand; a slot of [`NO_SLOT`] before the first.
    pub(super) level: u8,
    pub(super) slot: u32,
    /// Commands for other switches that it takes along.
    pub(super) commands: u8,
    /// Whether it comes back from the controller that was asked about it, ahead of those that wait.
    pub(super) is_first: bool,
    /// The buffer that it just left.
    pub(super) left: Option<u16>,
    /// The meter that its release has been charged to.
    pub(super) paid: Option<u32>,
    /// Set when the frame is to go no further.
    pub(super) stop: Option<DropReason>,
}

/// What a packet-in says where no single entry has caused it: in a bucket, in the action set, in a
/// packet-out (OpenFlow 1.3.5, section 7.4.1).
pub(super) const NO_COOKIE: u64 = u64::MAX;

/// The slot of a frame that no entry has matched.
pub(super) const NO_SLOT: u32 = u32::MAX;

impl Passage {
    #[inline]
    pub(super) fn new(
        (now, arrival): (Instant, Instant),
        (place, in_port): (Option<usize>, u32),
        frame: FrameId,
        size: u32,
    ) -> Self {
        Self {
            now,
            arrival,
            place,
            in_port,
            frame,
            frame_bytes: size,
            cookie: 0,
            queue: 0,
            outputs: 0,
            work: Work { bytes: size, ..Work::default() },
            key: PacketKey::default(),
            table: 0,
            entry_cookie: NO_COOKIE,
            is_miss: false,
            edited: false,
            copy: None,
            depth: 0,
            spent: false,
            level: 0,
            slot: NO_SLOT,
            commands: 0,
            is_first: false,
            left: None,
            paid: None,
            stop: None,
        }
    }
}

/// The action set: at most one of each kind (OpenFlow 1.3.5, section 5.10). Changes of the frame
/// are kept apart, as only general switches have them.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub(super) struct ActionSet {
    pub(super) queue: Option<u32>,
    pub(super) group: Option<u32>,
    /// An output, be it to the controllers.
    pub(super) output: Option<ActionStep>,
}

impl ActionSet {
    /// Whether there is nothing in it.
    pub(super) const fn is_empty(&self) -> bool {
        self.queue.is_none() && self.group.is_none() && self.output.is_none()
    }
}

/// Flow index and message id that a frame of our end system carries, for accounting.
///
/// The last frame of a message can be too short for a stamp; then its shim names the message, and
/// the entry that took it the flow.
pub(super) fn message_of(frame: &[u8], cookie: u64) -> Option<(u16, u32)> {
    let payload = tenuto_wire::build::UDP_PAYLOAD_START;
    let stamp = frame
        .get(payload..)
        .and_then(Stamp::parse)
        .or_else(|| frame.get(payload + tenuto_wire::shim::SHIM_BYTES..).and_then(Stamp::parse));
    match stamp {
        Some(stamp) => Some((stamp.flow, stamp.message_id)),
        None => Some((u16::try_from(cookie.checked_sub(1)?).ok()?, tail_of(frame)?)),
    }
}

/// The message that this is the short last frame of.
fn tail_of(frame: &[u8]) -> Option<u32> {
    let part = MessagePart::locate(frame)?;
    let expected = payload_bytes_of_frame(part.shim.message_bytes, part.shim.sequence)?;
    let is_tail = part.shim.sequence > 0
        && part.payload.len() < STAMP_BYTES
        && usize::try_from(expected) == Ok(part.payload.len());
    is_tail.then_some(part.shim.message_id)
}

/// What meters count of a frame of so many bytes with FCS.
#[inline]
pub(super) fn bits_metered(config: &SwitchConfig, frame_bytes: u32) -> u64 {
    u64::from(frame_bytes - 4 + config.meter_extra_bytes) * 8
}

impl Switch {
    pub(super) fn process(
        &mut self,
        now: Instant,
        arrival: Instant,
        place: usize,
        frame: FrameId,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let port = (place, self.ports[place].number);
        if self.has_tracks(place)
            && let Some(entered) = self.look_first(port, Entered::new(arrival, frame), frames)
        {
            return self.process_entered(now, entered, frames, fx);
        }
        let bytes = frames.bytes(frame);
        let mut passage = self.entered((now, arrival), place, frame, bytes);
        let reason = if !self.read_key(bytes, passage.in_port, &mut passage.key) {
            Some(DropReason::Malformed)
        } else if passage.key.eth_type() & !1 == EtherType::MODE_SIGNAL.0 {
            return match passage.key.eth_type() == EtherType::ATTENDRE.0 {
                true => self.receive_command(now, place, frame, frames, fx),
                false => self.receive_signal(now, place, frame, frames, fx),
            };
        } else if self.refuses(place, bytes) {
            Some(DropReason::NoOutput)
        } else if self.is_standalone() {
            self.bridge(&mut passage, frames, fx)
        } else {
            self.walk(&mut passage, frames, fx)
        };
        self.finish(reason, &passage, frames, fx);
        passage.work
    }

    /// A frame has come in at a port, and is counted there.
    #[inline]
    fn entered(
        &mut self,
        times: (Instant, Instant),
        place: usize,
        frame: FrameId,
        bytes: &[u8],
    ) -> Passage {
        let port = &mut self.ports[place];
        let passage =
            Passage::new(times, (Some(place), port.number), frame, frame_bytes(bytes.len()));
        port.counters.received += 1;
        port.counters.received_bytes += u64::from(passage.frame_bytes);
        passage
    }

    /// Reads the key of a frame into an empty one, and says whether there is one. A planned switch
    /// looks no deeper than its deployment asks for.
    #[inline]
    pub(super) fn read_key(&self, bytes: &[u8], in_port: u32, key: &mut PacketKey) -> bool {
        if bytes.len() > FRAME_CAPACITY {
            return false;
        }
        if self.general.is_none() {
            return key.read(bytes, in_port);
        }
        let read = Layers::locate(bytes).key(bytes, in_port);
        read.inspect(|read| *key = *read).is_some()
    }

    /// The key of a frame, if there is one.
    pub(super) fn key_of(&self, bytes: &[u8], in_port: u32) -> Option<PacketKey> {
        let mut key = PacketKey::default();
        self.read_key(bytes, in_port, &mut key).then_some(key)
    }

    /// Whether the configuration of the port, or of the switch, drops the frame.
    fn refuses(&self, place: usize, bytes: &[u8]) -> bool {
        let Some(general) = &self.general else { return false };
        let port = &self.ports[place];
        let drops_fragments = general.flags & config_flag::FRAG_DROP != 0;
        port.takes_nothing() || drops_fragments && Layers::locate(bytes).is_fragment(bytes)
    }

    /// The end of a frame's way: its drop, if it went nowhere, and the holds on it.
    #[inline]
    pub(super) fn finish(
        &mut self,
        reason: Option<DropReason>,
        passage: &Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        if let Some(reason) = reason {
            self.drop_frame(reason, passage, frames, fx);
        }
        if passage.commands > 0 {
            self.spend_commands(passage);
        }
        if let Some(copy) = passage.copy {
            frames.release(copy);
        }
        frames.release(passage.frame);
    }

    #[cold]
    pub(super) fn drop_frame(
        &mut self,
        reason: DropReason,
        passage: &Passage,
        frames: &impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let dropped = Dropped {
            reason,
            port: passage.in_port,
            cookie: passage.cookie,
            message: message_of(frames.bytes(passage.frame), passage.cookie),
            frame_bytes: passage.frame_bytes,
        };
        self.report(dropped, passage.place, fx);
    }

    /// Walks the tables; the reason if the frame goes nowhere.
    pub(super) fn walk(
        &mut self,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Option<DropReason> {
        self.walk_with(None, passage, frames, fx)
    }

    /// The same, with the first look-up if it is made.
    pub(super) fn walk_with(
        &mut self,
        first: Option<LookUp>,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Option<DropReason> {
        self.clear_set();
        let (table, set) = (TABLE_WATCH, ActionSet::default());
        match self.general.is_none() && self.trace.is_none() {
            true => self.walk_tables::<true>(table, first, set, passage, frames, fx),
            false => self.walk_tables::<false>(table, first, set, passage, frames, fx),
        }
    }

    /// Forgets what the last frame was to be changed to.
    pub(super) fn clear_set(&mut self) {
        if let Some(general) = &mut self.general {
            general.set.clear();
        }
    }

    /// Goes on in a table with an action set: from the first, or where the frame has waited.
    pub(super) fn walk_from(
        &mut self,
        table: u8,
        set: ActionSet,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Option<DropReason> {
        match self.general.is_none() && self.trace.is_none() {
            true => self.walk_tables::<true>(table, None, set, passage, frames, fx),
            false => self.walk_tables::<false>(table, None, set, passage, frames, fx),
        }
    }

    /// The same, with the first look-up if it is made; `PLAIN` for a planned switch that notes
    /// nothing, which has less to ask on the way.
    fn walk_tables<const PLAIN: bool>(
        &mut self,
        mut table: u8,
        mut looked_up: Option<LookUp>,
        mut set: ActionSet,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Option<DropReason> {
        let mut level;
        loop {
            level = Tables::level_of(table, self.level, self.admitted);
            // A switch of no table at all knows nobody.
            let Some(state) = self.tables.get_mut(level, table) else {
                return Some(DropReason::Unknown);
            };
            let (found, probes) =
                looked_up.take().unwrap_or_else(|| state.table().look_up(&passage.key));
            passage.work.lookups += 1;
            passage.work.probes += probes;
            if !PLAIN
                && let Some(attendre) = self.general.as_ref().and_then(|g| g.attendre.as_ref())
                && attendre.is_keeping()
            {
                let precedence = found.map(|slot| state.table().entry(slot).precedence);
                let keeper = attendre.keeper(table, precedence, &passage.key, passage.left);
                if let Some(keeper) = keeper {
                    return self.keep(keeper, set, passage, frames);
                }
            }
            state.count(found, passage.now, passage.frame_bytes);
            if !PLAIN && let Some(trace) = &mut self.trace {
                let entry = found.map(|slot| Box::new(state.table().entry(slot).clone()));
                trace.push(TraceStep::Table { level, table, entry });
            }
            let Some(slot) = found else { return Some(DropReason::Unknown) };
            let course = *state.course(slot);
            if course.cookie != 0 {
                passage.cookie = course.cookie;
            }
            (passage.level, passage.table, passage.slot) = (level, table, slot);
            passage.entry_cookie = course.cookie;
            passage.is_miss = course.is_table_miss;
            if course.writes {
                self.write_set(&mut set, passage);
            }
            if let Some(id) = course.meter()
                && passage.paid != Some(id)
                && !self.meter_passes(id, passage, frames)
            {
                return Some(DropReason::Policed);
            }
            self.apply(&course, passage, frames, fx);
            if passage.stop.is_some() {
                return passage.stop;
            }
            if course.writes
                && let Some((value, mask)) = self.entry(passage).behaviour.metadata
            {
                passage.key.set_metadata(value, mask);
            }
            match course.goto() {
                Some(next) => table = next,
                None => break,
            }
        }
        self.execute(set, passage, frames, fx);
        if passage.stop.is_some() {
            return passage.stop;
        }
        let outside = level > 0 && passage.cookie != 0;
        let reason = if outside { DropReason::OutOfMode } else { DropReason::NoOutput };
        (passage.outputs == 0).then_some(reason)
    }

    /// The entry at hand; a frame changes no tables.
    fn entry(&self, passage: &Passage) -> &Entry {
        let state = self.tables.get(passage.level, passage.table).expect("looked up before");
        state.table().entry(passage.slot)
    }

    /// What the entry at hand does to the action set.
    fn write_set(&mut self, set: &mut ActionSet, passage: &mut Passage) {
        if self.entry(passage).behaviour.clear {
            *set = ActionSet::default();
            if let Some(general) = &mut self.general {
                general.set.clear();
            }
        }
        let mut writes_commands = false;
        for step in 0..self.entry(passage).behaviour.write.len() {
            match self.entry(passage).behaviour.write[step] {
                ActionStep::SetQueue(queue) => set.queue = Some(queue),
                ActionStep::Group(group) => set.group = Some(group),
                step @ (ActionStep::Output(_) | ActionStep::Controller(_)) => {
                    set.output = Some(step);
                }
                ActionStep::Monitor(_) => {}
                ActionStep::Encap(_) => writes_commands = true,
                ActionStep::Edit(edit) => {
                    if let Some(general) = &mut self.general {
                        general.set.write(edit);
                    }
                }
            }
        }
        if writes_commands {
            self.take_written(passage);
        }
    }

    /// Carries out the actions of the entry at hand, until one of them stops the frame.
    fn apply(
        &mut self,
        course: &Course,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        if let Some(known) = course.steps() {
            for place in 0..known {
                self.known_step(course.step(place), passage, frames, fx);
                if passage.stop.is_some() {
                    return;
                }
            }
            return;
        }
        for place in 0..self.entry(passage).behaviour.apply.len() {
            // Read anew each time: a monitor may have changed the mode, not the entries.
            let step = self.entry(passage).behaviour.apply[place];
            self.step(step, passage, frames, fx);
            if passage.stop.is_some() {
                return;
            }
        }
    }

    /// Carries out an action of a course: those of most frames without a call.
    #[inline]
    fn known_step(
        &mut self,
        step: ActionStep,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        match step {
            ActionStep::SetQueue(queue) if self.begin_step(step, passage) => passage.queue = queue,
            ActionStep::Output(port) if self.begin_step(step, passage) => {
                self.output(port, passage, frames, fx);
            }
            ActionStep::Monitor(id) if self.begin_step(step, passage) => {
                self.observe(id, passage, frames, fx);
            }
            ActionStep::SetQueue(_) | ActionStep::Output(_) | ActionStep::Monitor(_) => {}
            _ => self.step(step, passage, frames, fx),
        }
    }

    /// Counts an action; `false` if the frame has asked for too many.
    #[inline]
    fn begin_step(&mut self, step: ActionStep, passage: &mut Passage) -> bool {
        passage.work.actions += 1;
        if passage.work.actions > ACTIONS_MAX && self.general.is_some() {
            passage.spend();
            return false;
        }
        self.note(|_| TraceStep::Action(step));
        true
    }

    /// What meters count of a frame.
    pub(super) fn metered_bits(&self, frame_bytes: u32) -> u64 {
        bits_metered(&self.config, frame_bytes)
    }

    #[inline]
    pub(super) fn meter_passes(
        &mut self,
        id: u32,
        passage: &mut Passage,
        frames: &mut impl Frames,
    ) -> bool {
        // An entry with an unknown meter is refused when it is added; deleting a meter deletes
        // its entries. So this is a defence: an unknown meter passes nothing.
        let bits = bits_metered(&self.config, passage.frame_bytes);
        let Some(state) = self.tables.meter_mut(id) else { return false };
        let judged = state.judge(passage.arrival, bits, passage.frame_bytes);
        self.note(|_| TraceStep::Meter { id, passes: judged != Some(BandEffect::Drop) });
        match judged {
            Some(BandEffect::Drop) => false,
            None => true,
            Some(BandEffect::Remark(steps)) => {
                self.remark(steps, passage, frames);
                true
            }
        }
    }

    pub(super) fn step(
        &mut self,
        step: ActionStep,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        if !self.begin_step(step, passage) {
            return;
        }
        match step {
            ActionStep::SetQueue(queue) => passage.queue = queue,
            ActionStep::Output(port) => self.output(port, passage, frames, fx),
            ActionStep::Group(id) => self.group(id, passage, frames, fx),
            ActionStep::Monitor(id) => self.observe(id, passage, frames, fx),
            ActionStep::Encap(index) => self.take_along(index, passage),
            ActionStep::Controller(max_len) => {
                // Whether somebody hears it or not: that is where the entry sends it.
                passage.outputs += 1;
                let reason = Self::packet_in_reason(passage);
                self.packet_in(reason, max_len, passage, frames, fx);
            }
            ActionStep::Edit(edit) => {
                if self.edit(edit, passage, frames).is_err() {
                    let max_len = self.general.as_ref().map_or(0, |general| general.miss_send_len);
                    self.packet_in(PacketInReason::InvalidTtl, max_len, passage, frames, fx);
                    passage.stop = Some(DropReason::NoOutput);
                }
            }
        }
    }

    fn execute(
        &mut self,
        set: ActionSet,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        passage.entry_cookie = NO_COOKIE;
        while let Some(edit) = self.general.as_mut().and_then(|general| general.set.take_next()) {
            self.step(ActionStep::Edit(edit), passage, frames, fx);
            if passage.stop.is_some() {
                return;
            }
        }
        if let Some(queue) = set.queue {
            passage.queue = queue;
        }
        // A group in the set takes precedence over an output (section 5.10).
        match (set.group, set.output) {
            (Some(group), _) => self.step(ActionStep::Group(group), passage, frames, fx),
            (None, Some(output)) => self.step(output, passage, frames, fx),
            (None, None) => {}
        }
    }

    pub(super) fn observe(
        &mut self,
        id: u32,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        passage.work.monitors += 1;
        let Some(state) = self.tables.monitor_mut(id) else { return };
        let Passage { now, arrival, frame_bytes, .. } = *passage;
        let wanted = state.see(arrival, frames.bytes(passage.frame), frame_bytes);
        if wanted > 0 {
            self.ask_for(wanted, id, (now, arrival), frames, fx);
        }
    }

    /// A monitor asks for more than the start level.
    #[cold]
    pub(super) fn ask_for(
        &mut self,
        wanted: u8,
        id: u32,
        (now, arrival): (Instant, Instant),
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let Some(state) = self.tables.monitor_beside(id) else { return };
        let tells = wanted > self.level || arrival >= state.told + TELL_AGAIN;
        if tells {
            state.told = arrival;
            fx.events.push(SwitchEvent::Violation { monitor: id, arrival, at: now, wanted });
        }
        if wanted > self.level {
            self.announce_violation(now, id, wanted, fx);
        }
        if let Some(agent) = &mut self.agent {
            agent.excess(now, wanted, &mut self.mode_actions);
            self.carry_out(now, None, frames, fx);
        }
    }
}
