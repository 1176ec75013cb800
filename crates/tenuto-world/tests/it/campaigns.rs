//! Campaigns: cases follow from their seeds, faults stay within their reach, and every invariant can be broken.

use crate::support::{certified, shipped};
use std::collections::BTreeSet;
use tenuto_model::{EventAction, Plan, Scenario, Verdict};
use tenuto_world::RunDocument;
use tenuto_world::campaign::{Case, Invariant, Reach, broken, scenario};

const MS: u64 = 1_000_000;

fn vehicle() -> Plan {
    certified(&shipped("vehicle.yaml"))
}

fn case(plan: &Plan, seed: u64, reach: Reach) -> Case<'_> {
    Case { plan, seed, reach, traffic_ns: Some(250 * MS) }
}

#[test]
fn a_case_is_its_seed() {
    let plan = vehicle();
    for seed in [0, 1, 17] {
        let [once, again] = [0, 1].map(|_| case(&plan, seed, Reach::Within).run().expect("a run"));
        assert_eq!((once.scenario, once.document), (again.scenario, again.document), "{seed}");
    }
    let drawn: BTreeSet<String> = (0..50)
        .map(|seed| format!("{:?}", scenario(&plan, seed, Reach::Within, None).events))
        .collect();
    assert!(drawn.len() > 40, "{} of 50 differ", drawn.len());
}

#[test]
fn faults_within_reach_are_tolerated_and_beyond_it_some_are_not() {
    let plan = vehicle();
    let hosts = |it: &Scenario| {
        let hosts = it.events.iter().filter_map(|event| match &event.action {
            EventAction::Babble { host, .. }
            | EventAction::Garbage { host, .. }
            | EventAction::Forge { host } => Some(host.clone()),
            EventAction::Oversend { flow, .. } => {
                plan.network.flow(flow).map(|it| it.source.clone())
            }
            _ => None,
        });
        hosts.collect::<BTreeSet<String>>().len()
    };
    let cuts = |it: &Scenario| {
        it.events.iter().any(|event| matches!(event.action, EventAction::CutLink { .. }))
    };
    let mut beyond = 0;
    for seed in 0..200 {
        let within = scenario(&plan, seed, Reach::Within, None);
        assert!(hosts(&within) <= 1 && !cuts(&within), "{seed}: {:?}", within.events);
        let farther = scenario(&plan, seed, Reach::Beyond, None);
        beyond += u64::from(hosts(&farther) > 1 || cuts(&farther));
    }
    assert!(beyond > 60, "{beyond} of 200");
}

#[test]
fn the_vehicle_keeps_every_invariant() {
    let plan = vehicle();
    let (mut changes, mut received) = (0, 0);
    for seed in 0..24 {
        let ran = case(&plan, seed, Reach::Within).run().expect("a run");
        assert_eq!(ran.broken, [], "seed {seed}: {:#?}", ran.scenario.events);
        changes += ran.document.mode_changes.len();
        received += ran.document.flows.iter().map(|row| row.received).sum::<u64>();
    }
    assert!(changes > 4 && received > 200, "{changes} changes, {received} received");
}

#[test]
fn what_must_always_hold_holds_beyond_the_fault_model() {
    let plan = vehicle();
    let mut verdicts = BTreeSet::new();
    for seed in 0..24 {
        let ran = case(&plan, seed, Reach::Beyond).run().expect("a run");
        assert_eq!(ran.broken, [], "seed {seed}: {:#?}", ran.scenario.events);
        verdicts.insert(ran.document.verdict.word());
    }
    assert!(verdicts.contains("broken"), "{verdicts:?}");
}

/// What a run breaks if it is changed so.
fn changed(change: impl Fn(&mut RunDocument)) -> Vec<Invariant> {
    let plan = vehicle();
    let events = scenario(&plan, 0, Reach::Within, Some(250 * MS)).events;
    let stops = |it: &tenuto_model::Event| matches!(it.action, EventAction::StopFlow { .. });
    let up = EventAction::Behave { flow: "CAM".into(), mode: 1 };
    let up = tenuto_model::Event { at_ns: MS, action: up, note: None };
    let mut all: Vec<_> = events.into_iter().filter(|it| stops(it) && it.at_ns > 0).collect();
    all.insert(0, up);
    let scenario = Scenario { events: all, ..Scenario::plain(400 * MS, 1) };
    let mut run = tenuto_world::clockwork::run(&plan, &scenario).expect("a run");
    assert_eq!(broken(&plan, &scenario, &run, Reach::Within), []);
    assert!(!run.mode_changes.is_empty());
    change(&mut run);
    let found = broken(&plan, &scenario, &run, Reach::Within);
    found.into_iter().map(|it| it.invariant).collect()
}

#[test]
fn every_invariant_is_checked() {
    let first = |run: &mut RunDocument| {
        run.flows.iter().position(|row| row.observed_delay_ns_max.is_some()).expect("observed")
    };
    let of = |change: &dyn Fn(&mut tenuto_world::FlowRow)| {
        changed(|run| {
            let at = first(run);
            change(&mut run.flows[at]);
        })
    };
    let late = of(&|row| row.observed_delay_ns_max = row.delay_bound_ns.map(|ns| ns + 1));
    assert_eq!(late, [Invariant::Delay]);
    let lost = of(&|row| (row.lost, row.sent) = (row.lost + 1, row.sent + 1));
    assert_eq!(lost, [Invariant::Loss]);
    assert_eq!(of(&|row| row.sent += 1), [Invariant::Ledger]);
    let moving = of(&|row| (row.in_flight, row.sent) = (row.in_flight + 1, row.sent + 1));
    assert_eq!(moving, [Invariant::Conservation]);
    let slow = changed(|run| {
        let change = &mut run.mode_changes[0];
        change.observed_ns = change.bound_ns.map(|ns| ns + 1);
    });
    assert_eq!(slow, [Invariant::ModeChange]);
    assert_eq!(changed(|run| run.mode_changes[0].to.clear())[0], Invariant::ModeChange);
    let full = changed(|run| {
        let bounded = |it: &&mut tenuto_world::PortObservation| {
            it.backlog_bound_bits.is_some() && it.port.starts_with("sw")
        };
        let port = run.ports.iter_mut().find(bounded).expect("a port of a switch");
        port.observed_backlog_bits_max = port.backlog_bound_bits.map_or(0, |bits| bits + 1);
    });
    assert_eq!(full, [Invariant::Backlog]);
    assert_eq!(changed(|run| run.verdict = Verdict::Broken), [Invariant::Verdict]);
}

#[test]
fn a_raise_needs_a_cause() {
    let plan = vehicle();
    let scenario = Scenario::plain(400 * MS, 1);
    let mut run = tenuto_world::clockwork::run(&plan, &scenario).expect("a run");
    assert_eq!(broken(&plan, &scenario, &run, Reach::Beyond), []);
    let up = EventAction::Behave { flow: "CAM".into(), mode: 1 };
    let up = tenuto_model::Event { at_ns: MS, action: up, note: None };
    let raised = Scenario { events: vec![up], ..Scenario::plain(400 * MS, 1) };
    let raised = tenuto_world::clockwork::run(&plan, &raised).expect("a run");
    run.mode_changes = raised.mode_changes;
    let found = broken(&plan, &scenario, &run, Reach::Beyond);
    let found: Vec<Invariant> = found.into_iter().map(|it| it.invariant).collect();
    assert_eq!(found, [Invariant::Cause]);
}
