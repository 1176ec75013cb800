//! `plan --explain FLOW` of a server graph, for people.

use super::explain::{Explanation, Hop, Piece, Row};
use super::text::Scale;
use crate::format::{Table, counted, kilobytes_up, megabits_up};
use std::fmt::Write;

/// Other flows that are listed per server; the rest is counted.
const LISTED_MAX: usize = 6;

/// The text; only the row with the least slack unless `all`.
pub(crate) fn text(it: &Explanation, all: bool) -> String {
    let mut out = String::new();
    let scale = Scale::of_largest(it.rows.iter().filter_map(|row| row.tfa_delay_bound_ps));
    let shown = if all { it.rows.len() } else { 1 };
    for row in it.rows.iter().take(shown) {
        row_text(&mut out, &it.flow, row, scale);
    }
    let hidden = it.rows.len().saturating_sub(shown);
    if hidden > 0 {
        let _ = writeln!(out, "{} with more slack (--all)", counted(hidden, "other bound"));
    }
    tighter(&mut out, it, scale);
    for (index, assumption) in it.assumptions.iter().enumerate() {
        let head = if index == 0 { "assumes" } else { "" };
        let _ = writeln!(out, "{head:<11} {assumption}");
    }
    out
}

fn row_text(out: &mut String, flow: &str, row: &Row, scale: Scale) {
    let time = |ps: Option<i128>| {
        ps.map_or_else(|| "none".to_owned(), |ps| format!("{} {}", scale.up(ps), scale.unit))
    };
    let _ = write!(out, "{flow} to {}: bound {}", row.target, time(row.delay_bound_ps));
    let _ = write!(out, " ({})", row.method);
    if let Some(deadline) = row.deadline_ps {
        let _ = write!(out, ", deadline {} {}", scale.down(deadline), scale.unit);
        if let Some(bound) = row.delay_bound_ps {
            let _ = write!(out, ", slack {} {}", scale.down(deadline - bound), scale.unit);
        }
    }
    out.push('\n');
    let is_sum = row.delay_bound_ps == row.tfa_delay_bound_ps;
    match (row.delay_bound_ps, row.tfa_delay_bound_ps) {
        (Some(_), Some(_)) if is_sum => {}
        (Some(_), sum) => {
            let sum = sum.map_or_else(
                || "have no bound".to_owned(),
                |ps| format!("add up to {} {}", scale.up(ps), scale.unit),
            );
            let _ = writeln!(
                out,
                "  the delays of the servers below {sum}; the bound is less, for it is proved of the whole path"
            );
        }
        (None, _) => {}
    }
    if row.constant_ps > 0 {
        let _ = writeln!(out, "  {} of it pass outside of servers", time(Some(row.constant_ps)));
    }
    for (number, hop) in (1..).zip(&row.hops) {
        hop_text(out, number, hop, scale);
    }
    out.push('\n');
}

fn hop_text(out: &mut String, number: usize, hop: &Hop, scale: Scale) {
    let delay = hop.delay_ps.map_or_else(
        || "no bound".to_owned(),
        |ps| format!("up to {} {}", scale.up(ps), scale.unit),
    );
    let order = if hop.is_fifo { "in order" } else { "in any order" };
    let piece = |it: &Piece| {
        let rate = megabits_up(u64::try_from(it.rate_bps).unwrap_or(u64::MAX));
        format!("{rate} Mbit/s after {} {}", scale.up(it.latency_ps), scale.unit)
    };
    let pieces: Vec<String> = hop.service.iter().map(piece).collect();
    let best = if pieces.len() > 1 { "the best of " } else { "" };
    let service = pieces.join(", ");
    let _ = writeln!(out, "\n  {number}  {}   {best}{service}, {order}: {delay}", hop.server);
    let costs = format!(">takes {}", scale.unit);
    let mut table = Table::new(&["     what", ">at once", ">Mbit/s", &costs, "from"]);
    for (index, it) in hop.brings.iter().take(LISTED_MAX + 1).enumerate() {
        let what = if index == 0 { "itself" } else { it.flow.as_str() };
        let bits = |bits: i128| kilobytes_up(u64::try_from(bits).unwrap_or(u64::MAX));
        let rate = u64::try_from(it.rate_bps).unwrap_or(u64::MAX);
        table.push(vec![
            format!("     {what}"),
            it.burst_bits.map_or_else(|| "-".into(), bits),
            megabits_up(rate),
            it.costs_ps.map_or_else(|| "-".into(), |ps| scale.up(ps)),
            it.from.clone().unwrap_or_else(|| "its own source".into()),
        ]);
    }
    out.push_str(&table.text());
    let rest = hop.brings.len().saturating_sub(LISTED_MAX + 1);
    if rest > 0 {
        let _ = writeln!(out, "     and {} that bring less", counted(rest, "more flow"));
    }
}

fn tighter(out: &mut String, it: &Explanation, scale: Scale) {
    if it.tightens.is_empty() {
        return;
    }
    out.push_str("would be smaller (each bounded and certified):\n");
    let before = it.rows.first().and_then(|row| row.delay_bound_ps);
    for change in &it.tightens {
        let rest =
            if change.keeps_promises { "every promise holds" } else { "something is refused" };
        let less = before.map_or_else(String::new, |before| {
            format!(" ({} {} less)", scale.down(before - change.delay_bound_ps), scale.unit)
        });
        let bound = scale.up(change.delay_bound_ps);
        let _ = writeln!(out, "  {}: {bound} {}{less}, {rest}", change.change, scale.unit);
    }
}
