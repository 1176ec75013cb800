//! Bounds of a server graph as people and tables read them.

use super::{Bounded, Refusal, loads_ubps, scarce, service_ubps};
use crate::format::{Table, counted};
use std::fmt::Write;
use tenuto_bounds::TargetBound;

/// Rows that are shown unless all are asked for.
const ROWS_SHOWN: usize = 20;

/// The unit in which a table shows its times.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    pub(super) unit: &'static str,
    /// Picoseconds of a thousandth of the unit.
    thousandth_ps: i128,
}

impl Scale {
    /// Fits the largest bound, with four digits or more before the point only where it must.
    fn of(bounds: &[TargetBound]) -> Self {
        Self::of_largest(bounds.iter().filter_map(|bound| Some(bound.delay?.0)))
    }

    /// Fits the largest of some times, picoseconds.
    pub(super) fn of_largest(times: impl Iterator<Item = i128>) -> Self {
        match times.max().unwrap_or(0) {
            0..10_000_000_000 => Self { unit: "us", thousandth_ps: 1_000 },
            10_000_000_000..10_000_000_000_000 => Self { unit: "ms", thousandth_ps: 1_000_000 },
            _ => Self { unit: "s", thousandth_ps: 1_000_000_000 },
        }
    }

    /// A bound, rounded up.
    pub(super) fn up(self, ps: i128) -> String {
        self.text(ps.div_euclid(self.thousandth_ps) + i128::from(ps % self.thousandth_ps != 0))
    }

    /// A deadline or slack, rounded down.
    pub(super) fn down(self, ps: i128) -> String {
        self.text(ps.div_euclid(self.thousandth_ps))
    }

    fn text(self, thousandths: i128) -> String {
        let sign = if thousandths < 0 { "-" } else { "" };
        let size = thousandths.unsigned_abs();
        format!("{sign}{}.{:03}", size / 1_000, size % 1_000)
    }
}

/// Head, bounds by slack, and the busiest servers.
pub(crate) fn text(bounded: &Bounded, all: bool) -> String {
    let graph = &bounded.graph;
    let mut out = format!(
        "{}  {}, {}, {}   {}bounds found in {:.2} s\n",
        graph.name,
        counted(graph.servers.len(), "server"),
        counted(graph.flows.len(), "flow"),
        counted(bounded.bounds.len(), "target"),
        if bounded.document.line_shaping { "" } else { "without line shaping   " },
        bounded.took.as_secs_f64(),
    );
    out.push_str(&bound_table(bounded, all));
    out.push('\n');
    out.push_str(&server_table(bounded, all));
    out
}

fn bound_table(bounded: &Bounded, all: bool) -> String {
    let scale = Scale::of(&bounded.bounds);
    let mut rows: Vec<&TargetBound> = bounded.bounds.iter().collect();
    // Unbounded first, then by slack, then the largest bounds.
    rows.sort_by_key(|bound| {
        let slack = bounded.slack_ps(bound).unwrap_or(i128::MAX);
        (bound.delay.is_some(), slack, bound.delay.map(|delay| -delay.0))
    });
    let heads = ["deadline", "bound", "slack", "tfa alone"].map(|h| format!(">{h} {}", scale.unit));
    let [deadline, bound, slack, tfa] = heads.each_ref().map(String::as_str);
    let mut table =
        Table::new(&["flow", "target", deadline, bound, slack, "method", tfa, "worst server"]);
    let shown = if all { rows.len() } else { rows.len().min(ROWS_SHOWN) };
    for row in &rows[..shown] {
        let target = bounded.target(row);
        let way = bounded.way(row);
        let worst = way.iter().max_by_key(|(_, delay)| delay.unwrap_or(i128::MAX));
        table.push(vec![
            bounded.graph.flows[row.flow].name.clone(),
            target.name.clone(),
            target.deadline.map_or_else(|| "-".into(), |it| scale.down(it.0)),
            row.delay.map_or_else(|| "unbounded".into(), |it| scale.up(it.0)),
            bounded.slack_ps(row).map_or_else(|| "-".into(), |it| scale.down(it)),
            row.method.to_string(),
            row.tfa.map_or_else(|| "unbounded".into(), |it| scale.up(it.0)),
            worst.map_or_else(|| "-".into(), |(server, _)| server.name.clone()),
        ]);
    }
    let mut out = table.text();
    if shown < rows.len() {
        let _ = writeln!(out, "… {} more (--all, --csv FILE)", rows.len() - shown);
    }
    out
}

