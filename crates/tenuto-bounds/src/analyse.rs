//! The order of methods: cheap ones first, the minimum of what is valid last.

use crate::blind::{self, Blind};
use crate::cyclic;
use crate::outcome::{Analysis, Effort, Method, Options, Progress, TargetBound};
use crate::proof::Proofs;
use crate::prove::{Proved, Solved};
use crate::search;
use crate::solver::InteriorPoint;
use crate::surroundings::Known;
use crate::tfa::{self, Delays};
use crate::topology::{Stop, Topology, faults};
use std::collections::BTreeMap;
use tenuto_calculus::{Bucket, Multiplexing, ServerGraph};
use tenuto_units::Picos;

/// Bounds every flow and target of a graph.
///
/// Each bound is the least of those that the methods within `options` give; each of them is valid
/// by itself. Where the load of a server exceeds its service, nothing that depends on it has a
/// bound. `progress` is called before every step that takes long.
pub fn analyse(
    graph: &ServerGraph,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Analysis {
    sound(graph, options, |topology| {
        progress(Progress { method: Method::Tfa, done: 0, total: 1 });
        let delays = tfa::delays(graph, topology, options.line_shaping);
        let mut analysis = with_delays(graph, options, delays.clone());
        if options.effort > Effort::Tfa {
            lower(graph, options, topology, &delays, true, &mut analysis, progress);
        }
        analysis
    })
}

/// As [`analyse`], from certified delays of all servers instead of its own: those of an analysis
/// that knows more than the graph says. Every linear proof rests on these delays alone: no burst
/// inside the graph is claimed, in cycles either.
pub fn tighten(
    graph: &ServerGraph,
    delays: Vec<Option<Picos>>,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Analysis {
    sound(graph, options, |topology| {
        let mut analysis = with_delays(graph, options, delays.clone());
        lower(graph, options, topology, &delays, false, &mut analysis, progress);
        analysis
    })
}

/// An analysis of a graph that is one; without any bound if it is none.
fn sound(
    graph: &ServerGraph,
    options: &Options,
    analysis: impl FnOnce(&Topology) -> Analysis,
) -> Analysis {
    let faults = faults(graph);
    match faults.is_empty() {
        true => analysis(&Topology::new(graph)),
        false => Analysis { faults, ..unbounded(graph, options) },
    }
}

/// Lowers bounds by linear programs.
fn lower(
    graph: &ServerGraph,
    options: &Options,
    topology: &Topology,
    delays: &Delays,
    claims_bursts: bool,
    analysis: &mut Analysis,
    progress: &mut dyn FnMut(Progress),
) {
    let line_shaping = options.line_shaping;
    let mut solved = Solved::new(&InteriorPoint);
    let mut bursts: BTreeMap<Stop, Vec<Bucket>> = BTreeMap::new();
    let known = Known { graph, topology, line_shaping, delays, bursts: &bursts };
    let claims = match claims_bursts {
        true if topology.is_acyclic => blind::bursts(known, options, &mut solved),
        true if options.effort >= Effort::Plp => cyclic::bursts(&known, options, &mut solved),
        _ => Vec::new(),
    };
    for claim in &claims {
        let stop = Stop { flow: claim.flow, visit: claim.visit };
        bursts.entry(stop).or_default().push(claim.bucket);
    }
    analysis.proofs.bursts = claims;
    let known = Known { graph, topology, line_shaping, delays, bursts: &bursts };
    if options.effort >= Effort::Plp {
        in_order(known, options, &mut solved, analysis, progress);
    }
    whatever_order(known, options, &mut solved, analysis, progress);
}

/// Lowers bounds on ways over FIFO servers.
fn in_order(
    known: Known<'_>,
    options: &Options,
    solved: &mut Solved<'_>,
    analysis: &mut Analysis,
    progress: &mut dyn FnMut(Progress),
) {
    let graph = known.graph;
    // The bound of a path does not depend on who takes it: flows leave in order of arrival.
    let mut paths: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for (index, bound) in analysis.bounds.iter().enumerate() {
        paths.entry(graph.path(bound.flow, bound.target)).or_default().push(index);
    }
    let total = paths.len();
    let rows_max = options.rows_max.min(options.rows_total_max / total.max(1));
    for (done, (path, bounds)) in paths.into_iter().enumerate() {
        progress(Progress { method: Method::Plp, done, total });
        let found = search::delay(&known, &path, options, rows_max, solved);
        let Some((method, proved)) = found else { continue };
        for index in bounds {
            take(graph, analysis, index, method, &proved);
        }
    }
}

/// Lowers bounds by what holds in any order, where some server serves so, or no more is asked.
fn whatever_order(
    known: Known<'_>,
    options: &Options,
    solved: &mut Solved<'_>,
    analysis: &mut Analysis,
    progress: &mut dyn FnMut(Progress),
) {
    let graph = known.graph;
    let is_any = |s: &tenuto_calculus::GraphServer| s.multiplexing == Multiplexing::Arbitrary;
    // FIFO programs hold these inequalities too.
    if options.effort > Effort::Blind && !graph.servers.iter().any(is_any) {
        return;
    }
    let total = analysis.bounds.len();
    let mut blind = Blind::new(known, options, solved, total + analysis.proofs.bursts.len());
    for index in 0..total {
        let (flow, target) = (analysis.bounds[index].flow, analysis.bounds[index].target);
        let path = graph.path(flow, target);
        let method = blind.method();
        progress(Progress { method, done: index, total });
        let stop = Stop { flow, visit: graph.flows[flow].targets[target].visit };
        if let Some(proved) = blind.delay(&path, stop) {
            take(graph, analysis, index, method, &proved);
        }
    }
}

/// Keeps what was proved, if it is less than what is there.
fn take(
    graph: &ServerGraph,
    analysis: &mut Analysis,
    index: usize,
    method: Method,
    proved: &Proved,
) {
    let bound = &mut analysis.bounds[index];
    let constant = graph.flows[bound.flow].targets[bound.target].constant.0.max(0);
    let delay = proved.bound.checked_add(constant).map(Picos);
    if delay.is_some_and(|delay| bound.delay.is_none_or(|before| delay < before)) {
        (bound.delay, bound.method) = (delay, method);
        analysis.proofs.linear[index] = Some(proved.proof.clone());
    }
}

/// Indices of all flows and targets, in the order of [`Analysis::bounds`].
fn targets(graph: &ServerGraph) -> impl Iterator<Item = (usize, usize)> {
    let of = |(flow, f): (usize, &tenuto_calculus::GraphFlow)| {
        (0..f.targets.len()).map(move |target| (flow, target))
    };
    graph.flows.iter().enumerate().flat_map(of)
}

fn unbounded(graph: &ServerGraph, options: &Options) -> Analysis {
    let none =
        |(flow, target)| TargetBound { flow, target, delay: None, method: Method::Tfa, tfa: None };
    let bounds: Vec<TargetBound> = targets(graph).map(none).collect();
    let proofs = Proofs {
        line_shaping: options.line_shaping,
        server_delays_ps: vec![None; graph.servers.len()],
        bursts: Vec::new(),
        linear: vec![None; bounds.len()],
    };
    Analysis { faults: Vec::new(), bounds, proofs }
}

fn with_delays(graph: &ServerGraph, options: &Options, delays: Delays) -> Analysis {
    let mut analysis = unbounded(graph, options);
    for bound in &mut analysis.bounds {
        bound.tfa = tfa::target_delay(graph, &delays, bound.flow, bound.target);
        bound.delay = bound.tfa;
    }
    analysis.proofs.server_delays_ps = delays;
    analysis
}
