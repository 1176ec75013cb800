//! Total flow analysis reproduces figures of three independent tools, and never invents a bound.

use crate::networks;

use networks::{RATE_UBPS, interleaved, mesh, ring, server, unicast, worst_ms};
use tenuto_bounds::{
    Analysis, Bucket, Effort, Multiplexing, Options, RateLatency, ServerGraph, analyse,
    line_loads_ubps,
};
use tenuto_certify::certify_bounds;
use tenuto_units::Picos;

fn tfa(graph: &ServerGraph) -> Analysis {
    let options = Options { effort: Effort::Tfa, ..Options::default() };
    analyse(graph, &options, &mut |_| ())
}

/// The published figure has so many digits; ours has to round to it.
fn assert_rounds_to(graph: &ServerGraph, figure: &str) {
    let ms = worst_ms(&tfa(graph).bounds).expect("a bound");
    let digits = figure.split('.').nth(1).map_or(0, str::len);
    assert_eq!(format!("{ms:.digits$}"), figure, "{} of {}", graph.name, graph.servers.len());
}

#[test]
fn interleaved_tandems() {
    for (size, shaped, unshaped) in [
        (4, "5.659", "9.248"),
        (6, "10.467", "20.31"),
        (8, "17.107", "39.97"),
        (10, "26.276", "74.93"),
        (12, "38.94", "137.1"),
    ] {
        assert_rounds_to(&interleaved(size, 80, true), shaped);
        assert_rounds_to(&interleaved(size, 80, false), unshaped);
    }
    for (size, shaped) in [(16, "80.56"), (20, "159.9"), (30, "830.8"), (40, "4198")] {
        assert_rounds_to(&interleaved(size, 80, true), shaped);
    }
}

#[test]
fn rings() {
    for (size, percent, figure) in [
        (3, 50, "3.943"),
        (3, 70, "5.135"),
        (3, 80, "6.711"),
        (5, 50, "7.000"),
        (5, 70, "11.066"),
        (5, 80, "22.115"),
        (7, 50, "10.123"),
        (10, 50, "14.857"),
        (10, 70, "31.438"),
        (20, 50, "30.769"),
    ] {
        assert_rounds_to(&ring(size, percent, true), figure);
    }
}

#[test]
fn meshes() {
    for (size, shaped, unshaped) in [
        (5, "3.733", "5.70"),
        (7, "6.444", "11.38"),
        (9, "11.570", "23.74"),
        (11, "22.61", "54.0"),
        (13, "48.9", "135.1"),
    ] {
        assert_rounds_to(&mesh(size, 50, true), shaped);
        assert_rounds_to(&mesh(size, 50, false), unshaped);
    }
}

#[test]
fn what_diverges_has_no_bound() {
    for graph in [ring(10, 80, true), ring(10, 50, false)] {
        let analysis = tfa(&graph);
        assert!(analysis.bounds.iter().all(|b| b.delay.is_none()), "{}", graph.name);
        assert!(analysis.proofs.server_delays_ps.iter().all(Option::is_none));
    }
}

#[test]
fn a_diverging_ring_takes_only_its_dependants_along() {
    let mut graph = ring(10, 80, true);
    graph.servers.push(server("apart".into(), RATE_UBPS, None));
    let arrival = Bucket { burst_ubit: 1_000_000_000, rate_ubps: RATE_UBPS / 10 };
    graph.flows.push(unicast("alone".into(), arrival, &[10]));
    let analysis = tfa(&graph);
    let bounded: Vec<usize> =
        analysis.bounds.iter().filter(|b| b.delay.is_some()).map(|b| b.flow).collect();
    assert_eq!(bounded, [10]);
}

#[test]
fn overload_has_no_bound_nor_has_what_comes_after() {
    let mut graph = interleaved(4, 80, true);
    graph.servers[2].service[0].rate_ubps = RATE_UBPS * 79 / 100;
    let analysis = tfa(&graph);
    let bounded: Vec<bool> = analysis.bounds.iter().map(|b| b.delay.is_some()).collect();
    // Only the flow over servers 0 and 1 avoids server 2.
    assert_eq!(bounded, [false, true, false, false]);
}