/// The share of a server that its flows take, in percent, rounded up.
pub(super) fn load_percent(load: i128, service: i128) -> String {
    let tenths = load.saturating_mul(1_000) / service.max(1);
    let tenths = tenths + i128::from(load.saturating_mul(1_000) % service.max(1) != 0);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

fn server_table(bounded: &Bounded, all: bool) -> String {
    let graph = &bounded.graph;
    let loads = loads_ubps(graph);
    let scale = Scale::of(&bounded.bounds);
    let mut order: Vec<usize> = (0..graph.servers.len()).collect();
    let share = |index: &usize| {
        loads[*index].saturating_mul(1_000_000) / service_ubps(&graph.servers[*index]).max(1)
    };
    order.sort_by_key(|index| std::cmp::Reverse(share(index)));
    let delay = format!(">delay {} (tfa)", scale.unit);
    let mut table = Table::new(&["server", ">load", &delay]);
    let shown = if all { order.len() } else { order.len().min(ROWS_SHOWN / 2) };
    for index in &order[..shown] {
        let server = &graph.servers[*index];
        let delay = bounded.document.server_delays_ps.get(*index).copied().flatten();
        table.push(vec![
            server.name.clone(),
            load_percent(loads[*index], service_ubps(server)),
            delay.map_or_else(|| "unbounded".into(), |it| scale.up(it.0)),
        ]);
    }
    table.text()
}

/// The last line: what was promised, and how to check it again.
pub(crate) fn verdict(bounded: &Bounded, file: Option<&str>) -> String {
    let rows = bounded.bounds.len();
    let deadlines = bounded.bounds.iter().filter(|b| bounded.target(b).deadline.is_some()).count();
    let again = file.map_or_else(
        || "certified exactly".to_owned(),
        |file| format!("certified exactly (`tenuto certify {file}`)"),
    );
    let with = match deadlines {
        0 => "no flow has a deadline".to_owned(),
        some => format!("{} kept", counted(some, "deadline")),
    };
    format!("GUARANTEED: {}, {with}, {again}\n", counted(rows, "bound"))
}

/// The refusals, as people read them.
pub(crate) fn refused(bounded: &Bounded, refusals: &[Refusal]) -> String {
    scarce::blocks(refusals, bounded.bounds.len())
}

/// Bounds as a table: one row per flow and target, the unit in the name of the column.
pub(crate) fn csv(bounded: &Bounded) -> String {
    let mut out =
        String::from("flow,target,deadline_ps,delay_bound_ps,slack_ps,method,tfa_delay_bound_ps\n");
    let cell = |value: Option<i128>| value.map_or_else(String::new, |it| it.to_string());
    for row in &bounded.bounds {
        let target = bounded.target(row);
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{}",
            quoted(&bounded.graph.flows[row.flow].name),
            quoted(&target.name),
            cell(target.deadline.map(|it| it.0)),
            cell(row.delay.map(|it| it.0)),
            cell(bounded.slack_ps(row)),
            row.method,
            cell(row.tfa.map(|it| it.0)),
        );
    }
    out
}

/// A name as a cell; names have no quotes themselves.
fn quoted(name: &str) -> String {
    if name.contains([',', ';']) { format!("\"{name}\"") } else { name.to_owned() }
}
