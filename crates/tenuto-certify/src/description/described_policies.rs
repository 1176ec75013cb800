//! What a description tolerates, and how it returns from a mode.

use crate::description::read::Plan;
use crate::finding::{Findings, rule};

/// Hosts that may babble.
const BABBLING_MAX: u32 = 4_000;
/// Signals that may be lost.
const LOST_SIGNALS_MAX: u32 = 16;
/// Links that may be lost.
const LINKS_LOST_MAX: u32 = 1;

/// Checks the fault model and the quiet window.
pub(crate) fn check(plan: &Plan, findings: &Findings) {
    let raw = &plan.network;
    for (what, value, most) in [
        ("babbling hosts", raw.tolerates.babbling_hosts, BABBLING_MAX),
        ("lost signals", raw.tolerates.lost_signals, LOST_SIGNALS_MAX),
        ("lost links", raw.tolerates.links_lost, LINKS_LOST_MAX),
    ] {
        if value > most {
            let found = format!("at most {most}");
            findings.add(rule::DESCRIPTION, "tolerates", format!("{value} {what}"), found);
        }
    }
    // Without a stated window the plan has one of its own.
    let stated = raw.mode_return.quiet_ns.filter(|_| plan.feasible && raw.modes.len() > 1);
    if let Some(stated) = stated.filter(|stated| plan.quiet_ns != Some(*stated)) {
        let found = format!("{:?} ns in the plan", plan.quiet_ns);
        findings.add(rule::DESCRIPTION, "mode_return", format!("quiet {stated} ns"), found);
    }
}
