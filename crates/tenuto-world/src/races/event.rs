//! Events of a run, and what they do to tables.

use super::matching::Matching;

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A switch has looked a packet up.
    PacketHandled,
    /// A switch has carried a message of the controller out.
    MessageHandled,
    /// A switch has carried a barrier out.
    Barrier,
    /// An entry has expired.
    Expired,
    /// Anything else: it only passes packets and messages on.
    Passed,
}

/// An entry as it stands in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowEntry {
    /// What it matches.
    pub matching: Matching,
    /// Higher wins.
    pub priority: u16,
    /// What it does, as it was sent.
    pub actions: Vec<u8>,
    /// Ports that it sends to.
    pub outputs: Vec<u32>,
}

/// What a flow-mod does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Add, or replace an equal one.
    Add,
    /// Change actions; of that very entry if it is strict.
    Modify {
        /// Same match and priority only.
        is_strict: bool,
    },
    /// Delete; that very entry if it is strict.
    Delete {
        /// Same match and priority only.
        is_strict: bool,
    },
}

/// A flow-mod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// What it does.
    pub command: Command,
    /// With these fields.
    pub entry: FlowEntry,
    /// A deletion is for entries that send to this port only.
    pub out_port: Option<u32>,
    /// Whether it is refused if it overlaps.
    pub checks_overlap: bool,
}

/// An access to the table of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// A packet was looked up; `None` if no entry matched.
    Read {
        /// The packet.
        packet: Matching,
        /// What matched.
        entry: Option<FlowEntry>,
    },
    /// A flow-mod.
    Write(Write),
    /// An entry has expired.
    Expiry(FlowEntry),
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its number in the record, which grows with time.
    pub id: u64,
    /// What has happened.
    pub kind: EventKind,
    /// At which switch.
    pub datapath: Option<u64>,
    /// The packet that it takes.
    pub packet_in: Option<u64>,
    /// The packets that it sends.
    pub packets_out: Vec<u64>,
    /// The message that it takes.
    pub message_in: Option<u64>,
    /// The messages that it sends.
    pub messages_out: Vec<u64>,
    /// What it does to the table, each with its time in seconds.
    pub accesses: Vec<(Access, f64)>,
    /// In words.
    pub note: String,
}

/// A recorded run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// In the order of the record.
    pub events: Vec<Event>,
    /// Whether that is the order in which switches accessed their tables.
    pub has_table_order: bool,
}
