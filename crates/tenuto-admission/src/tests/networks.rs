//! Networks and requests for tests.

use crate::{Network, Node, NodeId, Port, Request};

/// Switches in a line or a ring, hosts at each.
pub(super) fn chain(switches: u32, hosts_per_switch: u32, is_ring: bool, rate_bps: u64) -> Network {
    let last = if is_ring { switches } else { switches - 1 };
    let trunks = (0..last).map(|at| (at, (at + 1) % switches));
    joined(switches, switches, hosts_per_switch, rate_bps, trunks)
}

/// Switches, of which the first few have hosts, and what is between them.
fn joined(
    switches: u32,
    with_hosts: u32,
    hosts_per_switch: u32,
    rate_bps: u64,
    trunks: impl Iterator<Item = (u32, u32)>,
) -> Network {
    let mut nodes: Vec<Node> =
        (0..switches).map(|at| Node { name: format!("s{at}"), is_switch: true }).collect();
    let mut ports = Vec::new();
    let mut join = |a: u32, b: u32, is_host: bool| {
        for (from, to, is_source) in [(a, b, is_host), (b, a, false)] {
            ports.push(Port {
                from: NodeId(from),
                to: NodeId(to),
                rate_bps,
                propagation_ns: 100,
                queues: if is_source { 1 } else { 4 },
                queue_bytes: 12_000,
                blocking_bytes: 1_538,
            });
        }
    };
    trunks.for_each(|(a, b)| join(a, b, false));
    for switch in 0..with_hosts {
        for _ in 0..hosts_per_switch {
            let host = u32::try_from(nodes.len()).expect("small");
            nodes.push(Node { name: format!("h{}", host - switches), is_switch: false });
            join(host, switch, true);
        }
    }
    Network::new(nodes, ports).expect("consistent")
}

/// Switches around one without hosts, hosts at each.
pub(super) fn star(arms: u32, hosts_per_switch: u32, rate_bps: u64) -> Network {
    joined(arms + 1, arms, hosts_per_switch, rate_bps, (0..arms).map(|at| (at, arms)))
}

/// The `n`th host of a network.
pub(super) fn host(network: &Network, n: u32) -> NodeId {
    let switches = network.nodes().iter().filter(|node| node.is_switch).count();
    let hosts = network.nodes().len() - switches;
    let at = switches + usize::try_from(n).expect("small") % hosts;
    NodeId(u32::try_from(at).expect("small"))
}

/// One frame of 306 B at 0.9 Mbit/s.
pub(super) fn request(id: u64, source: NodeId, target: NodeId, deadline_ms: u64) -> Request {
    Request {
        id,
        source,
        targets: vec![target],
        rate_bps: 900_000,
        burst_bits: 306 * 8,
        frame_bits: 306 * 8,
        deadline_ns: deadline_ms * 1_000_000,
    }
}
