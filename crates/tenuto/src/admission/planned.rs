//! What an engine holds, as a network that can be planned and certified.

use crate::failure::Failure;
use std::collections::{BTreeMap, BTreeSet};
use tenuto_admission::{Engine, Network as Lines, NodeId, PortId, Request, Visit};
use tenuto_model::{
    Contract, Flow, Host, Link, LinkEnd, MatchKind, MemorySources, ModeReturn, Network,
    OtherTraffic, OutOfMode, Profile, Size, Switch, Target, Tolerates, read_network, write_network,
};

/// Queues of every port for flows; one more is below them, for other traffic.
pub(crate) const QUEUES: u8 = 4;
/// What other traffic may bring per host, bit/s: below all flows only its frames matter.
const OTHER_RATE_BPS: u64 = 1_000_000;
/// Preamble and gap, bytes.
const WIRE_OVERHEAD_BYTES: u64 = 20;
/// A full frame of a message, and what of it is not the message, bytes on the wire.
const SEGMENT_WIRE_BYTES: u64 = 1_538;
const SEGMENT_OVERHEAD_BYTES: u64 = 78;

/// Every flow that an engine holds, over its way, in its queue and with its deadline.
///
/// A burst of several frames becomes a message of that many, due as often as the rate allows.
///
/// # Errors
/// What a network file cannot say: processors, lines that differ by direction or stand side by side, a
/// flow with several queues, sizes that are no whole frames.
pub(crate) fn network_of(name: &str, engine: &Engine) -> Result<Network, Failure> {
    let lines = engine.network();
    if lines.has_processors() {
        return Err(unwritable("switches share processors here; those are not written"));
    }
    let links = links(lines)?;
    let (switches, profiles) = switches(lines);
    let held: Vec<(&Request, Vec<Visit>)> = engine.held().collect();
    let flows = held.iter().map(|(request, visits)| flow(lines, request, visits));
    let hosts = lines.nodes().iter().filter(|node| !node.is_switch);
    let blocking = lines.ports().iter().map(|port| u64::from(port.blocking_bytes)).max();
    let other_bytes = blocking.unwrap_or(0).saturating_sub(WIRE_OVERHEAD_BYTES);
    let network = Network {
        name: name.to_owned(),
        modes: vec!["normal".to_owned()],
        networks: Vec::new(),
        hosts: hosts.map(|node| Host { name: node.name.clone() }).collect(),
        switches,
        controllers: Vec::new(),
        links,
        flows: flows.collect::<Result<_, _>>()?,
        other_traffic: OtherTraffic::Carry {
            priority: QUEUES,
            rate_bps: OTHER_RATE_BPS,
            frame_bytes_max: u32::try_from(other_bytes).unwrap_or(u32::MAX),
        },
        mode_return: ModeReturn::default(),
        tolerates: Tolerates {
            babbling_hosts: 0,
            lost_signals: 0,
            controller_loss: true,
            links_lost: 0,
        },
        profiles,
    };
    let text = write_network(&network);
    match read_network(&MemorySources::new().with("held.yaml", &text), "held.yaml") {
        Ok((network, _)) => Ok(network),
        Err(problems) => Err(Failure::of(&problems, "what is held is no network file")),
    }
}

fn unwritable(message: &str) -> Failure {
    Failure::input(message.to_owned(), None, Some("leave --plan out"))
}

/// Two directed lines are one link.
fn links(lines: &Lines) -> Result<Vec<Link>, Failure> {
    let mut numbers: BTreeMap<NodeId, u32> = BTreeMap::new();
    let mut known: BTreeSet<(NodeId, NodeId)> = BTreeSet::new();
    let mut links = Vec::new();
    let mut end = |node: NodeId| {
        let port = numbers.entry(node).or_default();
        *port += 1;
        LinkEnd { node: lines.nodes()[node.0 as usize].name.clone(), port: *port }
    };
    for port in lines.ports() {
        if !known.insert((port.from, port.to)) {
            return Err(unwritable("two lines lead from one node to another side by side"));
        }
        let back = lines.ports().iter().find(|it| (it.from, it.to) == (port.to, port.from));
        if back.is_some_and(|it| it.rate_bps != port.rate_bps) {
            return Err(unwritable("a line has other rates in its two directions"));
        }
        if known.contains(&(port.to, port.from)) {
            continue;
        }
        let propagation_ns = back.map_or(0, |it| it.propagation_ns).max(port.propagation_ns);
        let (a, b) = (end(port.from), end(port.to));
        links.push(Link { a, b, rate_bps: port.rate_bps, propagation_ns });
    }
    Ok(links)
}

