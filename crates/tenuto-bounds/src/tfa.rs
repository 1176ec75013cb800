//! Total flow analysis: one delay per server, bursts grown by the delays before it.
//!
//! F maps delays x to delays: every visit's arrival curve is that of its source, moved by the sum
//! of the delays upstream; what comes from one server together is capped by its line; the delay
//! is the distance to the service. x ≥ F(x) proves x (docs/theory/end-to-end.md, "Cycles").

use crate::curve::{Concave, Convex, Line, Number, busy_period, fifo_delay, picos_up};
use crate::topology::{Stop, Topology};
use num_rational::BigRational;
use num_traits::ToPrimitive;
use std::collections::BTreeMap;
use tenuto_calculus::{Multiplexing, ServerGraph};
use tenuto_units::Picos;

/// A delay of this length is no bound any more: a thousand seconds.
const DIVERGED_PS: i128 = 1_000_000_000_000_000;
/// Passes in floats until what still grows is given up.
const PASSES_MAX: usize = 4_000;
/// Settled is what moves by less than this share in a pass.
const SETTLED_SHARE: f64 = 1e-14;
/// Passes between two attempts to jump to the limit.
const PASSES_PER_JUMP: usize = 40;
/// Shares by which a limit is inflated until x ≥ F(x) holds exactly, least first.
const INFLATIONS: [f64; 5] = [1e-13, 1e-11, 1e-9, 1e-7, 1e-4];
/// Exact passes that bring an inflated vector down again; each keeps x ≥ F(x).
const REFINEMENTS: usize = 12;

/// A server graph made ready for F.
pub(crate) struct Tfa<'a, N> {
    graph: &'a ServerGraph,
    topology: &'a Topology,
    /// Per server; `None` without any rate.
    service: Vec<Option<Convex<N>>>,
    /// Per server, where lines count.
    lines: Vec<Option<Line<N>>>,
    line_shaping: bool,
    /// Per flow: arrivals at the source.
    sources: Vec<Vec<Line<N>>>,
}

impl<'a, N: Number> Tfa<'a, N> {
    pub(crate) fn new(graph: &'a ServerGraph, topology: &'a Topology, line_shaping: bool) -> Self {
        let line = |s: &tenuto_calculus::GraphServer| s.line.filter(|_| line_shaping).map(Line::of);
        Self {
            graph,
            topology,
            service: graph.servers.iter().map(|s| Convex::max_of(&s.service)).collect(),
            lines: graph.servers.iter().map(line).collect(),
            line_shaping,
            sources: graph
                .flows
                .iter()
                .map(|f| f.arrival.iter().map(|b| Line::of(*b)).collect())
                .collect(),
        }
    }

    /// All arrivals at a server, `before` saying how long each visit's data may be under way;
    /// `None` if that is unknown for one of them.
    fn arrivals(&self, server: usize, before: &dyn Fn(Stop) -> Option<N>) -> Option<Concave<N>> {
        let mut groups: BTreeMap<usize, Concave<N>> = BTreeMap::new();
        let mut total = Concave::zero();
        for &stop in &self.topology.stops[server] {
            let by = before(stop)?;
            let grown = self.sources[stop.flow].iter().map(|line| line.grown(&by)).collect();
            let curve = Concave::min_of(grown);
            let visits = &self.graph.flows[stop.flow].visits;
            let from = visits[stop.visit].parent.map(|parent| visits[parent].server);
            match from.filter(|&from| self.lines[from].is_some()) {
                Some(from) => {
                    let group = groups.entry(from).or_insert_with(Concave::zero);
                    *group = group.plus(&curve);
                }
                None => total = total.plus(&curve),
            }
        }
        for (from, group) in groups {
            let line = self.lines[from].clone();
            total = total.plus(&line.map_or_else(|| group.clone(), |l| group.clone().capped(l)));
        }
        Some(total)
    }

