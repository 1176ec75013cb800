//! A live run while it runs: a repainted block on a terminal, else a line per event and per 5 s.

use crate::format::{Table, ms_up_ns, percent_down, seconds};
use crate::progress::{bar, unwrapped};
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};
use tenuto_model::quantity::format_time;
use tenuto_runtime::Ui;
use tenuto_units::Span;
use tenuto_world::ProgressRow;

/// Flows that are shown: those with the least margin.
const ROWS_SHOWN: usize = 12;
const REPEAT: Duration = Duration::from_secs(5);

/// What `tenuto up` shows on stderr.
#[derive(Debug)]
pub(crate) struct LiveView {
    name: String,
    duration_ns: u64,
    alarm_percent: u8,
    is_terminal: bool,
    /// Lines of the block that stands at the cursor.
    painted: usize,
    repeat_at: Instant,
    warned: BTreeSet<(String, String)>,
}

impl LiveView {
    /// A view of a run of that length; `alarm_percent` of a bound left is worth a warning.
    pub(crate) fn new(name: &str, duration_ns: u64, alarm_percent: u8) -> Self {
        Self {
            name: name.to_owned(),
            duration_ns,
            alarm_percent,
            is_terminal: std::io::stderr().is_terminal(),
            painted: 0,
            repeat_at: Instant::now() + REPEAT,
            warned: BTreeSet::new(),
        }
    }

    /// Writes lines that stay; the block is repainted below them.
    fn line(&mut self, text: &str) {
        let erased = self.erased();
        // Nobody can be told that stderr is gone.
        let _ = writeln!(std::io::stderr().lock(), "{erased}{text}");
    }

    /// The escape sequence that takes the block away.
    fn erased(&mut self) -> String {
        match std::mem::take(&mut self.painted) {
            0 => String::new(),
            lines => format!("\x1b[{lines}A\r\x1b[J"),
        }
    }

    fn paint(&mut self, lines: &[String]) {
        let erased = self.erased();
        let mut text = erased;
        for line in lines {
            text.push_str(&unwrapped(line));
            text.push('\n');
        }
        self.painted = lines.len();
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }

    fn header(&self, mode: &str, elapsed: Span) -> String {
        let at = elapsed.as_ns().min(self.duration_ns);
        let bar = bar(at, self.duration_ns);
        let (at, of) = (seconds(at), format_time(self.duration_ns));
        format!("{} live  {bar} {at}/{of}   mode {mode}   Ctrl-C stops cleanly", self.name)
    }

    fn warn(&mut self, rows: &[ProgressRow], elapsed: Span) {
        for row in rows {
            let Some(left) = left(row) else { continue };
            let key = (row.flow.clone(), row.target.clone());
            let is_enough = left.ns * 100 >= left.of_ns * i128::from(self.alarm_percent);
            if is_enough || self.warned.contains(&key) {
                continue;
            }
            self.warned.insert(key);
            let text = format!(
                "warning: {} to {} took {} ms, {} of its {} is left, at {} s",
                row.flow,
                row.target,
                ms_up_ns(row.observed_delay_ns_max),
                percent_down(left.ns, left.of_ns),
                left.of,
                seconds(elapsed.as_ns()),
            );
            self.line(&text);
        }
    }
}

/// What is left of the limit that an alarm is about.
struct Left {
    ns: i128,
    of_ns: i128,
    of: &'static str,
}

/// What is left of the bound with the host allowance, or of the deadline where that comes first: a
/// large allowance does not hide that deadlines are near. `None` before anything came, without a
/// limit, or for a flow to which nothing is promised.
fn left(row: &ProgressRow) -> Option<Left> {
    let is_meant = row.received > 0 && !row.is_misbehaving;
    let limits = [(row.deadline_ns, "deadline"), (row.delay_bound_ns, "bound")];
    let limits = limits.into_iter().filter_map(|(ns, of)| Some((ns?, of)));
    let (limit, of) = limits.min().filter(|_| is_meant)?;
    let of_ns = i128::from(limit);
    Some(Left { ns: of_ns - i128::from(row.observed_delay_ns_max), of_ns, of })
}

