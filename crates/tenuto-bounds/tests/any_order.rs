//! Servers that serve in any order: bounds against published ones and other tools, all certified.

mod networks;

use networks::{interleaved, mesh, worst_ms};
use tenuto_bounds::{Analysis, Multiplexing, Options, ServerGraph, analyse};
use tenuto_certify::certify_bounds;

fn certified(graph: &ServerGraph, options: &Options) -> Analysis {
    let analysis = analyse(graph, options, &mut |_| ());
    let text = serde_json::to_string(&analysis.document(graph)).expect("serialisable");
    if let Err(findings) = certify_bounds(&text) {
        panic!("{} of {}: {}", graph.name, graph.servers.len(), findings[0]);
    }
    analysis
}

fn any_order(mut graph: ServerGraph) -> ServerGraph {
    graph.servers.iter_mut().for_each(|s| s.multiplexing = Multiplexing::Arbitrary);
    graph
}

/// Pay multiplexing only once, as another tool has it.
#[test]
fn tandems_and_meshes_are_bounded_no_looser_than_by_peers() {
    for (size, peer) in [(4, 8.847), (6, 14.10), (8, 19.40), (10, 24.72), (12, 30.04)] {
        let graph = any_order(interleaved(size, 80, false));
        let ms = worst_ms(&certified(&graph, &Options::default()).bounds).expect("bounds");
        println!("tandem of {size}: {ms:.3} ms, peer {peer}");
        assert!(ms < peer + 0.005, "{size}: {ms}");
    }
    for (size, peer) in [(5, 7.467), (7, 16.0), (9, 34.7)] {
        let graph = any_order(mesh(size, 50, false));
        let ms = worst_ms(&certified(&graph, &Options::default()).bounds).expect("bounds");
        println!("mesh of {size}: {ms:.3} ms, peer {peer}");
        assert!(ms < peer + 0.05, "{size}: {ms}");
    }
}
