//! Experimenter messages (OpenFlow 1.3.5, section 7.5.4), Tenuto's own among them.
//!
//! `docs/reference/experimenter.md` describes ours byte by byte. Their id is not registered with
//! the ONF, so they are for switches that are known to be Tenuto's.

use crate::attendre::AttendreMessage;
use crate::constants::{EXPERIMENTER_ID, OFP_HEADER_LEN, OFP_MESSAGE_LEN_MAX};
use crate::error::{BadRequest, ErrorCode};
use crate::flow::FlowMod;
use crate::multipart::{FlowStats, split_by_len};
use crate::queue_messages::QueuesMessage;
use crate::slice_messages::SlicesMessage;
use crate::wire::{Reader, Writer, closed_enum};

/// Types of our messages.
mod exp_type {
    pub(super) const SHADOW_FLOW_MOD: u32 = 1;
    pub(super) const MONITOR_MOD: u32 = 2;
    pub(super) const MODE_CONFIG: u32 = 3;
    pub(super) const MODE_ACTIVATE: u32 = 4;
    pub(super) const MODE_STATUS_REQUEST: u32 = 5;
    pub(super) const MODE_STATUS_REPLY: u32 = 6;
    pub(super) const MODE_EVENT: u32 = 7;
    pub(super) const MONITOR_STATS_REQUEST: u32 = 8;
    pub(super) const MONITOR_STATS_REPLY: u32 = 9;
    pub(super) const SHADOW_STATS_REQUEST: u32 = 10;
    pub(super) const SHADOW_STATS_REPLY: u32 = 11;
}

/// The flag of a shadow stats reply that more of it follows.
const SHADOW_STATS_MORE: u8 = 1;
/// Message header, experimenter id and type, level and flags.
const SHADOW_STATS_HEADER_LEN: usize = OFP_HEADER_LEN + 8 + 8;

/// An experimenter's message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Experimenter {
    /// One of ours, about modes.
    Modes(ModesMessage),
    /// One of ours, about Attendre.
    Attendre(AttendreMessage),
    /// One of ours, about queues.
    Queues(QueuesMessage),
    /// About slices.
    Slices(SlicesMessage),
    /// Another experimenter's, or one of ours that this version does not know.
    Unknown {
        /// The experimenter id.
        experimenter: u32,
        /// Its own type.
        exp_type: u32,
        /// What follows.
        data: Vec<u8>,
    },
}

/// Messages about criticality modes: entries of the other modes, monitors, and the change itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ModesMessage {
    /// Changes the shadow table of a mode level: entries that come into effect with the mode.
    ShadowFlowMod {
        /// The mode level.
        level: u8,
        /// The change.
        flow_mod: FlowMod,
    },
    /// Changes a behaviour monitor.
    MonitorMod(MonitorMod),
    /// Says how a switch takes part in mode changes.
    ModeConfig(ModeConfig),
    /// Puts a switch into a mode.
    ModeActivate {
        /// The generation of the plan.
        generation: u64,
        /// The epoch; epochs order mode changes within a generation.
        epoch: u64,
        /// The mode level.
        level: u8,
    },
    /// Asks for the mode.
    ModeStatusRequest,
    /// The mode, and what led to it.
    ModeStatusReply(ModeStatus),
    /// Something happened, told without being asked.
    ModeEvent(ModeEvent),
    /// Asks for the counters of every monitor.
    MonitorStatsRequest,
    /// The counters of every monitor.
    MonitorStatsReply(Vec<MonitorStats>),
    /// Asks for the shadow entries of a level.
    ShadowStatsRequest {
        /// The mode level.
        level: u8,
    },
    /// The shadow entries of a level.
    ShadowStatsReply {
        /// The mode level.
        level: u8,
        /// Whether more messages of this reply follow.
        more: bool,
        /// Its entries.
        entries: Vec<FlowStats>,
    },
}

closed_enum! {
    /// What a monitor-mod does.
    MonitorCommand: u8 {
        /// Add a monitor.
        Add = 0 "ADD",
        /// Replace the contracts of a monitor.
        Modify = 1 "MOD",
        /// Delete a monitor.
        Delete = 2 "DEL",
    }
}

closed_enum! {
    /// What a monitor counts.
    MonitorKind: u8 {
        /// Messages, by their shim header.
        Message = 0 "message",
        /// Frames.
        Frame = 1 "frame",
    }
}

/// A change of a behaviour monitor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MonitorMod {
    /// What to do.
    pub command: MonitorCommand,
    /// The monitor, as named by [`Action::Monitor`](crate::Action::Monitor).
    pub monitor_id: u32,
    /// What it counts.
    pub kind: MonitorKind,
    /// What is allowed, per mode level; none in deletion.
    pub contracts: Vec<MonitorContract>,
}

