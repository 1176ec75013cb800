//! Sandboxes of tenants and their receive paths: how quickly they are there, and what they carry.

use super::sheet::{Form, Sheet, rounded, show};
use crate::failure::Failure;
use crate::outcome::Outcome;
use clap::Args;
use serde_json::Value;
use tenuto_hosting::{MEASUREMENTS, MeasureSettings, Observed, Row, Series, Trial};

/// The series that needs no root.
const STARTS: &str = "starts";

#[derive(Debug, Args)]
pub(crate) struct Hosting {
    /// Starts of each kind
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    starts: u32,
    /// These series only: starts, forwarding, environments, batches, planes, requests, isolation, neighbours
    #[arg(long, value_name = "SERIES", value_delimiter = ',', value_parser = series_names())]
    only: Vec<String>,
    /// Two short windows of each setting: to see that everything works, not for figures
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    pub(super) form: Form,
}

fn series_names() -> clap::builder::PossibleValuesParser {
    [STARTS].into_iter().chain(MEASUREMENTS).collect::<Vec<_>>().into()
}

pub(super) fn run(args: &Hosting) -> Result<Outcome, Failure> {
    let mut sheets = Vec::new();
    if args.only.is_empty() || args.only.iter().any(|name| name == STARTS) {
        sheets.push(starts(args.starts)?);
    }
    let only: Vec<String> = args.only.iter().filter(|name| *name != STARTS).cloned().collect();
    if args.only.is_empty() || !only.is_empty() {
        let usual = if args.quick { MeasureSettings::quick() } else { MeasureSettings::usual() };
        let measured = tenuto_hosting::measure(&MeasureSettings { only, ..usual });
        match measured {
            Ok(series) => sheets.extend(series.iter().map(shown)),
            // What needs no root has been measured.
            Err(error) if args.only.is_empty() => {
                sheets[0].note(format!("messages and isolation were not measured: {error}"));
            }
            Err(error) => {
                let hint = "run as root on a machine with two processors";
                return Err(Failure::undecidable(error.to_string(), Some(hint)));
            }
        }
    }
    show("hosting", None, &sheets, &args.form)
}

fn starts(count: u32) -> Result<Sheet, Failure> {
    let trial = tenuto_hosting::trial(count).map_err(|error| {
        let hint = "`tenuto doctor` says what this machine allows";
        Failure::undecidable(format!("no sandbox can be made here: {error}"), Some(hint))
    })?;
    Ok(started(&trial))
}

fn started(trial: &Trial) -> Sheet {
    let columns = ["start of", "median ms", "p90 ms", "max ms"];
    let mut sheet = Sheet::new("From start until a program runs", &columns);
    for (name, times) in [("a plain process", &trial.plain_ns), ("a sandbox", &trial.sandbox_ns)] {
        let mut row = vec![Value::from(name)];
        row.extend([50, 90, 100].map(|percent| rounded(at_ms(times, percent), 2)));
        sheet.push(row);
    }
    let rights = if trial.is_boxed { "without root" } else { "as root" };
    sheet.note(format!("{} starts of each kind by turns, {rights}", trial.plain_ns.len()));
    for lack in &trial.missing {
        sheet.note(format!("missing: {}: {}", lack.what, lack.why));
    }
    sheet
}

/// The time that so many percent are not above, milliseconds.
fn at_ms(times_ns: &[u64], percent: usize) -> f64 {
    let mut sorted = times_ns.to_vec();
    sorted.sort_unstable();
    let place = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(place).map_or(0.0, |ns| *ns as f64 / 1e6)
}

const COLUMNS: [&str; 11] = [
    "setting",
    "rate k/s",
    "ratio",
    "ratio min",
    "ratio max",
    "processor us",
    "of it receiving us",
    "p50 us",
    "p99 us",
    "p99 ratio",
    "p99.9 us",
];

/// A series: rates and round trips are the middle ones of all rounds, ratios those within a round.
fn shown(series: &Series) -> Sheet {
    let mut sheet = Sheet::new(&series.title, &COLUMNS);
    let rows = || series.blocks.iter().flatten();
    for block in &series.blocks {
        for row in block {
            sheet.push(values(row, &block[0]));
        }
    }
    let windows = rows().flat_map(|row| &row.rounds);
    let usual = windows.clone().filter(|it| !it.is_real_time).count();
    let first = series.blocks.iter().flatten().flat_map(|row| &row.rounds).next();
    let ms = first.map_or(0.0, |it| it.ns as f64 / 1e6);
    let rounds = rows().map(|row| row.rounds.len()).max().unwrap_or(0);
    sheet.note(format!("{rounds} windows of {ms:.0} ms each, by turns; ratios to the first row of each load, in the same round"));
    if usual > 0 {
        sheet.note(format!("{usual} windows ran without SCHED_FIFO: neighbours are in them"));
    }
    series.notes.iter().for_each(|note| sheet.note(note));
    if series.name == "requests" {
        series.blocks.iter().for_each(|block| sheet.note(chosen(block)));
    }
    if let Some((_, words)) = PAPER.iter().find(|(name, _)| *name == series.name) {
        sheet.note(*words);
    }
    sheet
}

