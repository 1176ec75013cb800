//! A plan as a document for programs: bounds in whole nanoseconds, rounded up.

use crate::certified::Certification;
use crate::planning::Planned;
use serde::Serialize;
use tenuto_certify::Certificate;
use tenuto_model::{CopyBound, FlowBound, ForwardingModel, Hop, Network, Plan, Refusal, TableUse};

/// What `plan --json` prints.
#[derive(Serialize)]
pub(crate) struct Document<'a> {
    schema: &'static str,
    version: &'a str,
    world: &'static str,
    seed: Option<u64>,
    plan_hash: &'a str,
    verdict: &'static str,
    feasible: bool,
    network: &'a str,
    model: ForwardingModel,
    as_stated: bool,
    line_shaping: bool,
    staircases: bool,
    flows: Vec<FlowRow<'a>>,
    ports: Vec<PortRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    processors: Vec<ProcessorRow>,
    mode_changes: Vec<ChangeRow>,
    quiet_ns: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    link_losses: Vec<crate::plan_losses::LossRow<'a>>,
    refusals: Vec<RefusalRow<'a>>,
    assumptions: Vec<String>,
    switches: Vec<SwitchRow<'a>>,
    certificate: CertificateRow<'a>,
}

#[derive(Serialize)]
struct FlowRow<'a> {
    flow: &'a str,
    target: &'a str,
    mode: String,
    level: &'a str,
    priority: u8,
    deadline_ns: u64,
    queueing_bound_ns: Option<u64>,
    host_allowance_ns: u64,
    delay_bound_ns: Option<u64>,
    slack_ns: Option<i128>,
    method: &'a str,
    hops: Vec<HopRow>,
    copies: Vec<CopyRow<'a>>,
    /// Of the first copy, while no network is lost.
    first_arrival_bound_ns: Option<u64>,
    skew_limit_ns: Option<u64>,
    skew_bound_ns: Option<u64>,
}

#[derive(Serialize)]
struct HopRow {
    port: String,
    latency_ns: u64,
    queueing_ns: Option<u64>,
    propagation_ns: u64,
    burst_bits: Option<u64>,
}

#[derive(Serialize)]
struct CopyRow<'a> {
    network: &'a str,
    delay_bound_ns: Option<u64>,
    delay_ns_min: u64,
    hops: Vec<HopRow>,
}

#[derive(Serialize)]
struct PortRow {
    port: String,
    mode: String,
    load: f64,
    rate_bps: u64,
    capacity_bps: u64,
    backlog_bound_bits: Option<u64>,
    buffer_limit_bits: Option<u64>,
}

#[derive(Serialize)]
struct ProcessorRow {
    switch: String,
    port: Option<u32>,
    mode: String,
    load: f64,
    backlog_bound: Option<u64>,
    buffer_limit: Option<u64>,
    buffer_unit: String,
}

#[derive(Serialize)]
struct ChangeRow {
    from: String,
    to: String,
    bound_ns: u64,
    /// Of a raise: after this the new mode's own bounds hold; null: not before the return.
    drain_ns: Option<u64>,
    terms: Vec<TermRow>,
}

#[derive(Serialize)]
struct TermRow {
    name: String,
    bound_ns: u64,
}

#[derive(Serialize)]
struct RefusalRow<'a> {
    place: &'a str,
    resource: &'a str,
    mode: Option<String>,
    needed: Option<u64>,
    available: Option<u64>,
    unit: &'a str,
    flows: &'a [String],
    because: &'a str,
    would_fit: &'a [String],
}

#[derive(Serialize)]
pub(crate) struct SwitchRow<'a> {
    switch: &'a str,
    profile: &'a str,
    usage: TableUse,
    limits: Limits,
}

#[derive(Serialize)]
struct Limits {
    entries: u32,
    meters: u32,
    groups: u32,
    queues: u8,
}

#[derive(Serialize)]
struct CertificateRow<'a> {
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<&'a Certificate>,
    findings: &'a [String],
}

/// The document; bounds are left out where the checker does not allow them.
pub(crate) fn document(planned: &Planned) -> Document<'_> {
    let plan = &planned.plan;
    let network = &plan.network;
    let has_bounds = planned.certification.allows_bounds();
    Document {
        schema: "tenuto-plan-report/1",
        version: &plan.version,
        world: "planned",
        seed: None,
        plan_hash: &plan.plan_hash,
        verdict: planned.promise().word(),
        feasible: plan.feasible,
        network: &network.name,
        model: plan.model,
        as_stated: plan.as_stated,
        line_shaping: plan.line_shaping,
        staircases: plan.staircases,
        flows: if has_bounds {
            plan.flows.iter().map(|row| flow(network, row)).collect()
        } else {
            Vec::new()
        },
        ports: if has_bounds { ports(plan) } else { Vec::new() },
        processors: if has_bounds { processors(plan) } else { Vec::new() },
        mode_changes: if has_bounds { changes(plan) } else { Vec::new() },
        quiet_ns: plan.quiet_ns,
        link_losses: crate::plan_losses::rows(plan, has_bounds),
        refusals: plan.refusals.iter().map(|it| refusal(network, it)).collect(),
        assumptions: plan.rests_on(),
        switches: switches(plan, &|_| true),
        certificate: certificate(&planned.certification),
    }
}

/// Picoseconds as nanoseconds, rounded up.
const fn ns_up(ps: u64) -> u64 {
    ps.div_ceil(1_000)
}

