//! Bounds by the program of [`crate::any_order`]: whose trees, how large, solved how.

use crate::any_order::{Of, program};
use crate::grouping::Grouping;
use crate::outcome::{Effort, Method, Options};
use crate::passing;
use crate::program::{Objective, Program};
use crate::proof::BurstClaim;
use crate::prove::{Proved, Solved, is_wide, prove, prove_with, proved_exactly};
use crate::surroundings::{Bursts, FineBucket, Known, survey};
use crate::topology::Stop;
use crate::tree::Tree;
use std::collections::BTreeMap;
use tenuto_calculus::{Bucket, Multiplexing};

/// Trees may be so many times larger than those with several dates per server.
const TREE_TIMES: usize = 16;
/// What a visit costs in time and in the length of a proof, in inequalities of other programs.
const ROWS_PER_VISIT: usize = 4;
/// Rows up to which a solver is asked where one pass is not the optimum.
const SOLVED_ROWS_MAX: usize = 6_000;

/// Bounds by service dates alone, within a share of all inequalities.
pub(crate) struct Blind<'a, 'b, 's> {
    known: Known<'a>,
    options: &'a Options,
    solved: &'b Solved<'s>,
    /// Visits that a tree may have, all nodes together.
    visits_max: usize,
    /// Inequalities of a program that a solver is given.
    solved_rows_max: usize,
}

/// Visits that the tree of one program of so many may have.
fn visits_max(options: &Options, programs: usize) -> usize {
    (options.rows_total_max / ROWS_PER_VISIT / programs.max(1)).min(options.rows_max)
}

impl<'a, 'b, 's> Blind<'a, 'b, 's> {
    /// For about so many bounds and bursts.
    pub(crate) fn new(
        known: Known<'a>,
        options: &'a Options,
        solved: &'b Solved<'s>,
        programs: usize,
    ) -> Self {
        let visits_max = visits_max(options, programs);
        let solved_rows_max = (options.rows_total_max / programs.max(1)).min(SOLVED_ROWS_MAX);
        Self { known, options, solved, visits_max, solved_rows_max }
    }

    /// The least bound of the delay of a flow to its visit at the last server of `trunk`,
    /// constants not included.
    pub(crate) fn delay(&mut self, trunk: &[usize], stop: Stop) -> Option<Proved> {
        let objective = Objective::Delay { from: trunk.len().checked_sub(1)? };
        self.bound(trunk, Of::Delay(stop), objective)
    }

    /// A burst of a flow behind its visit.
    fn burst(&mut self, server: usize, stop: Stop) -> Option<Proved> {
        let buckets = self.known.graph.flows[stop.flow].arrival.iter();
        let rate_ubps = buckets.map(|bucket| bucket.rate_ubps).min()?;
        self.bound(&[server], Of::Burst(stop), Objective::Burst { stop, rate_ubps })
    }

    /// What it is called.
    pub(crate) const fn method(&self) -> Method {
        match self.options.effort {
            Effort::Pmoo => Method::Pmoo,
            _ => Method::Blind,
        }
    }

    fn bound(&mut self, trunk: &[usize], of: Of, objective: Objective) -> Option<Proved> {
        let servers_max = self.options.tree_servers_max.saturating_mul(TREE_TIMES);
        let large = self.tree(trunk, of, servers_max)?;
        let by_pass = self.by_pass(&large, of, objective);
        if self.method() == Method::Pmoo || self.is_plain(&large) {
            return by_pass;
        }
        let mut setting = large;
        while setting.program.rows.len() > self.solved_rows_max
            && setting.tree.nodes.len() > trunk.len()
        {
            let smaller = setting.tree.nodes.len() / 2;
            setting = self.tree(trunk, of, smaller.max(trunk.len()))?;
        }
        let by_solver = prove(self.solved, &setting.program, &setting.tree, objective);
        [by_pass, by_solver].into_iter().flatten().min_by_key(|proved| proved.bound)
    }

    fn by_pass(&self, setting: &Setting, of: Of, objective: Objective) -> Option<Proved> {
        let Setting { tree, grouping, program } = setting;
        let rates = |node: &crate::proof::Node| {
            let service = &self.known.graph.servers[node.server].service;
            service.iter().map(|piece| piece.rate_ubps).collect()
        };
        let services: Vec<Vec<i128>> = tree.nodes.iter().map(rates).collect();
        let method = self.method();
        if is_wide(program) {
            let exact = passing::multipliers(tree, grouping, &services, program, of, method)?;
            let rows: Vec<usize> = (0..exact.len()).collect();
            return proved_exactly(program, tree, objective, &rows, &exact);
        }
        let multipliers = passing::multipliers(tree, grouping, &services, program, of, method)?;
        prove_with(program, tree, objective, &multipliers)
    }

    /// Whether one pass finds the optimum: one piece per curve, no lines.
    fn is_plain(&self, setting: &Setting) -> bool {
        let servers = &self.known.graph.servers;
        let mut nodes = setting.tree.nodes.iter();
        let mut groups = setting.grouping.nodes.iter().flatten();
        nodes.all(|node| servers[node.server].service.len() == 1)
            && groups.all(|group| {
                let is_shaped = group.from.is_some_and(|from| self.known.line(from).is_some());
                is_one(&group.buckets) && !is_shaped
            })
    }