    fn delay(&self, server: usize, before: &dyn Fn(Stop) -> Option<N>) -> Option<N> {
        if self.line_shaping && self.topology.is_choked[server] {
            return None;
        }
        let arrival = self.arrivals(server, before)?;
        let service = self.service[server].as_ref()?;
        match self.graph.servers[server].multiplexing {
            Multiplexing::Fifo => fifo_delay(&arrival, service),
            Multiplexing::Arbitrary => busy_period(&arrival, service),
        }
    }
}

/// Per server: a proved delay; `None` where there is no bound.
pub(crate) type Delays = Vec<Option<Picos>>;

/// Sums of the delays before every visit, kept in step with the delays.
struct Before<N> {
    sums: Vec<Vec<Option<N>>>,
}

impl<N: Number> Before<N> {
    fn zero(graph: &ServerGraph) -> Self {
        Self { sums: graph.flows.iter().map(|f| vec![Some(N::zero()); f.visits.len()]).collect() }
    }

    fn at(&self, stop: Stop) -> Option<N> {
        self.sums[stop.flow][stop.visit].clone()
    }

    /// Takes over the delays of the servers just before `server`.
    fn gather(&mut self, tfa: &Tfa<'_, N>, server: usize, delays: &[Option<N>]) {
        for stop in &tfa.topology.stops[server] {
            let visits = &tfa.graph.flows[stop.flow].visits;
            if let Some(parent) = visits[stop.visit].parent {
                let sum = self.sums[stop.flow][parent].clone();
                let delay = delays[visits[parent].server].clone();
                self.sums[stop.flow][stop.visit] = sum.zip(delay).map(|(a, b)| a + b);
            }
        }
    }

    /// From these delays alone.
    fn of(tfa: &Tfa<'_, N>, delays: &[Option<N>]) -> Self {
        let mut before = Self::zero(tfa.graph);
        for (flow, sums) in tfa.graph.flows.iter().zip(&mut before.sums) {
            for (index, visit) in flow.visits.iter().enumerate() {
                if let Some(parent) = visit.parent {
                    let delay = delays[flow.visits[parent].server].clone();
                    sums[index] = sums[parent].clone().zip(delay).map(|(a, b)| a + b);
                }
            }
        }
        before
    }
}

/// The exact delay at a server, as whole picoseconds.
fn exact_delay(
    tfa: &Tfa<'_, BigRational>,
    server: usize,
    before: &Before<BigRational>,
) -> Option<Picos> {
    let delay = tfa.delay(server, &|stop| before.at(stop))?;
    picos_up(&delay).filter(|d| d.0 < DIVERGED_PS)
}

fn rationals(delays: &Delays) -> Vec<Option<BigRational>> {
    delays.iter().map(|d| d.map(|d| BigRational::of(d.0))).collect()
}

/// F(x), exactly.
fn image(tfa: &Tfa<'_, BigRational>, delays: &Delays) -> Delays {
    let before = Before::of(tfa, &rationals(delays));
    (0..delays.len()).map(|server| exact_delay(tfa, server, &before)).collect()
}

/// Whether x ≥ F(x) wherever x claims anything.
fn covers(delays: &Delays, image: &Delays) -> bool {
    delays.iter().zip(image).all(|(claim, need)| match (claim, need) {
        (Some(claim), Some(need)) => claim >= need,
        (claim, _) => claim.is_none(),
    })
}

/// The delays of every server, least fixed point of F up to rounding.
pub(crate) fn delays(graph: &ServerGraph, topology: &Topology, line_shaping: bool) -> Delays {
    let exact: Tfa<'_, BigRational> = Tfa::new(graph, topology, line_shaping);
    if topology.is_acyclic {
        return one_pass(&exact);
    }
    let floats: Tfa<'_, f64> = Tfa::new(graph, topology, line_shaping);
    let mut lost = vec![false; graph.servers.len()];
    loop {
        let (limit, growing) = approach(&floats, &lost);
        if let Some(proved) = inflate(&exact, &limit) {
            return proved;
        }
        // What still grows has no bound, nor has what depends on it; the rest is tried again.
        let before = lost.iter().filter(|l| **l).count();
        for server in growing {
            lost[server] = true;
        }
        if lost.iter().filter(|l| **l).count() == before {
            return vec![None; graph.servers.len()];
        }
    }
}

