//! Lists of our own, seeded: other shapes, mixes and seeds than those of the files.

use super::sizes::{FRAME_BYTES_MAX, burst_and_frame_bits, padded_bps};
use super::{List, Operation};
use crate::failure::Failure;
use tenuto_admission::{Network, Node, NodeId, Port, Request};
use tenuto_units::Xorshift;

const M100: u64 = 100_000_000;
const G1: u64 = 1_000_000_000;
const G10: u64 = 10_000_000_000;
const REQUESTS: u64 = 1_000;
/// Requests of the lists that fill a network before anything is timed, and of the removals and
/// adds that then are.
const REQUESTS_TO_FILL: u64 = 10_500;
const CHANGES: u64 = 1_000;
/// Names, shapes and mixes.
const LISTS: [(&str, Shape, Mix, u64); 15] = [
    ("ring31-100M", Shape::Ring(31, 1), Mix::Wind, M100),
    ("ring12-100M", Shape::Ring(12, 3), Mix::Wind, M100),
    ("ring31-1G", Shape::Ring(31, 1), Mix::Server, G1),
    ("line4-1G", Shape::Line(4, 4), Mix::Server, G1),
    ("line4-100M", Shape::Line(4, 4), Mix::SlowServer, M100),
    ("star-1G", Shape::Star(4, 4), Mix::Plant, G1),
    ("fat-tree-1G", Shape::FatTree, Mix::Plant, G1),
    ("ring20-100M", Shape::Ring(20, 1), Mix::Wind, M100),
    ("line8-1G", Shape::Line(8, 2), Mix::Server, G1),
    ("star3-1G", Shape::Star(3, 7), Mix::Server, G1),
    ("grid16-100M", Shape::Grid(4, 4), Mix::Wind, M100),
    ("fat-tree-1G-tenants", Shape::FatTree, Mix::Tenants, G1),
    ("ring31-10G", Shape::Ring(31, 1), Mix::Wind, G10),
    ("ring31-1G-sensors", Shape::Ring(31, 1), Mix::Sensors, G1),
    ("fat-tree-10G", Shape::FatTree, Mix::Wind, G10),
];