fn values(row: &Row, first: &Row) -> Vec<Value> {
    let us = |of: fn(&Observed) -> f64, places| match row.median(of) {
        0.0 => Value::Null,
        ns => rounded(ns / 1e3, places),
    };
    let of_ratio = |of: fn(&Observed) -> f64| row.ratio(first, of);
    let rate = of_ratio(Observed::rate);
    let number = |ratio: Option<f64>| ratio.map_or(Value::Null, |ratio| rounded(ratio, 2));
    vec![
        Value::from(row.setting.clone()),
        rounded(row.median(Observed::rate) / 1e3, 1),
        number(rate.map(|it| it.median)),
        number(rate.map(|it| it.min)),
        number(rate.map(|it| it.max)),
        rounded(row.cpu_ns_per_message() / 1e3, 2),
        us(|it| it.receive_cpu_ns as f64 / it.messages.max(1) as f64, 2),
        us(|it| it.p50_ns as f64, 0),
        us(|it| it.p99_ns as f64, 0),
        number(of_ratio(|it| it.p99_ns as f64).map(|it| it.median)),
        us(|it| it.p999_ns as f64, 0),
    ]
}

/// The path to choose for a load: another than the plain one only if it was faster in the middle of all rounds
/// and in none slower.
fn chosen(block: &[Row]) -> String {
    let plain = &block[0];
    let faster = block.iter().skip(1).filter_map(|row| {
        let ratio = row.ratio(plain, Observed::rate)?;
        (ratio.median > 1.0 && ratio.min >= 1.0).then_some((row, ratio))
    });
    let best = faster.max_by(|(_, a), (_, b)| a.median.total_cmp(&b.median));
    match best {
        Some((row, ratio)) => format!(
            "chosen: {}: {:.2} times the plain path ({:.2} to {:.2})",
            row.setting, ratio.median, ratio.min, ratio.max
        ),
        None => format!("chosen: {}: no other path was faster in every round", plain.setting),
    }
}

/// What the paper has in its place, and what differs. None of these reasons was measured by itself.
const PAPER: [(&str, &str); 5] = [
    (
        "forwarding",
        "paper: 374 to 664 thousand at 64 B, 381 to 663 at 1,500 B (1.78, 1.74 times), two threads against one, as here; Linux 2.6.32 and \
         a NIC there. Here the sender is on the first processor too, and a split takes forwarding off it: part of the ratio is that",
    ),
    (
        "environments",
        "paper: 0.5 of native in a virtual machine, 0.8 with SP2 above 1,024 B; a sandbox shares the kernel and its network stack",
    ),
    (
        "batches",
        "paper: best at a batch of 8 of its own hand-over; that of cpumap is fixed at 8, and what varies here is another batch: messages \
         of a connection at once",
    ),
    (
        "planes",
        "paper: 10 Gbit/s with one, 38 with five, with two cores each; here all share two processors",
    ),
    (
        "requests",
        "paper: 4 times the 0.7 million of NOX-MT, a stack alone held against a controller that decides; what answers here decides nothing \
         either, so that no such ratio is told",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_times() {
        let times: Vec<u64> = (1..=10).rev().map(|ms| ms * 1_000_000).collect();
        assert_eq!([50, 90, 100].map(|percent| at_ms(&times, percent)), [5.0, 9.0, 10.0]);
        assert_eq!(at_ms(&[7_000_000], 50), 7.0);
        assert_eq!(at_ms(&[], 50), 0.0);
    }

    #[test]
    fn the_plain_path_is_left_only_for_one_that_is_never_slower() {
        let row = |setting: &str, messages: [u64; 3]| {
            let of = |messages| Observed { messages, ns: 1_000, ..Observed::default() };
            Row { setting: setting.into(), rounds: messages.map(of).into() }
        };
        let plain = row("plain", [100, 100, 100]);
        let told = chosen(&[plain.clone(), row("a", [150, 150, 90]), row("b", [120, 120, 110])]);
        assert!(told.starts_with("chosen: b: 1.20 times"), "{told}");
        let told = chosen(&[plain, row("a", [150, 150, 90])]);
        assert!(told.starts_with("chosen: plain"), "{told}");
    }
}
