//! Changes of mode by a controller, in the world of the switches that change by themselves.

use crate::support;

use tenuto_model::Plan;
use tenuto_planner::{Options, plan};
use tenuto_units::Span;
use tenuto_world::clockwork::{ControlCosts, ControlledChange, controlled_changes};

const COSTS: ControlCosts = ControlCosts {
    making: Span::from_us(1),
    carrying_out: Span::from_us(4),
    waiting: Span::ZERO,
    line_bps: 1_000_000_000,
};

/// Two switches in a row; the trigger and `rules` flows more, and a crowd of low level.
fn planned(rules: usize) -> Plan {
    let mut text = String::from(
        "tenuto: 1\nname: controlled\nmodes: [LO, HI]\nhosts: {h1: {}, h2: {}, a1: {}, a2: {}}\n\
         switches: {w1: {profile: tenuto}, w2: {profile: tenuto}}\n\
         controllers: {c1: {manages: all}}\n\
         defaults: {link: {rate: 100 Mbit/s, length: 2 m}, flow: {match: five-tuple}}\n\
         links:\n  - {ends: [h1, w1]}\n  - {ends: [a1, w1]}\n  - {ends: [a2, w1]}\n  \
         - {ends: [w1, w2]}\n  - {ends: [h2, w2]}\n\
         flows:\n  t: {source: h1, targets: [h2], level: HI, message: 100 B, \
         period: {LO: 10 ms, HI: 1 ms}, priority: 0}\n",
    );
    for n in 0..rules {
        text.push_str(&format!(
            "  f{n}: {{source: h1, targets: [h2], level: HI, message: 100 B, period: 500 ms, \
             priority: 1}}\n"
        ));
    }
    for n in 1..=2 {
        text.push_str(&format!(
            "  b{n}: {{source: a{n}, targets: [h2], level: LO, message: 60 kB, period: 20 ms, \
             priority: 2, out_of_mode: drop}}\n"
        ));
    }
    text.push_str("mode_return: {quiet: 300 ms}\n");
    let plan = plan(&support::network(&text), &Options::default());
    assert!(plan.feasible, "{:?}", plan.refusals.first());
    plan
}

fn changes(rules: usize, costs: ControlCosts) -> Vec<ControlledChange> {
    let times = (20, Span::from_ms(200), Span::from_ms(5));
    let found = controlled_changes(&planned(rules), "t", times, costs, &mut |_| {});
    found.expect("the controller brings both switches up and changes them")
}

#[test]
fn a_change_by_a_controller_takes_the_channel_twice_to_be_in_effect_and_thrice_to_be_known() {
    let found = changes(1, COSTS);
    assert_eq!(found.len(), 20);
    for change in &found {
        assert!(change.in_effect >= Span::from_us(1_000), "{change:?}");
        assert!(change.in_effect < Span::from_us(1_500), "{change:?}");
        assert!(change.confirmed >= change.in_effect + Span::from_us(500), "{change:?}");
        assert!(change.drained >= change.in_effect, "{change:?}");
    }
}

#[test]
fn what_was_queued_for_the_old_mode_is_waited_for() {
    let found = changes(1, COSTS);
    let crowded: Vec<_> = found.iter().filter(|change| change.out_of_mode > 20).collect();
    assert!(!crowded.is_empty(), "the crowd fills a queue at some phase: {found:?}");
    // Twenty frames of a crowd take 2.4 ms at 100 Mbit/s.
    let drains = |c: &&ControlledChange| c.drained >= c.in_effect + Span::from_ms(2);
    assert!(crowded.iter().all(drains), "{crowded:?}");
}

#[test]
fn every_rule_takes_its_time() {
    let median = |mut found: Vec<ControlledChange>| {
        found.sort_by_key(|change| change.in_effect);
        found[found.len() / 2].in_effect
    };
    let slow = ControlCosts { carrying_out: Span::from_us(400), ..COSTS };
    let (few, many) = (median(changes(1, COSTS)), median(changes(50, COSTS)));
    // Fifty more entries in a table of the second switch, 4 us each; and on the line before them.
    assert!(many >= few + Span::from_us(200), "{few:?}, {many:?}");
    assert!(median(changes(50, slow)) >= Span::from_ms(20));
}
