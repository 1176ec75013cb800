//! Changes of several switches: in order, all or none, and in no raise's way.

use super::fake_switch::{FakeSwitch, Held};
use super::lab::{Lab, deployment, entry, modes, output, plain_deployment};
use crate::{
    Approach, ConnId, ControllerConfig, ControllerEvent, ControllerLimits, ControllerTimer,
    InstallKind, InstallLimits, InstallTimer,
};
use std::collections::BTreeMap;
use tenuto_model::{
    EntrySpec, LevelContract, MonitorKind, MonitorSpec, OutputSpec, SwitchDeployment,
};
use tenuto_openflow::{Body, Experimenter, ModesMessage};
use tenuto_units::Span;

const SWITCHES: [u64; 3] = [1, 2, 3];

/// Two flows in two modes, and perhaps a third in front of them, so that ids of all others move.
fn plan(has_third: bool, period_ns: u64) -> Vec<SwitchDeployment> {
    let with = |dpid: u64| {
        let mut it = deployment(dpid);
        it.monitors[0].contracts[0].period_ns = period_ns;
        if has_third {
            for monitor in &mut it.monitors {
                monitor.id = 2;
            }
            for entry in &mut it.entries {
                entry.monitor = entry.monitor.map(|_| 2);
            }
            let contracts =
                vec![LevelContract { level: 0, bytes_max: 99, period_ns: 7, jitter_ns: 0 }];
            let (flow, kind) = ("F3".to_owned(), MonitorKind::Frame);
            it.monitors.push(MonitorSpec { id: 1, flow, kind, contracts });
            let out = |level, port| EntrySpec {
                output: Some(OutputSpec::Port(output(port, 1))),
                ..entry(2, Some(level), 100, 3)
            };
            let watch = EntrySpec { monitor: Some(1), goto: Some(1), ..entry(0, None, 100, 3) };
            it.entries.extend([watch, out(0, 2), out(1, 3)]);
        }
        it
    };
    SWITCHES.map(with).to_vec()
}

fn lab_of(plan: Vec<SwitchDeployment>, messages_per_turn: usize) -> Lab {
    let install =
        InstallLimits { approach: Approach::Change, messages_per_turn, ..InstallLimits::default() };
    let limits = ControllerLimits { install, ..ControllerLimits::default() };
    Lab::with_limits(plan, modes(2, &SWITCHES), limits)
}

/// Switches that run a plan in the raised mode.
fn running() -> (Lab, Vec<ConnId>) {
    let mut lab = lab_of(plan(false, 25_000_000), 1);
    let conns: Vec<_> = SWITCHES.iter().map(|&dpid| lab.connect(FakeSwitch::new(dpid))).collect();
    lab.settle();
    assert!(lab.controller.is_ready(), "{}", lab.told());
    for conn in &conns {
        assert_eq!(lab.switch(*conn).active, Some((1, 0)), "started when all were confirmed");
        lab.switch(*conn).active = Some((5, 1));
        lab.switch(*conn).log.clear();
    }
    lab.events.clear();
    (lab, conns)
}

/// By level, table, priority and match: the cookie, and the contracts of what an entry leads past.
fn meaning(held: &Held) -> BTreeMap<String, String> {
    let one = |instruction: &tenuto_openflow::Instruction| match instruction {
        tenuto_openflow::Instruction::Meter(id) => format!("{:?}", held.meters.get(id)),
        tenuto_openflow::Instruction::ApplyActions(actions) => {
            let action = |action: &tenuto_openflow::Action| match action {
                tenuto_openflow::Action::Group(id) => format!("{:?}", held.groups.get(id)),
                tenuto_openflow::Action::Monitor(id) => format!("{:?}", held.monitors.get(id)),
                other => format!("{other:?}"),
            };
            actions.iter().map(action).collect()
        }
        other => format!("{other:?}"),
    };
    let entry = |(key, (cookie, _, list)): (_, &(u64, _, Vec<_>))| {
        (format!("{key:?}"), format!("{cookie} {:?}", list.iter().map(one).collect::<Vec<_>>()))
    };
    let mut all: BTreeMap<String, String> = held.entries.iter().map(entry).collect();
    all.insert("monitors".into(), held.monitors.len().to_string());
    all.insert("meters".into(), held.meters.len().to_string());
    all
}