/// A profile for every kind of switch there is.
fn switches(lines: &Lines) -> (Vec<Switch>, BTreeMap<String, Profile>) {
    let mut profiles: BTreeMap<String, Profile> = BTreeMap::new();
    let mut switches = Vec::new();
    let nodes = (0_u32..).map(NodeId).zip(lines.nodes());
    for ((id, node), datapath_id) in nodes.filter(|(_, node)| node.is_switch).zip(1..) {
        let timing = lines.timing_of(id);
        let ports = lines.leaving(id).iter().map(|port| lines.port(*port));
        let room = ports.map(|port| u64::from(port.queue_bytes) * u64::from(port.queues)).min();
        let name = format!(
            "latency-{}-{}-below-{}-room-{}",
            timing.latency_ns_min,
            timing.latency_ns_max,
            timing.below_scheduler_bytes,
            room.unwrap_or(0)
        );
        let ideal = Profile::built_in("ideal").expect("it is built in");
        profiles.entry(name.clone()).or_insert_with(|| Profile {
            name: name.clone(),
            latency_ns_min: timing.latency_ns_min,
            latency_ns_max: timing.latency_ns_max,
            below_scheduler_bytes: timing.below_scheduler_bytes,
            buffer_bytes_per_port: room,
            queues_per_port: QUEUES + 1,
            clock_tolerance_ppm: lines.clock_tolerance_ppm(),
            ..ideal
        });
        let name = (node.name.clone(), name);
        switches.push(Switch { name: name.0, datapath_id, profile: name.1, network: None });
    }
    (switches, profiles)
}

fn flow(lines: &Lines, request: &Request, visits: &[Visit]) -> Result<Flow, Failure> {
    let queue = visits.first().map_or(0, |visit| visit.queue);
    if visits.iter().any(|visit| visit.queue != queue) {
        return Err(unwritable("a flow has several queues on its way; a plan gives it one"));
    }
    let name = |node: NodeId| lines.nodes()[node.0 as usize].name.clone();
    let contract = Contract {
        period_ns: request.period_ns(),
        size: size(request)?,
        frame_bytes_min: None,
        jitter_ns: 0,
        priority: queue,
    };
    let target = |last: usize| {
        let (host, route) = route(lines, visits, last);
        Target { host, routes: vec![Some(route)], deadline_ns: vec![request.deadline_ns] }
    };
    let lasts = (0..visits.len()).filter(|at| visits[*at].is_last);
    Ok(Flow {
        name: format!("flow{}", request.id),
        vl: None,
        source: name(request.source),
        targets: lasts.map(target).collect(),
        level: 0,
        contracts: vec![contract],
        matching: MatchKind::FiveTuple,
        out_of_mode: OutOfMode::Drop,
        monitor_at: Vec::new(),
        copies: Vec::new(),
        apart: tenuto_model::Apart::default(),
        skew_max_ns: None,
        udp_port: None,
    })
}

/// The host at the end of a visit, and the switches on the way to it.
fn route(lines: &Lines, visits: &[Visit], last: usize) -> (String, Vec<String>) {
    let name = |node: NodeId| lines.nodes()[node.0 as usize].name.clone();
    let port = |id: PortId| lines.port(id);
    let mut route = Vec::new();
    let mut at = last;
    while let Some(parent) = visits[at].parent {
        route.push(name(port(visits[at].port).from));
        at = usize::from(parent);
    }
    route.reverse();
    (name(port(visits[last].port).to), route)
}

/// One frame, or a message whose frames take what the burst does on the wire.
fn size(request: &Request) -> Result<Size, Failure> {
    let bytes = request.burst_bits / 8;
    let is_one = request.burst_bits == request.frame_bits && bytes <= SEGMENT_WIRE_BYTES;
    let stated = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    if request.burst_bits.is_multiple_of(8) && is_one {
        return Ok(Size::FrameBytes(stated(bytes - WIRE_OVERHEAD_BYTES)));
    }
    let (frames, rest) = (bytes / SEGMENT_WIRE_BYTES, bytes % SEGMENT_WIRE_BYTES);
    let last = if rest == 0 { SEGMENT_OVERHEAD_BYTES } else { rest };
    let is_full =
        request.frame_bits == SEGMENT_WIRE_BYTES * 8 && request.burst_bits.is_multiple_of(8);
    if !is_full || last < SEGMENT_OVERHEAD_BYTES {
        let id = request.id;
        return Err(unwritable(&format!("the burst of flow {id} is not one of whole frames")));
    }
    let payload = SEGMENT_WIRE_BYTES - SEGMENT_OVERHEAD_BYTES;
    Ok(Size::MessageBytes(stated(frames * payload + last - SEGMENT_OVERHEAD_BYTES)))
}
