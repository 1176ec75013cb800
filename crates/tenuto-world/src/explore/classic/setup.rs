//! What never changes while exploring: topology, what hosts do, protocol, limits, how keys are made.

use super::packet::{Ip, Mac};
use super::property::Property;
use super::transition::Strategy;

/// The other end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Number of the node: hosts first, then switches.
    pub node: u8,
    /// Its port.
    pub port: u8,
}

/// What a host does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends pings to one address.
    Sender {
        /// To whom.
        to: Mac,
        /// How many.
        packets: u8,
        /// Whether it waits for a packet before it sends the next.
        is_sequential: bool,
    },
    /// Answers each packet to it.
    Replier {
        /// Whether it may move, once, after the first.
        may_move: bool,
    },
    /// Opens TCP connections to servers in turn, by ARP where an address is unknown.
    Client {
        /// The servers.
        servers: Vec<Ip>,
        /// How many connections.
        connections: u8,
    },
    /// Takes TCP connections.
    Server {
        /// Whether the controller asks switch 1 for statistics at each packet that it gets.
        has_statistics: bool,
    },
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSetup {
    /// Its name in traces.
    pub name: String,
    /// Its MAC address.
    pub mac: Mac,
    /// Its IPv4 address.
    pub ip: Ip,
    /// What it does.
    pub role: Role,
    /// The switch and port that it hangs at.
    pub at: Peer,
}

/// A switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchSetup {
    /// Its name in traces.
    pub name: String,
    /// By port number; `None` is not connected.
    pub peers: Vec<Option<Peer>>,
}

/// A host's other place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spare {
    /// Number of the host.
    pub host: u8,
    /// The port of its switch that it moves to.
    pub port: u8,
}

/// How switch and controller speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// As it was.
    OpenFlow,
    /// The first switch is answered when the others have confirmed (\[Attendre\] III.C).
    OpenFlowBarrier,
    /// With wait entries, message sets and commands on packets (\[Attendre\] IV).
    Attendre,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::OpenFlow, Self::OpenFlowBarrier, Self::Attendre];

    /// Its word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenFlow => "openflow",
            Self::OpenFlowBarrier => "openflow-barrier",
            Self::Attendre => "attendre",
        }
    }
}

/// Which number a switch gives a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BufferIds {
    /// The one that was freed last.
    #[default]
    LastFreed,
    /// The one that was freed first.
    FirstFreed,
    /// The lowest that is free.
    Lowest,
    /// A new one each time.
    Fresh,
}

/// What the key of a state contains: the default is the classic key, with all it omits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counting {
    /// The order of packets of different names in a queue.
    pub has_queue_order: bool,
    /// What the application has learned under keys that are pairs or addresses.
    pub has_learned: bool,
    /// Commands that wait at switches.
    pub has_commands: bool,
    /// Whether equal rules are one.
    pub merges_rules: bool,
    /// How buffers are numbered.
    pub buffer_ids: BufferIds,
}

/// Which port statistics are told apart: one per class, in megabytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Loads {
    /// One for each way through the application's comparisons, in each of its states
    /// (\[Attendre\] VI.C).
    #[default]
    Found,
    /// These loads in every state.
    Given(Vec<u16>),
}

/// A network to explore, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Hosts; node numbers begin here.
    pub hosts: Vec<HostSetup>,
    /// Switches; node numbers go on here.
    pub switches: Vec<SwitchSetup>,
    /// Where a host may move.
    pub spare: Option<Spare>,
    /// How switch and controller speak.
    pub protocol: Protocol,
    /// Packets that may be doubled.
    pub duplicates: u8,
    /// Whether a command may overtake the one before it, unless one of them is a barrier.
    pub overtakes: bool,
    /// Which port statistics are told apart.
    pub loads: Loads,
    /// Callbacks of the application that may happen from the start.
    pub callbacks: Vec<u8>,
    /// What is checked beside [`Property::CLASSIC`].
    pub properties: Vec<Property>,
    /// Which transitions are explored.
    pub strategy: Strategy,
    /// What keys contain.
    pub counting: Counting,
    /// Longest path, in transitions; 0 is without limit.
    pub path_max: usize,
    /// Most transitions; beyond, the search is not exhaustive.
    pub transitions_max: u64,
    /// Whether the search ends at the first violation.
    pub stops_at_violation: bool,
}

/// Most transitions where nothing else is said.
pub const TRANSITIONS_MAX: u64 = 20_000_000;

impl Setup {
    /// Hosts and switches, plain OpenFlow, everything explored and counted as the classic tool does.
    pub fn new(hosts: Vec<HostSetup>, switches: Vec<SwitchSetup>) -> Self {
        Self {
            hosts,
            switches,
            spare: None,
            protocol: Protocol::OpenFlow,
            duplicates: 0,
            overtakes: false,
            loads: Loads::Found,
            callbacks: Vec::new(),
            properties: Vec::new(),
            strategy: Strategy::CompleteCoverage,
            counting: Counting::default(),
            path_max: 0,
            transitions_max: TRANSITIONS_MAX,
            stops_at_violation: false,
        }
    }

    /// Spoken by another protocol.
    #[must_use]
    pub fn with_protocol(self, protocol: Protocol) -> Self {
        Self { protocol, ..self }
    }

    /// The node number of a switch, by its number from 0.
    pub fn switch_node(&self, switch: usize) -> usize {
        self.hosts.len() + switch
    }

    /// The node number of the controller.
    pub fn controller_node(&self) -> usize {
        self.hosts.len() + self.switches.len()
    }

    /// A node's name.
    pub fn node_name(&self, node: usize) -> &str {
        let switch = node.checked_sub(self.hosts.len());
        let name = self.hosts.get(node).map(|host| host.name.as_str());
        name.or_else(|| self.switches.get(switch?).map(|switch| switch.name.as_str()))
            .unwrap_or("controller")
    }
}
