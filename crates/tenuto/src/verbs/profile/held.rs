//! A stored profile held against a device.

use super::{Profile, document, page_written};
use crate::failure::Failure;
use crate::format::Table;
use crate::outcome::Outcome;
use crate::output;
use tenuto_model::Profile as SwitchProfile;
use tenuto_world::profiling::{CheckRow, Measured, RowVerdict, check};

/// Rows that are told.
const TOLD_MAX: usize = 20;

/// Tells it; exit code 0 where everything that was looked at was kept, 1 where the device does worse, 3 where something was
/// not looked at.
pub(super) fn told(
    args: &Profile,
    device: &str,
    stored: &SwitchProfile,
    measured: &Measured,
) -> Result<Outcome, Failure> {
    let rows = check(stored, measured);
    let outcome = outcome(&rows);
    let page = page_written(args, device, measured);
    if args.json {
        output::say_json(&document::held(args, device, stored, measured, &rows, outcome))?;
    } else {
        output::say(&text(&stored.name, &rows))?;
    }
    page.map(|()| outcome)
}

fn outcome(rows: &[CheckRow]) -> Outcome {
    let has = |verdict: RowVerdict| rows.iter().any(|it| it.verdict == verdict);
    match (has(RowVerdict::Exceeded), has(RowVerdict::NotObserved), has(RowVerdict::Kept)) {
        (true, ..) => Outcome::Bad,
        (false, false, true) => Outcome::Good,
        _ => Outcome::Undecidable,
    }
}

/// The words of an outcome.
pub(super) const fn verdict(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Good => "kept",
        Outcome::Bad => "exceeded",
        _ => "not-observed",
    }
}

fn text(name: &str, rows: &[CheckRow]) -> String {
    let count = |verdict: RowVerdict| rows.iter().filter(|it| it.verdict == verdict).count();
    let (kept, exceeded) = (count(RowVerdict::Kept), count(RowVerdict::Exceeded));
    let (line, silent) = (count(RowVerdict::LineBound), count(RowVerdict::NotObserved));
    let head = match outcome(rows) {
        Outcome::Good => {
            format!("{name}: covers the device in all of {kept} claims that were looked at")
        }
        Outcome::Bad => format!("{name}: does not cover the device, {exceeded} times"),
        _ => format!(
            "{name}: nothing says that it does not cover the device, and not all was looked at"
        ),
    };
    let mut text = format!(
        "{head}\n  {kept} kept, {exceeded} exceeded, {line} beyond the lines of the bench, {silent} not observed\n"
    );
    let open: Vec<&CheckRow> = rows
        .iter()
        .filter(|it| matches!(it.verdict, RowVerdict::Exceeded | RowVerdict::NotObserved))
        .collect();
    if open.is_empty() {
        return text;
    }
    let mut table =
        Table::new(&["beyond the profile, or unseen", ">seen", ">stated", "unit", "verdict"]);
    let number = |it: Option<f64>| it.map_or("-".into(), |it| format!("{it:.0}"));
    for it in open.iter().take(TOLD_MAX) {
        table.push(vec![
            it.what.clone(),
            number(it.seen),
            number(it.stated),
            it.unit.into(),
            it.verdict.word().into(),
        ]);
    }
    text.push_str(&table.text());
    let more = open.len().saturating_sub(TOLD_MAX);
    if more > 0 {
        text.push_str(&format!("  and {more} more: --json has all of them\n"));
    }
    text
}
