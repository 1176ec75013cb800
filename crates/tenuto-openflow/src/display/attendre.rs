//! Attendre's messages and actions as text.

use super::syntax::Join;
use crate::attendre::{AttendreConfig, AttendreMessage, BufferStats, BufferTotals, MessageSet};
use crate::encap::{Encap, Version};
use std::fmt::{self, Display, Formatter};

impl Display for Version {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.generation, self.counter)
    }
}

impl Display for MessageSet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "set={} of {}", self.version, self.messages)?;
        if self.answers == 0 { Ok(()) } else { write!(f, " answers={}", self.answers) }
    }
}

impl Display for Encap {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { port, version, messages, table_id, priority, match_ } = self;
        write!(f, "encap(port={port},set={version} of {messages},table={table_id}")?;
        write!(f, ",priority={priority}")?;
        if match_.oxms.is_empty() { f.write_str(")") } else { write!(f, ",{match_})") }
    }
}

impl Display for AttendreMessage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(config) => write!(f, "ATTENDRE_CONFIG {config}"),
            Self::SetFlowMod { set, flow_mod } => write!(f, "SET_FLOW_MOD {set} {flow_mod}"),
            Self::SetPacketOut { set, packet_out } => {
                write!(f, "SET_PACKET_OUT {set} {packet_out}")
            }
            Self::SetEmpty(set) => write!(f, "SET_EMPTY {set}"),
            Self::PacketIn { number, packet_in } => {
                write!(f, "NUMBERED_PACKET_IN number={number} {packet_in}")
            }
            Self::BuffersRequest => f.write_str("BUFFERS_REQUEST"),
            Self::BuffersReply { more, totals, buffers } => {
                let more = if *more { " (more)" } else { "" };
                write!(f, "BUFFERS_REPLY {totals} [{}]{more}", Join("; ", buffers.iter()))
            }
        }
    }
}

impl Display for AttendreConfig {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let state = if self.is_on { "on" } else { "off" };
        write!(f, "{state} meter={} timeout_ns={}", self.meter_id, self.timeout_ns)
    }
}

impl Display for BufferTotals {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "buffered={} released={}", self.buffered, self.released)?;
        write!(f, " overflowed={} purged={}", self.overflowed, self.purged)?;
        write!(f, " timed_out={} completed={}", self.timed_out, self.completed)?;
        write!(f, " commands_sent={}", self.commands_sent)?;
        write!(f, " commands_accepted={}", self.commands_accepted)?;
        write!(f, " commands_rejected={}", self.commands_rejected)
    }
}

impl Display for BufferStats {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (messages, done) = self.messages;
        write!(f, "set={} {done} of {messages} {}", self.version, self.phase)?;
        write!(f, " table={} priority={}", self.table_id, self.priority)?;
        write!(f, " frames={} number={}", self.frames, self.number)?;
        if self.match_.oxms.is_empty() { Ok(()) } else { write!(f, " {}", self.match_) }
    }
}
