//! A message as a whole: header and body (OpenFlow 1.3.5, section 7.1).

use crate::async_config::AsyncConfig;
use crate::constants::{OFP_HEADER_LEN, OFP_MESSAGE_LEN_MAX, OFP_VERSION, message_type};
use crate::decode_error::{DecodeError, TooLong};
use crate::error::{BadRequest, ErrorCode, SwitchConfigFailed};
use crate::experimenter::Experimenter;
use crate::flow::{FlowMod, FlowRemoved};
use crate::groups::GroupMod;
use crate::hello::Hello;
use crate::meters::MeterMod;
use crate::multipart::{MultipartReply, MultipartRequest};
use crate::packet::{PacketIn, PacketOut};
use crate::ports::{PortMod, PortStatus};
use crate::queues::QueueConfig;
use crate::session::{ErrorMessage, Features, Role, SwitchConfigMsg, TableMod};
use crate::wire::{Reader, Writer};

/// One OpenFlow message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// The transaction id: a reply has that of its request.
    pub xid: u32,
    /// What it says.
    pub body: Body,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Body {
    /// Offers versions.
    Hello(Hello),
    /// Refuses a request.
    Error(ErrorMessage),
    /// Asks for a sign of life, with data to send back.
    EchoRequest(Vec<u8>),
    /// Gives a sign of life, with the data of the request.
    EchoReply(Vec<u8>),
    /// An experimenter's message.
    Experimenter(Experimenter),
    /// Asks what the switch is.
    FeaturesRequest,
    /// Says what the switch is.
    FeaturesReply(Features),
    /// Asks for the switch's configuration.
    GetConfigRequest,
    /// The switch's configuration.
    GetConfigReply(SwitchConfigMsg),
    /// Sets the switch's configuration.
    SetConfig(SwitchConfigMsg),
    /// A packet for the controller.
    PacketIn(PacketIn),
    /// A flow entry has gone.
    FlowRemoved(FlowRemoved),
    /// A port has changed.
    PortStatus(PortStatus),
    /// A packet to be sent.
    PacketOut(PacketOut),
    /// Changes flow entries.
    FlowMod(FlowMod),
    /// Changes a group.
    GroupMod(GroupMod),
    /// Changes a port.
    PortMod(PortMod),
    /// Changes a meter.
    MeterMod(MeterMod),
    /// Asks for statistics or descriptions.
    MultipartRequest(MultipartRequest),
    /// Statistics or descriptions.
    MultipartReply(MultipartReply),
    /// Asks to be told when everything before it is in effect.
    BarrierRequest,
    /// Everything before the request is in effect.
    BarrierReply,
    /// Asks for a role.
    RoleRequest(Role),
    /// Confirms a role.
    RoleReply(Role),
    /// Changes a table.
    TableMod(TableMod),
    /// Asks for the queues of a port.
    QueueGetConfigRequest {
        /// The port, or [`port::ANY`](crate::constants::port::ANY) for all.
        port: u32,
    },
    /// The queues of a port.
    QueueGetConfigReply(QueueConfig),
    /// Asks which asynchronous messages come here.
    GetAsyncRequest,
    /// Which asynchronous messages come here.
    GetAsyncReply(AsyncConfig),
    /// Sets which asynchronous messages come here.
    SetAsync(AsyncConfig),
    /// A message of another type.
    Unknown {
        /// Its type (`OFPT_*`).
        type_: u8,
        /// What follows the header.
        body: Vec<u8>,
    },
}

impl Message {
    /// A message with this transaction id.
    pub const fn new(xid: u32, body: Body) -> Self {
        Self { xid, body }
    }

    /// Reads the one message that `bytes` are, header included and nothing behind it.
    ///
    /// # Errors
    ///
    /// If the bytes are malformed, or of another version and not a hello.
    pub fn parse(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::read(bytes).map_err(|error| DecodeError::new(error, bytes))
    }

    fn read(bytes: &[u8]) -> Result<Self, ErrorCode> {
        let bad_len = ErrorCode::BadRequest(BadRequest::BadLen);
        let mut r = Reader::new(bytes, bad_len);
        let (version, type_, len, xid) = (r.u8()?, r.u8()?, r.u16()?, r.u32()?);
        if usize::from(len) != bytes.len() {
            return Err(bad_len);
        }
        // A hello must be understood whatever its version, or none could be negotiated (6.3.1).
        let body = match (version, type_) {
            (_, message_type::HELLO) => Body::Hello(Hello::read(version, &mut r)?),
            (OFP_VERSION, _) => Body::read(type_, &mut r)?,
            _ => return Err(BadRequest::BadVersion.into()),
        };
        r.finish()?;
        Ok(Self { xid, body })
    }

