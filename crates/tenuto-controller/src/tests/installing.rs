use super::fake_switch::FakeSwitch;
use super::lab::{Lab, deployment, entry, modes, output, plain_deployment};
use crate::{
    ControllerEvent, ControllerLimits, InstallFailure, InstallKind, InstallLimits, InstallTimer,
};
use proptest::prelude::*;
use tenuto_model::{EntrySpec, GroupSpec, MeterSpec, OutputSpec, SwitchDeployment};
use tenuto_openflow::{Body, Experimenter, FlowModFailed, ModesMessage};
use tenuto_units::Span;

fn failure(lab: &Lab) -> Option<InstallFailure> {
    lab.events.iter().find_map(|event| match event {
        ControllerEvent::InstallFailed { failure, .. } => Some(failure.clone()),
        _ => None,
    })
}

/// What a fresh installation of this deployment leaves in a switch.
fn fresh(deployment: &SwitchDeployment) -> super::fake_switch::Held {
    let mut lab = Lab::of(vec![deployment.clone()], modes(2, &[deployment.datapath_id]));
    let conn = lab.connect(FakeSwitch::new(deployment.datapath_id));
    lab.settle();
    assert!(lab.controller.is_ready(), "{}", lab.told());
    lab.cut(conn).held
}

#[test]
fn an_installed_switch_holds_the_deployment_and_nothing_else() {
    let mut lab = Lab::new(&[1]);
    let mut switch = FakeSwitch::new(1);
    // Left over from something else.
    let mut old = plain_deployment(1);
    old.meters.push(MeterSpec { id: 9, flow: None, rate_bps: 1_000, burst_bytes: 125 });
    old.groups.push(GroupSpec { id: 9, outputs: vec![output(1, 1)] });
    switch.held = fresh(&old);
    switch.held.monitors.insert(77, Vec::new());
    let conn = lab.connect(switch);
    lab.settle();
    assert_eq!(lab.installed(), [(1, InstallKind::Fresh)]);
    assert_eq!(lab.switch(conn).held, fresh(&deployment(1)));
    let held = &lab.switch(conn).held;
    assert_eq!((held.entries.len(), held.groups.len(), held.meters.len()), (9, 1, 2));
    assert_eq!((held.monitors.len(), held.config.is_some()), (1, true));
    assert!(lab.controller.is_ready());
}

#[test]
fn a_switch_may_answer_in_its_own_order_and_in_parts() {
    let mut lab = Lab::new(&[1]);
    lab.connect(FakeSwitch { is_contrary: true, ..FakeSwitch::new(1) });
    lab.settle();
    assert!(lab.controller.is_ready(), "{}", lab.told());
}

#[test]
fn nothing_counts_as_installed_before_barrier_and_read_back() {
    let mut lab = Lab::new(&[1]);
    let conn = lab.connect(FakeSwitch::new(1));
    for _ in 0..100 {
        let held = lab.switch(conn).held.clone();
        if !lab.exchange() {
            break;
        }
        if !lab.installed().is_empty() {
            assert_eq!(held, fresh(&deployment(1)));
            let last = lab.switch(conn).log.iter().rposition(|b| *b == Body::BarrierRequest);
            assert!(last.is_some());
        }
    }
    assert!(lab.controller.is_ready());
}

#[test]
fn a_switch_that_only_lost_its_channel_is_adopted_untouched() {
    let mut lab = Lab::new(&[1]);
    let conn = lab.connect(FakeSwitch::new(1));
    lab.settle();
    let mut switch = lab.cut(conn);
    switch.log.clear();
    let conn = lab.connect(switch);
    lab.settle();
    assert_eq!(lab.installed(), [(1, InstallKind::Fresh), (1, InstallKind::Adopted)]);
    assert_eq!(lab.switch(conn).commands().count(), 0);
    assert_eq!(lab.ready(), 2);
}

