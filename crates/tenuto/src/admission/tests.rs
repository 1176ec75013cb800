//! What an engine accepts, written as a network: the planner guarantees it, with bounds that are no
//! higher than the engine's, and the checker accepts the plan.

use super::{QUEUES, network_of};
use std::collections::BTreeMap;
use tenuto_admission::{
    Decision, Engine, Method, Network, Node, NodeId, Port, Request, Reservation, SwitchTiming,
};
use tenuto_planner::Options;
use tenuto_units::Draws;

const RATES_BPS: [u64; 4] = [100_000_000, 1_000_000_000, 3_000_000_000, 10_000_000_000];

/// Switches in a row or a ring, two hosts at each, of everything that an analysis counts something.
fn network(draws: &mut Draws) -> Network {
    let switches = u32::try_from(2 + draws.below(3)).expect("few");
    let is_ring = switches > 2 && draws.below(2) == 0;
    let mut nodes: Vec<Node> =
        (0..switches).map(|at| Node { name: format!("s{at}"), is_switch: true }).collect();
    let mut ports = Vec::new();
    let rate_bps = draws.one_of(&RATES_BPS);
    let mut join = |a: u32, b: u32, rate_bps: u64, propagation_ns: u64| {
        for (from, to) in [(a, b), (b, a)] {
            ports.push(Port {
                from: NodeId(from),
                to: NodeId(to),
                rate_bps,
                propagation_ns,
                queues: QUEUES,
                queue_bytes: 200_000,
                blocking_bytes: 1_538,
            });
        }
    };
    let trunks = if is_ring { switches } else { switches - 1 };
    for at in 0..trunks {
        join(at, (at + 1) % switches, draws.one_of(&RATES_BPS), draws.below(5_000));
    }
    for at in 0..switches * 2 {
        let host = switches + at;
        nodes.push(Node { name: format!("h{at}"), is_switch: false });
        join(host, at / 2, rate_bps, draws.below(1_000));
    }
    let network = Network::new(nodes, ports).expect("consistent");
    let ppm = [0, 100, 200, 1_000][usize::try_from(draws.below(4)).expect("few")];
    (0..switches).fold(network.with_clock_tolerance(ppm), |network, at| {
        let latency_ns_min = draws.below(20_000);
        let timing = SwitchTiming {
            latency_ns_min,
            latency_ns_max: latency_ns_min + draws.below(50_000),
            below_scheduler_bytes: u32::try_from(draws.below(2) * draws.below(8_000)).expect("few"),
        };
        network.with_switch_timing(NodeId(at), timing).expect("in range")
    })
}

fn request(id: u64, network: &Network, has_one_size: bool, draws: &mut Draws) -> Request {
    let nodes = (0_u32..).map(NodeId).zip(network.nodes());
    let hosts: Vec<NodeId> = nodes.filter(|(_, node)| !node.is_switch).map(|(id, _)| id).collect();
    let source = draws.one_of(&hosts);
    let mut targets: Vec<NodeId> = Vec::new();
    while targets.is_empty() || (draws.below(4) == 0 && targets.len() < 3) {
        let target = draws.one_of(&hosts);
        if target != source && !targets.contains(&target) {
            targets.push(target);
        }
    }
    let frames = draws.below(4).max(u64::from(has_one_size));
    let frame_bytes = if frames == 0 { 84 + draws.below(1_455) } else { 1_538 };
    let burst_bytes = frame_bytes * frames.max(1);
    Request {
        id,
        source,
        targets,
        rate_bps: 100_000 + draws.below(20_000_000),
        burst_bits: burst_bytes * 8,
        frame_bits: frame_bytes * 8,
        deadline_ns: 200_000 + draws.below(4_000_000),
    }
}

/// Bounds of every flow, ns: `None` without one.
fn planned(engine: &Engine) -> BTreeMap<String, Option<u64>> {
    let network = network_of("held", engine).unwrap_or_else(|failure| panic!("{failure:?}"));
    let mut plan =
        tenuto_planner::plan(&network, &Options { would_fit: false, ..Options::default() });
    plan.seal();
    assert!(plan.feasible, "{:?}\n{:?}", plan.refusals, engine.network());
    let certificate = tenuto_certify::certify(&plan.to_json());
    assert!(certificate.is_ok_and(|it| it.feasible), "the checker does not accept the plan");
    let mut bounds: BTreeMap<String, Option<u64>> = BTreeMap::new();
    for row in &plan.flows {
        let bound = row.delay_bound_ps;
        let known = bounds.entry(row.flow.clone()).or_insert(bound);
        *known = known.zip(bound).map(|(one, other)| one.max(other));
    }
    bounds
}

fn is_never_below_a_plan(method: Method, seeds: std::ops::Range<u64>) {
    let (mut accepted, mut refused, mut closest) = (0, 0, 0);
    for seed in seeds {
        let mut draws = Draws::new(seed);
        let network = network(&mut draws);
        let has_one_size = seed % 2 == 0;
        let reservation = Reservation::starting_on(&network);
        let mut engine =
            Engine::new(network.clone(), method, reservation).with_one_queue_per_flow();
        for id in 0..60 {
            match engine.add(&request(id, &network, has_one_size, &mut draws)) {
                Decision::Accepted(_) => accepted += 1,
                Decision::Refused(_) => refused += 1,
            }
        }
        if engine.is_empty() {
            continue;
        }
        let bounds = planned(&engine);
        for (id, granted_ns) in engine.bounds() {
            let bound_ps = bounds[&format!("flow{id}")].expect("it is guaranteed");
            let held = engine.held().find(|(request, _)| request.id == id);
            assert!(bound_ps <= held.expect("it has a bound").0.deadline_ns * 1_000);
            assert!(
                bound_ps <= granted_ns * 1_000,
                "seed {seed}, flow {id}: planned {bound_ps} ps, the engine says {granted_ns} ns"
            );
            closest = closest.max(bound_ps / granted_ns.max(1) / 10);
        }
    }
    assert!(accepted > 300 && refused > 30, "{accepted} {refused}");
    // Were the engine far above, it could be wrong by as much without being found out.
    assert!(closest >= 95, "{closest} %");
}

#[test]
fn what_exact_accepts_is_guaranteed_by_a_plan() {
    is_never_below_a_plan(Method::Exact, 0..40);
}

#[test]
fn what_reserve_accepts_is_guaranteed_by_a_plan() {
    is_never_below_a_plan(Method::Reserve, 100..140);
}
