//! Bounds of a server graph as a document for programs, with the keys of a network's plan.

use super::{Bounded, Refusal, loads_ubps, service_ubps};
use crate::header::Header;
use serde::Serialize;
use tenuto_bounds::TargetBound;
use tenuto_certify::BoundsCertificate;

/// Picoseconds per nanosecond.
const PS: i128 = 1_000;

/// What `plan --json` prints of a server graph.
#[derive(Serialize)]
pub(crate) struct Document<'a> {
    #[serde(flatten)]
    header: Header,
    feasible: bool,
    network: &'a str,
    model: &'static str,
    line_shaping: bool,
    flows: Vec<FlowRow<'a>>,
    ports: Vec<PortRow<'a>>,
    refusals: &'a [Refusal],
    certificate: &'a BoundsCertificate,
}

#[derive(Serialize)]
struct FlowRow<'a> {
    flow: &'a str,
    target: &'a str,
    mode: &'static str,
    deadline_ns: Option<i128>,
    queueing_bound_ns: Option<i128>,
    host_allowance_ns: u64,
    delay_bound_ns: Option<i128>,
    delay_bound_ps: Option<i128>,
    slack_ns: Option<i128>,
    method: String,
    tfa_delay_bound_ps: Option<i128>,
    hops: Vec<HopRow<'a>>,
}

#[derive(Serialize)]
struct HopRow<'a> {
    port: &'a str,
    queueing_ns: Option<i128>,
    queueing_ps: Option<i128>,
}

#[derive(Serialize)]
struct PortRow<'a> {
    port: &'a str,
    mode: &'static str,
    load: f64,
    rate_bps: i128,
    capacity_bps: i128,
    delay_bound_ns: Option<i128>,
}

/// The document.
pub(crate) fn document<'a>(bounded: &'a Bounded, refusals: &'a [Refusal]) -> Document<'a> {
    Document {
        header: Header::planned(
            "tenuto-plan-report/1",
            if refusals.is_empty() { "guaranteed" } else { "refused" },
            &bounded.certificate.plan_hash,
        ),
        feasible: refusals.is_empty(),
        network: &bounded.graph.name,
        model: "server-graph",
        line_shaping: bounded.document.line_shaping,
        flows: bounded.bounds.iter().map(|bound| flow(bounded, bound)).collect(),
        ports: ports(bounded),
        refusals,
        certificate: &bounded.certificate,
    }
}

/// Rounded up, for bounds and loads.
const fn up(value: i128, unit: i128) -> i128 {
    value.div_euclid(unit) + (value.rem_euclid(unit) != 0) as i128
}

fn flow<'a>(bounded: &'a Bounded, bound: &TargetBound) -> FlowRow<'a> {
    let target = bounded.target(bound);
    let delay = bound.delay.map(|it| it.0);
    let hop = |(server, delay): (&'a tenuto_bounds::GraphServer, Option<i128>)| HopRow {
        port: &server.name,
        queueing_ns: delay.map(|ps| up(ps, PS)),
        queueing_ps: delay,
    };
    FlowRow {
        flow: &bounded.graph.flows[bound.flow].name,
        target: &target.name,
        mode: "normal",
        deadline_ns: target.deadline.map(|it| it.0.div_euclid(PS)),
        queueing_bound_ns: delay.map(|ps| up(ps, PS)),
        host_allowance_ns: 0,
        delay_bound_ns: delay.map(|ps| up(ps, PS)),
        delay_bound_ps: delay,
        slack_ns: bounded.slack_ps(bound).map(|ps| ps.div_euclid(PS)),
        method: bound.method.to_string(),
        tfa_delay_bound_ps: bound.tfa.map(|it| it.0),
        hops: bounded.way(bound).into_iter().map(hop).collect(),
    }
}

fn ports(bounded: &Bounded) -> Vec<PortRow<'_>> {
    let loads = loads_ubps(&bounded.graph);
    let delays = &bounded.document.server_delays_ps;
    let rows = bounded.graph.servers.iter().enumerate().map(|(index, server)| {
        let service = service_ubps(server);
        let millionths = up(loads[index].saturating_mul(1_000_000), service.max(1));
        let millionths = u32::try_from(millionths).unwrap_or(u32::MAX);
        PortRow {
            port: &server.name,
            mode: "normal",
            load: f64::from(millionths) / 1e6,
            rate_bps: up(loads[index], 1_000_000),
            capacity_bps: service.div_euclid(1_000_000),
            delay_bound_ns: delays.get(index).copied().flatten().map(|it| up(it.0, PS)),
        }
    });
    rows.collect()
}