#[test]
fn another_generation_is_not_adopted() {
    let mut lab = Lab::new(&[1]);
    let mut switch = FakeSwitch::new(1);
    switch.held = fresh(&deployment(1));
    switch.held.config.as_mut().expect("a config").generation = 2;
    lab.connect(switch);
    lab.settle();
    assert_eq!(lab.installed(), [(1, InstallKind::Fresh)]);
}

#[test]
fn an_update_sends_differences_and_its_reversal_undoes_it() {
    let mut lab = Lab::new(&[1]);
    let conn = lab.connect(FakeSwitch::new(1));
    lab.settle();
    let before = lab.switch(conn).held.clone();
    let mut changed = deployment(1);
    changed.meters[1].rate_bps = 200_003;
    changed.entries.push(EntrySpec {
        output: Some(OutputSpec::Port(output(3, 2))),
        ..entry(2, Some(0), 100, 5)
    });
    lab.switch(conn).log.clear();
    let now = lab.now;
    lab.controller.update(now, std::slice::from_ref(&changed), modes(2, &[1]));
    assert!(!lab.controller.is_ready());
    lab.settle();
    assert_eq!(lab.switch(conn).commands().count(), 2, "one meter, one entry");
    assert_eq!(lab.switch(conn).held, fresh(&changed));
    assert_eq!(lab.installed().last(), Some(&(1, InstallKind::Updated)));
    lab.controller.update(now, &[deployment(1)], modes(2, &[1]));
    lab.settle();
    assert_eq!(lab.switch(conn).held, before);
    assert_eq!(lab.ready(), 3);
}

/// What a switch says in kbit of a meter that was told in bytes is not the same.
#[test]
fn a_meter_that_a_switch_rounds_is_found_out() {
    let mut lab = Lab::new(&[1]);
    let conn = lab.connect(FakeSwitch::new(1));
    while lab.switch(conn).held.entries.len() < 9 {
        assert!(lab.exchange());
    }
    let held = &mut lab.switch(conn).held;
    held.meters.get_mut(&2).expect("meter 2").1[0] =
        tenuto_openflow::MeterBand::Drop { rate: 101, burst_size: 13 };
    lab.settle();
    assert_eq!(failure(&lab), Some(InstallFailure::Differs { fields: 2 }));
    let told = lab.told();
    assert!(told.contains("meter 2: rate_bps shall be 100001, is 101000"), "{told}");
    assert!(told.contains("meter 2: burst_bytes shall be 1519, is 1625"), "{told}");
}

#[test]
fn an_update_during_an_installation_begins_anew() {
    let mut lab = Lab::new(&[1]);
    let conn = lab.connect(FakeSwitch::new(1));
    (0..8).for_each(|_| {
        lab.exchange();
    });
    let mut changed = deployment(1);
    changed.entries.pop();
    let now = lab.now;
    lab.controller.update(now, std::slice::from_ref(&changed), modes(2, &[1]));
    lab.settle();
    assert!(lab.controller.is_ready(), "{}", lab.told());
    assert_eq!(lab.switch(conn).held, fresh(&changed));
}

#[test]
fn a_session_lost_at_any_step_ends_in_the_same_state() {
    let wanted = fresh(&deployment(1));
    for steps in 0..24 {
        let mut lab = Lab::new(&[1]);
        let conn = lab.connect(FakeSwitch::new(1));
        (0..steps).for_each(|_| {
            lab.exchange();
        });
        let switch = lab.cut(conn);
        assert!(!lab.controller.is_ready());
        let conn = lab.connect(switch);
        lab.settle();
        assert!(lab.controller.is_ready(), "after {steps} steps: {}", lab.told());
        assert_eq!(lab.switch(conn).held, wanted);
    }
}