    /// Appends the bytes of this message to `out`.
    ///
    /// # Panics
    ///
    /// If it is longer than 65535 bytes. Where its size is not bounded by construction, use
    /// [`Message::try_emit`].
    pub fn emit(&self, out: &mut Vec<u8>) {
        self.try_emit(out).expect("a message is bounded by whoever builds it");
    }

    /// Appends the bytes of this message to `out`, or nothing at all.
    ///
    /// # Errors
    ///
    /// If it is longer than 65535 bytes.
    pub fn try_emit(&self, out: &mut Vec<u8>) -> Result<(), TooLong> {
        let start = out.len();
        let mut w = Writer::new(out);
        w.u8(if let Body::Hello(hello) = &self.body { hello.version } else { OFP_VERSION });
        w.u8(self.body.type_());
        w.zeros(2);
        w.u32(self.xid);
        self.body.write(&mut w);
        w.set_len(start + 2, start);
        if w.is_too_long() {
            out.truncate(start);
            return Err(TooLong);
        }
        Ok(())
    }

    /// The bytes of this message.
    ///
    /// # Panics
    ///
    /// As [`Message::emit`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.emit(&mut out);
        out
    }
}

impl Body {
    /// The number of the message type (`OFPT_*`).
    pub const fn type_(&self) -> u8 {
        match self {
            Self::Hello(_) => message_type::HELLO,
            Self::Error(_) => message_type::ERROR,
            Self::EchoRequest(_) => message_type::ECHO_REQUEST,
            Self::EchoReply(_) => message_type::ECHO_REPLY,
            Self::Experimenter(_) => message_type::EXPERIMENTER,
            Self::FeaturesRequest => message_type::FEATURES_REQUEST,
            Self::FeaturesReply(_) => message_type::FEATURES_REPLY,
            Self::GetConfigRequest => message_type::GET_CONFIG_REQUEST,
            Self::GetConfigReply(_) => message_type::GET_CONFIG_REPLY,
            Self::SetConfig(_) => message_type::SET_CONFIG,
            Self::PacketIn(_) => message_type::PACKET_IN,
            Self::FlowRemoved(_) => message_type::FLOW_REMOVED,
            Self::PortStatus(_) => message_type::PORT_STATUS,
            Self::PacketOut(_) => message_type::PACKET_OUT,
            Self::FlowMod(_) => message_type::FLOW_MOD,
            Self::GroupMod(_) => message_type::GROUP_MOD,
            Self::PortMod(_) => message_type::PORT_MOD,
            Self::MeterMod(_) => message_type::METER_MOD,
            Self::MultipartRequest(_) => message_type::MULTIPART_REQUEST,
            Self::MultipartReply(_) => message_type::MULTIPART_REPLY,
            Self::BarrierRequest => message_type::BARRIER_REQUEST,
            Self::BarrierReply => message_type::BARRIER_REPLY,
            Self::RoleRequest(_) => message_type::ROLE_REQUEST,
            Self::RoleReply(_) => message_type::ROLE_REPLY,
            Self::TableMod(_) => message_type::TABLE_MOD,
            Self::QueueGetConfigRequest { .. } => message_type::QUEUE_GET_CONFIG_REQUEST,
            Self::QueueGetConfigReply(_) => message_type::QUEUE_GET_CONFIG_REPLY,
            Self::GetAsyncRequest => message_type::GET_ASYNC_REQUEST,
            Self::GetAsyncReply(_) => message_type::GET_ASYNC_REPLY,
            Self::SetAsync(_) => message_type::SET_ASYNC,
            Self::Unknown { type_, .. } => *type_,
        }
    }

