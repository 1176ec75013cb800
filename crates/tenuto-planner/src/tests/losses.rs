//! Lost links and disjoint copies: ways around, their bounds, and what is refused.

use super::builder::{MS, contract, findings, flow, link, links, network, quick};
use crate::plan;
use tenuto_model::{Network, Plan, Size};

/// Four switches in a ring, a host at each.
fn square() -> Network {
    let mut it = network(&["a", "b", "c", "d"], &["w1", "w2", "w3", "w4"], "ideal");
    links(
        &mut it,
        &[
            ("a", "w1"),
            ("b", "w2"),
            ("c", "w3"),
            ("d", "w4"),
            ("w1", "w2"),
            ("w2", "w3"),
            ("w3", "w4"),
            ("w4", "w1"),
        ],
    );
    it.tolerates.links_lost = 1;
    let frames = contract(Size::FrameBytes(1_518), 2 * MS, 0);
    it.flows.push(flow("one", "a", &["b"], frames));
    it.flows.push(flow("two", "c", &["b", "d"], frames));
    it
}

#[test]
fn every_used_link_has_a_way_around_with_bounds_of_its_own() {
    let planned = plan(&square(), &quick());
    assert!(planned.feasible, "{:?}", planned.refusals);
    assert_eq!(findings(&planned), Vec::<String>::new());
    let label = |ends: &[tenuto_model::LinkEnd; 2]| format!("{} {}", ends[0].node, ends[1].node);
    let lost: Vec<String> = planned.link_losses.iter().map(|loss| label(&loss.link)).collect();
    assert_eq!(lost, ["w1 w2", "w2 w3", "w3 w4"], "w4 - w1 carries nothing");
    let first = &planned.link_losses[0];
    assert_eq!(first.routes.len(), 1, "only what the link carried goes another way");
    let nodes: Vec<&str> =
        first.routes[0].paths[0].ports.iter().map(|port| port.node.as_str()).collect();
    assert_eq!(nodes, ["a", "w1", "w4", "w3", "w2"]);
    let bound = |rows: &[tenuto_model::FlowBound]| rows[0].delay_bound_ps.expect("a bound");
    assert!(bound(&first.flows) > bound(&planned.flows));
    // Meters, entries and buffers are those that the switches then need.
    assert!(first.table_use.iter().all(|(_, used)| used.entries > 0));
}

/// Switches go on policing a flow that has no way left, for which nothing is analysed: nothing is claimed after such a loss.
#[test]
fn of_a_loss_that_cuts_a_flow_off_nothing_is_claimed() {
    let mut it = network(&["a", "b", "c"], &["w1", "w2", "w3"], "tenuto");
    links(&mut it, &[("a", "w1"), ("b", "w2"), ("c", "w3"), ("w1", "w2"), ("w2", "w3")]);
    it.tolerates.links_lost = 1;
    it.tolerates.babbling_hosts = 1;
    let message = |kb: u32, period_ms| contract(Size::MessageBytes(kb * 1_000), period_ms * MS, 0);
    it.flows.push(flow("one", "c", &["a"], message(2, 25)));
    it.flows.push(flow("two", "c", &["b"], message(50, 40)));
    let planned = plan(&it, &quick());
    assert!(!planned.feasible);
    assert_eq!(findings(&planned), Vec::<String>::new());
    assert!(
        planned.flows.iter().all(|row| row.delay_bound_ps.is_some()),
        "as long as no link is lost"
    );
    let [one, both] = planned.link_losses.as_slice() else { panic!("two links") };
    let rows = one.flows.iter().chain(&both.flows);
    assert!(rows.clone().count() > 0 && rows.clone().all(|row| row.delay_bound_ps.is_none()));
    assert_eq!((one.refusals.len(), both.refusals.len()), (1, 2));
}

