//! How quickly sandboxes of tenants are there, beside plain processes.

use super::sheet::{Form, Sheet, rounded, show};
use crate::failure::Failure;
use crate::outcome::Outcome;
use clap::Args;
use serde_json::Value;
use tenuto_hosting::Trial;

#[derive(Debug, Args)]
pub(crate) struct Hosting {
    /// Starts of each kind
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    starts: u32,
    #[command(flatten)]
    pub(super) form: Form,
}

pub(super) fn run(args: &Hosting) -> Result<Outcome, Failure> {
    let trial = tenuto_hosting::trial(args.starts).map_err(|error| {
        let hint = "`tenuto doctor` says what this machine allows";
        Failure::undecidable(format!("no sandbox can be made here: {error}"), Some(hint))
    })?;
    show("hosting", None, &[sheet(&trial)], &args.form)
}

fn sheet(trial: &Trial) -> Sheet {
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
}
