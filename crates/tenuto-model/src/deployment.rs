//! What every node must be told: neutral of any protocol, rounded to what the device can express.
//!
//! A controller compiles a [`SwitchDeployment`] one to one into flow entries, groups, meters and
//! experimenter messages; an end system is set up from a [`HostDeployment`]. Three tables, in the
//! order that soundness asks for (monitor, then meter, then forward):
//!
//! | table | what it does | which level it follows |
//! |---|---|---|
//! | [`TABLE_WATCH`] | monitors of watched flows at their monitoring switches | every level alike |
//! | [`TABLE_POLICE`] | contract meters at the first switch; drops the unknown | admitted level |
//! | [`TABLE_FORWARD`] | queue and outputs | forwarding level |
//!
//! At a raise both levels move at once; at a return the admitted level moves last, so that sources
//! resume only after every switch forwards the lower level again.

use serde::{Deserialize, Serialize};

/// Table of the monitors.
pub const TABLE_WATCH: u8 = 0;
/// Table of the contract meters.
pub const TABLE_POLICE: u8 = 1;
/// Table of queues and outputs.
pub const TABLE_FORWARD: u8 = 2;

/// Outputs of a group, of any device: a group sets the queue and sends, two actions for each, of which a
/// message has room for some thousand.
pub const GROUP_OUTPUTS_MAX: usize = 500;

/// Everything one switch is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchDeployment {
    /// Switch name.
    pub switch: String,
    /// OpenFlow datapath id.
    pub datapath_id: u64,
    /// Its ports.
    pub ports: Vec<PortDeployment>,
    /// Flow entries; those of level 0 and of every level go to the tables, the others are shadow.
    pub entries: Vec<EntrySpec>,
    /// Groups.
    pub groups: Vec<GroupSpec>,
    /// Contract meters.
    pub meters: Vec<MeterSpec>,
    /// Behaviour monitors.
    pub monitors: Vec<MonitorSpec>,
    /// Counts against the profile's limits.
    pub usage: TableUse,
}

/// Counts of what a deployment takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableUse {
    /// Entries in the tables at the start level.
    pub entries: u32,
    /// Shadow entries of higher levels.
    pub shadow: u32,
    /// Meters.
    pub meters: u32,
    /// Groups.
    pub groups: u32,
    /// Largest number of queues used on one port.
    pub queues: u32,
}

/// One port of a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortDeployment {
    /// Port number.
    pub port: u32,
    /// What is attached.
    pub role: PortRole,
    /// Name of the node attached.
    pub peer: String,
    /// Port number at the node attached.
    pub peer_port: u32,
    /// Link rate, bit/s.
    pub rate_bps: u64,
    /// Strict-priority queues in use.
    pub queues: u8,
    /// Buffer of the port, bytes; `None` where the device states no limit.
    pub buffer_bytes: Option<u64>,
}

/// What is attached to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortRole {
    /// A host: never trusted with mode signals.
    Host,
    /// Another switch of the same network.
    Trunk,
}

/// Header fields that an entry asks for; absent fields match anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MatchSpec {
    /// Port of entry.
    pub in_port: Option<u32>,
    /// Destination MAC address.
    pub eth_dst: Option<[u8; 6]>,
    /// EtherType.
    pub eth_type: Option<u16>,
    /// IPv4 source address.
    pub ip_src: Option<[u8; 4]>,
    /// IPv4 destination address.
    pub ip_dst: Option<[u8; 4]>,
    /// IP protocol.
    pub ip_proto: Option<u8>,
    /// UDP destination port.
    pub udp_dst: Option<u16>,
}

/// One flow entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntrySpec {
    /// Table number.
    pub table: u8,
    /// Mode level it belongs to; `None` for every level, in [`TABLE_WATCH`] only.
    pub level: Option<u8>,
    /// OpenFlow entry priority: higher wins.
    pub precedence: u16,
    /// Names the flow: its index in the network plus one; 0 for entries of no flow.
    pub cookie: u64,
    /// Flow name for people, where it serves one.
    pub flow: Option<String>,
    /// Header fields.
    #[serde(rename = "match")]
    pub matching: MatchSpec,
    /// Monitor, in [`TABLE_WATCH`] only: every frame comes by it before a meter of the next table may drop it.
    pub monitor: Option<u32>,
    /// Meter, in [`TABLE_POLICE`] only: what it drops goes no further.
    pub meter: Option<u32>,
    /// Where matching frames go; nothing and no `goto` means dropped.
    pub output: Option<OutputSpec>,
    /// Next table.
    pub goto: Option<u8>,
}

/// Where frames go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputSpec {
    /// One port, one queue.
    Port(GroupOutput),
    /// A copy to each output of the group.
    Group(u32),
}

/// One output: port and queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupOutput {
    /// Port number.
    pub port: u32,
    /// Queue: the flow's scheduling class, 0 = highest.
    pub queue: u8,
}

/// A group of type *all*: one copy per output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSpec {
    /// Group id, from 1.
    pub id: u32,
    /// Its outputs.
    pub outputs: Vec<GroupOutput>,
}

/// A contract meter with one drop band, in multiples of the steps that the device can express.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeterSpec {
    /// Meter id, from 1.
    pub id: u32,
    /// Flow that it polices, or `None` for other traffic.
    pub flow: Option<String>,
    /// Rate, bit/s of the device's own counting.
    pub rate_bps: u64,
    /// Burst, bytes of the device's own counting.
    pub burst_bytes: u64,
}

/// What a monitor judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MonitorKind {
    /// Messages, told apart by the shim header.
    Message,
    /// Every frame by itself.
    Frame,
}

/// A behaviour monitor: the contracts of every level below the flow's highest, and the highest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorSpec {
    /// Monitor id, from 1.
    pub id: u32,
    /// Flow that it watches.
    pub flow: String,
    /// What it judges.
    pub kind: MonitorKind,
    /// One contract per level, lowest first.
    pub contracts: Vec<LevelContract>,
}

/// What a level allows, in the monitor's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelContract {
    /// Mode level.
    pub level: u8,
    /// Largest message (or frame), bytes on the wire: real frames counted, padding and gaps included.
    pub bytes_max: u32,
    /// Least spacing, shortened by the clock tolerance, nanoseconds.
    pub period_ns: u64,
    /// Release jitter plus delay variation up to the monitor, nanoseconds.
    pub jitter_ns: u64,
}

/// Everything one end system is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostDeployment {
    /// Host name.
    pub host: String,
    /// Its ports: number, network it is attached to, rate.
    pub ports: Vec<PortDeployment>,
    /// Flows that it sends.
    pub senders: Vec<SenderSpec>,
    /// Flows that it receives.
    pub receivers: Vec<ReceiverSpec>,
}

/// One flow at its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderSpec {
    /// Flow name.
    pub flow: String,
    /// Index of the flow in the network.
    pub flow_index: u16,
    /// Ports that send a copy each.
    pub ports: Vec<u32>,
    /// Scheduling class per mode, 0 = highest.
    pub queues: Vec<u8>,
}

/// One flow at a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiverSpec {
    /// Flow name.
    pub flow: String,
    /// Index of the flow in the network.
    pub flow_index: u16,
    /// Ports that receive a copy each.
    pub ports: Vec<u32>,
    /// Largest accepted difference between copies, nanoseconds.
    pub skew_max_ns: Option<u64>,
}