#[test]
fn a_bridge_is_refused_with_its_flows() {
    let mut it = square();
    it.links.retain(|link| link.a.node != "w4" || link.b.node != "w1");
    let planned = plan(&it, &quick());
    assert!(!planned.feasible);
    assert_eq!(planned.refusals.len(), 3);
    let refusal = &planned.refusals[0];
    assert_eq!(refusal.resource, "backup");
    assert_eq!(refusal.flows, ["one"]);
    assert!(refusal.because.contains("no path to b"), "{}", refusal.because);
    assert_eq!(findings(&planned), Vec::<String>::new(), "its other bounds hold");
}

#[test]
fn deadlines_hold_after_a_loss_too() {
    let mut it = square();
    // Five lines instead of three: 246 µs more at least.
    it.flows[0].targets[0].deadline_ns = vec![600_000];
    let planned = plan(&it, &quick());
    assert!(!planned.feasible, "the way around takes longer than the deadline");
    assert!(
        planned
            .flows
            .iter()
            .all(|row| { row.delay_bound_ps.is_some_and(|ps| ps <= row.deadline_ns * 1_000) })
    );
    let refusal = &planned.refusals[0];
    assert!(refusal.because.starts_with("deadline of "), "{}", refusal.because);
}

#[test]
fn what_is_said_of_a_loss_is_checked() {
    let planned = plan(&square(), &quick());
    let tampered = |change: &dyn Fn(&mut Plan)| {
        let mut plan = planned.clone();
        change(&mut plan);
        plan.seal();
        findings(&plan)
    };
    assert!(!tampered(&|plan| plan.link_losses[0].ports[0].delay_ps /= 2).is_empty());
    assert!(!tampered(&|plan| plan.link_losses[0].routes.clear()).is_empty());
    assert!(!tampered(&|plan| drop(plan.link_losses.remove(1))).is_empty());
    let row = |plan: &mut Plan| plan.link_losses[0].flows[0].delay_bound_ps = Some(1);
    assert!(!tampered(&row).is_empty());
    let elsewhere = |plan: &mut Plan| {
        let other = plan.routes[1].clone();
        plan.link_losses[0].routes.push(other);
    };
    assert!(tampered(&elsewhere).iter().any(|it| it.contains("did not carry it")));
    let twice = |plan: &mut Plan| {
        let again = plan.link_losses[0].routes[0].clone();
        plan.link_losses[0].routes.push(again);
    };
    assert!(tampered(&twice).iter().any(|it| it.contains("one per copy of a flow")));
    let again = |plan: &mut Plan| plan.link_losses.push(plan.link_losses[0].clone());
    assert!(tampered(&again).iter().any(|it| it.contains("the same link again")));
}

#[test]
fn places_of_tables_after_a_loss_are_checked() {
    type Told = Vec<(String, tenuto_model::TableUse)>;
    type Change<'a> = &'a dyn Fn(&mut Told);
    let planned = plan(&square(), &quick());
    let tampered = |change: Change<'_>| {
        let mut plan = planned.clone();
        change(&mut plan.link_losses[0].table_use);
        plan.seal();
        findings(&plan)
    };
    // w4 has to forward what w1 - w2 carried before.
    let fewer = tampered(&|all| all[3].1.entries = 2);
    assert!(fewer.iter().any(|it| it.starts_with("deployment") && it.contains("w4")), "{fewer:?}");
    for change in [
        (&|all: &mut Told| all[0].1.meters = 0) as Change<'_>,
        &|all| all[2].1.queues = 0,
        &|all| all[2].1.groups = 0,
        &|all| drop(all.remove(1)),
        &|all| all[1].0 = "w1".into(),
        &|all| all[1].0 = "a".into(),
        &|all| all[1].1.entries = 1_000_001,
    ] {
        assert!(!tampered(change).is_empty());
    }
}

