//! Whole messages in place of the buckets around them: how far they carry, what they never do.

use crate::support;

use support::{network, quick};
use tenuto_model::{Network, Plan, Size, Transition};
use tenuto_planner::{Curves, Options, plan};

/// The car with another stream, from hosts that may babble or are trusted.
fn car(stream: u32, babbling_hosts: u32) -> Network {
    let mut network = network(include_str!("../../../../networks/vehicle.yaml"));
    network.tolerates.babbling_hosts = babbling_hosts;
    network.mode_return.quiet_ns = None;
    let flow = network.flows.iter_mut().find(|flow| flow.name == "STREAM").expect("in the file");
    flow.contracts[0].size = Size::MessageBytes(stream);
    network
}

fn planned(network: &Network, curves: Curves) -> Plan {
    plan(network, &Options { curves, ..quick() })
}

fn accepted(plan: &Plan) -> bool {
    match tenuto_certify::certify(&plan.to_json()) {
        Ok(certificate) => certificate.feasible == plan.feasible,
        Err(_) => false,
    }
}

/// The largest stream in whole kB that holds.
fn limit(babbling_hosts: u32, curves: Curves) -> u32 {
    let holds = |kb: u32| planned(&car(kb * 1_000, babbling_hosts), curves).feasible;
    let (mut low, mut high) = (1, 432);
    while high - low > 1 {
        let middle = u32::midpoint(low, high);
        *(if holds(middle) { &mut low } else { &mut high }) = middle;
    }
    low
}

#[test]
fn the_car_carries_more_when_messages_count_whole() {
    let all = [
        (0, Curves::Buckets),
        (0, Curves::Staircases),
        (1, Curves::Buckets),
        (1, Curves::Staircases),
    ];
    let limits = all.map(|(babbling, curves)| limit(babbling, curves));
    println!(
        "kB: trusted {} and {}, babbling {} and {}",
        limits[0], limits[1], limits[2], limits[3]
    );
    assert!(limits[1] >= limits[0] + 50, "{limits:?}");
    assert!(limits[3] >= limits[2] + 20, "{limits:?}");
    for (babbling, kb) in [(0, limits[1]), (1, limits[3])] {
        let plan = planned(&car(kb * 1_000, babbling), Curves::Staircases);
        assert!(
            plan.staircases && accepted(&plan),
            "{:?}",
            tenuto_certify::certify(&plan.to_json()).err()
        );
        let steady = plan.flows.iter().filter(|row| matches!(row.mode, Transition::Steady(_)));
        assert!(steady.map(|row| row.method.as_str()).all(|method| method == "staircase"));
    }
}

#[test]
fn left_to_the_planner_buckets_come_first() {
    assert!(!planned(&car(150_000, 1), Curves::Auto).staircases);
    let needed = planned(&car(250_000, 0), Curves::Auto);
    assert!(needed.staircases && needed.feasible, "{:?}", needed.refusals);
    assert!(!planned(&car(432_000, 0), Curves::Auto).staircases, "overload stays overload");
}

#[test]
fn no_bound_is_above_that_of_buckets() {
    for babbling in [0, 1] {
        let network = car(150_000, babbling);
        let (one, other) =
            (planned(&network, Curves::Buckets), planned(&network, Curves::Staircases));
        for (bucket, stepped) in one.flows.iter().zip(&other.flows) {
            assert!(stepped.delay_bound_ps <= bucket.delay_bound_ps, "{stepped:?}");
        }
        for (bucket, stepped) in one.port_rows.iter().zip(&other.port_rows) {
            assert!(stepped.backlog_bound_bits <= bucket.backlog_bound_bits, "{stepped:?}");
        }
    }
}

#[test]
fn the_checker_takes_no_less() {
    let whole = planned(&car(250_000, 0), Curves::Staircases);
    assert!(accepted(&whole));
    let changed = |change: &dyn Fn(&mut Plan)| {
        let mut plan = whole.clone();
        change(&mut plan);
        plan.seal();
        accepted(&plan)
    };
    assert!(!changed(&|plan| plan.staircases = false), "those are no bounds of buckets");
    assert!(!changed(&|plan| plan.network.tolerates.babbling_hosts = 1), "nor behind a meter");
    for index in 0..whole.ports.len() {
        assert!(!changed(&|plan| plan.ports[index].delay_ps -= 1_001), "{:?}", whole.ports[index]);
    }
    for index in 0..whole.port_rows.len() {
        let less = |plan: &mut Plan| {
            let row = &mut plan.port_rows[index];
            row.backlog_bound_bits = row.backlog_bound_bits.map(|bits| bits.saturating_sub(1));
        };
        let is_empty = whole.port_rows[index].backlog_bound_bits == Some(0);
        assert!(is_empty || !changed(&less), "{:?}", whole.port_rows[index]);
    }
}