/// What is left of the bound; `None` before anything came, or without a bound.
fn margin(row: &ProgressRow) -> Option<i128> {
    let bound = row.delay_bound_ns.filter(|_| row.received > 0)?;
    Some(i128::from(bound) - i128::from(row.observed_delay_ns_max))
}

/// Margin in millionths of the bound, for sorting.
fn share(row: &ProgressRow) -> i128 {
    let bound = i128::from(row.delay_bound_ns.unwrap_or(1).max(1));
    margin(row).map_or(i128::MAX, |margin| margin * 1_000_000 / bound)
}

fn table(rows: &[ProgressRow]) -> Vec<String> {
    let mut sorted: Vec<&ProgressRow> = rows.iter().collect();
    sorted.sort_by_key(|row| share(row));
    let mut table = Table::new(&[
        "flow",
        "target",
        ">received",
        ">missing",
        ">observed max / bound ms",
        ">margin",
    ]);
    for row in sorted.iter().take(ROWS_SHOWN) {
        let bound = row.delay_bound_ns.map_or_else(|| "-".into(), ms_up_ns);
        let whole = i128::from(row.delay_bound_ns.unwrap_or(0));
        table.push(vec![
            row.flow.clone(),
            row.target.clone(),
            row.received.to_string(),
            row.missing.to_string(),
            format!("{} / {bound}", ms_up_ns(row.observed_delay_ns_max)),
            margin(row).map_or_else(|| "-".into(), |margin| percent_down(margin, whole)),
        ]);
    }
    table.lines()
}

impl Ui for LiveView {
    fn step(&mut self, text: &str) {
        self.line(&format!("  {text}"));
    }

    fn progress(&mut self, rows: &[ProgressRow], mode: &str, elapsed: Span) {
        self.warn(rows, elapsed);
        if self.is_terminal {
            let mut lines = vec![self.header(mode, elapsed)];
            lines.extend(table(rows));
            self.paint(&lines);
        } else if Instant::now() >= self.repeat_at {
            self.repeat_at = Instant::now() + REPEAT;
            let received: u64 = rows.iter().map(|row| row.received).sum();
            let missing: u64 = rows.iter().map(|row| row.missing).sum();
            let header = self.header(mode, elapsed);
            self.line(&format!("{header}   {received} received, {missing} missing"));
        }
    }

    fn event(&mut self, text: &str) {
        self.line(&format!("  {text}"));
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        let erased = self.erased();
        let _ = std::io::stderr().lock().write_all(erased.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::left;
    use tenuto_world::ProgressRow;

    const US: u64 = 1_000;

    fn row(observed_us: u64) -> ProgressRow {
        ProgressRow {
            flow: "CAM".into(),
            target: "d1".into(),
            received: 1,
            missing: 0,
            observed_delay_ns_max: observed_us * US,
            // 190 us of the plan and 24 ms of this machine, beside a deadline of 10 ms.
            delay_bound_ns: Some(24_190 * US),
            deadline_ns: Some(10_000 * US),
            is_misbehaving: false,
        }
    }

    #[test]
    fn an_alarm_is_about_what_comes_first() {
        let near = left(&row(9_500)).expect("a limit");
        assert_eq!((near.ns, near.of_ns, near.of), (500_000, 10_000_000, "deadline"));
        let far = ProgressRow { deadline_ns: Some(100_000 * US), ..row(9_500) };
        let far = left(&far).expect("a limit");
        assert_eq!((far.ns, far.of), (14_690_000, "bound"));
        assert!(left(&ProgressRow { is_misbehaving: true, ..row(1) }).is_none());
        assert!(left(&ProgressRow { received: 0, ..row(1) }).is_none());
    }
}
