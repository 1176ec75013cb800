//! The network as the engine sees it: nodes, directed links, and one port per link.

use crate::curves::QUEUES_MAX;
use crate::reservation::Place;
use crate::timing::SwitchTiming;
use std::collections::VecDeque;
use tenuto_units::Rate;
use thiserror::Error;

/// Rates beyond this leave the range in which the engine's products are exact.
const RATE_BPS_MAX: u64 = 1_000_000_000_000;
/// Propagation beyond this is no local network any more.
const PROPAGATION_NS_MAX: u64 = 1_000_000_000;
/// Summed tolerance of a source's clock and those of switches where nothing else is stated, parts per
/// million: quartz of 100 ppm at both ends.
pub const CLOCK_TOLERANCE_PPM: u32 = 200;

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
    /// The name, as in the file.
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
    /// Ports before this place are lines, those from here on processors.
    lines: usize,
    /// The fastest rate at which frames leave a port, bit/s.
    emitted_bps: Vec<u64>,
    /// The size of every frame, bits, where processors were measured for one.
    frame_bits_exact: Option<u64>,
    /// The timing inside each node beside its queues; none at hosts.
    timings: Vec<SwitchTiming>,
    /// ρ: how much faster a source's clock may run, parts per million.
    clock_tolerance_ppm: u32,
    /// Signals that are sent between switches before every queue: bits at once, and bit/s.
    signals: (u64, u64),
}

