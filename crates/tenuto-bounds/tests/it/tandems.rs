//! Networks of many flows beside SFA-FIFO and LUDB, computed from their definitions; all certified.

use crate::networks;

use networks::random::Random;
use networks::tandems::Tandems;
use networks::{certified, rtns, server, unicast};
use tenuto_bounds::{Bucket, Options, RateLatency, ServerGraph, TargetBound};
use tenuto_units::Picos;

/// How far figures in floating point may be off.
const ROUNDING: f64 = 1e-6;

/// Layers of servers, flows from one to the next over some of them, servers loaded to 90 %.
fn layered(layers: usize, width: usize, flows: usize, seed: u64) -> ServerGraph {
    let mut random = Random(seed);
    let mut graph = ServerGraph { name: format!("layered-{seed}"), ..ServerGraph::default() };
    for index in 0..layers * width {
        graph.servers.push(server(format!("s{index}"), 0, None));
    }
    let mut loads = vec![0_i128; layers * width];
    let bucket = Bucket { burst_ubit: 1_000_000_000, rate_ubps: 1_000_000_000_000 };
    for index in 0..flows {
        let first = random.below(layers - 1);
        let last = first + 1 + random.below(layers - first - 1);
        let path: Vec<usize> =
            (first..=last).map(|layer| layer * width + random.below(width)).collect();
        path.iter().for_each(|&server| loads[server] += bucket.rate_ubps);
        graph.flows.push(unicast(format!("f{index}"), bucket, &path));
    }
    for (server, load) in graph.servers.iter_mut().zip(loads) {
        let rate_ubps = load.max(bucket.rate_ubps) * 10 / 9;
        server.service = vec![RateLatency { rate_ubps, latency: Picos(10_000_000) }];
    }
    graph
}

fn seconds(bound: &TargetBound) -> f64 {
    bound.delay.expect("a bound").0 as f64 / 1e12
}

/// The largest quotients of our bounds and those of SFA-FIFO and LUDB.
fn quotients(graph: &ServerGraph, options: &Options) -> (f64, f64) {
    let mut tandems = Tandems::new(graph);
    let (mut by_sfa, mut by_ludb) = (0.0_f64, 0.0_f64);
    for bound in certified(graph, options).bounds {
        by_sfa = by_sfa.max(seconds(&bound) / tandems.sfa_fifo(bound.flow));
        by_ludb = by_ludb.max(seconds(&bound) / tandems.ludb(bound.flow));
    }
    (by_sfa, by_ludb)
}

/// Figures of SFA-FIFO are those that were published; the search of θ ends close above LUDB.
#[test]
fn tandems_are_bounded_as_published() {
    for number in [7, 21, 11, 1, 5] {
        let Some(published) = rtns::load(number) else {
            println!("SKIPPED: the networks of RTNS 2022 are not there (TENUTO_DATA)");
            return;
        };
        let mut tandems = Tandems::new(&published.graph);
        for (flow, figures) in published.bounds.iter().enumerate() {
            let of = |method: &str| figures[method].as_f64().expect("a figure");
            let (sfa, ludb) = (tandems.sfa_fifo(flow), tandems.ludb(flow));
            println!(
                "net {number}, flow {flow}: SFA {:.6}, LUDB {:.6}",
                sfa / of("SFA_FIFO"),
                ludb / of("LUDB_FF")
            );
            assert!((sfa / of("SFA_FIFO") - 1.0).abs() < ROUNDING, "net {number}, flow {flow}");
            assert!((0.99..1.2).contains(&(ludb / of("LUDB_FF"))), "net {number}, flow {flow}");
        }
    }
}

/// So many ways that each has a small share of all inequalities: none is above a peer for that.
#[test]
fn shares_of_effort_do_not_lift_bounds_above_those_of_tandems() {
    for seed in [1, 2] {
        let graph = layered(5, 3, 110, seed);
        let options = Options { rows_max: 1_000, rows_total_max: 40_000, ..Options::default() };
        let (by_sfa, by_ludb) = quotients(&graph, &options);
        println!("{}: {by_sfa:.4} of SFA-FIFO, {by_ludb:.4} of LUDB", graph.name);
        assert!(by_sfa <= 1.0 + ROUNDING, "{}: {by_sfa} of SFA-FIFO", graph.name);
        assert!(by_ludb <= 1.0 + ROUNDING, "{}: {by_ludb} of LUDB", graph.name);
    }
}
