//! A small network of the kind that the example `virtual_links` measures: planned and certified.

#[path = "../../examples/virtual_links/drawn.rs"]
mod networks;

use networks::Scale;
use tenuto_planner::{Options, plan};

const SMALL: Scale = Scale { switches: 4, hosts_each: 3, links: 20 };

#[test]
fn a_drawn_network_is_planned_and_certified() {
    let network = networks::network(SMALL, 1);
    let paths: usize = network.flows.iter().map(|flow| flow.targets.len()).sum();
    assert_eq!((network.flows.len(), paths), (20, 120));
    let plan = plan(&network, &Options { would_fit: false, ..Options::default() });
    assert!(plan.feasible, "{:?}", plan.refusals);
    let bounds = plan.flows.iter().filter(|row| row.delay_bound_ps.is_some()).count();
    assert_eq!(bounds, paths, "a bound for every path");
    if let Err(findings) = tenuto_certify::certify(&plan.to_json()) {
        panic!("{}", findings[0]);
    }
}

#[test]
fn the_same_seed_draws_the_same_network() {
    assert_eq!(networks::network(SMALL, 2), networks::network(SMALL, 2));
    assert_ne!(networks::network(SMALL, 2), networks::network(SMALL, 3));
}