/// The square with two modes: one flow may send more, the other ends.
fn modal_square() -> Network {
    let mut it = square();
    it.modes = vec!["LO".into(), "HI".into()];
    let tenuto = tenuto_model::Profile::built_in("tenuto").expect("a built-in profile");
    it.profiles.insert("tenuto".into(), tenuto);
    it.switches.iter_mut().for_each(|switch| switch.profile = "tenuto".into());
    let frames = |period| contract(Size::FrameBytes(1_518), period, 0);
    it.flows[0] = super::builder::flow_of("one", "a", &["b"], vec![frames(8 * MS), frames(2 * MS)]);
    it
}

#[test]
fn with_modes_every_mode_and_change_holds_after_a_loss() {
    let planned = plan(&modal_square(), &quick());
    assert!(planned.feasible, "{:?}", planned.refusals);
    assert_eq!(findings(&planned), Vec::<String>::new());
    assert_eq!(planned.link_losses.len(), 4, "signals go over every link");
    let arrange = |changes: &[tenuto_model::ModeChangeBound]| changes[0].terms[0].bound_ps;
    for loss in &planned.link_losses {
        assert_eq!(loss.mode_changes.len(), 2);
        assert!(arrange(&loss.mode_changes) > arrange(&planned.mode_changes), "the longer way");
        assert_eq!(loss.flows.len(), planned.flows.len());
    }
    let tampered = |change: &dyn Fn(&mut Plan)| {
        let mut plan = planned.clone();
        change(&mut plan);
        plan.seal();
        findings(&plan)
    };
    let usual = arrange(&planned.mode_changes);
    let sooner = |plan: &mut Plan| {
        plan.link_losses[1].mode_changes[0].terms[0].bound_ps = usual;
    };
    assert!(tampered(&sooner).iter().any(|it| it.contains("D_arrange")));
    assert!(!tampered(&|plan| plan.link_losses[0].mode_changes.clear()).is_empty());
    assert!(!tampered(&|plan| drop(plan.link_losses.remove(3))).is_empty());
    let raise = |plan: &mut Plan| {
        let rows = &mut plan.link_losses[0].ports;
        let raise = tenuto_model::Transition::Raise { from: 0, to: 1 };
        rows.iter_mut().find(|row| row.mode == raise).expect("a claim").delay_ps /= 2;
    };
    assert!(!tampered(&raise).is_empty());
}

#[test]
fn entries_of_higher_modes_after_a_loss_are_those_that_are_deployed() {
    let planned = plan(&modal_square(), &quick());
    let most = planned.link_losses[0].table_use.iter().map(|(_, told)| told.shadow).max();
    assert!(most.is_some_and(|shadow| shadow > 0));
    for at in 0..planned.link_losses[0].table_use.len() {
        let mut fewer = planned.clone();
        let (switch, told) = &mut fewer.link_losses[0].table_use[at];
        let switch = switch.clone();
        // `two` is out of mode in HI: what drops it there takes places too.
        let Some(less) = told.shadow.checked_sub(1) else { continue };
        told.shadow = less;
        fewer.seal();
        let found = findings(&fewer);
        assert!(found.iter().any(|it| it.starts_with("deployment")), "{switch}: {found:?}");
    }
}

#[test]
fn a_row_above_its_line_is_refused_where_all_fits_the_line() {
    let planned = plan(&modal_square(), &quick());
    let is_trunk = |port: &tenuto_model::Port| port.node.starts_with('w');
    let of_trunk = planned.port_rows.iter().position(|row| is_trunk(&row.port) && row.rate_bps > 0);
    let at = of_trunk.expect("a row of a trunk");
    let told = |rate_bps: u64| {
        let mut told = planned.clone();
        told.port_rows[at].rate_bps = rate_bps;
        told.seal();
        findings(&told)
    };
    let row = &planned.port_rows[at];
    // Signals take 98 kbit/s, and are part of the rate.
    for rate_bps in [row.capacity_bps + 1, row.rate_bps - 90_000] {
        let found = told(rate_bps);
        assert!(found.iter().any(|it| it.starts_with("port row")), "{row:?}: {found:?}");
    }
    assert_eq!(told(row.capacity_bps), Vec::<String>::new());
}

