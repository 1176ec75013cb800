//! How delays are spread, against their bound.

use super::page::Part;
use super::rows::{by_margin, row_label};
use super::svg::{Anchor, Axis, Svg, float, time_tick};
use super::table::{Cell, Table};
use super::text::{shorten, time_ns};
use tenuto_world::{FlowRow, RunDocument};

/// Rows drawn; the worst margins come first.
const DRAWN_MAX: usize = 12;

const WIDTH: f64 = 310.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 86.0;

pub(super) fn part(run: &RunDocument) -> Option<Part> {
    let rows: Vec<&FlowRow> =
        by_margin(run).into_iter().filter(|row| !row.delay_histogram.is_empty()).collect();
    if rows.is_empty() {
        return None;
    }
    let mut part = Part::new("distribution", "Delay distribution");
    part.lead(
        "Messages per eighth of a doubling of the delay, on a logarithmic axis, up to the bound; \
         the height is relative to the fullest.",
    );
    part.key(&[("k-limit", "bound"), ("k-deadline", "deadline"), ("k-bad", "above the bound")]);
    let figure = |row: &&FlowRow| {
        let label = shorten(&row_label(&row.flow, &row.target, &row.mode), 36);
        let words = format!("{label}: {} messages", row.received);
        (words, draw(row))
    };
    let figures: Vec<(String, String)> = rows.iter().take(DRAWN_MAX).map(figure).collect();
    part.grid(&figures);
    if rows.len() > DRAWN_MAX {
        part.paragraph(&format!("The {DRAWN_MAX} of least margin, of {}.", rows.len()));
    }
    part.table_folded(&table(&rows));
    Some(part)
}

fn draw(row: &FlowRow) -> String {
    let first = row.delay_histogram.first().map_or(1, |b| b.to_ns);
    let last = row.delay_histogram.last().map_or(1, |b| b.to_ns);
    let high = last.max(row.delay_bound_ns.unwrap_or(0)).max(row.deadline_ns);
    let axis = Axis::log(8.0, WIDTH - 8.0, float(first) * 0.85, float(high));
    let most = row.delay_histogram.iter().map(|b| b.messages).max().unwrap_or(1);
    let count = Axis::linear(BOTTOM, TOP, float(most));
    let mut svg = Svg::new();
    let mut free_from = 0.0;
    for tick in axis.ticks() {
        let x = axis.at(tick);
        svg.line((x, TOP), (x, BOTTOM), "grid-line");
        let x = x.clamp(20.0, WIDTH - 20.0);
        if x >= free_from {
            svg.text(x, BOTTOM + 12.0, Anchor::Middle, "tiny", &time_tick(tick));
            free_from = x + 44.0;
        }
    }
    for bucket in &row.delay_histogram {
        // Everything in a bucket is above its end less an eighth.
        let (from, to) = (axis.at(bucket.to_ns - bucket.to_ns / 10), axis.at(bucket.to_ns));
        let y = count.at(bucket.messages).min(BOTTOM - 1.0);
        let is_above = row.delay_bound_ns.is_some_and(|b| bucket.to_ns - bucket.to_ns / 8 > b);
        let title = format!("{} messages up to {}", bucket.messages, time_ns(bucket.to_ns));
        svg.titled(&title, |svg| {
            let class = if is_above { "bad" } else { "bar" };
            svg.rect(from, y, (to - from).max(1.2), BOTTOM - y, class);
        });
    }
    svg.line((8.0, BOTTOM), (WIDTH - 8.0, BOTTOM), "axis");
    if row.deadline_ns > 0 {
        let x = axis.at(row.deadline_ns);
        svg.line((x, TOP), (x, BOTTOM), "deadline");
    }
    if let Some(bound) = row.delay_bound_ns {
        let x = axis.at(bound);
        svg.line((x, TOP), (x, BOTTOM), "limit");
    }
    let label = format!("Delays of {}", row_label(&row.flow, &row.target, &row.mode));
    svg.finish(WIDTH, BOTTOM + 18.0, &label)
}

fn table(rows: &[&FlowRow]) -> Table {
    let header = vec!["flow", "target", "mode", "up_to_ns", "messages", "delay_bound_ns"];
    let mut table = Table::new("distribution", header);
    for row in rows {
        for bucket in &row.delay_histogram {
            table.push(vec![
                Cell::text(&row.flow),
                Cell::text(&row.target),
                Cell::text(&row.mode),
                Cell::ns(Some(bucket.to_ns)),
                Cell::number(bucket.messages),
                Cell::ns(row.delay_bound_ns),
            ]);
        }
    }
    table
}
