//! What all of it rests on: assumptions, forwarding model, fault model, methods.

use super::page::Part;
use super::text::{time_ns, time_up};
use crate::format::counted;
use std::collections::BTreeMap;
use tenuto_model::{ForwardingModel, OtherTraffic, Plan};

pub(super) fn part(plan: &Plan) -> Part {
    let mut part = Part::new("foundations", "Assumptions and methods");
    part.heading("Assumed");
    // The certified plan's: a run document is only what somebody wrote down.
    part.list(&plan.rests_on());
    part.heading("Promised for these faults, and no others");
    part.list(&faults(plan));
    part.heading("Model and methods");
    part.list(&methods(plan));
    if !plan.mode_changes.is_empty() {
        part.heading("Bounds of mode changes");
        part.list(&changes(plan));
    }
    part.heading("How to read the numbers");
    part.list(&[
        "A bound is proved, a limit is configured, an observed value is measured. Bounds, loads \
         and observed values are rounded up, slack and margins down.",
        "1 kB is 1000 B. Rates and backlogs count what the line carries: preamble, padding and gap \
         included.",
        "A message whose life touches a mode change is judged by the bound of the change, in the \
         row of that name.",
        "An observed maximum is a maximum of one run: it says nothing of others. The bound does.",
    ]);
    part
}

fn faults(plan: &Plan) -> Vec<String> {
    let tolerates = plan.network.tolerates;
    let number = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
    let hosts = counted(number(tolerates.babbling_hosts), "host");
    let signals = counted(number(tolerates.lost_signals), "mode signal");
    let mut lines = vec![
        format!("{hosts} sending anything at line rate, at the same time"),
        format!("{signals} lost per mode change"),
    ];
    if tolerates.controller_loss {
        lines.push("every controller gone after set-up".to_owned());
    }
    lines
}

fn methods(plan: &Plan) -> Vec<String> {
    let model = match plan.model {
        ForwardingModel::StoreAndForward => {
            "Store and forward: a frame is received whole before it is sent on."
        }
        ForwardingModel::Fluid => {
            "Fluid: bits flow through. For comparison with other tools; no promise for frames."
        }
    };
    let shaping = if plan.line_shaping {
        "Input links shape what they carry (line shaping)."
    } else {
        "Input links are not taken to shape what they carry."
    };
    let mut lines = vec![model.to_owned(), shaping.to_owned()];
    if plan.as_stated {
        lines.push(
            "Frames below 64 B are taken as stated, for comparison only: on a wire they are \
                    padded."
                .to_owned(),
        );
    }
    let mut methods: BTreeMap<&str, usize> = BTreeMap::new();
    for bound in &plan.flows {
        *methods.entry(&bound.method).or_default() += 1;
    }
    let name = |method: &str| match method {
        "tfa" => "tfa, total flow analysis".to_owned(),
        "staircase" => "staircase, total flow analysis of whole messages".to_owned(),
        "change" => "change, total flow analysis over a mode change".to_owned(),
        other => other.to_owned(),
    };
    lines.extend(methods.iter().map(|(m, n)| format!("{}: {}", name(m), counted(*n, "bound"))));
    if let OtherTraffic::Carry { priority, rate_bps, frame_bytes_max } = plan.network.other_traffic
    {
        lines.push(format!(
            "Other traffic is carried in class {priority}: {} per host port, frames to \
             {frame_bytes_max} B.",
            super::text::rate(rate_bps)
        ));
    } else {
        lines.push("Other traffic is dropped at the first switch and counted.".to_owned());
    }
    lines
}

fn changes(plan: &Plan) -> Vec<String> {
    let mut lines: Vec<String> = plan
        .mode_changes
        .iter()
        .map(|change| {
            let terms: Vec<String> = change
                .terms
                .iter()
                .map(|term| format!("{} {}", term.name, time_up(term.bound_ps)))
                .collect();
            let label = change.change.label(&plan.network.modes);
            format!("{label} ≤ {} = {}", time_up(change.bound_ps), terms.join(" + "))
        })
        .collect();
    lines.extend(plan.quiet_ns.map(|ns| format!("quiet before a return: {}", time_ns(ns))));
    lines
}
