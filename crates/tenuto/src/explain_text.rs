//! `plan --explain FLOW` for people: one table per bound, one block per hop.

use crate::format::{Table, counted, kilobytes_up, megabits_up, ms_down, ms_up, percent_up};
use std::fmt::Write;
use tenuto_model::Chosen;
use tenuto_planner::{ExplainedHop, ExplainedRow, Explanation, Interferer};

/// Interferers that are listed per hop; the rest is summed up.
const LISTED_MAX: usize = 6;
/// Lost links that are listed; the rest is counted.
const LOSSES_MAX: usize = 3;

/// The text; only the row with the least slack unless `all`.
pub(crate) fn text(explanation: &Explanation, all: bool) -> String {
    let mut out = ways(explanation);
    let shown = if all { explanation.rows.len() } else { 1 };
    for row in explanation.rows.iter().take(shown) {
        row_text(&mut out, &explanation.flow, row);
    }
    let hidden = explanation.rows.len().saturating_sub(shown);
    if hidden > 0 {
        let _ = writeln!(out, "{} with more slack (--all)", counted(hidden, "other bound"));
    }
    if explanation.rows.iter().any(|row| row.swapped_after_ps.is_some()) {
        out.push_str("a return has the larger one of the bounds of its two modes\n");
    }
    losses(&mut out, explanation, all);
    if let Some(row) = explanation.rows.first() {
        tighter(&mut out, explanation, row);
    }
    out
}

/// The way of each copy and why, then the others and what they would give.
fn ways(explanation: &Explanation) -> String {
    let mut out = String::new();
    for route in &explanation.routes {
        let copy = route.copy.as_ref().map_or(String::new(), |copy| format!(" (copy {copy})"));
        let why = if route.chosen.is_some() { "way    " } else { "instead" };
        let _ = write!(out, "{why}{copy} ");
        let nodes: Vec<String> = route.ways.iter().map(|way| way.join(" ")).collect();
        let said = if route.is_certified { "" } else { ", not certified" };
        let bound = route.delay_bound_ps.map_or_else(
            || "no bound".into(),
            |ps| format!("bound {} ms by hops{said}", ms_up(ps)),
        );
        let load = percent_up(route.fullest_ppm, 1_000_000);
        let rest = match (route.chosen, route.is_kept) {
            (Some(Chosen::Fixed), _) => "fixed by the description",
            (Some(Chosen::FewestHops), _) => "the fewest hops, then the least load",
            (Some(Chosen::LoadAndDeadlines), true) => "with the fewest hops promises are broken",
            (Some(Chosen::LoadAndDeadlines), false) => "hurts least of what was tried",
            (None, true) => "would do too",
            (None, false) => "a promise is broken",
        };
        let nodes = nodes.join("; ");
        let _ = writeln!(out, "{nodes}: {bound}, {} at {load}; {rest}", route.fullest_port);
    }
    out
}

fn row_text(out: &mut String, flow: &str, row: &ExplainedRow) {
    let network = row.network.as_ref().map_or(String::new(), |name| format!(" over {name}"));
    let bound =
        row.delay_bound_ps.map_or_else(|| "none".to_owned(), |ps| format!("{} ms", ms_up(ps)));
    let _ = write!(out, "{flow} to {}{network} in {}: bound {bound}", row.target, row.mode);
    let deadline_ps = i128::from(row.deadline_ns) * 1_000;
    let _ = write!(out, ", deadline {} ms", ms_down(deadline_ps));
    if let Some(ps) = row.delay_bound_ps {
        let _ = write!(out, ", slack {} ms", ms_down(deadline_ps - i128::from(ps)));
    }
    out.push('\n');
    if let Some(ps) = row.swapped_after_ps {
        let _ = writeln!(
            out,
            "  the mode changes while messages are under way: flows marked `until the swap` have no \
             place in the mode after it, and are served until the last switch has swapped, {} ms \
             after the first",
            ms_up(ps)
        );
    }
    if let Some(sum) = row.sum_of_hops_ps.filter(|sum| Some(*sum) > row.delay_bound_ps) {
        let _ = writeln!(
            out,
            "  the hops below add up to {} ms; the bound is less, for it is proved of the whole path",
            ms_up(sum)
        );
    }
    for (number, hop) in (1..).zip(&row.hops) {
        hop_text(out, number, hop);
    }
}

