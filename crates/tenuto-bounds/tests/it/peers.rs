//! Bounds against the best that other tools give, and against published ones; all certified.

use crate::networks;

use networks::{certified, interleaved, mesh, ring, rtns, worst_ms};
use tenuto_bounds::{Effort, Method, Options, ServerGraph};

fn worst(graph: &ServerGraph, options: &Options) -> f64 {
    worst_ms(&certified(graph, options).bounds).expect("a bound")
}

/// The flow over the whole tandem only: it has the largest bound.
fn through(size: usize, shaped: bool) -> ServerGraph {
    let mut graph = interleaved(size, 80, shaped);
    graph.flows.iter_mut().skip(1).for_each(|flow| flow.targets.clear());
    graph
}

/// What lets smaller trees be left out that have no more dates.
#[test]
fn larger_trees_with_the_same_dates_are_not_looser() {
    for graph in [interleaved(6, 80, true), mesh(7, 50, true), mesh(7, 50, false)] {
        let bounds = |tree_servers_max: usize| {
            let options = Options { effort: Effort::Plp, tree_servers_max, ..Options::default() };
            certified(&graph, &options).bounds
        };
        let of_sizes = [2, 4, 6, 8].map(bounds);
        for pair in of_sizes.windows(2) {
            for (small, large) in pair[0].iter().zip(&pair[1]) {
                let (small, large) = (small.delay.expect("a bound"), large.delay.expect("a bound"));
                assert!(large.0 as f64 <= small.0 as f64 * (1.0 + 1e-7), "{}", graph.name);
            }
        }
    }
}

#[test]
fn the_polynomial_program_is_that_of_the_literature() {
    let options = Options { effort: Effort::Plp, ..Options::default() };
    for (size, figure) in [
        (4, "4.628"),
        (6, "7.773"),
        (8, "11.949"),
        (10, "16.847"),
        (12, "21.561"),
        (16, "30.990"),
        (20, "40.418"),
    ] {
        assert_eq!(format!("{:.3}", worst(&through(size, true), &options)), figure, "{size}");
    }
}

#[test]
fn the_exponential_program_is_that_of_the_literature() {
    let options = Options::default();
    for (size, figure) in [(4, "4.514"), (6, "6.797")] {
        let analysis = certified(&through(size, true), &options);
        assert_eq!(analysis.bounds[0].method, Method::Elp);
        let ms = worst_ms(&analysis.bounds).expect("a bound");
        assert_eq!(format!("{ms:.3}"), figure, "{size}");
    }
}

/// The least that any of four other tools gives, in ms.
#[test]
fn interleaved_tandems_are_bounded_tighter_than_by_any_peer() {
    let options = Options::default();
    for (size, peer) in [(4, 4.514), (6, 6.797), (8, 11.457), (12, 18.765), (20, 40.418)] {
        let ms = worst(&through(size, true), &options);
        println!("tandem of {size}: {ms:.3} ms, peers {peer}");
        assert!(ms < peer + 0.0005, "{size}: {ms}");
    }
    // Peers without a result in 90 s, but for 64.86 ms without shaping.
    let ms = worst(&through(30, true), &options);
    println!("tandem of 30: {ms:.3} ms");
    assert!(ms < 64.86, "{ms}");
}

#[test]
fn rings_are_bounded_tighter_than_by_any_peer() {
    let options = Options { rows_max: 8_000, ..Options::default() };
    for (size, percent, peer) in [(3, 50, 3.759), (3, 80, 5.119), (5, 80, 9.817), (10, 80, 30.938)]
    {
        let ms = worst(&ring(size, percent, true), &options);
        println!("ring of {size} at {percent} %: {ms:.3} ms, peers {peer}");
        assert!(ms < peer, "{size} {percent}: {ms}");
    }
}

#[test]
fn meshes_are_bounded_tighter_than_by_any_peer() {
    let options = Options { rows_max: 8_000, ..Options::default() };
    for (size, peer) in [(5, 3.700), (7, 6.249), (9, 10.964)] {
        let ms = worst(&mesh(size, 50, true), &options);
        println!("mesh of {size}: {ms:.3} ms, peers {peer}");
        assert!(ms < peer, "{size}: {ms}");
    }
}

/// FF-LPA, the tightest published method, took up to hours per flow.
#[test]
fn published_networks_are_bounded_as_tightly_as_published() {
    for number in [7, 21, 11, 1, 5, 16, 2] {
        let Some(published) = rtns::load(number) else {
            println!("SKIPPED: the networks of RTNS 2022 are not there (TENUTO_DATA)");
            return;
        };
        let analysis = certified(&published.graph, &Options::default());
        let mut sum = 0.0;
        for (bound, figures) in analysis.bounds.iter().zip(&published.bounds) {
            let seconds = bound.delay.expect("a bound").0 as f64 / 1e12;
            let ratio = seconds / figures["FF_LPA"].as_f64().expect("a figure");
            assert!(ratio < 1.05, "net {number}, flow {}: {ratio}", bound.flow);
            // Lower ones exist, and are proved: server delays cut what unfolding repeats.
            assert!(ratio > 0.99, "net {number}, flow {}: {ratio}", bound.flow);
            sum += ratio;
        }
        let mean = sum / analysis.bounds.len() as f64;
        println!("net {number}: {mean:.5} of FF-LPA over {} flows", analysis.bounds.len());
        assert!(mean < 1.001, "net {number}: {mean}");
    }
}
