//! Where the worst bounds come from, hop by hop.

use super::page::Part;
use super::rows::row_label;
use super::svg::{Anchor, Axis, Svg, WIDTH, float, place, time_tick};
use super::table::{Cell, Table};
use super::text::{shorten, time_up};
use tenuto_model::{CopyBound, FlowBound, Hop, Plan};

/// Bounds drawn; those of least slack.
const DRAWN_MAX: usize = 8;
/// Hops in the whole table.
const HOPS_IN_TABLE_MAX: usize = 12_000;

const LEFT: f64 = 190.0;
const RIGHT: f64 = 236.0;
const ROW: f64 = 17.0;
const TOP: f64 = 24.0;

pub(super) fn part(plan: &Plan) -> Option<Part> {
    let mut bounds: Vec<&FlowBound> =
        plan.flows.iter().filter(|b| b.copies.iter().any(|c| !c.hops.is_empty())).collect();
    if bounds.is_empty() {
        return None;
    }
    bounds.sort_by_key(|bound| slack_share(bound));
    let mut part = Part::new("hops", "Worst bounds, hop by hop");
    part.lead(
        "Each line is a directed egress on the path and begins where the one above ends. The bound \
         can be less than the sum where it is not of the hops alone.",
    );
    part.key(&[
        ("k-soft", "processing"),
        ("k-bound", "queueing and serialisation"),
        ("k-host", "propagation"),
        ("k-limit", "bound"),
    ]);
    for bound in bounds.iter().take(DRAWN_MAX) {
        let mode = bound.mode.label(&plan.network.modes);
        let Some(copy) = worst_copy(bound) else { continue };
        let network = copy.network.as_ref().map_or(String::new(), |n| format!(", network {n}"));
        let words = copy.delay_bound_ps.map_or_else(|| "unbounded".to_owned(), time_up);
        let caption = format!(
            "{}{network}: {words}, method {}",
            row_label(&bound.flow, &bound.target, &mode),
            bound.method
        );
        part.figure(&caption, &draw(plan, copy, &caption));
    }
    if bounds.len() > DRAWN_MAX {
        part.paragraph(&format!("The {DRAWN_MAX} of least slack, of {}.", bounds.len()));
    }
    part.table_folded(&table(plan, &bounds));
    Some(part)
}

/// Slack as a share of the deadline, in millionths.
fn slack_share(bound: &FlowBound) -> i128 {
    let Some(ps) = bound.delay_bound_ps else { return i128::MIN };
    let deadline = i128::from(bound.deadline_ns) * 1_000;
    (deadline - i128::from(ps)) * 1_000_000 / deadline.max(1)
}

/// The copy whose bound is largest; an unbounded one is.
fn worst_copy(bound: &FlowBound) -> Option<&CopyBound> {
    bound.copies.iter().max_by_key(|copy| copy.delay_bound_ps.unwrap_or(u64::MAX))
}

fn draw(plan: &Plan, copy: &CopyBound, caption: &str) -> String {
    let length = |hop: &Hop| {
        hop.latency_ps
            .saturating_add(hop.queueing_ps.unwrap_or(0))
            .saturating_add(hop.propagation_ps)
    };
    let sum = copy.hops.iter().fold(0u64, |sum, hop| sum.saturating_add(length(hop)));
    let high = sum.max(copy.delay_bound_ps.unwrap_or(0));
    let axis = Axis::linear(LEFT, WIDTH - RIGHT, float(high.div_ceil(1_000)) * 1.02);
    let bottom = TOP + ROW * place(copy.hops.len());
    let mut svg = Svg::new();
    for tick in axis.ticks() {
        let x = axis.at(tick);
        svg.line((x, TOP - 4.0), (x, bottom), "grid-line");
        svg.text(x, TOP - 9.0, Anchor::Middle, "tiny", &time_tick(tick));
    }
    let mut from = 0u64;
    for (row, hop) in copy.hops.iter().enumerate() {
        let y = TOP + ROW * place(row);
        let label = plan.network.port_label(&hop.port);
        svg.text(LEFT - 8.0, y + 12.5, Anchor::End, "", &shorten(&label, 28));
        let pieces = [
            (hop.latency_ps, "soft"),
            (hop.queueing_ps.unwrap_or(0), "bound"),
            (hop.propagation_ps, "host"),
        ];
        for (length, class) in pieces {
            let to = from.saturating_add(length);
            let (x, end) = (axis.at(from / 1_000), axis.at(to / 1_000));
            svg.rect(x, y + 3.0, end - x, ROW - 5.0, class);
            from = to;
        }
        let queueing = hop.queueing_ps.map_or_else(|| "unbounded".to_owned(), time_up);
        let words = match hop.latency_ps {
            0 => queueing,
            latency => format!("{} + {queueing}", time_up(latency)),
        };
        svg.text(WIDTH - RIGHT + 14.0, y + 12.5, Anchor::Start, "dim", &words);
    }
    if let Some(bound) = copy.delay_bound_ps {
        let x = axis.at(bound.div_ceil(1_000));
        svg.line((x, TOP - 2.0), (x, bottom), "limit");
    }
    svg.finish(WIDTH, bottom + 4.0, caption)
}

fn table(plan: &Plan, bounds: &[&FlowBound]) -> Table {
    let header = vec![
        "flow",
        "target",
        "mode",
        "network",
        "hop",
        "port",
        "latency_ps",
        "queueing_ps",
        "propagation_ps",
        "burst_bits",
    ];
    let mut table = Table::new("hops", header);
    let mut hops = 0;
    for bound in bounds {
        for copy in &bound.copies {
            hops += copy.hops.len();
            if hops > HOPS_IN_TABLE_MAX {
                return table;
            }
            for (number, hop) in (1u32..).zip(&copy.hops) {
                table.push(vec![
                    Cell::text(&bound.flow),
                    Cell::text(&bound.target),
                    Cell::text(bound.mode.label(&plan.network.modes)),
                    Cell::text(copy.network.as_deref().unwrap_or("")),
                    Cell::number(number),
                    Cell::text(plan.network.port_label(&hop.port)),
                    Cell::ps(Some(hop.latency_ps)),
                    Cell::ps(hop.queueing_ps),
                    Cell::ps(Some(hop.propagation_ps)),
                    Cell::bits(hop.burst_bits),
                ]);
            }
        }
    }
    table
}