/// What a flow may do in a mode level before it counts as a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MonitorContract {
    /// The mode level.
    pub level: u8,
    /// The largest message or frame, in bytes.
    pub bytes_max: u32,
    /// The least distance of two messages or frames, in nanoseconds.
    pub period_ns: u64,
    /// How much earlier than that one may come, in nanoseconds.
    pub jitter_ns: u64,
}

/// How a switch takes part in mode changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModeConfig {
    /// The generation of the plan.
    pub generation: u64,
    /// How many mode levels there are.
    pub levels: u8,
    /// How long all must be quiet before the mode returns, in nanoseconds.
    pub quiet_ns: u64,
    /// How many copies of a signal are sent on each port.
    pub signal_copies: u8,
    /// The least time between mode changes, in nanoseconds.
    pub dwell_ns: u64,
    /// The data paths taking part.
    pub members: Vec<u64>,
}

/// The mode of a switch, and what led to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ModeStatus {
    /// The generation of the plan.
    pub generation: u64,
    /// The epoch of the last change.
    pub epoch: u64,
    /// The mode level in effect.
    pub level: u8,
    /// The mode level whose flows are admitted.
    pub admitted_level: u8,
    /// The phase of the change, as the switch numbers them.
    pub phase: u8,
    /// No controller is connected, and it forwards by learned addresses until one is.
    pub is_standalone: bool,
    /// Frames taken out of queues by mode changes.
    pub purged_frames: u64,
    /// Changes to a higher level.
    pub raises: u64,
    /// Changes back.
    pub returns: u64,
    /// Signals that were not accepted.
    pub signals_rejected: u64,
}

closed_enum! {
    /// What happened.
    ModeEventKind: u8 {
        /// A monitor saw a violation.
        Violation = 0 "violation",
        /// The mode was raised here.
        Raised = 1 "raised",
        /// The tables of a mode came into effect.
        Swapped = 2 "swapped",
        /// The mode returned.
        Returned = 3 "returned",
        /// A signal was not accepted.
        SignalRejected = 4 "signal_rejected",
    }
}

/// Something that happened at a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ModeEvent {
    /// What happened.
    pub kind: ModeEventKind,
    /// The generation of the plan.
    pub generation: u64,
    /// The epoch it belongs to.
    pub epoch: u64,
    /// The mode level before.
    pub from_level: u8,
    /// The mode level after.
    pub to_level: u8,
    /// The monitor that saw it; 0 if none did.
    pub monitor_id: u32,
    /// When, in nanoseconds of the switch's clock.
    pub at_ns: u64,
    /// Frames taken out of queues by it.
    pub purged_frames: u32,
}

/// The counters of a monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MonitorStats {
    /// The monitor.
    pub monitor_id: u32,
    /// Messages or frames it saw.
    pub messages: u64,
    /// Those that violated a contract.
    pub violations: u64,
}

impl Experimenter {
    /// The experimenter id and the type of the message.
    pub const fn ids(&self) -> (u32, u32) {
        match self {
            Self::Modes(message) => (EXPERIMENTER_ID, message.exp_type()),
            Self::Attendre(message) => (EXPERIMENTER_ID, message.exp_type()),
            Self::Queues(message) => (EXPERIMENTER_ID, message.exp_type()),
            Self::Slices(message) => (EXPERIMENTER_ID, message.exp_type()),
            Self::Unknown { experimenter, exp_type, .. } => (*experimenter, *exp_type),
        }
    }

    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (experimenter, exp_type) = (r.u32()?, r.u32()?);
        if experimenter == EXPERIMENTER_ID {
            if let Some(message) = ModesMessage::read(exp_type, r)? {
                return Ok(Self::Modes(message));
            }
            if let Some(message) = AttendreMessage::read(exp_type, r)? {
                return Ok(Self::Attendre(message));
            }
            if let Some(message) = QueuesMessage::read(exp_type, r)? {
                return Ok(Self::Queues(message));
            }
            if let Some(message) = SlicesMessage::read(exp_type, r)? {
                return Ok(Self::Slices(message));
            }
        }
        Ok(Self::Unknown { experimenter, exp_type, data: r.rest().to_vec() })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        let (experimenter, exp_type) = self.ids();
        w.u32(experimenter);
        w.u32(exp_type);
        match self {
            Self::Modes(message) => message.write(w),
            Self::Attendre(message) => message.write(w),
            Self::Queues(message) => message.write(w),
            Self::Slices(message) => message.write(w),
            Self::Unknown { data, .. } => w.bytes(data),
        }
    }
}

