//! Schedules of hosts that keep their contracts, worked out by hand: no bound is below what they
//! reach (theory, "What a host may do unseen" and "Staircases").
//!
//! Each network once had a certified bound below its schedule.

use crate::support;

use support::{network, quick};
use tenuto_model::{Network, Size, Transition};
use tenuto_planner::{Curves, Options, plan};

const PS_PER_S: u128 = 1_000_000_000_000;

/// What a line of `rate_bps` takes for so many bits, picoseconds.
fn sending_ps(bits: u64, rate_bps: u64) -> u128 {
    u128::from(bits) * PS_PER_S / u128::from(rate_bps)
}

/// Bits on the wire of a largest message.
fn message_bits(bytes: u32) -> u64 {
    Size::MessageBytes(bytes).frames(false).message_wire_bits
}

/// Bits on the wire of a frame.
fn frame_bits(bytes: u32) -> u64 {
    Size::FrameBytes(bytes).frames(false).message_wire_bits
}

/// The bound of a flow in a mode, by staircases and by buckets, both accepted by the checker.
fn bounds_ps(network: &Network, flow: &str, mode: u8) -> [u128; 2] {
    [Curves::Staircases, Curves::Buckets].map(|curves| {
        let plan = plan(network, &Options { curves, ..quick() });
        let certificate = tenuto_certify::certify(&plan.to_json());
        assert!(certificate.is_ok(), "{:?}", certificate.err());
        let is_meant = |row: &&tenuto_model::FlowBound| {
            row.flow == flow && row.mode == Transition::Steady(mode)
        };
        let row = plan.flows.iter().find(is_meant).expect("a row");
        u128::from(row.delay_bound_ps.expect("a bound"))
    })
}

/// A large frame waits behind a message of its host; the next one is small and waits for nobody, so
/// it comes closer to the large one than a large one could.
#[test]
fn a_small_frame_behind_a_large_one_comes_closer() {
    const HOSTS: u64 = 4;
    const SLOW_BPS: u64 = 100_000_000;
    const FAST_BPS: u64 = 1_000_000_000;
    let (large, small, victim) = (frame_bits(1_400), frame_bits(600), frame_bits(64));
    let held_up = message_bits(9_000) + large;
    // The small frame reaches the fast line while it still sends the large ones.
    let large_ones = sending_ps(large * HOSTS, FAST_BPS);
    let period_ps = sending_ps(held_up, SLOW_BPS) - sending_ps(small, SLOW_BPS) + large_ones / 2;
    let period_ns = period_ps.div_ceil(1_000);
    let mut text = String::from("tenuto: 1\nname: closer\nhosts: [a0, a1, a2, a3, from, to]\n");
    text += "switches: {sw1: {profile: ideal}}\nlinks:\n";
    for host in 0..HOSTS {
        text += &format!("  - {{ends: [a{host}, sw1], rate: 100 Mbit/s}}\n");
    }
    text +=
        "  - {ends: [from, sw1], rate: 1 Gbit/s}\n  - {ends: [to, sw1], rate: 1 Gbit/s}\nflows:\n";
    for host in 0..HOSTS {
        let next = (host + 1) % HOSTS;
        text += &format!(
            "  g{host}: {{source: a{host}, targets: [a{next}], message: 9 kB, period: 100 ms, deadline: 50 ms, priority: 0}}\n  \
               f{host}: {{source: a{host}, targets: [to], frame: 1400 B, period: {period_ns} ns, deadline: 9 ms, priority: 0}}\n"
        );
    }
    text += "  v: {source: from, targets: [to], frame: 64 B, period: 100 ms, deadline: 9 ms, priority: 1}\n";
    let network = network(&text);
    // v comes to the fast line with the large frames, which all come at once.
    let reached = large_ones + sending_ps(small * HOSTS + victim, FAST_BPS);
    for bound in bounds_ps(&network, "v", 0) {
        assert!(bound >= reached, "bound {bound} ps, reached {reached} ps");
    }
}

const TURNING: &str = "\
tenuto: 1
name: turning
modes: [LO, HI]
hosts: [h1, h2, h3, h4, h5]
switches: {sw1: {profile: tenuto}}
links:
  - {ends: [h1, sw1], rate: 100 Mbit/s}
  - {ends: [h2, sw1], rate: 100 Mbit/s}
  - {ends: [h5, sw1], rate: 100 Mbit/s}
  - {ends: [sw1, h3], rate: 100 Mbit/s}
  - {ends: [sw1, h4], rate: 100 Mbit/s}
flows:
  f: {source: h1, targets: [h3], level: HI, message: 13 kB, period: {LO: 10 ms, HI: 2 ms}, deadline: 90 ms, priority: 1}
  g: {source: h1, targets: [h4], level: HI, message: {LO: 1 kB, HI: 96 kB}, period: 100 ms, deadline: 90 ms, priority: 1}
  u: {source: FROM, targets: [h3], level: HI, message: 16 kB, period: 100 ms, deadline: 90 ms, priority: 0}
  v: {source: WATCHED, targets: [h3], level: LO, frame: 64 B, period: 100 ms, deadline: 90 ms, priority: 2}
tolerates: {babbling_hosts: HOSTS, lost_signals: 0}
";

/// What v waits for if f turns to HI: u, and two messages of f that are 2 ms apart, the second of which
/// comes before u and the first are served.
fn turned_ps() -> u128 {
    const RATE_BPS: u64 = 100_000_000;
    let served = message_bits(16_000) + message_bits(13_000);
    assert!(sending_ps(served, RATE_BPS) > 2 * PS_PER_S / 1_000, "the second message is there");
    sending_ps(served + message_bits(13_000) + frame_bits(64), RATE_BPS)
}

/// A monitor bears with a message that comes early, by as much as the way to it may delay: so may a
/// trusted host that turns to its higher contract.
#[test]
fn what_monitors_bear_with_counts_for_trusted_sources() {
    for babbling in ["0", "1"] {
        let text = TURNING.replace("FROM", "h5").replace("WATCHED", "h2");
        let network = network(&text.replace("HOSTS", babbling));
        // v is released when the first frame of u can be at sw1.
        let reached = turned_ps();
        for bound in bounds_ps(&network, "v", 0) {
            assert!(bound >= reached, "bound {bound} ps, reached {reached} ps");
        }
    }
}

/// At the port of its host a flow that turns to its higher contract is in the way of the host's other
/// flows before any switch has seen it.
#[test]
fn a_host_that_turns_delays_its_own_flows() {
    for babbling in ["0", "1"] {
        let text = TURNING.replace("FROM", "h1").replace("WATCHED", "h1");
        let network = network(&text.replace("HOSTS", babbling));
        let reached = turned_ps();
        for bound in bounds_ps(&network, "v", 0) {
            assert!(bound >= reached, "bound {bound} ps, reached {reached} ps");
        }
    }
}
