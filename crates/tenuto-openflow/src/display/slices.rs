//! Slices as text.

use super::syntax::{Join, PortNo};
use crate::slice_messages::{SliceStatus, SlicesMessage};
use std::fmt::{self, Display, Formatter};

impl Display for SlicesMessage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request => write!(f, "SLICES_REQUEST"),
            Self::Reply { more, slices } => {
                let more = if *more { " (more)" } else { "" };
                write!(f, "SLICES_REPLY [{}]{more}", Join("; ", slices.iter()))
            }
        }
    }
}

impl Display for SliceStatus {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let ports = self.ports.iter().map(|port| PortNo(*port));
        write!(f, "{} dpid=0x{:016x} ports={}", self.name, self.datapath_id, Join(",", ports))?;
        write!(f, " connections={} entries={}", self.connections, self.entries)?;
        write!(f, " frames={}/{} escaped={}", self.received, self.sent, self.escaped)?;
        write!(f, " messages={} refused={} limited={}", self.messages, self.refused, self.limited)?;
        write!(f, " packet_ins_limited={}", self.packet_ins_limited)
    }
}
