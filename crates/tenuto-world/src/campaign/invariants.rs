//! What must hold of a case, read from its document alone: the ledger's verdict is one invariant among others.

use super::Reach;
use crate::{FlowRow, ModeChangeRow, RunDocument};
use serde::Serialize;
use std::fmt;
use tenuto_model::{EventAction, Network, Plan, Scenario, Verdict};

/// An invariant of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Invariant {
    /// The ledger's verdict: kept within the fault model, never violated beyond it.
    Verdict,
    /// No message of a conforming flow is later than its bound.
    Delay,
    /// No copies of a message are farther apart than bounded.
    Skew,
    /// No message of a conforming flow is lost or policed.
    Loss,
    /// No mode change takes longer than its bound, and every one is completed.
    ModeChange,
    /// No queue is longer than its bound.
    Backlog,
    /// No queue is longer than its buffer.
    Buffer,
    /// What was sent is accounted for, each message once.
    Ledger,
    /// After all sources stopped, nothing is under way: neither a message nor a frame.
    Conservation,
    /// No mode is raised unless some flow may have exceeded its contract, by itself or behind what its own host floods; forged
    /// signals raise none.
    Cause,
    /// The same seed shows the same run.
    Repeat,
}

/// An invariant that a case breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which.
    pub invariant: Invariant,
    /// What was seen, beside what was promised.
    pub what: String,
}

impl Broken {
    pub(super) fn new(invariant: Invariant, what: impl fmt::Display) -> Self {
        Self { invariant, what: what.to_string() }
    }
}

/// The invariants that a run breaks.
pub fn broken(plan: &Plan, scenario: &Scenario, run: &RunDocument, reach: Reach) -> Vec<Broken> {
    let mut found = Vec::new();
    found.extend(verdict(run, reach));
    for row in &run.flows {
        found.extend(accounted(row));
        if reach == Reach::Within && !row.is_misbehaving {
            found.extend(promised(row));
        }
    }
    for change in &run.mode_changes {
        found.extend(well_formed(&plan.network, change));
        if reach == Reach::Within {
            found.extend(in_time(change, run.duration_ns));
        }
    }
    found.extend(queues(&plan.network, run, reach));
    found.extend(without_cause(&plan.network, scenario, run));
    found
}

fn verdict(run: &RunDocument, reach: Reach) -> Option<Broken> {
    let is_right = match reach {
        Reach::Within => {
            matches!(run.verdict, Verdict::Kept | Verdict::Modelled | Verdict::NothingObserved)
        }
        // Whatever breaks once nothing is promised any more is explained, and no violation.
        Reach::Beyond => run.verdict != Verdict::Violated,
    };
    (!is_right).then(|| Broken::new(Invariant::Verdict, &run.summary))
}

fn place(row: &FlowRow) -> String {
    format!("{} to {} in {}", row.flow, row.target, row.mode)
}

/// Each message has one fate, and each received one a delay.
fn accounted(row: &FlowRow) -> Option<Broken> {
    let fates = [row.received, row.lost, row.policed, row.out_of_mode, row.in_flight];
    let fates = fates.iter().sum::<u64>() + row.undecided;
    let delays: u64 = row.delay_histogram.iter().map(|bucket| bucket.messages).sum();
    (fates != row.sent || delays != row.received).then(|| {
        let (sent, received, place) = (row.sent, row.received, place(row));
        let what =
            format!("{place}: {sent} sent, {fates} accounted for; {received} received, {delays} with a delay");
        Broken::new(Invariant::Ledger, what)
    })
}