#[test]
fn a_loss_that_takes_the_signals_from_a_switch_is_refused() {
    let mut it = super::builder::vehicle(45, 2, 1);
    it.tolerates.links_lost = 1;
    let planned = plan(&it, &quick());
    assert!(!planned.feasible);
    assert!(planned.refusals.iter().any(|refusal| refusal.resource == "backup"));
    assert_eq!(findings(&planned), Vec::<String>::new(), "its other bounds hold");
}

/// a and d with two links each, over two rows of switches with a rung between them.
fn ladder() -> Network {
    let mut it = network(&["a", "d"], &["p1", "p2", "q1", "q2"], "ideal");
    links(&mut it, &[("a", "p1"), ("a", "q1"), ("p1", "p2"), ("q1", "q2"), ("p1", "q2")]);
    links(&mut it, &[("p2", "d"), ("q2", "d")]);
    let mut own = flow("f", "a", &["d"], contract(Size::FrameBytes(1_000), 2 * MS, 0));
    own.copies = vec!["A".into(), "B".into()];
    own.targets[0].routes = vec![None, None];
    it.flows.push(own);
    it
}

#[test]
fn two_copies_share_no_switch() {
    // Of equal ways the first copy would take p1 - q2, which leaves none for the second.
    let planned = plan(&ladder(), &quick());
    assert!(planned.feasible, "{:?}", planned.refusals);
    assert_eq!(findings(&planned), Vec::<String>::new());
    let ways: Vec<Vec<&str>> = planned
        .routes
        .iter()
        .map(|route| route.paths[0].ports.iter().map(|port| port.node.as_str()).collect())
        .collect();
    assert!(ways.contains(&vec!["a", "p1", "p2"]) && ways.contains(&vec!["a", "q1", "q2"]));
    let row = &planned.flows[0];
    let largest = row.copies.iter().filter_map(|copy| copy.delay_bound_ps).max();
    assert_eq!(row.delay_bound_ps, largest, "with one way lost the other's bound counts");
    assert!(row.skew_bound_ps.is_some());
    assert_eq!(planned.hosts[0].senders[0].ports, [1, 2]);
    let mut crossed = planned.clone();
    crossed.routes[1] = tenuto_model::Route { copy: Some("B".into()), ..crossed.routes[0].clone() };
    crossed.seal();
    assert!(findings(&crossed).iter().any(|it| it.contains("disjoint")));
}

#[test]
fn copies_with_one_link_at_a_host_are_refused() {
    let mut it = ladder();
    it.links.retain(|link| link.a.node != "q2" || link.b.node != "d");
    let planned = plan(&it, &quick());
    assert_eq!(planned.refusals[0].resource, "route");
    assert!(planned.refusals[0].because.contains("d has one link"), "{:?}", planned.refusals);
    let mut it = ladder();
    it.links.retain(|link| link.a.node != "q1" || link.b.node != "q2");
    let planned = plan(&it, &quick());
    assert!(planned.refusals[0].because.contains("without a common switch"));
}

#[test]
fn disjoint_copies_need_no_way_around() {
    let mut it = ladder();
    it.tolerates.links_lost = 1;
    let planned = plan(&it, &quick());
    assert!(planned.feasible, "{:?}", planned.refusals);
    assert_eq!(findings(&planned), Vec::<String>::new());
    assert!(planned.link_losses.iter().all(|loss| loss.routes.is_empty()));
    // A flow of one copy does go another way.
    link(&mut it, "p2", "q2");
    it.flows.push(flow("g", "a", &["d"], contract(Size::FrameBytes(100), 2 * MS, 1)));
    let planned = plan(&it, &quick());
    assert!(planned.feasible, "{:?}", planned.refusals);
    assert_eq!(findings(&planned), Vec::<String>::new());
    assert!(planned.link_losses.iter().any(|loss| loss.routes.len() == 1));
}
