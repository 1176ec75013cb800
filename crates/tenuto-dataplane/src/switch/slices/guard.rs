//! Messages of a slice's controllers, judged before they are carried out: the budget, and what reaches out of the
//! slice.
//!
//! This is for the controller's sake: it is told by an error what can never work (`*_EPERM`, OpenFlow 1.3.5, section
//! 7.4.4). No frame depends on it, since each is judged again when it leaves
//! (`sliced.rs`).

use super::budget::{Budget, MessageBudget, MessageKind};
use super::traffic::SliceTraffic;
use std::sync::Arc;
use tenuto_openflow::constants::port;
use tenuto_openflow::{
    Action, BadAction, BadRequest, Body, ErrorCode, Experimenter, FlowMod, FlowModCommand,
    FlowModFailed, Instruction, ModesMessage, Oxm, QueuesMessage,
};
use tenuto_units::Instant;

/// The flag of a match on VLANs that a tag is there (`OFPVID_PRESENT`).
const VLAN_PRESENT: u128 = 0x1000;

/// What makes a switch the virtual datapath of a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceConfig {
    /// What it may receive and send.
    pub traffic: Arc<SliceTraffic>,
    /// What its control messages may take.
    pub budget: MessageBudget,
    /// Whether its controllers may only read: those of the operator, to whom belongs what is no slice's.
    pub reads_only: bool,
}

/// What a slice's controllers have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceMessages {
    /// Messages.
    pub all: u64,
    /// Those refused because they reach out of the slice.
    pub refused: u64,
    /// Those refused because they are more than the budget.
    pub limited: u64,
    /// Packet-ins that were not made because they are more than the budget.
    pub packet_ins_limited: u64,
}

/// Frames of a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceCounters {
    /// Those that entered and are its own.
    pub received: u64,
    /// Those that left.
    pub sent: u64,
    /// Those that were to leave and are not its own.
    pub escaped: u64,
}

/// A slice's state beside that of its switch.
#[derive(Clone, Debug)]
pub(crate) struct SliceState {
    pub(crate) config: SliceConfig,
    pub(crate) budget: Budget,
    pub(crate) messages: SliceMessages,
}

impl SliceState {
    pub(crate) fn new(config: &SliceConfig) -> Self {
        let budget = Budget::new(config.budget);
        Self { config: config.clone(), budget, messages: SliceMessages::default() }
    }

    /// Counts a message; an error if it is more than the budget, or reaches out of the slice.
    pub(crate) fn judge(&mut self, now: Instant, body: &Body) -> Result<(), ErrorCode> {
        self.messages.all += 1;
        if !self.budget.takes(MessageKind::of_type(body.type_()), now) {
            self.messages.limited += 1;
            return Err(BadRequest::Eperm.into());
        }
        let judged = match self.config.reads_only {
            true if !only_reads(body) => Err(BadRequest::Eperm.into()),
            true => Ok(()),
            false => self.config.traffic.judge(body),
        };
        self.messages.refused += u64::from(judged.is_err());
        judged
    }
}

/// Whether a message changes nothing, and sends nothing.
fn only_reads(body: &Body) -> bool {
    match body {
        Body::FlowMod(_) | Body::GroupMod(_) | Body::MeterMod(_) | Body::PacketOut(_) => false,
        Body::PortMod(_) | Body::TableMod(_) => false,
        Body::Experimenter(Experimenter::Queues(message)) => {
            matches!(message, QueuesMessage::DetailRequest { .. })
        }
        Body::Experimenter(Experimenter::Modes(message)) => matches!(
            message,
            ModesMessage::ModeStatusRequest
                | ModesMessage::MonitorStatsRequest
                | ModesMessage::ShadowStatsRequest { .. }
        ),
        Body::Experimenter(Experimenter::Slices(_)) => true,
        Body::Experimenter(_) => false,
        Body::MultipartRequest(request) => !matches!(
            &request.body,
            tenuto_openflow::RequestBody::TableFeatures(list) if !list.is_empty()
        ),
        _ => true,
    }
}

impl SliceTraffic {
    fn judge(&self, body: &Body) -> Result<(), ErrorCode> {
        match body {
            Body::FlowMod(flow_mod) => self.judge_flow(flow_mod),
            Body::GroupMod(group_mod) => {
                group_mod.buckets.iter().try_for_each(|bucket| self.judge_actions(&bucket.actions))
            }
            Body::PacketOut(packet_out) => self.judge_actions(&packet_out.actions),
            // Levels and commands between switches are those of a whole network.
            Body::Experimenter(Experimenter::Modes(_) | Experimenter::Attendre(_)) => {
                Err(BadRequest::Eperm.into())
            }
            _ => Ok(()),
        }
    }

    fn judge_flow(&self, flow_mod: &FlowMod) -> Result<(), ErrorCode> {
        if matches!(flow_mod.command, FlowModCommand::Delete | FlowModCommand::DeleteStrict) {
            return Ok(());
        }
        // In further tables a frame may be in the middle of its changes.
        let is_first = flow_mod.table_id == 0;
        if is_first && !flow_mod.match_.oxms.iter().all(|oxm| self.may_match(oxm)) {
            return Err(FlowModFailed::Eperm.into());
        }
        flow_mod.instructions.iter().try_for_each(|instruction| match instruction {
            Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) => {
                self.judge_actions(actions)
            }
            _ => Ok(()),
        })
    }

    /// Whether a frame of the slice can match a field.
    fn may_match(&self, oxm: &Oxm) -> bool {
        let (Some(number), Some(value)) = (oxm.number(), oxm.value_bits()) else { return true };
        let mask = oxm.mask_bits();
        match number {
            0 => value > port::MAX.into() || u32::try_from(value).is_ok_and(|it| self.has_port(it)),
            6 => self.may_have_vlan(value, mask.unwrap_or(u128::MAX)),
            11 | 12 | 22 | 23 => {
                let [value, mask] = [value, mask.unwrap_or(u128::MAX)].map(low_bits);
                // A probe has no sender.
                let is_probe = number == 22 && value & mask == 0;
                is_probe || self.may_have(value, mask, number == 12)
            }
            _ => true,
        }
    }

    fn may_have_vlan(&self, value: u128, mask: u128) -> bool {
        let fits = |number: u128| (number ^ value) & mask == 0;
        let is_met = |vlan: u16| fits(VLAN_PRESENT | u128::from(vlan)) || vlan == 0 && fits(0);
        (0..0xfff).any(|vlan| is_met(vlan) && self.has_vlan(vlan))
    }

    fn judge_actions(&self, actions: &[Action]) -> Result<(), ErrorCode> {
        let goes = |action: &Action| match action {
            Action::SetField(oxm) => self.may_set(oxm),
            Action::Buffer { .. } | Action::Encap(_) | Action::Monitor(_) => false,
            _ => true,
        };
        match actions.iter().all(goes) {
            true => Ok(()),
            false => Err(BadAction::Eperm.into()),
        }
    }

    /// Whether a frame with this value is still one of the slice.
    fn may_set(&self, oxm: &Oxm) -> bool {
        match (oxm.number(), oxm.value_bits()) {
            (Some(6), Some(value)) => self.has_vlan(u16::try_from(value & 0xfff).unwrap_or(0)),
            (Some(11 | 22 | 23), Some(value)) => self.has_address(low_bits(value)),
            (Some(12), Some(value)) => self.has_peer(low_bits(value)),
            _ => true,
        }
    }
}

const fn low_bits(value: u128) -> u32 {
    (value & 0xffff_ffff) as u32
}
