//! No trajectory exceeds a bound, and every bound is certified.

use crate::networks;

use networks::random::{Random, Shape, graph};
use networks::simulator::{Schedule, largest_delays, share_reached};
use networks::{certified, interleaved, mesh, ring};
use tenuto_bounds::{Analysis, Bucket, Multiplexing, Options, ServerGraph};

const PACKET_UBIT: i128 = 100_000_000;
const HORIZON_PS: i128 = 40_000_000_000;

fn small() -> Options {
    Options { rows_max: 1_500, tree_servers_max: 16, ..Options::default() }
}

/// The largest share of any bound that a climb over schedules reaches; never more than one.
fn climb(graph: &ServerGraph, analysis: &Analysis, steps: usize, random: &mut Random) -> f64 {
    let mut best = Schedule::random(graph, HORIZON_PS / 4, random);
    let mut reached = 0.0_f64;
    for step in 0..steps {
        let schedule = if step % 20 == 19 {
            Schedule::random(graph, HORIZON_PS / 4, random)
        } else {
            best.varied(HORIZON_PS / 4, random)
        };
        let seen = largest_delays(graph, &schedule, PACKET_UBIT, HORIZON_PS);
        let share = share_reached((graph, analysis), &seen, &schedule);
        if share > reached {
            (reached, best) = (share, schedule);
        }
    }
    reached
}

/// The fluid model with the packets of the simulator.
fn packetized(mut graph: ServerGraph) -> ServerGraph {
    for server in &mut graph.servers {
        server.packet_ubit = PACKET_UBIT;
        if let Some(line) = &mut server.line {
            *line = Bucket { burst_ubit: PACKET_UBIT, ..*line };
        }
    }
    graph
}

#[test]
fn regular_networks() {
    let mut random = Random(1);
    for graph in [
        interleaved(3, 80, true),
        interleaved(5, 80, true),
        interleaved(4, 80, false),
        mesh(5, 50, true),
        ring(3, 80, true),
        ring(4, 80, true),
    ] {
        let graph = packetized(graph);
        let analysis = certified(&graph, &small());
        let reached = climb(&graph, &analysis, 200, &mut random);
        println!("{} of {}: {reached:.3} of a bound", graph.name, graph.servers.len());
        assert!(reached > 0.6, "the simulator finds bad cases: {reached}");
    }
}

fn random_networks(seed: u64, rounds: usize, is_cyclic: bool, multiplexing: Multiplexing) {
    let mut random = Random(seed);
    let (mut bounded, mut linear) = (0, 0);
    for _ in 0..rounds {
        let shape = Shape {
            servers: 3 + random.below(4),
            flows: 2 + random.below(6),
            is_cyclic,
            multiplexing,
            packet_ubit: PACKET_UBIT,
        };
        let graph = graph(shape, &mut random);
        let analysis = certified(&graph, &small());
        climb(&graph, &analysis, 40, &mut random);
        bounded += analysis.bounds.iter().filter(|bound| bound.delay.is_some()).count();
        linear += analysis.proofs.linear.iter().flatten().count();
    }
    println!("{bounded} bounds, {linear} of them by a linear program");
    assert!(bounded > rounds, "most have bounds: {bounded}");
    assert!(multiplexing == Multiplexing::Arbitrary || linear > rounds / 2, "{linear}");
}

#[test]
fn random_feed_forward_networks() {
    random_networks(2, 40, false, Multiplexing::Fifo);
}

#[test]
fn random_cyclic_networks() {
    random_networks(3, 15, true, Multiplexing::Fifo);
}

#[test]
fn random_networks_in_any_order() {
    random_networks(4, 30, false, Multiplexing::Arbitrary);
}
