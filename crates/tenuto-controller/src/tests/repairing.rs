//! Changing by differences: what stays is forwarded at every moment, wherever a change is cut.

use super::fake_switch::{FakeSwitch, Held};
use super::lab::{Lab, entry, modes, output};
use crate::{Approach, ConnId, ControllerEvent, ControllerLimits, InstallKind, InstallLimits};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tenuto_model::{EntrySpec, GroupSpec, MeterSpec, OutputSpec, SwitchDeployment};
use tenuto_openflow::{Action, Instruction};

/// Flows by number, and which of two rates each has; ids of meters and groups as a planner counts them.
fn deployment(flows: &BTreeMap<u64, bool>) -> SwitchDeployment {
    let mut all = SwitchDeployment { datapath_id: 1, ..SwitchDeployment::default() };
    for (id, (&flow, &is_fast)) in (1..).zip(flows) {
        let rate_bps = (100 * flow + 50 * u64::from(is_fast)) * 1_000;
        all.meters.push(MeterSpec { id, flow: None, rate_bps, burst_bytes: 1_625 });
        all.entries.push(EntrySpec { meter: Some(id), goto: Some(2), ..entry(1, None, 100, flow) });
        let port = output(2, u8::try_from(flow % 3).expect("small"));
        let to = match flow % 2 {
            0 => OutputSpec::Port(port),
            _ => {
                let outputs = vec![port, output(3, 0)];
                let known = all.groups.iter().find(|group| group.outputs == outputs);
                let known = known.map(|group| group.id);
                OutputSpec::Group(known.unwrap_or_else(|| {
                    let id = u32::try_from(all.groups.len()).expect("few") + 1;
                    all.groups.push(GroupSpec { id, outputs });
                    id
                }))
            }
        };
        all.entries.push(EntrySpec { output: Some(to), ..entry(2, None, 100, flow) });
    }
    all
}

/// What a switch does to frames, ids resolved: by entry, its instructions, meter and groups.
fn meaning(held: &Held) -> BTreeMap<String, String> {
    let one = |instruction: &Instruction| match instruction {
        Instruction::Meter(id) => format!("meter {:?}", held.meters.get(id)),
        Instruction::ApplyActions(actions) => {
            let action = |action: &Action| match action {
                Action::Group(id) => format!("group {:?}", held.groups.get(id)),
                other => format!("{other:?}"),
            };
            actions.iter().map(action).collect::<Vec<_>>().join(" ")
        }
        other => format!("{other:?}"),
    };
    let entries = held.entries.iter();
    entries
        .map(|(key, (_, _, instructions))| {
            (format!("{key:?}"), instructions.iter().map(one).collect::<Vec<_>>().join(", "))
        })
        .collect()
}

/// A message a turn, so that every moment between two commands is seen.
fn lab(flows: &BTreeMap<u64, bool>) -> Lab {
    let install = InstallLimits {
        approach: Approach::Change,
        messages_per_turn: 1,
        ..InstallLimits::default()
    };
    let limits = ControllerLimits { install, ..ControllerLimits::default() };
    Lab::with_limits(vec![deployment(flows)], modes(1, &[1]), limits)
}

/// Carries on for at most so many steps; at each of them what `stays` is as it was.
fn go(lab: &mut Lab, conn: ConnId, stays: &BTreeMap<String, String>, steps: usize) -> usize {
    for done in 0..steps {
        let moved = lab.exchange();
        let now = meaning(&lab.switch(conn).held);
        for (key, value) in stays {
            assert_eq!(now.get(key), Some(value), "step {done}: {}", lab.told());
        }
        if moved {
            continue;
        }
        let mut turn = None;
        lab.controller.for_each_deadline(|timer, at| {
            if matches!(timer, crate::ControllerTimer::Install(_, crate::InstallTimer::Turn)) {
                turn = turn.or(Some((timer, at)));
            }
        });
        let Some((timer, at)) = turn else { return done };
        lab.now = lab.now.max(at);
        lab.controller.fire(timer, lab.now);
    }
    steps
}

fn fresh(flows: &BTreeMap<u64, bool>) -> BTreeMap<String, String> {
    let mut lab = lab(flows);
    let conn = lab.connect(FakeSwitch::new(1));
    lab.settle();
    assert!(lab.controller.is_ready(), "{}", lab.told());
    meaning(&lab.switch(conn).held)
}

/// Entries that do the same before and after.
fn common(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    a.iter()
        .filter(|(key, value)| b.get(*key) == Some(value))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect()
}

fn flows(list: &[u64]) -> BTreeMap<u64, bool> {
    list.iter().map(|flow| (*flow, false)).collect()
}

