//! One frame through the tables.

use super::key::PacketKey;
use super::table::ActionStep;
use super::tables::Tables;
use super::{Switch, SwitchEvent};
use crate::{DropReason, Dropped, Effects, FRAME_CAPACITY, FrameId, Frames, Queued, Work};
use tenuto_units::{Instant, Span, wire_bits};
use tenuto_wire::shim::{MessagePart, payload_bytes_of_frame};
use tenuto_wire::stamp::STAMP_BYTES;
use tenuto_wire::{EtherType, FlowKey, Stamp, frame_bytes};

/// While a flow keeps asking for more than the start level, observers hear of it this often.
const TELL_AGAIN: Span = Span::from_ms(1);

/// A frame on its way, and what has been decided about it.
struct Passage {
    now: Instant,
    arrival: Instant,
    place: usize,
    frame: FrameId,
    frame_bytes: u32,
    cookie: u64,
    queue: u32,
    outputs: u32,
    work: Work,
}

/// The action set: at most one of each kind (OpenFlow 1.3.5, section 5.10).
#[derive(Clone, Copy, Default)]
struct ActionSet {
    queue: Option<u32>,
    group: Option<u32>,
    output: Option<u32>,
}

impl ActionSet {
    fn write(&mut self, step: ActionStep) {
        match step {
            ActionStep::SetQueue(queue) => self.queue = Some(queue),
            ActionStep::Group(group) => self.group = Some(group),
            ActionStep::Output(port) => self.output = Some(port),
            ActionStep::Monitor(_) => {}
        }
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
        let bytes = frames.bytes(frame);
        let size = frame_bytes(bytes.len());
        let counters = &mut self.ports[place].counters;
        counters.received += 1;
        counters.received_bytes += u64::from(size);
        let mut passage = Passage {
            now,
            arrival,
            place,
            frame,
            frame_bytes: size,
            cookie: 0,
            queue: 0,
            outputs: 0,
            work: Work { bytes: size, ..Work::default() },
        };
        let flow = FlowKey::extract(bytes).filter(|_| bytes.len() <= FRAME_CAPACITY);
        let reason = match flow {
            None => Some(DropReason::Malformed),
            Some(flow) if flow.eth_type == EtherType::MODE_SIGNAL => {
                return self.receive_signal(now, place, frame, frames, fx);
            }
            Some(flow) => {
                let key = PacketKey::of(&flow, self.ports[place].number);
                self.walk(key, &mut passage, frames, fx)
            }
        };
        if let Some(reason) = reason {
            self.drop_frame(reason, &passage, frames, fx);
        }
        frames.release(frame);
        passage.work
    }

    fn drop_frame(
        &mut self,
        reason: DropReason,
        passage: &Passage,
        frames: &impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let dropped = Dropped {
            reason,
            port: self.ports[passage.place].number,
            cookie: passage.cookie,
            message: message_of(frames.bytes(passage.frame), passage.cookie),
            frame_bytes: passage.frame_bytes,
        };
        self.report(dropped, passage.place, fx);
    }