impl ModesMessage {
    /// The reply with these shadow entries, as messages that each fit.
    pub fn shadow_stats_replies(level: u8, entries: Vec<FlowStats>) -> Vec<Self> {
        const ROOM: usize = OFP_MESSAGE_LEN_MAX - SHADOW_STATS_HEADER_LEN;
        let parts = split_by_len(entries, ROOM, FlowStats::write);
        let last = parts.len() - 1;
        let reply = |(i, entries)| Self::ShadowStatsReply { level, more: i < last, entries };
        parts.into_iter().enumerate().map(reply).collect()
    }

    const fn exp_type(&self) -> u32 {
        match self {
            Self::ShadowFlowMod { .. } => exp_type::SHADOW_FLOW_MOD,
            Self::MonitorMod(_) => exp_type::MONITOR_MOD,
            Self::ModeConfig(_) => exp_type::MODE_CONFIG,
            Self::ModeActivate { .. } => exp_type::MODE_ACTIVATE,
            Self::ModeStatusRequest => exp_type::MODE_STATUS_REQUEST,
            Self::ModeStatusReply(_) => exp_type::MODE_STATUS_REPLY,
            Self::ModeEvent(_) => exp_type::MODE_EVENT,
            Self::MonitorStatsRequest => exp_type::MONITOR_STATS_REQUEST,
            Self::MonitorStatsReply(_) => exp_type::MONITOR_STATS_REPLY,
            Self::ShadowStatsRequest { .. } => exp_type::SHADOW_STATS_REQUEST,
            Self::ShadowStatsReply { .. } => exp_type::SHADOW_STATS_REPLY,
        }
    }

    /// `None` for a type that this version does not know.
    fn read(exp_type: u32, r: &mut Reader<'_>) -> Result<Option<Self>, ErrorCode> {
        Ok(Some(match exp_type {
            exp_type::SHADOW_FLOW_MOD => {
                Self::ShadowFlowMod { level: read_level(r)?, flow_mod: FlowMod::read(r)? }
            }
            exp_type::MONITOR_MOD => Self::MonitorMod(MonitorMod::read(r)?),
            exp_type::MODE_CONFIG => Self::ModeConfig(ModeConfig::read(r)?),
            exp_type::MODE_ACTIVATE => {
                let (generation, epoch) = (r.u64()?, r.u64()?);
                Self::ModeActivate { generation, epoch, level: read_level(r)? }
            }
            exp_type::MODE_STATUS_REQUEST => Self::ModeStatusRequest,
            exp_type::MODE_STATUS_REPLY => Self::ModeStatusReply(ModeStatus::read(r)?),
            exp_type::MODE_EVENT => Self::ModeEvent(ModeEvent::read(r)?),
            exp_type::MONITOR_STATS_REQUEST => Self::MonitorStatsRequest,
            exp_type::MONITOR_STATS_REPLY => Self::MonitorStatsReply(r.list(MonitorStats::read)?),
            exp_type::SHADOW_STATS_REQUEST => Self::ShadowStatsRequest { level: read_level(r)? },
            exp_type::SHADOW_STATS_REPLY => {
                let (level, flags) = (r.u8()?, r.u8()?);
                r.skip(6)?;
                let entries = r.list(FlowStats::read)?;
                Self::ShadowStatsReply { level, more: flags & SHADOW_STATS_MORE != 0, entries }
            }
            _ => return Ok(None),
        }))
    }

    fn write(&self, w: &mut Writer<'_>) {
        match self {
            Self::ShadowFlowMod { level, flow_mod } => {
                write_level(*level, w);
                flow_mod.write(w);
            }
            Self::MonitorMod(monitor_mod) => monitor_mod.write(w),
            Self::ModeConfig(config) => config.write(w),
            Self::ModeActivate { generation, epoch, level } => {
                w.u64(*generation);
                w.u64(*epoch);
                write_level(*level, w);
            }
            Self::ModeStatusRequest | Self::MonitorStatsRequest => {}
            Self::ModeStatusReply(status) => status.write(w),
            Self::ModeEvent(event) => event.write(w),
            Self::MonitorStatsReply(list) => list.iter().for_each(|monitor| monitor.write(w)),
            Self::ShadowStatsRequest { level } => write_level(*level, w),
            Self::ShadowStatsReply { level, more, entries } => {
                w.u8(*level);
                w.u8(if *more { SHADOW_STATS_MORE } else { 0 });
                w.zeros(6);
                entries.iter().for_each(|entry| entry.write(w));
            }
        }
    }
}

