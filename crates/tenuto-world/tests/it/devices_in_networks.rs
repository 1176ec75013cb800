//! Switches of a planned network that behave as devices: control messages and timers wait among frames.

use crate::support::{certified, network, shipped};
use tenuto_model::{Plan, Scenario, Verdict};
use tenuto_world::RunDocument;
use tenuto_world::clockwork::{Devices, HopDelays, run, run_watched};

const S: u64 = 1_000_000_000;

fn ran(plan: &Plan, devices: Devices) -> RunDocument {
    let scenario = Scenario::plain(2 * S, 1);
    let mut hops = HopDelays::default();
    run_watched(plan, &scenario, Some(devices), &mut hops, &mut |_| {}).expect("the plan runs")
}

fn most(run: &RunDocument) -> u64 {
    run.flows.iter().filter_map(|row| row.observed_delay_ns_max).max().expect("observed")
}

/// Three senders behind one Zodiac FX whose table is kept small.
fn star() -> Plan {
    let mut text = String::from(
        "tenuto: 1\nhosts: [h1, h2, h3, h4]\nswitches: {s: {profile: p}}\ncontrollers: {c1: {manages: all}}\nlinks:\n",
    );
    for host in ["h1", "h2", "h3", "h4"] {
        text += &format!("  - {{ends: [{host}, s], rate: 100 Mbit/s}}\n");
    }
    text += "flows:\n";
    for host in ["h1", "h2", "h3"] {
        text += &format!(
            "  of-{host}: {{source: {host}, targets: [h4], frame: 306 B, period: 2 ms}}\n"
        );
    }
    text += "profiles:\n  p: {like: zodiac-fx, entries: 16}\n";
    certified(&network(&text))
}

#[test]
fn control_within_the_planned_share_breaks_no_promise() {
    // The cell plans 0.2 ms of the processor every 100 ms for control: two echo requests.
    let plan = certified(&shipped("cell.yaml"));
    for control_per_s in [0, 10] {
        let run = ran(&plan, Devices { control_per_s, ..Devices::default() });
        assert_eq!(run.verdict, Verdict::Kept, "{:#?}", run.violations);
        assert!(run.flows.iter().all(|row| row.received > 0 && row.lost == 0));
    }
}

#[test]
fn control_that_no_plan_knows_of_delays_frames_and_then_loses_them() {
    let plan = star();
    assert!(plan.feasible, "{:?}", plan.refusals);
    let at = |control_per_s| ran(&plan, Devices { control_per_s, ..Devices::default() });
    let quiet = at(0);
    assert_eq!(quiet.verdict, Verdict::Kept, "{:#?}", quiet.violations);
    let busy = at(1_377);
    // An echo request takes 92 us, two percent less at the least.
    assert!(most(&busy) >= most(&quiet) + 60_000, "{} and {}", most(&busy), most(&quiet));
    let full = at(12_000);
    assert_eq!(full.verdict, Verdict::Violated, "{}", full.summary);
    assert!(full.flows.iter().any(|row| row.lost > 0), "{:#?}", full.flows);
}

#[test]
fn timers_hold_frames_up() {
    let plan = star();
    let quiet = ran(&plan, Devices::default());
    let timers = ran(&plan, Devices { has_timers: true, ..Devices::default() });
    // Once in 1.5 s the firmware is busy for 6 ms.
    assert!(most(&timers) > most(&quiet) + 3_000_000, "{} and {}", most(&timers), most(&quiet));
    assert_eq!(timers.verdict, Verdict::Violated);
}

#[test]
fn networks_without_a_shared_processor_have_nothing_of_it() {
    let plan = certified(&shipped("line.yaml"));
    let scenario = Scenario::plain(S / 2, 1);
    let mut hops = HopDelays::default();
    let devices = Some(Devices { has_timers: true, ..Devices::default() });
    let as_devices = run_watched(&plan, &scenario, devices, &mut hops, &mut |_| {}).expect("a run");
    assert_eq!(as_devices, run(&plan, &scenario).expect("a run"));
}
