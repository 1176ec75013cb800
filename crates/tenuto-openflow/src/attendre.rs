//! Attendre's messages and actions: message sets, what a switch is to keep, and what it keeps
//! (\[Attendre\] section IV; docs/theory/attendre.md).
//!
//! `docs/reference/experimenter.md` describes them byte by byte.

use crate::constants::{OFP_HEADER_LEN, OFP_MESSAGE_LEN_MAX};
use crate::encap::Version;
use crate::error::{BadRequest, ErrorCode};
use crate::flow::FlowMod;
use crate::multipart::split_by_len;
use crate::oxm::{Match, Oxm};
use crate::packet::{PacketIn, PacketOut};
use crate::wire::{Reader, Writer, closed_enum};

/// Types of these messages.
pub(crate) mod exp_type {
    pub(crate) const CONFIG: u32 = 12;
    pub(crate) const SET_FLOW_MOD: u32 = 13;
    pub(crate) const SET_PACKET_OUT: u32 = 14;
    pub(crate) const SET_EMPTY: u32 = 15;
    pub(crate) const PACKET_IN: u32 = 16;
    pub(crate) const BUFFERS_REQUEST: u32 = 17;
    pub(crate) const BUFFERS_REPLY: u32 = 18;
}

/// The flag of a buffers reply that more of it follows.
const BUFFERS_MORE: u8 = 1;
/// Message header, experimenter id and type, flags, totals.
const BUFFERS_HEADER_LEN: usize = OFP_HEADER_LEN + 8 + 8 + 9 * 8;

/// The message set that a message is one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MessageSet {
    /// Its version.
    pub version: Version,
    /// Messages in the set of this switch.
    pub messages: u16,
    /// The number of the packet-in that the set answers ([`AttendreMessage::PacketIn`]); 0 at
    /// switches that sent none.
    pub answers: u64,
}

/// Messages about Attendre.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AttendreMessage {
    /// Switches Attendre on or off.
    Config(AttendreConfig),
    /// A flow-mod of a message set. A buffer named in it goes through the tables when the set is
    /// complete, ahead of all others.
    SetFlowMod {
        /// The set.
        set: MessageSet,
        /// The flow-mod.
        flow_mod: FlowMod,
    },
    /// A packet-out of a message set.
    SetPacketOut {
        /// The set.
        set: MessageSet,
        /// The packet-out.
        packet_out: PacketOut,
    },
    /// A message of a set that changes nothing: the whole of a set without other messages.
    SetEmpty(MessageSet),
    /// A packet-in. What arrives later with the same headers waits for the set that answers it.
    PacketIn {
        /// Names it, from 1.
        number: u64,
        /// The packet-in.
        packet_in: PacketIn,
    },
    /// Asks for the buffers.
    BuffersRequest,
    /// What is and was buffered.
    BuffersReply {
        /// Whether more messages of this reply follow.
        more: bool,
        /// Counts over all buffers.
        totals: BufferTotals,
        /// The buffers there are.
        buffers: Vec<BufferStats>,
    },
}

/// How a switch takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AttendreConfig {
    /// Whether packets are buffered at all. Off, the switch is one of plain OpenFlow.
    pub is_on: bool,
    /// The meter at whose rate buffers are released; 0 for none: at once.
    pub meter_id: u32,
    /// How long a buffer may wait for its set, in nanoseconds; 0 for what the switch thinks right.
    pub timeout_ns: u64,
}

/// Counts over all buffers of a switch since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BufferTotals {
    /// Frames put into buffers.
    pub buffered: u64,
    /// Frames that left buffers to be matched again.
    pub released: u64,
    /// Frames dropped because their buffer was full.
    pub overflowed: u64,
    /// Frames dropped from buffers by a raise of the mode.
    pub purged: u64,
    /// Buffers whose set was not complete in time.
    pub timed_out: u64,
    /// Message sets completed.
    pub completed: u64,
    /// Commands sent to other switches.
    pub commands_sent: u64,
    /// Commands of other switches accepted.
    pub commands_accepted: u64,
    /// Commands refused: from a host port, forged, repeated or malformed.
    pub commands_rejected: u64,
}