/// What a flow that keeps its contract is promised.
fn promised(row: &FlowRow) -> Vec<Broken> {
    let place = place(row);
    let above = |seen: Option<u64>, bound: Option<u64>| {
        seen.zip(bound).filter(|(seen, bound)| seen > bound)
    };
    let mut found = Vec::new();
    if let Some((seen, bound)) = above(row.observed_delay_ns_max, row.delay_bound_ns) {
        found.push((Invariant::Delay, format!("{place}: {seen} ns, bound {bound} ns")));
    }
    for copy in &row.copies {
        if let Some((seen, bound)) = above(copy.observed_delay_ns_max, copy.delay_bound_ns) {
            let what = format!("{place} over {}: {seen} ns, bound {bound} ns", copy.network);
            found.push((Invariant::Delay, what));
        }
    }
    if let Some((seen, bound)) = above(row.observed_skew_ns_max, row.skew_bound_ns) {
        found.push((Invariant::Skew, format!("{place}: {seen} ns, bound {bound} ns")));
    }
    let gone = row.lost + row.policed;
    if gone > 0 && row.delay_bound_ns.is_some() {
        found.push((Invariant::Loss, format!("{place}: {gone} of {} messages", row.sent)));
    }
    if row.in_flight > 0 && row.delay_bound_ns.is_some() {
        let what =
            format!("{place}: {} messages under way long after the last release", row.in_flight);
        found.push((Invariant::Conservation, what));
    }
    found.into_iter().map(|(invariant, what)| Broken { invariant, what }).collect()
}

fn well_formed(network: &Network, change: &ModeChangeRow) -> Option<Broken> {
    let level = |mode: &String| network.modes.iter().position(|it| it == mode);
    let is_known = level(&change.from).is_some() && level(&change.to).is_some();
    let is_in_order = change.switches.iter().all(|swap| swap.at_ns >= change.at_ns);
    let (from, to, at) = (&change.from, &change.to, change.at_ns);
    (!is_known || from == to || !is_in_order).then(|| {
        let what = format!("{from} to {to} at {at} ns: a switch swapped before, or for no mode");
        Broken::new(Invariant::ModeChange, what)
    })
}

fn in_time(change: &ModeChangeRow, duration_ns: u64) -> Option<Broken> {
    let bound = change.bound_ns?;
    let is_over = change.at_ns.saturating_add(bound) <= duration_ns;
    let is_late = match change.observed_ns {
        Some(seen) => seen > bound,
        None => is_over,
    };
    is_late.then(|| {
        let (from, to, at) = (&change.from, &change.to, change.at_ns);
        let seen = change.observed_ns.map_or("never done".into(), |ns| format!("{ns} ns"));
        let what = format!("{from} to {to} at {at} ns: {seen}, bound {bound} ns");
        Broken::new(Invariant::ModeChange, what)
    })
}

fn queues(network: &Network, run: &RunDocument, reach: Reach) -> Vec<Broken> {
    let mut found = Vec::new();
    for port in &run.ports {
        let (label, seen) = (&port.port, port.observed_backlog_bits_max);
        if let Some(limit) = port.buffer_limit_bits.filter(|limit| seen > *limit) {
            let what = format!("{label}: {seen} bits, buffer {limit} bits");
            found.push(Broken::new(Invariant::Buffer, what));
        }
        // A host's own queue is its own affair.
        let node = label.split([' ', ':']).next().unwrap_or_default();
        let is_host = network.hosts.iter().any(|host| host.name == node);
        let bound = port.backlog_bound_bits.filter(|bound| seen > *bound);
        if let Some(bound) = bound.filter(|_| reach == Reach::Within && !is_host) {
            let what = format!("{label}: {seen} bits, bound {bound} bits");
            found.push(Broken::new(Invariant::Backlog, what));
        }
    }
    found
}

/// Raises of a run in which no flow may have exceeded anything.
fn without_cause(network: &Network, scenario: &Scenario, run: &RunDocument) -> Option<Broken> {
    // What a host sends before its watched flow may move messages of that closer together than is allowed.
    let watches =
        |host: &String| network.flows.iter().any(|it| it.source == *host && it.is_watched());
    let exceeds = |action: &EventAction| match action {
        EventAction::Behave { mode, .. } => *mode > 0,
        EventAction::Oversend { .. } => true,
        EventAction::Babble { host, .. } | EventAction::Garbage { host, .. } => watches(host),
        _ => false,
    };
    let level = |mode: &String| network.modes.iter().position(|it| it == mode);
    let raise = run.mode_changes.iter().find(|it| level(&it.to) > level(&it.from))?;
    let has_cause =
        scenario.events.iter().any(|event| exceeds(&event.action) && event.at_ns <= raise.at_ns);
    (!has_cause).then(|| {
        let what = format!("to {} at {} ns by {}", raise.to, raise.at_ns, raise.trigger);
        Broken::new(Invariant::Cause, what)
    })
}
