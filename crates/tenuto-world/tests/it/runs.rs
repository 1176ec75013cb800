//! Shipped networks in virtual time: everything that was promised is kept.

use crate::support;

use support::{shipped, shipped_text};
use tenuto_model::{Event, EventAction, Network, OtherTraffic, Plan, Scenario, Verdict};
use tenuto_planner::{Options, plan};
use tenuto_world::clockwork;

fn planned(file: &str) -> Plan {
    plan(&shipped(file), &Options::default())
}

#[test]
fn the_line_keeps_its_promise() {
    let plan = planned("line.yaml");
    assert!(plan.feasible, "{:?}", plan.refusals);
    let scenario = Scenario::plain(2_000_000_000, 1);
    let run = clockwork::run(&plan, &scenario).expect("the plan runs");
    assert_eq!(run.verdict, Verdict::Kept, "{:#?}", run.violations);
    assert!(run.flows.iter().all(|row| row.received > 0), "{:#?}", run.flows);
}

fn scenario(file: &str, network: &Network) -> Scenario {
    let text = shipped_text(file);
    match tenuto_model::read_scenario(&text, file, network) {
        Ok(scenario) => scenario,
        Err(problems) => panic!("{problems}"),
    }
}

#[test]
fn the_vehicle_raises_and_returns_within_its_bounds() {
    let plan = planned("vehicle.yaml");
    assert!(plan.feasible, "{:#?}", plan.refusals);
    let scenario = scenario("vehicle.scenario.yaml", &plan.network);
    let run = clockwork::run(&plan, &scenario).expect("the plan runs");
    assert_eq!(run.verdict, Verdict::Kept, "{:#?}", run.violations);
}

/// Both copies of a raise are lost, which is more than is tolerated: the bound of the change is
/// broken and said to be, and yet the raise is repeated after one dwell, and the network returns.
#[test]
fn a_raise_lost_beyond_the_copies_is_repeated_and_returned_from() {
    let plan = planned("vehicle.yaml");
    let text = "\
tenuto_scenario: 1
duration: 12 s
seed: 1
events:
  - {at: 2 s, signal: lose, from: sw1, to: sw2, frames: 2}
  - {at: 4 s, flow: CAM, behave: HI}
  - {at: 6 s, flow: CAM, behave: LO}
";
    let scenario = match tenuto_model::read_scenario(text, "lose.yaml", &plan.network) {
        Ok(scenario) => scenario,
        Err(problems) => panic!("{problems}"),
    };
    let run = clockwork::run(&plan, &scenario).expect("the plan runs");
    let kinds: Vec<&str> = run.violations.iter().map(|v| v.kind.as_str()).collect();
    assert_eq!(kinds, ["mode_change"], "{:#?}", run.violations);
    assert_eq!(run.violations.first().and_then(|v| v.mode.as_deref()), Some("LO>HI"));
    let [raise, back] = &run.mode_changes[..] else { panic!("{:#?}", run.mode_changes) };
    assert!(raise.switches.len() == 3 && raise.observed_ns > raise.bound_ns, "{raise:#?}");
    let dwell_ns = 100_000_000;
    let is_after_one = |ns| ns < dwell_ns + raise.bound_ns.unwrap_or(0);
    assert!(raise.observed_ns.is_some_and(is_after_one), "{raise:#?}");
    // The late ones have a quiet window of their own before they vote.
    assert_eq!((back.from.as_str(), back.to.as_str()), ("HI", "LO"));
    assert!(back.observed_ns.is_some_and(|ns| ns < 2_000_000_000), "{back:#?}");
    let is_back = |row: &&tenuto_world::FlowRow| row.flow == "STREAM" && row.mode == "LO";
    let stream = run.flows.iter().find(is_back).expect("a row of STREAM in LO");
    assert!(stream.received > 200, "{stream:#?}");
}

#[test]
fn the_aircraft_keeps_its_promise_beside_a_babbling_idiot() {
    let plan = planned("avionics.yaml");
    assert!(plan.feasible, "{:#?}", plan.refusals);
    let scenario = scenario("avionics.scenario.yaml", &plan.network);
    let started = std::time::Instant::now();
    let run = clockwork::run(&plan, &scenario).expect("the plan runs");
    println!("{} packet-hops in {:?}", run.packet_hops, started.elapsed());
    assert_eq!(run.verdict, Verdict::Kept, "{:#?}", run.violations);
    assert!(run.policed.iter().any(|row| row.reason == "policed" && row.frames > 1_000));
}

#[test]
fn the_aircraft_for_live_runs_keeps_its_promise() {
    let plan = planned("avionics-live.yaml");
    assert!(plan.feasible && plan.network.flows.len() >= 16, "{:#?}", plan.refusals);
    let scenario = scenario("avionics-live.scenario.yaml", &plan.network);
    let run = clockwork::run(&plan, &scenario).expect("the plan runs");
    assert_eq!(run.verdict, Verdict::Kept, "{:#?}", run.violations);
    let copies = run.flows.iter().flat_map(|row| &row.copies);
    assert!(copies.clone().count() > 40 && copies.clone().all(|copy| copy.lost == 0));
}

#[test]
fn the_649_link_switch_keeps_its_promise() {
    let plan = planned("a380-switch.yaml");
    assert!(plan.feasible, "{:#?}", plan.refusals);
    let scenario = Scenario::plain(2_000_000_000, 1);
    let started = std::time::Instant::now();
    let run = clockwork::run(&plan, &scenario).expect("the plan runs");
    println!("{} packet-hops in {:?}", run.packet_hops, started.elapsed());
    assert_eq!(run.verdict, Verdict::Kept, "{:#?}", run.violations);
}

#[test]
fn recorded_releases_keep_the_bounds_when_they_are_repeated() {
    let plan = planned("vehicle.yaml");
    let scenario = scenario("vehicle.scenario.yaml", &plan.network);
    let run = clockwork::run(&plan, &scenario).expect("the plan runs");
    let again = clockwork::replay(&plan, &scenario, &run.releases).expect("the plan runs again");
    assert_eq!(again.verdict, Verdict::Kept, "{:#?}", again.violations);
    assert!(again.releases == run.releases, "the same messages at the same instants");
    assert_eq!(again.mode_changes.len(), 2, "the recorded releases raise the mode by themselves");
}

#[test]
fn flows_keep_their_promise_beside_other_traffic() {
    let other = OtherTraffic::Carry { priority: 7, rate_bps: 1_000_000, frame_bytes_max: 1_518 };
    let plan =
        plan(&Network { other_traffic: other, ..shipped("vehicle.yaml") }, &Options::default());
    assert!(plan.feasible, "{:?}", plan.refusals);
    let garbage = EventAction::Garbage { host: "s2".into(), frames_per_s: 20_000, for_ns: None };
    let event = Event { at_ns: 500_000_000, action: garbage, note: None };
    let scenario = Scenario { events: vec![event], ..Scenario::plain(2_000_000_000, 3) };
    let run = clockwork::run(&plan, &scenario).expect("the plan runs");
    assert_eq!(run.verdict, Verdict::Kept, "{:#?}", run.violations);
    let others = run.policed.iter().filter(|row| row.flow.is_none());
    assert!(others.map(|row| row.frames).sum::<u64>() > 1_000, "{:#?}", run.policed);
}
