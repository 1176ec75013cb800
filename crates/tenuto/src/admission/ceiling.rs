//! Ceilings beside what is held: what rooms and rates alone leave, whatever the proof.
//!
//! Two figures, both from events that occur whichever way flows are decided. Every flow of a host may
//! release its burst at once, so bursts beyond the room of the uplink lose frames; and what comes to a
//! port over several lines, each as fast as it can, waits there but for what the longest of them
//! brings, since the port sends no faster than that one.

use super::Operation;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use tenuto_admission::{Network, NodeId, Place, Port, PortId, Request};

/// Ceilings for a list on a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Ceiling {
    /// Most flows whose bursts fit the uplinks, whichever are chosen: no scheme holds more.
    pub(crate) flows_max: usize,
    /// Most rate of them; another choice than that of the most flows.
    pub(crate) rate_mbps_max: f64,
    /// Flows held by taking, in order and by the shortest way, everyone whom bursts at once and rates
    /// allow, the queues of a port being one room and deadlines none.
    pub(crate) in_order_flows: usize,
    /// Their rate.
    pub(crate) in_order_rate_mbps: f64,
    /// The mean load of lines between switches with them, percent.
    pub(crate) in_order_trunk_load_percent: f64,
}

/// The ceilings of a list of adds; `None` where flows go.
pub(crate) fn ceiling(network: &Network, operations: &[Operation]) -> Option<Ceiling> {
    let request = |operation: &Operation| match operation {
        Operation::Add(request) => Some(request.clone()),
        Operation::Remove(_) => None,
    };
    let requests: Vec<Request> = operations.iter().map(request).collect::<Option<_>>()?;
    let mut ceiling = Ceiling::default();
    for id in (0_u32..).map(PortId).take(network.ports().len()).filter(|id| network.is_source(*id))
    {
        let port = network.port(id);
        let own = requests.iter().filter(|request| request.source == port.from);
        let own: Vec<(u64, u64)> = own.map(|it| (it.burst_bits, it.rate_bps)).collect();
        let room = room_bits(port);
        ceiling.flows_max += most_flows(own.clone(), room);
        ceiling.rate_mbps_max += most_rate_mbps(own, room).min(port.rate_bps as f64 / 1e6);
    }
    let mut taken = Taken::default();
    for request in &requests {
        ceiling.in_order_flows += usize::from(taken.add(network, request));
    }
    (ceiling.in_order_rate_mbps, ceiling.in_order_trunk_load_percent) =
        taken.rate_and_load(network);
    Some(ceiling)
}

/// What all queues of a port hold together.
fn room_bits(port: &Port) -> u64 {
    u64::from(port.queue_bytes) * 8 * u64::from(port.queues)
}

/// The smallest bursts first.
fn most_flows(mut flows: Vec<(u64, u64)>, room_bits: u64) -> usize {
    flows.sort_unstable();
    let mut used = 0;
    flows
        .iter()
        .take_while(|(burst, _)| {
            used += burst;
            used <= room_bits
        })
        .count()
}

/// The most rate per burst first, the last of them in part: no whole choice has more.
fn most_rate_mbps(mut flows: Vec<(u64, u64)>, room_bits: u64) -> f64 {
    let times = |rate: u64, burst: u64| u128::from(rate) * u128::from(burst);
    flows.sort_by(|one, other| times(other.1, one.0).cmp(&times(one.1, other.0)));
    let (mut left, mut rate_mbps) = (room_bits as f64, 0.0);
    for (burst, rate) in flows {
        let part = (left / burst.max(1) as f64).clamp(0.0, 1.0);
        rate_mbps += rate as f64 / 1e6 * part;
        left -= burst as f64 * part;
    }
    rate_mbps
}

/// Bursts by the line that they come over, and the rate, per port.
#[derive(Default)]
struct Taken {
    ports: BTreeMap<PortId, (BTreeMap<Option<PortId>, u64>, u64)>,
    rate_bps: u64,
}

impl Taken {
    /// Takes a flow, unless a port of its way has no room or rate for it.
    fn add(&mut self, network: &Network, request: &Request) -> bool {
        let Some(way) = shortest(network, request.source, request.targets[0]) else { return false };
        let before = [None].into_iter().chain(way.iter().copied().map(Some));
        let visits: Vec<(PortId, Option<PortId>)> = way.iter().copied().zip(before).collect();
        let fits = |(id, from): &(PortId, Option<PortId>)| {
            let port = network.port(*id);
            let (mut lines, rate) = self.ports.get(id).cloned().unwrap_or_default();
            *lines.entry(*from).or_default() += request.burst_bits;
            let all: u64 = lines.values().sum();
            // What one line brings alone does not wait; at a host nothing shapes what comes.
            let most = lines.values().max().copied().filter(|_| from.is_some()).unwrap_or(0);
            all - most <= room_bits(port) && rate + request.rate_bps < port.rate_bps
        };
        if !visits.iter().all(fits) {
            return false;
        }
        for (id, from) in visits {
            let (lines, rate) = self.ports.entry(id).or_default();
            *lines.entry(from).or_default() += request.burst_bits;
            *rate += request.rate_bps;
        }
        self.rate_bps += request.rate_bps;
        true
    }

    fn rate_and_load(&self, network: &Network) -> (f64, f64) {
        let ids = (0_u32..).map(PortId).take(network.ports().len());
        let trunks: Vec<PortId> =
            ids.filter(|id| Place::of(network, *id) == Place::Trunk).collect();
        let used: u64 = trunks.iter().filter_map(|id| self.ports.get(id)).map(|port| port.1).sum();
        let there: u64 = trunks.iter().map(|id| network.port(*id).rate_bps).sum();
        (self.rate_bps as f64 / 1e6, used as f64 / there.max(1) as f64 * 100.0)
    }
}

/// The ports of a way with the fewest hops.
fn shortest(network: &Network, source: NodeId, target: NodeId) -> Option<Vec<PortId>> {
    let mut towards: BTreeMap<NodeId, PortId> = BTreeMap::new();
    let mut waiting = VecDeque::from([source]);
    while let Some(node) = waiting.pop_front() {
        let forwards = node == source || network.nodes()[node.0 as usize].is_switch;
        for id in network.leaving(node).iter().filter(|_| forwards) {
            let to = network.port(*id).to;
            if to != source && !towards.contains_key(&to) {
                towards.insert(to, *id);
                waiting.push_back(to);
            }
        }
    }
    let (mut way, mut node) = (Vec::new(), target);
    while node != source {
        let id = *towards.get(&node)?;
        way.push(id);
        node = network.port(id).from;
    }
    way.reverse();
    Some(way)
}
