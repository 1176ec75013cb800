//! Before a return: that nothing of the higher mode is left, in circles too.

use super::builder::{MS, contract, findings, flow_of, quick, ring, vehicle};
use crate::plan;
use tenuto_model::{Network, Plan, Profile, Size, Transition};

const RETURN: Transition = Transition::Return { from: 1, to: 0 };

/// Six switches in a ring that know modes; every other flow sends more in the higher one, the others
/// end.
fn modal_ring() -> Network {
    let low = contract(Size::FrameBytes(600), 4 * MS, 0);
    let mut it = ring(6, 4, low);
    it.modes = vec!["LO".into(), "HI".into()];
    let tenuto = Profile::built_in("tenuto").expect("a built-in profile");
    it.profiles.insert("tenuto".into(), tenuto);
    it.switches.iter_mut().for_each(|switch| switch.profile = "tenuto".into());
    let high = contract(Size::FrameBytes(1_200), 4 * MS, 0);
    for flow in it.flows.iter_mut().step_by(2) {
        let target = flow.targets[0].clone();
        *flow = flow_of(&flow.name, &flow.source, &[&target.host], vec![low, high]);
        flow.targets[0].routes = target.routes;
    }
    it
}

fn returning(plan: &mut Plan) -> &mut tenuto_model::ModeChangeBound {
    plan.mode_changes.iter_mut().find(|row| row.change == RETURN).expect("a return")
}

#[test]
fn without_a_circle_the_network_settles_by_its_drain() {
    let mut plan = plan(&vehicle(45, 2, 1), &quick());
    let quiet_ns = plan.quiet_ns.expect("a window");
    let row = returning(&mut plan);
    assert!(row.rounds.is_empty());
    let settled = row.settled_ps.expect("no circle");
    // The host of CAM sends on for longer than the change takes.
    assert!(settled > 10 * MS * 1_000, "{settled}");
    assert!(settled <= quiet_ns * 1_000);
    assert_eq!(findings(&plan), Vec::<String>::new());
    returning(&mut plan).settled_ps = Some(settled / 2);
    plan.seal();
    assert!(findings(&plan).iter().any(|it| it.contains("settled after")));
}

#[test]
fn in_a_circle_rounds_prove_that_the_network_settles() {
    let mut planned = plan(&modal_ring(), &quick());
    assert!(planned.feasible, "{:?}", planned.refusals);
    assert_eq!(findings(&planned), Vec::<String>::new());
    assert!(planned.mode_changes[0].drain_ps.is_none(), "a raise has no drain in a circle");
    let rounds = returning(&mut planned).rounds.len();
    assert!(rounds > 0);
    let all_bounded = |plan: &Plan| {
        plan.flows.iter().filter(|r| r.mode == RETURN).all(|row| row.delay_bound_ps.is_some())
    };
    assert!(all_bounded(&planned));
}

#[test]
fn rounds_are_checked() {
    let planned = plan(&modal_ring(), &quick());
    let tampered = |change: &dyn Fn(&mut Plan)| {
        let mut plan = planned.clone();
        change(&mut plan);
        plan.seal();
        findings(&plan)
    };
    let some = |text: &str, found: Vec<String>| {
        assert!(found.iter().any(|it| it.contains(text)), "{text}: {found:?}");
    };
    some("may not have settled", tampered(&|plan| returning(plan).rounds.clear()));
    some("settled after", tampered(&|plan| returning(plan).settled_ps = Some(1_000)));
    some("says when", tampered(&|plan| returning(plan).settled_ps = None));
    some(
        "does not imply",
        tampered(&|plan| {
            let round = &mut returning(plan).rounds[0];
            let trunk = round.ports.iter_mut().find(|it| it.port.node.starts_with('w'));
            trunk.expect("a switch's port").delay_ps /= 2;
        }),
    );
    some(
        "no such mode or raise",
        tampered(&|plan| returning(plan).rounds[0].ports[0].mode = Transition::Steady(7)),
    );
}
