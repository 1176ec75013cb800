//! Places: what was dropped where, and how long queues became.

use super::summary::Sums;
use super::{Ledger, PolicedRow, PortObservation, Violation};
use tenuto_model::PortRow;

/// Reasons that name what frames were, not what the network lacked.
const POLICING: [&str; 7] = [
    "policed",
    "out_of_mode",
    "unknown",
    "malformed",
    "signal_rejected",
    "command_rejected",
    "no_output",
];

impl Ledger<'_> {
    pub(super) fn policed_rows(&self) -> Vec<PolicedRow> {
        let network = &self.plan.network;
        let mut rows: Vec<PolicedRow> = self
            .dropped
            .iter()
            .filter(|((_, _, reason, _), _)| POLICING.contains(&reason.as_str()))
            .map(|((node, port, reason, cookie), frames)| {
                let index = usize::try_from(*cookie).ok().and_then(|c| c.checked_sub(1));
                let far = network.ends_of(node).find(|(own, ..)| own.port == *port);
                let far = far.map(|(_, far, _)| far.node.clone());
                PolicedRow {
                    flow: index.and_then(|i| network.flows.get(i)).map(|f| f.name.clone()),
                    host: far.filter(|far| network.hosts.iter().any(|h| h.name == *far)),
                    switch: node.clone(),
                    port: *port,
                    frames: frames.total,
                    reason: reason.clone(),
                    stretch_ns: frames.stretch_ns(),
                    frames_at: frames.rows(),
                }
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.frames));
        rows
    }

    pub(super) fn port_rows(&self, sums: &mut Sums) -> Vec<PortObservation> {
        let mut rows = Vec::new();
        for ((node, port), &(backlog, frames)) in &self.ports {
            let port = tenuto_model::Port { node: node.clone(), port: *port };
            let label = self.plan.network.port_label(&port);
            let planned = self.plan.port_rows.iter().filter(|row| row.port == port);
            // Unbounded in one mode is unbounded.
            let worst =
                planned.clone().max_by_key(|row| row.backlog_bound_bits.unwrap_or(u64::MAX));
            let bound = worst.and_then(|row| row.backlog_bound_bits);
            let load = planned.clone().map(load).fold(0.0, f64::max);
            let limit = planned.clone().find_map(|row| row.buffer_limit_bits);
            let virtual_time = self.settings.world == "simulated";
            let from_babbler = self.misbehaving_hosts.contains_key(node);
            if virtual_time && !from_babbler && bound.is_some_and(|b| backlog > b) {
                let violation = Violation {
                    kind: "backlog".into(),
                    flow: None,
                    target: None,
                    mode: None,
                    at_ns: 0,
                    observed: Some(backlog),
                    bound,
                    note: format!("the queue at {label} was longer than its bound"),
                    is_explained: false,
                };
                sums.violated(violation, !self.deaths.is_empty());
            }
            rows.push(PortObservation {
                port: label,
                mode: worst
                    .map_or_else(String::new, |row| row.mode.label(&self.plan.network.modes)),
                load,
                observed_backlog_bits_max: backlog,
                backlog_bound_bits: bound,
                buffer_limit_bits: limit,
                frames,
            });
        }
        rows
    }
}

/// Planned load as a fraction of the rate.
#[allow(clippy::cast_precision_loss)] // shown, never compared
fn load(row: &PortRow) -> f64 {
    row.rate_bps as f64 / row.capacity_bps.max(1) as f64
}
