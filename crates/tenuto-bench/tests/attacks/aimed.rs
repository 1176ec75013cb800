//! Aimed play finds the three kinds of schedules that are easily left out of an analysis.
//!
//! What it has to reach is computed by hand from the network alone: it depends on no bound.

use crate::common::{EARLY_AT_ITS_OWN_PORT, EARLY_UNSEEN, SMALL_BEHIND_LARGE, flow, layout, row};
use tenuto_planner::Curves;
use tenuto_units::Draws;
use tenuto_witness::aim::{Aim, BASE_NS};
use tenuto_witness::layout::Layout;
use tenuto_witness::play::Player;
use tenuto_witness::rows::Row;
use tenuto_witness::schedule::{Release, Schedule};
use tenuto_witness::search::climb;

/// The delay of a schedule that is written down, ns after [`BASE_NS`].
fn written(layout: &Layout, row: Row, releases: &[(u64, &str, u32)]) -> u64 {
    let mut schedule = Schedule::empty(layout);
    for &(at_ns, name, bytes) in releases {
        schedule.releases.push(Release::message(BASE_NS + at_ns, flow(layout, name), bytes));
    }
    schedule.check(layout).unwrap();
    schedule.settle(layout);
    let mut player = Player::new(layout);
    player.play(&schedule);
    assert_eq!(player.outcome().raises, 0, "no monitor may notice");
    player.outcome().seen.get(row).unwrap() / 1_000
}

/// The largest delay that aimed play reaches, ns.
fn aimed(layout: &Layout, row: Row, enough_ns: u64) -> u64 {
    let (mut player, mut most) = (Player::new(layout), 0);
    for seed in 0..60 {
        let mut draws = Draws::new(seed);
        let aim = Aim::new(layout, row, &mut draws).unwrap();
        let start = aim.construct(layout, &mut player, &mut draws);
        let best = climb((layout, &aim), &mut player, start, 200, &mut draws, &mut |_, _| ());
        best.0.check(layout).unwrap();
        most = most.max(best.1 / 1_000);
        if most >= enough_ns {
            break;
        }
    }
    most
}

#[test]
fn a_small_frame_comes_close_behind_a_large_one_that_waited() {
    let layout = layout(SMALL_BEHIND_LARGE, Curves::Staircases);
    let row = row(&layout, "v", "normal");
    let mut releases = vec![(1_107_360 - 672 + 1, "v", 64)];
    for (burst, single) in [("g0", "s0"), ("g1", "s1"), ("g2", "s2"), ("g3", "s3")] {
        releases.extend([(0, burst, 11_680), (0, single, 1_518), (1_116_000, single, 480)]);
    }
    // Four full frames from 1107.36 us on, four of 4 us behind them, `v` a nanosecond after the first came.
    let by_hand = 672 + 27 - 1 + 4 * 12_304 + 4 * 4_000 + 672 + 27;
    assert_eq!(written(&layout, row, &releases), by_hand);
    // Without the small frames it would be 50.6 us; most of that of one host is asked for.
    let enough = by_hand - 3 * 4_000;
    let reached = aimed(&layout, row, enough);
    assert!(reached >= enough, "{reached} ns of {enough}");
}

#[test]
fn a_message_comes_as_early_as_its_monitor_bears_with() {
    let layout = layout(EARLY_UNSEEN, Curves::Buckets);
    let row = row(&layout, "v", "LO");
    let releases = [
        (0, "f", 7_300),
        (0, "u", 17_520),
        (123_040 - 6_720 + 1, "v", 64),
        (2_000_000, "f", 7_300),
    ];
    // From 123.067 us on the line to h3 sends two messages of `f` and one of `u` in a row.
    let by_hand = 6_720 + 27 - 1 + 2 * 615_200 + 1_476_480 + 6_720 + 27;
    assert_eq!(written(&layout, row, &releases), by_hand);
    let enough = by_hand - 10_000;
    let reached = aimed(&layout, row, enough);
    assert!(reached >= enough, "{reached} ns of {enough}");
}

#[test]
fn a_host_that_turns_early_delays_its_other_flows_unseen() {
    let layout = layout(EARLY_AT_ITS_OWN_PORT, Curves::Buckets);
    let row = row(&layout, "x", "LO");
    let releases = [(0, "f", 7_300), (0, "u", 17_520), (0, "x", 64), (2_000_000, "f", 7_300)];
    let by_hand = 2 * 615_200 + 1_476_480 + 2 * (6_720 + 27);
    assert_eq!(written(&layout, row, &releases), by_hand);
    let enough = by_hand - 10_000;
    let reached = aimed(&layout, row, enough);
    assert!(reached >= enough, "{reached} ns of {enough}");
}
