//! A command as an entry holds it (\[Attendre\] section IV.C.2).

use std::sync::Arc;
use tenuto_openflow::{Encap, Version};
use tenuto_wire::CommandRepr;

/// What the next switch behind a port is told, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::switch) struct Command {
    pub(in crate::switch) port: u32,
    version: Version,
    messages: u16,
    table: u8,
    priority: u16,
    /// Match fields as bytes.
    matching: Arc<[u8]>,
}

impl Command {
    pub(in crate::switch) fn new(encap: &Encap) -> Self {
        Self {
            port: encap.port,
            version: encap.version,
            messages: encap.messages,
            table: encap.table_id,
            priority: encap.priority,
            matching: encap.match_.to_oxm_bytes().into(),
        }
    }

    /// As a frame with that number tells it.
    pub(super) fn repr(&self, sequence: u64) -> CommandRepr<'_> {
        CommandRepr {
            table: self.table,
            priority: self.priority,
            messages: self.messages,
            generation: self.version.generation,
            counter: self.version.counter,
            sequence,
            matching: &self.matching,
        }
    }
}

/// A command that the frame at hand takes along.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    pub(super) command: Command,
    /// Level, table and slot of its entry; a slot of `NO_SLOT` if a packet-out brought it.
    pub(super) entry: (u8, u8, u32),
    pub(super) is_sent: bool,
}
