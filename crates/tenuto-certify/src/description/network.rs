//! The described network, indexed: nodes, directed ports, flows with their frames.

use crate::description::device::Device;
use crate::description::net::{Contract, Flow, Net, Node, Port};
use crate::description::packets::Packets;
use crate::description::{described, read};
use crate::finding::{Findings, rule};
use std::collections::{BTreeMap, BTreeSet};
use tenuto_units::Rate;

/// Directed ports of one plan.
const PORTS_MAX: usize = 200_000;
/// Flows are numbered with 16 bits in headers.
const FLOWS_MAX: usize = 65_000;
/// Hosts have an address each in 10.0.0.0/16.
const HOSTS_MAX: usize = 4_000;
/// Switches: from each of them signals are followed to all others.
const SWITCHES_MAX: usize = 1_000;
/// Modes: every pair of them is an analysis.
const MODES_MAX: usize = 8;
/// Times of a description, nanoseconds: over 11 days, and a thousand times as many fit 64 bits.
const TIME_NS_MAX: u64 = 1_000_000_000_000_000;
/// Buffer of a port: its bits are counted in 64 bits.
const BUFFER_BYTES_MAX: u64 = 1 << 60;

impl<'a> Net<'a> {
    /// Indexes the description; `None` after a finding without which nothing can be rebuilt.
    pub(crate) fn new(plan: &'a read::Plan, findings: &'a Findings) -> Option<Self> {
        let raw = &plan.network;
        let before = findings.len();
        let mut this = Self {
            raw,
            findings,
            nodes: Vec::new(),
            ports: Vec::new(),
            flows: Vec::new(),
            tolerance_ppm: 0,
            has_virtual_links: raw.flows.iter().any(|f| f.matching == read::MatchKind::Vl),
            by_name: BTreeMap::new(),
            by_port: BTreeMap::new(),
            flow_by_name: BTreeMap::new(),
        };
        this.check_sizes();
        this.add_nodes();
        this.add_links(plan.model == read::Model::Fluid);
        if findings.len() == before {
            this.add_flows(plan.as_stated);
        }
        this.tolerance_ppm =
            this.profiles().map(|p| u64::from(p.clock_tolerance_ppm)).max().unwrap_or(0);
        (findings.len() == before).then_some(this)
    }

    fn check_sizes(&self) {
        let raw = self.raw;
        for (what, count, limit) in [
            ("links", raw.links.len(), PORTS_MAX / 2),
            ("hosts", raw.hosts.len(), HOSTS_MAX),
            ("switches", raw.switches.len(), SWITCHES_MAX),
            ("flows", raw.flows.len(), FLOWS_MAX),
            ("modes", raw.modes.len(), MODES_MAX),
        ] {
            if count > limit {
                self.wrong(rule::LIMIT, what, count, format!("at most {limit} can be checked"));
            }
        }
        if raw.modes.is_empty() {
            self.wrong(rule::DESCRIPTION, "modes", "none", "a network has at least one mode");
        }
        described::check_names(raw, self.findings);
    }

    fn add_nodes(&mut self) {
        for host in &self.raw.hosts {
            self.nodes.push(Node { name: &host.name, switch: None });
        }
        for switch in &self.raw.switches {
            let Some(profile) = self.raw.profiles.get(&switch.profile) else {
                self.wrong(rule::DESCRIPTION, &switch.name, &switch.profile, "no such profile");
                continue;
            };
            let times = [profile.latency_ns_max, profile.swap_ns_max, profile.purge_frame_ns_max];
            let buffer = profile.buffer_bytes_per_port;
            if profile.latency_ns_min > profile.latency_ns_max
                || buffer.is_some_and(|bytes| bytes > BUFFER_BYTES_MAX)
                || times.iter().any(|t| *t > TIME_NS_MAX)
                || profile.clock_tolerance_ppm >= 1_000_000
            {
                let found = "latencies in order and times of at most 11 days, a tolerance below 1, \
                             a buffer of at most 2^60 B";
                self.wrong(rule::DESCRIPTION, &switch.name, &switch.profile, found);
            }
            if let Some(device) = Device::of(profile)
                && !device.is_of_this_world()
            {
                let found = "costs above nothing and of at most a second, a spread below 1";
                self.wrong(rule::DESCRIPTION, &switch.name, &switch.profile, found);
            }
            self.nodes.push(Node { name: &switch.name, switch: Some((switch, profile)) });
        }
        for (index, node) in self.nodes.iter().enumerate() {
            if self.by_name.insert(node.name, index).is_some() {
                self.wrong(rule::DESCRIPTION, node.name, "a node", "the name is taken");
            }
        }
    }

