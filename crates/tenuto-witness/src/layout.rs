//! A plan as arrays: ports, trees, guards, contracts, and the bounds of its rows.

use crate::port::{CLASSES, Line};
use crate::rows::{Row, RowKind, Subject, Values};
use std::collections::BTreeMap;
use std::ops::Range;
use tenuto_model::{
    Contract, Flow, MeterCounts, MeterSpec, MonitorSpec, Network, NodeRef, OtherTraffic, Plan,
    Port, Route, Transition,
};
use tenuto_units::Rate;

const PPM: u64 = 1_000_000;
/// The end of a range that is cut into as many parts.
pub const WHOLE: u16 = u16::MAX;

/// What a player has to know of a plan.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Directed egress ports, two per link.
    pub ports: Vec<PortLayout>,
    /// Flows, in the order of the network.
    pub flows: Vec<FlowLayout>,
    /// Hops of all trees: a flow at an egress port.
    pub hops: Vec<Hop>,
    /// One per flow, copy and target.
    pub leaves: Vec<Leaf>,
    /// Switches, in the order of the network.
    pub switches: Vec<SwitchLayout>,
    /// Hosts by name.
    pub hosts: Vec<String>,
    /// Modes and raises that have rows.
    pub transitions: Vec<Transition>,
    /// How they are called.
    pub transition_labels: Vec<String>,
    /// The certified bound of every row that has one.
    pub bounds: Values,
    /// Per raise: until when all switches have swapped, and when the new mode's rows hold, ns from the trigger.
    pub raise_times: BTreeMap<(u8, u8), RaiseTimes>,
    /// How often a switch sends a mode signal on every trunk.
    pub signal_copies: u8,
    /// How many hosts may babble.
    pub babbling_hosts: u32,
    /// Whether the plan counts whole messages.
    pub staircases: bool,
    /// Highest mode.
    pub level_max: u8,
    pub(crate) monitors: Vec<MonitorSpec>,
    pub(crate) meters: Vec<(MeterSpec, MeterCounts)>,
}

/// Times of a raise, ns after its trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RaiseTimes {
    /// Every switch has swapped.
    pub spread_ns: u64,
    /// The new mode's own rows hold; `None`: not before the return.
    pub drain_ns: Option<u64>,
}

/// A directed egress port.
#[derive(Clone, Debug)]
pub struct PortLayout {
    /// As people read it.
    pub label: String,
    /// The name of the port in the plan.
    pub port: Port,
    /// The node that sends by it.
    pub node: NodeRef,
    /// The node at the other end.
    pub far: NodeRef,
    /// Propagation to it, ns.
    pub propagation_ns: u64,
    pub(crate) line: Line,
}

impl PortLayout {
    /// Time of so many bits on the line, ns rounded up.
    pub fn time_ns(&self, wire_bits: u64) -> u64 {
        self.line.rate.time_up(wire_bits).as_ns()
    }

    /// The host that sends by it, if it is a host's.
    pub const fn host(&self) -> Option<usize> {
        match self.node {
            NodeRef::Host(host) => Some(host),
            NodeRef::Switch(_) => None,
        }
    }
}

/// A switch.
#[derive(Clone, Debug)]
pub struct SwitchLayout {
    /// Its name.
    pub name: String,
    /// Least latency, ns.
    pub latency_ns_min: u64,
    /// Largest latency, ns.
    pub latency_ns_max: u64,
    /// Its ports to other switches.
    pub(crate) trunks: Vec<usize>,
    /// All its ports.
    pub(crate) ports: Vec<usize>,
}

/// A flow.
#[derive(Clone, Debug)]
pub struct FlowLayout {
    /// Its name.
    pub name: String,
    /// Its source.
    pub host: usize,
    /// Highest mode in which it is guaranteed.
    pub level: u8,
    /// Scheduling class, 0 = highest.
    pub class: u8,
    /// Contracts by mode; periods are those of the fastest clock that is tolerated.
    pub contracts: Vec<Contract>,
    /// First hop of every copy.
    pub roots: Vec<usize>,
    /// Its leaves.
    pub leaves: Range<usize>,
    /// Its hops.
    pub hops: Range<usize>,
    /// Its monitor at the first switch of its first copy.
    pub watched_by: Option<usize>,
}

impl FlowLayout {
    /// The contract of its highest mode: what a conforming host may do at any time.
    pub fn highest(&self) -> &Contract {
        self.contracts.last().expect("a flow has a contract")
    }

