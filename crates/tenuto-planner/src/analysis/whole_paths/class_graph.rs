//! One class in one mode or raise as a server graph.
//!
//! Constants are taken out of the graph and variation is put into the service of the server in
//! front of it. Behind a meter or monitor a flow starts anew with what is enforced; so does what a
//! raise ends, of which any switch on its way may drop the rest.

use super::reach;
use crate::analysis::context::Analysis;
use crate::analysis::mode_input::Share;
use crate::analysis::mode_result::ModeResult;
use crate::analysis::port::Ports;
use std::collections::BTreeMap;
use tenuto_bounds::{
    GraphFlow, GraphServer, GraphTarget, GraphVisit, Multiplexing, RateLatency, ServerGraph,
};
use tenuto_calculus::{Bucket, UBIT_PER_BIT, div_up};
use tenuto_units::Picos;

const PS_PER_S: i128 = 1_000_000_000_000;

/// The flows of one class, and the servers as they see them.
pub(super) struct ClassGraph {
    pub(super) graph: ServerGraph,
    /// Per server: D of the class plus the variation behind it.
    pub(super) delays: Vec<Option<Picos>>,
    /// Per flow of the graph: its tree.
    pub(super) trees: Vec<usize>,
    /// Per flow of the graph and target: tree, place of the target.
    pub(super) targets: Vec<Vec<(usize, usize)>>,
    /// Servers where something comes that has no bound.
    unbounded: Vec<usize>,
}

impl ClassGraph {
    pub(super) fn new(analysis: &Analysis<'_>, result: &ModeResult, class: u8) -> Self {
        let ports = &analysis.ports;
        let servers = 0..ports.topology.servers.len();
        let delay = |server: usize| {
            let own = result.solution.delay(server, class)?;
            Some(Picos(own.0 + variation(ports, result, server)?))
        };
        let mut this = Self {
            graph: ServerGraph::default(),
            delays: servers.clone().map(delay).collect(),
            trees: Vec::new(),
            targets: Vec::new(),
            unbounded: Vec::new(),
        };
        for (tree, share) in result.mode_input.shares.iter().enumerate() {
            if share.classes == [class] {
                this.add(analysis, result, tree, share);
            }
        }
        let endings = reach::endings(analysis, result, class, &this.graph.flows);
        for flow in this.graph.flows.iter_mut().filter(|flow| flow.is_lossy) {
            let first = flow.visits.iter().filter(|visit| visit.parent.is_none());
            let ends = first.map(|visit| endings[visit.server]);
            let end = ends.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).flatten();
            let ended = end.map(|end| Bucket { rate_ubps: 0, ..flow.arrival[0].grown(end) });
            flow.arrival.extend(ended);
        }
        let seen = |s: usize| server(ports, result, (s, class), endings[s]);
        this.graph.servers = servers.map(seen).collect();
        for &server in &this.unbounded {
            this.graph.servers[server].service = vec![none()];
        }
        this
    }

    /// Servers of which nothing is known, and nobody to visit them.
    pub(super) fn empty(servers: usize) -> Self {
        let server = GraphServer {
            name: String::new(),
            service: vec![none()],
            line: None,
            multiplexing: Multiplexing::Fifo,
            packet_ubit: 0,
        };
        Self {
            graph: ServerGraph { servers: vec![server; servers], ..ServerGraph::default() },
            delays: vec![None; servers],
            trees: Vec::new(),
            targets: Vec::new(),
            unbounded: Vec::new(),
        }
    }

    /// Adds the flows of one tree: all of it, or its source's port and what is behind it apart.
    fn add(&mut self, analysis: &Analysis<'_>, result: &ModeResult, tree: usize, share: &Share) {
        let port_graph = &analysis.ports.port_graph;
        let is_whole = share.forwarded.is_some_and(|it| it.enforced.is_none() && !it.is_ending);
        self.push(analysis, result, (tree, false), share.source, |depth| depth == 0 || is_whole);
        let Some(behind) = share.forwarded.filter(|_| !is_whole) else { return };
        let mut hops = 0..analysis.trees[tree].hops.len();
        let second = hops.find(|&hop| port_graph.visits[port_graph.visit(tree, hop)].depth == 1);
        let Some(second) = second else { return };
        match result.solution.arriving.bursts[port_graph.visit(tree, second)] {
            Some(bucket) => {
                let name = (tree, behind.is_ending);
                self.push(analysis, result, name, bucket, |depth| depth > 0);
            }
            None => self.unbounded.extend(analysis.trees[tree].hops.iter().map(|hop| hop.server)),
        }
    }

    fn push(
        &mut self,
        analysis: &Analysis<'_>,
        result: &ModeResult,
        (tree, is_lossy): (usize, bool),
        arrival: Bucket,
        is_in: impl Fn(usize) -> bool,
    ) {
        let it = &analysis.trees[tree];
        let port_graph = &analysis.ports.port_graph;
        let mut visit_of: BTreeMap<usize, usize> = BTreeMap::new();
        let mut visits = Vec::new();
        for (hop, at) in it.hops.iter().enumerate() {
            if is_in(port_graph.visits[port_graph.visit(tree, hop)].depth) {
                let parent = at.parent.and_then(|parent| visit_of.get(&parent).copied());
                visit_of.insert(hop, visits.len());
                visits.push(GraphVisit { server: at.server, parent });
            }
        }
        if visits.is_empty() {
            return;
        }
        let (mut targets, mut named) = (Vec::new(), Vec::new());
        for (place, path) in it.paths.iter().enumerate() {
            let last = path.last().and_then(|hop| visit_of.get(hop).copied());
            let constant = constant(analysis, result, tree, path, &visit_of);
            if let Some((visit, constant)) = last.zip(constant) {
                let name = String::new();
                targets.push(GraphTarget { name, visit, deadline: None, constant });
                named.push((tree, place));
            }
        }
        let (name, arrival) = (String::new(), vec![arrival]);
        self.graph.flows.push(GraphFlow { name, arrival, visits, targets, is_lossy });
        self.trees.push(tree);
        self.targets.push(named);
    }
}

