//! Load and buffer of every port and mode.

use crate::description::read::{Mode, PortRow};
use crate::finding::rule;
use crate::rows::analysis::Analysis;
use crate::rows::context::Context;
use crate::rows::inequality::arriving_rate;
use crate::streams::scale::Scale;
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
) {
    let net = context.net;
    let mut seen = BTreeSet::new();
    for row in &context.plan.port_rows {
        let mode = row.mode.label(&net.raw.modes);
        let Some(port) = net.port(&row.port) else {
            let place = format!("{}:{}, {mode}", row.port.node, row.port.port);
            context.wrong(rule::PORT_ROW, place, "a row", "no such port");
            continue;
        };
        let place = format!("{}, {mode}", net.label(port));
        if !seen.insert((port, row.mode)) {
            context.wrong(rule::PORT_ROW, &place, "a second row", "one row per mode");
        }
        let place = place.as_str();
        net.same((rule::PORT_ROW, place), "capacity", row.capacity_bps, net.ports[port].rate_bps);
        let buffer = buffer_bits(context, port);
        net.same((rule::PORT_ROW, place), "buffer", row.buffer_limit_bits, buffer);
        check_analysed(context, analyses, backlogs, row, (port, place));
    }
    if context.plan.feasible {
        check_buffers(context, backlogs);
    }
    check_complete(context, analyses.keys().copied(), &seen);
}

/// Rate and backlog against what was computed; after a return both modes count.
fn check_analysed(
    context: &Context<'_>,
    analyses: &BTreeMap<Mode, &Analysis>,
    backlogs: &Backlogs,
    row: &PortRow,
    (port, place): (usize, &str),
) {
    let net = context.net;
    let modes = match row.mode {
        Mode::Return { from, to } => vec![Mode::Steady(from), Mode::Steady(to)],
        mode => vec![mode],
    };
    for mode in modes {
        let Some(analysis) = analyses.get(&mode) else {
            context.wrong(rule::PORT_ROW, place, "a row", "no such mode or raise");
            continue;
        };
        let rate = context.scale.to_bps_up(&arriving_rate(context, analysis, port));
        let capacity = BigInt::from(context.net.ports[port].rate_bps);
        if BigInt::from(row.rate_bps) > capacity && rate <= capacity {
            // A row that is above its line says that the line is overloaded.
            let found = format!("{rate} bit/s, signals included, of {capacity} bit/s");
            context.wrong(rule::PORT_ROW, place, format!("{} bit/s", row.rate_bps), found);
        }
        net.at_least((rule::PORT_ROW, place, "bit/s"), "rate", row.rate_bps, Some(rate));
        let backlog = backlogs[&mode].get(&port).cloned().unwrap_or(Some(BigInt::default()));
        if let Some(claim) = row.backlog_bound_bits {
            net.at_least((rule::BACKLOG, place, "bit"), "backlog", claim, backlog);
        }
    }
}

/// Every port with a flow has a row for each mode.
fn check_complete(
    context: &Context<'_>,
    modes: impl Iterator<Item = Mode>,
    seen: &BTreeSet<(usize, Mode)>,
) {
    let net = context.net;
    let trees = context.streams.iter().flat_map(|stream| &stream.tree);
    let used: BTreeSet<usize> = trees.map(|place| place.port).collect();
    for mode in modes {
        for port in used.iter().filter(|port| !seen.contains(&(**port, mode))) {
            let place = format!("{}, {}", net.label(*port), mode.label(&net.raw.modes));
            let found = "every port with a flow has one per mode";
            context.wrong(rule::PORT_ROW, place, "no row", found);
        }
    }
}

fn buffer_bits(context: &Context<'_>, port: usize) -> Option<u64> {
    let profile = context.net.profile(context.net.ports[port].node)?;
    profile.buffer_bytes_per_port.map(|bytes| bytes.saturating_mul(8))
}

/// In a feasible plan nothing is lost: every backlog fits its buffer.
fn check_buffers(context: &Context<'_>, backlogs: &Backlogs) {
    let all = backlogs.iter().flat_map(|(mode, of)| of.iter().map(move |it| (mode, it)));
    for (mode, (port, backlog)) in all {
        let Some(limit) = buffer_bits(context, *port) else { continue };
        let label = mode.label(&context.net.raw.modes);
        let place = format!("{}, {label}", context.net.label(*port));
        context.net.at_least((rule::BACKLOG, place, "bit"), "a buffer of", limit, backlog.clone());
    }
}

/// Whole bits, up.
pub(crate) fn to_bits(scale: &Scale, backlog: Option<BigInt>) -> Option<BigInt> {
    backlog.map(|size| scale.to_bits_up(&size))
}