    /// The contract in force in a mode: of its highest, above that.
    pub fn contract(&self, level: u8) -> &Contract {
        self.contracts.get(usize::from(level)).unwrap_or_else(|| self.highest())
    }
}

/// A flow at an egress port.
#[derive(Clone, Debug)]
pub struct Hop {
    /// Flow.
    pub flow: usize,
    /// Egress port.
    pub port: usize,
    /// The hop in front of it; `None` at the source.
    pub before: Option<usize>,
    /// Hops behind the node at the other end.
    pub next: Vec<usize>,
    /// The leaf that it ends at, if the node at the other end is a target.
    pub leaf: Option<usize>,
    pub(crate) monitor: Option<usize>,
    pub(crate) meter: Option<usize>,
}

/// One copy of a flow at one target.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Flow.
    pub flow: usize,
    /// Redundant network, where there are several copies.
    pub copy: Option<String>,
    /// Target host.
    pub target: String,
    /// Hops from the source on.
    pub path: Vec<usize>,
}

impl Layout {
    /// The arrays of a plan.
    ///
    /// # Errors
    /// What of it cannot be played.
    pub fn new(plan: &Plan) -> Result<Self, String> {
        let network = &plan.network;
        check_playable(plan)?;
        let ports = ports(network)?;
        let mut layout = Self {
            switches: switches(network, &ports),
            ports,
            flows: Vec::new(),
            hops: Vec::new(),
            leaves: Vec::new(),
            hosts: network.hosts.iter().map(|it| it.name.clone()).collect(),
            transitions: transitions(plan),
            transition_labels: Vec::new(),
            bounds: Values::none(0, 0, 0),
            raise_times: raise_times(plan),
            signal_copies: plan.signal_copies,
            babbling_hosts: network.tolerates.babbling_hosts,
            staircases: plan.staircases,
            level_max: level(network.modes.len().saturating_sub(1)),
            monitors: Vec::new(),
            meters: Vec::new(),
        };
        let labels = layout.transitions.iter().map(|it| it.label(&network.modes));
        layout.transition_labels = labels.collect();
        for flow in &network.flows {
            layout.add_flow(plan, flow)?;
        }
        layout.add_bounds(plan);
        Ok(layout)
    }

    /// The steady rows of a level.
    pub fn steady(&self, level: u8) -> Option<usize> {
        self.transitions.iter().position(|it| *it == Transition::Steady(level))
    }

    /// The rows of a raise.
    pub fn raise(&self, from: u8, to: u8) -> Option<usize> {
        self.transitions.iter().position(|it| *it == Transition::Raise { from, to })
    }

    /// Every row with a bound.
    pub fn rows(&self) -> Vec<Row> {
        self.bounds.iter().map(|(row, _)| row).collect()
    }

    /// The kind of a row.
    pub fn kind(&self, row: Row) -> RowKind {
        let transition = self.transitions[row.transition];
        RowKind::of(row.subject, transition, self.babbling_hosts > 0, self.staircases)
    }

    /// A row as people read it.
    pub fn row_label(&self, row: Row) -> String {
        let mode = &self.transition_labels[row.transition];
        match row.subject {
            Subject::Backlog(port) => format!("backlog of {} in {mode}", self.ports[port].label),
            Subject::Delay(leaf) => {
                let leaf = &self.leaves[leaf];
                let copy = leaf.copy.as_ref().map_or(String::new(), |it| format!(" over {it}"));
                format!("{} to {}{copy} in {mode}", self.flows[leaf.flow].name, leaf.target)
            }
        }
    }

    /// The latency of a switch for a part of its range ([`WHOLE`] is all of it), ns.
    pub fn latency_ns(&self, switch: usize, part: u16) -> u64 {
        let of = &self.switches[switch];
        of.latency_ns_min + part_of(of.latency_ns_max - of.latency_ns_min, part)
    }

    /// The switch that a hop's frames arrive at, if it is one.
    pub fn far_switch(&self, hop: usize) -> Option<usize> {
        match self.ports[self.hops[hop].port].far {
            NodeRef::Switch(switch) => Some(switch),
            NodeRef::Host(_) => None,
        }
    }

