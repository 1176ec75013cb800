//! Entries for what is of no flow, where the network carries it.
//!
//! Frames to a host's own address go the shortest way there, broadcasts go over a tree of trunks;
//! anything else misses. Every host port has one meter for all of it, and what looks like a flow
//! without being one is dropped in front of that meter: it could use the flow's entries further on.

use crate::input::topology::Topology;
use crate::output::entries::{OF_A_FLOW, OF_THE_REST, levels, next_id, output};
use std::collections::VecDeque;
use tenuto_model::{
    Addressing, EntrySpec, MatchSpec, MeterSpec, OtherTraffic, OutputSpec, PortRole, Profile,
    SwitchDeployment, TABLE_FORWARD, TABLE_POLICE,
};

/// Precedence of what drops pretended flows: below their real entries, above the rest.
const OF_PRETENDERS: u16 = OF_A_FLOW / 2;
const BROADCAST: [u8; 6] = [0xff; 6];

/// Ways through one described network for frames of no flow.
#[derive(Debug)]
pub(crate) struct Ways {
    /// Per node and host: the egress to the host, where there is one.
    towards: Vec<Vec<Option<usize>>>,
    /// Per egress: whether it is in the tree of broadcasts.
    spanning: Vec<bool>,
}

impl Ways {
    pub(crate) fn new(topology: &Topology<'_>) -> Self {
        let hosts = topology.network.hosts.len();
        let towards = (0..hosts).map(|host| shortest(topology, host)).collect::<Vec<_>>();
        let of_node = |node: usize| towards.iter().map(|ways| ways[node]).collect();
        Self {
            towards: (0..topology.nodes.len()).map(of_node).collect(),
            spanning: spanning(topology),
        }
    }
}

/// Per node: its egress on a shortest way to a host, through switches only.
fn shortest(topology: &Topology<'_>, host: usize) -> Vec<Option<usize>> {
    let mut ways: Vec<Option<usize>> = vec![None; topology.nodes.len()];
    let mut waiting = VecDeque::from([host]);
    while let Some(near) = waiting.pop_front() {
        for &server in topology.leaving(near) {
            let far = topology.servers[server].peer;
            if far == host || topology.nodes[far].is_host() || ways[far].is_some() {
                continue;
            }
            ways[far] = Some(topology.opposite(server));
            waiting.push_back(far);
        }
    }
    ways
}

/// Trunks of one tree per connected part, both directions of each; and all host links.
fn spanning(topology: &Topology<'_>) -> Vec<bool> {
    let mut chosen: Vec<bool> = topology.servers.iter().map(|egress| !egress.is_trunk).collect();
    let mut seen = vec![false; topology.nodes.len()];
    for root in (0..topology.nodes.len()).filter(|&node| !topology.nodes[node].is_host()) {
        let mut waiting = VecDeque::from([root]);
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        while let Some(node) = waiting.pop_front() {
            for &server in topology.leaving(node) {
                let egress = &topology.servers[server];
                if !egress.is_trunk || std::mem::replace(&mut seen[egress.peer], true) {
                    continue;
                }
                chosen[server] = true;
                chosen[topology.opposite(server)] = true;
                waiting.push_back(egress.peer);
            }
        }
    }
    chosen
}

/// Adds the entries and meters of one switch.
pub(crate) fn add(topology: &Topology<'_>, ways: &Ways, node: usize, to: &mut SwitchDeployment) {
    let network = topology.network;
    let OtherTraffic::Carry { priority, .. } = network.other_traffic else { return };
    let metered = add_meters(topology, node, to);
    let addressing = Addressing::new(network);
    for level in 0..levels(network) {
        for flow in 0..network.flows.len() {
            let pretender = addressing.matching(flow);
            to.entries.push(entry(TABLE_POLICE, level, OF_PRETENDERS, pretender));
        }
        for &(port, meter) in &metered {
            let let_in = entry(TABLE_POLICE, level, OF_THE_REST, from(port));
            let (meter, goto) = (Some(meter), Some(TABLE_FORWARD));
            to.entries.push(EntrySpec { meter, goto, ..let_in });
        }
        add_known(topology, ways, node, (level, priority), to);
        add_broadcast(topology, ways, node, (level, priority), to);
    }
}

