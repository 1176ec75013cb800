//! Bursts around circles: found where few or many dates are needed, with peak rates, and with flows
//! that look alike and are not.

use crate::networks;

use networks::{RATE_UBPS, certified, ring, server, unicast, worst_ms};
use tenuto_bounds::{Analysis, Bucket, Options, ServerGraph};

fn small() -> Options {
    Options { rows_max: 6_000, rows_total_max: 400_000, ..Options::default() }
}

#[test]
fn programs_of_a_moderate_size_find_what_heavy_load_leaves() {
    // 30.938 ms is the polynomial program's bound of another tool, in 2.5 s of processor time.
    let analysis = certified(&ring(10, 80, true), &small());
    let worst = worst_ms(&analysis.bounds).expect("a bound");
    assert!(worst < 20.0, "{worst}");
}

#[test]
fn peak_rates_make_bursts_less() {
    let plain = ring(4, 80, true);
    let mut peaked = plain.clone();
    for flow in &mut peaked.flows {
        let first = flow.arrival[0];
        let (burst_ubit, rate_ubps) = (first.burst_ubit / 4, first.rate_ubps * 5 / 4);
        flow.arrival.push(Bucket { burst_ubit, rate_ubps });
    }
    let (plain, peaked) = (certified(&plain, &small()), certified(&peaked, &small()));
    // A claim per rate.
    assert_eq!(peaked.proofs.bursts.len(), 2 * plain.proofs.bursts.len());
    for (one, two) in plain.bounds.iter().zip(&peaked.bounds) {
        assert!(two.delay < one.delay, "{two:?} {one:?}");
    }
}

#[test]
fn flows_that_look_alike_need_not_be() {
    // Equal servers, equal flows, ways of different lengths: what a tree shows of them is equal at
    // first, what they rest on is not.
    let arrival = Bucket { burst_ubit: 1_000_000_000, rate_ubps: RATE_UBPS / 7 };
    let servers = (0..6).map(|i| server(format!("s{i}"), RATE_UBPS, Some(RATE_UBPS))).collect();
    let lengths = [6, 2, 5, 3, 6, 4];
    let flow = |(first, length): (usize, &usize)| {
        let path: Vec<usize> = (0..*length).map(|hop| (first + hop) % 6).collect();
        unicast(format!("f{first}"), arrival, &path)
    };
    let flows = lengths.iter().enumerate().map(flow).collect();
    let graph = ServerGraph { name: "unlike".into(), servers, flows };
    let analysis = certified(&graph, &small());
    assert!(!analysis.proofs.bursts.is_empty(), "a fixed point is found");
    assert!(analysis.bounds.iter().all(|bound| bound.delay < bound.tfa), "{:?}", analysis.bounds);
}

/// What was proved of bursts says more of a server than total flow analysis does.
#[test]
fn nodes_have_the_delays_that_follow_from_bursts() {
    let Analysis { proofs, .. } = certified(&ring(5, 70, true), &small());
    let nodes = proofs.linear.iter().flatten().flat_map(|proof| &proof.nodes);
    let by_total_flow = |server: usize| proofs.server_delays_ps[server].expect("a delay").0;
    let lower = nodes
        .filter(|node| node.delay_ps.is_some_and(|delay| delay < by_total_flow(node.server)))
        .count();
    assert!(lower > 0, "no delay of a node is lower");
}
