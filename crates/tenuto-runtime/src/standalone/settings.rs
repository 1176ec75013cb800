//! What a stand-alone switch is told at its start; everything else it is told over OpenFlow.

use super::endpoint::{Endpoint, ListenAt};
use super::queue_levels::QueueLevels;
use std::path::PathBuf;
use tenuto_dataplane::switch::{FailMode, MessageBudget};
use tenuto_io::{PortKind, ThreadSettings};
use tenuto_units::{Rate, Span};

/// One port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSettings {
    /// Its number in OpenFlow, from 1.
    pub number: u32,
    /// The interface, which is also its name in OpenFlow.
    pub interface: String,
    /// How frames get in and out; `None` for AF_PACKET with a ring, and without where there is no
    /// memory for one. A port in memory sends back whatever leaves by it.
    pub kind: Option<PortKind>,
    /// Paced rate; `None` hands frames to the device as fast as it takes them.
    pub rate: Option<Rate>,
    /// Queues, in strict priority unless `levels` lets some share a level.
    pub queues: u8,
    /// Which queues share a level, and by which weights.
    pub levels: QueueLevels,
    /// Bytes on the wire that wait at most.
    pub buffer_bytes: u64,
    /// Where what passes is written to.
    pub tap: Option<TapSettings>,
    /// The switch at the other end and its port there: a trunk, which carries signals of mode changes.
    pub peer: Option<(String, u32)>,
}

/// A capture of what passes a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapSettings {
    /// The file.
    pub file: PathBuf,
    /// Bytes of a file at most.
    pub bytes_max: u64,
    /// Files: with 1 the capture ends when it is full, with more the oldest goes.
    pub files: u16,
    /// Which frames.
    pub direction: TapDirection,
}

/// Which frames a capture holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TapDirection {
    /// All.
    #[default]
    Both,
    /// Those that enter the switch.
    Received,
    /// Those that leave it.
    Sent,
}

/// One controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerSettings {
    /// Where it is.
    pub endpoint: Endpoint,
    /// Further connections beside the main one.
    pub auxiliary: u8,
}

/// Files for TLS, PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Who may vouch for peers.
    pub ca: PathBuf,
    /// Our certificate, and what leads from it to the peer's authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// What a stand-alone switch is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchSettings {
    /// What people call it.
    pub name: String,
    /// OpenFlow datapath id.
    pub datapath_id: u64,
    /// Its ports.
    pub ports: Vec<PortSettings>,
    /// Controllers that it connects to.
    pub controllers: Vec<ControllerSettings>,
    /// Where tools and controllers may connect to it.
    pub listen: Vec<ListenAt>,
    /// What it does without a controller.
    pub fail_mode: FailMode,
    /// Flow tables.
    pub tables: u8,
    /// Entries over all tables.
    pub entries_max: usize,
    /// Distinct masks over all tables: each is a probe of a look-up at worst.
    pub masks_max: usize,
    /// Actions over all entries.
    pub actions_max: usize,
    /// Buckets of one group.
    pub buckets_max: usize,
    /// Times that one frame is sent at most, or once by every port if these are more.
    pub copies_max: u32,
    /// Whether every table stays in the pipeline, whatever a request for table features leaves out.
    pub fixed_tables: bool,
    /// Groups.
    pub groups_max: usize,
    /// Meters.
    pub meters_max: usize,
    /// Packets that wait for a controller's word.
    pub buffers_max: u16,
    /// Packet-ins of one port in a second; `None` without limit.
    pub packet_ins_per_s: Option<u32>,
    /// Bytes that wait for a controller before asynchronous messages to it are dropped.
    pub async_bytes_max: usize,
    /// Silence after which a controller is asked whether it is there, and given up after as much.
    pub probe: Span,
    /// Longest pause between attempts to connect.
    pub backoff_max: Span,
    /// For `tls:` and `ptls:`.
    pub tls: Option<TlsFiles>,
    /// How the data path waits and is scheduled.
    pub thread: ThreadSettings,
    /// Threads that receive and send for it; none: it does so itself.
    pub io_threads: IoThreads,
    /// What keys of trunks are made of, the same in all switches of a network; without it no port is a trunk.
    pub link_secret: Option<[u8; 16]>,
    /// Bytes that meters count beyond the frame without its FCS: 4 with it, 24 for what a line carries.
    pub meter_extra_bytes: u32,
    /// Virtual datapaths that share it; none: it is one datapath. With slices, controllers and listeners of the
    /// switch are those of its operator, who may only read.
    pub slices: Vec<SliceSettings>,
}

/// A slice of the switch: a virtual datapath with controllers of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceSettings {
    /// What people call it.
    pub name: String,
    /// The datapath id that its controllers see.
    pub datapath_id: u64,
    /// Its ports, by their numbers, each with its share of the rate.
    pub ports: Vec<(u32, Option<Rate>)>,
    /// Bytes on the wire that wait at each port at most.
    pub buffer_bytes: u64,
    /// VLANs, 0 for frames without one; `None`: all.
    pub vlans: Option<Vec<u16>>,
    /// IPv4 networks, each with the length of its prefix; none: all frames.
    pub networks: Vec<(std::net::Ipv4Addr, u8)>,
    /// What its control messages may take.
    pub budget: MessageBudget,
    /// Controllers that it connects to.
    pub controllers: Vec<ControllerSettings>,
    /// Where tools and controllers may connect to it.
    pub listen: Vec<ListenAt>,
    /// What it does without a controller.
    pub fail_mode: FailMode,
    /// Flow tables.
    pub tables: u8,
    /// Entries over all tables.
    pub entries_max: usize,
    /// Distinct masks over all tables.
    pub masks_max: usize,
    /// Actions over all entries.
    pub actions_max: usize,
    /// Groups.
    pub groups_max: usize,
    /// Meters.
    pub meters_max: usize,
}

/// Threads beside the data path that serve groups of ports; they wait and are scheduled as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoThreads {
    /// How many; no more than there are ports are started.
    pub count: usize,
    /// The processor of each, the first again behind the last; none: any.
    pub processors: Vec<usize>,
}

impl SwitchSettings {
    /// A switch without ports and controllers.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            datapath_id: 1,
            ports: Vec::new(),
            controllers: Vec::new(),
            listen: Vec::new(),
            fail_mode: FailMode::Secure,
            tables: 64,
            entries_max: 100_000,
            masks_max: 1_024,
            actions_max: 2_000_000,
            buckets_max: 256,
            copies_max: 512,
            fixed_tables: false,
            groups_max: 1_024,
            meters_max: 4_096,
            buffers_max: 256,
            packet_ins_per_s: Some(10_000),
            async_bytes_max: 1 << 20,
            probe: Span::from_s(5),
            backoff_max: Span::from_s(8),
            tls: None,
            thread: ThreadSettings::default(),
            io_threads: IoThreads::default(),
            link_secret: None,
            // As users of other switches expect it: frames with their FCS.
            meter_extra_bytes: 4,
            slices: Vec::new(),
        }
    }
}

impl PortSettings {
    /// A port that is not paced, with eight queues.
    pub fn new(number: u32, interface: &str) -> Self {
        Self {
            number,
            interface: interface.to_owned(),
            kind: None,
            rate: None,
            queues: 8,
            levels: QueueLevels::default(),
            buffer_bytes: 1 << 20,
            tap: None,
            peer: None,
        }
    }
}
