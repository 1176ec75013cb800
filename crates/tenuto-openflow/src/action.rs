//! Actions and instructions (OpenFlow 1.3.5, sections 7.2.4 and 7.2.5).

use crate::constants::EXPERIMENTER_ID;
use crate::encap::{Encap, Version};
use crate::error::{BadAction, BadInstruction, ErrorCode};
use crate::oxm::Oxm;
use crate::wire::{Reader, Writer};

/// Type and length.
const TLV_HEADER_LEN: usize = 4;
/// Actions come in multiples of this (section 7.2.5).
const ACTION_ALIGNMENT: usize = 8;

/// Numbers of actions (`enum ofp_action_type`).
mod action_type {
    pub(super) const OUTPUT: u16 = 0;
    pub(super) const COPY_TTL_OUT: u16 = 11;
    pub(super) const COPY_TTL_IN: u16 = 12;
    pub(super) const SET_MPLS_TTL: u16 = 15;
    pub(super) const DEC_MPLS_TTL: u16 = 16;
    pub(super) const PUSH_VLAN: u16 = 17;
    pub(super) const POP_VLAN: u16 = 18;
    pub(super) const PUSH_MPLS: u16 = 19;
    pub(super) const POP_MPLS: u16 = 20;
    pub(super) const SET_QUEUE: u16 = 21;
    pub(super) const GROUP: u16 = 22;
    pub(super) const SET_NW_TTL: u16 = 23;
    pub(super) const DEC_NW_TTL: u16 = 24;
    pub(super) const SET_FIELD: u16 = 25;
    pub(super) const PUSH_PBB: u16 = 26;
    pub(super) const POP_PBB: u16 = 27;
    pub(super) const EXPERIMENTER: u16 = 0xffff;
    /// The subtype of our experimenter action [`Action::Monitor`](super::Action::Monitor).
    pub(super) const SUBTYPE_MONITOR: u16 = 1;
    /// The length of that action after the experimenter id: subtype, padding, monitor.
    pub(super) const MONITOR_DATA_LEN: usize = 8;
    /// The subtype of [`Action::Buffer`](super::Action::Buffer).
    pub(super) const SUBTYPE_BUFFER: u16 = 2;
    /// Subtype, messages, padding, version.
    pub(super) const BUFFER_DATA_LEN: usize = 24;
    /// The subtype of [`Action::Encap`](super::Action::Encap).
    pub(super) const SUBTYPE_ENCAP: u16 = 3;
    /// Subtype, messages, port, version, table, priority, padding; a match follows.
    pub(super) const ENCAP_DATA_LEN_MIN: usize = 32;
}

/// Numbers of instructions (`enum ofp_instruction_type`).
mod instruction_type {
    pub(super) const GOTO_TABLE: u16 = 1;
    pub(super) const WRITE_METADATA: u16 = 2;
    pub(super) const WRITE_ACTIONS: u16 = 3;
    pub(super) const APPLY_ACTIONS: u16 = 4;
    pub(super) const CLEAR_ACTIONS: u16 = 5;
    pub(super) const METER: u16 = 6;
    pub(super) const EXPERIMENTER: u16 = 0xffff;
}

/// What is done to a packet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Send it out of a port.
    Output {
        /// The port, or one of [`port`](crate::constants::port).
        port: u32,
        /// To the controller only: how many bytes
        /// ([`controller_max_len`](crate::constants::controller_max_len)).
        max_len: u16,
    },
    /// Choose the queue of the port it leaves by.
    SetQueue(u32),
    /// Process it by a group.
    Group(u32),
    /// Set a header field; a mask is not allowed, which is not judged here.
    SetField(Oxm),
    /// Copy the time to live from the next-to-outermost header to the outermost.
    CopyTtlOut,
    /// Copy the time to live from the outermost header to the next.
    CopyTtlIn,
    /// Set the time to live of the outermost MPLS label.
    SetMplsTtl(u8),
    /// Decrement the time to live of the outermost MPLS label.
    DecMplsTtl,
    /// Push a VLAN tag of this EtherType.
    PushVlan(u16),
    /// Pop the outer VLAN tag.
    PopVlan,
    /// Push an MPLS label of this EtherType.
    PushMpls(u16),
    /// Pop the outermost MPLS label; what is behind it is of this EtherType.
    PopMpls(u16),
    /// Push a provider backbone bridging service tag of this EtherType.
    PushPbb(u16),
    /// Pop the outermost service tag of provider backbone bridging.
    PopPbb,
    /// Set the IPv4 time to live or IPv6 hop limit.
    SetNwTtl(u8),
    /// Decrement the IPv4 time to live or IPv6 hop limit.
    DecNwTtl,
    /// Account it to a behaviour monitor (Tenuto's experimenter action).
    Monitor(u32),
    /// Keep it until a message set is complete (Tenuto's experimenter action, Attendre).
    Buffer {
        /// The set.
        version: Version,
        /// Messages in it.
        messages: u16,
    },
    /// Tell the next switch to keep what follows, ahead of the first packet only (Tenuto's
    /// experimenter action, Attendre).
    Encap(Encap),
    /// An action of another experimenter, or one of ours that this version does not know.
    Experimenter {
        /// The experimenter id.
        experimenter: u32,
        /// What follows, a multiple of 8 bytes (padded with zeros when sent otherwise).
        data: Vec<u8>,
    },
    /// Any other action.
    Unknown {
        /// Its type (`OFPAT_*`).
        type_: u16,
        /// What follows the header: 4 bytes more than a multiple of 8 (padded when sent otherwise).
        data: Vec<u8>,
    },
}

