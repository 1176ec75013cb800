//! Commands from switch to switch (\[Attendre\] section IV.C.2;
//! docs/theory/attendre.md, "What waits, where, for what").

use super::buffers::Asked;
use super::command::Outgoing;
use super::{COMMANDS_MAX, is_mutant};
use crate::switch::classifier::key::Pattern;
use crate::switch::pipeline::{NO_SLOT, PacketContext};
use crate::switch::{PortRole, Switch, SwitchEvent};
use crate::{DropReason, Dropped, Effects, FrameId, Frames, Queued, Work};
use tenuto_openflow::{Match, Version};
use tenuto_units::{Instant, wire_bits};
use tenuto_wire::attendre::{COMMAND_DST, COMMAND_LEN_MAX};
use tenuto_wire::{CommandFrame, CommandRepr, frame_bytes};

impl Switch {
    /// The encap action: the frame at hand takes a command along, if no frame did before it.
    pub(in crate::switch) fn take_along(&mut self, index: u16, packet: &mut PacketContext) {
        let entry = (packet.level, packet.table, packet.slot);
        let index = usize::from(index);
        let state = self.tables.get(packet.level, packet.table);
        let Some(attendre) = self.general.as_mut().and_then(|general| general.attendre.as_mut())
        else {
            return;
        };
        let command = match packet.slot {
            NO_SLOT => attendre.listed.get(index),
            slot => state
                .filter(|state| !state.is_spent(slot))
                .and_then(|state| state.table().entry(slot).behaviour.commands.get(index)),
        };
        let Some(command) = command.cloned() else { return };
        if packet.commands == 0 {
            attendre.outgoing.clear();
        }
        if attendre.outgoing.len() < COMMANDS_MAX {
            attendre.outgoing.push(Outgoing { command, entry, is_sent: false });
            packet.commands += 1;
        }
    }

    /// Commands are for the first packet only: their entries have done with them.
    pub(in crate::switch) fn spend_commands(&mut self, packet: &PacketContext) {
        let Some(general) = &self.general else { return };
        let Some(attendre) = &general.attendre else { return };
        if packet.outputs == 0 {
            return;
        }
        for Outgoing { entry: (level, table, slot), .. } in &attendre.outgoing {
            if *slot != NO_SLOT
                && let Some(state) = self.tables.get_mut(*level, *table)
            {
                state.spend(*slot);
            }
        }
    }

    /// Queues the commands that go with the frame at hand through this port, directly ahead of it.
    /// Without room for both the packet goes alone: plain OpenFlow results.
    pub(in crate::switch) fn send_commands(
        &mut self,
        place: usize,
        queue: u8,
        packet: &PacketContext,
        frames: &mut impl Frames,
    ) {
        let config = self.config.clone();
        let PortRole::Trunk(key) = &config.ports[place].role else { return };
        let port = &mut self.ports[place];
        let Some(attendre) = self.general.as_mut().and_then(|general| general.attendre.as_mut())
        else {
            return;
        };
        for outgoing in &mut attendre.outgoing {
            let command = &outgoing.command;
            if outgoing.is_sent || command.port != port.number {
                continue;
            }
            outgoing.is_sent = true;
            port.command_sent += 1;
            let repr = command.repr(port.command_sent);
            let mut buffer = [0; COMMAND_LEN_MAX];
            let Ok(len) = repr.emit(config.mac(), key, &mut buffer) else { continue };
            let bits = |bytes| u32::try_from(wire_bits(bytes)).unwrap_or(u32::MAX);
            let wire_bits = bits(frame_bytes(len));
            let both = u64::from(wire_bits) + u64::from(bits(packet.frame_bytes));
            if !port.egress.has_room(queue, both) {
                continue;
            }
            let Some(frame) = frames.insert(&buffer[..len]) else { continue };
            let queued = Queued { frame, wire_bits, cookie: packet.cookie, since: packet.now };
            match port.egress.enqueue(queue, queued) {
                Ok(()) => attendre.totals.commands_sent += 1,
                Err(_) => frames.release(frame),
            }
        }
    }

    pub(in crate::switch) fn sends_commands_behind(&self) -> bool {
        self.attendre().is_some_and(|_attendre| is_mutant!(_attendre, CommandBehindPacket))
    }

    /// A command arrives: what it speaks of waits here from now on (Fig. 5, lines 2 to 15).
    pub(in crate::switch) fn receive_command(
        &mut self,
        now: Instant,
        place: usize,
        frame: FrameId,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let bytes = frames.bytes(frame);
        let frame_bytes = frame_bytes(bytes.len());
        let work = Work { bytes: frame_bytes, control_messages: 1, ..Work::default() };
        match self.verified_command(place, bytes) {
            Some(asked) => {
                if let Some(attendre) = self.attendre_mut() {
                    attendre.totals.commands_accepted += 1;
                }
                // Without a controller that completes sets nothing may wait for one.
                if self.connections.iter().any(|c| c.uses_attendre) {
                    self.open_for_set(asked, now);
                }
            }
            None => {
                if let Some(attendre) = self.attendre_mut() {
                    attendre.totals.commands_rejected += 1;
                }
                let (reason, port) = (DropReason::CommandRejected, self.ports[place].number);
                let dropped = Dropped { reason, port, cookie: 0, message: None, frame_bytes };
                self.report(dropped, place, fx);
            }
        }
        frames.release(frame);
        work
    }

    /// What the command asks for, if its port, form, key, sender and sequence entitle it.
    fn verified_command(&mut self, place: usize, bytes: &[u8]) -> Option<Asked> {
        self.attendre()?;
        let PortRole::Trunk(key) = &self.config.ports[place].role else { return None };
        let frame = CommandFrame::parse(bytes).ok()?;
        let addressed = bytes.starts_with(&COMMAND_DST.0);
        if !addressed || frame.src() == self.config.mac() || !frame.verify(key) {
            return None;
        }
        let CommandRepr { table, priority, messages, generation, counter, sequence, matching } =
            frame.repr();
        if !self.ports[place].command_seen.accept(sequence) || !self.has_table(table) {
            return None;
        }
        let matching = Match::from_oxm_bytes(matching).ok()?;
        let pattern = Pattern::from_match(&matching).ok()?;
        let version = Some(Version { generation, counter });
        Some(Asked { table, precedence: priority, pattern, matching, version, messages })
    }
}