    fn add_flow(&mut self, plan: &Plan, flow: &Flow) -> Result<(), String> {
        let Some(NodeRef::Host(host)) = plan.network.node(&flow.source) else {
            return Err(format!("{}: its source is no host", flow.name));
        };
        let index = self.flows.len();
        let (first_leaf, first_hop) = (self.leaves.len(), self.hops.len());
        let mut roots = Vec::new();
        for route in plan.routes.iter().filter(|it| it.flow == flow.name) {
            roots.push(self.add_route(plan, index, flow, route)?);
        }
        if roots.is_empty() {
            return Err(format!("{} has no route", flow.name));
        }
        let ppm = plan.network.clock_tolerance_ppm();
        let contracts = flow.contracts.iter().map(|it| hastened(*it, ppm)).collect();
        self.flows.push(FlowLayout {
            name: flow.name.clone(),
            host,
            level: level(flow.level),
            class: flow.highest().priority,
            contracts,
            watched_by: self.hops[roots[0]].monitor,
            roots,
            leaves: first_leaf..self.leaves.len(),
            hops: first_hop..self.hops.len(),
        });
        Ok(())
    }

    fn add_route(
        &mut self,
        plan: &Plan,
        index: usize,
        flow: &Flow,
        route: &Route,
    ) -> Result<usize, String> {
        let mut known: BTreeMap<&Port, usize> = BTreeMap::new();
        for routed in &route.paths {
            let mut path: Vec<usize> = Vec::new();
            for port in &routed.ports {
                let hop = match known.get(port) {
                    Some(&hop) => hop,
                    None => {
                        let hop = self.add_hop(plan, index, flow, port)?;
                        known.insert(port, hop);
                        if let Some(&before) = path.last() {
                            self.hops[before].next.push(hop);
                            self.hops[hop].before = Some(before);
                        }
                        hop
                    }
                };
                path.push(hop);
            }
            let last = *path.last().ok_or_else(|| format!("{}: an empty path", flow.name))?;
            self.hops[last].leaf = Some(self.leaves.len());
            let (copy, target) = (route.copy.clone(), routed.target.clone());
            self.leaves.push(Leaf { flow: index, copy, target, path });
        }
        let first = route.paths.first().and_then(|it| it.ports.first());
        let first = first.ok_or_else(|| format!("{}: a route without paths", flow.name))?;
        Ok(known[first])
    }

    fn add_hop(
        &mut self,
        plan: &Plan,
        index: usize,
        flow: &Flow,
        port: &Port,
    ) -> Result<usize, String> {
        let found = self.ports.iter().position(|it| it.port == *port);
        let at =
            found.ok_or_else(|| format!("{}: no port {}:{}", flow.name, port.node, port.port))?;
        let (mut monitor, mut meter) = (None, None);
        if let NodeRef::Switch(switch) = self.ports[at].far {
            let of = &self.switches[switch].name;
            let profile = plan.network.profile_of(&plan.network.switches[switch]);
            let deployed = plan.switches.iter().find(|it| it.switch == *of);
            for spec in
                deployed.iter().flat_map(|it| &it.monitors).filter(|it| it.flow == flow.name)
            {
                monitor = Some(self.monitors.len());
                self.monitors.push(spec.clone());
            }
            let is_own = |it: &&MeterSpec| it.flow.as_ref() == Some(&flow.name);
            for spec in deployed.iter().flat_map(|it| &it.meters).filter(is_own) {
                meter = Some(self.meters.len());
                self.meters.push((spec.clone(), profile.meter_counts));
            }
        }
        self.hops.push(Hop {
            flow: index,
            port: at,
            before: None,
            next: Vec::new(),
            leaf: None,
            monitor,
            meter,
        });
        Ok(self.hops.len() - 1)
    }

    fn add_bounds(&mut self, plan: &Plan) {
        let mut bounds = Values::none(self.leaves.len(), self.ports.len(), self.transitions.len());
        let transition = |mode| self.transitions.iter().position(|it| *it == mode);
        for (at, leaf) in self.leaves.iter().enumerate() {
            let name = &self.flows[leaf.flow].name;
            let of_leaf =
                plan.flows.iter().filter(|it| it.flow == *name && it.target == leaf.target);
            for bound in of_leaf {
                let copy = bound.copies.iter().find(|it| it.network == leaf.copy);
                let value = copy.map_or(bound.delay_bound_ps, |it| it.delay_bound_ps);
                if let Some(transition) = transition(bound.mode) {
                    bounds.set(Row { subject: Subject::Delay(at), transition }, value);
                }
            }
        }
        for row in &plan.port_rows {
            let port = self.ports.iter().position(|it| it.port == row.port);
            if let (Some(port), Some(transition)) = (port, transition(row.mode)) {
                bounds.set(
                    Row { subject: Subject::Backlog(port), transition },
                    row.backlog_bound_bits,
                );
            }
        }
        self.bounds = bounds;
    }
}

