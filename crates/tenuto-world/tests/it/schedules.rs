//! Schedules decide what a run would draw: order at one instant, latencies, the mode at the start, floods.

use crate::support::{certified, network};
use std::collections::BTreeMap;
use tenuto_model::Plan;
use tenuto_world::RunDocument;
use tenuto_world::clockwork::{
    FlowChoices, SCHEDULE_SCHEMA, Schedule, ScheduledFrame, ScheduledRelease, play_schedule,
};

/// On their lines of 100 Mbit/s `f` takes 81.6 us, `g` 41.6 us.
const TWO_SOURCES: &str = "
tenuto: 1
name: two-sources
modes: [LO, HI]
hosts: [a, b, d]
profiles: {p: {like: ideal, modes: true, latency: {min: 1 us, max: 5 us}}}
switches: {sw1: {profile: p}}
defaults: {link: {rate: 100 Mbit/s, length: 5 m}}
links:
  - {ends: [a, sw1]}
  - {ends: [b, sw1]}
  - {ends: [sw1, d]}
flows:
  f: {source: a, targets: [d], level: HI, frame: 1000 B, period: 10 ms, deadline: 5 ms, priority: 0}
  g: {source: b, targets: [d], level: HI, frame: 500 B, period: 10 ms, deadline: 5 ms, priority: 0}
tolerates: {babbling_hosts: 1}
";

const LINE_NS: u64 = 27;

fn plan() -> Plan {
    let plan = certified(&network(TWO_SOURCES));
    assert!(plan.feasible, "{:?}", plan.refusals);
    plan
}

/// Both frames come to the switch at one instant; orders are those of `f` and `g`.
fn meeting(plan: &Plan, orders: (u8, u8)) -> Schedule {
    let release = |at_ns, flow: &str, bytes| ScheduledRelease { at_ns, flow: flow.into(), bytes };
    let choices =
        |flow: &str, order| FlowChoices { flow: flow.into(), order, latencies_ns: BTreeMap::new() };
    Schedule {
        schema: SCHEDULE_SCHEMA.into(),
        network: plan.network.name.clone(),
        plan_hash: plan.plan_hash.clone(),
        start_mode: "LO".into(),
        duration_ns: 2_000_000,
        witness: None,
        babbling_host: None,
        releases: vec![release(0, "f", 1_000 - 46), release(40_000, "g", 500 - 46)],
        frames: Vec::new(),
        flows: vec![choices("f", orders.0), choices("g", orders.1)],
        signal_latencies_ns: BTreeMap::new(),
    }
}

fn delay_ns(run: &RunDocument, flow: &str, mode: &str) -> Option<u64> {
    let row = run.flows.iter().find(|it| it.flow == flow && it.mode == mode)?;
    row.observed_delay_ns_max
}

fn played(plan: &Plan, schedule: &Schedule) -> RunDocument {
    let run = play_schedule(plan, schedule).expect("it is of this plan").0;
    assert!(run.violations.is_empty(), "{:?}", run.violations);
    run
}

#[test]
fn order_at_one_instant_is_the_schedules() {
    let plan = plan();
    let alone_ns = |line_ns: u64| 2 * (line_ns + LINE_NS) + 1_000;
    let first_f = played(&plan, &meeting(&plan, (10, 20)));
    assert_eq!(delay_ns(&first_f, "f", "LO"), Some(alone_ns(81_600)));
    assert_eq!(delay_ns(&first_f, "g", "LO"), Some(alone_ns(41_600) + 81_600));
    let first_g = played(&plan, &meeting(&plan, (20, 10)));
    assert_eq!(delay_ns(&first_g, "f", "LO"), Some(alone_ns(81_600) + 41_600));
    assert_eq!(delay_ns(&first_g, "g", "LO"), Some(alone_ns(41_600)));
}

#[test]
fn latencies_are_the_schedules_and_within_the_profile() {
    let plan = plan();
    let mut schedule = meeting(&plan, (10, 20));
    schedule.flows[0].latencies_ns.insert("sw1".into(), 5_000);
    let run = played(&plan, &schedule);
    // `g` is 4 us earlier in the queue, so `f` waits for the rest of it.
    assert_eq!(delay_ns(&run, "f", "LO"), Some(2 * (81_600 + LINE_NS) + 1_000 + 41_600));
    schedule.flows[0].latencies_ns.insert("sw1".into(), 5_001);
    let refused = play_schedule(&plan, &schedule).expect_err("more than the profile has");
    assert!(refused.to_string().contains("1000 to 5000 ns"), "{refused}");
    schedule.flows[0].flow = "h".into();
    let refused = play_schedule(&plan, &schedule).expect_err("no such flow");
    assert!(refused.to_string().contains("names a flow h"), "{refused}");
}

#[test]
fn a_schedule_starts_in_its_mode() {
    let plan = plan();
    let run = played(&plan, &Schedule { start_mode: "HI".into(), ..meeting(&plan, (10, 20)) });
    assert!(delay_ns(&run, "g", "HI").is_some(), "{:?}", run.flows);
    assert_eq!(delay_ns(&run, "g", "LO"), None);
    let unknown = Schedule { start_mode: "MID".into(), ..meeting(&plan, (10, 20)) };
    let refused = play_schedule(&plan, &unknown).expect_err("no such mode");
    assert!(refused.to_string().contains("MID is no mode"), "{refused}");
}

#[test]
fn a_babbling_host_delays_others_by_what_its_meter_passes() {
    let plan = plan();
    let mut schedule = meeting(&plan, (10, 20));
    schedule.releases.remove(0);
    schedule.babbling_host = Some("a".into());
    for number in 0..40 {
        let at_ns = u64::from(number) * 6_720;
        let (flow, frame_bytes) = ("f".into(), 64);
        schedule.frames.push(ScheduledFrame { at_ns, flow, frame_bytes, message: number });
    }
    schedule.releases[0].at_ns = 100_000;
    let run = played(&plan, &schedule);
    let policed: u64 = run.policed.iter().map(|it| it.frames).sum();
    assert!((1..40).contains(&policed), "{:?}", run.policed);
    let host = schedule.babbling_host.take();
    let refused = play_schedule(&plan, &schedule).expect_err("nobody babbles");
    assert!(refused.to_string().contains("does not babble"), "{host:?} {refused}");
}

#[test]
fn a_line_knows_when_each_frame_left_it() {
    let plan = plan();
    let sent = play_schedule(&plan, &meeting(&plan, (10, 20))).expect("it runs").1;
    let of = |node: &str| -> Vec<(Option<u16>, u64)> {
        let own = sent.iter().filter(|it| it.node == node && it.flow.is_some());
        own.map(|it| (it.flow, it.departure_ns)).collect()
    };
    assert_eq!(of("a"), [(Some(0), 81_600)]);
    let queued_ns = 81_600 + LINE_NS + 1_000;
    assert_eq!(of("sw1"), [(Some(0), queued_ns + 81_600), (Some(1), queued_ns + 123_200)]);
}
