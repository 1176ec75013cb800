//! Servers that serve in any order: bounds against published ones, trajectories and tampering.

use crate::networks;

use networks::any_order::{Ranks, largest_delays};
use networks::random::{Random, Shape, graph};
use networks::seal::{document, is_certified, numbers};
use networks::simulator::{Schedule, share_reached};
use networks::{any_order, certified, interleaved, mesh, ring, unicast, worst_ms};
use serde_json::Value;
use tenuto_bounds::{
    Analysis, Bucket, Effort, Method, Multiplexing, Options, RateLatency, ServerGraph,
};

const PACKET_UBIT: i128 = 100_000_000;
const HORIZON_PS: i128 = 40_000_000_000;

fn worst(graph: &ServerGraph, effort: Effort) -> f64 {
    let options = Options { effort, ..Options::default() };
    worst_ms(&certified(graph, &options).bounds).expect("bounds")
}

/// Small trees, cut early: bursts are claimed where they are cut.
fn cut() -> Options {
    Options { rows_max: 12, ..Options::default() }
}

/// N·T + (Σ (b + r·2T) + b)/(R − 2r): every other flow shares two servers with the one over all,
/// and pays its burst once.
#[test]
fn paying_multiplexing_once_is_the_closed_form() {
    for (size, published) in [(4, 8.847), (6, 14.10), (8, 19.40), (10, 24.72), (12, 30.04)] {
        let graph = any_order(interleaved(size, 80, false));
        let options = Options { effort: Effort::Pmoo, ..Options::default() };
        let analysis = certified(&graph, &options);
        assert_eq!(analysis.bounds[0].method, Method::Pmoo);
        let (n, rate) = (size as f64, 8.0 / 3.0);
        let ms = analysis.bounds[0].delay.expect("a bound").0 as f64 / 1e9;
        let by_hand = n + ((n - 1.0) * (1.0 + 2.0 * rate) + 1.0) / (10.0 - 2.0 * rate);
        assert!((ms - by_hand).abs() < 1e-6, "{size}: {ms} {by_hand}");
        // The published ones are the largest of all flows, with looser bursts inside.
        assert!(worst_ms(&analysis.bounds).expect("bounds") < published, "{size}");
    }
}

#[test]
fn tandems_and_meshes_are_bounded_tighter_than_by_any_peer() {
    for (size, peer) in [(4, 8.847), (6, 14.10), (8, 19.40), (10, 24.72), (12, 30.04)] {
        let ms = worst(&any_order(interleaved(size, 80, false)), Effort::Tight);
        println!("tandem of {size}: {ms:.3} ms, peer {peer}");
        assert!(ms < peer, "{size}: {ms}");
    }
    for (size, peer) in [(5, 7.467), (7, 16.0), (9, 34.7)] {
        let ms = worst(&any_order(mesh(size, 50, false)), Effort::Tight);
        println!("mesh of {size}: {ms:.3} ms, peer {peer}");
        assert!(ms < peer, "{size}: {ms}");
    }
}

/// 1 kb and 1 Mb/s through two servers of 10 Mb/s and 1 ms; beside it the same again. Both see
/// residual rates of 9 Mb/s: 2 ms + (1 kb + 1 Mb/s·2 ms)/9 Mb/s of the other, 1 kb/9 Mb/s.
#[test]
fn two_flows_by_hand() {
    let mut graph = any_order(interleaved(2, 30, false));
    let one = Bucket { burst_ubit: 1_000_000_000, rate_ubps: 1_000_000_000_000 };
    graph.flows = (0..2).map(|flow| unicast(format!("f{flow}"), one, &[0, 1])).collect();
    let analysis = certified(&graph, &Options::default());
    for bound in &analysis.bounds {
        let ps = bound.delay.expect("a bound").0;
        assert!((2_444_444_445..2_444_444_500).contains(&ps), "{ps}");
        assert_eq!(bound.method, Method::Blind);
    }
    // Whole packets of 1 kb: the first server holds one back.
    graph.servers.iter_mut().for_each(|server| server.packet_ubit = 1_000_000_000);
    let analysis = certified(&graph, &Options::default());
    for bound in &analysis.bounds {
        let ps = bound.delay.expect("a bound").0;
        assert!((2_555_555_556..2_555_555_700).contains(&ps), "{ps}");
    }
}

