//! `plan --explain FLOW` of a server graph: server by server, who is in the way with how much at
//! once, and what would make the bound smaller, each bounded and certified itself.

use super::{Bounded, bounded, rate_ubps, refusals};
use crate::failure::Failure;
use crate::header::Header;
use serde::Serialize;
use tenuto_bounds::{GraphFlow, GraphServer, Multiplexing, Options, ServerGraph, TargetBound};

/// Beyond this many flows bounding again takes too long for an answer.
const FLOWS_MAX: usize = 200;
/// Picoseconds per second.
const PS_PER_S: i128 = 1_000_000_000_000;
/// Millionths per bit, and per bit/s.
const FINE: i128 = 1_000_000;

/// Why the bounds of a flow are what they are.
#[derive(Debug, Serialize)]
pub(crate) struct Explanation {
    #[serde(flatten)]
    header: Header,
    pub(super) flow: String,
    /// By slack, then the largest bound first.
    pub(super) rows: Vec<Row>,
    /// Changes that make the first row's bound smaller.
    pub(super) tightens: Vec<Change>,
    pub(super) assumptions: Vec<String>,
}

/// The bound of one target.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) target: String,
    pub(super) method: String,
    pub(super) delay_bound_ps: Option<i128>,
    pub(super) deadline_ps: Option<i128>,
    /// What the delays of the servers add up to.
    pub(super) tfa_delay_bound_ps: Option<i128>,
    /// Delay besides that of servers.
    pub(super) constant_ps: i128,
    pub(super) hops: Vec<Hop>,
}

/// One server on the way.
#[derive(Debug, Serialize)]
pub(super) struct Hop {
    pub(super) server: String,
    pub(super) is_fifo: bool,
    /// Its service: the best of these.
    pub(super) service: Vec<Piece>,
    /// By total flow analysis.
    pub(super) delay_ps: Option<i128>,
    /// The flow itself first, then the others by what they bring at once.
    pub(super) brings: Vec<Brings>,
}

/// A rate from a latency on.
#[derive(Debug, Serialize)]
pub(super) struct Piece {
    pub(super) rate_bps: i128,
    pub(super) latency_ps: i128,
}

/// What a flow brings to a server.
#[derive(Debug, Serialize)]
pub(super) struct Brings {
    pub(super) flow: String,
    /// At once, at most, by total flow analysis up to here.
    pub(super) burst_bits: Option<i128>,
    pub(super) rate_bps: i128,
    /// How long the server takes for that.
    pub(super) costs_ps: Option<i128>,
    /// The server that it comes from; nothing for its source.
    pub(super) from: Option<String>,
}

/// A change, bounded.
#[derive(Debug, Serialize)]
pub(super) struct Change {
    pub(super) change: String,
    pub(super) delay_bound_ps: i128,
    pub(super) keeps_promises: bool,
}

/// The explanation of a flow of a graph; nothing where no flow has that name.
///
/// # Errors
/// Where a changed graph cannot be bounded, as [`bounded`].
pub(crate) fn explain(
    it: &Bounded,
    flow: &str,
    options: &Options,
    is_usual: bool,
) -> Result<Option<Explanation>, Failure> {
    let Some(index) = it.graph.flows.iter().position(|known| known.name == flow) else {
        return Ok(None);
    };
    let mut own: Vec<&TargetBound> = it.bounds.iter().filter(|bound| bound.flow == index).collect();
    own.sort_by_key(|bound| {
        let slack = it.slack_ps(bound).unwrap_or(i128::MAX);
        (bound.delay.is_some(), slack, bound.delay.map(|delay| -delay.0))
    });
    let rows: Vec<Row> = own.iter().map(|bound| row(it, bound)).collect();
    let tightens = match own.first() {
        Some(bound) => tighter(it, bound, options, is_usual)?,
        None => Vec::new(),
    };
    let is_kept = refusals(it).is_empty();
    Ok(Some(Explanation {
        header: Header::planned(
            "tenuto-server-explanation/1",
            if is_kept { "guaranteed" } else { "refused" },
            &it.certificate.plan_hash,
        ),
        flow: flow.to_owned(),
        rows,
        tightens,
        assumptions: assumptions(it),
    }))
}

/// What the bounds of a graph rest on.
fn assumptions(it: &Bounded) -> Vec<String> {
    let has_packets = it.graph.servers.iter().any(|server| server.packet_ubit > 0);
    let passing = match has_packets {
        true => "servers that state a packet send whole ones; through the others bits flow",
        false => "bits flow through servers, which is not valid for frames",
    };
    let lines = match it.document.line_shaping {
        true => "lines bound what leaves a server for the next",
        false => "lines are left out",
    };
    let arrivals = "flows keep to their arrival curves, and servers start empty";
    [passing, lines, arrivals].map(str::to_owned).to_vec()
}

fn row(it: &Bounded, bound: &TargetBound) -> Row {
    let target = it.target(bound);
    let flow = &it.graph.flows[bound.flow];
    let mut hops = Vec::new();
    let mut at = Some(target.visit);
    while let Some(visit) = at {
        hops.push(hop(it, bound.flow, visit));
        at = flow.visits[visit].parent;
    }
    hops.reverse();
    Row {
        target: target.name.clone(),
        method: bound.method.to_string(),
        delay_bound_ps: bound.delay.map(|it| it.0),
        deadline_ps: target.deadline.map(|it| it.0),
        tfa_delay_bound_ps: bound.tfa.map(|it| it.0),
        constant_ps: target.constant.0,
        hops,
    }
}

fn delay_ps(it: &Bounded, server: usize) -> Option<i128> {
    it.document.server_delays_ps.get(server).copied().flatten().map(|delay| delay.0)
}

