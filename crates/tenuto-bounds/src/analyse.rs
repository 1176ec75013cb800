//! The order of methods: cheap ones first, the minimum of what is valid last.

use crate::blind::{self, Blind};
use crate::executor::{Executor, InTurn, gather};
use crate::outcome::{Analysis, Effort, Method, Options, Progress, TargetBound};
use crate::proof::Proofs;
use crate::prove::{Proved, SOLVER, Solved};
use crate::surroundings::{Bursts, Known};
use crate::tfa::{self, Delays};
use crate::topology::{Stop, Topology, faults};
use crate::{cyclic, inner, search, whole};
use std::cmp::Reverse;
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
    analyse_on(graph, options, &InTurn, progress)
}

/// As [`analyse`], programs side by side as far as `executor` does that.
pub fn analyse_on(
    graph: &ServerGraph,
    options: &Options,
    executor: &dyn Executor,
    progress: &mut dyn FnMut(Progress),
) -> Analysis {
    sound(graph, options, |topology| {
        progress(Progress { method: Method::Tfa, done: 0, total: 1 });
        let delays = tfa::delays(graph, topology, options.line_shaping);
        let mut analysis = with_delays(graph, options, delays.clone());
        if options.effort > Effort::Tfa {
            let lower = Lower { graph, options, topology, delays: &delays, executor };
            lower.all(true, &mut analysis, progress);
        }
        analysis
    })
}

/// Whether data of some flows returns to where it was: bounds then rest on each other.
pub fn has_cycles(graph: &ServerGraph) -> bool {
    faults(graph).is_empty() && !Topology::new(graph).is_acyclic
}