    fn tree(&mut self, trunk: &[usize], of: Of, servers_max: usize) -> Option<Setting> {
        let is_burst = matches!(of, Of::Burst(_));
        let (graph, topology, order) =
            (self.known.graph, self.known.topology, Multiplexing::Arbitrary);
        let unfold = |max| Tree::unfold(graph, topology, trunk, max, is_burst, order);
        let mut tree = unfold(servers_max)?;
        // Nodes stand breadth first, so a smaller tree is the beginning of a larger one.
        let mut visits = 0_usize;
        let fitting = tree.nodes.iter().take_while(|node| {
            visits += topology.stops[node.server].len();
            visits <= self.visits_max
        });
        let fitting = fitting.count().max(trunk.len());
        if fitting < tree.nodes.len() {
            tree = unfold(fitting)?;
        }
        survey(&self.known, &mut tree)?;
        let grouping = Grouping::new(&self.known, &tree, Some(of.stop().flow))?;
        let tree = tree.with_service_dates();
        let program = program(&self.known, &tree, &grouping, of)?;
        Some(Setting { tree, grouping, program })
    }
}

/// Whether one bucket says all that the others say.
fn is_one(buckets: &[FineBucket]) -> bool {
    let least = buckets.iter().min_by_key(|bucket| (bucket.rate, bucket.burst));
    least.is_some_and(|least| buckets.iter().all(|bucket| bucket.burst >= least.burst))
}

/// A tree with its program.
struct Setting {
    tree: Tree,
    grouping: Grouping,
    program: Program,
}

/// Whether all trees of a graph fit as a whole, so that bursts inside of it are of no use.
fn all_fit(known: &Known<'_>, options: &Options, visits_max: usize) -> bool {
    let servers_max = options.tree_servers_max.saturating_mul(TREE_TIMES);
    // Per server, in the order of data: nodes and visits of the whole tree behind it.
    let mut sizes = vec![(0_usize, 0_usize); known.graph.servers.len()];
    for &server in &known.topology.order {
        let mut size = (1_usize, known.topology.stops[server].len());
        for &from in &known.topology.upstream[server] {
            size.0 = size.0.saturating_add(sizes[from].0);
            size.1 = size.1.saturating_add(sizes[from].1);
        }
        sizes[server] = size;
    }
    sizes.iter().all(|size| size.0 <= servers_max && size.1 <= visits_max)
}

/// Bursts inside a graph without cycles that has servers of any order, each proved from those
/// upstream; none where whole trees are small enough.
pub(crate) fn bursts(known: Known<'_>, options: &Options, solved: &Solved<'_>) -> Vec<BurstClaim> {
    let graph = known.graph;
    let in_order = graph.servers.iter().filter(|s| s.multiplexing == Multiplexing::Fifo).count();
    let is_any = in_order < graph.servers.len();
    let targets: usize = graph.flows.iter().map(|flow| flow.targets.len()).sum();
    let visits: usize = known.topology.stops.iter().map(Vec::len).sum();
    let is_asked = is_any || options.effort <= Effort::Blind;
    let whole = visits_max(options, targets);
    // Programs of FIFO trees end where service is in any order: they need the bursts there.
    let is_of_use = (is_any && in_order > 0) || !all_fit(&known, options, whole);
    if !known.topology.is_acyclic || !is_asked || !is_of_use {
        return Vec::new();
    }
    let mut claims = Vec::new();
    let mut proved: BTreeMap<Stop, Vec<Bucket>> = BTreeMap::new();
    for &server in &known.topology.order {
        let bursts = Bursts::new(proved.clone(), graph.servers.len());
        let known = Known { bursts: &bursts, ..known };
        let mut blind = Blind::new(known, options, solved, targets + visits);
        for &stop in &known.topology.stops[server] {
            for claim in onward(&known, &mut blind, server, stop) {
                let at = Stop { flow: claim.flow, visit: claim.visit };
                proved.entry(at).or_default().push(claim.bucket);
                claims.push(claim);
            }
        }
    }
    claims
}

/// The burst of a flow where it goes on to from a server, if it is less than the delay says.
fn onward(
    known: &Known<'_>,
    blind: &mut Blind<'_, '_, '_>,
    server: usize,
    stop: Stop,
) -> Vec<BurstClaim> {
    let flow = &known.graph.flows[stop.flow];
    let is_next = |visit: &usize| flow.visits[*visit].parent == Some(stop.visit);
    let next: Vec<usize> = (0..flow.visits.len()).filter(is_next).collect();
    let Some(rate_ubps) = flow.arrival.iter().map(|bucket| bucket.rate_ubps).min() else {
        return Vec::new();
    };
    if next.is_empty() {
        return Vec::new();
    }
    let Some(proved) = blind.burst(server, stop) else { return Vec::new() };
    // A claim is strictly above what its proof gives.
    let bucket = Bucket { burst_ubit: proved.bound.saturating_add(1), rate_ubps };
    let is_less = |visit: &usize| {
        let grown = known.buckets(Stop { visit: *visit, ..stop }).unwrap_or_default();
        let claim = FineBucket::of(bucket);
        claim
            .is_some_and(|claim| grown.iter().all(|b| b.rate > claim.rate || b.burst > claim.burst))
    };
    let claim =
        |visit: usize| BurstClaim { flow: stop.flow, visit, bucket, proof: proved.proof.clone() };
    next.into_iter().filter(is_less).map(claim).collect()
}