closed_enum! {
    /// What a buffer waits for.
    BufferPhase: u8 {
        /// The rest of its message set.
        Waiting = 0 "waiting",
        /// Its turn: the set is complete, frames leave at the rate of the meter.
        Releasing = 1 "releasing",
    }
}

/// A buffer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BufferStats {
    /// The set that it waits for; all zero while the packet-in is unanswered.
    pub version: Version,
    /// Messages in that set, and how many of them were carried out.
    pub messages: (u16, u16),
    /// The table where it stands.
    pub table_id: u8,
    /// Waiting or releasing.
    pub phase: BufferPhase,
    /// Its priority.
    pub priority: u16,
    /// Frames in it.
    pub frames: u32,
    /// The number of the packet-in that opened it; 0 if a command or an action did.
    pub number: u64,
    /// What it keeps.
    pub match_: Match,
}

impl MessageSet {
    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (version, answers, messages) = (Version::read(r)?, r.u64()?, r.u16()?);
        r.skip(6)?;
        Ok(Self { version, messages, answers })
    }

    fn write(self, w: &mut Writer<'_>) {
        self.version.write(w);
        w.u64(self.answers);
        w.u16(self.messages);
        w.zeros(6);
    }
}

impl Match {
    /// The conditions as bytes without header and padding, as Attendre commands carry them.
    pub fn to_oxm_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut w = Writer::new(&mut bytes);
        self.oxms.iter().for_each(|oxm| oxm.write(&mut w));
        bytes
    }

    /// Reads what [`Match::to_oxm_bytes`] wrote.
    ///
    /// # Errors
    /// As for the conditions of any match: OpenFlow's code for what is malformed.
    pub fn from_oxm_bytes(bytes: &[u8]) -> Result<Self, ErrorCode> {
        let bad_len = ErrorCode::BadMatch(crate::error::BadMatch::BadLen);
        Ok(Self { oxms: Reader::new(bytes, bad_len).list(Oxm::read)? })
    }
}

impl AttendreMessage {
    /// The reply with these buffers, as messages that each fit.
    pub fn buffers_replies(totals: BufferTotals, buffers: Vec<BufferStats>) -> Vec<Self> {
        const ROOM: usize = OFP_MESSAGE_LEN_MAX - BUFFERS_HEADER_LEN;
        let parts = split_by_len(buffers, ROOM, BufferStats::write);
        let last = parts.len() - 1;
        let reply = |(i, buffers)| Self::BuffersReply { more: i < last, totals, buffers };
        parts.into_iter().enumerate().map(reply).collect()
    }

    pub(crate) const fn exp_type(&self) -> u32 {
        match self {
            Self::Config(_) => exp_type::CONFIG,
            Self::SetFlowMod { .. } => exp_type::SET_FLOW_MOD,
            Self::SetPacketOut { .. } => exp_type::SET_PACKET_OUT,
            Self::SetEmpty(_) => exp_type::SET_EMPTY,
            Self::PacketIn { .. } => exp_type::PACKET_IN,
            Self::BuffersRequest => exp_type::BUFFERS_REQUEST,
            Self::BuffersReply { .. } => exp_type::BUFFERS_REPLY,
        }
    }

