//! End-to-end bounds of steady modes: one server graph per class, and the linear proofs on it
//! (theory, "Whole paths").
//!
//! Constants are taken out of the graph and variation is put into the service of the server in
//! front of it. Behind a meter or monitor a flow starts anew with what is enforced.

use crate::analysis::Analysis;
use crate::outlook::Outlook;
use crate::port::Ports;
use crate::scene::Share;
use std::collections::BTreeMap;
use tenuto_bounds::{
    Effort, Executor, GraphFlow, GraphServer, GraphTarget, GraphVisit, Multiplexing, RateLatency,
    ServerGraph,
};
use tenuto_calculus::{Bucket, div_up};
use tenuto_model::{Transition, WholePathProof};
use tenuto_units::Picos;

/// How far to look for bounds of whole paths; in sizes, so that the answer is always the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Egress ports that one linear program may look at.
    pub servers_max: usize,
    /// Whether to try larger programs after the polynomial one.
    pub is_thorough: bool,
    /// Inequalities that all programs of a class together may have.
    pub rows_total_max: usize,
}

impl Default for Search {
    fn default() -> Self {
        Self { servers_max: 12, is_thorough: false, rows_total_max: 1_000_000 }
    }
}

/// What the checker's exact numbers may differ from the planner's rounded ones costs less.
const MARGIN_PS: i128 = 1_000;

/// A proved bound of one copy to one target.
#[derive(Clone, Debug)]
pub(crate) struct WholePath {
    pub(crate) delay_ps: u64,
    pub(crate) proof: WholePathProof,
}

/// By mode, tree and place of the target.
pub(crate) type WholePaths = BTreeMap<(Transition, usize, usize), WholePath>;

/// The bounds of every steady mode that beat the sums of hops.
pub(crate) fn whole_paths(
    analysis: &Analysis<'_>,
    search: Search,
    executor: &dyn Executor,
    progress: &mut dyn FnMut(usize, usize),
) -> WholePaths {
    if !analysis.ports.processors.is_empty() {
        // What ports share in front of their queues is no server of one path.
        return WholePaths::new();
    }
    let options = &tenuto_bounds::Options {
        line_shaping: analysis.ports.options.line_shaping,
        effort: if search.is_thorough { Effort::Tight } else { Effort::Plp },
        tree_servers_max: search.servers_max,
        rows_total_max: search.rows_total_max,
        ..tenuto_bounds::Options::default()
    };
    let mut found = WholePaths::new();
    for result in &analysis.results {
        if !matches!(result.scene.transition, Transition::Steady(_)) {
            continue;
        }
        let mut classes: Vec<u8> =
            result.scene.shares.iter().flat_map(|share| share.classes.iter().copied()).collect();
        classes.sort_unstable();
        classes.dedup();
        for class in classes {
            of_class(analysis, (result, class), (options, executor), &mut found, progress);
        }
    }
    found
}

fn of_class(
    analysis: &Analysis<'_>,
    (result, class): (&Outlook, u8),
    (options, executor): (&tenuto_bounds::Options, &dyn Executor),
    found: &mut WholePaths,
    progress: &mut dyn FnMut(usize, usize),
) {
    let of = ClassGraph::new(analysis, result, class);
    let delays = of.delays.clone();
    let proved = tenuto_bounds::tighten(&of.graph, delays, options, executor, &mut |step| {
        progress(step.done, step.total);
    });
    for (bound, proof) in proved.bounds.iter().zip(&proved.proofs.linear) {
        let (Some(delay), Some(proof)) = (bound.delay, proof) else { continue };
        let (tree, place) = of.targets[bound.flow][bound.target];
        let Ok(delay_ps) = u64::try_from(delay.0 + MARGIN_PS) else { continue };
        let proof = proof
            .renamed(|flow, visit| (of.trees[flow], of.graph.flows[flow].visits[visit].server));
        let Ok(linear) = serde_json::to_value(proof) else { continue };
        let proof = WholePathProof { method: bound.method.to_string(), linear };
        let whole = WholePath { delay_ps, proof };
        found.insert((result.scene.transition, tree, place), whole);
    }
}

/// The flows of one class in one mode, and the servers as they see them.
struct ClassGraph {
    graph: ServerGraph,
    /// Per server: D of the class plus the variation behind it.
    delays: Vec<Option<Picos>>,
    /// Per flow of the graph: its tree.
    trees: Vec<usize>,
    /// Per flow of the graph and target: tree, place of the target.
    targets: Vec<Vec<(usize, usize)>>,
}

impl ClassGraph {
    fn new(analysis: &Analysis<'_>, result: &Outlook, class: u8) -> Self {
        let ports = &analysis.ports;
        let servers = 0..ports.topology.servers.len();
        let varying = |server: usize| variation(ports, server);
        let delay = |server: usize| {
            let own = result.solution.delay(server, class)?;
            Some(Picos(own.0 + varying(server)))
        };
        let mut this = Self {
            graph: ServerGraph {
                name: String::new(),
                servers: servers.clone().map(|s| server(ports, result, s, class)).collect(),
                flows: Vec::new(),
            },
            delays: servers.map(delay).collect(),
            trees: Vec::new(),
            targets: Vec::new(),
        };
        for (tree, share) in result.scene.shares.iter().enumerate() {
            if share.classes == [class] {
                this.add(analysis, result, tree, share);
            }
        }
        this
    }

