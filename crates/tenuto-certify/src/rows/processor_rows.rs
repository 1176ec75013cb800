//! Load and receive buffers of processors that ports share.

use crate::description::read::{Mode, ProcessorRow};
use crate::finding::{Findings, rule};
use crate::rows::context::Context;
use crate::rows::processor::{Site, sites};
use std::collections::{BTreeMap, BTreeSet};

/// Checks the rows, and that every buffer has one; in a feasible plan it suffices.
pub(crate) fn check(context: &Context<'_>, findings: &mut Findings) {
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
                check_row(site, row, &place, findings);
            }
            Some(_) => findings.add(rule::PROCESSOR, place, "a second row", "one row per buffer"),
            None => findings.add(rule::PROCESSOR, place, "a row", "no such processor or buffer"),
        }
    }
    for (mode, sites) in &by_mode {
        for site in sites {
            for port in site.buffers() {
                let is_listed = seen.contains(&(site.node, port, *mode));
                check_buffer(context, site, port, *mode, is_listed, findings);
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
    findings: &mut Findings,
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
        findings.add(rule::PROCESSOR, place(), "no row", "every buffer has one per mode");
    }
    let Some(buffer) = site.buffer.filter(|_| plan.feasible) else { return };
    let held = site.held(port);
    if held.is_none_or(|held| held > buffer.count) {
        let unit = site.device.unit_name();
        let found = held.map_or("unbounded".into(), |held| format!("{held} {unit}"));
        findings.add(rule::BACKLOG, place(), format!("fits {} {unit}", buffer.count), found);
    }
}

fn check_row(site: &Site<'_, '_>, row: &ProcessorRow, place: &str, findings: &mut Findings) {
    let load = site.load_ppm();
    if load.is_none_or(|load| load > row.load_ppm) {
        let found = load.map_or("unbounded".into(), |load| format!("at least {load} ppm"));
        findings.add(rule::PROCESSOR, place, format!("{} ppm", row.load_ppm), found);
    }
    let limit = site.buffer.map(|buffer| buffer.count);
    if row.buffer_limit != limit || row.unit != site.device.unit_name() {
        let claim = format!("buffer {:?} {}", row.buffer_limit, row.unit);
        let found = format!("{limit:?} {} in the profile", site.device.unit_name());
        findings.add(rule::PROCESSOR, place, claim, found);
    }
    let Some(claim) = row.backlog_bound else { return };
    let held = site.held(row.port);
    if held.is_none_or(|held| held > claim) {
        let found = held.map_or("unbounded".into(), |held| format!("at least {held}"));
        findings.add(rule::BACKLOG, place, format!("{claim} {}", row.unit), found);
    }
}