impl Action {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let bad_len = ErrorCode::BadAction(BadAction::BadLen);
        let (type_, mut body) = read_tlv(r, bad_len)?;
        if !(body.len() + TLV_HEADER_LEN).is_multiple_of(ACTION_ALIGNMENT) {
            return Err(bad_len);
        }
        let action = Self::read_body(type_, &mut body)?;
        body.finish()?;
        Ok(action)
    }

    fn read_body(type_: u16, body: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        match type_ {
            action_type::OUTPUT => {
                let (port, max_len) = (body.u32()?, body.u16()?);
                body.skip(6)?;
                Ok(Self::Output { port, max_len })
            }
            action_type::SET_QUEUE => body.u32().map(Self::SetQueue),
            action_type::GROUP => body.u32().map(Self::Group),
            action_type::PUSH_VLAN => read_padded_u16(body).map(Self::PushVlan),
            action_type::PUSH_MPLS => read_padded_u16(body).map(Self::PushMpls),
            action_type::POP_MPLS => read_padded_u16(body).map(Self::PopMpls),
            action_type::PUSH_PBB => read_padded_u16(body).map(Self::PushPbb),
            action_type::SET_NW_TTL => read_padded_u8(body).map(Self::SetNwTtl),
            action_type::SET_MPLS_TTL => read_padded_u8(body).map(Self::SetMplsTtl),
            action_type::COPY_TTL_OUT => body.skip(4).map(|()| Self::CopyTtlOut),
            action_type::COPY_TTL_IN => body.skip(4).map(|()| Self::CopyTtlIn),
            action_type::DEC_MPLS_TTL => body.skip(4).map(|()| Self::DecMplsTtl),
            action_type::POP_VLAN => body.skip(4).map(|()| Self::PopVlan),
            action_type::POP_PBB => body.skip(4).map(|()| Self::PopPbb),
            action_type::DEC_NW_TTL => body.skip(4).map(|()| Self::DecNwTtl),
            action_type::SET_FIELD => Self::read_set_field(body),
            action_type::EXPERIMENTER => Self::read_experimenter(body),
            _ => Ok(Self::Unknown { type_, data: body.rest().to_vec() }),
        }
    }

    /// The field is followed by less than 8 bytes of padding (section 7.2.5).
    fn read_set_field(body: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let bad_len = ErrorCode::BadAction(BadAction::BadSetLen);
        let mut field = Reader::new(body.rest(), bad_len);
        let oxm = Oxm::read(&mut field)?;
        if field.len() >= ACTION_ALIGNMENT { Err(bad_len) } else { Ok(Self::SetField(oxm)) }
    }

    fn read_experimenter(body: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let experimenter = body.u32()?;
        let subtype = match experimenter {
            EXPERIMENTER_ID if body.len() >= 2 => Some(body.peek_u16(0)?),
            _ => None,
        };
        match (subtype, body.len()) {
            (Some(action_type::SUBTYPE_MONITOR), action_type::MONITOR_DATA_LEN) => {
                body.skip(4)?;
                return body.u32().map(Self::Monitor);
            }
            (Some(action_type::SUBTYPE_BUFFER), action_type::BUFFER_DATA_LEN) => {
                body.skip(2)?;
                let messages = body.u16()?;
                body.skip(4)?;
                return Ok(Self::Buffer { version: Version::read(body)?, messages });
            }
            (Some(action_type::SUBTYPE_ENCAP), action_type::ENCAP_DATA_LEN_MIN..) => {
                body.skip(2)?;
                return Encap::read(body).map(Self::Encap);
            }
            _ => {}
        }
        Ok(Self::Experimenter { experimenter, data: body.rest().to_vec() })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        let start = w.position();
        w.tlv(self.type_(), |w| {
            self.write_body(w);
            // The length of an action includes its padding, unlike that of a match.
            w.pad(start);
        });
    }

    /// The number of the action's type (`OFPAT_*`).
    pub const fn type_(&self) -> u16 {
        match self {
            Self::Output { .. } => action_type::OUTPUT,
            Self::CopyTtlOut => action_type::COPY_TTL_OUT,
            Self::CopyTtlIn => action_type::COPY_TTL_IN,
            Self::SetMplsTtl(_) => action_type::SET_MPLS_TTL,
            Self::DecMplsTtl => action_type::DEC_MPLS_TTL,
            Self::PushMpls(_) => action_type::PUSH_MPLS,
            Self::PopMpls(_) => action_type::POP_MPLS,
            Self::PushPbb(_) => action_type::PUSH_PBB,
            Self::PopPbb => action_type::POP_PBB,
            Self::SetQueue(_) => action_type::SET_QUEUE,
            Self::Group(_) => action_type::GROUP,
            Self::SetField(_) => action_type::SET_FIELD,
            Self::PushVlan(_) => action_type::PUSH_VLAN,
            Self::PopVlan => action_type::POP_VLAN,
            Self::SetNwTtl(_) => action_type::SET_NW_TTL,
            Self::DecNwTtl => action_type::DEC_NW_TTL,
            Self::Monitor(_) | Self::Buffer { .. } | Self::Encap(_) | Self::Experimenter { .. } => {
                action_type::EXPERIMENTER
            }
            Self::Unknown { type_, .. } => *type_,
        }
    }

    /// The body without the zeros that complete it to its alignment.
    fn write_body(&self, w: &mut Writer<'_>) {
        match self {
            Self::Output { port, max_len } => {
                w.u32(*port);
                w.u16(*max_len);
            }
            Self::SetQueue(value) | Self::Group(value) => w.u32(*value),
            Self::SetField(oxm) => oxm.write(w),
            Self::PushVlan(ether_type)
            | Self::PushMpls(ether_type)
            | Self::PopMpls(ether_type)
            | Self::PushPbb(ether_type) => w.u16(*ether_type),
            Self::SetNwTtl(ttl) | Self::SetMplsTtl(ttl) => w.u8(*ttl),
            Self::CopyTtlOut
            | Self::CopyTtlIn
            | Self::DecMplsTtl
            | Self::PopVlan
            | Self::PopPbb
            | Self::DecNwTtl => w.zeros(4),
            Self::Monitor(monitor_id) => {
                w.u32(EXPERIMENTER_ID);
                w.u16(action_type::SUBTYPE_MONITOR);
                w.zeros(2);
                w.u32(*monitor_id);
            }
            Self::Buffer { version, messages } => {
                w.u32(EXPERIMENTER_ID);
                w.u16(action_type::SUBTYPE_BUFFER);
                w.u16(*messages);
                w.zeros(4);
                version.write(w);
            }
            Self::Encap(encap) => {
                w.u32(EXPERIMENTER_ID);
                w.u16(action_type::SUBTYPE_ENCAP);
                encap.write(w);
            }
            Self::Experimenter { experimenter, data } => {
                w.u32(*experimenter);
                w.bytes(data);
            }
            Self::Unknown { data, .. } => w.bytes(data),
        }
    }

    pub(crate) fn write_all(actions: &[Self], w: &mut Writer<'_>) {
        actions.iter().for_each(|action| action.write(w));
    }
}