/// Two flows of 1 Mb come over a line of 10 Mb/s, one leaves at the next server, one goes on; of 20 Mb/s, 10
/// are left for a third flow, however much the two have sent: 2·(20·1 ms)/10 + 1 kb/10 Mb/s. One line pays for both
/// flows at both servers, though one of them ends before.
#[test]
fn a_line_bounds_flows_that_part_behind_it() {
    let mut graph = any_order(interleaved(3, 30, false));
    graph.servers[0].line = Some(Bucket { burst_ubit: 0, rate_ubps: 10_000_000_000_000 });
    for server in &mut graph.servers[1..] {
        server.service[0].rate_ubps = 20_000_000_000_000;
    }
    let large = Bucket { burst_ubit: 1_000_000_000_000, rate_ubps: 1_000_000_000_000 };
    let small = Bucket { burst_ubit: 1_000_000_000, rate_ubps: 1_000_000_000_000 };
    graph.flows = vec![
        unicast("third".into(), small, &[1, 2]),
        unicast("leaves".into(), large, &[0, 1]),
        unicast("goes on".into(), large, &[0, 1, 2]),
    ];
    let bound = certified(&graph, &Options::default()).bounds[0].delay.expect("a bound").0;
    assert!((4_100_000_000..4_100_001_000).contains(&bound), "{bound}");
}

/// A server of 10 Mb/s in front of a line, two of 20 Mb/s behind it; three flows over all of them, two of 1 Mb.
fn behind_a_line(line_ubps: i128) -> ServerGraph {
    let mut graph = any_order(interleaved(3, 30, false));
    graph.servers[0].line = Some(Bucket { burst_ubit: 0, rate_ubps: line_ubps });
    for server in &mut graph.servers[1..] {
        server.service[0].rate_ubps = 20_000_000_000_000;
    }
    let large = Bucket { burst_ubit: 1_000_000_000_000, rate_ubps: 1_000_000_000_000 };
    let small = Bucket { burst_ubit: 1_000_000, rate_ubps: 1_000_000_000_000 };
    let flow = |(name, bucket): (&str, Bucket)| unicast(name.into(), bucket, &[0, 1, 2]);
    graph.flows = [("small", small), ("large", large), ("too", large)].map(flow).into();
    graph
}

/// Where all that a server of 10 Mb/s serves goes over a line of 8 it is busy for at most 5 ms: 10·(t - 1 ms) ≤ 8·t. Behind
/// it 20·(t - 2 ms) ≤ 8·t.
#[test]
fn a_line_slower_than_its_server_ends_busy_periods() {
    let bound = |line_ubps: i128| {
        let graph = behind_a_line(line_ubps);
        certified(&graph, &Options::default()).bounds[0].delay.expect("a bound").0
    };
    let slower = bound(8_000_000_000_000);
    assert!((3_000_000_000..8_334_000_000).contains(&slower), "{slower}");
    let as_fast = bound(10_000_000_000_000);
    assert!(as_fast > 200_000_000_000, "{as_fast}");
}