#[test]
fn a_tree_loads_each_server_once() {
    let mut graph = interleaved(3, 60, false);
    graph.flows.truncate(1);
    let flow = &mut graph.flows[0];
    // After the first server the flow goes to the second and to the third.
    flow.visits[2].parent = Some(0);
    flow.targets[0].visit = 1;
    flow.targets.push(flow.targets[0].clone());
    flow.targets[1].visit = 2;
    let both = tfa(&graph);
    // b/R + T, then (b + r(b/R + T))/R + T: 0.1 + 1 and (1 + 2·1.1)/10 + 1 ms.
    for bound in &both.bounds {
        assert_eq!(bound.delay, Some(Picos(2_420_000_000)));
    }
}

#[test]
fn curves_of_several_pieces_count_all_pieces() {
    let mut graph = interleaved(2, 30, false);
    graph.flows.truncate(1);
    graph.flows[0].visits.truncate(1);
    graph.flows[0].targets[0].visit = 0;
    // min(0.2 kb + 20 Mb/s, 1 kb + 1 Mb/s) meet at 42.1 us with 1.0421 kb; the service is the
    // better of 1 ms + 10 Mb/s and 0.1 ms + 5 Mb/s: 0.1 + 0.20842 − 0.04211 ms.
    let bucket = |kb: i128, mbps: i128| Bucket {
        burst_ubit: kb * 100_000_000,
        rate_ubps: mbps * 1_000_000_000_000,
    };
    graph.flows[0].arrival = vec![bucket(2, 20), bucket(10, 1)];
    let slow = RateLatency { rate_ubps: RATE_UBPS / 2, latency: Picos(100_000_000) };
    graph.servers[0].service.push(slow);
    assert_eq!(tfa(&graph).bounds[0].delay, Some(Picos(266_315_790)));
    // Served in any order: until the queue is empty, 1 kb + 1 Mb/s·t = 5 Mb/s·(t − 0.1 ms).
    graph.servers[0].multiplexing = Multiplexing::Arbitrary;
    assert_eq!(tfa(&graph).bounds[0].delay, Some(Picos(375_000_000)));
}

#[test]
fn what_is_no_graph_is_refused_in_words() {
    let mut graph = interleaved(3, 50, true);
    graph.flows[1].visits[1].server = 7;
    graph.servers[0].service.clear();
    let analysis = tfa(&graph);
    assert_eq!(analysis.faults.len(), 2, "{:?}", analysis.faults);
    assert!(analysis.bounds.iter().all(|b| b.delay.is_none()));
}

/// Two flows of a quarter of a server's rate each go on over a line of less than half of it: whatever the server
/// serves, they wait without end, and so does what shares a server with them from there on.
#[test]
fn a_line_that_carries_less_than_what_comes_has_no_bound() {
    for order in [Multiplexing::Fifo, Multiplexing::Arbitrary] {
        let mut graph = interleaved(4, 75, true);
        graph.servers.iter_mut().for_each(|server| server.multiplexing = order);
        let full = graph.servers[1].service[0].rate_ubps;
        let load = 2 * graph.flows[0].arrival[0].rate_ubps;
        assert_eq!(line_loads_ubps(&graph)[&(1, 2)], load);
        for (line, line_shaping, is_bounded) in
            [(load - 1, true, false), (load, true, true), (full, true, true), (1, false, true)]
        {
            graph.servers[1].line = Some(Bucket { burst_ubit: 0, rate_ubps: line });
            for effort in [Effort::Tfa, Effort::Blind, Effort::Tight] {
                let options = Options { effort, line_shaping, ..Options::default() };
                let analysis = analyse(&graph, &options, &mut |_| ());
                let text = serde_json::to_string(&analysis.document(&graph)).expect("serialisable");
                certify_bounds(&text).expect("certified");
                let bounded: Vec<bool> =
                    analysis.bounds.iter().map(|b| b.delay.is_some()).collect();
                assert_eq!(bounded, [is_bounded; 4], "{line} {order:?} {effort:?}");
            }
        }
    }
}