/// As [`analyse`], from certified delays of all servers instead of its own: those of an analysis
/// that knows more than the graph says. Every linear proof rests on these delays alone: no burst
/// inside the graph is claimed, in cycles either.
pub fn tighten(
    graph: &ServerGraph,
    delays: Vec<Option<Picos>>,
    options: &Options,
    executor: &dyn Executor,
    progress: &mut dyn FnMut(Progress),
) -> Analysis {
    sound(graph, options, |topology| {
        let mut analysis = with_delays(graph, options, delays.clone());
        let lower = Lower { graph, options, topology, delays: &delays, executor };
        lower.all(false, &mut analysis, progress);
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
struct Lower<'a> {
    graph: &'a ServerGraph,
    options: &'a Options,
    topology: &'a Topology,
    delays: &'a Delays,
    executor: &'a dyn Executor,
}

/// A way through servers, and the bounds that it is of.
struct Way {
    servers: Vec<usize>,
    bounds: Vec<usize>,
    /// What the sum of its servers' delays exceeds the largest of them by: where whole paths pay.
    excess: Option<i128>,
    is_late: bool,
}

impl Way {
    /// What a bound along the way has to be below to lower any that it is of, ps; `None`: any does.
    fn limit(&self, graph: &ServerGraph, analysis: &Analysis) -> Option<i128> {
        let own = |&index: &usize| {
            let bound = &analysis.bounds[index];
            let constant = graph.flows[bound.flow].targets[bound.target].constant.0.max(0);
            bound.delay?.0.checked_sub(constant)
        };
        let all: Option<Vec<i128>> = self.bounds.iter().map(own).collect();
        all?.into_iter().max()
    }
}

/// Ways that are looked at together, between two words on progress.
const BATCH: usize = 32;
/// Rows below which a program says little.
const ROWS_USEFUL: usize = 600;

/// Small programs are given up behind so many batches in a row in which they lowered bounds by
/// less than this share: ways behind have less to gain.
const BATCHES_IN_VAIN: usize = 4;
const GAIN_ONE_IN: i128 = 1_000;

/// One part in so many of the effort for whole trees is spent again on ways that got too little.
const CUT_PARTS: usize = 3;

/// The bounds of ways together, ps; `None` if one has none.
fn sum(ways: &[Way], analysis: &Analysis) -> Option<i128> {
    let mut bounds = ways.iter().flat_map(|way| &way.bounds);
    bounds.try_fold(0_i128, |sum, &index| sum.checked_add(analysis.bounds[index].delay?.0))
}

fn is_in_vain(before: Option<i128>, after: Option<i128>) -> bool {
    before.zip(after).is_some_and(|(before, after)| before - after < before / GAIN_ONE_IN)
}

impl Lower<'_> {
    fn all(
        &self,
        claims_bursts: bool,
        analysis: &mut Analysis,
        progress: &mut dyn FnMut(Progress),
    ) {
        let solved = Solved::new(&SOLVER);
        let servers = self.graph.servers.len();
        let bursts = Bursts::new(BTreeMap::new(), servers);
        let known = self.known(&bursts);
        analysis.proofs.bursts = match claims_bursts {
            true if self.topology.is_acyclic => {
                let in_any_order = blind::bursts(known, self.options, &solved);
                match in_any_order.is_empty() {
                    true => inner::bursts(known, self.options, self.executor, &solved),
                    false => in_any_order,
                }
            }
            true if self.options.effort >= Effort::Plp => {
                cyclic::bursts(&known, self.options, self.executor)
            }
            _ => Vec::new(),
        };
        let mut claimed: BTreeMap<Stop, Vec<Bucket>> = BTreeMap::new();
        for claim in &analysis.proofs.bursts {
            let stop = Stop { flow: claim.flow, visit: claim.visit };
            claimed.entry(stop).or_default().push(claim.bucket);
        }
        let bursts = Bursts::new(claimed, servers);
        let known = self.known(&bursts);
        if self.options.effort >= Effort::Plp {
            self.in_order(known, &solved, analysis, progress);
            self.over_whole_trees(known, &solved, analysis, progress);
            self.over_what_was_cut(known, &solved, analysis, progress);
        }
        whatever_order(known, self.options, &solved, analysis, progress);
    }

    /// Lowers bounds on ways over FIFO servers.
    fn in_order(
        &self,
        known: Known<'_>,
        solved: &Solved<'_>,
        analysis: &mut Analysis,
        progress: &mut dyn FnMut(Progress),
    ) {
        let mut ways = self.ways(analysis);
        // Of very many, those that need it most.
        let share = self.share(ways.len());
        ways.truncate(self.options.rows_total_max / share);
        let total = ways.len();
        let rows_max = self.options.rows_max.min(share);
        let mut in_vain = 0;
        for (batch, ways) in ways.chunks(BATCH).enumerate() {
            progress(Progress { method: Method::Plp, done: batch * BATCH, total });
            let bounds: &Analysis = analysis;
            let search = |index: usize| {
                let way: &Way = &ways[index];
                let limit = way.limit(self.graph, bounds);
                search::delay(&known, &way.servers, self.options, rows_max, solved, limit)
            };
            let found = gather(self.executor, ways.len(), search);
            let before = sum(ways, analysis);
            for (way, found) in ways.iter().zip(found) {
                let Some((method, proved)) = found.flatten() else { continue };
                for &index in &way.bounds {
                    take(self.graph, analysis, index, method, &proved);
                }
            }
            in_vain = if is_in_vain(before, sum(ways, analysis)) { in_vain + 1 } else { 0 };
            let is_over = in_vain >= BATCHES_IN_VAIN;
            if is_over && self.options.effort < Effort::Tight && !ways.iter().any(|w| w.is_late) {
                break;
            }
        }
    }

    /// Inequalities of each program where so many ways share them: all get their share, and no
    /// program is too small to be of use.
    fn share(&self, ways: usize) -> usize {
        (self.options.rows_total_max / ways.max(1)).max(ROWS_USEFUL)
    }

    /// Lowers bounds by programs with few dates over all servers in front of a way.
    fn over_whole_trees(
        &self,
        known: Known<'_>,
        solved: &Solved<'_>,
        analysis: &mut Analysis,
        progress: &mut dyn FnMut(Progress),
    ) {
        let options = self.options;
        let is_asked = options.effort >= Effort::Tight && self.topology.is_acyclic;
        if !is_asked || options.whole_servers_max == 0 {
            return;
        }
        let ways = self.ways(analysis);
        let total = ways.len();
        let rows_max = options.rows_max.min(options.whole_rows_total_max / total.max(1));
        // Within the same limits these programs were tried.
        let were_whole =
            self.topology.whole_trees().iter().max() <= Some(&options.tree_servers_max);
        if were_whole && options.rows_max.min(self.share(total)) >= rows_max {
            return;
        }
        self.over_largest_trees(&ways, rows_max, known, solved, analysis, progress);
    }

    /// Where many ways share the effort, the program with the dates of all parts does not fit for
    /// the longest of them, whose bounds then rest on few dates in a small tree. These ways get
    /// the size of program that one way alone has.
    fn over_what_was_cut(
        &self,
        known: Known<'_>,
        solved: &Solved<'_>,
        analysis: &mut Analysis,
        progress: &mut dyn FnMut(Progress),
    ) {
        let options = self.options;
        let is_asked = options.effort >= Effort::Tight && self.topology.is_acyclic;
        let mut ways = self.ways(analysis);
        let shared = options.whole_rows_total_max / ways.len().max(1);
        if !is_asked || options.whole_servers_max == 0 || shared >= options.rows_max {
            return;
        }
        let has_few_dates = |&index: &usize| analysis.bounds[index].method <= Method::Plp;
        ways.retain(|way| way.servers.len() > 1 && way.bounds.iter().any(has_few_dates));
        ways.truncate(options.whole_rows_total_max / CUT_PARTS / options.rows_max.max(1));
        self.over_largest_trees(&ways, options.rows_max, known, solved, analysis, progress);
    }

    /// Lowers bounds of ways by programs with few dates over the largest trees that fit.
    fn over_largest_trees(
        &self,
        ways: &[Way],
        rows_max: usize,
        known: Known<'_>,
        solved: &Solved<'_>,
        analysis: &mut Analysis,
        progress: &mut dyn FnMut(Progress),
    ) {
        let total = ways.len();
        for (batch, ways) in ways.chunks(BATCH).enumerate() {
            progress(Progress { method: Method::Plp, done: batch * BATCH, total });
            let bounds: &Analysis = analysis;
            let search = |index: usize| {
                let way: &Way = &ways[index];
                let limit = way.limit(self.graph, bounds);
                whole::delay(&known, &way.servers, self.options, rows_max, solved, limit)
            };
            let found = gather(self.executor, ways.len(), search);
            for (way, found) in ways.iter().zip(found) {
                let Some((method, proved)) = found.flatten() else { continue };
                for &index in &way.bounds {
                    take(self.graph, analysis, index, method, &proved);
                }
            }
        }
    }

    fn known<'b>(&'b self, bursts: &'b Bursts) -> Known<'b> {
        Known {
            graph: self.graph,
            topology: self.topology,
            line_shaping: self.options.line_shaping,
            delays: self.delays,
            bursts,
        }
    }

    /// All ways, those first that need a lower bound or may get a much lower one. The bound of a
    /// way does not depend on who takes it: flows leave in order of arrival.
    fn ways(&self, analysis: &Analysis) -> Vec<Way> {
        let mut bounds: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
        for (index, bound) in analysis.bounds.iter().enumerate() {
            bounds.entry(self.graph.path(bound.flow, bound.target)).or_default().push(index);
        }
        let way = |(servers, bounds): (Vec<usize>, Vec<usize>)| {
            let delays: Option<Vec<i128>> =
                servers.iter().map(|&server| Some(self.delays[server]?.0)).collect();
            let excess = delays.map(|delays| {
                delays.iter().sum::<i128>() - delays.iter().max().copied().unwrap_or(0)
            });
            let is_late = bounds.iter().any(|&index| is_late(self.graph, &analysis.bounds[index]));
            Way { servers, bounds, excess, is_late }
        };
        let mut ways: Vec<Way> = bounds.into_iter().map(way).collect();
        // Without a sum of delays there is no bound at all so far.
        ways.sort_by_key(|way| (!way.is_late, Reverse(way.excess.unwrap_or(i128::MAX))));
        ways
    }
}

fn is_late(graph: &ServerGraph, bound: &TargetBound) -> bool {
    let deadline = graph.flows[bound.flow].targets[bound.target].deadline;
    deadline.is_some_and(|deadline| bound.delay.is_none_or(|delay| delay > deadline))
}

/// Lowers bounds by what holds in any order: where some server serves so, no more is asked, or
/// nothing else has lowered them.
fn whatever_order(
    known: Known<'_>,
    options: &Options,
    solved: &Solved<'_>,
    analysis: &mut Analysis,
    progress: &mut dyn FnMut(Progress),
) {
    let graph = known.graph;
    let is_any = |s: &tenuto_calculus::GraphServer| s.multiplexing == Multiplexing::Arbitrary;
    let is_asked = options.effort <= Effort::Blind || graph.servers.iter().any(is_any);
    // FIFO programs hold these inequalities too, where they are not too large to be solved.
    let is_open = |index: &usize| {
        let bound = &analysis.bounds[*index];
        let is_long = graph.path(bound.flow, bound.target).len() > 1;
        is_asked || (is_long && analysis.proofs.linear[*index].is_none())
    };
    let open: Vec<usize> = (0..analysis.bounds.len()).filter(is_open).collect();
    let total = open.len();
    let mut blind = Blind::new(known, options, solved, total + analysis.proofs.bursts.len());
    let gives_up = !is_asked && options.effort < Effort::Tight;
    let mut in_vain = 0;
    for (done, index) in open.into_iter().enumerate() {
        let bound = &analysis.bounds[index];
        let is_done = bound.delay.is_some() && !is_late(graph, bound);
        if gives_up && is_done && in_vain >= BATCHES_IN_VAIN * BATCH {
            continue;
        }
        let (flow, target) = (bound.flow, bound.target);
        let path = graph.path(flow, target);
        let method = blind.method();
        progress(Progress { method, done, total });
        let stop = Stop { flow, visit: graph.flows[flow].targets[target].visit };
        let proved = blind.delay(&path, stop);
        let is_lower = proved.is_some_and(|it| take(graph, analysis, index, method, &it));
        in_vain = if is_lower { 0 } else { in_vain + 1 };
    }
}

/// Keeps what was proved, if it is less than what is there; whether it is.
fn take(
    graph: &ServerGraph,
    analysis: &mut Analysis,
    index: usize,
    method: Method,
    proved: &Proved,
) -> bool {
    let bound = &mut analysis.bounds[index];
    let constant = graph.flows[bound.flow].targets[bound.target].constant.0.max(0);
    let delay = proved.bound.checked_add(constant).map(Picos);
    let is_lower = delay.is_some_and(|delay| bound.delay.is_none_or(|before| delay < before));
    if is_lower {
        (bound.delay, bound.method) = (delay, method);
        analysis.proofs.linear[index] = Some(proved.proof.clone());
    }
    is_lower
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