fn hop_text(out: &mut String, number: usize, hop: &ExplainedHop) {
    let queueing =
        hop.queueing_ps.map_or_else(|| "no bound".to_owned(), |ps| format!("{} ms", ms_up(ps)));
    let _ = writeln!(
        out,
        "\n  {number}  {}   {} Mbit/s, class {}: waits and is sent in {queueing}, processing {} ms, \
         cable {} ms",
        hop.place,
        megabits_up(hop.rate_bps),
        hop.class,
        ms_up(hop.latency_ps),
        ms_up(hop.propagation_ps),
    );
    let mut table =
        Table::new(&["     what", ">class", ">at once", ">Mbit/s", ">costs ms", "over"]);
    let none = || "-".to_owned();
    let burst = |bits: Option<u64>| bits.map_or_else(none, kilobytes_up);
    let own = vec!["     itself".into(), hop.class.to_string(), burst(hop.burst_bits)];
    table.push(own.into_iter().chain([none(), none(), none()]).collect());
    for other in hop.others.iter().take(LISTED_MAX) {
        table.push(other_row(other));
    }
    for (what, bits) in
        [("     a frame in the way", hop.in_the_way_bits), ("     mode signals", hop.signals_bits)]
    {
        if bits > 0 {
            let row = vec![what.to_owned(), none(), kilobytes_up(bits), none()];
            let costs = u128::from(bits) * 1_000_000_000_000 / u128::from(hop.rate_bps.max(1));
            let costs = u64::try_from(costs).unwrap_or(u64::MAX);
            table.push(row.into_iter().chain([ms_up(costs), none()]).collect());
        }
    }
    out.push_str(&table.text());
    let rest = hop.others.get(LISTED_MAX..).unwrap_or_default();
    if !rest.is_empty() {
        let costs = rest.iter().filter_map(|other| other.costs_ps).max().unwrap_or(0);
        let flows = counted(rest.len(), "more flow");
        let _ =
            writeln!(out, "     and {flows}, none of which costs more than {} ms", ms_up(costs));
    }
    if hop.held_back_ps > 0 {
        farther_lines(out, hop);
    }
}

fn farther_lines(out: &mut String, hop: &ExplainedHop) {
    let less = |ps: u64| ms_down(i128::from(ps));
    let _ = writeln!(
        out,
        "     {} ms more if slower lines farther back had not spread what comes:",
        less(hop.held_back_ps)
    );
    for line in hop.held_back_by.iter().take(LISTED_MAX) {
        let back = match line.hops_back {
            1 => "the line in front".to_owned(),
            lines => format!("{lines} lines back"),
        };
        let (rate, saves) = (megabits_up(line.rate_bps), less(line.saves_ps));
        let _ = writeln!(out, "       {}, {rate} Mbit/s, {back} ({saves} ms)", line.line);
    }
    let rest = hop.held_back_by.len().saturating_sub(LISTED_MAX);
    if rest > 0 {
        let _ = writeln!(out, "       and {}", counted(rest, "more line"));
    }
}

fn other_row(other: &Interferer) -> Vec<String> {
    let none = || "-".to_owned();
    let ends = if other.is_ending { " (until the swap)" } else { "" };
    vec![
        format!("     {}{ends}", other.flow),
        other.class.to_string(),
        other.burst_bits.map_or_else(none, kilobytes_up),
        megabits_up(other.rate_bps),
        other.costs_ps.map_or_else(none, ms_up),
        other.over.clone().unwrap_or_else(|| "its own source".into()),
    ]
}

/// What holds after a link was lost, the least slack first.
fn losses(out: &mut String, explanation: &Explanation, all: bool) {
    let shown = if all { explanation.losses.len() } else { LOSSES_MAX };
    for loss in explanation.losses.iter().take(shown) {
        let bound =
            loss.delay_bound_ps.map_or_else(|| "none".to_owned(), |ps| format!("{} ms", ms_up(ps)));
        let way = match loss.around.as_slice() {
            [] => "the same way".to_owned(),
            nodes => format!("another way, {}", nodes.join(" ")),
        };
        let deadline = ms_down(i128::from(loss.deadline_ns) * 1_000);
        let _ = writeln!(
            out,
            "{} lost: to {} in {} bound {bound}, deadline {deadline} ms; {way}",
            loss.link, loss.target, loss.mode
        );
    }
    let hidden = explanation.losses.len().saturating_sub(shown);
    if hidden > 0 {
        let _ = writeln!(out, "{} with more slack (--all)", counted(hidden, "other lost link"));
    }
}

fn tighter(out: &mut String, explanation: &Explanation, row: &ExplainedRow) {
    if explanation.tightens.is_empty() {
        let _ = writeln!(out, "\nno change that was tried makes this bound smaller");
        return;
    }
    let _ = writeln!(out, "\nwould be smaller (each planned):");
    for it in &explanation.tightens {
        let rest = if it.feasible { "every promise holds" } else { "something else is refused" };
        let less = row.delay_bound_ps.map_or_else(String::new, |now| {
            format!(" ({} ms less)", ms_down(i128::from(now) - i128::from(it.delay_bound_ps)))
        });
        let _ = writeln!(out, "  {}: {} ms{less}, {rest}", it.change, ms_up(it.delay_bound_ps));
    }
}