/// What a path takes besides the servers that are visited: cables, least latencies, and the whole
/// of what lies in front of the first visit.
fn constant(
    analysis: &Analysis<'_>,
    result: &ModeResult,
    tree: usize,
    path: &[usize],
    visited: &BTreeMap<usize, usize>,
) -> Option<Picos> {
    let ports = &analysis.ports;
    let topology = ports.topology;
    let it = &analysis.trees[tree];
    let mut sum = 0;
    let mut was_visited = true;
    for hop in path {
        let server = it.hops[*hop].server;
        let egress = &topology.servers[server];
        let node = &topology.nodes[egress.node];
        let is_visited = visited.contains_key(hop);
        let line = it.hops[*hop].parent.map(|parent| it.hops[parent].server);
        let site = ports.processors.site(egress.node);
        // Behind a visited server the variation is in its service.
        sum += egress.propagation_ps
            + match is_visited && was_visited {
                true => {
                    node.latency_min_ps()
                        + site.map_or(0, crate::analysis::processor::Site::least_ps)
                }
                false => {
                    let processing = line.map_or(Some(Picos(0)), |l| result.solution.processing[l]);
                    node.latency_max_ps() + processing?.0
                }
            };
        if !is_visited {
            sum += result.solution.delay_of(server, &result.mode_input.shares[tree].classes)?.0;
        }
        was_visited = is_visited;
    }
    Some(Picos(sum))
}

/// How much the node behind a server varies, its processor included; `None` without a bound.
fn variation(ports: &Ports<'_>, result: &ModeResult, server: usize) -> Option<i128> {
    let node = ports.topology.servers[server].peer;
    let jitter = ports.topology.nodes[node].latency_jitter_ps();
    let Some(site) = ports.processors.site(node) else { return Some(jitter) };
    let processing = result.solution.processing[server];
    Some(jitter + ports.processors.varying(site, server, processing)?.0)
}

/// A server of which nothing is known.
pub(super) const fn none() -> RateLatency {
    RateLatency { rate_ubps: 0, latency: Picos(0) }
}

