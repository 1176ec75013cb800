//! A whole network as one server graph, where every switch serves with one processor what it
//! receives in the order in which it came (theory, "Processors in order of arrival").
//!
//! Amounts are work: a frame weighs what it costs, in least frames of the processor. Between two
//! processors a port is a delay that keeps the order of its class.

use super::class_graph::ClassGraph;
use crate::analysis::context::Analysis;
use crate::analysis::mode_result::ModeResult;
use crate::analysis::processor::{Costs, Site, frame_sizes};
use crate::input::envelope;
use std::collections::BTreeMap;
use tenuto_bounds::{GraphFlow, GraphTarget, GraphVisit, RateLatency};
use tenuto_calculus::{Bucket, div_up};
use tenuto_model::{Contract, Receive};
use tenuto_units::{FRAME_BYTES_MIN, Picos};

const PS_PER_S: i128 = 1_000_000_000_000;
const NS_PER_S: i128 = 1_000_000_000;
const MILLION: i128 = 1_000_000;
/// What a least frame weighs, in the graph's units of data.
const LEAST: i128 = 1_000_000_000;
/// A delay is any rate after a latency; this many times the fastest processor's is far from being
/// in the way, and near enough for floats.
const PORTS_FASTER: i128 = 16;

/// `None` where it is not known that everything is served in order, or when it leaves.
pub(super) fn of_network(analysis: &Analysis<'_>, result: &ModeResult) -> Option<ClassGraph> {
    let network = analysis.ports.topology.network;
    let is_steady = network.modes.len() == 1 && network.tolerates.babbling_hosts == 0;
    if !is_steady || analysis.ports.is_fluid() {
        return None;
    }
    let classes =
        network.flows.iter().flat_map(|flow| &flow.contracts).map(|c| c.priority).max()?;
    let servers = analysis.ports.topology.servers.len();
    let builder = Builder { analysis, result, servers, classes: usize::from(classes) + 1 };
    let mut this = ClassGraph::empty((builder.classes + 1) * servers);
    for tree in 0..analysis.trees.len() {
        builder.add(tree, &mut this)?;
    }
    builder.serve(&mut this)?;
    Some(this)
}

struct Builder<'b, 'a> {
    analysis: &'b Analysis<'a>,
    result: &'b ModeResult,
    /// Directed ports of the network.
    servers: usize,
    /// Classes that flows may have.
    classes: usize,
}

/// Where a tree goes on: the processor behind a hop, the port at a hop.
#[derive(Default)]
struct Way {
    visits: Vec<GraphVisit>,
    processors: BTreeMap<usize, usize>,
    ports: BTreeMap<usize, usize>,
}

impl Builder<'_, '_> {
    /// The server of the graph that is a port as a class sees it.
    fn port(&self, server: usize, class: u8) -> usize {
        usize::from(class) * self.servers + server
    }

    /// The server of the graph that is a node's processor: named by the first port that leaves it.
    fn processor(&self, node: usize) -> Option<usize> {
        let first = self.analysis.ports.topology.leaving(node).iter().min()?;
        Some(self.classes * self.servers + first)
    }

    fn add(&self, tree: usize, to: &mut ClassGraph) -> Option<()> {
        let it = &self.analysis.trees[tree];
        let &[class] = self.result.mode_input.shares[tree].classes.as_slice() else { return None };
        let way = self.way(tree, class)?;
        if way.visits.is_empty() {
            return Some(());
        }
        let (arrival, largest) = self.work(tree, class)?;
        for visit in &way.visits {
            let packet = &mut to.graph.servers[visit.server].packet_ubit;
            *packet = largest.max(*packet);
        }
        let (mut targets, mut named) = (Vec::new(), Vec::new());
        for (place, path) in it.paths.iter().enumerate() {
            let Some(before) = path.len().checked_sub(2) else { continue };
            let visit = *way.processors.get(&path[before])?;
            let constant = self.constant(tree, class, path)?;
            targets.push(GraphTarget { name: String::new(), visit, deadline: None, constant });
            named.push((tree, place));
        }
        to.graph.flows.push(GraphFlow {
            name: String::new(),
            arrival: vec![arrival],
            visits: way.visits,
            targets,
            is_lossy: false,
        });
        to.trees.push(tree);
        to.targets.push(named);
        Some(())
    }

    /// The processors and trunks that a tree visits.
    fn way(&self, tree: usize, class: u8) -> Option<Way> {
        let topology = self.analysis.ports.topology;
        let mut way = Way::default();
        for (hop, at) in self.analysis.trees[tree].hops.iter().enumerate() {
            let Some(before) = at.parent else { continue };
            let processor = match way.processors.get(&before) {
                Some(visit) => *visit,
                None => {
                    let server = self.processor(topology.servers[at.server].node)?;
                    let parent = way.ports.get(&before).copied();
                    way.visits.push(GraphVisit { server, parent });
                    way.processors.insert(before, way.visits.len() - 1);
                    way.visits.len() - 1
                }
            };
            if topology.servers[at.server].is_trunk {
                let server = self.port(at.server, class);
                way.visits.push(GraphVisit { server, parent: Some(processor) });
                way.ports.insert(hop, way.visits.len() - 1);
            }
        }
        Some(way)
    }

