//! `tenuto report PLAN|RUN`: one HTML file; and the folder that a run leaves behind.

use crate::args::Report;
use crate::certified::Certification;
use crate::failure::Failure;
use crate::load::{self, Head};
use crate::named_file::{self, Kind};
use crate::outcome::Outcome;
use crate::output::{self, Place};
use crate::report::html;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use tenuto_model::Plan;
use tenuto_world::RunDocument;

pub(crate) fn run(args: &Report) -> Result<Outcome, Failure> {
    let input = &run_of_folder(&args.input)?;
    let output = args.output.clone().unwrap_or_else(|| input.with_extension("html"));
    Place::File(&output).check()?;
    let text = named_file::text(input, Kind::PLAN_OR_RUN)?;
    let shown = input.display().to_string();
    let head: Option<Head> = serde_json::from_str(&text).ok();
    let is_run = head.and_then(|h| h.schema).is_some_and(|schema| schema == "tenuto-run/1");
    let (plan, run) = if is_run {
        let run: RunDocument = serde_json::from_str(&text).map_err(|error| {
            let hint = "is the file complete?";
            Failure::input(format!("not a run document: {error}"), Some(&shown), Some(hint))
        })?;
        (plan_of(args, input, &run, &shown)?, Some(run))
    } else {
        (load::plan(input)?, None)
    };
    if let Certification::Rejected(findings) = Certification::of(&plan) {
        return Err(Failure::not_certified(&findings));
    }
    let html = html(&plan, run.as_ref());
    output::write_file(&output, &html)?;
    output::say(&format!("{}\n", output.display()))?;
    Ok(Outcome::Good)
}

/// What is reported: a folder of a run stands for the run.
fn run_of_folder(input: &Path) -> Result<PathBuf, Failure> {
    let run = input.join("run.json");
    if !input.is_dir() || run.exists() {
        return Ok(if input.is_dir() { run } else { input.to_owned() });
    }
    let plan = input.join("plan.json");
    let hint = if plan.exists() {
        format!("the run did not end; its plan alone: tenuto report {}", plan.display())
    } else if let Some(latest) = named_file::latest_run_below(input) {
        format!("did you mean {}?", latest.display())
    } else {
        "`up` and `sim --report` write out/NAME-TIME/ with a run.json; a plan is reported too"
            .into()
    };
    let shown = input.display().to_string();
    Err(Failure::input("there is no run.json in this folder", Some(&shown), Some(&hint)))
}

/// The plan that a run was of.
fn plan_of(args: &Report, input: &Path, run: &RunDocument, shown: &str) -> Result<Plan, Failure> {
    let path = args.plan.clone().unwrap_or_else(|| input.with_file_name("plan.json"));
    if args.plan.is_none() && !path.exists() {
        let hint = "a report of a run shows its plan too: name it with --plan PLAN";
        let message = format!("the plan of this run is not at {}", path.display());
        return Err(Failure::input(message, Some(shown), Some(hint)));
    }
    let plan = load::plan(&path)?;
    if plan.plan_hash != run.plan_hash {
        let hint = "name the plan that was run with --plan PLAN";
        let message = format!("{} is not the plan of this run", path.display());
        return Err(Failure::input(message, Some(shown), Some(hint)));
    }
    Ok(plan)
}

/// Writes `out/NAME-TIME/{report.html,run.json,plan.json}` and says where.
pub(crate) fn write_folder(plan: &Plan, run: &RunDocument) -> Result<String, Failure> {
    write_into(&fresh_folder(&plan.network.name)?, plan, run)
}

/// Writes the three files into a folder and says where.
pub(crate) fn write_into(folder: &Path, plan: &Plan, run: &RunDocument) -> Result<String, Failure> {
    output::write_file(&folder.join("plan.json"), &plan.to_json())?;
    output::write_file(&folder.join("report.html"), &html(plan, Some(run)))?;
    // Last: where it is, the run is over and everything of it was written.
    output::write_file(&folder.join("run.json"), &output::json(run))?;
    Ok(format!("{}/{{report.html,run.json,plan.json}}", folder.display()))
}

/// Finds out before a run whether there will be a place for what it leaves: a run takes minutes, and
/// a lab needs its files. `text` is about as long as they are.
pub(crate) fn check_room(text: &str) -> Result<(), Failure> {
    let out = Path::new("out");
    let tried = out.join(format!(".tenuto-{}", std::process::id()));
    let written = std::fs::create_dir_all(out).and_then(|()| std::fs::write(&tried, text));
    let _ = std::fs::remove_file(&tried);
    written.map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                "the disk is full: free some of it, or start in a folder of another one"
            }
            _ => "reports go to out/ in the folder you are in",
        };
        let message = format!("there is no place for the files of a run: {error}");
        Failure::input(message, Some("out"), Some(hint))
    })
}

/// A folder under `out/` that was not there before.
pub(crate) fn fresh_folder(name: &str) -> Result<PathBuf, Failure> {
    let safe = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    let name: String = name.chars().take(80).map(safe).collect();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let stem = format!("{name}-{}", timestamp(since));
    let fail = |path: &Path, error: &std::io::Error| {
        let shown = path.display().to_string();
        let hint = "reports go to out/ in the folder you are in";
        Failure::input(format!("no folder can be made: {error}"), Some(&shown), Some(hint))
    };
    let out = Path::new("out");
    std::fs::create_dir_all(out).map_err(|error| fail(out, &error))?;
    for attempt in 1..100 {
        let suffix = if attempt == 1 { String::new() } else { format!("-{attempt}") };
        let path = out.join(format!("{stem}{suffix}"));
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(fail(&path, &error)),
        }
    }
    Err(fail(out, &ErrorKind::AlreadyExists.into()))
}

/// `20261121T193200Z`: seconds since 1970 in the calendar, UTC.
fn timestamp(since: u64) -> String {
    let (days, second) = (since / 86_400, since % 86_400);
    // Civil from days: years that start in March, in eras of 400 years.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + carry;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::timestamp;

    #[test]
    fn the_calendar_is_right() {
        assert_eq!(timestamp(0), "19700101T000000Z");
        assert_eq!(timestamp(951_782_399), "20000228T235959Z");
        assert_eq!(timestamp(951_782_400), "20000229T000000Z");
        assert_eq!(timestamp(1_795_289_520), "20261121T193200Z");
    }
}