/// A number of two bytes and as much padding.
fn read_padded_u16(body: &mut Reader<'_>) -> Result<u16, ErrorCode> {
    let value = body.u16()?;
    body.skip(2)?;
    Ok(value)
}

/// A byte and three bytes of padding.
fn read_padded_u8(body: &mut Reader<'_>) -> Result<u8, ErrorCode> {
    let value = body.u8()?;
    body.skip(3)?;
    Ok(value)
}

/// Reads a type and a length that counts both, and returns a reader over what follows.
fn read_tlv<'a>(r: &mut Reader<'a>, bad_len: ErrorCode) -> Result<(u16, Reader<'a>), ErrorCode> {
    let mut whole = Reader::new(r.rest(), bad_len);
    let (type_, len) = (whole.u16()?, usize::from(whole.u16()?));
    let body = whole.part(len.checked_sub(TLV_HEADER_LEN).ok_or(bad_len)?, bad_len)?;
    *r = Reader::new(whole.rest(), r.bad_len());
    Ok((type_, body))
}

/// Padding and actions. A length that no list of actions has is the instruction's fault, not that of
/// an action which is cut off by it.
fn read_actions(body: &mut Reader<'_>) -> Result<Vec<Action>, ErrorCode> {
    body.skip(4)?;
    match body.len().is_multiple_of(ACTION_ALIGNMENT) {
        true => body.list(Action::read),
        false => Err(body.bad_len()),
    }
}