    /// What a tree brings to its first processor, and its largest frame.
    fn work(&self, tree: usize, class: u8) -> Option<(Bucket, i128)> {
        let it = &self.analysis.trees[tree];
        let topology = self.analysis.ports.topology;
        let contract: &Contract = topology.network.flows[it.flow].contracts.first()?;
        let mut visited: Vec<(Costs<'_>, u32)> = Vec::new();
        for hop in 0..it.hops.len() {
            let outputs = it.hops.iter().filter(|next| next.parent == Some(hop)).count();
            if outputs > 0 {
                let profile = topology.nodes[topology.servers[it.hops[hop].server].peer].profile?;
                let costs = Costs::new(profile.processor.as_ref()?, profile);
                visited.push((costs, u32::try_from(outputs).ok()?));
            }
        }
        let weight = |bytes: u32| {
            let at = |(costs, outputs): &(Costs<'_>, u32)| {
                div_up(costs.of(bytes, *outputs) * LEAST, costs.of(FRAME_BYTES_MIN, 1).max(1))
            };
            visited.iter().map(at).max()
        };
        let (before, full, last) = frame_sizes(contract, self.analysis.reading.as_stated);
        let message = i128::from(before) * weight(full)? + weight(last)?;
        let faster = MILLION + i128::from(self.analysis.reading.clock_ppm);
        let period = i128::from(contract.period_ns.max(1)) * MILLION;
        let rate_ubps = div_up(message.checked_mul(faster)?.checked_mul(NS_PER_S)?, period);
        let first = it.hops.iter().find(|hop| hop.parent.is_none())?;
        let late = self.result.solution.delay(first.server, class)?;
        let bucket = Bucket { burst_ubit: message, rate_ubps };
        Some((bucket.grown(Picos(envelope::jitter(contract).0 + late.0)), weight(full)?))
    }

    /// What a path takes besides the servers that are visited: its first and last port, cables,
    /// least latencies.
    fn constant(&self, tree: usize, class: u8, path: &[usize]) -> Option<Picos> {
        let topology = self.analysis.ports.topology;
        let mut sum = 0;
        for (place, &hop) in path.iter().enumerate() {
            let server = self.analysis.trees[tree].hops[hop].server;
            let egress = &topology.servers[server];
            sum += egress.propagation_ps + topology.nodes[egress.node].latency_min_ps();
            if place == 0 || place + 1 == path.len() {
                sum += self.result.solution.delay(server, class)?.0;
            }
        }
        Some(Picos(sum))
    }

    /// The servers that flows visit.
    fn serve(&self, of: &mut ClassGraph) -> Option<()> {
        let mut fastest = 0;
        let transition = self.result.mode_input.transition;
        for (node, site) in self.analysis.ports.processors.all(transition) {
            let Some(server) = self.processor(node) else { continue };
            if of.graph.servers[server].packet_ubit == 0 {
                continue;
            }
            let (service, delay) = self.served(node, site)?;
            fastest = fastest.max(service.rate_ubps);
            of.graph.servers[server].service = vec![service];
            of.delays[server] = Some(delay);
        }
        let rate_ubps = fastest * PORTS_FASTER;
        for class in 0..self.classes {
            for server in 0..self.servers {
                let class = u8::try_from(class).ok()?;
                let seen = self.port(server, class);
                if of.graph.servers[seen].packet_ubit == 0 {
                    continue;
                }
                let latency = self.result.solution.delay(server, class)?;
                let port = &mut of.graph.servers[seen];
                // Frames are taken in and let go as they are: none is held back.
                port.packet_ubit = 0;
                port.service = vec![RateLatency { rate_ubps, latency }];
                of.delays[seen] = Some(latency);
            }
        }
        Some(())
    }

    /// Service and delay of a processor with the lines beside it and what its switch varies;
    /// `None` if it does not serve in order of arrival.
    fn served(&self, node: usize, site: &Site<'_>) -> Option<(RateLatency, Picos)> {
        let it = &self.analysis.ports.topology.nodes[node];
        let processor = site.processor;
        let jitter = it.latency_jitter_ps();
        // Behind the processor only a line keeps frames of several ports in order.
        let is_in_order = processor.link.is_some() || jitter == 0;
        if processor.receive != Receive::Fifo || !is_in_order {
            return None;
        }
        let least = Costs::new(processor, it.profile?).of(FRAME_BYTES_MIN, 1).max(1);
        let period = i128::from(processor.control.period_ps);
        let slices = processor.slices.work();
        let of_slices = i128::try_from(slices.per_s_ps).ok()?.checked_mul(period)?;
        let time = i128::from(processor.control.time_ps);
        let busy = time.checked_add(div_up(of_slices, PS_PER_S))?;
        let time = time.checked_add(i128::try_from(slices.burst_ps).ok()?)?;
        let left = period.checked_sub(busy).filter(|left| *left > 0)?;
        let whole = (LEAST * PS_PER_S).checked_mul(left)?;
        let rate_ubps = whole / least.checked_mul(period)?;
        let wait = div_up(time.checked_mul(period)?, left);
        let latency = Picos(wait + 2 * site.link_ps() + jitter);
        let used = site.lines.iter().filter(|line| !line.streams.is_empty());
        let mut most = Picos(0);
        for line in used {
            most = most.max(self.result.solution.processing[line.line]?);
        }
        Some((RateLatency { rate_ubps, latency }, Picos(most.0 + jitter)))
    }
}
