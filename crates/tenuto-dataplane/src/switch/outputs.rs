//! Where a frame goes, and what it looks like then.

use super::displacing::displace;
use super::entry::ActionStep;
use super::group::Liveness;
use super::packet::{Edit, Layers, TtlExpired};
use super::pipeline::{NO_COOKIE, Passage, message_of};
use super::{Switch, SwitchEvent, TraceStep};
use crate::{DropReason, Dropped, Effects, FrameId, Frames, Queued};
use tenuto_openflow::GroupType;
use tenuto_openflow::constants::port;
use tenuto_units::wire_bits;
use tenuto_wire::frame_bytes;

/// The field of tunnel metadata, which is no bytes of the frame.
pub(super) const TUNNEL_ID: u8 = 38;

impl Passage {
    /// It has cost as much as a frame may, and goes no further; copies of it may have gone.
    #[cold]
    pub(super) fn spend(&mut self) {
        let has_left = self.outputs > 0;
        self.spent = true;
        self.stop = Some(if has_left { DropReason::Spent } else { DropReason::NoOutput });
    }
}

impl Switch {
    /// Changes the frame at hand.
    pub(super) fn edit(
        &mut self,
        edit: Edit,
        passage: &mut Passage,
        frames: &mut impl Frames,
    ) -> Result<(), TtlExpired> {
        if let Edit::SetField(value) = edit
            && value.field == TUNNEL_ID
        {
            passage.key.set_tunnel_id(value.number());
            return Ok(());
        }
        let done = self.change(edit, passage, frames);
        self.read_changed_key(passage);
        done
    }

    /// The same but for the key.
    pub(super) fn change(
        &mut self,
        edit: Edit,
        passage: &mut Passage,
        frames: &mut impl Frames,
    ) -> Result<(), TtlExpired> {
        self.load(passage, frames);
        let Some(general) = &mut self.general else { return Ok(()) };
        let done = general.buffer.apply(edit);
        self.refresh(passage, frames);
        done
    }

    /// A meter's band raises the drop precedence.
    pub(super) fn remark(&mut self, steps: u8, passage: &mut Passage, frames: &mut impl Frames) {
        self.load(passage, frames);
        if let Some(general) = &mut self.general {
            general.buffer.raise_drop_precedence(steps);
        }
        self.refresh(passage, frames);
        self.read_changed_key(passage);
    }

    /// Takes the frame into the switch's own buffer, unless it is there.
    fn load(&mut self, passage: &mut Passage, frames: &impl Frames) {
        if let Some(general) = &mut self.general
            && !passage.edited
        {
            general.buffer.load(frames.bytes(passage.frame));
            passage.edited = true;
        }
    }

    /// What follows from a change: copies and size are others.
    fn refresh(&self, passage: &mut Passage, frames: &mut impl Frames) {
        if let Some(copy) = passage.copy.take() {
            frames.release(copy);
        }
        let Some(general) = &self.general else { return };
        passage.frame_bytes = frame_bytes(general.buffer.bytes().len());
    }

    /// What follows from a change: the key is another.
    fn read_changed_key(&self, passage: &mut Passage) {
        let Some(general) = &self.general else { return };
        let bytes = general.buffer.bytes();
        if let Some(mut key) = Layers::locate(bytes).key(bytes, passage.in_port) {
            key.keep_written(&passage.key);
            passage.key = key;
        }
    }

    pub(super) fn group(
        &mut self,
        id: u32,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let groups = self.groups.clone();
        let Some(group) = groups.get(&id) else { return };
        let chosen = match group.type_ {
            GroupType::Select | GroupType::FastFailover => {
                let (ports, index) = (&self.ports[..], &*self.port_index);
                let live = Liveness { groups: &groups, ports, index };
                match live.choose_bucket(group, &passage.key) {
                    Some(place) => place..place + 1,
                    None => return,
                }
            }
            _ => 0..group.buckets.len(),
        };
        if let Some(counters) = self.general.as_mut().and_then(|g| g.groups.get_mut(id)) {
            counters.all.add(passage.frame_bytes);
        }
        for place in chosen {
            if passage.spent {
                return passage.spend();
            }
            if let Some(counters) = self.general.as_mut().and_then(|g| g.groups.get_mut(id)) {
                counters.buckets[place].add(passage.frame_bytes);
            }
            self.note(|_| TraceStep::Bucket { group: id, bucket: place });
            self.bucket(&group.buckets[place].steps, passage, frames, fx);
        }
    }

    /// Every bucket works on a frame of its own (OpenFlow 1.3.5, section 5.6.1).
    fn bucket(
        &mut self,
        steps: &[ActionStep],
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let (queue, depth, cookie) = (passage.queue, passage.depth, passage.entry_cookie);
        let before = (passage.key, passage.frame_bytes, passage.edited);
        let changes = steps.iter().any(|step| matches!(step, ActionStep::Edit(_)));
        if changes && passage.edited {
            self.save(depth);
        }
        let copy = if changes { passage.copy.take() } else { None };
        passage.depth += 1;
        passage.entry_cookie = NO_COOKIE;
        for &step in steps {
            self.step(step, passage, frames, fx);
            if passage.stop.is_some() {
                // It was the bucket's own copy that ended.
                passage.stop = passage.stop.filter(|_| passage.spent);
                break;
            }
        }
        (passage.queue, passage.depth, passage.entry_cookie) = (queue, depth, cookie);
        if changes {
            if let Some(changed) = passage.copy.take() {
                frames.release(changed);
            }
            passage.copy = copy;
            (passage.key, passage.frame_bytes, passage.edited) = before;
            if passage.edited {
                self.restore(depth);
            }
        }
    }