/// Where one pass is the optimum, a solver finds no less: a second, slower piece of each service
/// curve changes nothing but who is asked.
#[test]
fn one_pass_is_the_optimum() {
    let mut random = Random(11);
    for _ in 0..12 {
        let shape = Shape {
            servers: 3 + random.below(4),
            flows: 3 + random.below(6),
            is_cyclic: false,
            multiplexing: Multiplexing::Arbitrary,
            packet_ubit: PACKET_UBIT,
        };
        let mut graph = graph(shape, &mut random);
        graph.servers.iter_mut().for_each(|server| server.line = None);
        graph.flows.iter_mut().for_each(|flow| flow.arrival.truncate(1));
        let by_pass = certified(&graph, &Options::default());
        for server in &mut graph.servers {
            let RateLatency { rate_ubps, latency } = server.service[0];
            server.service.push(RateLatency { rate_ubps: rate_ubps / 2, latency });
        }
        let by_solver = certified(&graph, &Options::default());
        for (pass, solver) in by_pass.bounds.iter().zip(&by_solver.bounds) {
            let (pass, solver) = (pass.delay.expect("a bound").0, solver.delay.expect("one").0);
            assert!((pass - solver).abs() <= pass / 1_000_000, "{pass} {solver}");
        }
    }
}

/// The largest share of any bound that a climb over schedules and ranks reaches.
fn climb(graph: &ServerGraph, analysis: &Analysis, steps: usize, random: &mut Random) -> f64 {
    let fresh = |random: &mut Random| {
        (Schedule::random(graph, HORIZON_PS / 4, random), Ranks::random(graph, random))
    };
    let mut best = fresh(random);
    let mut reached = 0.0_f64;
    for step in 0..steps {
        let (schedule, ranks) = match step % 20 {
            19 => fresh(random),
            even if even % 2 == 0 => (best.0.varied(HORIZON_PS / 4, random), best.1.clone()),
            _ => (best.0.clone(), best.1.varied(random)),
        };
        let seen = largest_delays(graph, (&schedule, &ranks), PACKET_UBIT, HORIZON_PS);
        let share = share_reached((graph, analysis), &seen, &schedule);
        if share > reached {
            (reached, best) = (share, (schedule, ranks));
        }
    }
    reached
}

#[test]
fn no_trajectory_exceeds_a_bound() {
    let mut random = Random(5);
    let (mut linear, mut claims, mut most) = (0, 0, 0.0_f64);
    for round in 0..60 {
        let shape = Shape {
            servers: 3 + random.below(4),
            flows: 2 + random.below(7),
            is_cyclic: round % 6 == 5,
            multiplexing: Multiplexing::Arbitrary,
            packet_ubit: PACKET_UBIT,
        };
        let mut graph = graph(shape, &mut random);
        if round % 3 == 0 {
            // Some servers in order: what they do is one of the orders.
            graph.servers[1].multiplexing = Multiplexing::Fifo;
        }
        let options = if round % 2 == 0 { cut() } else { Options::default() };
        let analysis = certified(&graph, &options);
        most = most.max(climb(&graph, &analysis, 60, &mut random));
        linear += analysis.proofs.linear.iter().flatten().count();
        claims += analysis.proofs.bursts.len();
    }
    println!("{linear} linear proofs, {claims} bursts, at most {most:.3} of a bound reached");
    assert!(linear > 60 && claims > 30, "{linear} {claims}");
    assert!(most > 0.7, "the simulator finds bad cases: {most}");
}

#[test]
fn more_traffic_or_less_service_is_no_better() {
    let mut random = Random(6);
    for _ in 0..10 {
        let shape = Shape {
            servers: 5,
            flows: 6,
            is_cyclic: false,
            multiplexing: Multiplexing::Arbitrary,
            packet_ubit: PACKET_UBIT,
        };
        let graph = graph(shape, &mut random);
        let before = certified(&graph, &Options::default());
        let mut worse = [graph.clone(), graph.clone(), graph.clone()];
        worse[0].flows[0].arrival[0].burst_ubit += PACKET_UBIT;
        worse[1].servers[2].service[0].rate_ubps -= 500_000_000_000;
        worse[2].servers[1].service[0].latency.0 += 100_000_000;
        for worse in &worse {
            let after = certified(worse, &Options::default());
            for (before, after) in before.bounds.iter().zip(&after.bounds) {
                let (Some(before), Some(after)) = (before.delay, after.delay) else { continue };
                assert!(after.0 >= before.0 - before.0 / 1_000_000, "{before:?} {after:?}");
            }
        }
    }
}

