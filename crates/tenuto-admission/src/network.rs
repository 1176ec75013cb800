//! The network as the engine sees it: nodes, directed links, and one port per link.

use crate::curves::QUEUES_MAX;
use thiserror::Error;

/// Rates beyond this leave the range in which the engine's products are exact.
const RATE_BPS_MAX: u64 = 1_000_000_000_000;
/// Propagation beyond this is no local network any more.
const PROPAGATION_NS_MAX: u64 = 1_000_000_000;

/// A node, by its place in [`Network::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A directed link and the output port in front of it, by its place in [`Network::ports`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(pub u32);

impl NodeId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

impl PortId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A host or a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name, as in the file.
    pub name: String,
    /// Whether it forwards what is not its own.
    pub is_switch: bool,
}

/// An output port with strict-priority queues, and the link behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Where it is.
    pub from: NodeId,
    /// Where its link leads.
    pub to: NodeId,
    /// Rate of the line, bit/s.
    pub rate_bps: u64,
    /// Propagation of the link, ns rounded up.
    pub propagation_ns: u64,
    /// Queues, the first before all others.
    pub queues: u8,
    /// Bytes that each of its queues holds.
    pub queue_bytes: u32,
    /// The largest frame of other traffic that may be in the way, bytes on the wire.
    pub blocking_bytes: u32,
}

/// Nodes and ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    nodes: Vec<Node>,
    ports: Vec<Port>,
    /// Ports that lead to a node, per node, in order: the lines that shape what arrives there.
    arriving: Vec<Vec<PortId>>,
    /// Ports of a node, per node, in order.
    leaving: Vec<Vec<PortId>>,
    /// The largest frame that every port expects, bits: a larger one would wait behind nothing that
    /// the queues above it know of.
    frame_bits_max: u64,
}

/// What is wrong with a network.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NetworkError {
    /// An end that is no node.
    #[error("link {link} names node {node}, but there are {nodes} nodes")]
    NoSuchNode {
        /// Place of the link in the list.
        link: usize,
        /// The number given.
        node: u32,
        /// Nodes there are.
        nodes: usize,
    },
    /// A value outside of its range.
    #[error("link {link}: {what} {value} is outside {least} to {most}")]
    OutOfRange {
        /// Place of the link in the list.
        link: usize,
        /// Which value.
        what: &'static str,
        /// The value given.
        value: u64,
        /// The least that fits.
        least: u64,
        /// The most that fits.
        most: u64,
    },
}

impl Network {
    /// A network of these nodes and ports, if every port is between nodes and in range.
    ///
    /// # Errors
    /// The first port that is not, with the value and its range.
    pub fn new(nodes: Vec<Node>, ports: Vec<Port>) -> Result<Self, NetworkError> {
        for (link, port) in ports.iter().enumerate() {
            check(link, port, nodes.len())?;
        }
        let mut arriving = vec![Vec::new(); nodes.len()];
        let mut leaving = vec![Vec::new(); nodes.len()];
        for (id, port) in (0_u32..).map(PortId).zip(&ports) {
            arriving[port.to.index()].push(id);
            leaving[port.from.index()].push(id);
        }
        let frames = ports.iter().map(|port| u64::from(port.blocking_bytes) * 8);
        let frame_bits_max = frames.min().unwrap_or(0);
        Ok(Self { nodes, ports, arriving, leaving, frame_bits_max })
    }

    /// Every node.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Every port.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// One port.
    pub fn port(&self, id: PortId) -> &Port {
        &self.ports[id.index()]
    }

    /// Ports whose links lead to `node`.
    pub fn arriving(&self, node: NodeId) -> &[PortId] {
        &self.arriving[node.index()]
    }

    /// Ports of `node`.
    pub fn leaving(&self, node: NodeId) -> &[PortId] {
        &self.leaving[node.index()]
    }

    /// The largest frame that a flow may have, bits on the wire.
    pub const fn frame_bits_max(&self) -> u64 {
        self.frame_bits_max
    }

    /// Whether this port is a host's: one whose flows start there and whom no line shapes.
    pub fn is_source(&self, id: PortId) -> bool {
        !self.nodes[self.port(id).from.index()].is_switch
    }

    /// `from->to`, for people.
    pub fn port_name(&self, id: PortId) -> String {
        let port = self.port(id);
        let name = |node: NodeId| self.nodes[node.index()].name.as_str();
        format!("{}->{}", name(port.from), name(port.to))
    }

    /// Which of the groups of `port` the line `from` is; sources have one group of their own.
    pub(crate) fn group_of(&self, from: Option<PortId>, port: PortId) -> usize {
        let arriving = self.arriving(self.port(port).from);
        from.and_then(|from| arriving.iter().position(|id| *id == from)).unwrap_or(0)
    }
}

fn check(link: usize, port: &Port, nodes: usize) -> Result<(), NetworkError> {
    for node in [port.from, port.to] {
        if node.index() >= nodes {
            return Err(NetworkError::NoSuchNode { link, node: node.0, nodes });
        }
    }
    let ranges = [
        ("rate in bit/s", port.rate_bps, 1, RATE_BPS_MAX),
        ("propagation in ns", port.propagation_ns, 0, PROPAGATION_NS_MAX),
        ("number of queues", port.queues.into(), 1, QUEUES_MAX as u64),
        ("queue size in bytes", port.queue_bytes.into(), 1, 1 << 30),
        ("blocking frame in bytes", port.blocking_bytes.into(), 0, 1 << 16),
    ];
    for (what, value, least, most) in ranges {
        if !(least..=most).contains(&value) {
            return Err(NetworkError::OutOfRange { link, what, value, least, most });
        }
    }
    Ok(())
}