fn flow<'a>(network: &'a Network, row: &'a FlowBound) -> FlowRow<'a> {
    let flow = network.flow(&row.flow);
    let bound = row.delay_bound_ps.map(ns_up);
    FlowRow {
        flow: &row.flow,
        target: &row.target,
        mode: row.mode.label(&network.modes),
        level: flow.and_then(|f| network.modes.get(f.level)).map_or("", String::as_str),
        priority: row.priority,
        deadline_ns: row.deadline_ns,
        queueing_bound_ns: bound,
        host_allowance_ns: 0,
        delay_bound_ns: bound,
        slack_ns: bound.map(|bound| i128::from(row.deadline_ns) - i128::from(bound)),
        method: &row.method,
        hops: row.copies.first().map(|copy| hops(network, &copy.hops)).unwrap_or_default(),
        copies: row.copies.iter().filter_map(|it| copy(network, it)).collect(),
        first_arrival_bound_ns: row.first_arrival_bound_ps().map(ns_up),
        skew_limit_ns: flow.and_then(|f| f.skew_max_ns),
        skew_bound_ns: row.skew_bound_ps.map(ns_up),
    }
}

/// A copy over one of several networks; nothing where there is one network.
fn copy<'a>(network: &Network, copy: &'a CopyBound) -> Option<CopyRow<'a>> {
    Some(CopyRow {
        network: copy.network.as_deref()?,
        delay_bound_ns: copy.delay_bound_ps.map(ns_up),
        delay_ns_min: copy.delay_min_ps / 1_000,
        hops: hops(network, &copy.hops),
    })
}

fn hops(network: &Network, hops: &[Hop]) -> Vec<HopRow> {
    let row = |hop: &Hop| HopRow {
        port: network.port_label(&hop.port),
        latency_ns: ns_up(hop.latency_ps),
        queueing_ns: hop.queueing_ps.map(ns_up),
        propagation_ns: ns_up(hop.propagation_ps),
        burst_bits: hop.burst_bits,
    };
    hops.iter().map(row).collect()
}

fn ports(plan: &Plan) -> Vec<PortRow> {
    let row = |row: &tenuto_model::PortRow| PortRow {
        port: plan.network.port_label(&row.port),
        mode: row.mode.label(&plan.network.modes),
        load: fraction_up(row.rate_bps, row.capacity_bps),
        rate_bps: row.rate_bps,
        capacity_bps: row.capacity_bps,
        backlog_bound_bits: row.backlog_bound_bits,
        buffer_limit_bits: row.buffer_limit_bits,
    };
    plan.port_rows.iter().map(row).collect()
}

fn processors(plan: &Plan) -> Vec<ProcessorRow> {
    let row = |row: &tenuto_model::ProcessorRow| ProcessorRow {
        switch: row.switch.clone(),
        port: row.port,
        mode: row.mode.label(&plan.network.modes),
        load: fraction_up(row.load_ppm, 1_000_000),
        backlog_bound: row.backlog_bound,
        buffer_limit: row.buffer_limit,
        buffer_unit: row.unit.clone(),
    };
    plan.processor_rows.iter().map(row).collect()
}

/// A share with six decimals, rounded up.
fn fraction_up(part: u64, whole: u64) -> f64 {
    let millionths = (u128::from(part) * 1_000_000).div_ceil(u128::from(whole.max(1)));
    f64::from(u32::try_from(millionths).unwrap_or(u32::MAX)) / 1e6
}

fn changes(plan: &Plan) -> Vec<ChangeRow> {
    let row = |change: &tenuto_model::ModeChangeBound| {
        let label = change.change.label(&plan.network.modes);
        let (from, to) = label.split_once('>').unwrap_or((&label, ""));
        let term = |term: &tenuto_model::ModeChangeTerm| TermRow {
            name: term.name.clone(),
            bound_ns: ns_up(term.bound_ps),
        };
        ChangeRow {
            from: from.into(),
            to: to.into(),
            bound_ns: ns_up(change.bound_ps),
            drain_ns: change.drain_ps.map(ns_up),
            terms: change.terms.iter().map(term).collect(),
        }
    };
    plan.mode_changes.iter().map(row).collect()
}

fn refusal<'a>(network: &Network, it: &'a Refusal) -> RefusalRow<'a> {
    RefusalRow {
        place: &it.place,
        resource: &it.resource,
        mode: it.mode.map(|mode| mode.label(&network.modes)),
        needed: it.needed,
        available: it.available,
        unit: &it.unit,
        flows: &it.flows,
        because: &it.because,
        would_fit: &it.would_fit,
    }
}

/// Switches with what they take and what their profiles have.
pub(crate) fn switches<'a>(plan: &'a Plan, is_wanted: &dyn Fn(&str) -> bool) -> Vec<SwitchRow<'a>> {
    let row = |deployment: &'a tenuto_model::SwitchDeployment| {
        let switch = plan.network.switch(&deployment.switch)?;
        let profile = plan.network.profile_of(switch);
        Some(SwitchRow {
            switch: &switch.name,
            profile: &switch.profile,
            usage: deployment.usage,
            limits: Limits {
                entries: profile.entries_max,
                meters: profile.meters_max,
                groups: profile.groups_max,
                queues: profile.queues_per_port,
            },
        })
    };
    plan.switches.iter().filter(|it| is_wanted(&it.switch)).filter_map(row).collect()
}

fn certificate(certification: &Certification) -> CertificateRow<'_> {
    match certification {
        Certification::Certified(it) => {
            CertificateRow { verdict: "certified", certificate: Some(it), findings: &[] }
        }
        Certification::Rejected(findings) => {
            CertificateRow { verdict: "rejected", certificate: None, findings }
        }
    }
}