/// Switches, and hosts at each.
#[derive(Clone, Copy)]
enum Shape {
    Ring(u32, u32),
    Line(u32, u32),
    /// Around one switch without hosts.
    Star(u32, u32),
    /// Rows and columns of switches, a host at each.
    Grid(u32, u32),
    /// k = 4: 8 edge, 8 aggregation and 4 core switches, 2 hosts per edge switch.
    FatTree,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mix {
    /// One frame of 306 B at 0.75-1 Mbit/s; 5, 10 or 50 ms.
    Wind,
    /// `Wind` at a tenth of the rate.
    Sensors,
    /// Isochronous, cyclic, alarms, diagnosis, video.
    Plant,
    /// `Plant`, half of it from or to one host.
    Server,
    /// `Server` at a quarter of the rate and four times the deadlines.
    SlowServer,
    /// One to three full frames at 1 to 10 Mbit/s; 2, 5 or 10 ms.
    Tenants,
}

/// `NAME` or `NAME#SEED`.
pub(crate) fn generated(name: &str) -> Result<List, Failure> {
    let (shape_name, seed) = name.split_once('#').unwrap_or((name, "1"));
    let known: Vec<&str> = LISTS.iter().map(|list| list.0).collect();
    let found = LISTS.iter().find(|list| list.0 == shape_name);
    let (Some((_, shape, mix, rate_bps)), Ok(seed)) = (found, seed.parse::<u64>()) else {
        let hint = format!("NAME or NAME#SEED, NAME one of {}", known.join(", "));
        return Err(Failure::input(format!("no list {name:?} is known"), None, Some(&hint)));
    };
    // Ten thousand flows are held before anything is timed.
    let is_large = *rate_bps == G10 || *mix == Mix::Sensors;
    let network = network(*shape, *rate_bps, is_large);
    let nodes = (0_u32..).map(NodeId).zip(network.nodes());
    let hosts: Vec<NodeId> = nodes.filter(|(_, node)| !node.is_switch).map(|(id, _)| id).collect();
    let mut draw = Xorshift::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut ask = |id: u64| Operation::Add(request(id, *mix, &hosts, &mut draw));
    let requests = if is_large { REQUESTS_TO_FILL } else { REQUESTS };
    let mut operations: Vec<Operation> = (0..requests).map(&mut ask).collect();
    let filled = if is_large { operations.len() } else { 0 };
    for change in 0..if is_large { CHANGES } else { 0 } {
        // One of those who asked goes, another one asks.
        operations.push(Operation::Remove(change * 7_919 % REQUESTS_TO_FILL));
        operations.push(ask(REQUESTS_TO_FILL + change));
    }
    let assumed = vec!["switches add no latency".to_owned()];
    Ok(List { name: name.to_owned(), network, operations, filled, assumed })
}

fn network(shape: Shape, rate_bps: u64, is_large: bool) -> Network {
    let (switches, with_hosts, hosts_each, trunks): (u32, u32, u32, Vec<(u32, u32)>) = match shape {
        Shape::Ring(n, hosts) => (n, n, hosts, (0..n).map(|at| (at, (at + 1) % n)).collect()),
        Shape::Line(n, hosts) => (n, n, hosts, (1..n).map(|at| (at - 1, at)).collect()),
        Shape::Star(n, hosts) => (n + 1, n, hosts, (0..n).map(|at| (at, n)).collect()),
        Shape::Grid(rows, columns) => (rows * columns, rows * columns, 1, grid(rows, columns)),
        Shape::FatTree => (20, 8, 2, fat_tree()),
    };
    let is_slow = rate_bps == M100 && !matches!(shape, Shape::Line(..));
    let (queue_bytes, host_queue_bytes) = match (is_large, is_slow) {
        (true, _) => (2_000_000, 4_000_000),
        (false, true) => (12_000, 12_000),
        (false, false) => (30_000, 60_000),
    };
    let mut nodes: Vec<Node> =
        (0..switches).map(|at| Node { name: format!("s{at}"), is_switch: true }).collect();
    let mut ports = Vec::new();
    let mut join = |a: u32, b: u32, is_host: bool| {
        for (from, to, is_source) in [(a, b, is_host), (b, a, false)] {
            ports.push(Port {
                from: NodeId(from),
                to: NodeId(to),
                rate_bps,
                propagation_ns: 0,
                queues: if is_source { 1 } else { 4 },
                queue_bytes: if is_source { host_queue_bytes } else { queue_bytes },
                blocking_bytes: FRAME_BYTES_MAX,
            });
        }
    };
    trunks.iter().for_each(|(a, b)| join(*a, *b, false));
    for (host, switch) in
        (0_u32..).zip((0..with_hosts).flat_map(|s| (0..hosts_each).map(move |_| s)))
    {
        nodes.push(Node { name: format!("h{host}"), is_switch: false });
        join(switches + host, switch, true);
    }
    Network::new(nodes, ports).expect("made to be consistent")
}

fn grid(rows: u32, columns: u32) -> Vec<(u32, u32)> {
    let spots = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let links = spots.flat_map(|(row, column)| {
        let here = row * columns + column;
        let right = (column + 1 < columns).then_some((here, here + 1));
        let below = (row + 1 < rows).then_some((here, here + columns));
        [right, below].into_iter().flatten()
    });
    links.collect()
}

fn fat_tree() -> Vec<(u32, u32)> {
    let pods = (0..4_u32).flat_map(|pod| {
        let inner = (0..4).map(move |at| (pod * 2 + at / 2, 8 + pod * 2 + at % 2));
        inner.chain((0..4).map(move |at| (8 + pod * 2 + at / 2, 16 + at)))
    });
    pods.collect()
}

fn request(id: u64, mix: Mix, hosts: &[NodeId], draw: &mut Xorshift) -> Request {
    let (mut source, mut target) = (draw.one_of(hosts), draw.one_of(hosts));
    if matches!(mix, Mix::Server | Mix::SlowServer) {
        match draw.below(10) {
            0 | 1 => source = hosts[0],
            2..=4 => target = hosts[0],
            _ => {}
        }
    }
    while source == target {
        target = draw.one_of(hosts);
    }
    let (burst_bytes, rate_bps, deadline_ms) = match mix {
        Mix::Wind => (306, 750_000 + draw.below(250_000), draw.one_of(&[5, 10, 50])),
        Mix::Sensors => (306, 75_000 + draw.below(25_000), draw.one_of(&[5, 10, 50])),
        Mix::Plant | Mix::Server => contract(draw),
        Mix::Tenants => {
            let rate_bps = draw.one_of(&[1, 2, 5, 10]) * 1_000_000;
            (1_522 * (1 + draw.below(3)), rate_bps, draw.one_of(&[2, 5, 10]))
        }
        Mix::SlowServer => {
            let (burst, rate, deadline) = contract(draw);
            (burst, rate / 4, deadline * 4)
        }
    };
    let (burst_bits, frame_bits) = burst_and_frame_bits(burst_bytes);
    Request {
        id,
        source,
        targets: vec![target],
        rate_bps: padded_bps(rate_bps, burst_bytes),
        burst_bits,
        frame_bits,
        deadline_ns: deadline_ms * 1_000_000,
    }
}

/// Burst in bytes, rate in bit/s, deadline in ms.
fn contract(draw: &mut Xorshift) -> (u64, u64, u64) {
    match draw.below(100) {
        0..27 => {
            let (bytes, period_ms) = (64 + 8 * draw.below(18), draw.one_of(&[1, 2]));
            (bytes, bytes * 8_000 / period_ms, period_ms)
        }
        27..61 => {
            let (bytes, period_ms) = (100 + 10 * draw.below(91), draw.one_of(&[4, 8, 10, 20]));
            (bytes, bytes * 8_000 / period_ms, period_ms)
        }
        61..76 => {
            (500 + 100 * draw.below(16), 100_000 + 50_000 * draw.below(9), draw.one_of(&[10, 50]))
        }
        76..85 => (1_522, 500_000 + 50_000 * draw.below(30), 100),
        _ => (
            1_522 * (2 + draw.below(5)),
            2_000_000 + 100_000 * draw.below(61),
            draw.one_of(&[20, 40]),
        ),
    }
}
