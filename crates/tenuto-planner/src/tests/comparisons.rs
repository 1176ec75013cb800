//! Silo and QJump on the two switches and four hosts of [Loko] section 2.3.

use super::builder::{contract, flow, links, network};
use crate::comparison::networks::{qjump, silo};
use tenuto_model::{Network, Size};

const FRAME: u32 = 306;

/// Each host sends to its counterpart at the other switch; `profile` with 17 entries.
fn two_switches(line_bps: u64, period_ns: u64) -> Network {
    let mut it = network(&["h1", "h2", "h3", "h4"], &["sw1", "sw2"], "zodiac-fx");
    it.profiles.get_mut("zodiac-fx").expect("just put there").entries_max = 17;
    links(&mut it, &[("h1", "sw1"), ("h2", "sw1"), ("h3", "sw2"), ("h4", "sw2"), ("sw1", "sw2")]);
    it.links.iter_mut().for_each(|link| link.rate_bps = line_bps);
    for (name, from, to) in
        [("a", "h1", "h3"), ("b", "h2", "h4"), ("c", "h3", "h1"), ("d", "h4", "h2")]
    {
        let sent = contract(Size::FrameBytes(FRAME), period_ns, 0);
        it.flows.push(flow(name, from, &[to], sent));
    }
    it
}

/// Equations 13 to 20, as printed: three digits.
#[test]
fn silo_promises_what_appendix_a_prints() {
    for (line_bps, period_ns, capacity, promise, trunk, host) in [
        (100_000_000, 54_400, 73.4, 146.9, 49.0, 57.5),
        (1_000_000_000, 5_440, 7.34, 14.7, 4.90, 5.75),
    ] {
        let found = silo(&two_switches(line_bps, period_ns)).expect("it has a buffer");
        let digits = |ps: u64, printed: f64| {
            let us = f64::from(u32::try_from(ps).expect("small")) / 1e6;
            assert!((us - printed).abs() <= printed * 0.001 + 0.005, "{us} for {printed}");
        };
        assert_eq!(found.ports.len(), 6, "three egresses per switch");
        for port in &found.ports {
            digits(port.capacity_ps, capacity);
            let is_trunk = port.label.ends_with("sw1") || port.label.ends_with("sw2");
            digits(port.bound_ps, if is_trunk { trunk } else { host });
        }
        for flow in &found.flows {
            digits(flow.promise_ps.expect("all four are admitted"), promise);
        }
        assert_eq!(found.unfit_switches, ["sw1", "sw2"]);
    }
}

#[test]
fn silo_refuses_what_exceeds_a_queue() {
    let mut crowded = two_switches(100_000_000, 54_400);
    let sent = contract(Size::FrameBytes(FRAME), 54_400, 0);
    for (name, from) in [("e", "h1"), ("f", "h2")] {
        crowded.flows.push(flow(name, from, &["h3"], sent));
    }
    let found = silo(&crowded).expect("it has a buffer");
    let refused: Vec<_> = found.flows.iter().filter(|flow| flow.promise_ps.is_none()).collect();
    assert_eq!(refused.len(), 2, "90 of 100 Mbit/s are taken");
    assert!(refused.iter().all(|flow| flow.refusal.as_deref().is_some_and(|it| it.contains("sw"))));
}

#[test]
fn qjump_promises_one_epoch_to_all() {
    // 2 x 4 x 306 B at 100 Mbit/s are 195.84 us; the two traversals come on top.
    let found = qjump(&two_switches(100_000_000, 1_000_000));
    let promise = found.flows[0].promise_ps.expect("one frame per millisecond is little");
    assert!(found.flows.iter().all(|flow| flow.promise_ps == Some(promise)));
    let traversals_us =
        (f64::from(u32::try_from(promise / 1_000).expect("small")) - 195_840.0) / 1e3;
    // Section 6 measures 257 us for one.
    assert!((traversals_us / 2.0 - 257.0).abs() < 6.0, "{traversals_us}");
    let fast = qjump(&two_switches(100_000_000, 54_400));
    assert!(fast.flows.iter().all(|flow| flow.promise_ps.is_none()), "45 Mbit/s are too much");
}
