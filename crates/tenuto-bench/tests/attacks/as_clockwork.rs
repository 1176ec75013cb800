//! The player and the simulated world show the same delays of the same releases, where nothing is drawn.

use crate::common::{flow, network};
use tenuto_model::{Plan, Scenario};
use tenuto_planner::Options;
use tenuto_units::Draws;
use tenuto_witness::layout::Layout;
use tenuto_witness::play::Player;
use tenuto_witness::rows::{Row, Subject};
use tenuto_witness::schedule::{Release, Schedule};
use tenuto_world::clockwork;

const TWO_SWITCHES: &str = "
tenuto: 1
name: two-switches
hosts: [h1, h2, h3, h4]
switches: {sw1: {profile: ideal}, sw2: {profile: ideal}}
links:
  - {ends: [h1, sw1], rate: 100 Mbit/s}
  - {ends: [h2, sw1], rate: 10 Gbit/s}
  - {ends: [sw1, sw2], rate: 100 Mbit/s}
  - {ends: [sw2, h3], rate: 10 Mbit/s}
  - {ends: [sw2, h4], rate: 1 Gbit/s}
flows:
  a: {source: h1, targets: [h3, h4], message: 5 kB, period: 40 ms, priority: 1}
  b: {source: h2, targets: [h3], message: 9 kB, period: 40 ms, priority: 2}
  c: {source: h2, targets: [h4], message: 700 B, period: 40 ms, priority: 0}
  d: {source: h1, targets: [h4], message: 3 kB, period: 40 ms, priority: 1}
";

/// The largest delay per flow and target, ns, as the world sees it.
fn of_world(plan: &Plan, releases: &[Release]) -> Vec<(String, String, Option<u64>)> {
    let recorded: Vec<tenuto_world::Release> = releases
        .iter()
        .map(|it| tenuto_world::Release {
            at_ns: it.at_ns,
            flow: u16::try_from(it.flow).unwrap(),
            bytes: it.bytes,
        })
        .collect();
    let document = clockwork::replay(plan, &Scenario::plain(60_000_000, 1), &recorded).unwrap();
    let row =
        |it: &tenuto_world::FlowRow| (it.flow.clone(), it.target.clone(), it.observed_delay_ns_max);
    document.flows.iter().map(row).collect()
}

#[test]
fn the_same_releases_give_the_same_delays() {
    let plan = tenuto_planner::plan(&network(TWO_SWITCHES), &Options::default());
    let layout = Layout::new(&plan).unwrap();
    let mut player = Player::new(&layout);
    let mut draws = Draws::new(7);
    for _ in 0..20 {
        let mut schedule = Schedule::empty(&layout);
        // The world lets a line become free before it looks who comes at that very instant.
        schedule.orders.fill(150);
        for name in ["a", "b", "c", "d"] {
            let index = flow(&layout, name);
            let most = layout.flows[index].highest().size.bytes();
            let bytes = most - u32::try_from(draws.below(u64::from(most) / 2)).unwrap();
            schedule.releases.push(Release::message(draws.below(900_000), index, bytes));
        }
        schedule.settle(&layout);
        player.play(&schedule);
        for (name, target, observed_ns) in of_world(&plan, &schedule.releases) {
            let is_it = |it: &tenuto_witness::layout::Leaf| {
                layout.flows[it.flow].name == name && it.target == target
            };
            let leaf = layout.leaves.iter().position(is_it).unwrap();
            let row = Row { subject: Subject::Delay(leaf), transition: 0 };
            let played_ns = player.outcome().seen.get(row).map(|ps| ps / 1_000);
            assert_eq!(played_ns, observed_ns, "{name} to {target}: {schedule:?}");
        }
    }
}
