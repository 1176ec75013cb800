//! The largest delays that a climb over schedules finds in the graph of a bounds document, ps per
//! flow, as JSON: a bound below is wrong, whoever gives it.
//!
//! `cargo run --release -p tenuto-bounds --example reached BOUNDS.json [STEPS]`
//!
//! FIFO servers only. Packets are small, but they are packets: a fluid bound may be below by
//! the `packets_ps` that is printed with each.
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "it reads a file and prints")]

#[path = "../tests/it/networks/mod.rs"]
mod networks;

use networks::random::Random;
use networks::simulator::{Schedule, largest_delays};
use tenuto_bounds::{Document, ServerGraph};

/// Packets of the least burst.
const PACKETS_PER_BURST: i128 = 12;
/// A schedule lasts so many times the largest bound.
const HORIZONS: i128 = 4;
/// Steps after which a climb begins anew.
const CLIMB: usize = 30;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("a bounds document");
    let steps = arguments.next().map_or(200, |text| text.parse().expect("a number of steps"));
    let text = std::fs::read_to_string(&file).expect("it can be read");
    let document: Document = serde_json::from_str(&text).expect("a bounds document");
    let graph = &document.description;
    let largest = document.bounds.iter().filter_map(|bound| bound.delay_bound_ps).max();
    let Some(horizon) = largest.map(|largest| largest.0 * HORIZONS) else { return };
    let seen = climb(graph, horizon, steps);
    let mut rows = serde_json::Map::new();
    for (flow, seen) in graph.flows.iter().zip(seen) {
        let most = seen.into_iter().max().unwrap_or(0);
        let row = serde_json::json!({"reached_ps": most, "packets_ps": in_packets(graph)});
        rows.insert(flow.name.clone(), row);
    }
    println!("{}", serde_json::Value::Object(rows));
}

fn packet_ubit(graph: &ServerGraph) -> i128 {
    let bursts = graph.flows.iter().flat_map(|flow| &flow.arrival).map(|bucket| bucket.burst_ubit);
    (bursts.min().unwrap_or(1) / PACKETS_PER_BURST).max(1)
}

/// One packet of every flow at every server.
fn in_packets(graph: &ServerGraph) -> i128 {
    let packets = packet_ubit(graph) * i128::try_from(graph.flows.len()).expect("few");
    let at = |server: &tenuto_bounds::GraphServer| {
        let rates = server.service.iter().map(|piece| piece.rate_ubps);
        packets * 1_000_000_000_000 / rates.max().unwrap_or(1).max(1)
    };
    graph.servers.iter().map(at).sum()
}

/// The largest delays of all schedules; each flow in turn is what the climb is for.
fn climb(graph: &ServerGraph, horizon_ps: i128, steps: usize) -> Vec<Vec<i128>> {
    let mut random = Random(1);
    let packet = packet_ubit(graph);
    let mut largest: Vec<Vec<i128>> =
        graph.flows.iter().map(|flow| vec![0; flow.targets.len()]).collect();
    let mut best = Schedule::random(graph, horizon_ps / 8, &mut random);
    let mut height = 0;
    for step in 0..steps {
        let wanted = (step / CLIMB) % graph.flows.len().max(1);
        let schedule = if step % CLIMB == 0 {
            height = 0;
            Schedule::random(graph, horizon_ps / 8, &mut random)
        } else {
            best.varied(horizon_ps / 8, &mut random)
        };
        let seen = largest_delays(graph, &schedule, packet, horizon_ps);
        let now = seen[wanted].iter().copied().max().unwrap_or(0);
        if now >= height {
            (height, best) = (now, schedule);
        }
        for (old, new) in largest.iter_mut().flatten().zip(seen.into_iter().flatten()) {
            *old = new.max(*old);
        }
    }
    largest
}
