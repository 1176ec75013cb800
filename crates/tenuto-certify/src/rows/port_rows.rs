//! Load and buffer of every port and mode.

use crate::description::read::{Mode, PortRow};
use crate::finding::{Findings, rule};
use crate::kernel::exact::Scale;
use crate::rows::analysis::Analysis;
use crate::rows::context::Context;
use crate::rows::inequality::arriving_rate;
use num_bigint::BigInt;
use std::collections::{BTreeMap, BTreeSet};

/// Backlog bounds in whole bits up, by mode and port; `None` where unbounded.
pub(crate) type Backlogs = BTreeMap<Mode, BTreeMap<usize, Option<BigInt>>>;

/// Checks the rows, and that there is one per port with a flow and mode or raise; in a feasible plan
/// every backlog fits.
pub(crate) fn check(
    context: &Context<'_>,
    analyses: &BTreeMap<Mode, &Analysis>,
    backlogs: &Backlogs,
    findings: &mut Findings,
) {
    let net = context.net;
    let mut seen = BTreeSet::new();
    for row in &context.plan.port_rows {
        let mode = row.mode.label(&net.raw.modes);
        let Some(port) = net.port(&row.port) else {
            let place = format!("{}:{}, {mode}", row.port.node, row.port.port);
            findings.add(rule::PORT_ROW, place, "a row", "no such port");
            continue;
        };
        let place = format!("{}, {mode}", net.label(port));
        if !seen.insert((port, row.mode)) {
            findings.add(rule::PORT_ROW, &place, "a second row", "one row per mode");
        }
        check_limits(context, row, port, &place, findings);
        check_analysed(context, analyses, backlogs, row, (port, &place), findings);
    }
    if context.plan.feasible {
        check_buffers(context, backlogs, findings);
    }
    check_complete(context, analyses.keys().copied(), &seen, findings);
}

/// Rate and backlog against what was computed; after a return both modes count.
fn check_analysed(
    context: &Context<'_>,
    analyses: &BTreeMap<Mode, &Analysis>,
    backlogs: &Backlogs,
    row: &PortRow,
    (port, place): (usize, &str),
    findings: &mut Findings,
) {
    let modes = match row.mode {
        Mode::Return { from, to } => vec![Mode::Steady(from), Mode::Steady(to)],
        mode => vec![mode],
    };
    for mode in modes {
        let Some(analysis) = analyses.get(&mode) else {
            findings.add(rule::PORT_ROW, place, "a row", "no such mode or raise");
            continue;
        };
        let rate = context.scale.to_bps_up(&arriving_rate(context, analysis, port));
        let capacity = BigInt::from(context.net.ports[port].rate_bps);
        let claim = BigInt::from(row.rate_bps);
        if claim < rate {
            let found = format!("at least {rate} bit/s");
            findings.add(rule::PORT_ROW, place, format!("{claim} bit/s"), found);
        } else if claim > capacity && rate <= capacity {
            // A row that is above its line says that the line is overloaded.
            let found = format!("{rate} bit/s, signals included, of {capacity} bit/s");
            findings.add(rule::PORT_ROW, place, format!("{claim} bit/s"), found);
        }
        let backlog = backlogs[&mode].get(&port).cloned().unwrap_or(Some(BigInt::default()));
        check_backlog(row, backlog.as_ref(), place, findings);
    }
}

/// Every port with a flow has a row for each mode.
fn check_complete(
    context: &Context<'_>,
    modes: impl Iterator<Item = Mode>,
    seen: &BTreeSet<(usize, Mode)>,
    findings: &mut Findings,
) {
    let net = context.net;
    let trees = context.streams.iter().flat_map(|stream| &stream.tree);
    let used: BTreeSet<usize> = trees.map(|place| place.port).collect();
    for mode in modes {
        for port in used.iter().filter(|port| !seen.contains(&(**port, mode))) {
            let place = format!("{}, {}", net.label(*port), mode.label(&net.raw.modes));
            let found = "every port with a flow has one per mode";
            findings.add(rule::PORT_ROW, place, "no row", found);
        }
    }
}

fn buffer_bits(context: &Context<'_>, port: usize) -> Option<u64> {
    let profile = context.net.profile(context.net.ports[port].node)?;
    profile.buffer_bytes_per_port.map(|bytes| bytes.saturating_mul(8))
}

fn check_limits(
    context: &Context<'_>,
    row: &PortRow,
    port: usize,
    place: &str,
    findings: &mut Findings,
) {
    let capacity = context.net.ports[port].rate_bps;
    if row.capacity_bps != capacity {
        let claim = format!("capacity {} bit/s", row.capacity_bps);
        findings.add(rule::PORT_ROW, place, claim, format!("{capacity} bit/s"));
    }
    let buffer = buffer_bits(context, port);
    if row.buffer_limit_bits != buffer {
        let claim = format!("buffer {:?} bit", row.buffer_limit_bits);
        findings.add(rule::PORT_ROW, place, claim, format!("{buffer:?} bit in the profile"));
    }
}

fn check_backlog(row: &PortRow, backlog: Option<&BigInt>, place: &str, findings: &mut Findings) {
    let Some(claim) = row.backlog_bound_bits else { return };
    if backlog.is_none_or(|backlog| *backlog > claim.into()) {
        let found = backlog.map_or("unbounded".into(), |bits| format!("at least {bits} bit"));
        findings.add(rule::BACKLOG, place, format!("{claim} bit"), found);
    }
}

/// In a feasible plan nothing is lost: every backlog fits its buffer.
fn check_buffers(context: &Context<'_>, backlogs: &Backlogs, findings: &mut Findings) {
    for (mode, ports) in backlogs {
        for (port, backlog) in ports {
            let Some(limit) = buffer_bits(context, *port) else { continue };
            if backlog.as_ref().is_none_or(|backlog| *backlog > limit.into()) {
                let label = mode.label(&context.net.raw.modes);
                let place = format!("{}, {label}", context.net.label(*port));
                let found = backlog.as_ref().map_or("unbounded".into(), |b| format!("{b} bit"));
                findings.add(rule::BACKLOG, place, format!("fits {limit} bit"), found);
            }
        }
    }
}

/// Whole bits, up.
pub(crate) fn to_bits(scale: &Scale, backlog: Option<BigInt>) -> Option<BigInt> {
    backlog.map(|size| scale.to_bits_up(&size))
}
