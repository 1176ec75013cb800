//! Bound, deadline and observed delays per flow, target and mode.

use super::bars::{Bar, bars};
use super::page::Part;
use super::rows::BoundRow;
use super::svg::time_tick;
use super::table::{Cell, ROWS_SHOWN, Table};
use super::text::{percent_down, slack, time_ns};

pub(super) fn part(rows: &[BoundRow], is_run: bool) -> Part {
    let mut part = Part::new("bounds", "Bounds");
    if rows.is_empty() {
        part.paragraph("No flow has a bound.");
        return part;
    }
    part.lead(if is_run {
        "From the release at the source to the last bit of the last frame at the target; least \
         margin first. margin = bound − observed, slack = deadline − bound."
    } else {
        "From the release at the source to the last bit of the last frame at the target; least \
         slack first. slack = deadline − bound."
    });
    let mut marks = vec![("k-bound", "queueing bound")];
    if rows.iter().any(|row| row.allowance_ns > 0) {
        marks.push(("k-host", "host allowance"));
    }
    marks.push(("k-deadline", "deadline"));
    if is_run {
        marks.extend([("k-max", "observed max"), ("k-part", "p50 and p99")]);
    }
    part.key(&marks);
    let drawn: Vec<Bar> = rows.iter().take(ROWS_SHOWN).map(|row| bar(row, is_run)).collect();
    let note = if is_run { "max ≤ bound, margin" } else { "bound ≤ deadline, slack" };
    let caption = if rows.len() > drawn.len() {
        format!("The worst {} of {}.", drawn.len(), rows.len())
    } else {
        String::new()
    };
    part.figure(&caption, &bars(&drawn, time_tick, note, "Bounds, deadlines and delays"));
    part.table_folded(&table(rows));
    part
}

fn bar(row: &BoundRow, is_run: bool) -> Bar {
    let bound = row.bound_ns();
    let mut pieces = Vec::new();
    if let (Some(queueing), Some(bound)) = (row.queueing_ns, bound) {
        pieces.push((queueing, "bound"));
        if row.allowance_ns > 0 {
            pieces.push((bound, "host"));
        }
    }
    let parts = [row.p50_ns, row.p99_ns].into_iter().flatten().map(|ns| (ns, "part", 3.0));
    let max = row.max_ns.map(|ns| (ns, "seen", 4.2));
    let left = if is_run { row.margin_ns() } else { row.slack_ns() };
    let bound_words = bound.map_or_else(|| "unbounded".to_owned(), time_ns);
    let note = match (is_run, bound, row.max_ns) {
        (true, None, None) => "not promised in this mode".to_owned(),
        (true, _, None) => "nothing received".to_owned(),
        (_, None, _) => bound_words.clone(),
        (true, Some(bound), Some(max)) => {
            let margin = percent_down(left.unwrap_or(0), bound);
            let than = if max <= bound { '≤' } else { '>' };
            format!("{} {than} {bound_words}, {margin}", time_ns(max))
        }
        (false, Some(bound), _) => {
            let share = percent_down(left.unwrap_or(0), row.deadline_ns);
            let than = if bound <= row.deadline_ns { '≤' } else { '>' };
            format!("{bound_words} {than} {}, {share}", time_ns(row.deadline_ns))
        }
    };
    Bar {
        label: row.label(),
        pieces,
        ticks: vec![(row.deadline_ns, "deadline")],
        dots: parts.chain(max).collect(),
        note,
        is_bad: left.is_some_and(|left| left < 0) || (bound.is_none() && !is_run),
        title: format!(
            "{}: bound {bound_words}, deadline {}, slack {}, method {}",
            row.label(),
            time_ns(row.deadline_ns),
            row.slack_ns().map_or_else(|| "none".to_owned(), slack),
            row.method
        ),
    }
}

fn table(rows: &[BoundRow]) -> Table {
    let mut table = Table::new(
        "bounds",
        vec![
            "flow",
            "target",
            "mode",
            "queueing_bound_ns",
            "host_allowance_ns",
            "delay_bound_ns",
            "observed_delay_max_ns",
            "p50_ns",
            "p99_ns",
            "deadline_ns",
            "method",
        ],
    );
    for row in rows {
        table.push(vec![
            Cell::text(&row.flow),
            Cell::text(&row.target),
            Cell::text(&row.mode),
            Cell::ns(row.queueing_ns),
            Cell::ns(Some(row.allowance_ns)),
            Cell::ns(row.bound_ns()),
            Cell::ns(row.max_ns),
            Cell::ns(row.p50_ns),
            Cell::ns(row.p99_ns),
            Cell::ns(Some(row.deadline_ns)),
            Cell::text(&row.method),
        ]);
    }
    table
}