#[test]
fn refused_commands_are_told_by_name_and_fail_the_installation() {
    let mut lab = Lab::new(&[1]);
    let refuse = |body: &Body| {
        let full = matches!(body, Body::FlowMod(flow_mod) if flow_mod.cookie == 2);
        full.then(|| FlowModFailed::TableFull.into())
    };
    lab.connect(FakeSwitch { refuse, ..FakeSwitch::new(1) });
    lab.settle();
    assert_eq!(failure(&lab), Some(InstallFailure::Refused { commands: 2 }));
    let told = lab.told();
    let line = "refused ADD entry of flow F2 (table 1, level 0, priority 100): OFPFMFC_TABLE_FULL";
    assert!(told.contains(line), "{told}");
    assert!(!lab.controller.is_ready() && lab.installed().is_empty());
}

#[test]
fn a_switch_that_forgets_is_found_out_by_name() {
    let mut lab = Lab::new(&[1]);
    let conn = lab.connect(FakeSwitch::new(1));
    // Tamper between the last command and the read-back.
    while lab.switch(conn).held.entries.len() < 9 {
        assert!(lab.exchange());
    }
    let held = &mut lab.switch(conn).held;
    held.meters.get_mut(&1).expect("meter 1").1[0] =
        tenuto_openflow::MeterBand::Drop { rate: 4_999, burst_size: 64 };
    held.meters.get_mut(&2).expect("meter 2").1[0] =
        tenuto_openflow::ExactDrop { rate_bps: 100_001, burst_bytes: 1_518 }.into();
    held.monitors.clear();
    let key = held.entries.keys().next_back().cloned().expect("entries");
    held.entries.remove(&key);
    lab.settle();
    assert_eq!(failure(&lab), Some(InstallFailure::Differs { fields: 4 }));
    let told = lab.told();
    assert!(told.contains("meter 2: burst_bytes shall be 1519, is 1518"), "{told}");
    assert!(told.contains("meter 1: rate_bps shall be 5000000, is 4999000"), "{told}");
    assert!(told.contains("monitor 1: presence shall be there, is missing"), "{told}");
    let missing = "entry of flow F1 (table 2, level 1, priority 100): presence shall be there";
    assert!(told.contains(missing), "{told}");
}

#[test]
fn a_plain_switch_gets_a_plain_deployment_without_a_word_of_ours() {
    let mut lab = Lab::of(vec![plain_deployment(1)], modes(1, &[1]));
    let conn = lab.connect(FakeSwitch { knows_modes: false, ..FakeSwitch::new(1) });
    lab.settle();
    assert!(lab.controller.is_ready());
    let ours = |body: &Body| matches!(body, Body::Experimenter(_));
    assert!(!lab.switch(conn).log.iter().any(ours));
}

#[test]
fn a_plain_switch_that_shall_know_modes_is_a_clear_failure() {
    let mut lab = Lab::new(&[1]);
    let conn = lab.connect(FakeSwitch { knows_modes: false, ..FakeSwitch::new(1) });
    lab.settle();
    assert_eq!(failure(&lab), Some(InstallFailure::ModesUnsupported));
    assert!(lab.told().contains("switch does not support modes"));
    assert_eq!(lab.switch(conn).commands().count(), 0, "found out before anything is changed");
}

#[test]
fn a_deployment_that_names_things_twice_is_refused() {
    let mut twice = deployment(1);
    twice.entries.push(EntrySpec { level: Some(0), ..twice.entries[0].clone() });
    let mut lab = Lab::of(vec![twice], modes(2, &[1]));
    lab.connect(FakeSwitch::new(1));
    lab.settle();
    assert_eq!(failure(&lab), Some(InstallFailure::Ambiguous { clashes: 1 }));
}

#[test]
fn messages_are_paced_by_turns() {
    let install = InstallLimits {
        messages_per_turn: 3,
        turn: Span::from_ms(10),
        unconfirmed_max: 4,
        ..InstallLimits::default()
    };
    let limits = ControllerLimits { install, ..ControllerLimits::default() };
    let mut lab = Lab::with_limits(vec![deployment(1)], modes(2, &[1]), limits);
    let conn = lab.connect(FakeSwitch::new(1));
    while lab.exchange() {}
    // Hello, features, set-config; then three messages of the installation and no more.
    assert_eq!(lab.switch(conn).log.len(), 6);
    let begun = lab.now;
    lab.settle();
    assert!(lab.controller.is_ready());
    // 6 readings, twice; 2 deletions, 5 objects, 9 entries; 1 + 2 + 3 barriers of at most 4
    // commands. 34 messages take 12 turns, the first at once.
    assert_eq!(lab.now.since(begun), Span::from_ms(110));
}

