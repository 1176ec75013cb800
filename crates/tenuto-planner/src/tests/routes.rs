use super::builder::{MS, contract, flow, line, links, network, quick};
use crate::plan;
use tenuto_model::{Network, Plan, Size};

/// a and b at w1, d at w4; w1 - w2 - w4 and w1 - w3 - w4.
fn diamond() -> Network {
    let mut it = network(&["a", "b", "d"], &["w1", "w2", "w3", "w4"], "ideal");
    links(
        &mut it,
        &[
            ("a", "w1"),
            ("b", "w1"),
            ("w1", "w2"),
            ("w1", "w3"),
            ("w2", "w4"),
            ("w3", "w4"),
            ("w4", "d"),
        ],
    );
    it
}

fn nodes(plan: &Plan, route: usize) -> Vec<&str> {
    plan.routes[route].paths[0].ports.iter().map(|p| p.node.as_str()).collect()
}

#[test]
fn the_second_flow_takes_the_less_loaded_way() {
    let mut it = diamond();
    it.flows.push(flow("one", "a", &["d"], contract(Size::FrameBytes(1518), MS, 0)));
    it.flows.push(flow("two", "b", &["d"], contract(Size::FrameBytes(1518), MS, 0)));
    let plan = plan(&it, &quick());
    assert_eq!(nodes(&plan, 0), ["a", "w1", "w2", "w4"]);
    assert_eq!(nodes(&plan, 1), ["b", "w1", "w3", "w4"]);
}

#[test]
fn fixed_routes_are_kept_and_others_grow_from_them() {
    let mut it = line("ideal");
    let mut own = flow("f", "s1", &["d1", "d2"], contract(Size::FrameBytes(64), MS, 0));
    let route = ["sw1", "sw2", "sw3"].map(String::from).to_vec();
    own.targets[1].routes = vec![Some(route)];
    it.flows.push(own);
    let plan = plan(&it, &quick());
    assert_eq!(plan.routes[0].paths[0].ports[..3], plan.routes[0].paths[1].ports[..3]);
    // Multicast counts once per port: the shared ports have one claim and one flow's rate.
    let trunk = plan.port_rows.iter().find(|r| r.port.node == "sw1").expect("a row");
    assert_eq!(trunk.rate_bps, 672_000);
}

#[test]
fn what_cannot_be_routed_is_refused() {
    let mut it = diamond();
    it.hosts.push(tenuto_model::Host { name: "island".into() });
    it.flows.push(flow("far", "a", &["island"], contract(Size::FrameBytes(64), MS, 0)));
    let mut wrong = flow("wrong", "a", &["d"], contract(Size::FrameBytes(64), MS, 0));
    wrong.targets[0].routes = vec![Some(vec!["w1".into(), "w4".into()])];
    it.flows.push(wrong);
    let plan = plan(&it, &quick());
    let because: Vec<&str> = plan.refusals.iter().map(|r| r.because.as_str()).collect();
    assert_eq!(because[..2], ["no path to island", "the route to d has no link w1 - w4"]);
    assert!(plan.switches.is_empty(), "nothing is deployed");
    assert!(plan.flows.iter().all(|row| row.delay_bound_ps.is_none()));
}

#[test]
fn routes_that_meet_again_are_no_tree() {
    let mut it = diamond();
    it.hosts.push(tenuto_model::Host { name: "e".into() });
    super::builder::link(&mut it, "w4", "e");
    let mut own = flow("f", "a", &["d", "e"], contract(Size::FrameBytes(64), MS, 0));
    let via = |middle: &str| vec![Some(vec!["w1".into(), middle.into(), "w4".into()])];
    (own.targets[0].routes, own.targets[1].routes) = (via("w2"), via("w3"));
    it.flows.push(own);
    let plan = plan(&it, &quick());
    assert_eq!(plan.refusals[0].place, "w4");
    assert_eq!(plan.refusals[0].resource, "route");
}
