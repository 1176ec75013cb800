//! A plan's ports and flows as a server graph, for tools that know no frames.

use crate::failure::Failure;
use std::collections::BTreeMap;
use tenuto_bounds::{
    Bucket, GraphFlow, GraphServer, GraphTarget, GraphVisit, Multiplexing, RateLatency, ServerGraph,
};
use tenuto_model::{Flow, FlowBound, Hop, Plan, Port};
use tenuto_units::Picos;

/// 10⁻⁶ bit per bit.
const UBIT: i128 = 1_000_000;

/// A graph, and the largest packet of each of its flows, 10⁻⁶ bit.
pub(crate) struct PlanGraph {
    pub(crate) graph: ServerGraph,
    pub(crate) packets_ubit: Vec<i128>,
}

/// The graph of a plan with one mode and one class, whose ports are then FIFO servers.
pub(crate) fn of_plan(plan: &Plan) -> Result<PlanGraph, Failure> {
    let network = &plan.network;
    let fail = |message: &str, hint: &str| Err(Failure::input(message, None, Some(hint)));
    if network.modes.len() > 1 {
        return fail(
            "the network has several modes",
            "server graphs have one: make a file of each",
        );
    }
    let mut classes: Vec<u8> = network.flows.iter().map(|f| f.highest().priority).collect();
    classes.sort_unstable();
    classes.dedup();
    if classes.len() > 1 {
        return fail(
            "the network has several priorities, and servers of this format are FIFO",
            "export a network whose flows have one priority",
        );
    }
    let mut build = Build { plan, index: BTreeMap::new(), graph: ServerGraph::default() };
    build.graph.name.clone_from(&network.name);
    let mut packets_ubit = Vec::new();
    for flow in &network.flows {
        let rows: Vec<&FlowBound> = plan.flows.iter().filter(|r| r.flow == flow.name).collect();
        let copies = rows.iter().map(|row| row.copies.len()).max().unwrap_or(0);
        for copy in 0..copies {
            build.flow(flow, &rows, copy);
            let mix = flow.highest().size.frames(plan.as_stated);
            packets_ubit.push(i128::from(mix.frame_wire_bits_max) * UBIT);
        }
    }
    let mut graph = build.graph;
    for (flow, packet) in graph.flows.iter().zip(&packets_ubit) {
        for visit in &flow.visits {
            let server = &mut graph.servers[visit.server];
            server.packet_ubit = server.packet_ubit.max(*packet);
        }
    }
    for server in &mut graph.servers {
        if let Some(line) = &mut server.line {
            line.burst_ubit = server.packet_ubit;
        }
    }
    Ok(PlanGraph { graph, packets_ubit })
}

struct Build<'p> {
    plan: &'p Plan,
    index: BTreeMap<Port, usize>,
    graph: ServerGraph,
}

impl Build<'_> {
    /// A port: the line's rate, behind what the switch and the way to the next node take.
    fn server(&mut self, hop: &Hop) -> usize {
        if let Some(index) = self.index.get(&hop.port) {
            return *index;
        }
        let network = &self.plan.network;
        let rate = network.peer(&hop.port).map_or(0, |(_, link)| link.rate_bps);
        let rate_ubps = i128::from(rate) * UBIT;
        let below = network
            .switch(&hop.port.node)
            .map_or(0, |switch| network.profile_of(switch).below_scheduler_bytes);
        let below_ps =
            (i128::from(below) * 8_000_000_000_000).div_euclid(i128::from(rate.max(1))) + 1;
        let latency = i128::from(hop.latency_ps)
            + i128::from(hop.propagation_ps)
            + if below > 0 { below_ps } else { 0 };
        self.graph.servers.push(GraphServer {
            name: network.port_label(&hop.port),
            service: vec![RateLatency { rate_ubps, latency: Picos(latency) }],
            line: self.plan.line_shaping.then_some(Bucket { burst_ubit: 0, rate_ubps }),
            multiplexing: Multiplexing::Fifo,
            packet_ubit: 0,
        });
        let index = self.graph.servers.len() - 1;
        self.index.insert(hop.port.clone(), index);
        index
    }

    fn flow(&mut self, flow: &Flow, rows: &[&FlowBound], copy: usize) {
        let mut visits: Vec<GraphVisit> = Vec::new();
        let mut targets = Vec::new();
        for row in rows {
            let Some(way) = row.copies.get(copy) else { continue };
            let mut parent = None;
            for hop in &way.hops {
                let server = self.server(hop);
                let known = visits.iter().position(|v| v.server == server && v.parent == parent);
                parent = Some(known.unwrap_or_else(|| {
                    visits.push(GraphVisit { server, parent });
                    visits.len() - 1
                }));
            }
            if let Some(visit) = parent {
                let deadline = Some(Picos(i128::from(row.deadline_ns) * 1_000));
                let (name, constant) = (row.target.clone(), Picos(0));
                targets.push(GraphTarget { name, visit, deadline, constant });
            }
        }
        let network = rows.first().and_then(|r| r.copies.get(copy)).and_then(|c| c.network.clone());
        let name = network.map_or_else(|| flow.name.clone(), |n| format!("{}#{n}", flow.name));
        self.graph.flows.push(GraphFlow {
            name,
            arrival: vec![self.arrival(flow)],
            visits,
            targets,
            is_lossy: false,
        });
    }

    /// What a flow sends: a message per period, and what its release jitter adds.
    fn arrival(&self, flow: &Flow) -> Bucket {
        let contract = flow.highest();
        let bits = i128::from(contract.size.frames(self.plan.as_stated).message_wire_bits);
        let period = i128::from(contract.period_ns.max(1));
        let rate_ubps = (bits * UBIT * 1_000_000_000 + period - 1).div_euclid(period);
        let bucket = Bucket { burst_ubit: bits * UBIT, rate_ubps };
        bucket.grown(Picos(i128::from(contract.jitter_ns) * 1_000))
    }
}
