//! Witnesses for people: the loosest rows, how tight each kind is, what is above its bound.

use super::document::{DelayRow, Document, KindRow};
use crate::format::{Table, counted, kilobytes_up, ms_up_ns, percent_down};
use std::fmt::Write;

/// Rows shown without `--all`.
const ROWS_SHOWN: usize = 20;

/// A share of one as percent.
fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".into(), |it| format!("{:.1} %", (it * 1_000.0).floor() / 10.0))
}

/// The text; the loosest rows only unless `all`.
pub(crate) fn text(document: &Document, all: bool) -> String {
    let mut out = format!(
        "{}  {}, {} attacked   {} played\n",
        document.network,
        counted(document.rows.len(), "delay"),
        counted(document.backlogs.len(), "backlog"),
        tenuto_units::counted(document.plays, "schedule"),
    );
    let mut rows: Vec<&DelayRow> = document.rows.iter().collect();
    rows.sort_by(|a, b| a.tightness.unwrap_or(0.0).total_cmp(&b.tightness.unwrap_or(0.0)));
    let shown = if all { rows.len() } else { ROWS_SHOWN };
    let heads =
        ["flow", "target", "mode", ">bound ms", ">witness ms", ">tightness", "gives most away at"];
    let mut table = Table::new(&heads);
    for row in rows.iter().take(shown) {
        let over = row.copy.as_ref().map_or_else(String::new, |it| format!(" over {it}"));
        table.push(vec![
            row.flow.clone(),
            format!("{}{over}", row.target),
            row.mode.clone(),
            ms_up_ns(row.delay_bound_ns),
            row.witness_delay_ns.map_or_else(|| "-".into(), ms_up_ns),
            percent(row.tightness),
            row.gives_most_away_at.clone().unwrap_or_default(),
        ]);
    }
    out.push_str(&table.text());
    if rows.len() > shown {
        let _ = writeln!(out, "… {} that are tighter (--all)", rows.len() - shown);
    }
    if all {
        backlogs(&mut out, document);
    }
    out.push('\n');
    out.push_str(&kinds(&document.kinds));
    for change in &document.mode_changes {
        let (witness, bound) = (change.witness_ns, change.bound_ns);
        let share = percent_down(witness.into(), bound.into());
        let (witness, bound) = (ms_up_ns(witness), ms_up_ns(bound));
        let (from, to) = (&change.from, &change.to);
        let _ = writeln!(out, "mode change {from}>{to}: {witness} of {bound} ms ({share})");
    }
    if document.rows_not_attacked > 0 {
        let count = counted(document.rows_not_attacked, "row");
        let _ = writeln!(out, "not attacked: {count} of returns, or without a bound");
    }
    out
}

fn kinds(kinds: &[KindRow]) -> String {
    let heads = ["kind", ">rows", ">least", ">median", ">from 90 %", ">from 75 %", ">from 50 %"];
    let mut table = Table::new(&heads);
    for it in kinds {
        table.push(vec![
            it.kind.clone(),
            it.rows.to_string(),
            percent(Some(it.tightness_min)),
            percent(Some(it.tightness_median)),
            it.rows_from_90_percent.to_string(),
            it.rows_from_75_percent.to_string(),
            it.rows_from_50_percent.to_string(),
        ]);
    }
    table.text()
}

fn backlogs(out: &mut String, document: &Document) {
    let mut table = Table::new(&["port", "mode", ">bound", ">witness", ">tightness"]);
    for it in &document.backlogs {
        table.push(vec![
            it.port.clone(),
            it.mode.clone(),
            kilobytes_up(it.backlog_bound_bits),
            it.witness_backlog_bits.map_or_else(|| "-".into(), kilobytes_up),
            percent(it.tightness),
        ]);
    }
    let _ = write!(out, "\n{}", table.text());
}

/// What one flow's bounds give away, port by port.
pub(crate) fn hops(row: &DelayRow) -> String {
    let over = row.copy.as_ref().map_or_else(String::new, |it| format!(" over {it}"));
    let mut out = format!("\n{} to {}{over} in {}\n", row.flow, row.target, row.mode);
    let mut table = Table::new(&["     port", ">bound ms", ">witness ms", ">given away ms"]);
    for hop in &row.hops {
        table.push(vec![
            format!("     {}", hop.port),
            hop.queueing_bound_ns.map_or_else(|| "-".into(), ms_up_ns),
            hop.witness_queueing_ns.map_or_else(|| "-".into(), ms_up_ns),
            ms_up_ns(hop.given_away_ns()),
        ]);
    }
    out.push_str(&table.text());
    out.push_str(&terms(row));
    out
}

/// Terms shown of a port.
const TERMS_SHOWN: usize = 5;

/// What the bound counts where it gives most away.
fn terms(row: &DelayRow) -> String {
    let Some(port) = row.gives_most_away_at.as_ref().filter(|_| !row.terms.is_empty()) else {
        return String::new();
    };
    let mut table = Table::new(&["       term", ">costs ms", ">on the line ms"]);
    for it in row.terms.iter().take(TERMS_SHOWN) {
        let term = format!("       {}", it.term);
        table.push(vec![term, ms_up_ns(it.bound_ns), ms_up_ns(it.witness_ns)]);
    }
    format!("     at {port} the bound counts, most given away first:\n{}", table.text())
}