/// A fault of a network.
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
    /// A processor where no switch is.
    #[error("node {node} has a processor, but is no switch")]
    NoSwitch {
        /// The number of the node.
        node: u32,
    },
    /// A latency or a tolerance that is none.
    #[error("node {node}: {what}")]
    Timing {
        /// The number of the node.
        node: u32,
        /// What is wrong.
        what: &'static str,
    },
    /// Processors measured for frames of different sizes.
    #[error("one processor was measured for frames of {one} B, another for {other} B")]
    FrameSizes {
        /// The first size.
        one: u32,
        /// A later one.
        other: u32,
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
        let emitted_bps = ports.iter().map(|port| port.rate_bps).collect();
        let lines = ports.len();
        let timings = vec![SwitchTiming::default(); nodes.len()];
        Ok(Self {
            timings,
            clock_tolerance_ppm: CLOCK_TOLERANCE_PPM,
            signals: (0, 0),
            nodes,
            ports,
            arriving,
            leaving,
            frame_bits_max,
            lines,
            emitted_bps,
            frame_bits_exact: None,
        })
    }

    /// The network with that timing inside of one switch.
    ///
    /// # Errors
    /// The node is no switch, or the least latency is above the largest, or one of them beyond a second.
    pub fn with_switch_timing(
        mut self,
        node: NodeId,
        timing: SwitchTiming,
    ) -> Result<Self, NetworkError> {
        if !self.nodes.get(node.index()).is_some_and(|node| node.is_switch) {
            return Err(NetworkError::Timing { node: node.0, what: "only a switch has a latency" });
        }
        timing.check().map_err(|what| NetworkError::Timing { node: node.0, what })?;
        // The latency of a switch with a processor is between the processor and the queues.
        let processors = (0_u32..).map(PortId).zip(&self.ports).skip(self.lines);
        let own = processors.into_iter().find(|(_, port)| port.from == node);
        let at = own.map_or(node, |(_, port)| port.to);
        self.timings[at.index()] = timing;
        Ok(self)
    }

    /// The network, in which clocks of sources and switches differ by at most so many parts per
    /// million; without it [`CLOCK_TOLERANCE_PPM`].
    #[must_use]
    pub const fn with_clock_tolerance(mut self, ppm: u32) -> Self {
        self.clock_tolerance_ppm = ppm;
        self
    }

    /// The network, in which frames of at most so many bits at once and so many bit/s are sent
    /// on every line between switches before all queues: signals of mode changes. They shorten what
    /// the queues get; a rate at or above that of a line leaves its queues nothing.
    #[must_use]
    pub const fn with_signals(mut self, burst_bits: u64, rate_bps: u64) -> Self {
        self.signals = (burst_bits, rate_bps);
        self
    }

    /// The network, in which hosts too have so many queues at their ports, of the same room
    /// together.
    #[must_use]
    pub fn with_queues_at_hosts(mut self, queues: u8) -> Self {
        let queues = queues.clamp(1, u8::try_from(QUEUES_MAX).unwrap_or(u8::MAX));
        for port in &mut self.ports {
            if !self.nodes[port.from.index()].is_switch {
                let room = port.queue_bytes.saturating_mul(port.queues.into());
                (port.queues, port.queue_bytes) = (queues, room / u32::from(queues));
            }
        }
        self
    }

    /// The timing inside of a node beside its queues; none at hosts.
    pub fn timing_of(&self, node: NodeId) -> SwitchTiming {
        self.timings.get(node.index()).copied().unwrap_or_default()
    }

    /// Whether some switch forwards with a processor that its ports share.
    pub fn has_processors(&self) -> bool {
        self.lines < self.ports.len()
    }

    /// ρ, parts per million.
    pub const fn clock_tolerance_ppm(&self) -> u32 {
        self.clock_tolerance_ppm
    }

    /// The timing inside of the node that a port belongs to.
    pub(crate) fn timing(&self, id: PortId) -> SwitchTiming {
        self.timings[self.port(id).from.index()]
    }

    /// Signals that are sent at a port before every queue: bits at once, and bit/s.
    pub(crate) fn signals(&self, id: PortId) -> (u64, u64) {
        let is_trunk = Place::of(self, id) == Place::Trunk;
        if is_trunk { self.signals } else { (0, 0) }
    }

    /// The time through the port and its link beside the wait in its queue, ns: the largest latency of the
    /// switch in front, and propagation.
    pub(crate) fn transit_ns(&self, id: PortId) -> u64 {
        self.port(id).propagation_ns + self.timing(id).latency_ns_max
    }

    /// How much closer together frames may come to the queue of a port than they left the port `from`,
    /// ns: frames are handed over at whole nanoseconds, and the latency of the switch varies.
    pub(crate) fn varying_ns(&self, from: PortId, port: PortId) -> u64 {
        self.tick_ns(from) + self.timing(port).jitter_ns()
    }

    /// Every node.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Every port.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// The port of an id.
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

    pub(crate) fn set_processors(
        &mut self,
        lines: usize,
        emitted_bps: Vec<u64>,
        frame_bits_exact: Option<u64>,
    ) {
        self.lines = lines;
        self.emitted_bps = emitted_bps;
        self.frame_bits_exact = frame_bits_exact;
    }

    pub(crate) const fn lines(&self) -> usize {
        self.lines
    }

    /// The rate that shapes what leaves a port, bit/s: its line's, or that of the line behind a
    /// processor, which may be faster than it promises.
    pub(crate) fn emitted_bps(&self, id: PortId) -> u64 {
        self.emitted_bps[id.index()]
    }

    /// How much closer together than on an exact line frames may be that leave a port, ns: they are handed
    /// over at the first whole nanosecond from their end on, which matters where a bit takes no whole number of them.
    pub(crate) fn tick_ns(&self, id: PortId) -> u64 {
        let is_whole =
            Rate::from_bps(self.emitted_bps(id)).is_some_and(Rate::has_whole_nanosecond_bits);
        u64::from(!is_whole)
    }

    /// The size that every frame has, bits on the wire; `None` where any may be sent.
    pub(crate) const fn frame_bits_exact(&self) -> Option<u64> {
        self.frame_bits_exact
    }

    /// Σ of the lines between switches on the shortest ways between all hosts, and the number of
    /// those ways.
    pub(crate) fn trunks_between_hosts(&self) -> (u64, u64) {
        let ids = (0_u32..).map(NodeId).take(self.nodes.len());
        let hosts: Vec<NodeId> = ids.filter(|id| !self.nodes[id.index()].is_switch).collect();
        let (mut trunks, mut ways) = (0, 0);
        for source in &hosts {
            let hops = self.trunks_from(*source);
            let others = hosts.iter().filter(|host| *host != source);
            for hops in others.filter_map(|host| hops[host.index()]) {
                trunks += hops;
                ways += 1;
            }
        }
        (trunks, ways)
    }

    /// Lines between switches on a shortest way to each node.
    fn trunks_from(&self, source: NodeId) -> Vec<Option<u64>> {
        let mut hops: Vec<Option<u64>> = vec![None; self.nodes.len()];
        hops[source.index()] = Some(0);
        let mut waiting = VecDeque::from([source]);
        while let Some(node) = waiting.pop_front() {
            let here = hops[node.index()].unwrap_or(0);
            for id in self.leaving(node) {
                let to = self.port(*id).to;
                if hops[to.index()].is_some() {
                    continue;
                }
                hops[to.index()] = Some(here + u64::from(Place::of(self, *id) == Place::Trunk));
                if self.nodes[to.index()].is_switch {
                    waiting.push_back(to);
                }
            }
        }
        hops
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

    /// The group of `port` that the line `from` is; sources have one group of their own.
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
