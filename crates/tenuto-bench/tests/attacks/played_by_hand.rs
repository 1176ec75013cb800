//! The player against schedules that are computed by hand.
//!
//! Links have 5 m: 27 ns. At 100 Mbit/s a frame of 1518 B takes 123.04 us, one of 64 B 6.72 us.

use crate::common::{flow, layout, plan, row};
use tenuto_planner::Curves;
use tenuto_witness::play::Player;
use tenuto_witness::rows::{Row, Subject};
use tenuto_witness::schedule::{Release, Schedule, WHOLE};

const STAR: &str = "
tenuto: 1
name: star
modes: [LO, HI]
hosts: [h1, h2, h3, h4]
profiles: {p: {like: ideal, modes: true, latency: {min: 0 us, max: 10 us}}}
switches: {sw1: {profile: p}}
links:
  - {ends: [h1, sw1], rate: 100 Mbit/s}
  - {ends: [h2, sw1], rate: 100 Mbit/s}
  - {ends: [h3, sw1], rate: 100 Mbit/s}
  - {ends: [h4, sw1], rate: 100 Mbit/s}
flows:
  high: {source: h1, targets: [h3], level: HI, frame: 64 B, period: 10 ms, priority: 0}
  full: {source: h1, targets: [h3, h4], level: HI, frame: {LO: 1518 B, HI: 1518 B}, period: {LO: 10 ms, HI: 1 ms}, deadline: 10 ms, priority: 1}
  low: {source: h2, targets: [h3], level: LO, frame: 1518 B, period: 10 ms, priority: 2}
  same: {source: h2, targets: [h3], level: HI, frame: 1518 B, period: 10 ms, priority: 1}
tolerates: {lost_signals: 0}
";

/// Delays in ns of rows in the lowest mode, and what else was seen.
fn delay_ns(releases: &[(u64, &str, u32)], latency: u16, of: &str, mode: &str) -> Option<u64> {
    let layout = layout(STAR, Curves::Buckets);
    let mut schedule = Schedule::empty(&layout);
    schedule.latencies.fill(latency);
    for &(at_ns, name, bytes) in releases {
        schedule.releases.push(Release::message(at_ns, flow(&layout, name), bytes));
    }
    schedule.settle(&layout);
    schedule.check(&layout).unwrap();
    let mut player = Player::new(&layout);
    player.play(&schedule);
    player.outcome().seen.get(row(&layout, of, mode)).map(|ps| ps / 1_000)
}

#[test]
fn a_frame_alone_is_stored_and_forwarded() {
    let alone = 2 * 123_040 + 2 * 27;
    assert_eq!(delay_ns(&[(0, "full", 1_518)], 0, "full", "LO"), Some(alone));
    assert_eq!(delay_ns(&[(0, "full", 1_518)], WHOLE, "full", "LO"), Some(alone + 10_000));
}

#[test]
fn a_lower_class_on_the_line_is_not_interrupted() {
    // `low` is queued at the switch at 123.067 us; `high` a nanosecond later.
    let high = 123_040 - 6_720 + 1;
    let delay = 6_720 + 27 - 1 + 123_040 + 6_720 + 27;
    assert_eq!(delay_ns(&[(0, "low", 1_518), (high, "high", 64)], 0, "high", "LO"), Some(delay));
    // A nanosecond sooner it goes first.
    let free = 2 * (6_720 + 27);
    assert_eq!(delay_ns(&[(0, "low", 1_518), (high - 2, "high", 64)], 0, "high", "LO"), Some(free));
}

#[test]
fn a_class_is_first_in_first_out() {
    // Both are queued for h3 at 123.067 us, `full` a nanosecond sooner.
    let both = [(0, "full", 1_518), (1, "same", 1_518)];
    assert_eq!(delay_ns(&both, 0, "same", "LO"), Some(3 * 123_040 + 2 * 27 - 1));
    assert_eq!(delay_ns(&both, 0, "full", "LO"), Some(2 * 123_040 + 2 * 27));
}

#[test]
fn a_message_for_two_targets_is_sent_once() {
    let layout = layout(STAR, Curves::Buckets);
    let mut schedule = Schedule::empty(&layout);
    schedule.releases.push(Release::message(0, flow(&layout, "full"), 1_518));
    let mut player = Player::new(&layout);
    let outcome = player.play(&schedule);
    assert_eq!(outcome.frame_hops, 3, "one of the host, two of the switch");
    let delays: Vec<u64> = outcome
        .seen
        .iter()
        .filter(|(it, _)| matches!(it.subject, Subject::Delay(_)))
        .map(|it| it.1)
        .collect();
    assert_eq!(delays, [(2 * 123_040 + 2 * 27) * 1_000; 2]);
    let backlogs: Vec<u64> = outcome
        .seen
        .iter()
        .filter(|(it, _)| matches!(it.subject, Subject::Backlog(_)))
        .map(|it| it.1)
        .collect();
    assert_eq!(backlogs, [1_538 * 8; 3]);
}

#[test]
fn a_violation_raises_the_mode_and_ends_lower_flows() {
    let layout = layout(STAR, Curves::Buckets);
    let (full, low) = (flow(&layout, "full"), flow(&layout, "low"));
    let mut schedule = Schedule::empty(&layout);
    // The second of `full` is 9 ms too early; the second of `low` comes to the switch behind it.
    for (at_ns, flow) in [(0, full), (1_000_000, full), (2_000_000, low)] {
        schedule.releases.push(Release::message(at_ns, flow, 1_518));
    }
    schedule.settle(&layout);
    let mut player = Player::new(&layout);
    let outcome = player.play(&schedule);
    assert_eq!(outcome.raises, 1);
    let violation = outcome.violation.unwrap();
    assert_eq!((violation.at_ns, violation.release), (1_000_000 + 123_067, 1));
    let seen = |name, mode| outcome.seen.get(row(&layout, name, mode));
    let alone_ps = (2 * 123_040 + 2 * 27) * 1_000;
    assert_eq!((seen("full", "LO"), seen("full", "LO>HI")), (Some(alone_ps), Some(alone_ps)));
    assert_eq!(seen("low", "LO"), None, "dropped behind the swap");
}

#[test]
fn what_a_conforming_host_cannot_do_is_put_off() {
    let layout = layout(STAR, Curves::Buckets);
    let full = flow(&layout, "full");
    let mut schedule = Schedule::empty(&layout);
    for at_ns in [0, 400_000] {
        schedule.releases.push(Release::message(at_ns, full, 9_000));
    }
    assert!(schedule.check(&layout).is_err());
    schedule.settle(&layout);
    schedule.check(&layout).unwrap();
    let settled: Vec<(u64, u32)> =
        schedule.releases.iter().map(|it| (it.at_ns, it.bytes)).collect();
    assert_eq!(settled, [(0, 1_518), (1_000_000, 1_518)]);
}

#[test]
fn rows_of_a_layout_have_the_bounds_of_the_plan() {
    let plan = plan(STAR, Curves::Buckets);
    let layout = tenuto_witness::layout::Layout::new(&plan).unwrap();
    for bound in &plan.flows {
        let is_of = |it: &&tenuto_witness::layout::Leaf| {
            layout.flows[it.flow].name == bound.flow && it.target == bound.target
        };
        let leaf = layout.leaves.iter().position(|it| is_of(&it)).unwrap();
        let Some(transition) = layout.transitions.iter().position(|it| *it == bound.mode) else {
            continue;
        };
        let row = Row { subject: Subject::Delay(leaf), transition };
        assert_eq!(layout.bounds.get(row), bound.delay_bound_ps);
    }
}
