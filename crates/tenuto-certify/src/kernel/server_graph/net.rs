//! The graph of a document: what is sound about it, who meets whom, which curves are claimed.

use super::pieces::{FINE, Line, Pieces, Service};
use super::read::{Document, Graph, Multiplexing, Stop};
use crate::budget::Budget;
use crate::finding::{Findings, rule};
use num_bigint::BigInt;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// Lines or rate-latencies of one curve that are looked at.
const PIECES_MAX: usize = 64;

/// The graph, indexed.
pub(super) struct Net<'a> {
    pub(super) graph: &'a Graph,
    document: &'a Document,
    /// Per server: the visits there.
    pub(super) stops: Vec<Vec<Stop>>,
    /// Per visit and next server: the visit there.
    onward: BTreeMap<(Stop, usize), usize>,
    /// Bursts claimed of a visit, as they stand in the document.
    bursts: BTreeMap<Stop, Vec<Line>>,
    /// Per flow and visit: the sum of the claimed delays before it.
    before: Vec<Vec<Option<BigInt>>>,
    /// Per flow and visit: every bucket claimed of it.
    buckets: Vec<Vec<Vec<Line>>>,
    /// Per server, once asked for: all that arrives, from buckets alone.
    alone: Vec<OnceCell<Option<Pieces>>>,
    /// What was found of delays and busy periods of servers by themselves.
    found: RefCell<BTreeMap<Question, bool>>,
    /// What is left for trees of proofs.
    budget: Budget,
}

/// Server, what is asked of it, and the time that it is to take at most.
type Question = (usize, Asked, i128);

/// What is asked of a server by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Asked {
    /// The largest delay, by its order of service.
    Delay,
    /// The longest busy period, data counted bit by bit.
    Busy,
    /// The longest busy period, data counted as packets' last bits.
    BusyPacketized,
}

impl<'a> Net<'a> {
    /// `None` if the description is none; findings say why.
    pub(super) fn new(document: &'a Document, findings: &mut Findings) -> Option<Self> {
        let before = findings.len();
        let graph = &document.description;
        servers(graph, findings);
        flows(graph, findings);
        claims(document, findings);
        if findings.len() > before {
            return None;
        }
        let mut net = Self {
            graph,
            document,
            stops: vec![Vec::new(); graph.servers.len()],
            onward: BTreeMap::new(),
            bursts: BTreeMap::new(),
            before: Vec::new(),
            buckets: Vec::new(),
            alone: graph.servers.iter().map(|_| OnceCell::new()).collect(),
            found: RefCell::default(),
            budget: Budget::new(),
        };
        for (index, flow) in graph.flows.iter().enumerate() {
            let mut sums: Vec<Option<BigInt>> = Vec::new();
            for (visit, at) in flow.visits.iter().enumerate() {
                net.stops[at.server].push((index, visit));
                let sum = match at.parent {
                    None => Some(BigInt::ZERO),
                    Some(parent) => {
                        net.onward.insert(((index, parent), at.server), visit);
                        let delay = net.delay(flow.visits[parent].server);
                        sums[parent].clone().zip(delay).map(|(sum, delay)| sum + delay)
                    }
                };
                sums.push(sum);
            }
            net.before.push(sums);
        }
        for claim in &document.bursts {
            let of = net.bursts.entry((claim.flow, claim.visit)).or_default();
            of.push(Line::of(claim.bucket));
        }
        let of = |(flow, f): (usize, &super::read::Flow)| {
            (0..f.visits.len()).map(|visit| net.buckets_of((flow, visit))).collect()
        };
        net.buckets = graph.flows.iter().enumerate().map(of).collect();
        Some(net)
    }

    /// Takes so much of what may be computed for all proofs together.
    pub(super) fn spend(&self, steps: usize) -> bool {
        self.budget.spend(steps)
    }

    /// The claimed delay of a server.
    pub(super) fn delay(&self, server: usize) -> Option<i128> {
        self.document.server_delays_ps[server]
    }

    /// The visit of a flow at a server right after another visit.
    pub(super) fn onward(&self, stop: Stop, server: usize) -> Option<Stop> {
        self.onward.get(&(stop, server)).map(|visit| (stop.0, *visit))
    }

