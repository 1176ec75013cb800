//! Audsley's assignment: finds what rate-monotonic and written priorities miss, and says when
//! there is nothing to find.

use crate::support;

use support::{accepted, network, quick};
use tenuto_model::{Network, Plan, Size};
use tenuto_planner::{Curves, Options, Priorities, plan};

/// The car of [MC-SDN] section VIII as printed, but for the stream's size.
fn car(stream: u32) -> Network {
    let mut network = network(include_str!("../../../../networks/vehicle-as-printed.yaml"));
    let flow = network.flows.iter_mut().find(|flow| flow.name == "STREAM").expect("in the file");
    flow.contracts[0].size = Size::MessageBytes(stream);
    network.mode_return.quiet_ns = None;
    network
}

fn planned(network: &Network, priorities: Priorities) -> Plan {
    accepted(plan(network, &Options { priorities, curves: Curves::Auto, ..quick() }))
}

fn class(plan: &Plan, flow: &str) -> u8 {
    plan.network.flow(flow).expect("in the network").highest().priority
}

fn said(plan: &Plan) -> String {
    plan.ranking().expect("the plan says how it was ranked")
}

#[test]
fn audsley_puts_the_camera_above_the_stream() {
    let network = car(250_000);
    let given = planned(&network, Priorities::Given);
    assert!(!given.feasible && given.ranking().is_none());
    let found = planned(&network, Priorities::Audsley);
    assert!(found.feasible, "{:?}", found.refusals);
    assert!(class(&found, "CAM") < class(&found, "STREAM"));
    assert!(said(&found).starts_with("Audsley's, "), "{}", said(&found));
    assert!(said(&found).ends_with("0 LIDAR, 1 CAM, 2 STREAM"), "{}", said(&found));
}

#[test]
fn where_nothing_holds_the_refusal_says_so() {
    let plan = planned(&car(432_000), Priorities::Audsley);
    assert!(!plan.feasible);
    let refusal = plan.refusals.iter().find(|it| it.resource == "priorities").expect("one");
    assert!(refusal.because.starts_with("no assignment of priorities holds"), "{refusal:?}");
    assert!(refusal.flows.contains(&"STREAM".to_owned()), "{refusal:?}");
    assert_eq!(class(&plan, "STREAM"), 1, "the network stays as it was");
}

#[test]
fn rate_monotonic_overrules_what_is_written() {
    let plan = planned(&car(150_000), Priorities::RateMonotonic);
    // 22 ms in HI, then 25 ms, then 40 ms.
    assert_eq!(["CAM", "LIDAR", "STREAM"].map(|flow| class(&plan, flow)), [0, 1, 2]);
    assert_eq!(said(&plan), "rate-monotonic: 0 CAM, 1 LIDAR, 2 STREAM");
}

#[test]
fn more_flows_than_queues_share_classes() {
    // Eight short deadlines beside a long message that comes more often: by period it is first.
    // Two queues are enough, if it is in the second: then one frame of it is in the way.
    let mut text = "tenuto: 1\nname: shared\nhosts: {a: {}, b: {}}\n\
        switches: {sw: {profile: two}}\nprofiles: {two: {like: ideal, queues_per_port: 2}}\n\
        defaults: {link: {rate: 10 Mbit/s}}\nlinks:\n  - {ends: [a, sw]}\n  - {ends: [sw, b]}\n\
        flows:\n  long: {source: a, targets: [b], message: 5 kB, period: 12 ms}\n"
        .to_owned();
    for flow in 0..8 {
        text += &format!(
            "  s{flow}: {{source: a, targets: [b], payload: 18 B, period: {} ms, deadline: 4 ms}}\n",
            15 + flow
        );
    }
    let network = network(&text);
    assert!(!planned(&network, Priorities::Given).feasible, "the long message is in front of them");
    let found = planned(&network, Priorities::Audsley);
    assert!(found.feasible, "{:?}", found.refusals);
    assert_eq!(class(&found, "long"), 1);
    assert!((0..8).all(|flow| class(&found, &format!("s{flow}")) <= 1));
}
