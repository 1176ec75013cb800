//! Messages as one readable line each, in the manner of `ovs-ofctl`.
//!
//! Meant for traces: everything that decides what a message does is in the line; packet data only by
//! its length. The flow syntax of matches and actions is in `syntax`.

mod attendre;
mod experimenter;
mod flow;
mod multipart;
mod queues;
mod slices;
mod statistics;
mod syntax;
mod tables;

pub use statistics::EntryText;

use crate::constants::NO_BUFFER;
use crate::hello::Hello;
use crate::message::{Body, Message};
use crate::packet::{PacketIn, PacketOut};
use crate::ports::{Port, PortMod};
use crate::session::{ErrorMessage, Features, Role, SwitchConfigMsg};
use crate::wire::Hex;
use std::fmt::{self, Display, Formatter};
use syntax::{Actions, Mac, PortNo, Spaced};

impl Display for Message {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "OFPT_{} (OF1.3) (xid=0x{:x})", self.body.name(), self.xid)?;
        let mut text = String::new();
        self.body.describe(&mut text)?;
        if text.is_empty() { Ok(()) } else { write!(f, ": {text}") }
    }
}

impl Body {
    const fn name(&self) -> &'static str {
        match self {
            Self::Hello(_) => "HELLO",
            Self::Error(_) => "ERROR",
            Self::EchoRequest(_) => "ECHO_REQUEST",
            Self::EchoReply(_) => "ECHO_REPLY",
            Self::Experimenter(_) => "EXPERIMENTER",
            Self::FeaturesRequest => "FEATURES_REQUEST",
            Self::FeaturesReply(_) => "FEATURES_REPLY",
            Self::GetConfigRequest => "GET_CONFIG_REQUEST",
            Self::GetConfigReply(_) => "GET_CONFIG_REPLY",
            Self::SetConfig(_) => "SET_CONFIG",
            Self::PacketIn(_) => "PACKET_IN",
            Self::FlowRemoved(_) => "FLOW_REMOVED",
            Self::PortStatus(_) => "PORT_STATUS",
            Self::PacketOut(_) => "PACKET_OUT",
            Self::FlowMod(_) => "FLOW_MOD",
            Self::GroupMod(_) => "GROUP_MOD",
            Self::PortMod(_) => "PORT_MOD",
            Self::MeterMod(_) => "METER_MOD",
            Self::MultipartRequest(_) => "MULTIPART_REQUEST",
            Self::MultipartReply(_) => "MULTIPART_REPLY",
            Self::BarrierRequest => "BARRIER_REQUEST",
            Self::BarrierReply => "BARRIER_REPLY",
            Self::RoleRequest(_) => "ROLE_REQUEST",
            Self::RoleReply(_) => "ROLE_REPLY",
            Self::TableMod(_) => "TABLE_MOD",
            Self::QueueGetConfigRequest { .. } => "QUEUE_GET_CONFIG_REQUEST",
            Self::QueueGetConfigReply(_) => "QUEUE_GET_CONFIG_REPLY",
            Self::GetAsyncRequest => "GET_ASYNC_REQUEST",
            Self::GetAsyncReply(_) => "GET_ASYNC_REPLY",
            Self::SetAsync(_) => "SET_ASYNC",
            Self::Unknown { .. } => "UNKNOWN",
        }
    }

    fn describe(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        match self {
            Self::Hello(hello) => write!(f, "{hello}"),
            Self::Error(error) => write!(f, "{error}"),
            Self::EchoRequest(data) | Self::EchoReply(data) => {
                write!(f, "{} bytes of payload", data.len())
            }
            Self::Experimenter(message) => write!(f, "{message}"),
            Self::FeaturesRequest | Self::GetConfigRequest | Self::GetAsyncRequest => Ok(()),
            Self::BarrierRequest | Self::BarrierReply => Ok(()),
            Self::FeaturesReply(features) => write!(f, "{features}"),
            Self::GetConfigReply(config) | Self::SetConfig(config) => write!(f, "{config}"),
            Self::PacketIn(packet_in) => write!(f, "{packet_in}"),
            Self::FlowRemoved(flow_removed) => write!(f, "{flow_removed}"),
            Self::PortStatus(status) => write!(f, "{}: {}", status.reason, status.port),
            Self::PacketOut(packet_out) => write!(f, "{packet_out}"),
            Self::FlowMod(flow_mod) => write!(f, "{flow_mod}"),
            Self::GroupMod(group_mod) => write!(f, "{group_mod}"),
            Self::PortMod(port_mod) => write!(f, "{port_mod}"),
            Self::MeterMod(meter_mod) => write!(f, "{meter_mod}"),
            Self::MultipartRequest(request) => write!(f, "{request}"),
            Self::MultipartReply(reply) => write!(f, "{reply}"),
            Self::RoleRequest(role) | Self::RoleReply(role) => write!(f, "{role}"),
            Self::TableMod(table_mod) => write!(f, "{table_mod}"),
            Self::QueueGetConfigRequest { port } => write!(f, "port={}", PortNo(*port)),
            Self::QueueGetConfigReply(config) => write!(f, "{config}"),
            Self::GetAsyncReply(config) | Self::SetAsync(config) => write!(f, "{config}"),
            Self::Unknown { type_, body } => write!(f, "type={type_} {} bytes", body.len()),
        }
    }
}

