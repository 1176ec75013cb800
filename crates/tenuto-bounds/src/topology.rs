//! Who meets whom: visits per server, and an order of servers along the flow of data.

use std::collections::{BTreeMap, BTreeSet};
use tenuto_calculus::ServerGraph;

/// One visit of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stop {
    pub(crate) flow: usize,
    pub(crate) visit: usize,
}

/// What is derived from a sound graph once.
#[derive(Debug)]
pub(crate) struct Topology {
    /// Per server: the visits there.
    pub(crate) stops: Vec<Vec<Stop>>,
    /// Per flow and visit: the visits right behind it, with their servers.
    pub(crate) onward: Vec<Vec<Vec<(usize, usize)>>>,
    /// Per server: the servers that flows come from.
    pub(crate) upstream: Vec<BTreeSet<usize>>,
    /// Servers, upstream first; within a cycle as it comes.
    pub(crate) order: Vec<usize>,
    /// Whether no flow of data returns to where it was.
    pub(crate) is_acyclic: bool,
    /// Per server: whether more is to cross its line to some server than the line carries.
    pub(crate) is_choked: Vec<bool>,
}

impl Topology {
    pub(crate) fn new(graph: &ServerGraph) -> Self {
        let servers = graph.servers.len();
        let mut stops = vec![Vec::new(); servers];
        let mut upstream = vec![BTreeSet::new(); servers];
        let mut onward = Vec::new();
        for (flow, of) in graph.flows.iter().enumerate() {
            let mut behind = vec![Vec::new(); of.visits.len()];
            for (visit, at) in of.visits.iter().enumerate() {
                stops[at.server].push(Stop { flow, visit });
                if let Some(parent) = at.parent {
                    upstream[at.server].insert(of.visits[parent].server);
                    behind[parent].push((at.server, visit));
                }
            }
            onward.push(behind);
        }
        let (order, is_acyclic) = sorted(&upstream);
        let mut is_choked = vec![false; servers];
        for ((from, _), load) in line_loads_ubps(graph) {
            is_choked[from] |= graph.servers[from].line.is_some_and(|line| load > line.rate_ubps);
        }
        Self { stops, onward, upstream, order, is_acyclic, is_choked }
    }
}

impl Topology {
    /// Per server: servers of the tree of all that lie in front of it, itself and copies counted.
    /// For graphs without cycles.
    pub(crate) fn whole_trees(&self) -> Vec<usize> {
        let mut sizes = vec![0_usize; self.upstream.len()];
        for &server in &self.order {
            let in_front = self.upstream[server].iter().map(|&from| sizes[from]);
            sizes[server] = in_front.fold(1, usize::saturating_add);
        }
        sizes
    }
}

/// What flows send in the long term from one server to the next, 10⁻⁶ bit/s, by these two. Lines
/// have to carry it: else data waits without end, whatever the service.
#[must_use]
pub fn line_loads_ubps(graph: &ServerGraph) -> BTreeMap<(usize, usize), i128> {
    let mut loads: BTreeMap<(usize, usize), i128> = BTreeMap::new();
    for flow in &graph.flows {
        let rate = flow.arrival.iter().map(|bucket| bucket.rate_ubps).min().unwrap_or(0);
        let hop = |visit: &tenuto_calculus::GraphVisit| {
            Some((flow.visits.get(visit.parent?)?.server, visit.server))
        };
        for hop in flow.visits.iter().filter_map(hop) {
            let load = loads.entry(hop).or_default();
            *load = load.saturating_add(rate);
        }
    }
    loads
}

/// Upstream first; where only cycles are left, the lowest index goes next.
fn sorted(upstream: &[BTreeSet<usize>]) -> (Vec<usize>, bool) {
    let mut waiting: Vec<usize> = upstream.iter().map(BTreeSet::len).collect();
    let mut downstream = vec![Vec::new(); upstream.len()];
    for (server, from) in upstream.iter().enumerate() {
        for &other in from {
            downstream[other].push(server);
        }
    }
    let mut left: BTreeSet<usize> = (0..upstream.len()).collect();
    let mut ready: BTreeSet<usize> = left.iter().copied().filter(|&s| waiting[s] == 0).collect();
    let (mut order, mut is_acyclic) = (Vec::new(), true);
    while let Some(&lowest) = left.first() {
        let server = ready.pop_first().unwrap_or_else(|| {
            is_acyclic = false;
            lowest
        });
        left.remove(&server);
        order.push(server);
        for &next in &downstream[server] {
            waiting[next] = waiting[next].saturating_sub(1);
            if waiting[next] == 0 && left.contains(&next) {
                ready.insert(next);
            }
        }
    }
    (order, is_acyclic)
}

/// What makes a graph no graph; nothing is analysed then.
pub(crate) fn faults(graph: &ServerGraph) -> Vec<String> {
    let mut faults = Vec::new();
    for server in &graph.servers {
        let name = &server.name;
        if server.service.is_empty() {
            faults.push(format!(
                "server {name}: no service curve; one rate with a latency is enough"
            ));
        }
        if server.service.iter().any(|s| s.rate_ubps < 0 || s.latency.0 < 0) {
            faults.push(format!("server {name}: a rate or latency below zero"));
        }
        if server.line.is_some_and(|l| l.burst_ubit < 0 || l.rate_ubps < 0) {
            faults.push(format!("server {name}: a line with a rate or burst below zero"));
        }
        if server.packet_ubit < 0 {
            faults.push(format!("server {name}: a packet length below zero"));
        }
    }
    for flow in &graph.flows {
        let name = &flow.name;
        if flow.arrival.is_empty() {
            faults.push(format!("flow {name}: no arrival curve; one burst with a rate is enough"));
        }
        if flow.arrival.iter().any(|b| b.burst_ubit < 0 || b.rate_ubps < 0) {
            faults.push(format!("flow {name}: a burst or rate below zero"));
        }
        for (index, visit) in flow.visits.iter().enumerate() {
            if visit.server >= graph.servers.len() {
                faults.push(format!("flow {name}: visit {index} is at no server"));
            }
            if visit.parent.is_some_and(|parent| parent >= index) {
                faults.push(format!("flow {name}: visit {index} comes before its parent"));
            }
        }
        for target in &flow.targets {
            if target.visit >= flow.visits.len() {
                faults.push(format!("flow {name}, target {}: no such visit", target.name));
            }
        }
    }
    faults
}
