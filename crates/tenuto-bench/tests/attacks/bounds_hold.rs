//! Certified bounds of drawn networks, and of those that aimed play knows, hold against play.

use crate::common;
use tenuto_bench::campaign::{Effort, Planning, Report};
use tenuto_bench::draw;
use tenuto_planner::Curves;
use tenuto_units::Draws;

/// Networks of the gate.
const NETWORKS: u64 = 120;
const EFFORT: Effort = Effort { rows: 10, constructions: 6, changes: 40 };

#[test]
fn certified_bounds_hold_against_aimed_play() {
    let mut report = Report::default();
    for seed in 0..NETWORKS {
        let text = draw::network(seed).text;
        let network = common::network(&text);
        report.attack((&network.name, &text), &network, EFFORT, seed);
    }
    println!("{report}");
    assert!(report.attacked > NETWORKS / 2, "too few networks are planned: {report}");
    let broken: Vec<String> = report
        .findings
        .iter()
        .map(|it| format!("{}: {} ({} above {})", it.network, it.what, it.seen, it.bound))
        .collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// What aimed play shows of a network with the curves that make its bounds the tightest.
fn above(text: &str, curves: Curves) -> Vec<String> {
    let plan = common::plan(text, curves);
    let mut report = Report::default();
    let planned = Planning { staircases: plan.staircases, whole_paths: false };
    let name = plan.network.name.clone();
    for seed in 0..8 {
        report.attack_plan((&name, text, planned), &plan, EFFORT, &mut Draws::new(seed));
    }
    report
        .findings
        .iter()
        .map(|it| format!("{}: {} above {}", it.what, it.seen, it.bound))
        .collect()
}

#[test]
fn a_small_frame_behind_a_large_one_is_bounded() {
    assert_eq!(above(common::SMALL_BEHIND_LARGE, Curves::Staircases), [""; 0]);
}

#[test]
fn what_a_monitor_bears_with_is_bounded() {
    assert_eq!(above(common::EARLY_UNSEEN, Curves::Buckets), [""; 0]);
    assert_eq!(above(common::EARLY_UNSEEN, Curves::Staircases), [""; 0]);
}

#[test]
fn a_host_that_turns_early_is_bounded_at_its_own_port() {
    assert_eq!(above(common::EARLY_AT_ITS_OWN_PORT, Curves::Buckets), [""; 0]);
    assert_eq!(above(common::EARLY_AT_ITS_OWN_PORT, Curves::Staircases), [""; 0]);
}
