//! Redundant copies: how far apart they came, and how many did not come.

use super::bars::{Bar, bars};
use super::page::Part;
use super::rows::row_label;
use super::svg::time_tick;
use super::table::{Cell, ROWS_SHOWN, Table};
use super::text::{percent_up, time_ns};
use tenuto_world::{FlowRow, RunDocument};

pub(super) fn part(run: &RunDocument) -> Option<Part> {
    let mut rows: Vec<&FlowRow> = run.flows.iter().filter(|row| row.copies.len() > 1).collect();
    if rows.is_empty() {
        return None;
    }
    let lost = |row: &FlowRow| row.copies.iter().map(|copy| copy.lost).fold(0, u64::saturating_add);
    let share = |row: &FlowRow| match (row.observed_skew_ns_max, row.skew_limit_ns) {
        (Some(seen), Some(limit)) if limit > 0 => u128::from(seen) * 1_000_000 / u128::from(limit),
        _ => 0,
    };
    rows.sort_by_key(|row| std::cmp::Reverse((share(row), lost(row))));
    let mut part = Part::new("copies", "Copies and skew");
    let all: u64 = rows.iter().map(|row| lost(row)).fold(0, u64::saturating_add);
    part.lead(&format!(
        "Skew is the difference of the arrivals of two copies of a message. {all} copies did not \
         come or were still on their way at the end; a message is lost only if no copy comes."
    ));
    part.key(&[("k-bound", "skew bound"), ("k-limit", "skew limit"), ("k-max", "observed max")]);
    let drawn: Vec<Bar> = rows.iter().take(ROWS_SHOWN).map(|row| bar(row)).collect();
    let caption = if rows.len() > drawn.len() {
        format!("The worst {} of {}.", drawn.len(), rows.len())
    } else {
        String::new()
    };
    part.figure(&caption, &bars(&drawn, time_tick, "max skew of its limit", "Skew of copies"));
    part.table_folded(&table(&rows));
    Some(part)
}

fn bar(row: &FlowRow) -> Bar {
    let seen = row.observed_skew_ns_max;
    let note = match (seen, row.skew_limit_ns) {
        (Some(seen), Some(limit)) => {
            format!("{} of {}, {}", time_ns(seen), time_ns(limit), percent_up(seen, limit))
        }
        (Some(seen), None) => format!("{}, no limit", time_ns(seen)),
        (None, _) => "no pair arrived".to_owned(),
    };
    let is_bad = seen.zip(row.skew_limit_ns).is_some_and(|(seen, limit)| seen > limit);
    let label = row_label(&row.flow, &row.target, &row.mode);
    Bar {
        title: format!("{label}: {note}"),
        label,
        pieces: row.skew_bound_ns.map(|bound| (bound, "bound")).into_iter().collect(),
        ticks: row.skew_limit_ns.map(|limit| (limit, "limit")).into_iter().collect(),
        dots: seen.map(|seen| (seen, "seen", 4.2)).into_iter().collect(),
        note,
        is_bad,
    }
}

fn table(rows: &[&FlowRow]) -> Table {
    let header = vec![
        "flow",
        "target",
        "mode",
        "network",
        "received",
        "missing",
        "observed_delay_max_ns",
        "delay_bound_ns",
        "observed_skew_max_ns",
        "skew_bound_ns",
        "skew_limit_ns",
    ];
    let mut table = Table::new("copies", header);
    for row in rows {
        for copy in &row.copies {
            table.push(vec![
                Cell::text(&row.flow),
                Cell::text(&row.target),
                Cell::text(&row.mode),
                Cell::text(&copy.network),
                Cell::number(copy.received),
                Cell::number(copy.lost),
                Cell::ns(copy.observed_delay_ns_max),
                Cell::ns(copy.delay_bound_ns),
                Cell::ns(row.observed_skew_ns_max),
                Cell::ns(row.skew_bound_ns),
                Cell::ns(row.skew_limit_ns),
            ]);
        }
    }
    table
}
