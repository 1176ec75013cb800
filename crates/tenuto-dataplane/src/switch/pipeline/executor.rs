//! A frame in the pipeline, and all that its actions reach: the switch, the store of frames, the
//! effects. Every operation of the [interpreter](super::interpret) is carried out here, and so are the
//! steps of the programs that the [path cache](crate::switch::path_cache) runs.

use super::interpret::{self, Machine};
use super::{ActionSet, LookUp, NO_COOKIE, PacketContext, bits_metered, bits_of};
use crate::switch::actions::displace::{Refused, report_refused};
use crate::switch::actions::group::{Chosen, GroupState, Groups};
use crate::switch::actions::packet::{Buffer, Edit, EditSet, Layers, TtlExpired};
use crate::switch::classifier::key::PacketKey;
use crate::switch::meter::BandEffect;
use crate::switch::tables::Tables;
use crate::switch::tables::compact_instructions::CompactInstructions;
use crate::switch::tables::entry::{ActionStep, Entry};
use crate::switch::{Switch, SwitchEvent, TraceStep};
use crate::{DropReason, Effects, FrameId, Frames, Queued};
use std::sync::Arc;
use tenuto_openflow::PacketInReason;
use tenuto_wire::frame_bytes;

/// The field of tunnel metadata, which is no bytes of the frame.
const TUNNEL_ID: u8 = 38;

/// A frame, and all that its actions reach.
pub(in crate::switch) struct Executor<'a, F> {
    pub(in crate::switch) switch: &'a mut Switch,
    pub(in crate::switch) packet: &'a mut PacketContext,
    pub(in crate::switch) frames: &'a mut F,
    pub(in crate::switch) fx: &'a mut Effects<SwitchEvent>,
    pub(in crate::switch) set: ActionSet,
    /// The first look-up, if it is made.
    pub(in crate::switch) first: Option<LookUp>,
}

/// How a frame looks, while a bucket works on a copy of it.
#[derive(Clone, Copy, Default)]
pub(in crate::switch) struct Looks {
    copy: Option<FrameId>,
    frame_bytes: u32,
    is_edited: bool,
}

/// What a bucket gives back when it has ended.
pub(in crate::switch) struct Outside {
    queue: u32,
    entry_cookie: u64,
    /// If the bucket changes the frame: how it looked, and its key.
    before: Option<(Looks, PacketKey)>,
}

impl<'a, F: Frames> Executor<'a, F> {
    /// With nothing looked up, and nothing in the action set.
    pub(in crate::switch) fn new(
        switch: &'a mut Switch,
        packet: &'a mut PacketContext,
        frames: &'a mut F,
        fx: &'a mut Effects<SwitchEvent>,
    ) -> Self {
        Self { switch, packet, frames, fx, set: ActionSet::default(), first: None }
    }

    /// Runs the tables from one on; the reason if the frame goes nowhere.
    pub(in crate::switch) fn run_from(&mut self, table: u8) -> Option<DropReason> {
        if let Err(reason) = interpret::run_tables(self, table) {
            return reason;
        }
        let outside = self.packet.level > 0 && self.packet.cookie != 0;
        let reason = if outside { DropReason::OutOfMode } else { DropReason::NoOutput };
        (self.packet.outputs == 0).then_some(reason)
    }

    /// Handles the frame as a switch without tables does: it goes where its address was learned; the
    /// reason if nowhere.
    pub(in crate::switch) fn run_as_bridge(&mut self) -> Option<DropReason> {
        self.switch.note(|_| TraceStep::Bridged);
        // A frame that was copied as often as it may be has gone somewhere.
        let _ = self.send_as_bridge();
        (self.packet.outputs == 0).then_some(DropReason::NoOutput)
    }

    /// Carries out a list of actions.
    pub(in crate::switch) fn run_list(&mut self, steps: &[ActionStep]) -> Result<(), Stop> {
        steps.iter().try_for_each(|&step| interpret::act(self, step))
    }

    /// It has cost as much as a frame may, and goes no further; copies of it may have gone.
    #[cold]
    pub(in crate::switch) fn spend(&mut self) -> Stop {
        let has_left = self.packet.outputs > 0;
        self.packet.spent = true;
        Some(if has_left { DropReason::Spent } else { DropReason::NoOutput })
    }