    /// The visit right before, and the server there.
    pub(super) fn earlier(&self, stop: Stop) -> Option<(Stop, usize)> {
        let visits = &self.graph.flows[stop.0].visits;
        let parent = visits[stop.1].parent?;
        Some(((stop.0, parent), visits[parent].server))
    }

    /// The line behind a server, if lines count.
    pub(super) fn line(&self, server: usize) -> Option<Line> {
        let line = self.graph.servers[server].line.filter(|_| self.document.line_shaping);
        line.map(Line::of)
    }

    /// Source buckets grown by so much.
    pub(super) fn source(&self, flow: usize, by: &BigInt) -> Vec<Line> {
        let arrival = &self.graph.flows[flow].arrival;
        arrival.iter().map(|bucket| Line::of(*bucket).later(by)).collect()
    }

    /// The sum of the claimed delays before a visit.
    pub(super) fn before(&self, stop: Stop) -> Option<&BigInt> {
        self.before[stop.0][stop.1].as_ref()
    }

    fn buckets_of(&self, stop: Stop) -> Vec<Line> {
        let mut buckets = self.before(stop).map(|by| self.source(stop.0, by)).unwrap_or_default();
        buckets.extend(self.bursts.get(&stop).into_iter().flatten().cloned());
        buckets
    }

    /// Every bucket claimed of a flow where it arrives: grown ones, then bursts.
    pub(super) fn buckets(&self, stop: Stop) -> &[Line] {
        &self.buckets[stop.0][stop.1]
    }

    /// Whether a server by itself, whatever a tree adds, keeps within a time.
    pub(super) fn is_within(&self, server: usize, asked: Asked, time_ps: i128) -> bool {
        let question = (server, asked, time_ps);
        if let Some(found) = self.found.borrow().get(&question) {
            return *found;
        }
        let arrivals = self.alone[server].get_or_init(|| {
            let curve = |stop: Stop| {
                let lines = self.buckets(stop);
                (!lines.is_empty()).then(|| Pieces::least(lines))
            };
            self.arrivals(server, &curve)
        });
        let packet = BigInt::from(self.graph.servers[server].packet_ubit) * FINE;
        let is_within = arrivals.as_ref().is_some_and(|arrivals| match asked {
            Asked::Delay if self.is_fifo(server) => {
                self.service(server, BigInt::ZERO).keeps_up(arrivals, time_ps)
            }
            Asked::Delay | Asked::Busy => {
                self.service(server, BigInt::ZERO).catches_up(arrivals, time_ps)
            }
            Asked::BusyPacketized => self.service(server, packet).catches_up(arrivals, time_ps),
        });
        self.found.borrow_mut().insert(question, is_within);
        is_within
    }

    /// Everything that arrives at a server, capped by lines; `None` if a curve is missing.
    pub(super) fn arrivals(
        &self,
        server: usize,
        curve: &dyn Fn(Stop) -> Option<Pieces>,
    ) -> Option<Pieces> {
        let mut groups: BTreeMap<Option<usize>, Pieces> = BTreeMap::new();
        for &stop in &self.stops[server] {
            let from = self.earlier(stop).map(|(_, from)| from);
            let group = groups.entry(from).or_insert_with(Pieces::zero);
            *group = group.plus(&curve(stop)?);
        }
        let shaped = |(from, group): (Option<usize>, Pieces)| match from.and_then(|s| self.line(s))
        {
            Some(line) => group.capped(&line),
            None => group,
        };
        Some(groups.into_iter().map(shaped).fold(Pieces::zero(), |sum, group| sum.plus(&group)))
    }

    pub(super) fn service(&self, server: usize, held: BigInt) -> Service {
        Service::of(&self.graph.servers[server].service, held)
    }

    pub(super) fn is_fifo(&self, server: usize) -> bool {
        self.graph.servers[server].multiplexing == Multiplexing::Fifo
    }
}

