//! The network by index: nodes, and every directed egress as one server.

use std::collections::BTreeMap;
use tenuto_calculus::ubits;
use tenuto_model::{ForwardingModel, Link, LinkEnd, Network, Port, Profile};
use tenuto_units::Rate;

/// Nodes and servers of a network, by index.
#[derive(Debug)]
pub(crate) struct Topology<'a> {
    pub(crate) network: &'a Network,
    /// Hosts first, then switches, each in the order of the description.
    pub(crate) nodes: Vec<Node<'a>>,
    /// Two per link: from its first end, then from its second.
    pub(crate) servers: Vec<Egress<'a>>,
    /// The link that is taken for lost, by its index.
    lost: Option<usize>,
    by_name: BTreeMap<&'a str, usize>,
    leaving: Vec<Vec<usize>>,
}

/// A host or a switch.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    pub(crate) name: &'a str,
    /// The redundant network that it belongs to.
    pub(crate) network: Option<&'a str>,
    /// `None` for a host.
    pub(crate) profile: Option<&'a Profile>,
    /// Index into the switches of the network; meaningless for a host.
    pub(crate) switch: usize,
}

/// A directed egress.
#[derive(Debug)]
pub(crate) struct Egress<'a> {
    pub(crate) end: &'a LinkEnd,
    pub(crate) far: &'a LinkEnd,
    pub(crate) node: usize,
    pub(crate) peer: usize,
    pub(crate) rate_bps: u64,
    pub(crate) propagation_ps: i128,
    /// The least: the description's is rounded up to a nanosecond.
    pub(crate) propagation_least_ps: i128,
    /// Time lost by handing frames over at whole nanoseconds only; bits that flow lose none.
    pub(crate) tick_ps: i128,
    /// Whether both ends are switches.
    pub(crate) is_trunk: bool,
}

impl Node<'_> {
    pub(crate) fn is_host(&self) -> bool {
        self.profile.is_none()
    }

    pub(crate) fn latency_min_ps(&self) -> i128 {
        self.profile.map_or(0, |p| i128::from(p.latency_ns_min) * 1_000)
    }

    pub(crate) fn latency_max_ps(&self) -> i128 {
        self.profile.map_or(0, |p| i128::from(p.latency_ns_max) * 1_000)
    }

    /// j: how much the time from the last bit received to the queue varies.
    pub(crate) fn latency_jitter_ps(&self) -> i128 {
        self.latency_max_ps() - self.latency_min_ps()
    }

    /// B: what can sit below the scheduler, 10⁻⁶ bit.
    pub(crate) fn below_scheduler_ubit(&self) -> i128 {
        self.profile.map_or(0, |p| ubits(u64::from(p.below_scheduler_bytes) * 8))
    }
}

impl Egress<'_> {
    pub(crate) fn port(&self) -> Port {
        Port { node: self.end.node.clone(), port: self.end.port }
    }
}

impl<'a> Topology<'a> {
    /// As [`Self::new`], of the model in which it is analysed.
    pub(crate) fn modelled(network: &'a Network, model: ForwardingModel) -> Self {
        let mut topology = Self::new(network);
        if model == ForwardingModel::Fluid {
            topology.servers.iter_mut().for_each(|egress| egress.tick_ps = 0);
        }
        topology
    }

    pub(crate) fn new(network: &'a Network) -> Self {
        let hosts = network.hosts.iter().map(|host| Node {
            name: &host.name,
            network: None,
            profile: None,
            switch: usize::MAX,
        });
        let switches = network.switches.iter().enumerate().map(|(switch, it)| Node {
            name: &it.name,
            network: it.network.as_deref(),
            profile: Some(network.profile_of(it)),
            switch,
        });
        let nodes: Vec<Node<'a>> = hosts.chain(switches).collect();
        let by_name = nodes.iter().enumerate().map(|(i, node)| (node.name, i)).collect();
        let mut topology = Self {
            network,
            leaving: vec![Vec::new(); nodes.len()],
            nodes,
            servers: vec![],
            lost: None,
            by_name,
        };
        for link in &network.links {
            topology.add(link, &link.a, &link.b);
            topology.add(link, &link.b, &link.a);
        }
        topology.sort_leaving();
        topology
    }

    fn add(&mut self, link: &'a Link, end: &'a LinkEnd, far: &'a LinkEnd) {
        let (Some(node), Some(peer)) = (self.node(&end.node), self.node(&far.node)) else {
            return;
        };
        let whole = Rate::from_bps(link.rate_bps).is_some_and(Rate::has_whole_nanosecond_bits);
        self.leaving[node].push(self.servers.len());
        self.servers.push(Egress {
            end,
            far,
            node,
            peer,
            rate_bps: link.rate_bps,
            propagation_ps: i128::from(link.propagation_ns) * 1_000,
            propagation_least_ps: i128::from(link.propagation_ns.saturating_sub(1)) * 1_000,
            tick_ps: if whole { 0 } else { 1_000 },
            is_trunk: !self.nodes[node].is_host() && !self.nodes[peer].is_host(),
        });
    }

    /// Neighbours in the order of their names: the order of every search.
    fn sort_leaving(&mut self) {
        let (servers, nodes) = (&self.servers, &self.nodes);
        for leaving in &mut self.leaving {
            leaving.sort_by_key(|&s| (nodes[servers[s].peer].name, servers[s].end.port));
        }
    }

    /// The node of that name.
    pub(crate) fn node(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The network without one of its links, by its index; every port keeps its own index.
    pub(crate) fn without(network: &'a Network, link: usize) -> Self {
        Self { lost: Some(link), ..Self::new(network) }
    }

    /// Whether neither a new way nor a signal may go over that port.
    pub(crate) fn is_lost(&self, server: usize) -> bool {
        self.lost == Some(server / 2)
    }

    /// The port at the other end of the link.
    pub(crate) const fn opposite(&self, server: usize) -> usize {
        server ^ 1
    }

    /// Every egress of a node, by the name of the peer.
    pub(crate) fn leaving(&self, node: usize) -> &[usize] {
        &self.leaving[node]
    }

    /// `sw1:3 > sw2`; as `Network::port_label`, without its scan over all links.
    pub(crate) fn label(&self, server: usize) -> String {
        let egress = &self.servers[server];
        if self.nodes[egress.node].is_host() && self.leaving[egress.node].len() == 1 {
            format!("{} > {}", egress.end.node, egress.far.node)
        } else {
            format!("{}:{} > {}", egress.end.node, egress.end.port, egress.far.node)
        }
    }

    /// The egress of that node and port number.
    pub(crate) fn server(&self, port: &Port) -> Option<usize> {
        let node = self.node(&port.node)?;
        self.leaving[node].iter().copied().find(|&s| self.servers[s].end.port == port.port)
    }
}