#[test]
fn overload_has_no_bound() {
    let mut graph = any_order(interleaved(4, 80, false));
    graph.servers[2].service[0].rate_ubps = graph.servers[2].service[0].rate_ubps * 79 / 100;
    for effort in [Effort::Pmoo, Effort::Blind, Effort::Tight] {
        let analysis = certified(&graph, &Options { effort, ..Options::default() });
        let bounded: Vec<bool> = analysis.bounds.iter().map(|b| b.delay.is_some()).collect();
        assert_eq!(bounded, [false, true, false, false]);
    }
    // Ten servers, every one overloaded by an eighth.
    let analysis = certified(&any_order(interleaved(10, 113, false)), &Options::default());
    assert!(analysis.bounds.iter().skip(2).all(|bound| bound.delay.is_none()));
}

/// Hundreds of flows: as large a part of every tree as fits, and bursts where it is cut.
#[test]
fn large_graphs_are_bounded_and_small_enough_to_check() {
    let mut random = Random(8);
    let shape = Shape {
        servers: 30,
        flows: 120,
        is_cyclic: false,
        multiplexing: Multiplexing::Arbitrary,
        packet_ubit: 0,
    };
    let mut graph = graph(Shape { packet_ubit: PACKET_UBIT, ..shape }, &mut random);
    graph.servers.iter_mut().for_each(|server| server.line = None);
    let analysis = certified(&graph, &Options::default());
    let options = Options { effort: Effort::Pmoo, ..Options::default() };
    let once = certified(&graph, &options);
    assert!(!analysis.proofs.bursts.is_empty(), "trees are cut");
    let mut less = 0;
    for (bound, once) in analysis.bounds.iter().zip(&once.bounds) {
        let (bound, once) = (bound.delay.expect("a bound").0, once.delay.expect("a bound").0);
        assert!(bound <= once + once / 1_000_000, "{bound} {once}");
        less += usize::from(bound < once - once / 100);
    }
    println!("{less} of {} bounds are less by a hundredth or more", analysis.bounds.len());
    assert!(less > 10, "{less}");
}

/// Lines, several pieces, bursts inside, whole packets: every kind of term.
fn documents() -> Vec<Value> {
    let mut shaped = any_order(mesh(5, 50, true));
    for server in &mut shaped.servers {
        server.packet_ubit = PACKET_UBIT;
        server.line = Some(Bucket { burst_ubit: PACKET_UBIT, ..server.line.expect("shaped") });
    }
    let options = Options::default();
    vec![
        document(&shaped, &options),
        document(&behind_a_line(8_000_000_000_000), &options),
        document(&any_order(interleaved(5, 80, false)), &options),
        document(&any_order(interleaved(5, 80, false)), &cut()),
        document(&any_order(ring(3, 30, false)), &options),
        document(&any_order(interleaved(5, 80, true)), &options),
    ]
}

#[test]
fn every_term_of_a_proof_counts() {
    let mut kinds = std::collections::BTreeSet::new();
    for document in documents() {
        assert!(is_certified(&document));
        let proofs = [("bounds", "delay_bound_ps"), ("bursts", "bucket")];
        for (list, claim) in proofs {
            for index in 0..document[list].as_array().map_or(0, Vec::len) {
                let place = format!("/{list}/{index}");
                let entry = document.pointer(&place).expect("it is there");
                let terms = entry["proof"]["terms"].as_array().cloned().unwrap_or_default();
                assert!(!entry[claim].is_null());
                for (at, term) in terms.iter().enumerate() {
                    let (kind, numbers) =
                        term.as_object().and_then(|t| t.iter().next()).expect("a term");
                    kinds.insert(kind.clone());
                    let path = match numbers.as_array() {
                        Some(list) => format!("/{kind}/{}", list.len() - 1),
                        None => format!("/{kind}"),
                    };
                    let path = format!("{place}/proof/terms/{at}{path}");
                    let old = document.pointer(&path).and_then(Value::as_u64).expect("a number");
                    let top = terms_top(&terms);
                    if old < top / 1_000 {
                        continue;
                    }
                    // Multipliers that differ leave something over, which boxes charge.
                    let mut tampered = document.clone();
                    *tampered.pointer_mut(&path).expect("it is there") = (old / 4 * 3).into();
                    assert!(!is_certified(&tampered), "{path}");
                }
            }
        }
    }
    for kind in ["left", "through", "entered", "service", "last", "into", "over"] {
        assert!(kinds.contains(kind), "no {kind} term was tried: {kinds:?}");
    }
}

