//! The graph of a document: what is sound about it, who meets whom, which curves are claimed.

use super::read::{Burst, Graph, Multiplexing, Stop};
use super::service::{FINE, Service, fine};
use crate::budget::Budget;
use crate::kernel::exact::{self, Curve, Line};
use num_bigint::BigInt;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;

/// The graph, indexed.
pub(crate) struct Net<'a> {
    pub(crate) graph: &'a Graph,
    delays: &'a [Option<i128>],
    line_shaping: bool,
    /// Per server: the visits there.
    pub(crate) stops: Vec<Vec<Stop>>,
    /// Per visit and next server: the visit there.
    onward: BTreeMap<(Stop, usize), usize>,
    /// Bursts claimed of a visit, as they stand in the document.
    bursts: BTreeMap<Stop, Vec<Line>>,
    /// Per flow and visit: the sum of the claimed delays before it.
    before: Vec<Vec<Option<BigInt>>>,
    /// Per flow and visit: every bucket claimed of it.
    buckets: Vec<Vec<Vec<Line>>>,
    /// Per server, once asked for: all that arrives, from buckets alone.
    alone: Vec<OnceCell<Option<Curve>>>,
    /// What was found of delays and busy periods of servers by themselves.
    found: RefCell<BTreeMap<Question, bool>>,
    /// What is left for trees of proofs.
    budget: Budget,
}

/// Server, what is asked of it, and the time that it is to take at most.
type Question = (usize, Asked, i128);

/// What is asked of a server by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Asked {
    /// The largest delay, by its order of service.
    Delay,
    /// The longest busy period, data counted bit by bit.
    Busy,
    /// The longest busy period, data counted as packets' last bits.
    BusyPacketized,
}

impl<'a> Net<'a> {
    /// A graph with what is claimed of its servers' delays and of bursts within it. Visits are of
    /// servers that there are, parents first, and claims of what there is.
    pub(crate) fn new(
        graph: &'a Graph,
        (delays, bursts): (&'a [Option<i128>], &[Burst]),
        line_shaping: bool,
    ) -> Self {
        let mut net = Self {
            graph,
            delays,
            line_shaping,
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
        for claim in bursts {
            let of = net.bursts.entry((claim.flow, claim.visit)).or_default();
            of.push(fine(claim.bucket));
        }
        let of = |(flow, f): (usize, &super::read::Flow)| {
            (0..f.visits.len()).map(|visit| net.buckets_of((flow, visit))).collect()
        };
        net.buckets = graph.flows.iter().enumerate().map(of).collect();
        net
    }

    /// Takes so much of what may be computed for all proofs together.
    pub(crate) fn spend(&self, steps: usize) -> bool {
        self.budget.spend(steps)
    }

    /// Takes what it costs to compare curves at every bend of either.
    pub(super) fn spend_on(&self, server: usize, arrivals: &Curve) -> bool {
        let (lines, pieces) = (arrivals.len(), self.graph.servers[server].service.len());
        let bends = lines.saturating_add(pieces.saturating_mul(pieces));
        self.spend(bends.saturating_mul(lines.saturating_add(pieces)))
    }

    /// The claimed delay of a server.
    pub(crate) fn delay(&self, server: usize) -> Option<i128> {
        self.delays[server]
    }

    /// The visit of a flow at a server right after another visit.
    pub(crate) fn onward(&self, stop: Stop, server: usize) -> Option<Stop> {
        self.onward.get(&(stop, server)).map(|visit| (stop.0, *visit))
    }

    /// The visit right before, and the server there.
    pub(crate) fn earlier(&self, stop: Stop) -> Option<(Stop, usize)> {
        let visits = &self.graph.flows[stop.0].visits;
        let parent = visits[stop.1].parent?;
        Some(((stop.0, parent), visits[parent].server))
    }

    /// The line behind a server, if lines count.
    pub(crate) fn line(&self, server: usize) -> Option<Line> {
        let line = self.graph.servers[server].line.filter(|_| self.line_shaping);
        line.map(fine)
    }

    /// Source buckets grown by so much.
    pub(crate) fn source(&self, flow: usize, by: &BigInt) -> Vec<Line> {
        let arrival = &self.graph.flows[flow].arrival;
        arrival.iter().map(|bucket| fine(*bucket).later(by)).collect()
    }

    /// The sum of the claimed delays before a visit.
    pub(crate) fn before(&self, stop: Stop) -> Option<&BigInt> {
        self.before[stop.0][stop.1].as_ref()
    }

    fn buckets_of(&self, stop: Stop) -> Vec<Line> {
        let mut buckets = self.before(stop).map(|by| self.source(stop.0, by)).unwrap_or_default();
        buckets.extend(self.bursts.get(&stop).into_iter().flatten().cloned());
        buckets
    }

    /// Every bucket claimed of a flow where it arrives: grown ones, then bursts. Proofs may name what
    /// there is not; nothing is claimed of that.
    pub(crate) fn buckets(&self, stop: Stop) -> &[Line] {
        let visits = self.buckets.get(stop.0);
        visits.and_then(|visits| visits.get(stop.1)).map_or(&[], Vec::as_slice)
    }

    /// Whether a server by itself, whatever a tree adds, keeps within a time.
    pub(crate) fn is_within(&self, server: usize, asked: Asked, time_ps: i128) -> bool {
        let question = (server, asked, time_ps);
        if let Some(found) = self.found.borrow().get(&question) {
            return *found;
        }
        let arrivals = self.alone[server].get_or_init(|| {
            let curve = |stop: Stop| {
                let lines = self.buckets(stop);
                (!lines.is_empty()).then(|| lines.to_vec())
            };
            self.arrivals(server, &curve)
        });
        let packet = BigInt::from(self.graph.servers[server].packet_ubit) * FINE;
        let looked_at = arrivals.as_ref().filter(|arrivals| self.spend_on(server, arrivals));
        let is_within = looked_at.is_some_and(|arrivals| match asked {
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
    pub(crate) fn arrivals(
        &self,
        server: usize,
        curve: &dyn Fn(Stop) -> Option<Curve>,
    ) -> Option<Curve> {
        let mut groups: BTreeMap<Option<usize>, Vec<Curve>> = BTreeMap::new();
        for &stop in &self.stops[server] {
            let from = self.earlier(stop).map(|(_, from)| from);
            groups.entry(from).or_default().push(curve(stop)?);
        }
        let shaped = |(from, group): (Option<usize>, Vec<Curve>)| {
            let mut all = exact::sum(&group);
            all.extend(from.and_then(|from| self.line(from)));
            all
        };
        Some(exact::sum(&groups.into_iter().map(shaped).collect::<Vec<_>>()))
    }

    pub(crate) fn service(&self, server: usize, held: BigInt) -> Service {
        Service::of(&self.graph.servers[server].service, held)
    }

    pub(crate) fn is_fifo(&self, server: usize) -> bool {
        self.graph.servers[server].multiplexing == Multiplexing::Fifo
    }
}