    /// `None` for a type that is not one of these.
    pub(crate) fn read(exp_type: u32, r: &mut Reader<'_>) -> Result<Option<Self>, ErrorCode> {
        Ok(Some(match exp_type {
            exp_type::CONFIG => Self::Config(AttendreConfig::read(r)?),
            exp_type::SET_FLOW_MOD => {
                Self::SetFlowMod { set: MessageSet::read(r)?, flow_mod: FlowMod::read(r)? }
            }
            exp_type::SET_PACKET_OUT => {
                Self::SetPacketOut { set: MessageSet::read(r)?, packet_out: PacketOut::read(r)? }
            }
            exp_type::SET_EMPTY => Self::SetEmpty(MessageSet::read(r)?),
            exp_type::PACKET_IN => {
                Self::PacketIn { number: r.u64()?, packet_in: PacketIn::read(r)? }
            }
            exp_type::BUFFERS_REQUEST => Self::BuffersRequest,
            exp_type::BUFFERS_REPLY => {
                let flags = r.u8()?;
                r.skip(7)?;
                let totals = BufferTotals::read(r)?;
                let buffers = r.list(BufferStats::read)?;
                Self::BuffersReply { more: flags & BUFFERS_MORE != 0, totals, buffers }
            }
            _ => return Ok(None),
        }))
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        match self {
            Self::Config(config) => config.write(w),
            Self::SetFlowMod { set, flow_mod } => {
                set.write(w);
                flow_mod.write(w);
            }
            Self::SetPacketOut { set, packet_out } => {
                set.write(w);
                packet_out.write(w);
            }
            Self::SetEmpty(set) => set.write(w),
            Self::PacketIn { number, packet_in } => {
                w.u64(*number);
                packet_in.write(w);
            }
            Self::BuffersRequest => {}
            Self::BuffersReply { more, totals, buffers } => {
                w.u8(if *more { BUFFERS_MORE } else { 0 });
                w.zeros(7);
                totals.write(w);
                buffers.iter().for_each(|buffer| buffer.write(w));
            }
        }
    }
}

impl AttendreConfig {
    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let is_on = r.u8()?;
        r.skip(3)?;
        let (meter_id, timeout_ns) = (r.u32()?, r.u64()?);
        let is_on = match is_on {
            0 => false,
            1 => true,
            _ => return Err(BadRequest::BadExpType.into()),
        };
        Ok(Self { is_on, meter_id, timeout_ns })
    }

    fn write(self, w: &mut Writer<'_>) {
        w.u8(u8::from(self.is_on));
        w.zeros(3);
        w.u32(self.meter_id);
        w.u64(self.timeout_ns);
    }
}

impl BufferTotals {
    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        Ok(Self {
            buffered: r.u64()?,
            released: r.u64()?,
            overflowed: r.u64()?,
            purged: r.u64()?,
            timed_out: r.u64()?,
            completed: r.u64()?,
            commands_sent: r.u64()?,
            commands_accepted: r.u64()?,
            commands_rejected: r.u64()?,
        })
    }

    fn write(&self, w: &mut Writer<'_>) {
        let Self { buffered, released, overflowed, purged, timed_out, completed, .. } = *self;
        let Self { commands_sent, commands_accepted, commands_rejected, .. } = *self;
        let frames = [buffered, released, overflowed, purged, timed_out, completed];
        let commands = [commands_sent, commands_accepted, commands_rejected];
        frames.into_iter().chain(commands).for_each(|count| w.u64(count));
    }
}

impl BufferStats {
    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (version, number) = (Version::read(r)?, r.u64()?);
        let messages = (r.u16()?, r.u16()?);
        let (table_id, phase, priority) = (r.u8()?, r.u8()?, r.u16()?);
        let frames = r.u32()?;
        r.skip(4)?;
        let phase = BufferPhase::from_wire(phase).ok_or(BadRequest::BadExpType)?;
        let match_ = Match::read(r)?;
        Ok(Self { version, messages, table_id, phase, priority, frames, number, match_ })
    }

    fn write(&self, w: &mut Writer<'_>) {
        self.version.write(w);
        w.u64(self.number);
        w.u16(self.messages.0);
        w.u16(self.messages.1);
        w.u8(self.table_id);
        w.u8(self.phase.to_wire());
        w.u16(self.priority);
        w.u32(self.frames);
        w.zeros(4);
        self.match_.write(w);
    }
}
