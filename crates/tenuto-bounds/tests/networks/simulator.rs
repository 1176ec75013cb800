//! Packets through FIFO servers, one trajectory at a time: what happens never exceeds a bound.

use super::random::Random;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use tenuto_bounds::ServerGraph;

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

/// The largest delay of each flow and target. All packets have `packet_ubit`; each server serves
/// one after the other at its rate and, if lazy, waits out its latency when it was idle.
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
    // Per server: when those in it leave.
    let mut inside: Vec<VecDeque<i128>> = vec![VecDeque::new(); graph.servers.len()];
    while let Some(Reverse(packet)) = waiting.pop() {
        let flow = &graph.flows[packet.flow];
        let server = flow.visits[packet.visit].server;
        let queue = &mut inside[server];
        while queue.front().is_some_and(|leaves| *leaves <= packet.time_ps) {
            queue.pop_front();
        }
        let service = graph.servers[server].service[0];
        let latency = if schedule.is_lazy[server] { service.latency.0 } else { 0 };
        let starts = queue.back().copied().unwrap_or(packet.time_ps + latency);
        // Rounded down: a little faster than the rate, so never later than a bound allows.
        let leaves = starts + packet_ubit * 1_000_000_000_000 / service.rate_ubps;
        queue.push_back(leaves);
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