/// So many [`WHOLE`]ths of a range.
pub(crate) fn part_of(range_ns: u64, part: u16) -> u64 {
    let scaled = u128::from(range_ns) * u128::from(part) / u128::from(WHOLE);
    u64::try_from(scaled).unwrap_or(range_ns)
}

/// Says what of a plan is not played.
fn check_playable(plan: &Plan) -> Result<(), String> {
    let network = &plan.network;
    if network.switches.iter().any(|it| network.profile_of(it).processor.is_some()) {
        return Err("ports share a processor".into());
    }
    if network.other_traffic != OtherTraffic::Drop {
        return Err("other traffic is carried".into());
    }
    if network.flows.iter().any(|it| usize::from(it.highest().priority) + 2 > CLASSES) {
        return Err("more classes than a port of the player has".into());
    }
    Ok(())
}

/// The contract of a host whose clock is as fast as is tolerated.
fn hastened(contract: Contract, ppm: u32) -> Contract {
    let period_ns = u128::from(contract.period_ns) * u128::from(PPM);
    let hastened_ns = period_ns.div_ceil(u128::from(PPM + u64::from(ppm)));
    Contract { period_ns: u64::try_from(hastened_ns).unwrap_or(contract.period_ns), ..contract }
}

fn ports(network: &Network) -> Result<Vec<PortLayout>, String> {
    let mut ports = Vec::new();
    for link in &network.links {
        for (own, far) in [(&link.a, &link.b), (&link.b, &link.a)] {
            let port = Port { node: own.node.clone(), port: own.port };
            let (Some(node), Some(far)) = (network.node(&own.node), network.node(&far.node)) else {
                return Err(format!("a link of {} leads nowhere", own.node));
            };
            let below_bytes = match node {
                NodeRef::Host(_) => 0,
                NodeRef::Switch(at) => {
                    network.profile_of(&network.switches[at]).below_scheduler_bytes
                }
            };
            let rate = Rate::from_bps(link.rate_bps).ok_or("a link without a rate")?;
            let line = Line { rate, below_bits: u64::from(below_bytes) * 8 };
            let (label, propagation_ns) = (network.port_label(&port), link.propagation_ns);
            ports.push(PortLayout { label, port, node, far, propagation_ns, line });
        }
    }
    Ok(ports)
}

fn switches(network: &Network, ports: &[PortLayout]) -> Vec<SwitchLayout> {
    let of = |(at, switch): (usize, &tenuto_model::Switch)| {
        let profile = network.profile_of(switch);
        let own = (0..ports.len()).filter(|&it| ports[it].node == NodeRef::Switch(at));
        let own: Vec<usize> = own.collect();
        let is_trunk = |&it: &usize| matches!(ports[it].far, NodeRef::Switch(_));
        SwitchLayout {
            name: switch.name.clone(),
            latency_ns_min: profile.latency_ns_min,
            latency_ns_max: profile.latency_ns_max,
            trunks: own.iter().copied().filter(is_trunk).collect(),
            ports: own,
        }
    };
    network.switches.iter().enumerate().map(of).collect()
}

fn transitions(plan: &Plan) -> Vec<Transition> {
    let of_flows = plan.flows.iter().map(|it| it.mode);
    let mut all: Vec<Transition> =
        of_flows.chain(plan.port_rows.iter().map(|it| it.mode)).collect();
    all.retain(|it| !matches!(it, Transition::Return { .. }));
    all.sort_unstable();
    all.dedup();
    all
}

fn raise_times(plan: &Plan) -> BTreeMap<(u8, u8), RaiseTimes> {
    let of = |it: &tenuto_model::ModeChangeBound| {
        let Transition::Raise { from, to } = it.change else { return None };
        let drain_ns = it.drain_ps.map(|ps| ps.div_ceil(1_000));
        Some(((from, to), RaiseTimes { spread_ns: it.bound_ps / 1_000, drain_ns }))
    };
    plan.mode_changes.iter().filter_map(of).collect()
}

fn level(index: usize) -> u8 {
    u8::try_from(index).unwrap_or(u8::MAX)
}
