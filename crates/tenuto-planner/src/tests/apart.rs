//! Copies that may cross the same switches, but no link twice.

use super::builder::{MS, contract, findings, flow, links, network, quick};
use crate::{Options, plan};
use tenuto_model::{Apart, Network, Plan, Size, TABLE_FORWARD, TABLE_POLICE};

/// a and d with two ways to m and from it each; b and e with two links to m itself.
fn bow(modes: &[&str]) -> Network {
    let profile = if modes.len() > 1 { "tenuto" } else { "ideal" };
    let mut it = network(&["a", "b", "d", "e"], &["l0", "l1", "m", "r0", "r1"], profile);
    it.modes = modes.iter().map(|mode| (*mode).to_owned()).collect();
    links(&mut it, &[("a", "l0"), ("a", "l1"), ("l0", "m"), ("l1", "m"), ("m", "r0"), ("m", "r1")]);
    links(&mut it, &[("r0", "d"), ("r1", "d"), ("b", "m"), ("b", "m"), ("e", "m"), ("e", "m")]);
    for (name, source, targets) in
        [("far", "a", &["d", "e"][..]), ("near", "b", &["e"]), ("out", "b", &["d"])]
    {
        let frames = contract(Size::FrameBytes(800), 4 * MS, 0);
        let mut own = flow(name, source, targets, frames);
        own.copies = vec!["A".into(), "B".into()];
        own.apart = Apart::Links;
        if modes.len() > 1 {
            own.level = 1;
            own.contracts.push(frames);
            own.contracts[1].period_ns = 2 * MS;
        }
        for target in &mut own.targets {
            target.routes = vec![None, None];
            target.deadline_ns = vec![20 * MS; own.level + 1];
        }
        it.flows.push(own);
    }
    it
}

/// The findings after a change to what switch m is told.
fn changed(plan: &Plan, change: impl FnOnce(&mut Plan)) -> Vec<String> {
    let mut plan = plan.clone();
    change(&mut plan);
    plan.seal();
    findings(&plan)
}

#[test]
fn copies_meet_at_a_switch_and_part_again() {
    for (modes, babbling) in [(&["normal"][..], 0), (&["normal"], 1), (&["LO", "HI"], 1)] {
        let mut it = bow(modes);
        it.tolerates.babbling_hosts = babbling;
        let planned = plan(&it, &quick());
        assert!(planned.feasible, "{:?}", planned.refusals);
        assert_eq!(findings(&planned), Vec::<String>::new());
        let middle = planned.switches.iter().find(|it| it.switch == "m").expect("a switch");
        let own = |id: &str| middle.meters.iter().filter(|m| m.flow.as_deref() == Some(id)).count();
        assert_eq!((own("far"), own("near"), own("out")), (0, 2, 2));
        let certificate = tenuto_certify::certify(&planned.to_json()).expect("it holds");
        let told = "copies of far, near, out have no link in common, but may cross one switch";
        assert!(certificate.assumptions.iter().any(|text| text == told));
    }
}

#[test]
fn what_would_join_the_copies_is_refused() {
    let mut it = bow(&["normal"]);
    it.tolerates.babbling_hosts = 1;
    let planned = plan(&it, &quick());
    let middle = planned.switches.iter().position(|it| it.switch == "m").expect("a switch");
    // One copy by the way of the other as well.
    let found = changed(&planned, |plan| {
        let entries = &mut plan.switches[middle].entries;
        let is_it = |e: &&mut tenuto_model::EntrySpec| {
            e.table == TABLE_FORWARD && e.flow.as_deref() == Some("far")
        };
        entries.iter_mut().find(is_it).expect("an entry").matching.in_port = None;
    });
    assert!(found.iter().any(|it| it.starts_with("walk")), "{found:#?}");
    // Both copies by one meter.
    let found = changed(&planned, |plan| {
        let at = &mut plan.switches[middle];
        let is_it = |e: &&mut tenuto_model::EntrySpec| {
            e.table == TABLE_POLICE && e.flow.as_deref() == Some("near")
        };
        let meters: Vec<u32> =
            at.entries.iter_mut().filter(is_it).filter_map(|e| e.meter).collect();
        at.entries.iter_mut().filter(is_it).for_each(|e| e.meter = Some(meters[0]));
    });
    assert!(found.iter().any(|it| it.starts_with("meter")), "{found:#?}");
    // A meter of one less than the copies.
    let found = changed(&planned, |plan| {
        let at = &mut plan.switches[middle];
        let last = at.meters.iter().rposition(|m| m.flow.as_deref() == Some("near"));
        at.meters.remove(last.expect("a meter"));
        at.usage.meters -= 1;
    });
    assert!(found.iter().any(|it| it.starts_with("meter")), "{found:#?}");
    // One link in both directions, or for both copies.
    let found = changed(&planned, |plan| {
        let other = plan.routes[0].clone();
        plan.routes[1].paths = other.paths;
    });
    assert!(found.iter().any(|it| it.contains("disjoint")), "{found:#?}");
    // A description that asks for different switches.
    let found = changed(&planned, |plan| plan.network.flows[0].apart = Apart::Switches);
    assert!(found.iter().any(|it| it.contains("both cross m")), "{found:#?}");
}

#[test]
fn ways_without_a_common_switch_are_not_given_up_silently() {
    let mut it = bow(&["normal"]);
    it.flows.truncate(1);
    it.flows[0].apart = Apart::Switches;
    let planned = plan(&it, &Options::default());
    let refusal = &planned.refusals[0];
    assert_eq!(refusal.resource, "route");
    assert_eq!(refusal.would_fit, ["far copies: link-disjoint"]);
}
