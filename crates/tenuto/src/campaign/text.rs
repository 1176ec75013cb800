//! A campaign for people.

use super::document::{CampaignRow, Document, FindingRow};
use crate::format::{Table, ms_up_ns, percent_up, seconds};
use crate::outcome::Outcome;
use std::fmt::Write;
use std::time::Duration;
use tenuto_units::counted;

/// Rows shown without `--all`.
const ROWS_SHOWN: usize = 20;
/// Invariants told of one case.
const BROKEN_SHOWN: usize = 4;

/// The text; the fullest rows only unless `all`.
pub(crate) fn text(it: &Document, took: Duration, jobs: usize, all: bool) -> String {
    let mut out = head(it, took, jobs);
    out.push_str(&rows(&it.rows, all));
    for change in &it.longest_changes {
        let bound = change
            .bound_ns
            .map_or_else(|| "no bound".into(), |ns| format!("bound {} ms", ms_up_ns(ns)));
        let (from, to, seen) = (&change.from, &change.to, ms_up_ns(change.observed_ns_max));
        let _ = writeln!(out, "mode change {from}>{to}: at most {seen} ms, {bound}");
    }
    for finding in &it.findings {
        out.push_str(&told(finding));
    }
    out.push_str(&verdict(it));
    out
}

fn head(it: &Document, took: Duration, jobs: usize) -> String {
    let reach = if it.is_beyond { "beyond the fault model" } else { "within the fault model" };
    let mut out = format!(
        "{}  {} from seed {} {reach}   {} s simulated in {:.1} s, {jobs} at once\n",
        it.network,
        counted(it.cases, "case"),
        it.first_seed,
        seconds(it.simulated_ns),
        took.as_secs_f64(),
    );
    let _ = writeln!(
        out,
        "{} received of {}, {} handed over, {}",
        counted(it.received, "message"),
        it.sent,
        counted(it.packet_hops, "frame"),
        counted(it.mode_changes, "mode change")
    );
    let counts = |counts: &std::collections::BTreeMap<String, u64>| {
        let parts: Vec<String> = counts
            .iter()
            .map(|(word, count)| format!("{} {count}", word.replace('_', " ")))
            .collect();
        parts.join(", ")
    };
    if !it.events.is_empty() {
        let _ = writeln!(out, "drawn: {}", counts(&it.events));
    }
    let _ = writeln!(out, "runs: {}\n", counts(&it.runs));
    out
}

fn rows(rows: &[CampaignRow], all: bool) -> String {
    let share = |row: &CampaignRow| match (row.observed_delay_ns_max, row.delay_bound_ns) {
        (Some(seen), Some(bound)) if bound > 0 => u128::from(seen) * 1_000_000 / u128::from(bound),
        _ => 0,
    };
    let mut sorted: Vec<&CampaignRow> = rows.iter().collect();
    sorted.sort_by_key(|row| std::cmp::Reverse(share(row)));
    let shown = if all { sorted.len() } else { ROWS_SHOWN };
    let heads =
        ["flow", "target", "mode", ">received", ">largest ms", ">bound ms", ">share", ">seed"];
    let mut table = Table::new(&heads);
    for row in sorted.iter().take(shown) {
        let (seen, bound) = (row.observed_delay_ns_max, row.delay_bound_ns);
        table.push(vec![
            row.flow.clone(),
            row.target.clone(),
            row.mode.clone(),
            row.received.to_string(),
            seen.map_or_else(|| "-".into(), ms_up_ns),
            bound.map_or_else(|| "-".into(), ms_up_ns),
            seen.zip(bound).map_or_else(|| "-".into(), |(seen, bound)| percent_up(seen, bound)),
            row.seed.to_string(),
        ]);
    }
    let mut out = table.text();
    if sorted.len() > shown {
        let _ = writeln!(out, "… {} with a smaller share (--all)", sorted.len() - shown);
    }
    out.push('\n');
    out
}

fn told(finding: &FindingRow) -> String {
    let mut out = format!("seed {} breaks:\n", finding.seed);
    for it in finding.broken.iter().take(BROKEN_SHOWN) {
        let _ = writeln!(out, "  {}: {}", word(it.invariant), it.what);
    }
    let more = finding.broken.len().saturating_sub(BROKEN_SHOWN);
    if more > 0 {
        let _ = writeln!(out, "  and {more} more");
    }
    let _ = writeln!(out, "  again: {}", finding.command);
    out
}

/// An invariant in a word.
pub(crate) fn word(it: tenuto_world::campaign::Invariant) -> String {
    let word = serde_json::to_value(it).ok();
    word.and_then(|it| it.as_str().map(|it| it.replace('_', " "))).unwrap_or_default()
}

fn verdict(it: &Document) -> String {
    let cases = counted(it.cases, "case");
    match it.outcome() {
        Outcome::Good if it.is_beyond => {
            format!("KEPT  what must always hold held in {cases}\n")
        }
        Outcome::Good => format!("KEPT  every invariant held in {cases}\n"),
        Outcome::Bad => {
            format!("VIOLATED  {} of {cases}: an invariant is broken\n", it.broken_cases)
        }
        _ if it.received == 0 => "NOTHING OBSERVED  no message was received\n".into(),
        _ => format!("MODELLED  every invariant held in {cases}, on typical times\n"),
    }
}
