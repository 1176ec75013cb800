//! Attendre's messages: message sets, configuration, what is buffered (\[Attendre\] Figs. 6 and 7).

use super::{Done, Request};
use crate::switch::attendre::{Asked, Command};
use crate::switch::classifier::key::Pattern;
use crate::switch::tables::entry::ActionStep;
use crate::switch::{PortRole, Switch, SwitchEvent};
use crate::{Effects, Frames};
use tenuto_openflow::{
    Action, AttendreConfig, AttendreMessage, BadAction, BadRequest, Body, BufferStats, Encap,
    ErrorCode, Experimenter, FlowMod, FlowModCommand, FlowModFailed, Instruction, MeterModFailed,
    Version,
};
use tenuto_units::{Instant, Span};
use tenuto_wire::attendre::MATCH_BYTES_MAX;

/// Encap actions of one entry or packet-out.
const COMMANDS_MAX: usize = 64;

impl Switch {
    pub(super) fn attendre_message(
        &mut self,
        request: Request,
        message: &AttendreMessage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        if self.attendre().is_none() {
            return Err(BadRequest::BadExpType.into());
        }
        let now = request.now;
        match message {
            AttendreMessage::Config(config) => self.attendre_config(request, *config),
            AttendreMessage::SetFlowMod { set, flow_mod } => {
                self.bind(*set);
                let done = self.set_flow_mod(now, set.version, flow_mod, frames, fx);
                self.carried_out(now, *set, frames, fx);
                done
            }
            AttendreMessage::SetPacketOut { set, packet_out } => {
                self.bind(*set);
                let done = self.packet_out(now, packet_out, true, frames, fx);
                self.carried_out(now, *set, frames, fx);
                done
            }
            AttendreMessage::SetEmpty(set) => {
                self.bind(*set);
                self.carried_out(now, *set, frames, fx);
                Ok(())
            }
            AttendreMessage::BuffersRequest => {
                for reply in self.buffers_replies() {
                    self.answer(request, Body::Experimenter(Experimenter::Attendre(reply)), fx);
                }
                Ok(())
            }
            AttendreMessage::PacketIn { .. } | AttendreMessage::BuffersReply { .. } => {
                Err(BadRequest::BadType.into())
            }
        }
    }

    fn attendre_config(&mut self, request: Request, config: AttendreConfig) -> Done {
        let meter = (config.meter_id != 0).then_some(config.meter_id);
        let is_known = |id: u32| self.tables.has_meter(id);
        if !meter.is_none_or(is_known) {
            return Err(MeterModFailed::UnknownMeter.into());
        }
        let Some(attendre) = self.attendre_mut() else {
            return Err(BadRequest::BadExpType.into());
        };
        attendre.meter = meter;
        attendre.set_timeout(Span::from_ns(config.timeout_ns));
        if let Some(connection) = self.connection(request.connection) {
            connection.uses_attendre = config.is_on;
        }
        Ok(())
    }

    fn set_flow_mod(
        &mut self,
        now: Instant,
        version: Version,
        flow_mod: &FlowMod,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        self.check_waiting(flow_mod)?;
        self.flow_mod(now, None, flow_mod, Some(version), fx)?;
        self.release_waiting(now, flow_mod, true, frames, fx)
    }

    /// A flow-mod with buffer actions: the entry without them, and buffers over it. One that does
    /// nothing but buffer leaves no entry.
    pub(super) fn flow_mod_with_buffers(
        &mut self,
        now: Instant,
        level: Option<u8>,
        flow_mod: &FlowMod,
        version: Option<Version>,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        if self.attendre().is_none() {
            return Err(BadAction::BadExpType.into());
        }
        let mut rest = flow_mod.clone();
        let mut asked = Vec::new();
        for instruction in &mut rest.instructions {
            if let Instruction::ApplyActions(actions) = instruction {
                actions.retain(|action| match action {
                    Action::Buffer { version, messages } => {
                        asked.push((*version, *messages));
                        false
                    }
                    _ => true,
                });
            }
        }
        let is_nothing =
            |i: &Instruction| matches!(i, Instruction::ApplyActions(actions) if actions.is_empty());
        rest.instructions.retain(|instruction| !is_nothing(instruction));
        let pattern = Pattern::from_match(&flow_mod.match_)?;
        match rest.instructions.is_empty() && rest.command == FlowModCommand::Add {
            true if !self.has_table(flow_mod.table_id) => {
                return Err(FlowModFailed::BadTableId.into());
            }
            true => {}
            false => self.flow_mod(now, level, &rest, version, fx)?,
        }
        for (version, messages) in asked {
            let asked = Asked {
                table: flow_mod.table_id,
                precedence: flow_mod.priority,
                pattern,
                matching: flow_mod.match_.clone(),
                version: Some(version),
                messages,
            };
            self.open_for_set(asked, now);
        }
        Ok(())
    }

    /// Whether an encap action can be carried out: its port is a trunk, its match one.
    pub(super) fn check_encap(&self, encap: &Encap) -> Result<ActionStep, ErrorCode> {
        if self.attendre().is_none() {
            return Err(BadAction::BadExpType.into());
        }
        let place = self.port_index.get(&encap.port).ok_or(BadAction::BadOutPort)?;
        let is_trunk = matches!(self.config.ports[*place].role, PortRole::Trunk(_));
        if !is_trunk || encap.match_.to_oxm_bytes().len() > MATCH_BYTES_MAX {
            return Err(BadAction::BadArgument.into());
        }
        Pattern::from_match(&encap.match_)?;
        // Which of the commands it is, the caller knows.
        Ok(ActionStep::Encap(0))
    }

    fn buffers_replies(&self) -> Vec<AttendreMessage> {
        let Some(attendre) = self.attendre() else { return Vec::new() };
        let buffers = attendre.in_order().map(|(table_id, entry, buffer)| BufferStats {
            version: buffer.version.unwrap_or_default(),
            messages: (buffer.messages, buffer.version.map_or(0, |v| attendre.done(v))),
            table_id,
            phase: buffer.phase,
            priority: entry.precedence,
            frames: u32::try_from(buffer.frames.len()).unwrap_or(u32::MAX),
            number: buffer.number,
            match_: buffer.matching.clone(),
        });
        AttendreMessage::buffers_replies(attendre.totals, buffers.collect())
    }
}

/// Numbers the encap steps of a list of actions and collects their commands.
pub(super) fn collect_commands(
    steps: &mut [ActionStep],
    actions: &[Action],
    commands: &mut Vec<Command>,
) -> Done {
    for (step, action) in steps.iter_mut().zip(actions) {
        if let (ActionStep::Encap(place), Action::Encap(encap)) = (step, action) {
            if commands.len() >= COMMANDS_MAX {
                return Err(BadAction::TooMany.into());
            }
            *place = u16::try_from(commands.len()).map_err(|_| BadAction::TooMany)?;
            commands.push(Command::new(encap));
        }
    }
    Ok(())
}

/// Whether any action of a flow-mod is to buffer.
pub(super) fn has_buffers(flow_mod: &FlowMod) -> bool {
    let lists = flow_mod.instructions.iter().filter_map(|instruction| match instruction {
        Instruction::ApplyActions(actions) => Some(actions),
        _ => None,
    });
    lists.flatten().any(|action| matches!(action, Action::Buffer { .. }))
}