    /// Adds the flows of one tree: all of it, or its source's port and what is behind it apart.
    fn add(&mut self, analysis: &Analysis<'_>, result: &Outlook, tree: usize, share: &Share) {
        let is_enforced = share.forwarded.is_some_and(|f| f.enforced.is_some());
        if share.forwarded.is_none() || is_enforced {
            self.push(analysis, result, tree, share.source, |depth| depth == 0);
        } else {
            self.push(analysis, result, tree, share.source, |_| true);
        }
        if let Some(enforced) = share.forwarded.and_then(|f| f.enforced) {
            self.push(analysis, result, tree, enforced, |depth| depth > 0);
        }
    }

    fn push(
        &mut self,
        analysis: &Analysis<'_>,
        result: &Outlook,
        tree: usize,
        arrival: Bucket,
        is_in: impl Fn(usize) -> bool,
    ) {
        let it = &analysis.trees[tree];
        let mesh = &analysis.ports.mesh;
        let mut visit_of: BTreeMap<usize, usize> = BTreeMap::new();
        let mut visits = Vec::new();
        for (hop, at) in it.hops.iter().enumerate() {
            if is_in(mesh.visits[mesh.visit(tree, hop)].depth) {
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
        self.graph.flows.push(GraphFlow {
            name: String::new(),
            arrival: vec![arrival],
            visits,
            targets,
        });
        self.trees.push(tree);
        self.targets.push(named);
    }
}

/// What a path takes besides the servers that are visited: cables, least latencies, and the whole
/// of what lies in front of the first visit.
fn constant(
    analysis: &Analysis<'_>,
    result: &Outlook,
    tree: usize,
    path: &[usize],
    visited: &BTreeMap<usize, usize>,
) -> Option<Picos> {
    let topology = analysis.ports.topology;
    let it = &analysis.trees[tree];
    let mut sum = 0;
    let mut was_visited = true;
    for hop in path {
        let server = it.hops[*hop].server;
        let egress = &topology.servers[server];
        let node = &topology.nodes[egress.node];
        let is_visited = visited.contains_key(hop);
        // Behind a visited server the variation is in its service.
        sum += egress.propagation_ps
            + match is_visited && was_visited {
                true => node.latency_min_ps(),
                false => node.latency_max_ps(),
            };
        if !is_visited {
            sum += result.solution.delay_of(server, &result.scene.shares[tree].classes)?.0;
        }
        was_visited = is_visited;
    }
    Some(Picos(sum))
}

/// The jitter of the node behind a server.
fn variation(ports: &Ports<'_>, server: usize) -> i128 {
    ports.topology.nodes[ports.topology.servers[server].peer].latency_jitter_ps()
}

/// β of a class: what is left of the line by blocking, higher classes and signals.
fn server(ports: &Ports<'_>, result: &Outlook, server: usize, class: u8) -> GraphServer {
    let scene = &result.scene;
    let egress = &ports.topology.servers[server];
    let mut above = Bucket { burst_ubit: ports.blocking(server, scene, class), rate_ubps: 0 };
    let mut packet_ubit = 0;
    let mut is_bounded = true;
    for visit in ports.present(server, scene) {
        let share = &scene.shares[ports.mesh.visits[visit].tree];
        if share.class_first() < class {
            match result.solution.arriving.bursts[visit] {
                Some(bucket) => above = above.plus(bucket),
                None => is_bounded = false,
            }
        } else if share.classes == [class] {
            let frame = share.frame_ubit(ports.mesh.visits[visit].depth);
            packet_ubit = packet_ubit.max(frame.filter(|_| !ports.is_fluid()).unwrap_or(0));
        } else if share.class_first() <= class {
            // A flow that changes its class in this mode: there is none in a steady one.
            is_bounded = false;
        }
    }
    if egress.is_trunk {
        above = above.plus(ports.signals);
    }
    let capacity = i128::from(egress.rate_bps) * tenuto_calculus::UBIT_PER_BIT;
    let rate_ubps = (capacity - above.rate_ubps).max(0);
    let latency = match rate_ubps {
        0 => 0,
        rate => above
            .burst_ubit
            .checked_mul(1_000_000_000_000)
            .map_or(i128::MAX / 4, |product| div_up(product, rate)),
    };
    let after = egress.tick_ps + variation(ports, server);
    GraphServer {
        name: String::new(),
        service: vec![RateLatency {
            rate_ubps: if is_bounded { rate_ubps } else { 0 },
            latency: Picos(latency.saturating_add(after)),
        }],
        line: line(ports, result, server),
        multiplexing: Multiplexing::Fifo,
        packet_ubit,
    }
}

/// Λ of the line behind a server, for the largest frame of any flow that goes on.
fn line(ports: &Ports<'_>, result: &Outlook, server: usize) -> Option<Bucket> {
    let egress = &ports.topology.servers[server];
    if ports.topology.nodes[egress.peer].is_host() {
        return None;
    }
    let mut frame_ubit = 0;
    for &next in ports.topology.leaving(egress.peer) {
        for group in ports.mesh.groups[next].iter().filter(|group| group.line == Some(server)) {
            for &visit in &group.visits {
                let share = &result.scene.shares[ports.mesh.visits[visit].tree];
                let frame = share.frame_ubit(ports.mesh.visits[visit].depth);
                frame_ubit = frame_ubit.max(frame.unwrap_or(0));
            }
        }
    }
    let next = ports.topology.leaving(egress.peer).first()?;
    ports.line(*next, server, frame_ubit, &result.solution.arriving)?
}