/// β of a class: what is left of the line by blocking, higher classes and signals.
fn server(
    ports: &Ports<'_>,
    result: &ModeResult,
    (server, class): (usize, u8),
    ending: Option<Picos>,
) -> GraphServer {
    let egress = &ports.topology.servers[server];
    let Beside { lasting, until_swap, packet_ubit, is_bounded } =
        beside(ports, result, server, class);
    let after = variation(ports, result, server).map(|varying| egress.tick_ps + varying);
    let ended = ending.map(|ending| Bucket { rate_ubps: 0, ..until_swap.grown(ending) });
    let ended = ended.filter(|_| until_swap.rate_ubps > 0);
    let mut service = Vec::new();
    for above in [Some(until_swap), ended].into_iter().flatten() {
        let after = after.filter(|_| is_bounded);
        let left = after.and_then(|after| left_over(egress.rate_bps, lasting.plus(above), after));
        service.extend(left);
    }
    if service.is_empty() {
        service.push(none());
    }
    let packet_ubit = held_back(packet_ubit, &service, egress.rate_bps);
    GraphServer {
        name: String::new(),
        service,
        line: line(ports, result, server),
        multiplexing: Multiplexing::Fifo,
        packet_ubit,
    }
}

/// What else is at a server, as a class sees it.
struct Beside {
    /// Blocking, higher classes that go on, and signals.
    lasting: Bucket,
    /// Higher classes that end at the swap.
    until_swap: Bucket,
    /// Largest frame of the class, 10⁻⁶ bit.
    packet_ubit: i128,
    is_bounded: bool,
}

fn beside(ports: &Ports<'_>, result: &ModeResult, server: usize, class: u8) -> Beside {
    let mode_input = &result.mode_input;
    let mut lasting =
        Bucket { burst_ubit: ports.blocking(server, mode_input, class), rate_ubps: 0 };
    let mut until_swap = Bucket::ZERO;
    let mut packet_ubit = 0;
    let mut is_bounded = true;
    for visit in ports.present(server, mode_input) {
        let depth = ports.port_graph.visits[visit].depth;
        let share = &mode_input.shares[ports.port_graph.visits[visit].tree];
        if share.class_first() < class {
            let above = if share.is_ending(depth) { &mut until_swap } else { &mut lasting };
            match result.solution.arriving.bursts[visit] {
                Some(bucket) => *above = above.plus(bucket),
                None => is_bounded = false,
            }
        } else if share.classes == [class] {
            let frame = share.frame_ubit(depth);
            packet_ubit = packet_ubit.max(frame.filter(|_| !ports.is_fluid()).unwrap_or(0));
        } else if share.class_first() <= class {
            // A flow that changes its class: there is none.
            is_bounded = false;
        }
    }
    if ports.topology.servers[server].is_trunk {
        lasting = lasting.plus(ports.signals);
    }
    Beside { lasting, until_swap, packet_ubit, is_bounded }
}

/// What a frame holds back of a service that is less than the line: once begun it has left a frame
/// later at the line's rate, and in that time the service is due so much.
fn held_back(frame_ubit: i128, service: &[RateLatency], rate_bps: u64) -> i128 {
    let fastest = service.iter().map(|piece| piece.rate_ubps).max().unwrap_or(0);
    let line = i128::from(rate_bps) * UBIT_PER_BIT;
    frame_ubit.checked_mul(fastest).map_or(frame_ubit, |due| div_up(due, line).min(frame_ubit))
}

/// What a line leaves of itself beside `above`, `after` later; `None` if that is nothing.
fn left_over(rate_bps: u64, above: Bucket, after: i128) -> Option<RateLatency> {
    let capacity = i128::from(rate_bps) * UBIT_PER_BIT;
    let rate_ubps = capacity.checked_sub(above.rate_ubps).filter(|&rate| rate > 0)?;
    let wait = div_up(above.burst_ubit.checked_mul(PS_PER_S)?, rate_ubps);
    Some(RateLatency { rate_ubps, latency: Picos(wait.checked_add(after)?) })
}

/// Λ of the line behind a server, for the largest frame of any flow that goes on.
fn line(ports: &Ports<'_>, result: &ModeResult, server: usize) -> Option<Bucket> {
    let egress = &ports.topology.servers[server];
    let mut widest: Option<Bucket> = None;
    for &next in ports.topology.leaving(egress.peer) {
        let carries = |visit: &usize| {
            let parent = ports.port_graph.visits[*visit].parent;
            parent.is_some_and(|parent| ports.port_graph.visits[parent].server == server)
        };
        for (group, line) in
            ports.lined(next, (&result.mode_input, &result.solution.arriving), u8::MAX)?
        {
            if group.visits.iter().any(carries) {
                let line = line?;
                let burst_ubit =
                    widest.map_or(line.burst_ubit, |w| w.burst_ubit.max(line.burst_ubit));
                widest = Some(Bucket { burst_ubit, ..line });
            }
        }
    }
    widest
}
