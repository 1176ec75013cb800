//! Packets that a controller sends, from its message or from the buffer (OpenFlow 1.3.5, section
//! 7.3.7).

use super::attendre::collect_commands;
use super::{ACTIONS_MAX, Done};
use crate::switch::attendre::Command;
use crate::switch::entry::ActionStep;
use crate::switch::pipeline::Passage;
use crate::switch::{Switch, SwitchEvent};
use crate::{DropReason, Effects, Frames};
use tenuto_openflow::constants::{NO_BUFFER, port};
use tenuto_openflow::{
    Action, BadAction, BadRequest, ErrorCode, FlowMod, FlowModCommand, PacketOut,
};
use tenuto_units::Instant;

/// What happens to a packet of a controller.
enum Way {
    Tables,
    Steps(Vec<ActionStep>),
}

impl Way {
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
        let (ways, commands) = self.ways(&packet_out.actions)?;
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
        let packet = Injected { in_port, bytes: &bytes, is_first };
        self.inject(now, packet, &ways, frames, fx);
        Ok(())
    }

    /// What the actions of a packet-out come to, with the commands for other switches among them.
    fn ways(&self, actions: &[Action]) -> Result<(Vec<Way>, Vec<Command>), ErrorCode> {
        let is_tables =
            |action: &Action| matches!(action, Action::Output { port: port::TABLE, .. });
        // Each time costs as much as a frame does.
        if actions.len() > ACTIONS_MAX || actions.iter().filter(|it| is_tables(it)).count() > 1 {
            return Err(BadAction::TooMany.into());
        }
        let (mut ways, mut commands) = (Vec::new(), Vec::new());
        for listed in actions.split(is_tables) {
            if !ways.is_empty() {
                ways.push(Way::Tables);
            }
            let mut steps = self.steps(listed)?;
            collect_commands(&mut steps, listed, &mut commands)?;
            ways.push(Way::Steps(steps));
        }
        Ok((ways, commands))
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
        let Some(id) = named_buffer(flow_mod).filter(|_| self.general.is_some()) else {
            return Ok(());
        };
        let (in_port, bytes) = self.take_waiting(id)?;
        let packet = Injected { in_port, bytes: &bytes, is_first };
        self.inject(now, packet, &[Way::Tables], frames, fx);
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
        ways: &[Way],
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
        let mut passage = Passage::new((now, now), (place, in_port), frame, size);
        passage.key = self.key_of(bytes, in_port).unwrap_or_default();
        passage.is_first = is_first;
        let mut reason = None;
        for (place, way) in ways.iter().enumerate() {
            let behind = &ways[place + 1..];
            reason = match way {
                Way::Tables if behind.iter().any(Way::does_something) => {
                    self.walk_aside(&mut passage, frames, fx)
                }
                Way::Tables => self.walk(&mut passage, frames, fx),
                // An empty list drops the packet, as the controller asked for.
                Way::Steps(steps) => self.list(steps, &mut passage, frames, fx).or(reason),
            };
            if passage.stop.is_some() {
                break;
            }
        }
        self.finish(reason, &passage, frames, fx);
    }
    /// Carries a list of actions out; the reason if the packet goes no further.
    fn list(
        &mut self,
        steps: &[ActionStep],
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Option<DropReason> {
        for &step in steps {
            self.step(step, passage, frames, fx);
            if passage.stop.is_some() {
                break;
            }
        }
        passage.stop
    }

    /// A copy of the packet goes through the tables, and the list goes on with the packet as it was
    /// (OpenFlow 1.3.5, section 5.11).
    fn walk_aside(
        &mut self,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Option<DropReason> {
        let mut aside = Passage { depth: passage.depth + 1, copy: None, ..passage.clone() };
        if passage.edited {
            self.save(passage.depth);
        }
        let reason = self.walk(&mut aside, frames, fx);
        if let Some(copy) = aside.copy.take() {
            frames.release(copy);
        }
        if passage.edited {
            self.restore(passage.depth);
        }
        let Passage { outputs, work, commands, spent, .. } = aside;
        let stop = aside.stop.filter(|_| spent);
        let before = passage.clone();
        *passage = Passage { outputs, work, commands, spent, stop, ..before };
        reason
    }
}