/// What an entry does with a matching packet. Their order on the wire has no meaning; it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// Continue in a later table.
    GotoTable(u8),
    /// Set bits of the metadata.
    WriteMetadata {
        /// The new value.
        metadata: u64,
        /// The bits to set.
        mask: u64,
    },
    /// Merge into the action set.
    WriteActions(Vec<Action>),
    /// Apply at once, in order.
    ApplyActions(Vec<Action>),
    /// Empty the action set.
    ClearActions,
    /// Meter, which may drop.
    Meter(u32),
    /// An instruction of an experimenter.
    Experimenter {
        /// The experimenter id.
        experimenter: u32,
        /// What follows.
        data: Vec<u8>,
    },
    /// Any other instruction.
    Unknown {
        /// Its type (`OFPIT_*`).
        type_: u16,
        /// What follows the header.
        data: Vec<u8>,
    },
}

impl Instruction {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (type_, mut body) = read_tlv(r, BadInstruction::BadLen.into())?;
        let instruction = Self::read_body(type_, &mut body)?;
        body.finish()?;
        Ok(instruction)
    }

    fn read_body(type_: u16, body: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        match type_ {
            instruction_type::GOTO_TABLE => {
                let table_id = body.u8()?;
                body.skip(3)?;
                Ok(Self::GotoTable(table_id))
            }
            instruction_type::WRITE_METADATA => {
                body.skip(4)?;
                Ok(Self::WriteMetadata { metadata: body.u64()?, mask: body.u64()? })
            }
            instruction_type::WRITE_ACTIONS => read_actions(body).map(Self::WriteActions),
            instruction_type::APPLY_ACTIONS => read_actions(body).map(Self::ApplyActions),
            instruction_type::CLEAR_ACTIONS => body.skip(4).map(|()| Self::ClearActions),
            instruction_type::METER => body.u32().map(Self::Meter),
            instruction_type::EXPERIMENTER => {
                Ok(Self::Experimenter { experimenter: body.u32()?, data: body.rest().to_vec() })
            }
            _ => Ok(Self::Unknown { type_, data: body.rest().to_vec() }),
        }
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.tlv(self.type_(), |w| match self {
            Self::GotoTable(table_id) => {
                w.u8(*table_id);
                w.zeros(3);
            }
            Self::WriteMetadata { metadata, mask } => {
                w.zeros(4);
                w.u64(*metadata);
                w.u64(*mask);
            }
            Self::WriteActions(actions) | Self::ApplyActions(actions) => {
                w.zeros(4);
                Action::write_all(actions, w);
            }
            Self::ClearActions => w.zeros(4),
            Self::Meter(meter_id) => w.u32(*meter_id),
            Self::Experimenter { experimenter, data } => {
                w.u32(*experimenter);
                w.bytes(data);
            }
            Self::Unknown { data, .. } => w.bytes(data),
        });
    }

    /// The number of the instruction's type (`OFPIT_*`).
    pub const fn type_(&self) -> u16 {
        match self {
            Self::GotoTable(_) => instruction_type::GOTO_TABLE,
            Self::WriteMetadata { .. } => instruction_type::WRITE_METADATA,
            Self::WriteActions(_) => instruction_type::WRITE_ACTIONS,
            Self::ApplyActions(_) => instruction_type::APPLY_ACTIONS,
            Self::ClearActions => instruction_type::CLEAR_ACTIONS,
            Self::Meter(_) => instruction_type::METER,
            Self::Experimenter { .. } => instruction_type::EXPERIMENTER,
            Self::Unknown { type_, .. } => *type_,
        }
    }

    pub(crate) fn write_all(instructions: &[Self], w: &mut Writer<'_>) {
        instructions.iter().for_each(|instruction| instruction.write(w));
    }
}