    pub(super) fn save(&mut self, depth: usize) {
        if let Some(general) = &mut self.general
            && let Some(saved) = general.saved.get_mut(depth)
        {
            saved.load_from(&general.buffer);
        }
    }

    pub(super) fn restore(&mut self, depth: usize) {
        if let Some(general) = &mut self.general
            && let Some(saved) = general.saved.get(depth)
        {
            general.buffer.load_from(saved);
        }
    }

    pub(super) fn output(
        &mut self,
        number: u32,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        match number {
            port::IN_PORT => {
                if let Some(place) = passage.place {
                    self.send(place, passage, frames, fx);
                }
            }
            port::ALL | port::FLOOD => self.flood(passage, frames, fx),
            port::NORMAL => self.forward_as_bridge(passage, frames, fx),
            _ => {
                let Some(&place) = self.port_index.get(&number) else { return };
                // Never back to where it came from, not even by a group (OpenFlow 1.3.5, sections
                // 5.6.1 and 7.2.5): a frame cannot bounce between two switches.
                if Some(place) != passage.place {
                    self.send(place, passage, frames, fx);
                }
            }
        }
    }

    fn flood(
        &mut self,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        for place in 0..self.ports.len() {
            if Some(place) != passage.place {
                self.send(place, passage, frames, fx);
            }
        }
    }

    /// A standalone switch: every frame goes where its address was learned; the reason if nowhere.
    pub(super) fn bridge(
        &mut self,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Option<DropReason> {
        self.note(|_| TraceStep::Bridged);
        self.forward_as_bridge(passage, frames, fx);
        (passage.outputs == 0).then_some(DropReason::NoOutput)
    }

    fn forward_as_bridge(
        &mut self,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let Some(general) = &mut self.general else { return };
        let (vlan, source, destination) = passage.key.addresses();
        if passage.place.is_some() {
            general.bridge.learn(passage.now, vlan, source, passage.in_port);
        }
        match general.bridge.find(passage.now, vlan, destination) {
            Some(number) => self.output(number, passage, frames, fx),
            None => self.flood(passage, frames, fx),
        }
    }

    /// Queues the frame at a port, as it is now.
    pub(super) fn send(
        &mut self,
        place: usize,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let state = &mut self.ports[place];
        if state.is_closed() {
            state.counters.not_sent += 1;
            let port = state.number;
            self.note(|_| TraceStep::NotSent { port });
            return;
        }
        if self.general.as_ref().is_some_and(|it| passage.outputs >= it.copies_max) {
            return passage.spend();
        }
        passage.outputs += 1;
        let Some(frame) = self.frame_now(passage, frames) else {
            return self.drop_frame(DropReason::Malformed, passage, frames, fx);
        };
        frames.retain(frame);
        self.note(|switch| TraceStep::Output {
            port: switch.ports[place].number,
            queue: passage.queue,
            frame: frames.bytes(frame).to_vec(),
        });
        let queued = Queued {
            frame,
            wire_bits: u32::try_from(wire_bits(passage.frame_bytes)).unwrap_or(u32::MAX),
            cookie: passage.cookie,
            since: passage.now,
        };
        let queue = u8::try_from(passage.queue).unwrap_or(u8::MAX - 1);
        let behind = passage.commands > 0 && self.sends_commands_behind();
        if passage.commands > 0 && !behind {
            self.send_commands(place, queue, passage, frames);
        }
        let port = &mut self.ports[place];
        let taken = port.egress.enqueue(queue, queued);
        if taken.or_else(|_| displace(port, queue, queued, frames, fx)).is_err() {
            let dropped = Dropped {
                reason: DropReason::BufferFull,
                port: self.ports[place].number,
                cookie: passage.cookie,
                message: message_of(frames.bytes(frame), passage.cookie),
                frame_bytes: passage.frame_bytes,
            };
            self.report(dropped, passage.place, fx);
            frames.release(frame);
        }
        if behind {
            self.send_commands(place, queue, passage, frames);
        }
    }

    /// The frame in the store that looks as it does now; `None` if it has become too long.
    #[inline]
    pub(super) fn frame_now(
        &self,
        passage: &mut Passage,
        frames: &mut impl Frames,
    ) -> Option<FrameId> {
        match &self.general {
            Some(general) if passage.edited => {
                if passage.copy.is_none() {
                    passage.copy = frames.insert(general.buffer.bytes_to_send());
                }
                passage.copy
            }
            _ => Some(passage.frame),
        }
    }
}