    /// Changes the frame, but does not read its key again.
    pub(in crate::switch) fn change(&mut self, edit: Edit) -> Result<(), TtlExpired> {
        match edit {
            Edit::SetField(value) if value.field == TUNNEL_ID => {
                self.packet.key.set_tunnel_id(value.number());
                Ok(())
            }
            edit => self.change_bytes(|buffer| buffer.apply(edit)).unwrap_or(Ok(())),
        }
    }

    /// Changes the bytes of the frame, in the buffer of the switch: copies and size are others then.
    fn change_bytes<T>(&mut self, change: impl FnOnce(&mut Buffer) -> T) -> Option<T> {
        let general = self.switch.general.as_mut()?;
        if !self.packet.edited {
            general.buffer.load(self.frames.bytes(self.packet.frame));
            self.packet.edited = true;
        }
        let done = change(&mut general.buffer);
        if let Some(copy) = self.packet.copy.take() {
            self.frames.release(copy);
        }
        self.packet.frame_bytes = frame_bytes(general.buffer.bytes().len());
        Some(done)
    }

    /// The key of the frame, once its bytes have changed.
    fn read_changed_key(&mut self) {
        let Some(general) = &self.switch.general else { return };
        let bytes = general.buffer.bytes();
        if let Some(mut key) = Layers::locate(bytes).key(bytes, self.packet.in_port) {
            key.keep_written(&self.packet.key);
            self.packet.key = key;
        }
    }

    /// A time to live has ended: the controllers hear of it.
    pub(in crate::switch) fn report_expired(&mut self) {
        let max_len = self.switch.general.as_ref().map_or(0, |general| general.miss_send_len);
        self.packet_in(PacketInReason::InvalidTtl, max_len);
    }

    /// The frame as it is now is kept while a bucket works on a copy of it.
    pub(in crate::switch) fn open_copy(&mut self, depth: usize) -> Looks {
        let PacketContext { frame_bytes, edited, .. } = *self.packet;
        if edited {
            self.switch.save(depth);
        }
        Looks { copy: self.packet.copy.take(), frame_bytes, is_edited: edited }
    }

    /// The bucket is done with its copy.
    pub(in crate::switch) fn close_copy(&mut self, depth: usize, before: Looks) {
        if let Some(changed) = self.packet.copy.take() {
            self.frames.release(changed);
        }
        (self.packet.copy, self.packet.frame_bytes) = (before.copy, before.frame_bytes);
        self.packet.edited = before.is_edited;
        if before.is_edited {
            self.switch.restore(depth);
        }
    }

    /// Queues the frame at a port, as it is now.
    pub(in crate::switch) fn queue_at(&mut self, place: usize) -> Result<(), Stop> {
        let port = &mut self.switch.ports[place];
        if port.is_closed() {
            port.counters.not_sent += 1;
            let port = port.number;
            self.switch.note(|_| TraceStep::NotSent { port });
            return Ok(());
        }
        if self.packet.outputs >= self.switch.policy.copies_max {
            return Err(self.spend());
        }
        self.packet.outputs += 1;
        let Some(frame) = self.frame_now() else {
            // One of several outputs, perhaps: it is this port that does not send it.
            self.switch.ports[place].counters.not_sent += 1;
            self.switch.drop_output(DropReason::Malformed, self.packet, self.frames, self.fx);
            return Ok(());
        };
        self.frames.retain(frame);
        let (queue, bytes) = (self.packet.queue, self.frames.bytes(frame));
        self.switch.note(|switch| TraceStep::Output {
            port: switch.ports[place].number,
            queue,
            frame: bytes.to_vec(),
        });
        self.enqueue(place, frame);
        Ok(())
    }

    /// Queues a frame of the store, with the commands that it takes along.
    fn enqueue(&mut self, place: usize, frame: FrameId) {
        let Self { switch, packet, frames, fx, .. } = self;
        let queue = u8::try_from(packet.queue).unwrap_or(u8::MAX - 1);
        let behind = packet.commands > 0 && switch.sends_commands_behind();
        if packet.commands > 0 && !behind {
            switch.send_commands(place, queue, packet, *frames);
        }
        let queued = Queued {
            frame,
            wire_bits: bits_of(packet.frame_bytes),
            cookie: packet.cookie,
            since: packet.now,
        };
        if switch.ports[place].enqueue(queue, queued, *frames, fx).is_err() {
            let refused = Refused { entered: packet.place, place, frame_bytes: packet.frame_bytes };
            report_refused(&mut switch.ports, refused, queued, *frames, fx);
            frames.release(frame);
        }
        if behind {
            switch.send_commands(place, queue, packet, *frames);
        }
    }