fn meanings(lab: &Lab, conns: &[ConnId]) -> Vec<BTreeMap<String, String>> {
    conns.iter().map(|conn| meaning(&lab.switches[conn].held)).collect()
}

fn activations(lab: &Lab, conns: &[ConnId]) -> usize {
    let is_one = |body: &&Body| {
        matches!(body, Body::Experimenter(Experimenter::Modes(ModesMessage::ModeActivate { .. })))
    };
    conns.iter().flat_map(|conn| lab.switches[conn].log.iter()).filter(is_one).count()
}

fn change(lab: &mut Lab, plan: &[SwitchDeployment]) {
    let now = lab.now;
    let nearest = [vec![3], vec![2], vec![1]];
    assert!(lab.controller.change(now, plan, &modes(2, &SWITCHES), &nearest));
}

/// Goes on step by step, and looks at what switches hold after each.
fn settle_looking(lab: &mut Lab, mut look: impl FnMut(&Lab)) {
    for _ in 0..100_000 {
        let moved = lab.exchange();
        look(lab);
        if moved {
            continue;
        }
        let mut turn = None;
        lab.controller.for_each_deadline(|timer, at| {
            if matches!(timer, ControllerTimer::Install(_, InstallTimer::Turn)) {
                turn = turn.or(Some((timer, at)));
            }
        });
        let Some((timer, at)) = turn else { return };
        lab.now = lab.now.max(at);
        lab.controller.fire(timer, lab.now);
    }
    panic!("it never settles");
}

#[test]
fn a_flow_comes_to_its_destination_first_and_goes_from_its_source_first() {
    let (mut lab, conns) = running();
    let has_third = |lab: &Lab| -> Vec<usize> {
        let of = |conn: &ConnId| {
            lab.switches[conn].held.entries.values().filter(|(cookie, ..)| *cookie == 3).count()
        };
        conns.iter().map(of).collect()
    };
    let in_order = |lab: &Lab| {
        let counts = has_third(lab);
        assert!(counts[0] == 0 || counts[1] == 3, "{counts:?}");
        assert!(counts[1] == 0 || counts[2] == 3, "{counts:?}");
    };
    change(&mut lab, &plan(true, 25_000_000));
    settle_looking(&mut lab, in_order);
    assert_eq!((has_third(&lab), lab.ready()), (vec![3, 3, 3], 1), "{}", lab.told());
    lab.events.clear();
    change(&mut lab, &plan(false, 25_000_000));
    settle_looking(&mut lab, in_order);
    assert_eq!((has_third(&lab), lab.ready()), (vec![0, 0, 0], 1), "{}", lab.told());
    assert_eq!(activations(&lab, &conns), 0, "the raise is left alone");
    assert!(conns.iter().all(|conn| lab.switches[conn].active == Some((5, 1))));
}

#[test]
fn a_refusal_of_any_command_by_any_switch_undoes_the_change_everywhere() {
    for to_third in [true, false] {
        let (mut first, conns) = running();
        if !to_third {
            change(&mut first, &plan(true, 25_000_000));
            first.settle();
        }
        for place in 0..3 {
            let mut undone = 0;
            for refused in 1.. {
                assert!(refused < 100, "there is an end");
                let mut lab = first.clone();
                lab.events.clear();
                let before = meanings(&lab, &conns);
                lab.switch(conns[place]).refuse_at = Some(refused);
                change(&mut lab, &plan(to_third, 30_000_000));
                lab.settle();
                let refusals = lab
                    .events
                    .iter()
                    .filter(|event| matches!(event, ControllerEvent::ChangeRefused { .. }));
                let refusals = refusals.count();
                assert!(lab.controller.is_ready() && lab.ready() == 1, "{}", lab.told());
                assert_eq!(activations(&lab, &conns), 0);
                if lab.switch(conns[place]).refuse_at.is_some() {
                    assert_eq!(refusals, 0);
                    assert_ne!(meanings(&lab, &conns), before);
                    break;
                }
                assert_eq!(refusals, 1, "command {refused} of {place}: {}", lab.told());
                assert_eq!(meanings(&lab, &conns), before, "command {refused}: {}", lab.told());
                undone += 1;
            }
            assert!(undone >= 4, "monitors and entries of both modes: {undone}");
        }
    }
}