    fn add_links(&mut self, is_fluid: bool) {
        for link in &self.raw.links {
            let label =
                format!("{}:{} - {}:{}", link.a.node, link.a.port, link.b.node, link.b.port);
            let ends = (self.node(&link.a.node), self.node(&link.b.node));
            let (Some(a), Some(b)) = ends else {
                self.wrong(rule::DESCRIPTION, label, "a link", "an end names no node");
                continue;
            };
            let Some(rate) = Rate::from_bps(link.rate_bps) else {
                self.wrong(rule::DESCRIPTION, label, "0 bit/s", "a link has a rate");
                continue;
            };
            if link.propagation_ns > TIME_NS_MAX || a == b {
                self.wrong(rule::DESCRIPTION, &label, "a link", "two nodes, at most 11 days apart");
            }
            let is_smooth = is_fluid || rate.has_whole_nanosecond_bits();
            let tick_ps = if is_smooth { 0 } else { 1_000 };
            for (node, number, peer) in [(a, link.a.port, b), (b, link.b.port, a)] {
                if self.by_port.insert((node, number), self.ports.len()).is_some() {
                    self.wrong(rule::DESCRIPTION, &label, "a link", "a port is used twice");
                }
                self.ports.push(Port {
                    node,
                    number,
                    rate_bps: link.rate_bps,
                    propagation_ps: link.propagation_ns.saturating_mul(1_000),
                    peer,
                    tick_ps,
                });
            }
        }
    }

    fn add_flows(&mut self, as_stated: bool) {
        for (index, raw) in self.raw.flows.iter().enumerate() {
            if self.flow_by_name.insert(&raw.name, index).is_some() {
                self.wrong(rule::DESCRIPTION, &raw.name, "a flow", "the name is taken");
            }
            match self.flow_of(raw, as_stated) {
                Ok(flow) => self.flows.push(flow),
                Err(found) => self.wrong(rule::DESCRIPTION, &raw.name, "a flow", found),
            }
        }
        described::check_other_traffic(self, &self.flows);
    }

    fn flow_of(&self, raw: &'a read::Flow, as_stated: bool) -> Result<Flow<'a>, &'static str> {
        let level = usize::try_from(raw.level).unwrap_or(usize::MAX);
        if level >= self.raw.modes.len() || raw.contracts.len() != level + 1 {
            return Err("one contract for every mode up to its level");
        }
        let (source, targets) = self.ends_of(raw, level)?;
        let copies: BTreeSet<&String> = raw.copies.iter().collect();
        let is_known = |copy: &String| match self.raw.networks.is_empty() {
            true => copies.len() == 2,
            false => self.raw.networks.contains(copy),
        };
        if copies.len() != raw.copies.len() || !raw.copies.iter().all(is_known) {
            return Err("copies name networks, each once; without networks there are two or none");
        }
        if raw.matching == read::MatchKind::Vl && raw.vl.is_none() {
            return Err("a number for a virtual link");
        }
        let contracts = raw.contracts.iter().map(|contract| contract_of(contract, as_stated));
        let contracts = contracts.collect::<Result<Vec<_>, _>>()?;
        match described::contracts_flaw(raw, &contracts) {
            Some(flaw) => Err(flaw),
            None => Ok(Flow { raw, source, targets, level, contracts }),
        }
    }