    /// Walks the tables; the reason if the frame goes nowhere.
    fn walk(
        &mut self,
        mut key: PacketKey,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Option<DropReason> {
        let mut set = ActionSet::default();
        let mut table = 0;
        let mut level;
        loop {
            level = Tables::level_of(table, self.level, self.admitted);
            // A switch of no table at all knows nobody.
            let Some(state) = self.tables.get_mut(level, table) else {
                return Some(DropReason::Unknown);
            };
            let (found, probes) = state.table().look_up(&key);
            passage.work.lookups += 1;
            passage.work.probes += probes;
            let Some(slot) = found else { return Some(DropReason::Unknown) };
            state.count(slot, passage.frame_bytes);
            let slot = slot as usize;
            let entry = &state.table().entries()[slot];
            let behaviour = &entry.behaviour;
            if entry.cookie != 0 {
                passage.cookie = entry.cookie;
            }
            let (meter, steps, clear) = (behaviour.meter, behaviour.apply.len(), behaviour.clear);
            let (metadata, next) = (behaviour.metadata, behaviour.goto);
            if clear {
                set = ActionSet::default();
            }
            behaviour.write.iter().for_each(|&step| set.write(step));
            if let Some(id) = meter
                && !self.meter_passes(id, passage)
            {
                return Some(DropReason::Policed);
            }
            for step in 0..steps {
                // Read anew each time: a monitor may have changed the mode, not the entries.
                let state = self.tables.get(level, table);
                let state = state.expect("looked up above; a frame changes no tables");
                let action = state.table().entries()[slot].behaviour.apply[step];
                self.step(action, passage, frames, fx);
            }
            if let Some((value, mask)) = metadata {
                key.set_metadata(value, mask);
            }
            match next {
                Some(next) => table = next,
                None => break,
            }
        }
        self.execute(set, passage, frames, fx);
        let outside = level > 0 && passage.cookie != 0;
        let reason = if outside { DropReason::OutOfMode } else { DropReason::NoOutput };
        (passage.outputs == 0).then_some(reason)
    }

    fn meter_passes(&mut self, id: u32, passage: &mut Passage) -> bool {
        // An entry with an unknown meter is refused when it is added; deleting a meter deletes
        // its entries. So this is a defence: an unknown meter passes nothing.
        let Some(Some(state)) = self.meters.get_mut(id as usize) else { return false };
        let in_memory = passage.frame_bytes - 4;
        let bits = u64::from(in_memory + self.config.meter_extra_bytes) * 8;
        state.seen.frames += 1;
        state.seen.bytes += u64::from(passage.frame_bytes);
        let passes = state.meter.conforms(passage.arrival, bits);
        if !passes {
            state.dropped.frames += 1;
            state.dropped.bytes += u64::from(passage.frame_bytes);
        }
        passes
    }

    fn step(
        &mut self,
        step: ActionStep,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        passage.work.actions += 1;
        match step {
            ActionStep::SetQueue(queue) => passage.queue = queue,
            ActionStep::Output(port) => self.output(port, passage, frames, fx),
            ActionStep::Group(id) => self.group(id, passage, frames, fx),
            ActionStep::Monitor(id) => self.observe(id, passage, frames, fx),
        }
    }

    fn execute(
        &mut self,
        set: ActionSet,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        if let Some(queue) = set.queue {
            passage.queue = queue;
        }
        // A group in the set takes precedence over an output (section 5.10).
        match (set.group, set.output) {
            (Some(group), _) => self.step(ActionStep::Group(group), passage, frames, fx),
            (None, Some(port)) => self.step(ActionStep::Output(port), passage, frames, fx),
            (None, None) => {}
        }
    }

    fn group(
        &mut self,
        id: u32,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let groups = self.groups.clone();
        let Some(group) = groups.get(&id) else { return };
        for bucket in &group.buckets {
            let queue = passage.queue;
            for &step in bucket {
                // Groups of groups are refused when they are added.
                self.step(step, passage, frames, fx);
            }
            passage.queue = queue;
        }
    }

    fn output(
        &mut self,
        port: u32,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let Some(&place) = self.port_index.get(&port) else { return };
        // Never back to where it came from, not even by a group (OpenFlow 1.3.5, sections 5.6.1
        // and 7.2.5): a frame cannot bounce between two switches.
        if place == passage.place {
            return;
        }
        passage.outputs += 1;
        frames.retain(passage.frame);
        let queued = Queued {
            frame: passage.frame,
            wire_bits: u32::try_from(wire_bits(passage.frame_bytes)).unwrap_or(u32::MAX),
            cookie: passage.cookie,
            since: passage.now,
        };
        let queue = u8::try_from(passage.queue).unwrap_or(u8::MAX - 1);
        if self.ports[place].egress.enqueue(passage.now, queue, queued).is_err() {
            let dropped = Dropped {
                reason: DropReason::BufferFull,
                port,
                cookie: passage.cookie,
                message: message_of(frames.bytes(passage.frame), passage.cookie),
                frame_bytes: passage.frame_bytes,
            };
            self.report(dropped, passage.place, fx);
            frames.release(passage.frame);
        }
    }

    fn observe(
        &mut self,
        id: u32,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        passage.work.monitors += 1;
        let Some(Some(state)) = self.monitors.get_mut(id as usize) else { return };
        let part = MessagePart::locate(frames.bytes(passage.frame));
        let message = part.map(|part| part.shim.message_id);
        let wire_bytes = u32::try_from(wire_bits(passage.frame_bytes) / 8).unwrap_or(u32::MAX);
        let seen = state.monitor.observe(passage.arrival, message, wire_bytes);
        let wanted = seen.wanted;
        state.messages += u64::from(seen.begins);
        state.violations += u64::from(seen.violates);
        if wanted == 0 {
            return;
        }
        let (now, arrival) = (passage.now, passage.arrival);
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