#[test]
fn a_switch_that_goes_is_not_waited_for_and_gets_the_new_plan_when_it_returns() {
    let (mut lab, conns) = running();
    change(&mut lab, &plan(true, 25_000_000));
    lab.exchange();
    let gone = lab.cut(conns[1]);
    lab.settle();
    assert!(!lab.controller.is_ready() && !lab.controller.is_changing());
    let back = lab.connect(gone);
    lab.settle();
    assert!(lab.controller.is_ready(), "{}", lab.told());
    let all = [conns[0], back, conns[2]];
    let held = meanings(&lab, &all);
    assert!(held.iter().all(|it| it["monitors"] == "2"), "{held:?}");
    assert_eq!(activations(&lab, &all), 0);
}

#[test]
fn a_new_controller_ends_what_a_killed_one_began_and_leaves_the_mode() {
    let (first, conns) = running();
    for steps in 0..200 {
        let mut lab = first.clone();
        lab.events.clear();
        change(&mut lab, &plan(true, 30_000_000));
        let mut left = steps;
        while left > 0 && lab.controller.is_changing() {
            if !lab.exchange() {
                lab.now += Span::from_ms(10);
                let now = lab.now;
                lab.controller.fire_due(now);
            }
            left -= 1;
        }
        let was_over = !lab.controller.is_changing();
        let mut second = lab_of(plan(true, 30_000_000), 64);
        let conns: Vec<_> = conns.iter().map(|conn| second.connect(lab.cut(*conn))).collect();
        second.settle();
        assert!(second.controller.is_ready(), "{}", second.told());
        assert!(second.installed().iter().all(|(_, kind)| *kind != InstallKind::Fresh));
        assert_eq!(activations(&second, &conns), 0);
        for conn in &conns {
            let held = &second.switches[conn].held;
            assert_eq!(second.switches[conn].active, Some((5, 1)), "the raise is left alone");
            let mut periods: Vec<u64> = held.monitors.values().map(|it| it[0].period_ns).collect();
            periods.sort_unstable();
            assert_eq!(periods, [7, 30_000_000], "contracts are said again: no switch tells them");
        }
        if was_over {
            return;
        }
    }
    panic!("the change never ended");
}

#[test]
fn each_switch_is_written_to_at_its_own_pace() {
    let slow = InstallLimits {
        approach: Approach::Change,
        messages_per_turn: 1,
        turn: Span::from_ms(100),
        ..InstallLimits::default()
    };
    let config = ControllerConfig {
        manages: SWITCHES.to_vec(),
        deployments: SWITCHES.map(plain_deployment).to_vec(),
        modes: modes(1, &SWITCHES),
        epoch: 1,
        install_of: BTreeMap::from([(2, slow)]),
        ..ControllerConfig::default()
    };
    let mut lab = Lab::with_config(config);
    let conns: Vec<_> = SWITCHES.iter().map(|&dpid| lab.connect(FakeSwitch::new(dpid))).collect();
    let mut most = 0;
    let (mut seen, mut turn_began) = (0, lab.now);
    settle_looking(&mut lab, |lab| {
        let is_paced = |body: &&Body| {
            !matches!(body, Body::Hello(_) | Body::FeaturesRequest | Body::SetConfig(_))
        };
        let sent = lab.switches[&conns[1]].log.iter().filter(is_paced).count();
        if lab.now.since(turn_began) >= Span::from_ms(100) {
            (seen, turn_began) = (sent, lab.now);
        }
        most = most.max(sent - seen);
    });
    assert!(lab.switches[&conns[1]].log.len() > 10);
    assert!(most <= 1, "{most} messages in 100 ms");
}