/// A level and 7 bytes of padding.
fn read_level(r: &mut Reader<'_>) -> Result<u8, ErrorCode> {
    let level = r.u8()?;
    r.skip(7)?;
    Ok(level)
}

fn write_level(level: u8, w: &mut Writer<'_>) {
    w.u8(level);
    w.zeros(7);
}

impl MonitorMod {
    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (command, kind) = (r.u8()?, r.u8()?);
        r.skip(2)?;
        let monitor_id = r.u32()?;
        // OpenFlow has no code for a bad value in an experimenter message; this says best that the
        // message is understood in part only.
        let command = MonitorCommand::from_wire(command).ok_or(BadRequest::BadExpType)?;
        let kind = MonitorKind::from_wire(kind).ok_or(BadRequest::BadExpType)?;
        Ok(Self { command, monitor_id, kind, contracts: r.list(MonitorContract::read)? })
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.u8(self.command.to_wire());
        w.u8(self.kind.to_wire());
        w.zeros(2);
        w.u32(self.monitor_id);
        for contract in &self.contracts {
            w.u8(contract.level);
            w.zeros(3);
            w.u32(contract.bytes_max);
            w.u64(contract.period_ns);
            w.u64(contract.jitter_ns);
        }
    }
}

impl MonitorContract {
    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let level = r.u8()?;
        r.skip(3)?;
        let (bytes_max, period_ns, jitter_ns) = (r.u32()?, r.u64()?, r.u64()?);
        Ok(Self { level, bytes_max, period_ns, jitter_ns })
    }
}

impl ModeConfig {
    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (generation, levels, signal_copies) = (r.u64()?, r.u8()?, r.u8()?);
        r.skip(6)?;
        let (quiet_ns, dwell_ns) = (r.u64()?, r.u64()?);
        let members = r.list(Reader::u64)?;
        Ok(Self { generation, levels, quiet_ns, signal_copies, dwell_ns, members })
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.u64(self.generation);
        w.u8(self.levels);
        w.u8(self.signal_copies);
        w.zeros(6);
        w.u64(self.quiet_ns);
        w.u64(self.dwell_ns);
        self.members.iter().for_each(|member| w.u64(*member));
    }
}

/// The flag of a switch that forwards by itself; the other bits are reserved.
const STANDALONE: u8 = 1;

impl ModeStatus {
    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (generation, epoch) = (r.u64()?, r.u64()?);
        let (level, admitted_level, phase) = (r.u8()?, r.u8()?, r.u8()?);
        let flags = r.u8()?;
        r.skip(4)?;
        Ok(Self {
            generation,
            epoch,
            level,
            admitted_level,
            phase,
            is_standalone: flags & STANDALONE != 0,
            purged_frames: r.u64()?,
            raises: r.u64()?,
            returns: r.u64()?,
            signals_rejected: r.u64()?,
        })
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.u64(self.generation);
        w.u64(self.epoch);
        w.u8(self.level);
        w.u8(self.admitted_level);
        w.u8(self.phase);
        w.u8(if self.is_standalone { STANDALONE } else { 0 });
        w.zeros(4);
        w.u64(self.purged_frames);
        w.u64(self.raises);
        w.u64(self.returns);
        w.u64(self.signals_rejected);
    }
}

impl ModeEvent {
    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (kind, from_level, to_level) = (r.u8()?, r.u8()?, r.u8()?);
        r.skip(1)?;
        let monitor_id = r.u32()?;
        let (generation, epoch, at_ns, purged_frames) = (r.u64()?, r.u64()?, r.u64()?, r.u32()?);
        r.skip(4)?;
        let kind = ModeEventKind::from_wire(kind).ok_or(BadRequest::BadExpType)?;
        Ok(Self { kind, generation, epoch, from_level, to_level, monitor_id, at_ns, purged_frames })
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.u8(self.kind.to_wire());
        w.u8(self.from_level);
        w.u8(self.to_level);
        w.zeros(1);
        w.u32(self.monitor_id);
        w.u64(self.generation);
        w.u64(self.epoch);
        w.u64(self.at_ns);
        w.u32(self.purged_frames);
        w.zeros(4);
    }
}

impl MonitorStats {
    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let monitor_id = r.u32()?;
        r.skip(4)?;
        Ok(Self { monitor_id, messages: r.u64()?, violations: r.u64()? })
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.u32(self.monitor_id);
        w.zeros(4);
        w.u64(self.messages);
        w.u64(self.violations);
    }
}
