//! The same plays where switches take their time: latencies that vary, bytes below the scheduler.

use super::{chain, play_all, star};
use crate::{Method, Network, NodeId, SwitchTiming};

/// Every switch with latencies that vary by twice what a frame takes, and two frames below its scheduler.
fn timed(network: Network) -> Network {
    let timing = SwitchTiming {
        latency_ns_min: 5_000,
        latency_ns_max: 65_000,
        below_scheduler_bytes: 3_076,
    };
    let nodes = (0_u32..).map(NodeId).zip(network.nodes().to_vec());
    let switches = nodes.filter(|(_, node)| node.is_switch);
    switches.into_iter().fold(network, |network, (id, _)| {
        network.with_switch_timing(id, timing).expect("a switch with a latency")
    })
}

#[test]
fn no_frame_is_harmed_in_a_line_of_slow_switches() {
    for method in [Method::Exact, Method::Reserve] {
        play_all(&timed(chain(3, 2, false, 100_000_000)), method, 300..330);
    }
}

#[test]
fn no_frame_is_harmed_in_a_star_of_slow_switches() {
    for method in [Method::Exact, Method::Reserve] {
        play_all(&timed(star(3, 3, 100_000_000)), method, 400..430);
    }
}
