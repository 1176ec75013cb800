//! Frames that policing took out, and how close everyone else came to their bounds meanwhile.

use super::page::Part;
use super::svg::{Anchor, Axis, Svg, WIDTH, float};
use super::table::{Cell, Table};
use super::text::shorten;
use super::time_axis::{background, bands, time_ticks};
use std::collections::{BTreeMap, BTreeSet};
use tenuto_model::Plan;
use tenuto_world::{FlowRow, PolicedRow, RunDocument};

const LEFT: f64 = 66.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 20.0;
const PLOT: f64 = 84.0;
/// Columns of the figure at most.
const COLUMNS: u64 = 420;

pub(super) fn part(plan: &Plan, run: &RunDocument) -> Option<Part> {
    if run.policed.is_empty() {
        return None;
    }
    let mut part = Part::new("policed", "Policed frames and everyone else");
    let all: u64 = run.policed.iter().map(|row| row.frames).fold(0, u64::saturating_add);
    part.lead(&format!(
        "{all} frames were dropped for what they were. Above, when; below, how close the messages \
         of all other hosts came to their bounds in the same stretch of time."
    ));
    if run.policed.iter().any(|row| !row.frames_at.is_empty()) && run.duration_ns > 0 {
        part.figure("", &draw(plan, run));
    }
    part.table_open(&table(run));
    Some(part)
}

/// The hosts whose frames were policed: what becomes of their own flows is no one's loss.
fn offenders<'a>(plan: &'a Plan, run: &'a RunDocument) -> BTreeSet<&'a str> {
    let policed = run.policed.iter().filter(|row| row.reason != "out_of_mode");
    let source = |row: &'a PolicedRow| {
        let flow = row.flow.as_ref().and_then(|name| plan.network.flow(name));
        row.host.as_deref().or_else(|| flow.map(|flow| flow.source.as_str()))
    };
    policed.filter_map(source).collect()
}

fn draw(plan: &Plan, run: &RunDocument) -> String {
    let time = Axis::linear(LEFT, WIDTH - RIGHT, float(run.duration_ns));
    let bands = bands(&plan.network.modes, run);
    // Columns are whole stretches, so that none gets more or less than its share.
    let stretch = run.policed.iter().map(|row| row.stretch_ns).max().unwrap_or(0).max(1);
    let length = run.duration_ns.div_ceil(COLUMNS).div_ceil(stretch).saturating_mul(stretch);
    let column = |at_ns: u64| at_ns / length;
    let start = |column: u64| column.saturating_mul(length).min(run.duration_ns);
    let mut frames: BTreeMap<u64, u64> = BTreeMap::new();
    for at in run.policed.iter().flat_map(|row| &row.frames_at) {
        let count = frames.entry(column(at.from_ns)).or_default();
        *count = count.saturating_add(at.frames);
    }
    let offenders = offenders(plan, run);
    let is_victim = |row: &&FlowRow| {
        plan.network.flow(&row.flow).is_some_and(|f| !offenders.contains(f.source.as_str()))
    };
    // Per column the largest delay as a share of its bound, in thousandths, and whose it is.
    let mut closest: BTreeMap<u64, (u64, &FlowRow)> = BTreeMap::new();
    for row in run.flows.iter().filter(is_victim) {
        let Some(bound) = row.delay_bound_ns.filter(|bound| *bound > 0) else { continue };
        for point in &row.delays {
            let share = u128::from(point.delay_ns) * 1_000;
            let share = u64::try_from(share.div_ceil(u128::from(bound))).unwrap_or(u64::MAX);
            let entry = closest.entry(column(point.at_ns)).or_insert((share, row));
            if share > entry.0 {
                *entry = (share, row);
            }
        }
    }
    let mut svg = Svg::new();
    let below = TOP + PLOT + 34.0;
    background(&mut svg, run, &bands, &time, (TOP, TOP + PLOT));
    background(&mut svg, run, &bands, &time, (below, below + PLOT));
    draw_frames(&mut svg, &frames, |c| time.at(start(c)));
    draw_victims(&mut svg, &closest, below, |c| time.at(start(c)));
    time_ticks(&mut svg, &time, below + PLOT);
    svg.finish(WIDTH, below + PLOT + 20.0, "Policed frames beside the delays of all others")
}

fn draw_frames(svg: &mut Svg, frames: &BTreeMap<u64, u64>, x: impl Fn(u64) -> f64) {
    let bottom = TOP + PLOT;
    let most = frames.values().copied().max().unwrap_or(1);
    let axis = Axis::linear(bottom, TOP, float(most) * 1.08);
    svg.text(LEFT, TOP - 7.0, Anchor::Start, "strong", "frames dropped by policing");
    for tick in axis.ticks().into_iter().step_by(3) {
        svg.text(LEFT - 6.0, axis.at(tick) + 3.5, Anchor::End, "tiny", &tick.to_string());
    }
    for (column, count) in frames {
        let (from, y) = (x(*column), axis.at(*count).min(bottom - 1.0));
        svg.rect(from, y, x(column + 1) - from, bottom - y, "bad");
    }
    svg.line((LEFT, bottom), (WIDTH - RIGHT, bottom), "axis");
}

fn draw_victims(
    svg: &mut Svg,
    closest: &BTreeMap<u64, (u64, &FlowRow)>,
    top: f64,
    x: impl Fn(u64) -> f64,
) {
    let bottom = top + PLOT;
    let most = closest.values().map(|c| c.0).max().unwrap_or(0).max(1_000);
    let axis = Axis::linear(bottom, top, float(most) * 1.08);
    let bound = axis.at(1_000);
    svg.text(LEFT, top - 7.0, Anchor::Start, "strong", "delay of all others, share of the bound");
    let worst = closest.values().max_by_key(|c| c.0);
    if let Some((share, row)) = worst {
        let name = shorten(&format!("{} → {}", row.flow, row.target), 40);
        let words = format!("closest: {name}, {}.{} %", share / 10, share % 10);
        svg.text(WIDTH - RIGHT, top - 7.0, Anchor::End, "dim", &words);
    }
    for (column, (share, _)) in closest {
        let (from, y) = (x(*column), axis.at(*share));
        let class = if *share > 1_000 { "bad" } else { "bar" };
        svg.rect(from, y, x(column + 1) - from, bottom - y, class);
    }
    for (share, words) in [(0, "0 %"), (500, "50 %"), (1_000, "bound")] {
        svg.text(LEFT - 6.0, axis.at(share) + 3.5, Anchor::End, "tiny", words);
    }
    svg.line((LEFT, bound), (WIDTH - RIGHT, bound), "limit");
    svg.line((LEFT, bottom), (WIDTH - RIGHT, bottom), "axis");
}

fn table(run: &RunDocument) -> Table {
    let header = vec!["flow", "host", "switch", "port", "reason", "frames"];
    let mut table = Table::new("policed", header);
    for row in &run.policed {
        table.push(vec![
            Cell::text(row.flow.as_deref().unwrap_or("")),
            Cell::text(row.host.as_deref().unwrap_or("")),
            Cell::text(&row.switch),
            Cell::number(row.port),
            Cell::text(row.reason.replace('_', "-")),
            Cell::number(row.frames),
        ]);
    }
    table
}
