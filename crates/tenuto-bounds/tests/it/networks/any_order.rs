//! Packets through servers that prefer some flows to others, one trajectory at a time.

use super::random::Random;
use super::simulator::{Schedule, releases};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use tenuto_bounds::{Multiplexing, ServerGraph};

/// Per server and flow: its rank there, lowest first.
#[derive(Clone, Debug)]
pub(crate) struct Ranks(Vec<Vec<usize>>);

impl Ranks {
    pub(crate) fn random(graph: &ServerGraph, random: &mut Random) -> Self {
        let rank = |random: &mut Random| graph.flows.iter().map(|_| random.below(8)).collect();
        Self(graph.servers.iter().map(|_| rank(random)).collect())
    }

    /// The same with one rank changed.
    pub(crate) fn varied(&self, random: &mut Random) -> Self {
        let mut other = self.clone();
        let server = random.below(other.0.len());
        let flow = random.below(other.0[server].len());
        other.0[server][flow] = random.below(8);
        other
    }
}

/// What happens; what arrives at an instant is there before the next packet is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrives(Packet),
    /// A server chooses its next packet.
    Chooses(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Packet {
    flow: usize,
    visit: usize,
    sent_ps: i128,
    /// When it came to the server of the visit.
    came_ps: i128,
}

struct Network<'a> {
    graph: &'a ServerGraph,
    events: BinaryHeap<Reverse<(i128, Event)>>,
    /// Per server and flow: what waits.
    queues: Vec<Vec<VecDeque<Packet>>>,
    /// Per server: what is being sent.
    sending: Vec<Option<Packet>>,
    is_busy: Vec<bool>,
    largest: Vec<Vec<i128>>,
}

/// The largest delay of each flow and target. All packets have `packet_ubit`; a server sends one
/// after the other, of the flow with the lowest rank, each flow in its order; a FIFO server in the
/// order of arrival, ranks between equals. It is never idle
/// while something waits but, if lazy, for its latency at the start of a busy period.
pub(crate) fn largest_delays(
    graph: &ServerGraph,
    (schedule, ranks): (&Schedule, &Ranks),
    packet_ubit: i128,
    horizon_ps: i128,
) -> Vec<Vec<i128>> {
    let mut network = Network {
        graph,
        events: BinaryHeap::new(),
        queues: vec![vec![VecDeque::new(); graph.flows.len()]; graph.servers.len()],
        sending: vec![None; graph.servers.len()],
        is_busy: vec![false; graph.servers.len()],
        largest: graph.flows.iter().map(|flow| vec![0; flow.targets.len()]).collect(),
    };
    for (flow, of) in graph.flows.iter().enumerate() {
        for sent_ps in releases(of, &schedule.bursts_ps[flow], packet_ubit, horizon_ps) {
            network.enter(sent_ps, Packet { flow, visit: 0, sent_ps, came_ps: sent_ps });
        }
    }
    while let Some(Reverse((now_ps, event))) = network.events.pop() {
        match event {
            Event::Arrives(packet) => network.arrives(now_ps, packet, schedule),
            Event::Chooses(server) => network.chooses(now_ps, server, ranks, packet_ubit),
        }
    }
    network.largest
}

impl Network<'_> {
    fn enter(&mut self, time_ps: i128, packet: Packet) {
        self.events.push(Reverse((time_ps, Event::Arrives(packet))));
    }

    fn arrives(&mut self, now_ps: i128, packet: Packet, schedule: &Schedule) {
        let server = self.graph.flows[packet.flow].visits[packet.visit].server;
        self.queues[server][packet.flow].push_back(packet);
        if !self.is_busy[server] {
            self.is_busy[server] = true;
            let latency = self.graph.servers[server].service[0].latency.0;
            let wait = if schedule.is_lazy[server] { latency } else { 0 };
            self.events.push(Reverse((now_ps + wait, Event::Chooses(server))));
        }
    }

    fn chooses(&mut self, now_ps: i128, server: usize, ranks: &Ranks, packet_ubit: i128) {
        if let Some(packet) = self.sending[server].take() {
            self.leaves(now_ps, packet);
        }
        let is_fifo = self.graph.servers[server].multiplexing == Multiplexing::Fifo;
        let fronts = self.queues[server].iter().enumerate();
        let fronts = fronts.filter_map(|(flow, queue)| Some((flow, queue.front()?.came_ps)));
        let first = fronts.min_by_key(|&(flow, came_ps)| {
            (if is_fifo { came_ps } else { 0 }, ranks.0[server][flow], flow)
        });
        let first = first.map(|(flow, _)| flow);
        self.sending[server] = first.and_then(|flow| self.queues[server][flow].pop_front());
        self.is_busy[server] = self.sending[server].is_some();
        if self.is_busy[server] {
            let rate = self.graph.servers[server].service[0].rate_ubps;
            // Rounded down: a little faster than the rate, so never later than a bound allows.
            let takes = packet_ubit * 1_000_000_000_000 / rate;
            self.events.push(Reverse((now_ps + takes, Event::Chooses(server))));
        }
    }

    fn leaves(&mut self, now_ps: i128, packet: Packet) {
        let flow = &self.graph.flows[packet.flow];
        for (index, target) in flow.targets.iter().enumerate() {
            if target.visit == packet.visit {
                let seen = &mut self.largest[packet.flow][index];
                *seen = (*seen).max(now_ps - packet.sent_ps);
            }
        }
        let next = |visit: &usize| flow.visits[*visit].parent == Some(packet.visit);
        for visit in (0..flow.visits.len()).filter(next) {
            self.enter(now_ps, Packet { visit, came_ps: now_ps, ..packet });
        }
    }
}