#[test]
fn a_flow_that_goes_leaves_meters_of_others_alone() {
    let mut lab = lab(&flows(&[1, 2, 3, 4]));
    let conn = lab.connect(FakeSwitch::new(1));
    lab.settle();
    let meters = lab.switch(conn).held.meters.clone();
    lab.switch(conn).log.clear();
    let (now, fewer) = (lab.now, deployment(&flows(&[2, 3, 4])));
    lab.controller.update(now, &[fewer], modes(1, &[1]));
    lab.settle();
    assert!(lab.controller.is_ready(), "{}", lab.told());
    let held = &lab.switch(conn).held.meters;
    assert_eq!(held.len(), 3);
    assert!(held.iter().all(|(id, meter)| meters[id] == *meter), "ids and rates stay");
    assert_eq!(lab.installed().last(), Some(&(1, InstallKind::Updated)));
    // One meter, one group, two entries go; no meter is changed.
    let changed =
        lab.switch(conn).commands().filter(|it| matches!(it, tenuto_openflow::Body::MeterMod(_)));
    assert_eq!(changed.count(), 1);
}

#[test]
fn an_audit_changes_nothing_that_is_right() {
    let mut lab = lab(&flows(&[1, 2, 3]));
    let conn = lab.connect(FakeSwitch::new(1));
    lab.settle();
    lab.switch(conn).log.clear();
    let now = lab.now;
    lab.controller.audit(now);
    lab.settle();
    assert_eq!(lab.switch(conn).commands().count(), 0);
    assert_eq!(lab.installed().last(), Some(&(1, InstallKind::Adopted)));
    assert!(lab.controller.is_ready());
}

#[test]
fn drift_is_told_by_name_and_repaired() {
    let wanted = fresh(&flows(&[1, 2, 3]));
    let mut lab = lab(&flows(&[1, 2, 3]));
    let conn = lab.connect(FakeSwitch::new(1));
    lab.settle();
    let held = &mut lab.switch(conn).held;
    let gone = held.entries.keys().next().cloned().expect("entries");
    held.entries.remove(&gone);
    held.meters.get_mut(&2).expect("meter 2").1[0] =
        tenuto_openflow::MeterBand::Drop { rate: 9, burst_size: 9 };
    let now = lab.now;
    lab.controller.audit(now);
    lab.settle();
    let told = lab.told();
    assert!(told.contains("entry of flow F1") && told.contains("meter 2: rate_bps"), "{told}");
    assert!(
        lab.events.iter().any(|event| matches!(event, ControllerEvent::Differs { dpid: 1, .. }))
    );
    assert_eq!(lab.installed().last(), Some(&(1, InstallKind::Repaired)));
    assert_eq!(meaning(&lab.switch(conn).held), wanted);
}

#[test]
fn what_failed_is_tried_again_by_an_audit() {
    let mut lab = lab(&flows(&[1]));
    let refuse = |body: &tenuto_openflow::Body| {
        let is_entry = matches!(body, tenuto_openflow::Body::FlowMod(_));
        is_entry.then(|| tenuto_openflow::FlowModFailed::TableFull.into())
    };
    let conn = lab.connect(FakeSwitch { refuse, ..FakeSwitch::new(1) });
    lab.settle();
    assert!(!lab.controller.is_ready());
    lab.switch(conn).refuse = |_| None;
    let now = lab.now;
    lab.controller.audit(now);
    lab.settle();
    assert!(lab.controller.is_ready(), "{}", lab.told());
    assert_eq!(meaning(&lab.switch(conn).held), fresh(&flows(&[1])));
}

fn some_flows() -> impl Strategy<Value = BTreeMap<u64, bool>> {
    prop::collection::btree_map(1_u64..8, any::<bool>(), 1..7)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// From any set to any other, cut after any command, by a controller that is new then.
    #[test]
    fn what_both_have_is_forwarded_at_every_moment_of_a_change(
        before in some_flows(), after in some_flows(), cut in 0_usize..60,
    ) {
        let (old, new) = (fresh(&before), fresh(&after));
        let stays = common(&old, &new);
        let mut first = lab(&before);
        let conn = first.connect(FakeSwitch::new(1));
        first.settle();
        let now = first.now;
        first.controller.update(now, &[deployment(&after)], modes(1, &[1]));
        go(&mut first, conn, &stays, cut);
        let switch = first.cut(conn);
        let mut second = lab(&after);
        let conn = second.connect(switch);
        let done = go(&mut second, conn, &stays, 10_000);
        prop_assert!(done < 10_000);
        prop_assert!(second.controller.is_ready(), "{}", second.told());
        prop_assert_eq!(meaning(&second.switch(conn).held), new);
        let held = &second.switch(conn).held;
        prop_assert_eq!(held.meters.len(), after.len(), "nothing is left behind");
    }
}