    fn read(type_: u8, r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        match type_ {
            message_type::ERROR => ErrorMessage::read(r).map(Self::Error),
            message_type::ECHO_REQUEST => Ok(Self::EchoRequest(r.rest().to_vec())),
            message_type::ECHO_REPLY => Ok(Self::EchoReply(r.rest().to_vec())),
            message_type::EXPERIMENTER => Experimenter::read(r).map(Self::Experimenter),
            message_type::FEATURES_REQUEST => Ok(Self::FeaturesRequest),
            message_type::FEATURES_REPLY => Features::read(r).map(Self::FeaturesReply),
            message_type::GET_CONFIG_REQUEST => Ok(Self::GetConfigRequest),
            message_type::GET_CONFIG_REPLY => SwitchConfigMsg::read(r).map(Self::GetConfigReply),
            message_type::SET_CONFIG => {
                // The one message whose wrong length has a code of its own (section 7.4.4).
                *r = Reader::new(r.rest(), SwitchConfigFailed::BadLen.into());
                SwitchConfigMsg::read(r).map(Self::SetConfig)
            }
            message_type::PACKET_IN => PacketIn::read(r).map(Self::PacketIn),
            message_type::FLOW_REMOVED => FlowRemoved::read(r).map(Self::FlowRemoved),
            message_type::PORT_STATUS => PortStatus::read(r).map(Self::PortStatus),
            message_type::PACKET_OUT => PacketOut::read(r).map(Self::PacketOut),
            message_type::FLOW_MOD => FlowMod::read(r).map(Self::FlowMod),
            message_type::GROUP_MOD => GroupMod::read(r).map(Self::GroupMod),
            message_type::PORT_MOD => PortMod::read(r).map(Self::PortMod),
            message_type::METER_MOD => MeterMod::read(r).map(Self::MeterMod),
            message_type::MULTIPART_REQUEST => {
                MultipartRequest::read(r).map(Self::MultipartRequest)
            }
            message_type::MULTIPART_REPLY => MultipartReply::read(r).map(Self::MultipartReply),
            message_type::BARRIER_REQUEST => Ok(Self::BarrierRequest),
            message_type::BARRIER_REPLY => Ok(Self::BarrierReply),
            message_type::ROLE_REQUEST => Role::read(r).map(Self::RoleRequest),
            message_type::ROLE_REPLY => Role::read(r).map(Self::RoleReply),
            message_type::TABLE_MOD => TableMod::read(r).map(Self::TableMod),
            message_type::QUEUE_GET_CONFIG_REQUEST => {
                let port = r.u32()?;
                r.skip(4)?;
                Ok(Self::QueueGetConfigRequest { port })
            }
            message_type::QUEUE_GET_CONFIG_REPLY => {
                QueueConfig::read(r).map(Self::QueueGetConfigReply)
            }
            message_type::GET_ASYNC_REQUEST => Ok(Self::GetAsyncRequest),
            message_type::GET_ASYNC_REPLY => AsyncConfig::read(r).map(Self::GetAsyncReply),
            message_type::SET_ASYNC => AsyncConfig::read(r).map(Self::SetAsync),
            _ => Ok(Self::Unknown { type_, body: r.rest().to_vec() }),
        }
    }

    fn write(&self, w: &mut Writer<'_>) {
        match self {
            Self::Hello(hello) => hello.write(w),
            Self::Error(error) => error.write(w),
            Self::EchoRequest(data) | Self::EchoReply(data) => w.bytes(data),
            Self::Experimenter(experimenter) => experimenter.write(w),
            Self::FeaturesRequest | Self::GetConfigRequest => {}
            Self::BarrierRequest | Self::BarrierReply | Self::GetAsyncRequest => {}
            Self::FeaturesReply(features) => features.write(w),
            Self::GetConfigReply(config) | Self::SetConfig(config) => config.write(w),
            Self::PacketIn(packet_in) => packet_in.write(w),
            Self::FlowRemoved(flow_removed) => flow_removed.write(w),
            Self::PortStatus(port_status) => port_status.write(w),
            Self::PacketOut(packet_out) => packet_out.write(w),
            Self::FlowMod(flow_mod) => flow_mod.write(w),
            Self::GroupMod(group_mod) => group_mod.write(w),
            Self::PortMod(port_mod) => port_mod.write(w),
            Self::MeterMod(meter_mod) => meter_mod.write(w),
            Self::MultipartRequest(request) => request.write(w),
            Self::MultipartReply(reply) => reply.write(w),
            Self::RoleRequest(role) | Self::RoleReply(role) => role.write(w),
            Self::TableMod(table_mod) => table_mod.write(w),
            Self::QueueGetConfigRequest { port } => {
                w.u32(*port);
                w.zeros(4);
            }
            Self::QueueGetConfigReply(config) => config.write(w),
            Self::GetAsyncReply(config) | Self::SetAsync(config) => config.write(w),
            Self::Unknown { body, .. } => w.bytes(body),
        }
    }
}

const _: () = assert!(OFP_HEADER_LEN == 8 && OFP_MESSAGE_LEN_MAX == u16::MAX as usize);

impl DecodeError {
    /// The error message to send back. None if an error message itself was malformed: answering
    /// that could go back and forth for ever.
    pub fn answer(&self) -> Option<Message> {
        let is_error = self.head.get(1) == Some(&message_type::ERROR);
        (!is_error).then(|| Message {
            xid: self.xid,
            body: Body::Error(ErrorMessage::new(self.error, &self.head)),
        })
    }
}