    /// Source and targets.
    fn ends_of(&self, raw: &read::Flow, level: usize) -> Result<(usize, Vec<usize>), &'static str> {
        let host = |name: &str| {
            let node = self.node(name).filter(|node| self.nodes[*node].switch.is_none());
            node.ok_or("source and targets are hosts")
        };
        let source = host(&raw.source)?;
        let mut targets = Vec::new();
        for target in &raw.targets {
            targets.push(host(&target.host)?);
            if target.deadline_ns.len() != level + 1 {
                return Err("one deadline for every mode up to its level");
            }
        }
        let distinct: BTreeSet<usize> = targets.iter().copied().collect();
        if targets.is_empty() || distinct.len() != targets.len() || distinct.contains(&source) {
            return Err("targets, each once, that are not the source");
        }
        Ok((source, targets))
    }

    /// The profiles of the switches.
    pub(crate) fn profiles(&self) -> impl Iterator<Item = &'a read::Profile> + '_ {
        self.nodes.iter().filter_map(|node| node.switch.map(|(_, profile)| profile))
    }

    /// Queues that a port of every switch has.
    pub(crate) fn queues_least(&self) -> u8 {
        self.profiles()
            .map(|profile| profile.queues_per_port)
            .min()
            .unwrap_or(described::QUEUES_MAX)
    }

    pub(crate) fn node(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn port(&self, port: &read::Port) -> Option<usize> {
        self.port_at(self.node(&port.node)?, port.port)
    }

    pub(crate) fn port_at(&self, node: usize, number: u32) -> Option<usize> {
        self.by_port.get(&(node, number)).copied()
    }

    /// The directed ports of a node.
    pub(crate) fn ports_of(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.by_port.range((node, 0)..=(node, u32::MAX)).map(|(_, port)| *port)
    }

    pub(crate) fn flow(&self, name: &str) -> Option<usize> {
        self.flow_by_name.get(name).copied()
    }

    /// The port at the other end of the link.
    pub(crate) const fn reverse(port: usize) -> usize {
        port ^ 1
    }

    /// `sw1:3 > sw2`.
    pub(crate) fn label(&self, port: usize) -> String {
        let p = &self.ports[port];
        format!("{}:{} > {}", self.nodes[p.node].name, p.number, self.nodes[p.peer].name)
    }

    pub(crate) fn profile(&self, node: usize) -> Option<&'a read::Profile> {
        self.nodes[node].switch.map(|(_, profile)| profile)
    }

    /// The shared processor of the node.
    pub(crate) fn device(&self, node: usize) -> Option<Device<'a>> {
        Device::of(self.profile(node)?)
    }

    /// λmax of the node, picoseconds; 0 for a host.
    pub(crate) fn latency_max_ps(&self, node: usize) -> u64 {
        self.profile(node).map_or(0, |p| p.latency_ns_max * 1_000)
    }

    /// λmin of the node, picoseconds; 0 for a host.
    pub(crate) fn latency_min_ps(&self, node: usize) -> u64 {
        self.profile(node).map_or(0, |p| p.latency_ns_min * 1_000)
    }

    /// j of the node: how much its latency varies, picoseconds.
    pub(crate) fn latency_jitter_ps(&self, node: usize) -> u64 {
        self.latency_max_ps(node) - self.latency_min_ps(node)
    }

    /// B of the node, bits.
    pub(crate) fn below_scheduler_bits(&self, node: usize) -> u64 {
        self.profile(node).map_or(0, |p| u64::from(p.below_scheduler_bytes) * 8)
    }

    /// Whether both ends of the port's link are switches.
    pub(crate) fn is_trunk(&self, port: usize) -> bool {
        let p = &self.ports[port];
        self.nodes[p.node].switch.is_some() && self.nodes[p.peer].switch.is_some()
    }

    pub(crate) const fn has_modes(&self) -> bool {
        self.raw.modes.len() > 1
    }

    pub(crate) const fn is_babbling(&self) -> bool {
        self.raw.tolerates.babbling_hosts > 0
    }
}

fn contract_of(contract: &read::Contract, as_stated: bool) -> Result<Contract, &'static str> {
    if contract.period_ns == 0
        || contract.period_ns > TIME_NS_MAX
        || contract.jitter_ns > TIME_NS_MAX
    {
        return Err("periods above zero; times of at most 11 days");
    }
    let packets =
        Packets::of(contract.size, as_stated).ok_or("sizes that an Ethernet can carry")?;
    if contract.frame_bytes_min.is_some_and(|least| least > packets.frame_bytes_max()) {
        return Err("least frames that are no larger than the largest");
    }
    Ok(Contract {
        packets,
        period_ns: contract.period_ns,
        jitter_ps: contract.jitter_ns * 1_000,
        class: contract.priority,
        frame_bits_min: crate::description::packets::wire_bits(
            contract.frame_bytes_min.unwrap_or(0),
        ),
        frame_bytes_min: contract.frame_bytes_min.unwrap_or(0),
    })
}