fn hop(it: &Bounded, flow: usize, visit: usize) -> Hop {
    let index = it.graph.flows[flow].visits[visit].server;
    let server = &it.graph.servers[index];
    let visits = it.graph.flows.iter().enumerate().flat_map(|(other, them)| {
        let here = them.visits.iter().enumerate().filter(|(_, it)| it.server == index);
        here.map(move |(visit, _)| (other, visit))
    });
    let mut brings: Vec<(bool, Brings)> =
        visits.map(|(other, at)| (other == flow && at == visit, brought(it, other, at))).collect();
    brings.sort_by_key(|(is_itself, it)| {
        (!is_itself, std::cmp::Reverse(it.burst_bits.unwrap_or(i128::MAX)), it.flow.clone())
    });
    Hop {
        server: server.name.clone(),
        is_fifo: server.multiplexing == Multiplexing::Fifo,
        service: server
            .service
            .iter()
            .map(|it| Piece { rate_bps: it.rate_ubps.div_euclid(FINE), latency_ps: it.latency.0 })
            .collect(),
        delay_ps: delay_ps(it, index),
        brings: brings.into_iter().map(|(_, it)| it).collect(),
    }
}

/// What a flow brings to a server at once: its least piece, after the delays before.
fn brought(it: &Bounded, flow: usize, visit: usize) -> Brings {
    let flow = &it.graph.flows[flow];
    let server = flow.visits[visit].server;
    let parent = flow.visits[visit].parent;
    let (mut before, mut at) = (Some(0_i128), parent);
    while let Some(visit) = at {
        let here = delay_ps(it, flow.visits[visit].server);
        before = before.zip(here).map(|(sum, delay)| sum.saturating_add(delay));
        at = flow.visits[visit].parent;
    }
    let piece = |before: i128| {
        let after = |bucket: &tenuto_bounds::Bucket| {
            let grown = bucket.rate_ubps.saturating_mul(before);
            bucket.burst_ubit.saturating_add(-(-grown).div_euclid(PS_PER_S))
        };
        flow.arrival.iter().map(after).min()
    };
    let burst_ubit = before.and_then(piece);
    Brings {
        flow: flow.name.clone(),
        burst_bits: burst_ubit.map(|ubit| -(-ubit).div_euclid(FINE)),
        rate_bps: -(-rate_ubps(flow)).div_euclid(FINE),
        costs_ps: burst_ubit.and_then(|ubit| served_in_ps(&it.graph.servers[server], ubit)),
        from: parent.map(|visit| it.graph.servers[flow.visits[visit].server].name.clone()),
    }
}

/// How long a server takes for so much, beyond its least latency.
fn served_in_ps(server: &GraphServer, ubit: i128) -> Option<i128> {
    let least = server.service.iter().map(|piece| piece.latency.0).min()?;
    let pieces = server.service.iter().filter(|piece| piece.rate_ubps > 0);
    let served = pieces.map(|piece| {
        let busy = -(-ubit.saturating_mul(PS_PER_S)).div_euclid(piece.rate_ubps);
        piece.latency.0.saturating_add(busy)
    });
    Some(served.min()? - least)
}

/// Changes that may make a bound smaller, as far as they do.
fn tighter(
    it: &Bounded,
    bound: &TargetBound,
    options: &Options,
    is_usual: bool,
) -> Result<Vec<Change>, Failure> {
    let mut found = Vec::new();
    if it.graph.flows.len() > FLOWS_MAX {
        return Ok(found);
    }
    for (change, graph) in changes(it, bound) {
        let again = bounded(graph, options, is_usual)?;
        let same = |other: &&TargetBound| (other.flow, other.target) == (bound.flow, bound.target);
        let Some(delay) = again.bounds.iter().find(same).and_then(|other| other.delay) else {
            continue;
        };
        if bound.delay.is_none_or(|before| delay.0 < before.0) {
            let keeps_promises = refusals(&again).is_empty();
            found.push(Change { change, delay_bound_ps: delay.0, keeps_promises });
        }
    }
    found.sort_by_key(|change| change.delay_bound_ps);
    Ok(found)
}

/// The slowest server twice as fast, the largest other burst halved, the flow's own halved.
fn changes(it: &Bounded, bound: &TargetBound) -> Vec<(String, ServerGraph)> {
    let path = it.graph.path(bound.flow, bound.target);
    let mut all = Vec::new();
    let slowest =
        path.iter().copied().max_by_key(|server| delay_ps(it, *server).unwrap_or(i128::MAX));
    if let Some(server) = slowest {
        let mut graph = it.graph.clone();
        for piece in &mut graph.servers[server].service {
            piece.rate_ubps = piece.rate_ubps.saturating_mul(2);
        }
        all.push((format!("{} at twice its rate", graph.servers[server].name), graph));
    }
    let meets = |flow: &GraphFlow| flow.visits.iter().any(|visit| path.contains(&visit.server));
    let burst = |flow: &GraphFlow| flow.arrival.iter().map(|it| it.burst_ubit).min().unwrap_or(0);
    let others = it.graph.flows.iter().enumerate();
    let largest = others
        .filter(|(index, flow)| *index != bound.flow && meets(flow) && burst(flow) > 0)
        .max_by_key(|(_, flow)| burst(flow))
        .map(|(index, _)| index);
    for flow in largest.into_iter().chain([bound.flow]) {
        let mut graph = it.graph.clone();
        for bucket in &mut graph.flows[flow].arrival {
            bucket.burst_ubit /= 2;
        }
        all.push((format!("{} with half its burst", graph.flows[flow].name), graph));
    }
    all
}