#[test]
fn a_switch_that_does_not_answer_fails_by_its_timer() {
    let mut lab = Lab::new(&[1]);
    let conn = lab.connect(FakeSwitch::new(1));
    while lab.switch(conn).held.meters.is_empty() {
        assert!(lab.exchange());
    }
    lab.switch(conn).take_output();
    lab.switch(conn).is_mute = true;
    lab.settle();
    let now = lab.now + Span::from_s(10);
    let timer = crate::ControllerTimer::Install(conn, InstallTimer::Reply);
    lab.controller.for_each_deadline(|t, at| assert!(t != timer || at <= now));
    lab.controller.fire(timer, now);
    lab.settle();
    assert_eq!(failure(&lab), Some(InstallFailure::NoReply { to: "barrier".into() }));
}

fn some_deployment() -> impl Strategy<Value = SwitchDeployment> {
    let entry_ = (0_u8..3, prop::option::of(0_u8..2), 1_u16..3, 1_u64..4, 0_u8..4);
    let entries = prop::collection::vec(entry_, 0..12);
    (prop::collection::btree_map(1_u32..4, 1_u32..3, 0..4), entries).prop_map(
        |(objects, entries)| {
            let mut deployment = SwitchDeployment { datapath_id: 1, ..SwitchDeployment::default() };
            for (&id, &variant) in &objects {
                // One goes as a band of OpenFlow, the other as ours.
                let (rate_bps, burst_bytes) =
                    (u64::from(variant) * 100_000, 1_624 + u64::from(variant));
                deployment.meters.push(MeterSpec { id, flow: None, rate_bps, burst_bytes });
                let outputs = vec![output(variant, 0)];
                deployment.groups.push(GroupSpec { id, outputs });
            }
            let first = objects.keys().next().copied();
            for (table, level, precedence, cookie, what) in entries {
                let mut spec = entry(table, level, precedence, cookie);
                match what {
                    0 => spec.output = first.map(OutputSpec::Group),
                    1 => spec.meter = first,
                    2 => spec.output = Some(OutputSpec::Port(output(1, 1))),
                    _ => {}
                }
                let level = |spec: &EntrySpec| spec.level.unwrap_or(0);
                let key = |s: &EntrySpec| (s.table, level(s), s.precedence, s.cookie);
                if deployment.entries.iter().all(|other| key(other) != key(&spec)) {
                    deployment.entries.push(spec);
                }
            }
            deployment
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Apply, revert, compare: however a switch came to a deployment, it holds the same.
    #[test]
    fn updates_lead_where_fresh_installations_lead(
        deployments in prop::collection::vec(some_deployment(), 2..5),
    ) {
        let mut lab = Lab::of(vec![deployments[0].clone()], modes(2, &[1]));
        let conn = lab.connect(FakeSwitch::new(1));
        lab.settle();
        for deployment in deployments.iter().skip(1).chain(&deployments[..1]) {
            let now = lab.now;
            lab.switch(conn).log.clear();
            lab.controller.update(now, std::slice::from_ref(deployment), modes(2, &[1]));
            lab.settle();
            prop_assert!(lab.controller.is_ready(), "{}", lab.told());
            prop_assert_eq!(&lab.switch(conn).held, &fresh(deployment));
            let clears = |body: &&Body| matches!(
                body,
                Body::Experimenter(Experimenter::Modes(ModesMessage::ModeConfig(_)))
            );
            prop_assert_eq!(lab.switch(conn).log.iter().filter(clears).count(), 0);
        }
    }
}
