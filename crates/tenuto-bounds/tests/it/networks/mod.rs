//! Networks of the literature, generated: all servers alike, sizes and loads as parameters.
#![allow(dead_code, reason = "each test file uses some of these")]

pub(crate) mod any_order;
pub(crate) mod random;
pub(crate) mod rtns;
pub(crate) mod seal;
pub(crate) mod simulator;
pub(crate) mod tandems;

use tenuto_bounds::{
    Analysis, Bucket, GraphFlow, GraphServer, GraphTarget, GraphVisit, Multiplexing, Options,
    RateLatency, ServerGraph, analyse,
};
use tenuto_certify::certify_bounds;
use tenuto_units::Picos;

/// 10 Mbit/s in 10⁻⁶ bit/s.
pub(crate) const RATE_UBPS: i128 = 10_000_000_000_000;
const LATENCY: Picos = Picos(1_000_000_000);
const BURST_UBIT: i128 = 1_000_000_000;

pub(crate) fn server(name: String, rate_ubps: i128, line_ubps: Option<i128>) -> GraphServer {
    GraphServer {
        name,
        service: vec![RateLatency { rate_ubps, latency: LATENCY }],
        line: line_ubps.map(|rate_ubps| Bucket { burst_ubit: 0, rate_ubps }),
        multiplexing: Multiplexing::Fifo,
        packet_ubit: 0,
    }
}

/// A flow along `path` to one target at its end.
pub(crate) fn unicast(name: String, arrival: Bucket, path: &[usize]) -> GraphFlow {
    let visit =
        |(index, &server): (usize, &usize)| GraphVisit { server, parent: index.checked_sub(1) };
    GraphFlow {
        targets: vec![GraphTarget {
            name: format!("{name}-end"),
            visit: path.len() - 1,
            deadline: None,
            constant: Picos(0),
        }],
        name,
        is_lossy: false,
        arrival: vec![arrival],
        visits: path.iter().enumerate().map(visit).collect(),
    }
}

fn alike(
    name: &str,
    servers: Vec<GraphServer>,
    paths: &[Vec<usize>],
    rate_ubps: i128,
) -> ServerGraph {
    let arrival = Bucket { burst_ubit: BURST_UBIT, rate_ubps };
    let flow = |(index, path): (usize, &Vec<usize>)| unicast(format!("f{index}"), arrival, path);
    ServerGraph { name: name.into(), servers, flows: paths.iter().enumerate().map(flow).collect() }
}

fn chain(size: usize, shaped: bool) -> Vec<GraphServer> {
    let line = shaped.then_some(RATE_UBPS);
    (0..size).map(|index| server(format!("s{index}"), RATE_UBPS, line)).collect()
}

/// One flow over all of a tandem, one over each pair of neighbours; `percent` of load.
pub(crate) fn interleaved(size: usize, percent: i128, shaped: bool) -> ServerGraph {
    let mut paths = vec![(0..size).collect()];
    paths.extend((1..size).map(|second| vec![second - 1, second]));
    alike("interleaved", chain(size, shaped), &paths, RATE_UBPS * percent / 300)
}

/// From every server of a ring a flow once round.
pub(crate) fn ring(size: usize, percent: i128, shaped: bool) -> ServerGraph {
    let path = |first: usize| (0..size).map(|hop| (first + hop) % size).collect();
    let paths: Vec<Vec<usize>> = (0..size).map(path).collect();
    let rate = RATE_UBPS * percent / (100 * i128::try_from(size).expect("small"));
    alike("ring", chain(size, shaped), &paths, rate)
}

/// Pairs of servers, each flow takes one of each pair, and all meet at the last.
pub(crate) fn mesh(size: usize, percent: i128, shaped: bool) -> ServerGraph {
    let levels = size / 2;
    let mut servers = chain(2 * levels, shaped);
    servers.push(server("last".into(), 2 * RATE_UBPS, shaped.then_some(RATE_UBPS)));
    let path = |choice: usize| {
        let level = |l: usize| 2 * l + (choice >> (levels - 1 - l) & 1);
        (0..levels).map(level).chain([2 * levels]).collect()
    };
    let paths: Vec<Vec<usize>> = (0..1 << levels).map(path).collect();
    alike("mesh", servers, &paths, RATE_UBPS * percent / 100 / (1 << (levels - 1)))
}

/// The largest bound in milliseconds; `None` if one has none.
pub(crate) fn worst_ms(bounds: &[tenuto_bounds::TargetBound]) -> Option<f64> {
    let all: Option<Vec<i128>> = bounds.iter().map(|b| b.delay.map(|d| d.0)).collect();
    all.map(|all| all.into_iter().max().unwrap_or(0) as f64 / 1e9)
}

/// Every server of the graph in any order.
pub(crate) fn any_order(mut graph: ServerGraph) -> ServerGraph {
    graph.servers.iter_mut().for_each(|s| s.multiplexing = Multiplexing::Arbitrary);
    graph
}

/// The analysis, of whose document the checker believes everything.
pub(crate) fn certified(graph: &ServerGraph, options: &Options) -> Analysis {
    let analysis = analyse(graph, options, &mut |_| ());
    let text = serde_json::to_string(&analysis.document(graph)).expect("serialisable");
    if let Err(findings) = certify_bounds(&text) {
        panic!("{} of {}: {}", graph.name, graph.servers.len(), findings[0]);
    }
    analysis
}
