//! Lines of all rates in one network, in virtual time: nothing takes longer than its bound, though
//! a bound counts on what slow lines have spread before (theory, "Lines farther back").

#[path = "../../../tenuto-planner/tests/rates/networks.rs"]
mod networks;
use crate::support;

use networks::{network, rates};
use tenuto_model::{Event, EventAction, Expect, Network, Offsets, Plan, Scenario, Sizes, Traffic};
use tenuto_planner::{Curves, Options, plan};
use tenuto_units::Draws;
use tenuto_world::{FlowRow, clockwork};

const MS: u64 = 1_000_000;

fn planned(network: &Network, curves: Curves) -> Plan {
    plan(network, &Options { curves, would_fit: false, ..Options::default() })
}

/// All flows start within a moment of each other; those that are watched follow higher contracts
/// for a while.
fn scenario(network: &Network, seed: u64) -> Scenario {
    let mut draw = Draws::new(seed);
    let traffic = Traffic { offsets: Offsets::Zero, sizes: Sizes::Largest };
    let mut run =
        Scenario { traffic, expect: Expect::default(), ..Scenario::plain(1_200 * MS, seed) };
    let at = |at_ns: u64, action: EventAction| Event { at_ns, action, note: None };
    let span = draw.one_of(&[1_000, 300_000, 4 * MS, 20 * MS]);
    for flow in &network.flows {
        let name = || flow.name.clone();
        run.events.push(at(0, EventAction::StopFlow { flow: name() }));
        run.events.push(at(40 * MS + draw.below(span), EventAction::StartFlow { flow: name() }));
        if flow.is_watched() {
            let (up, down) = (300 * MS + draw.below(40 * MS), 600 * MS + draw.below(40 * MS));
            run.events.push(at(up, EventAction::Behave { flow: name(), mode: flow.level }));
            run.events.push(at(down, EventAction::Behave { flow: name(), mode: 0 }));
        }
    }
    run.events.sort_by_key(|event| event.at_ns);
    run
}

/// The largest share of its bound that any row reached, in percent, over so many runs.
fn closest(plan: &Plan, runs: std::ops::Range<u64>, words: &str) -> u64 {
    let mut closest = 0;
    for seed in runs {
        let run = clockwork::run(plan, &scenario(&plan.network, seed)).expect("a run");
        for row in &run.flows {
            let FlowRow { delay_bound_ns, observed_delay_ns_max, .. } = row;
            let Some((observed, bound)) = observed_delay_ns_max.zip(*delay_bound_ns) else {
                continue;
            };
            assert!(observed <= bound, "{words}, run {seed}: {row:?}");
            closest = closest.max(observed * 100 / bound.max(1));
        }
    }
    closest
}

#[test]
fn nothing_takes_longer_over_lines_of_all_rates() {
    let (mut mixed, mut near) = (0, 0);
    for seed in 0..120 {
        let network = network(seed);
        let curves = if seed % 4 == 3 { Curves::Staircases } else { Curves::Buckets };
        let plan = planned(&network, curves);
        let reached = closest(&plan, seed * 4..seed * 4 + 4, &format!("network {seed}"));
        mixed += usize::from(rates(&network) > 1);
        near += usize::from(reached >= 80);
    }
    println!("{mixed} networks of several rates, {near} near their bounds");
    assert!(mixed >= 100 && near >= 30, "{mixed} {near}");
}

/// What 10 Mbit/s has spread is bunched again by a burst above it on the fast line behind; `near` meets
/// the bunch in front of the slow line to d.
const BUNCHED: &str = "\
tenuto: 1
name: bunched
hosts: [a, b, c, d, e]
switches: {s1: {profile: ideal}, s2: {profile: ideal}}
links:
  - {ends: [a, s1], rate: 10 Mbit/s}
  - {ends: [b, s1], rate: 1 Gbit/s}
  - {ends: [s1, s2], rate: 1 Gbit/s}
  - {ends: [c, s2], rate: 1 Gbit/s}
  - {ends: [d, s2], rate: 20 Mbit/s}
  - {ends: [e, s2], rate: 1 Gbit/s}
flows:
  slow: {source: a, targets: [d], message: 14600 B, period: 40 ms, deadline: 1 s, priority: 1}
  above: {source: b, targets: [e], message: 900 kB, period: 40 ms, deadline: 1 s, priority: 0}
  near: {source: c, targets: [d], frame: 1518 B, period: 40 ms, deadline: 1 s, priority: 1}
";

#[test]
fn what_is_bunched_behind_a_slow_line_is_counted_as_such() {
    let plan = planned(&support::network(BUNCHED), Curves::Buckets);
    let mut run = scenario(&plan.network, 1);
    let start = |flow: &str, at_ns: u64| Event {
        at_ns,
        action: EventAction::StartFlow { flow: flow.into() },
        note: None,
    };
    run.events.retain(|event| matches!(event.action, EventAction::StopFlow { .. }));
    // The message of `slow` takes 12.3 ms on its line, that of `above` 7.6 ms on its own and on the next:
    // when it ends, six frames of `slow` wait for it, and are at s2 0.1 ms later.
    let begin = 40 * MS;
    run.events.push(start("slow", begin));
    run.events.push(start("above", begin + 1_300_000));
    run.events.push(start("near", begin + 9_100_000));
    run.events.sort_by_key(|event| event.at_ns);
    let run = clockwork::run(&plan, &run).expect("a run");
    let row = run.flows.iter().find(|row| row.flow == "near").expect("a row");
    let (seen, bound) = (row.observed_delay_ns_max.expect("it came"), row.delay_bound_ns);
    let bound = bound.expect("a bound");
    println!("near: {seen} of {bound} ns");
    // Had the line of `slow` bound what comes as if nothing had bunched it, two frames of 615 us at
    // 20 Mbit/s and 12 us on the line of `near` would have been the bound.
    assert!(seen > 2_500_000 && seen <= bound, "{seen} {bound}");
}
