//! Packets that a controller sends, from its message or from the buffer (OpenFlow 1.3.5, section
//! 7.3.7).

use super::Done;
use super::attendre::collect_commands;
use crate::switch::attendre::Command;
use crate::switch::pipeline::PacketContext;
use crate::switch::pipeline::executor::Executor;
use crate::switch::policy::ACTIONS_MAX;
use crate::switch::tables::entry::ActionStep;
use crate::switch::{Switch, SwitchEvent};
use crate::{DropReason, Effects, Frames};
use tenuto_openflow::constants::{NO_BUFFER, port};
use tenuto_openflow::{
    Action, BadAction, BadRequest, ErrorCode, FlowMod, FlowModCommand, PacketOut,
};
use tenuto_units::Instant;

/// What happens to a packet of a controller.
enum PacketOutStage {
    Tables,
    Steps(Vec<ActionStep>),
}

impl PacketOutStage {
    fn does_something(&self) -> bool {
        !matches!(self, Self::Steps(steps) if steps.is_empty())
    }
}

/// A packet of a controller.
struct Injected<'a> {
    in_port: u32,
    bytes: &'a [u8],
    /// Whether it is the one that a message set answers: it goes ahead of those that wait.
    is_first: bool,
}

/// The buffered packet that a flow-mod names; a deletion names none (section 7.3.4.1).
fn named_buffer(flow_mod: &FlowMod) -> Option<u32> {
    use FlowModCommand as C;
    let deletes = matches!(flow_mod.command, C::Delete | C::DeleteStrict);
    (!deletes && flow_mod.buffer_id != NO_BUFFER).then_some(flow_mod.buffer_id)
}

impl Switch {
    pub(super) fn packet_out(
        &mut self,
        now: Instant,
        packet_out: &PacketOut,
        is_first: bool,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        let in_port = self.origin(packet_out.in_port)?;
        if packet_out.actions.is_empty()
            && packet_out.data.is_empty()
            && packet_out.buffer_id == NO_BUFFER
        {
            return Ok(()); // No packet, and nothing to do with it.
        }
        let (stages, commands) = self.stages(&packet_out.actions)?;
        let bytes = match packet_out.buffer_id {
            NO_BUFFER => packet_out.data.clone(),
            id => self.take_waiting(id)?.1,
        };
        if self.key_of(&bytes, in_port).is_none() {
            return Err(BadRequest::BadPacket.into());
        }
        if let Some(attendre) = self.attendre_mut() {
            attendre.listed = commands;
        }
        let injected = Injected { in_port, bytes: &bytes, is_first };
        self.inject(now, injected, &stages, frames, fx);
        Ok(())
    }

    /// What the actions of a packet-out come to, with the commands for other switches among them.
    fn stages(&self, actions: &[Action]) -> Result<(Vec<PacketOutStage>, Vec<Command>), ErrorCode> {
        let is_tables =
            |action: &Action| matches!(action, Action::Output { port: port::TABLE, .. });
        // Each time costs as much as a frame does.
        if actions.len() > ACTIONS_MAX || actions.iter().filter(|it| is_tables(it)).count() > 1 {
            return Err(BadAction::TooMany.into());
        }
        let (mut stages, mut commands) = (Vec::new(), Vec::new());
        for listed in actions.split(is_tables) {
            if !stages.is_empty() {
                stages.push(PacketOutStage::Tables);
            }
            let mut steps = self.steps(listed)?;
            collect_commands(&mut steps, listed, &mut commands)?;
            stages.push(PacketOutStage::Steps(steps));
        }
        Ok((stages, commands))
    }

    /// The port that a packet of a controller counts as having entered by. Controllers that name none
    /// send zero or `OFPP_ANY`, which earlier versions of OpenFlow asked for; Open vSwitch takes both.
    fn origin(&self, in_port: u32) -> Result<u32, BadRequest> {
        match in_port {
            port::CONTROLLER | port::ANY | 0 => Ok(port::CONTROLLER),
            number if self.port_index.contains_key(&number) => Ok(number),
            _ => Err(BadRequest::BadPort),
        }
    }

    /// Whether the packet that a flow-mod names is there: the entry is not added without it.
    pub(super) fn check_waiting(&self, flow_mod: &FlowMod) -> Done {
        match (&self.general, named_buffer(flow_mod)) {
            (Some(general), Some(id)) => general.waiting.check(id),
            _ => Ok(()),
        }
    }

    /// The packet that a flow-mod names goes through the tables (section 7.3.4.1).
    pub(super) fn release_waiting(
        &mut self,
        now: Instant,
        flow_mod: &FlowMod,
        is_first: bool,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        let Some(id) = named_buffer(flow_mod).filter(|_| self.policy.is_general()) else {
            return Ok(());
        };
        let (in_port, bytes) = self.take_waiting(id)?;
        let injected = Injected { in_port, bytes: &bytes, is_first };
        self.inject(now, injected, &[PacketOutStage::Tables], frames, fx);
        Ok(())
    }

    fn take_waiting(&mut self, id: u32) -> Result<(u32, Vec<u8>), ErrorCode> {
        let general = self.general.as_mut().ok_or(BadRequest::BufferUnknown)?;
        let waiting = general.waiting.take(id)?;
        Ok((waiting.in_port, waiting.bytes))
    }

    fn inject(
        &mut self,
        now: Instant,
        Injected { in_port, bytes, is_first }: Injected<'_>,
        stages: &[PacketOutStage],
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let place = self.port_index.get(&in_port).copied();
        let size = tenuto_wire::frame_bytes(bytes.len());
        let Some(frame) = frames.insert(bytes) else {
            let message = None;
            let (reason, port, cookie) = (DropReason::PoolFull, in_port, 0);
            let frame_bytes = size;
            let dropped = crate::Dropped { reason, port, cookie, message, frame_bytes };
            return self.report(dropped, place, fx);
        };
        let mut packet = PacketContext::new((now, now), (place, in_port), frame, size);
        packet.key = self.key_of(bytes, in_port).unwrap_or_default();
        packet.is_first = is_first;
        let mut reason = None;
        for (place, stage) in stages.iter().enumerate() {
            let behind = &stages[place + 1..];
            match stage {
                PacketOutStage::Tables if behind.iter().any(PacketOutStage::does_something) => {
                    reason = self.walk_aside(&mut packet, frames, fx);
                }
                PacketOutStage::Tables => reason = self.walk(&mut packet, frames, fx),
                // An empty list drops the packet, as the controller asked for.
                PacketOutStage::Steps(steps) => {
                    let mut executor = Executor::new(self, &mut packet, frames, fx);
                    if let Err(stop) = executor.run_list(steps) {
                        reason = stop;
                        break;
                    }
                }
            }
            if packet.spent {
                break;
            }
        }
        self.finish(reason, &packet, frames, fx);
    }

    /// A copy of the packet goes through the tables, and the list goes on with the packet as it was
    /// (OpenFlow 1.3.5, section 5.11).
    fn walk_aside(
        &mut self,
        packet: &mut PacketContext,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Option<DropReason> {
        let mut aside = PacketContext { depth: packet.depth + 1, copy: None, ..packet.clone() };
        if packet.edited {
            self.save(packet.depth);
        }
        let reason = self.walk(&mut aside, frames, fx);
        if let Some(copy) = aside.copy.take() {
            frames.release(copy);
        }
        if packet.edited {
            self.restore(packet.depth);
        }
        let PacketContext { outputs, work, commands, spent, .. } = aside;
        let before = packet.clone();
        *packet = PacketContext { outputs, work, commands, spent, ..before };
        reason
    }
}