fn entry(table: u8, level: u8, precedence: u16, matching: MatchSpec) -> EntrySpec {
    EntrySpec {
        table,
        level: Some(level),
        precedence,
        cookie: 0,
        flow: None,
        matching,
        monitor: None,
        meter: None,
        output: None,
        goto: None,
    }
}

fn from(in_port: u32) -> MatchSpec {
    MatchSpec { in_port: Some(in_port), ..MatchSpec::default() }
}

/// A meter for each port that a host is at; port and number.
fn add_meters(topology: &Topology<'_>, node: usize, to: &mut SwitchDeployment) -> Vec<(u32, u32)> {
    let OtherTraffic::Carry { rate_bps, frame_bytes_max, .. } = topology.network.other_traffic
    else {
        return Vec::new();
    };
    let profile = topology.nodes[node].profile;
    let (rate_bps, burst_bytes) = profile.map_or((0, 0), |p| meter(p, rate_bps, frame_bytes_max));
    let mut metered = Vec::new();
    for port in to.ports.iter().filter(|port| port.role == PortRole::Host) {
        let id = next_id(to.meters.len());
        to.meters.push(MeterSpec { id, flow: None, rate_bps, burst_bytes });
        metered.push((port.port, id));
    }
    metered
}

/// Frames to a host of the network take the way to it.
fn add_known(
    topology: &Topology<'_>,
    ways: &Ways,
    node: usize,
    (level, priority): (u8, u8),
    to: &mut SwitchDeployment,
) {
    let addressing = Addressing::new(topology.network);
    let here = topology.nodes[node].network;
    for (host, way) in ways.towards[node].iter().enumerate() {
        let Some(server) = *way else { continue };
        let mac = addressing.host_mac(host, here);
        let matching = MatchSpec { eth_dst: Some(mac), ..MatchSpec::default() };
        let output = output(to, &[topology.servers[server].end.port], priority);
        let known = entry(TABLE_FORWARD, level, OF_THE_REST, matching);
        to.entries.push(EntrySpec { output: Some(output), ..known });
    }
}

/// Broadcasts go along the spanning tree, away from where they came.
fn add_broadcast(
    topology: &Topology<'_>,
    ways: &Ways,
    node: usize,
    (level, priority): (u8, u8),
    to: &mut SwitchDeployment,
) {
    let flooded: Vec<u32> = topology
        .leaving(node)
        .iter()
        .filter(|&&server| ways.spanning[server])
        .map(|&server| topology.servers[server].end.port)
        .collect();
    let ports: Vec<u32> = to.ports.iter().map(|port| port.port).collect();
    for in_port in ports {
        let others: Vec<u32> = flooded.iter().copied().filter(|&port| port != in_port).collect();
        if others.is_empty() || !flooded.contains(&in_port) {
            continue;
        }
        let matching = MatchSpec { eth_dst: Some(BROADCAST), ..from(in_port) };
        let output: OutputSpec = output(to, &others, priority);
        let everywhere = entry(TABLE_FORWARD, level, OF_THE_REST, matching);
        to.entries.push(EntrySpec { output: Some(output), ..everywhere });
    }
}

/// Rate, rounded **down** to the device's step, and a burst of two frames, up.
fn meter(profile: &Profile, rate_bps: u64, frame_bytes_max: u32) -> (u64, u64) {
    let rate_step = profile.meter_rate_step_bps.max(1);
    let two_frames = 2 * u64::from(profile.meter_counts.counted_bytes(frame_bytes_max));
    let burst_bytes = two_frames.next_multiple_of(profile.meter_burst_step_bytes.max(1));
    (rate_bps / rate_step * rate_step, burst_bytes)
}
