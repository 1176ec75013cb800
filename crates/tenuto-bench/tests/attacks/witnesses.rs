//! The search against one row: what it reaches, that it repeats, that leaving hops out changes nothing.

use crate::common::{flow, layout, row};
use tenuto_planner::Curves;
use tenuto_units::Draws;
use tenuto_witness::aim::Aim;
use tenuto_witness::flood::flooded;
use tenuto_witness::layout::Layout;
use tenuto_witness::play::Player;
use tenuto_witness::row_search::RowSearch;
use tenuto_witness::rows::Row;

/// Three sources meet at the first switch and two more behind it; every frame takes 81.6 us.
const TWO_STAGES: &str = "
tenuto: 1
name: two-stages
hosts: [a, b, c, d, e, z]
switches: {sw1: {profile: ideal}, sw2: {profile: ideal}}
defaults: {link: {rate: 100 Mbit/s, length: 5 m}}
links:
  - {ends: [a, sw1]}
  - {ends: [b, sw1]}
  - {ends: [c, sw1]}
  - {ends: [sw1, sw2]}
  - {ends: [d, sw2]}
  - {ends: [e, sw2]}
  - {ends: [sw2, z]}
flows:
  fa: {source: a, targets: [z], frame: 1000 B, period: 20 ms, deadline: 9 ms, priority: 0}
  fb: {source: b, targets: [z], frame: 1000 B, period: 20 ms, deadline: 9 ms, priority: 0}
  fc: {source: c, targets: [z], frame: 1000 B, period: 20 ms, deadline: 9 ms, priority: 0}
  fd: {source: d, targets: [z], frame: 1000 B, period: 20 ms, deadline: 9 ms, priority: 0}
  fe: {source: e, targets: [z], frame: 1000 B, period: 20 ms, deadline: 9 ms, priority: 0}
  aside: {source: b, targets: [a], frame: 200 B, period: 20 ms, deadline: 9 ms, priority: 0}
";

/// `near` meets `far2`; `far` and 60 others of its host go another way, and are too many to be released.
const OTHERS: usize = 60;

fn beside_another_way() -> String {
    let others: Vec<String> = (0..OTHERS)
        .map(|it| {
            format!("  g{it}: {{source: b, targets: [y], frame: 64 B, period: 90 ms, deadline: 80 ms, priority: 0}}")
        })
        .collect();
    format!(
        "
tenuto: 1
name: beside-another-way
hosts: [a, b, c, y, z]
switches: {{sw1: {{profile: ideal}}}}
defaults: {{link: {{rate: 100 Mbit/s, length: 5 m}}}}
links:
  - {{ends: [a, sw1]}}
  - {{ends: [b, sw1]}}
  - {{ends: [c, sw1]}}
  - {{ends: [y, sw1]}}
  - {{ends: [z, sw1]}}
flows:
  near: {{source: a, targets: [z], frame: 500 B, period: 20 ms, deadline: 9 ms, priority: 0}}
  far: {{source: b, targets: [y], frame: 700 B, period: 20 ms, deadline: 9 ms, priority: 0}}
  far2: {{source: b, targets: [z], frame: 300 B, period: 20 ms, deadline: 9 ms, priority: 0}}
{}
tolerates: {{babbling_hosts: 1}}
",
        others.join("\n")
    )
}

fn searched(layout: &Layout, row: Row, portions: &[u64]) -> RowSearch {
    let (mut search, mut player) = (RowSearch::new(row, 7), Player::new(layout));
    for &plays in portions {
        search.search(layout, &mut player, plays);
    }
    search
}

#[test]
fn the_search_finds_the_worst_meeting_of_two_stages() {
    let layout = layout(TWO_STAGES, Curves::Buckets);
    let row = row(&layout, "fa", "normal");
    // Three hops of its own, two frames ahead at the first switch, two at the second; cables.
    let by_hand_ns = (3 + 2 + 2) * 81_600 + 3 * 27;
    let found = searched(&layout, row, &[2_000]).best().expect("there is one").1 / 1_000;
    assert!(found <= by_hand_ns, "{found} ns");
    assert!(found + 50 >= by_hand_ns, "{found} of {by_hand_ns} ns");
    assert!(layout.bounds.get(row).expect("bounded") / 1_000 >= by_hand_ns);
}

#[test]
fn the_same_seed_and_plays_find_the_same_in_any_portions() {
    let layout = layout(TWO_STAGES, Curves::Buckets);
    for row in layout.rows() {
        let (whole, parts) =
            (searched(&layout, row, &[400]), searched(&layout, row, &[20, 90, 91, 400]));
        assert_eq!(whole.best().map(|it| it.1), parts.best().map(|it| it.1));
        assert_eq!(whole.best().map(|it| it.0), parts.best().map(|it| it.0));
        assert_eq!(whole.plays, parts.plays);
    }
}

#[test]
fn hops_that_cannot_matter_are_left_out_and_change_nothing() {
    let layout = layout(&beside_another_way(), Curves::Buckets);
    let row = row(&layout, "near", "normal");
    let mut player = Player::new(&layout);
    let mut left_out = false;
    for seed in 0..40 {
        let mut draws = Draws::new(seed);
        let mut aim = Aim::new(&layout, row, &mut draws).expect("bounded");
        aim.is_replayed = true;
        player.lift_limits();
        let mut schedule = aim.construct(&layout, &mut player, &mut draws).0;
        // The flow that goes another way shares the line of the host that babbles.
        let host = layout.flows[flow(&layout, "far")].host;
        if seed % 2 == 0 {
            let flood = flooded((&layout, &aim), &mut player, &schedule, host, &mut draws);
            schedule = flood.expect("it can matter").0;
        }
        let whole = player.play(&schedule).clone();
        aim.limit(&mut player);
        let limited = player.play(&schedule).clone();
        assert_eq!(limited.seen.get(row), whole.seen.get(row));
        left_out |= limited.frame_hops < whole.frame_hops;
    }
    assert!(left_out, "most go another way");
}

#[test]
fn releases_of_one_host_are_apart() {
    let layout = layout(TWO_STAGES, Curves::Buckets);
    let mut schedule = tenuto_witness::schedule::Schedule::empty(&layout);
    for name in ["fb", "aside", "fa"] {
        let of = flow(&layout, name);
        schedule.releases.push(tenuto_witness::schedule::Release::message(5_000, of, 200));
    }
    schedule.orders[flow(&layout, "fb")] = 200;
    schedule.settle_apart(&layout);
    schedule.check(&layout).expect("hosts conform");
    let at = |name: &str| {
        let of = flow(&layout, name);
        schedule.releases.iter().find(|it| it.flow == of).expect("released").at_ns
    };
    assert_eq!((at("aside"), at("fb"), at("fa")), (5_000, 5_001, 5_000));
}
