//! Trajectories that exceed what peers give as a bound: where ours is the larger, theirs is none.

use crate::networks;

use networks::simulator::{Schedule, largest_delays};
use networks::unicast;
use num_traits::ToPrimitive;
use tenuto_bounds::{
    Analysis, Bucket, GraphServer, Multiplexing, Options, RateLatency, ServerGraph, analyse,
};
use tenuto_units::Picos;

const MEGA: f64 = 1e12;
const MICROSECOND_PS: f64 = 1e6;

fn whole(value: f64) -> i128 {
    value.to_i128().expect("in range")
}

fn server((name, latency_us, rate_mbps): (&str, f64, f64)) -> GraphServer {
    let rate_ubps = whole(rate_mbps * MEGA);
    GraphServer {
        name: name.into(),
        service: vec![RateLatency {
            rate_ubps,
            latency: Picos(whole(latency_us * MICROSECOND_PS)),
        }],
        line: Some(Bucket { burst_ubit: 0, rate_ubps }),
        multiplexing: Multiplexing::Fifo,
        packet_ubit: 0,
    }
}

/// Three buckets: the first as given, in B and Mb/s, each other of 0.3 times the burst and twice the rate.
fn buckets(burst_bytes: f64, rate_mbps: f64) -> Vec<Bucket> {
    let bucket = |k: i32| Bucket {
        burst_ubit: whole(burst_bytes * 0.3_f64.powi(k) * 8e6),
        rate_ubps: whole(rate_mbps * 2.0_f64.powi(k) * MEGA),
    };
    (0..3).map(bucket).collect()
}

/// Servers by name, latency (us) and rate (Mb/s); flows of three buckets over them.
fn graph(name: &str, servers: &[(&str, f64, f64)], flows: &[(f64, f64, &[usize])]) -> ServerGraph {
    let flow = |(index, &(burst, rate, path)): (usize, &(f64, f64, &[usize]))| {
        let arrival = buckets(burst, rate);
        let mut flow = unicast(format!("f{index}"), arrival[0], path);
        flow.arrival = arrival;
        flow
    };
    ServerGraph {
        name: name.into(),
        servers: servers.iter().copied().map(server).collect(),
        flows: flows.iter().enumerate().map(flow).collect(),
    }
}

/// Four flows of three buckets; the peak rates of any two that share a server exceed it.
fn peak_rates() -> ServerGraph {
    let servers = [
        ("s0", 48.9786, 33.3519),
        ("s1", 23.1024, 20.2828),
        ("s2", 48.5166, 27.9596),
        ("s3", 13.0981, 28.9529),
        ("s4", 18.0668, 37.9730),
    ];
    let flows: [(f64, f64, &[usize]); 4] = [
        (3614.949, 4.3899, &[2]),
        (3379.950, 4.4211, &[2, 3, 4]),
        (3991.189, 5.5138, &[1, 2, 3, 4]),
        (873.611, 3.5166, &[0, 1, 2, 3, 4]),
    ];
    graph("peak rates", &servers, &flows)
}

/// f0 crosses s2 only. It and f1 send all they may from one instant on, the others nothing, and s2
/// uses up its latency. When f0's second bucket takes over, 691.7 us later, f0 has brought 14.75 kb and
/// f1 14.23 kb: (14.75 + 14.23) kb/27.96 Mb/s + 48.5 us - 691.7 us = 393 us.
#[test]
fn peak_rates_above_a_server_are_beyond_three_peers() {
    let graph = peak_rates();
    let Analysis { bounds, .. } = analyse(&graph, &Options::default(), &mut |_| ());
    let bound_us = bounds[0].delay.expect("a bound").0 as f64 / MICROSECOND_PS;
    let packet_ubit = 80_000_000;
    let horizon_ps = 10_000_000_000;
    let never = horizon_ps * 10;
    let schedule = Schedule {
        bursts_ps: vec![vec![0], vec![0], vec![never], vec![never]],
        is_lazy: vec![true; graph.servers.len()],
    };
    let reached_ps = largest_delays(&graph, &schedule, packet_ubit, horizon_ps)[0][0];
    // A packet of each of the two flows counts as a whole where bits would flow.
    let packets_us = 2.0 * 80.0 / 27.9596;
    let reached_us = reached_ps as f64 / MICROSECOND_PS - packets_us;
    println!("reached {reached_us:.1} us, bound {bound_us:.1} us");
    for (peer, their_us) in [("DNC TFA", 367.542), ("panco SFA", 337.151), ("panco PLP", 312.17)] {
        assert!(reached_us > their_us, "{peer}: {reached_us}");
    }
    assert!(reached_us <= bound_us, "{reached_us} {bound_us}");
}

/// Five flows of three buckets over FIFO servers, of which f2's bound by DNC's total flow analysis
/// is exceeded by far.
fn peaks_that_meet() -> ServerGraph {
    let servers = [
        ("s0", 44.8083, 26.0560),
        ("s1", 29.0137, 24.5922),
        ("s2", 8.6946, 24.8152),
        ("s3", 7.8021, 34.8529),
        ("s4", 26.6498, 25.6644),
        ("s5", 36.9007, 31.9812),
        ("s6", 38.0909, 33.4504),
        ("s7", 45.7244, 38.1825),
    ];
    let flows: [(f64, f64, &[usize]); 5] = [
        (2730.7, 7.6208, &[2, 5, 7]),
        (2962.2, 6.3780, &[0, 1, 4, 5]),
        (3129.3, 6.6484, &[0, 3, 5]),
        (786.5, 5.8223, &[1, 5, 6, 7]),
        (771.5, 5.8656, &[0, 3, 4, 7]),
    ];
    graph("peaks that meet", &servers, &flows)
}

/// f1, f2 and f4 send all they may from one instant on: 2599 us later they have brought 104.1 kb to s0, which takes
/// 104.1 kb/26.06 Mb/s + 44.8 us - 2599 us = 1439 us for it. f0 and f3 begin so that they meet f2 at s5 with all theirs.
#[test]
fn peaks_that_meet_are_beyond_a_peer() {
    let graph = peaks_that_meet();
    let Analysis { bounds, .. } = analyse(&graph, &Options::default(), &mut |_| ());
    let bound_us = bounds[2].delay.expect("a bound").0 as f64 / MICROSECOND_PS;
    let (packet_ubit, horizon_ps) = (80_000_000, 20_000_000_000);
    let us = |value: i128| vec![value * 1_000_000];
    let schedule = Schedule {
        bursts_ps: vec![us(156), us(10), us(11), us(150), us(10)],
        is_lazy: vec![true; graph.servers.len()],
    };
    let reached_ps = largest_delays(&graph, &schedule, packet_ubit, horizon_ps)[2][0];
    // A packet of each flow at each server counts as a whole where bits would flow.
    let packets_us = 80.0 * (3.0 / 26.056 + 2.0 / 34.853 + 4.0 / 31.981);
    let reached_us = reached_ps as f64 / MICROSECOND_PS - packets_us;
    println!("reached {reached_us:.1} us, bound {bound_us:.1} us");
    assert!(reached_us > 1605.0, "DNC's total flow analysis: {reached_us}");
    assert!(reached_us <= bound_us, "{reached_us} {bound_us}");
}