fn one_pass(tfa: &Tfa<'_, BigRational>) -> Delays {
    let mut delays: Vec<Option<BigRational>> = vec![None; tfa.graph.servers.len()];
    let mut before = Before::zero(tfa.graph);
    let mut claims: Delays = vec![None; delays.len()];
    for &server in &tfa.topology.order {
        before.gather(tfa, server, &delays);
        claims[server] = exact_delay(tfa, server, &before);
        delays[server] = claims[server].map(|d| BigRational::of(d.0));
    }
    claims
}

/// Iterates F from zero in floats: the limit, and the servers that had not settled.
fn approach(tfa: &Tfa<'_, f64>, lost: &[bool]) -> (Vec<Option<f64>>, Vec<usize>) {
    let mut delays: Vec<Option<f64>> = lost.iter().map(|l| (!l).then_some(0.0)).collect();
    let mut before = Before::of(tfa, &delays);
    let mut steps: Vec<f64> = vec![0.0; delays.len()];
    let mut growing = Vec::new();
    for pass in 0..PASSES_MAX {
        growing.clear();
        let (mut moved, mut moved_before) = (0.0_f64, 0.0_f64);
        for &server in &tfa.topology.order {
            before.gather(tfa, server, &delays);
            let Some(old) = delays[server] else { continue };
            let new = tfa.delay(server, &|stop| before.at(stop));
            delays[server] = new.filter(|d| *d < DIVERGED_PS.to_f64().unwrap_or(1e15));
            let step = delays[server].map_or(0.0, |new| new - old);
            if delays[server].is_none() || step > old * SETTLED_SHARE {
                growing.push(server);
            }
            moved += step;
            moved_before += steps[server];
            steps[server] = step;
        }
        if growing.is_empty() {
            break;
        }
        // Close to the limit steps shrink by a constant quotient: their sum is known.
        let quotient = moved / moved_before;
        if pass % PASSES_PER_JUMP == PASSES_PER_JUMP - 1 && quotient > 0.0 && quotient < 1.0 {
            for (delay, step) in delays.iter_mut().zip(&steps) {
                // Short of the limit: what lies above it would not come down quickly either.
                *delay = delay.map(|d| d + 0.98 * step * quotient / (1.0 - quotient));
            }
        }
    }
    (delays, growing)
}

/// A vector just above the limit that satisfies x ≥ F(x), brought down as far as that stays true.
fn inflate(tfa: &Tfa<'_, BigRational>, limit: &[Option<f64>]) -> Option<Delays> {
    for share in INFLATIONS {
        let up = |d: f64| (d * (1.0 + share) + 1.0).ceil().to_i128().map(Picos);
        let mut claims: Delays = limit.iter().map(|d| d.and_then(up)).collect();
        let mut needs = image(tfa, &claims);
        if !covers(&claims, &needs) {
            continue;
        }
        for _ in 0..REFINEMENTS {
            let lower: Delays =
                claims.iter().zip(&needs).map(|(claim, need)| claim.and(*need)).collect();
            let next = image(tfa, &lower);
            if lower == claims || !covers(&lower, &next) {
                break;
            }
            (claims, needs) = (lower, next);
        }
        return Some(claims);
    }
    None
}

/// The sum of the delays on the way to a target, constants included.
pub(crate) fn target_delay(
    graph: &ServerGraph,
    delays: &Delays,
    flow: usize,
    target: usize,
) -> Option<Picos> {
    let mut sum = graph.flows[flow].targets[target].constant.0.max(0);
    for server in graph.path(flow, target) {
        sum = sum.checked_add(delays[server]?.0)?;
    }
    Some(Picos(sum))
}