impl Display for Hello {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "version=0x{:02x}", self.version)?;
        if let Some(bitmap) = self.version_bitmap {
            write!(f, " bitmap=0x{bitmap:x}")?;
        }
        self.elements.iter().try_for_each(|element| {
            write!(f, " element(type={},data={})", element.type_, Hex(&element.data))
        })
    }
}

impl Display for ErrorMessage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.error() {
            Some(error) => write!(f, "{error}")?,
            None => write!(f, "type={} code={}", self.type_, self.code)?,
        }
        write!(f, " {} bytes of request", self.data.len())
    }
}

impl Display for Features {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "dpid:{:016x} n_tables:{} n_buffers:{} auxiliary_id:{} capabilities:0x{:x}",
            self.datapath_id, self.n_tables, self.n_buffers, self.auxiliary_id, self.capabilities
        )
    }
}

impl Display for SwitchConfigMsg {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "flags=0x{:x} miss_send_len={}", self.flags, self.miss_send_len)
    }
}

impl Display for Role {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "role={} generation_id={}", self.role, self.generation_id)
    }
}

/// Where a packet is: in a buffer, or in the message.
fn write_packet(f: &mut Formatter<'_>, buffer_id: u32, data: &[u8]) -> fmt::Result {
    match buffer_id {
        NO_BUFFER => write!(f, " data_len={}", data.len()),
        buffer => write!(f, " buffer=0x{buffer:x} data_len={}", data.len()),
    }
}

impl Display for PacketIn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "table_id={} cookie=0x{:x} total_len={}",
            self.table_id, self.cookie, self.total_len
        )?;
        write!(f, "{} (via {})", Spaced(&self.match_), self.reason)?;
        write_packet(f, self.buffer_id, &self.data)
    }
}

impl Display for PacketOut {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "in_port={} actions={}", PortNo(self.in_port), Actions(&self.actions))?;
        write_packet(f, self.buffer_id, &self.data)
    }
}

impl Display for Port {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (config, state) = (self.config, self.state);
        write!(f, "{}({}): addr:{}", PortNo(self.port_no), self.name, Mac(self.hw_addr))?;
        write!(f, " config:0x{config:x} state:0x{state:x} curr_speed:{}kbps", self.curr_speed)
    }
}

impl Display for PortMod {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "port:{} addr:{}", PortNo(self.port_no), Mac(self.hw_addr))?;
        write!(f, " config:0x{:x}/0x{:x} advertise:0x{:x}", self.config, self.mask, self.advertise)
    }
}
