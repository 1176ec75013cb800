//! Packets that a controller sends, from its message or from the buffer (OpenFlow 1.3.5, section
//! 7.3.7).

use super::Done;
use super::attendre::collect_commands;
use crate::switch::entry::ActionStep;
use crate::switch::pipeline::Passage;
use crate::switch::{Switch, SwitchEvent};
use crate::{DropReason, Effects, Frames};
use tenuto_openflow::constants::{NO_BUFFER, port};
use tenuto_openflow::{Action, BadRequest, FlowMod, FlowModCommand, PacketOut};
use tenuto_units::Instant;

/// What happens to a packet of a controller.
enum Way {
    Tables,
    Steps(Vec<ActionStep>),
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
        // Through the tables is a way of its own: what stands behind it would come after a frame
        // that is already on its way.
        let to_tables =
            |action: &Action| matches!(action, Action::Output { port: port::TABLE, .. });
        let before = packet_out.actions.iter().position(to_tables);
        let listed = &packet_out.actions[..before.unwrap_or(packet_out.actions.len())];
        let mut steps = self.steps(listed)?;
        let mut commands = Vec::new();
        collect_commands(&mut steps, listed, &mut commands)?;
        let bytes = match packet_out.buffer_id {
            NO_BUFFER => packet_out.data.clone(),
            id => self.take_waiting(id)?.1,
        };
        if self.key_of(&bytes, in_port).is_none() {
            return Err(BadRequest::BadPacket.into());
        }
        let mut ways = vec![Way::Steps(steps)];
        ways.extend(before.map(|_| Way::Tables));
        if let Some(attendre) = self.attendre_mut() {
            attendre.listed = commands;
        }
        let packet = Injected { in_port, bytes: &bytes, is_first };
        self.inject(now, packet, &ways, frames, fx);
        Ok(())
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

    fn take_waiting(&mut self, id: u32) -> Result<(u32, Vec<u8>), tenuto_openflow::ErrorCode> {
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
        for way in ways {
            match way {
                Way::Tables => reason = self.walk(&mut passage, frames, fx),
                Way::Steps(steps) => {
                    for &step in steps {
                        self.step(step, &mut passage, frames, fx);
                        if passage.stop.is_some() {
                            break;
                        }
                    }
                    // An empty list drops the packet, as the controller asked for.
                    reason = passage.stop;
                }
            }
            if passage.stop.is_some() {
                break;
            }
        }
        self.finish(reason, &passage, frames, fx);
    }
}
