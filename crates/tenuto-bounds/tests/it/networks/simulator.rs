//! Packets through FIFO servers, one trajectory at a time: what happens never exceeds a bound.

use super::random::Random;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use tenuto_bounds::{Analysis, RateLatency, ServerGraph, TargetBound};

/// When each flow sends, and how lazy each server is at the start of a busy period.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// Per flow: when it sends all it may, again and again, ps.
    pub(crate) bursts_ps: Vec<Vec<i128>>,
    /// Per server: whether it uses up its latency.
    pub(crate) is_lazy: Vec<bool>,
}

impl Schedule {
    pub(crate) fn random(graph: &ServerGraph, horizon_ps: i128, random: &mut Random) -> Self {
        let bursts = |random: &mut Random| {
            let mut times: Vec<i128> =
                (0..1 + random.below(3)).map(|_| random.below_i128(horizon_ps)).collect();
            times.sort_unstable();
            times
        };
        Self {
            bursts_ps: graph.flows.iter().map(|_| bursts(random)).collect(),
            is_lazy: graph.servers.iter().map(|_| random.below(5) > 0).collect(),
        }
    }

    /// The same with one flow moved.
    pub(crate) fn varied(&self, horizon_ps: i128, random: &mut Random) -> Self {
        let mut other = self.clone();
        let flow = random.below(other.bursts_ps.len());
        let place = random.below(other.bursts_ps[flow].len());
        let span = [horizon_ps, horizon_ps / 8, horizon_ps / 64][random.below(3)];
        let moved = other.bursts_ps[flow][place] + random.below_i128(span) - span / 2;
        other.bursts_ps[flow][place] = moved.max(0);
        other.bursts_ps[flow].sort_unstable();
        other
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrival {
    time_ps: i128,
    /// Ties: in the order in which they came about.
    order: usize,
    flow: usize,
    visit: usize,
    sent_ps: i128,
}

/// A server while it works: since when it has not been idle, what it has served since, and when
/// those in it leave.
#[derive(Clone, Debug, Default)]
struct Busy {
    since_ps: i128,
    served_ubit: i128,
    leave_ps: VecDeque<i128>,
}

impl Busy {
    /// When one more packet leaves: a lazy server does no more than its curve from the start of its
    /// busy period on, another works at its fastest rate.
    fn serve(
        &mut self,
        now_ps: i128,
        packet_ubit: i128,
        service: &[RateLatency],
        is_lazy: bool,
    ) -> i128 {
        while self.leave_ps.front().is_some_and(|leaves| *leaves <= now_ps) {
            self.leave_ps.pop_front();
        }
        if self.leave_ps.is_empty() {
            (self.since_ps, self.served_ubit) = (now_ps, 0);
        }
        self.served_ubit += packet_ubit;
        // Rounded down: a little faster than the curve, so never later than a bound allows.
        let by = |piece: &RateLatency| {
            let latency = if is_lazy { piece.latency.0 } else { 0 };
            latency + self.served_ubit * 1_000_000_000_000 / piece.rate_ubps.max(1)
        };
        let leaves = self.since_ps + service.iter().map(by).min().expect("a curve has a piece");
        self.leave_ps.push_back(leaves);
        leaves
    }
}

/// The largest delay of each flow and target. All packets have `packet_ubit`; each server serves
/// one after the other.
pub(crate) fn largest_delays(
    graph: &ServerGraph,
    schedule: &Schedule,
    packet_ubit: i128,
    horizon_ps: i128,
) -> Vec<Vec<i128>> {
    let mut largest: Vec<Vec<i128>> =
        graph.flows.iter().map(|flow| vec![0; flow.targets.len()]).collect();
    let mut waiting = BinaryHeap::new();
    let mut order = 0;
    for (flow, of) in graph.flows.iter().enumerate() {
        for time_ps in releases(of, &schedule.bursts_ps[flow], packet_ubit, horizon_ps) {
            for (visit, _) in of.visits.iter().enumerate().filter(|(_, v)| v.parent.is_none()) {
                waiting.push(Reverse(Arrival { time_ps, order, flow, visit, sent_ps: time_ps }));
                order += 1;
            }
        }
    }
    let mut inside = vec![Busy::default(); graph.servers.len()];
    while let Some(Reverse(packet)) = waiting.pop() {
        let flow = &graph.flows[packet.flow];
        let server = flow.visits[packet.visit].server;
        let (service, is_lazy) = (&graph.servers[server].service, schedule.is_lazy[server]);
        let leaves = inside[server].serve(packet.time_ps, packet_ubit, service, is_lazy);
        for (index, target) in flow.targets.iter().enumerate() {
            if target.visit == packet.visit {
                let delay = leaves - packet.sent_ps;
                let seen = &mut largest[packet.flow][index];
                *seen = delay.max(*seen);
            }
        }
        let next = flow.visits.iter().enumerate().filter(|(_, v)| v.parent == Some(packet.visit));
        for (visit, _) in next {
            waiting.push(Reverse(Arrival { time_ps: leaves, order, visit, ..packet }));
            order += 1;
        }
    }
    largest
}

/// The largest share of its bound that any delay reaches; none is above it.
pub(crate) fn share_reached(
    (graph, analysis): (&ServerGraph, &Analysis),
    seen: &[Vec<i128>],
    schedule: &Schedule,
) -> f64 {
    let share = |bound: &TargetBound| {
        let delay = bound.delay?;
        let observed = seen[bound.flow][bound.target];
        assert!(observed <= delay.0, "{}: {bound:?} {observed} {schedule:?}", graph.name);
        Some(observed as f64 / delay.0 as f64)
    };
    analysis.bounds.iter().filter_map(share).fold(0.0, f64::max)
}

/// Whole packets within every bucket of the flow: all it may at each burst, greedy in between
/// until the next one comes near.
pub(crate) fn releases(
    flow: &tenuto_bounds::GraphFlow,
    bursts_ps: &[i128],
    packet_ubit: i128,
    horizon_ps: i128,
) -> Vec<i128> {
    let mut releases: Vec<i128> = Vec::new();
    // Per bucket: when it had how much left (10⁻¹⁸ bit).
    let mut left: Vec<(i128, i128)> =
        flow.arrival.iter().map(|b| (0, b.burst_ubit * 1_000_000_000_000)).collect();
    let need = packet_ubit * 1_000_000_000_000;
    for (index, &start) in bursts_ps.iter().enumerate() {
        let mut now = releases.last().map_or(start, |last| start.max(*last));
        let until = bursts_ps.get(index + 1).map_or(horizon_ps, |next| (start + next) / 2);
        while now <= until {
            let mut ready = now;
            for (bucket, (since, amount)) in flow.arrival.iter().zip(&mut left) {
                let full = bucket.burst_ubit * 1_000_000_000_000;
                *amount = (*amount + (now - *since) * bucket.rate_ubps).min(full);
                *since = now;
                if *amount < need {
                    let wait = (need - *amount + bucket.rate_ubps - 1) / bucket.rate_ubps.max(1);
                    ready = ready.max(now + wait);
                }
            }
            if ready > now {
                now = ready;
                continue;
            }
            left.iter_mut().for_each(|(_, amount)| *amount -= need);
            releases.push(now);
        }
    }
    releases
}
