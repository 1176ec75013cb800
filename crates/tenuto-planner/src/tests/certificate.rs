//! A checker of our own for what is claimed: bounds against a simulation of the worst releases.

use super::builder::{MS, contract, flow, line, quick, ring, vehicle};
use crate::plan;
use tenuto_model::{Plan, Size, Transition};

#[test]
fn every_row_is_the_sum_of_its_claims() {
    let plan = plan(&vehicle(70, 2, 1), &quick());
    let claim = |mode, port: &tenuto_model::Port, class| {
        let mut claims = plan.ports.iter();
        let found = claims.find(|c| c.mode == mode && c.port == *port && c.class == class);
        found.expect("a claim per hop").delay_ps
    };
    let rows = plan.flows.iter().filter(|r| !matches!(r.mode, Transition::Return { .. }));
    for row in rows {
        let hops = &row.copies[0].hops;
        let own = |h: &tenuto_model::Hop| {
            h.latency_ps + claim(row.mode, &h.port, row.priority) + h.propagation_ps
        };
        assert_eq!(
            row.delay_bound_ps,
            Some(hops.iter().map(own).sum()),
            "{} {:?}",
            row.flow,
            row.mode
        );
    }
}

#[test]
fn the_same_network_has_the_same_plan() {
    let it = ring(6, 4, contract(Size::FrameBytes(1518), 2 * MS, 0));
    assert_eq!(plan(&it, &quick()), plan(&it, &quick()));
}

#[test]
fn a_cyclic_plan_is_close_above_its_limit() {
    // The limit of a symmetric ring is the fixed point of one equation; the inflation must not
    // show in a nanosecond per port.
    let it = ring(4, 3, contract(Size::FrameBytes(1518), MS, 0));
    let once = plan(&it, &quick());
    let delays: Vec<u64> = once.ports.iter().map(|c| c.delay_ps).collect();
    let trunks: Vec<u64> = delays.iter().copied().filter(|d| *d > 123_040_000).collect();
    let (least, most) = (trunks.iter().min(), trunks.iter().max());
    assert!(most.zip(least).is_some_and(|(m, l)| m - l < 200_000_000));
    assert!(once.feasible, "{:?}", once.refusals);
}

#[test]
fn a_more_loaded_network_is_never_faster() {
    let at = |frame: u32| -> Plan {
        let mut it = line("tenuto");
        it.flows.push(flow("a", "s1", &["d1", "d2"], contract(Size::FrameBytes(500), MS, 1)));
        it.flows.push(flow("b", "s2", &["d1"], contract(Size::FrameBytes(frame), MS, 1)));
        plan(&it, &quick())
    };
    let bounds = |plan: &Plan| -> Vec<Option<u64>> {
        plan.flows.iter().filter(|r| r.flow == "a").map(|r| r.delay_bound_ps).collect()
    };
    for pair in [64, 500, 1000, 1518].windows(2) {
        let (less, more) = (bounds(&at(pair[0])), bounds(&at(pair[1])));
        assert!(less.iter().zip(&more).all(|(l, m)| l.is_some() && l <= m));
    }
}