    /// The frame in the store that looks as it does now; `None` if it has become too long.
    #[inline]
    pub(in crate::switch) fn frame_now(&mut self) -> Option<FrameId> {
        match &self.switch.general {
            Some(general) if self.packet.edited => {
                if self.packet.copy.is_none() {
                    self.packet.copy = self.frames.insert(general.buffer.bytes_to_send());
                }
                self.packet.copy
            }
            _ => Some(self.packet.frame),
        }
    }
}

/// Why a frame goes no further: the reason of its drop; `None` if it waits in a buffer.
pub(in crate::switch) type Stop = Option<DropReason>;

impl<F: Frames> Machine for Executor<'_, F> {
    type Stop = Stop;
    type Groups = Arc<Groups>;
    type Outside = Outside;

    fn look_up(&mut self, table: u8) -> Result<CompactInstructions, Stop> {
        let Self { switch, packet, .. } = self;
        let level = Tables::level_of(table, switch.level, switch.admitted);
        // A switch of no table at all knows nobody.
        let Some(state) = switch.tables.get_mut(level, table) else {
            return Err(Some(DropReason::Unknown));
        };
        let first = self.first.take();
        let (found, probes) = first.unwrap_or_else(|| state.table().look_up(&packet.key));
        packet.work.lookups += 1;
        packet.work.probes += probes;
        if let Some(attendre) = switch.general.as_ref().and_then(|it| it.attendre.as_ref())
            && attendre.is_keeping()
        {
            let precedence = found.map(|slot| state.table().entry(slot).precedence);
            if let Some(place) = attendre.keeper(table, precedence, &packet.key, packet.left) {
                return Err(self.keep(place));
            }
        }
        state.count(found, packet.now, packet.frame_bytes);
        if let Some(trace) = &mut switch.trace {
            let entry = found.map(|slot| Box::new(state.table().entry(slot).clone()));
            trace.push(TraceStep::Table { level, table, entry });
        }
        let Some(slot) = found else { return Err(Some(DropReason::Unknown)) };
        let instructions = *state.compact(slot);
        if instructions.cookie != 0 {
            packet.cookie = instructions.cookie;
        }
        (packet.level, packet.table, packet.slot) = (level, table, slot);
        packet.entry_cookie = instructions.cookie;
        packet.is_miss = instructions.is_table_miss;
        Ok(instructions)
    }

    /// A frame changes no tables.
    fn entry(&self) -> &Entry {
        let PacketContext { level, table, slot, .. } = *self.packet;
        self.switch.tables.get(level, table).expect("looked up before").table().entry(slot)
    }

    fn ask_meter(&mut self, id: u32) -> Result<(), Stop> {
        let Self { switch, packet, .. } = self;
        if packet.paid == Some(id) {
            return Ok(());
        }
        // An entry with an unknown meter is refused when it is added; deleting a meter deletes
        // its entries. So this is a defence: an unknown meter passes nothing.
        let bits = bits_metered(&switch.config, packet.frame_bytes);
        let state = switch.tables.meter_mut(id).ok_or(Some(DropReason::Policed))?;
        let judged = state.judge(packet.arrival, bits, packet.frame_bytes);
        switch.note(|_| TraceStep::Meter { id, passes: judged != Some(BandEffect::Drop) });
        match judged {
            Some(BandEffect::Drop) => Err(Some(DropReason::Policed)),
            None => Ok(()),
            Some(BandEffect::Remark(steps)) => {
                self.change_bytes(|buffer| buffer.raise_drop_precedence(steps));
                self.read_changed_key();
                Ok(())
            }
        }
    }

    fn write_metadata(&mut self, value: u64, mask: u64) {
        self.packet.key.set_metadata(value, mask);
    }

    fn end_tables(&mut self) {
        self.packet.entry_cookie = NO_COOKIE;
    }

    fn set(&mut self) -> &mut ActionSet {
        &mut self.set
    }

    fn set_edits(&mut self) -> Option<&mut EditSet> {
        self.switch.general.as_mut().map(|general| &mut general.set)
    }

    fn write_command(&mut self, index: u16) -> Result<(), Stop> {
        self.take_along(index)
    }

    #[inline]
    fn begin_action(&mut self, step: ActionStep) -> Result<(), Stop> {
        self.packet.work.actions += 1;
        if self.packet.work.actions > self.switch.policy.actions_per_frame_max {
            return Err(self.spend());
        }
        self.switch.note(|_| TraceStep::Action(step));
        Ok(())
    }

    fn set_queue(&mut self, queue: u32) {
        self.packet.queue = queue;
    }

    fn observe(&mut self, id: u32) -> Result<(), Stop> {
        let Self { switch, packet, frames, fx, .. } = self;
        packet.work.monitors += 1;
        let PacketContext { now, arrival, frame_bytes, .. } = **packet;
        if let Some(state) = switch.tables.monitor_mut(id) {
            let wanted = state.see(arrival, frames.bytes(packet.frame), frame_bytes);
            if wanted > 0 {
                switch.ask_for(wanted, id, (now, arrival), *frames, fx);
            }
        }
        Ok(())
    }

    fn edit(&mut self, edit: Edit) -> Result<(), Stop> {
        let done = self.change(edit);
        if self.packet.edited {
            self.read_changed_key();
        }
        done.map_err(|TtlExpired| {
            self.report_expired();
            Some(DropReason::NoOutput)
        })
    }

    fn send_to_controllers(&mut self, max_len: u16) -> Result<(), Stop> {
        // Whether somebody hears it or not: that is where the entry sends it.
        self.packet.outputs += 1;
        self.packet_in(Switch::packet_in_reason(self.packet), max_len);
        Ok(())
    }

    fn take_along(&mut self, index: u16) -> Result<(), Stop> {
        self.switch.take_along(index, self.packet);
        Ok(())
    }

    fn ports(&self) -> usize {
        self.switch.ports.len()
    }

    fn place_of(&self, port: u32) -> Option<usize> {
        self.switch.port_index.get(&port).copied()
    }

    #[inline]
    fn send(&mut self, place: usize) -> Result<(), Stop> {
        if Some(place) == self.packet.place { Ok(()) } else { self.queue_at(place) }
    }

    fn send_back(&mut self) -> Result<(), Stop> {
        self.packet.place.map_or(Ok(()), |place| self.queue_at(place))
    }

    fn send_as_bridge(&mut self) -> Result<(), Stop> {
        let Self { switch, packet, .. } = self;
        let Some(general) = &mut switch.general else { return Ok(()) };
        let (vlan, source, destination) = packet.key.addresses();
        if packet.place.is_some() {
            general.bridge.learn(packet.now, vlan, source, packet.in_port);
        }
        match general.bridge.find(packet.now, vlan, destination) {
            Some(number) => interpret::output(self, number),
            None => interpret::flood(self),
        }
    }

    fn groups(&self) -> Arc<Groups> {
        self.switch.groups.clone()
    }

    fn chosen(&self, groups: &Groups, group: &GroupState) -> Chosen {
        self.switch.live(groups).chosen(group)
    }

    fn count_group(&mut self, id: u32) -> Result<(), Stop> {
        if let Some(counters) = self.switch.general.as_mut().and_then(|it| it.groups.get_mut(id)) {
            counters.all.add(self.packet.frame_bytes);
        }
        Ok(())
    }

    fn choose_by_headers(
        &mut self,
        groups: &Groups,
        group: &GroupState,
        mut bucket: impl FnMut(&mut Self, usize) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let chosen = self.switch.live(groups).choose_bucket(group, &self.packet.key);
        chosen.map_or(Ok(()), |place| bucket(self, place))
    }

    fn open_bucket(&mut self, id: u32, place: usize, changes: bool) -> Result<Outside, Stop> {
        if let Some(counters) = self.switch.general.as_mut().and_then(|it| it.groups.get_mut(id)) {
            counters.buckets[place].add(self.packet.frame_bytes);
        }
        self.switch.note(|_| TraceStep::Bucket { group: id, bucket: place });
        let PacketContext { queue, entry_cookie, depth, key, .. } = *self.packet;
        let before = changes.then(|| (self.open_copy(depth), key));
        self.packet.depth += 1;
        self.packet.entry_cookie = NO_COOKIE;
        Ok(Outside { queue, entry_cookie, before })
    }

    fn close_bucket(&mut self, outside: Outside, ended: Result<(), Stop>) -> Result<(), Stop> {
        let Outside { queue, entry_cookie, before } = outside;
        (self.packet.queue, self.packet.entry_cookie) = (queue, entry_cookie);
        self.packet.depth -= 1;
        if let Some((looks, key)) = before {
            self.packet.key = key;
            self.close_copy(self.packet.depth, looks);
        }
        // What has ended is the bucket's own copy, unless the frame has cost as much as it may.
        if self.packet.spent { ended } else { Ok(()) }
    }
}
