//! How the ledger judges what a shared machine may have spoilt: by what the message passes.

use crate::support;

use tenuto_model::{Plan, Verdict};
use tenuto_planner::{Options, plan};
use tenuto_world::{Ledger, LedgerSettings, Observation, PROGRAM_MESSAGES, RunDocument};

const START_NS: u64 = 1_000_000_000;
const RELEASE_NS: u64 = 2_000_000_000;
const END_NS: u64 = 9_000_000_000;
const HOST_NS: u64 = 1_000_000;

fn planned(file: &str) -> Plan {
    plan(&support::shipped(file), &Options::default())
}

/// A live run of one flow, 1 ms of host allowance on each of its bounds.
fn judged(plan: &Plan, flow: &str, tell: impl Fn(&mut Ledger<'_>, u16)) -> RunDocument {
    let flow = plan.network.flows.iter().position(|f| f.name == flow).expect("a flow");
    let flow = u16::try_from(flow).expect("few flows");
    let rows = plan.flows.iter().filter(|r| r.flow == plan.network.flows[usize::from(flow)].name);
    let host_allowance_ns = rows.map(|r| ((flow, r.target.clone(), r.mode), HOST_NS)).collect();
    let settings = LedgerSettings {
        world: "live",
        host_allowance_ns,
        ..LedgerSettings::simulated(1, START_NS, Default::default())
    };
    let mut ledger = Ledger::new(plan, settings);
    ledger.set_up_complete(0);
    ledger.observe(&Observation::Released { flow, message: 1, at_ns: RELEASE_NS, bytes: 0 });
    tell(&mut ledger, flow);
    ledger.close(END_NS)
}

fn host(plan: &Plan, name: &str) -> u16 {
    let place = plan.network.hosts.iter().position(|h| h.name == name).expect("a host");
    u16::try_from(place).expect("few hosts")
}

fn delivered(plan: &Plan, flow: u16, target: &str, at_ns: u64) -> Observation {
    let host = host(plan, target);
    Observation::Delivered { flow, message: 1, host, release_ns: RELEASE_NS, at_ns }
}

fn stall(node: &str) -> Observation {
    Observation::Stall { node: node.into(), from_ns: RELEASE_NS, length_ns: 50_000_000 }
}

fn dropped(flow: u16, reason: &str, at_ns: u64) -> Observation {
    Observation::Dropped {
        node: "sw1".into(),
        port: 1,
        reason: reason.into(),
        cookie: u64::from(flow) + 1,
        message: Some((flow, 1)),
        frames: 1,
        at_ns,
    }
}

#[test]
fn a_late_message_is_undecided_only_if_its_way_stalled() {
    let plan = planned("vehicle.yaml");
    let late = |node: Option<&str>| {
        judged(&plan, "LIDAR", |ledger, flow| {
            ledger.observe(&delivered(&plan, flow, "d1", RELEASE_NS + 40_000_000));
            if let Some(node) = node {
                ledger.observe(&stall(node));
            }
        })
    };
    assert_eq!(late(None).verdict, Verdict::Violated);
    // d2 is on no way from s1 to d1.
    assert_eq!(late(Some("d2")).verdict, Verdict::Violated);
    for node in ["s1", "sw1", "sw2", "sw3", "d1"] {
        let run = late(Some(node));
        assert_eq!(run.verdict, Verdict::Undecided, "{node}: {}", run.summary);
        assert_eq!(run.flows.iter().map(|row| row.undecided).sum::<u64>(), 1);
    }
    let summary = late(Some("sw2")).summary;
    assert_eq!(
        summary,
        "UNDECIDED: 1 message above bound or missing while this machine stalled 50.0 ms at 1.000 s \
         (sw2); 0 others within bound, 0 lost."
    );
}

#[test]
fn what_a_stall_made_lost_or_policed_is_undecided() {
    let plan = planned("vehicle.yaml");
    for reason in ["policed", "buffer_full"] {
        let run = |node: &str| {
            judged(&plan, "LIDAR", |ledger, flow| {
                ledger.observe(&dropped(flow, reason, RELEASE_NS + 1_000));
                ledger.observe(&stall(node));
            })
        };
        assert_eq!(run("d2").verdict, Verdict::Violated, "{reason}");
        assert_eq!(run("s1").verdict, Verdict::Undecided, "{reason}");
    }
}

#[test]
fn a_meter_remembers_the_message_that_a_stall_made_late() {
    let plan = planned("vehicle.yaml");
    // LIDAR has a period of 25 ms; the stall was over 20 ms before the release.
    let run = |reason: &str| {
        judged(&plan, "LIDAR", |ledger, flow| {
            let from_ns = RELEASE_NS - 30_000_000;
            let length_ns = 10_000_000;
            ledger.observe(&Observation::Stall { node: "s1".into(), from_ns, length_ns });
            ledger.observe(&dropped(flow, reason, RELEASE_NS + 1_000));
        })
    };
    assert_eq!(run("policed").verdict, Verdict::Undecided);
    assert_eq!(run("buffer_full").verdict, Verdict::Violated);
}

/// Whoever forges a command of Attendre is told of as one who forges a mode signal.
#[test]
fn forged_commands_are_among_what_was_turned_away() {
    let plan = planned("vehicle.yaml");
    for reason in ["signal_rejected", "command_rejected"] {
        let forged = Observation::Dropped {
            node: "sw1".into(),
            port: 1,
            reason: reason.into(),
            cookie: 0,
            message: None,
            frames: 3,
            at_ns: RELEASE_NS,
        };
        let run = judged(&plan, "LIDAR", |ledger, flow| {
            ledger.observe(&delivered(&plan, flow, "d1", RELEASE_NS + 1_000_000));
            ledger.observe(&forged);
        });
        let rows =
            run.policed.iter().map(|row| (row.reason.as_str(), row.switch.as_str(), row.frames));
        assert_eq!(rows.collect::<Vec<_>>(), [(reason, "sw1", 3)]);
    }
}

/// A program's datagram has no stamp: its source tells when it was released, its target when it came,
/// whoever of the two is heard first; of two copies the first counts.
#[test]
fn datagrams_of_programs_are_judged_by_what_both_ends_tell() {
    let plan = planned("vehicle.yaml");
    let message = PROGRAM_MESSAGES | 7;
    let run = |is_late: bool, is_target_first: bool| {
        judged(&plan, "LIDAR", |ledger, flow| {
            ledger.observe(&delivered(&plan, flow, "d1", RELEASE_NS + 1_000_000));
            let at_ns = RELEASE_NS + if is_late { 900_000_000 } else { 1_000_000 };
            let host = host(&plan, "d1");
            let handed =
                [at_ns, at_ns + 1].map(|at_ns| Observation::Handed { flow, message, host, at_ns });
            let released = Observation::Released { flow, message, at_ns: RELEASE_NS, bytes: 6 };
            let told = match is_target_first {
                true => [&handed[0], &handed[1], &released],
                false => [&released, &handed[0], &handed[1]],
            };
            told.into_iter().for_each(|it| ledger.observe(it));
        })
    };
    for is_target_first in [false, true] {
        let kept = run(false, is_target_first);
        assert_eq!(kept.violations, []);
        let counts = kept.flows.iter().map(|row| (row.sent, row.received, row.lost));
        assert_eq!(counts.filter(|it| it.0 > 0).collect::<Vec<_>>(), [(2, 2, 0)]);
        assert_eq!(kept.releases.len(), 1, "what a program sent is not repeated");
        assert_eq!(run(true, is_target_first).verdict, Verdict::Violated);
    }
    // An arrival of which no source tells is of no run.
    let alone = judged(&plan, "LIDAR", |ledger, flow| {
        ledger.observe(&delivered(&plan, flow, "d1", RELEASE_NS + 1_000_000));
        let (host, at_ns) = (host(&plan, "d1"), END_NS);
        ledger.observe(&Observation::Handed { flow, message, host, at_ns });
    });
    assert_eq!(alone.violations, []);
}

#[test]
fn what_is_turned_away_before_traffic_starts_is_no_news() {
    let plan = planned("vehicle.yaml");
    let run = judged(&plan, "LIDAR", |ledger, flow| {
        ledger.observe(&delivered(&plan, flow, "d1", RELEASE_NS + 1_000_000));
        ledger.observe(&dropped(flow, "signal_rejected", START_NS - 1));
    });
    assert!(run.policed.is_empty(), "{:?}", run.policed);
    assert_eq!(run.verdict, Verdict::Kept, "{}", run.summary);
}

#[test]
fn skew_is_judged_by_its_limit_and_what_the_machine_adds() {
    let plan = planned("avionics.yaml");
    let flow = &plan.network.flows[0];
    let (target, limit_ns) = (flow.targets[0].host.as_str(), flow.skew_max_ns.expect("a limit"));
    let run = |skew_ns: u64, stalled: bool| {
        judged(&plan, &flow.name, |ledger, index| {
            for target in &flow.targets {
                ledger.observe(&delivered(&plan, index, &target.host, RELEASE_NS + 100_000));
            }
            let host = host(&plan, target);
            ledger.observe(&Observation::Skew { flow: index, message: 1, host, skew_ns });
            if stalled {
                ledger.observe(&stall(target));
            }
        })
    };
    assert_eq!(run(limit_ns + HOST_NS, false).verdict, Verdict::Kept);
    let broken = run(limit_ns + HOST_NS + 1, false);
    assert_eq!(broken.verdict, Verdict::Violated);
    let [violation] = &broken.violations[..] else { panic!("{:?}", broken.violations) };
    assert_eq!((violation.kind.as_str(), violation.bound), ("skew", Some(limit_ns + HOST_NS)));
    assert_eq!(broken.flows[0].skew_limit_ns, Some(limit_ns), "as the description says");
    assert_eq!(run(limit_ns + HOST_NS + 1, true).verdict, Verdict::Undecided);
}

/// A raise whose trigger is heard late, and whether the network returns from it.
fn raised(plan: &Plan, returns: bool) -> RunDocument {
    let deployed = plan.switches.iter().find(|d| d.switch == "sw1").expect("a switch");
    let monitor = deployed.monitors.first().expect("CAM is watched there").id;
    let swapped = |switch: &str, (epoch, from, to), at_ns| Observation::Swapped {
        switch: switch.into(),
        epoch,
        from,
        to,
        admitted: to,
        purged: 0,
        at_ns,
        took_ns: 0,
    };
    judged(plan, "LIDAR", |ledger, flow| {
        ledger.observe(&delivered(plan, flow, "d1", RELEASE_NS + 1_000_000));
        ledger.observe(&swapped("sw2", (2, 0, 1), RELEASE_NS + 300_000));
        let (switch, at_ns) = ("sw1".to_owned(), RELEASE_NS);
        ledger.observe(&Observation::Violation { switch, monitor, wanted: 1, at_ns });
        ledger.observe(&swapped("sw1", (2, 0, 1), RELEASE_NS + 100_000));
        ledger.observe(&swapped("sw3", (2, 0, 1), RELEASE_NS + 400_000));
        for switch in ["sw1", "sw2", "sw3"].into_iter().filter(|_| returns) {
            ledger.observe(&swapped(switch, (3, 1, 0), RELEASE_NS + 500_000_000));
        }
    })
}

#[test]
fn a_trigger_that_is_heard_after_a_swap_belongs_to_it() {
    let run = raised(&planned("vehicle.yaml"), true);
    let [raise, _] = &run.mode_changes[..] else { panic!("{:#?}", run.mode_changes) };
    assert_eq!((raise.trigger.as_str(), raise.observed_ns), ("CAM, seen by sw1", Some(400_000)));
    assert_eq!(run.verdict, Verdict::Kept, "{}", run.summary);
}

#[test]
fn a_return_that_never_begins_is_late() {
    let run = raised(&planned("vehicle.yaml"), false);
    let notes: Vec<_> = run.violations.iter().map(|it| (&*it.kind, &*it.note)).collect();
    assert_eq!(notes, [("mode_change", "no switch has returned")], "{}", run.summary);
    assert_eq!(run.verdict, Verdict::Violated);
}
