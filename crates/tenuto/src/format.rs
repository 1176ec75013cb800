//! Numbers and tables for people. What is promised is rounded up, what is left over down.

use std::fmt::Write;
use tenuto_model::{Network, Plan};

const PS_PER_US: u64 = 1_000_000;

/// Picoseconds as milliseconds with three decimals, rounded up: for bounds.
pub(crate) fn ms_up(ps: u64) -> String {
    thousandths(i128::from(ps.div_ceil(PS_PER_US)))
}

/// Nanoseconds as milliseconds with three decimals, rounded up: for bounds and what was observed.
pub(crate) fn ms_up_ns(ns: u64) -> String {
    thousandths(i128::from(ns.div_ceil(1_000)))
}

/// Signed picoseconds as milliseconds with three decimals, rounded down: for slack and margin.
pub(crate) fn ms_down(ps: i128) -> String {
    thousandths(ps.div_euclid(i128::from(PS_PER_US)))
}

/// Nanoseconds as seconds with three decimals, rounded down: when something happened.
pub(crate) fn seconds(ns: u64) -> String {
    thousandths(i128::from(ns / 1_000_000))
}

/// A number of thousandths with its three decimals.
fn thousandths(number: i128) -> String {
    let sign = if number < 0 { "-" } else { "" };
    let size = number.unsigned_abs();
    format!("{sign}{}.{:03}", size / 1_000, size % 1_000)
}

/// The share of `part` in `whole` in percent with one decimal, rounded down.
pub(crate) fn percent_down(part: i128, whole: i128) -> String {
    if whole <= 0 {
        return "-".into();
    }
    tenths((part * 1_000).div_euclid(whole))
}

/// The share of `part` in `whole` in percent with one decimal, rounded up.
pub(crate) fn percent_up(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".into();
    }
    let share = (u128::from(part) * 1_000).div_ceil(u128::from(whole));
    tenths(i128::try_from(share).unwrap_or(i128::MAX))
}

fn tenths(number: i128) -> String {
    let sign = if number < 0 { "-" } else { "" };
    let size = number.unsigned_abs();
    format!("{sign}{}.{} %", size / 10, size % 10)
}

/// Bits as kilobytes, rounded up: for backlog bounds.
pub(crate) fn kilobytes_up(bits: u64) -> String {
    let hectobytes = bits.div_ceil(800);
    match hectobytes {
        0..100 => format!("{}.{} kB", hectobytes / 10, hectobytes % 10),
        _ => format!("{} kB", bits.div_ceil(8_000)),
    }
}

/// Bits as kilobytes, rounded down: for buffers.
pub(crate) fn kilobytes_down(bits: u64) -> String {
    format!("{} kB", bits / 8_000)
}

/// Bit/s as Mbit/s with two decimals, rounded up.
pub(crate) fn megabits_up(bps: u64) -> String {
    hundredths(bps.div_ceil(10_000))
}

/// Bit/s as Mbit/s with two decimals, rounded down.
pub(crate) fn megabits_down(bps: u64) -> String {
    hundredths(bps / 10_000)
}

fn hundredths(number: u64) -> String {
    format!("{}.{:02}", number / 100, number % 100)
}

/// `1 flow`, `2 flows`.
pub(crate) fn counted(number: usize, one: &str) -> String {
    tenuto_units::counted(number as u64, one)
}

/// The first characters of a plan's hash.
pub(crate) fn short_hash(plan: &Plan) -> String {
    format!("{}…", plan.plan_hash.chars().take(8).collect::<String>())
}

/// `1 babbling host, 1 lost signal, controller loss`; `nothing` without any.
pub(crate) fn tolerated(network: &Network) -> String {
    let t = network.tolerates;
    let number = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    if t.babbling_hosts > 0 {
        parts.push(counted(number(t.babbling_hosts), "babbling host"));
    }
    if t.lost_signals > 0 && network.modes.len() > 1 {
        parts.push(counted(number(t.lost_signals), "lost signal"));
    }
    if t.controller_loss {
        parts.push("controller loss".into());
    }
    if t.links_lost > 0 {
        parts.push("1 lost link between switches".into());
    }
    if parts.is_empty() { "nothing".into() } else { parts.join(", ") }
}

/// Which edge of a column its texts keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    Left,
    Right,
}

/// Columns as wide as what is in them, two spaces apart.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    heads: Vec<(String, Edge)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table; a head that starts with `>` keeps to the right.
    pub(crate) fn new(heads: &[&str]) -> Self {
        let head = |head: &&str| match head.strip_prefix('>') {
            Some(text) => (text.to_owned(), Edge::Right),
            None => ((*head).to_owned(), Edge::Left),
        };
        Self { heads: heads.iter().map(head).collect(), rows: Vec::new() }
    }

    /// Adds a row with a text per column.
    pub(crate) fn push(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.heads.len(), "a text per column");
        self.rows.push(row);
    }

    /// Head and rows, one per element, none with spaces at its end.
    pub(crate) fn lines(&self) -> Vec<String> {
        let heads: Vec<String> = self.heads.iter().map(|(text, _)| text.clone()).collect();
        let width = |column: usize| {
            let cells = std::iter::once(&heads).chain(&self.rows).filter_map(|r| r.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..heads.len()).map(width).collect();
        let line = |cells: &Vec<String>| {
            let mut line = String::new();
            for ((cell, width), (_, edge)) in cells.iter().zip(&widths).zip(&self.heads) {
                match edge {
                    Edge::Left => write!(line, "{cell:width$}  "),
                    Edge::Right => write!(line, "{cell:>width$}  "),
                }
                .expect("writing to a string");
            }
            line.truncate(line.trim_end().len());
            line
        };
        std::iter::once(&heads).chain(&self.rows).map(line).collect()
    }

    /// Head and rows as text.
    pub(crate) fn text(&self) -> String {
        self.lines().iter().map(|line| format!("{line}\n")).collect()
    }
}

/// Two blocks of lines next to each other.
pub(crate) fn beside(left: &[String], right: &[String]) -> String {
    let width = left.iter().map(|line| line.chars().count()).max().unwrap_or(0) + 4;
    let mut out = String::new();
    for index in 0..left.len().max(right.len()) {
        let one = left.get(index).map_or("", String::as_str);
        let other = right.get(index).map_or("", String::as_str);
        let line = format!("{one:width$}{other}");
        writeln!(out, "{}", line.trim_end()).expect("writing to a string");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_rounded_up_and_slack_down() {
        assert_eq!(ms_up(1), "0.001");
        assert_eq!(ms_up(14_603_000_001), "14.604");
        assert_eq!(ms_down(1), "0.000");
        assert_eq!(ms_down(-1), "-0.001");
        assert_eq!(ms_down(4_388_999_999), "4.388");
        assert_eq!(percent_down(-1, 1_000_000), "-0.1 %");
        assert_eq!(percent_up(1, 1_000_000), "0.1 %");
    }

    #[test]
    fn backlog_is_rounded_up_and_buffers_down() {
        assert_eq!(kilobytes_up(1), "0.1 kB");
        assert_eq!(kilobytes_up(80_001), "11 kB");
        assert_eq!(kilobytes_down(8_000 * 512 + 7_999), "512 kB");
    }

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["flow", ">bound"]);
        table.push(vec!["CAM".into(), "14.604".into()]);
        table.push(vec!["STREAM".into(), "9.1".into()]);
        assert_eq!(table.text(), "flow     bound\nCAM     14.604\nSTREAM     9.1\n");
    }
}
