//! What a plan says of lost links, for people and for programs.

use crate::format::{Table, ms_down, ms_up, percent_up};
use crate::plan_text::slack_ps;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use tenuto_model::{FlowBound, LinkLoss, Network, Plan, Port, TableUse};

/// Losses that are shown unless all are asked for.
const LOSSES_SHOWN: usize = 20;

/// The largest bound of each flow and target after any loss, picoseconds; `None` where there is
/// none.
pub(crate) type Worst<'a> = BTreeMap<(&'a str, &'a str), Option<u64>>;

pub(crate) fn worst(plan: &Plan) -> Worst<'_> {
    let mut worst = Worst::new();
    for row in plan.link_losses.iter().flat_map(|loss| &loss.flows) {
        let known = worst.entry((&row.flow, &row.target)).or_insert(Some(0));
        *known = known.zip(row.delay_bound_ps).map(|(a, b)| a.max(b));
    }
    worst
}

/// One row per lost link; nothing without any.
pub(crate) fn text(plan: &Plan, all: bool) -> String {
    if plan.link_losses.is_empty() {
        return String::new();
    }
    let heads = ["lost link", ">moved", ">late", ">least slack ms", "of", ">fullest port", "at"];
    let mut table = Table::new(&heads);
    let mut losses: Vec<&LinkLoss> = plan.link_losses.iter().collect();
    losses.sort_by_key(|loss| least(loss).map_or(i128::MIN, slack));
    let shown = if all { losses.len() } else { losses.len().min(LOSSES_SHOWN) };
    for loss in &losses[..shown] {
        let late = loss.flows.iter().filter(|row| slack(row) < 0).count();
        let row = least(loss);
        let fullest = loss.port_rows.iter().max_by_key(|row| {
            u128::from(row.rate_bps) * 1_000_000 / u128::from(row.capacity_bps.max(1))
        });
        table.push(vec![
            loss.label(),
            loss.routes.len().to_string(),
            late.to_string(),
            row.and_then(slack_ps).map_or_else(|| "unbounded".into(), ms_down),
            row.map_or_else(|| "-".into(), |row| format!("{} to {}", row.flow, row.target)),
            fullest.map_or_else(|| "-".into(), |row| percent_up(row.rate_bps, row.capacity_bps)),
            fullest.map_or_else(|| "-".into(), |row| plan.network.port_label(&row.port)),
        ]);
    }
    let mut out = format!("\n{}", table.text());
    if shown < losses.len() {
        let _ = writeln!(out, "… {} more with more slack (--all)", losses.len() - shown);
    }
    out.push_str(
        "            a controller installs the ways around a lost link (`--json` has them); until it \
         has, and how long it takes, is not promised\n",
    );
    out
}

fn slack(row: &FlowBound) -> i128 {
    slack_ps(row).unwrap_or(i128::MIN)
}

fn least(loss: &LinkLoss) -> Option<&FlowBound> {
    loss.flows.iter().min_by_key(|row| slack(row))
}

/// The worst bound of a row's flow after a loss, for the table of flows.
pub(crate) fn cell(worst: &Worst<'_>, row: &FlowBound) -> String {
    match worst.get(&(row.flow.as_str(), row.target.as_str())) {
        None => "-".into(),
        Some(None) => "unbounded".into(),
        Some(Some(ps)) => ms_up(*ps),
    }
}

/// One lost link in a document.
#[derive(Serialize)]
pub(crate) struct LossRow<'a> {
    link: String,
    /// Whether every promise holds again with the new ways.
    feasible: bool,
    moved: Vec<MovedRow<'a>>,
    flows: Vec<BoundRow<'a>>,
    ports: Vec<LoadRow>,
    table_use: Vec<UseRow<'a>>,
    refusals: Vec<&'a str>,
}

#[derive(Serialize)]
struct MovedRow<'a> {
    flow: &'a str,
    copy: Option<&'a str>,
    /// Per target, the ports of the new way.
    ways: Vec<Vec<String>>,
}

#[derive(Serialize)]
struct BoundRow<'a> {
    flow: &'a str,
    target: &'a str,
    deadline_ns: u64,
    delay_bound_ns: Option<u64>,
}

#[derive(Serialize)]
struct LoadRow {
    port: String,
    rate_bps: u64,
    capacity_bps: u64,
    backlog_bound_bits: Option<u64>,
}

#[derive(Serialize)]
struct UseRow<'a> {
    switch: &'a str,
    usage: TableUse,
}

/// Every lost link that the plan speaks of; without bounds where the checker allows none.
pub(crate) fn rows(plan: &Plan, has_bounds: bool) -> Vec<LossRow<'_>> {
    plan.link_losses.iter().map(|loss| row(&plan.network, loss, has_bounds)).collect()
}

fn row<'a>(network: &'a Network, loss: &'a LinkLoss, has_bounds: bool) -> LossRow<'a> {
    let way = |ports: &Vec<Port>| ports.iter().map(|port| network.port_label(port)).collect();
    let moved = |route: &'a tenuto_model::Route| MovedRow {
        flow: &route.flow,
        copy: route.copy.as_deref(),
        ways: route.paths.iter().map(|path| way(&path.ports)).collect(),
    };
    let bound = |row: &'a FlowBound| BoundRow {
        flow: &row.flow,
        target: &row.target,
        deadline_ns: row.deadline_ns,
        delay_bound_ns: row.delay_bound_ps.map(|ps| ps.div_ceil(1_000)),
    };
    let load = |row: &tenuto_model::PortRow| LoadRow {
        port: network.port_label(&row.port),
        rate_bps: row.rate_bps,
        capacity_bps: row.capacity_bps,
        backlog_bound_bits: row.backlog_bound_bits,
    };
    LossRow {
        link: loss.label(),
        feasible: loss.refusals.is_empty(),
        moved: loss.routes.iter().map(moved).collect(),
        flows: loss.flows.iter().filter(|_| has_bounds).map(bound).collect(),
        ports: loss.port_rows.iter().filter(|_| has_bounds).map(load).collect(),
        table_use: loss
            .table_use
            .iter()
            .map(|(switch, usage)| UseRow { switch, usage: *usage })
            .collect(),
        refusals: loss.refusals.iter().map(|refusal| refusal.because.as_str()).collect(),
    }
}
