//! Load and receive buffers of processors that ports share.

use crate::description::read::{Mode, ProcessorRow};
use crate::finding::rule;
use crate::rows::context::Context;
use crate::rows::processor::{Site, sites};
use std::collections::{BTreeMap, BTreeSet};

/// Checks the rows, and that every buffer has one; in a feasible plan it suffices.
pub(crate) fn check(context: &Context<'_>) {
    let net = context.net;
    let mut seen = BTreeSet::new();
    let by_mode: BTreeMap<Mode, Vec<Site<'_, '_>>> =
        context.claimed_modes().map(|mode| (mode, sites(context, mode))).collect();
    for row in &context.plan.processor_rows {
        let mode = row.mode.label(&net.raw.modes);
        let place = format!("{}, processor, {mode}", row.switch);
        let node = net.node(&row.switch);
        let mut here = by_mode.get(&row.mode).into_iter().flatten();
        let site = here.find(|site| Some(site.node) == node);
        match site.filter(|site| site.buffers().contains(&row.port)) {
            Some(site) if seen.insert((site.node, row.port, row.mode)) => {
                check_row(context, site, row, &place);
            }
            Some(_) => context.wrong(rule::PROCESSOR, place, "a second row", "one row per buffer"),
            None => context.wrong(rule::PROCESSOR, place, "a row", "no such processor or buffer"),
        }
    }
    for (mode, sites) in &by_mode {
        for site in sites {
            for port in site.buffers() {
                let is_listed = seen.contains(&(site.node, port, *mode));
                check_buffer(context, site, port, *mode, is_listed);
            }
        }
    }
}

/// A buffer has a row; in a feasible plan what is held in it fits.
fn check_buffer(
    context: &Context<'_>,
    site: &Site<'_, '_>,
    port: Option<u32>,
    mode: Mode,
    is_listed: bool,
) {
    let plan = context.plan;
    let place = || {
        let name = context.net.nodes[site.node].name;
        let entry = port.map(|port| format!(":{port}")).unwrap_or_default();
        format!("{name}{entry}, processor, {}", mode.label(&context.net.raw.modes))
    };
    // A plan that is refused may know no load of any processor, where mode changes have
    // no bound for instance; if it knows some, it lists all that have a bound.
    let is_due = plan.feasible || !plan.processor_rows.is_empty() && site.load_ppm().is_some();
    if is_due && !is_listed {
        context.wrong(rule::PROCESSOR, place(), "no row", "every buffer has one per mode");
    }
    if let Some(buffer) = site.buffer.filter(|_| plan.feasible) {
        let about = (rule::BACKLOG, place(), site.device.unit_name());
        context.net.at_least(about, "a buffer of", buffer.count, site.held(port));
    }
}

fn check_row(context: &Context<'_>, site: &Site<'_, '_>, row: &ProcessorRow, place: &str) {
    let (net, unit) = (context.net, site.device.unit_name());
    net.at_least((rule::PROCESSOR, place, "ppm"), "load", row.load_ppm, site.load_ppm());
    let is = (site.buffer.map(|buffer| buffer.count), unit);
    net.same((rule::PROCESSOR, place), "buffer", (row.buffer_limit, row.unit.as_str()), is);
    if let Some(claim) = row.backlog_bound {
        net.at_least((rule::BACKLOG, place, unit), "backlog", claim, site.held(row.port));
    }
}