/// Servers of which a line is to carry more than its rate in the long term: what it lets through
/// and what comes contradict each other, and everything would follow.
pub(super) fn choked(graph: &Graph) -> BTreeSet<usize> {
    let mut loads: BTreeMap<(usize, usize), i128> = BTreeMap::new();
    for flow in &graph.flows {
        let rate = flow.arrival.iter().map(|bucket| bucket.rate_ubps).min().unwrap_or(0);
        for visit in &flow.visits {
            let Some(before) = visit.parent else { continue };
            let load = loads.entry((flow.visits[before].server, visit.server)).or_default();
            *load = load.saturating_add(rate);
        }
    }
    let carries = |server: usize, load: i128| {
        graph.servers[server].line.is_none_or(|line| load <= line.rate_ubps)
    };
    let more = loads.into_iter().filter(|&((from, _), load)| !carries(from, load));
    more.map(|((from, _), _)| from).collect()
}

/// What a bound is of is said by names, so each is one server's, flow's, or target's of a flow.
pub(super) fn names(graph: &Graph, findings: &mut Findings) {
    let mut unique = |what: &str, names: &mut dyn Iterator<Item = &String>| {
        let mut seen = BTreeSet::new();
        for name in names.filter(|name| !seen.insert(*name)) {
            findings.add(rule::DESCRIPTION, name, what, "the name is taken");
        }
    };
    unique("a server", &mut graph.servers.iter().map(|server| &server.name));
    unique("a flow", &mut graph.flows.iter().map(|flow| &flow.name));
    for flow in &graph.flows {
        unique("a target", &mut flow.targets.iter().map(|target| &target.name));
    }
}

fn servers(graph: &Graph, findings: &mut Findings) {
    for server in &graph.servers {
        let is_negative = server.service.iter().any(|s| s.rate_ubps < 0 || s.latency_ps < 0)
            || server.line.is_some_and(|l| l.burst_ubit < 0 || l.rate_ubps < 0)
            || server.packet_ubit < 0;
        if is_negative {
            findings.add(rule::DESCRIPTION, &server.name, "a server", "a number below zero");
        }
        if server.service.is_empty() || server.service.len() > PIECES_MAX {
            let found = format!("{} pieces; 1 to {PIECES_MAX}", server.service.len());
            findings.add(rule::DESCRIPTION, &server.name, "a service curve", found);
        }
    }
}

fn flows(graph: &Graph, findings: &mut Findings) {
    for flow in &graph.flows {
        let name = &flow.name;
        if flow.arrival.is_empty() || flow.arrival.len() > PIECES_MAX {
            let found = format!("{} pieces; 1 to {PIECES_MAX}", flow.arrival.len());
            findings.add(rule::DESCRIPTION, name, "an arrival curve", found);
        }
        if flow.arrival.iter().any(|b| b.burst_ubit < 0 || b.rate_ubps < 0) {
            findings.add(rule::DESCRIPTION, name, "an arrival curve", "a number below zero");
        }
        for (index, visit) in flow.visits.iter().enumerate() {
            let is_known = visit.server < graph.servers.len();
            if !is_known || visit.parent.is_some_and(|parent| parent >= index) {
                findings.add(rule::DESCRIPTION, name, format!("visit {index}"), "of no tree");
            }
        }
        for target in &flow.targets {
            if target.visit >= flow.visits.len() || target.constant_ps < 0 {
                let place = format!("{name} to {}", target.name);
                findings.add(rule::DESCRIPTION, place, "a target", "no visit, or constant below 0");
            }
        }
    }
}

fn claims(document: &Document, findings: &mut Findings) {
    let graph = &document.description;
    if document.server_delays_ps.len() != graph.servers.len() {
        let found = format!("{} servers", graph.servers.len());
        findings.add(rule::FORMAT, "server_delays_ps", document.server_delays_ps.len(), found);
    }
    if document.server_delays_ps.iter().flatten().any(|d| *d < 0) {
        findings.add(rule::FORMAT, "server_delays_ps", "delays", "a number below zero");
    }
    for claim in &document.bursts {
        let visits = graph.flows.get(claim.flow).map_or(0, |flow| flow.visits.len());
        if claim.visit >= visits || claim.bucket.burst_ubit < 0 || claim.bucket.rate_ubps < 0 {
            let place = format!("burst of flow {}, visit {}", claim.flow, claim.visit);
            findings.add(rule::FORMAT, place, "a bucket", "no such visit, or a number below zero");
        }
    }
}
