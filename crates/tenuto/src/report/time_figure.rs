//! Delay over time: every message against the bound of the mode it was sent in.

use super::page::Part;
use super::rows::by_margin;
use super::svg::{Anchor, Axis, Svg, WIDTH, float, time_tick};
use super::table::{Cell, Table};
use super::text::{shorten, time_ns};
use super::time_axis::{Band, background, bands, in_force_ns, time_ticks};
use tenuto_model::Plan;
use tenuto_world::{DelayPoint, FlowRow, RunDocument};

/// Flows drawn; the worst margins come first.
const DRAWN_MAX: usize = 12;
/// Points of one drawing: two to a unit of its width.
const POINTS_DRAWN_MAX: usize = 800;
/// Points of the whole table, so that the file stays small.
const POINTS_IN_TABLE_MAX: usize = 20_000;

const LEFT: f64 = 66.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 20.0;
const PLOT: f64 = 92.0;

pub(super) fn part(plan: &Plan, run: &RunDocument) -> Option<Part> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for row in by_margin(run).into_iter().filter(|row| !row.delays.is_empty()) {
        if !pairs.contains(&(&row.flow, &row.target)) {
            pairs.push((&row.flow, &row.target));
        }
        if pairs.len() > DRAWN_MAX {
            break;
        }
    }
    if pairs.is_empty() {
        return None;
    }
    let mut part = Part::new("time", "Delay over time");
    part.lead(
        "Each stroke is a message, by its release; where there are more than can be drawn, the \
         largest of its neighbours. The line is the bound in force.",
    );
    let mut marks = vec![("k-bound", "bound")];
    if run.mode_changes.is_empty() {
        marks.push(("k-deadline", "event"));
    } else {
        marks.extend([
            ("k-mode", "higher mode"),
            ("k-change", "mode change"),
            ("k-deadline", "event"),
        ]);
    }
    part.key(&marks);
    let bands = bands(&plan.network.modes, run);
    for (flow, target) in pairs.iter().take(DRAWN_MAX) {
        let rows: Vec<&FlowRow> =
            run.flows.iter().filter(|r| r.flow == *flow && r.target == *target).collect();
        part.figure("", &draw(run, &rows, &bands));
    }
    if pairs.len() > DRAWN_MAX {
        part.paragraph("Flows with more margin are in the table.");
    }
    part.table_folded(&table(run));
    Some(part)
}

/// Of neighbours the largest, as the run document itself keeps them.
fn thin_out(points: &[DelayPoint], limit: usize) -> Vec<DelayPoint> {
    let per_run = points.len().div_ceil(limit.max(1)).max(1);
    points
        .chunks(per_run)
        .filter_map(|run| run.iter().max_by_key(|p| p.delay_ns).copied())
        .collect()
}

fn draw(run: &RunDocument, rows: &[&FlowRow], bands: &[Band]) -> String {
    let time = Axis::linear(LEFT, WIDTH - RIGHT, float(run.duration_ns));
    let bounds = rows.iter().filter_map(|row| row.delay_bound_ns);
    let seen = rows.iter().flat_map(|row| row.delays.iter().map(|p| p.delay_ns));
    let top = bounds.chain(seen).max().unwrap_or(1);
    let bottom = TOP + PLOT;
    let delay = Axis::linear(bottom, TOP, float(top) * 1.3);
    let mut svg = Svg::new();
    background(&mut svg, run, bands, &time, (TOP, bottom));
    // Half as many ticks as the axis offers: the plot is low.
    for tick in delay.ticks().into_iter().step_by(2) {
        let y = delay.at(tick);
        svg.line((LEFT, y), (WIDTH - RIGHT, y), "grid-line");
        svg.text(LEFT - 6.0, y + 3.5, Anchor::End, "tiny", &time_tick(tick));
    }
    for row in rows {
        let kept: Vec<DelayPoint> = thin_out(&row.delays, POINTS_DRAWN_MAX / rows.len().max(1));
        let is_above = |p: &&DelayPoint| row.delay_bound_ns.is_some_and(|b| p.delay_ns > b);
        let at = |p: &DelayPoint| (time.at(p.at_ns), delay.at(p.delay_ns));
        let within: Vec<_> = kept.iter().filter(|p| !is_above(p)).map(at).collect();
        let above: Vec<_> = kept.iter().filter(is_above).map(at).collect();
        svg.stems(&within, bottom, "stem");
        if !above.is_empty() {
            svg.stems(&above, bottom, "bad-stem");
        }
        draw_bound(&mut svg, run, row, bands, &time, &delay);
    }
    let row = rows[0];
    let name = shorten(&format!("{} → {}", row.flow, row.target), 60);
    svg.text(LEFT, TOP - 7.0, Anchor::Start, "strong", &name);
    let max = rows.iter().filter_map(|row| row.observed_delay_ns_max).max();
    if let Some(max) = max {
        let words = format!("observed max {}", time_ns(max));
        svg.text(WIDTH - RIGHT, TOP - 7.0, Anchor::End, "dim", &words);
    }
    svg.line((LEFT, bottom), (WIDTH - RIGHT, bottom), "axis");
    time_ticks(&mut svg, &time, bottom);
    svg.finish(WIDTH, bottom + 20.0, &format!("Delay over time of {name}"))
}

/// The bound of a row over the stretches of time in which it judges.
fn draw_bound(
    svg: &mut Svg,
    run: &RunDocument,
    row: &FlowRow,
    bands: &[Band],
    time: &Axis,
    delay: &Axis,
) {
    let Some(bound) = row.delay_bound_ns else { return };
    let y = delay.at(bound);
    let steady = bands.iter().filter(|b| b.mode == row.mode).map(|b| (b.from_ns, b.to_ns));
    let changes = run.mode_changes.iter().filter(|c| format!("{}>{}", c.from, c.to) == row.mode);
    let changing = changes.map(|c| (in_force_ns(c).min(c.at_ns), in_force_ns(c)));
    for (from, to) in steady.chain(changing) {
        let (from, to) = (time.at(from), time.at(to));
        svg.line((from, y), (to.max(from + 5.0), y), "bound-line");
    }
}

fn table(run: &RunDocument) -> Table {
    let header = vec!["flow", "target", "mode", "released_at_ns", "delay_ns", "delay_bound_ns"];
    let mut table = Table::new("delays", header);
    let per_row = (POINTS_IN_TABLE_MAX / run.flows.len().max(1)).max(1);
    for row in by_margin(run) {
        for point in thin_out(&row.delays, per_row) {
            table.push(vec![
                Cell::text(&row.flow),
                Cell::text(&row.target),
                Cell::text(&row.mode),
                Cell::at(point.at_ns),
                Cell::ns(Some(point.delay_ns)),
                Cell::ns(row.delay_bound_ns),
            ]);
        }
    }
    table
}