/// The largest multiplier of some terms.
fn terms_top(terms: &[Value]) -> u64 {
    let last = |term: &Value| {
        let numbers = term.as_object()?.values().next()?.clone();
        numbers.as_array().map_or(Some(numbers.clone()), |list| list.last().cloned())?.as_u64()
    };
    terms.iter().filter_map(last).max().unwrap_or(0)
}

#[test]
fn lower_claims_and_worse_descriptions_are_refused() {
    for document in documents() {
        let mut paths: Vec<(String, u64)> = Vec::new();
        for index in 0..document["server_delays_ps"].as_array().expect("delays").len() {
            paths.push((format!("/server_delays_ps/{index}"), 999));
        }
        for index in 0..document["bounds"].as_array().expect("bounds").len() {
            paths.push((format!("/bounds/{index}/delay_bound_ps"), 999));
        }
        for index in 0..document["bursts"].as_array().expect("bursts").len() {
            paths.push((format!("/bursts/{index}/bucket/burst_ubit"), 999));
            paths.push((format!("/bursts/{index}/bucket/rate_ubps"), 999));
        }
        paths.push(("/description/flows/0/arrival/0/burst_ubit".into(), 1_010));
        paths.push(("/description/flows/0/arrival/0/rate_ubps".into(), 1_010));
        paths.push(("/description/servers/2/service/0/rate_ubps".into(), 990));
        paths.push(("/description/servers/2/service/0/latency_ps".into(), 1_010));
        for (path, per_mille) in paths {
            let mut tampered = document.clone();
            let number = tampered.pointer_mut(&path).expect("it is there");
            *number = (number.as_u64().expect("whole") / 1_000 * per_mille).into();
            assert!(!is_certified(&tampered), "{path}");
        }
    }
}

/// Less than the latencies on the way: whatever a proof says, it is false.
#[test]
fn no_proof_proves_what_is_false() {
    let mut random = Random(9);
    for document in documents() {
        let mut paths = Vec::new();
        numbers(&document["bounds"], "/bounds", &mut paths);
        numbers(&document["bursts"], "/bursts", &mut paths);
        let mut false_claim = document.clone();
        let visits = document["description"]["flows"][0]["visits"].as_array().expect("visits");
        let latencies = 1_000_000_000 * u64::try_from(visits.len()).expect("few");
        false_claim["bounds"][0]["delay_bound_ps"] = (latencies - 1).into();
        for _ in 0..150 {
            let mut tampered = false_claim.clone();
            for _ in 0..=random.below(4) {
                let path = &paths[random.below(paths.len())];
                if path == "/bounds/0/delay_bound_ps" {
                    continue;
                }
                let number = tampered.pointer_mut(path).expect("it is there");
                let old = number.as_u64().unwrap_or(0);
                *number = match random.below(5) {
                    0 => 0.into(),
                    1 => (old / 2).into(),
                    2 => old.saturating_mul(2).into(),
                    3 => old.saturating_add(1).into(),
                    _ => u64::try_from(random.below(8)).expect("small").into(),
                };
            }
            assert!(!is_certified(&tampered));
        }
    }
}
