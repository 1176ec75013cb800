//! Runs a measurement in a network namespace of its own, which goes with it.

use super::figures::Series;
use super::settings::MeasureSettings;
use super::surroundings::Surroundings;
use super::within::read_within;
use super::{batches, forwarding, isolation, planes, requests};
use crate::allowed::{HostError, needed_box};
use crate::groups::Mounted;
use std::ffi::OsStr;
use std::io;
use std::process::{Command, ExitCode, Stdio};
use tenuto_io::namespaces::spawn_in_new_netns;
use tenuto_io::realtime::allowed_processors;
use tenuto_units::Span;

/// How this program is called when it measures.
pub(crate) const ROLE: &str = "tenuto-tenants-measure";

/// Windows of all settings in one round, and what is made ready for them: twice those that there are.
const WINDOWS_MAX: u64 = 400;
/// What takes its time whatever the windows: tenants, machines, interfaces.
const BESIDE: Span = Span::from_s(60);

/// Names of the series.
pub const MEASUREMENTS: [&str; 7] =
    ["forwarding", "environments", "batches", "planes", "requests", "isolation", "neighbours"];

/// Measures what is wanted.
///
/// # Errors
///
/// Without root, with one processor, or what the kernel refuses.
pub fn measure(settings: &MeasureSettings) -> Result<Vec<Series>, HostError> {
    if needed_box()?.is_some() {
        let text =
            "receive paths are measured as root: threads of the kernel have to be seen and placed";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text).into());
    }
    let mut command = Command::new("/proc/self/exe");
    command.arg(ROLE).arg(serde_json::to_string(settings).map_err(io::Error::other)?);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = spawn_in_new_netns(command).map_err(io::Error::other)?;
    let limit = limit(settings);
    let Some(text) = read_within(&mut child, limit)? else {
        let seconds = limit.as_ns() / 1_000_000_000;
        let text = format!(
            "measuring was not done after {seconds} s and was ended: the machine is busy, or something hangs. \
             `tenuto bench hosting --only requests` shows the same at length; `receive: inline` needs no measurement"
        );
        return Err(io::Error::new(io::ErrorKind::TimedOut, text).into());
    };
    let answer: Result<Vec<Series>, String> = serde_json::from_str(&text)
        .unwrap_or_else(|_| Err("the process that measures ended without a word".into()));
    answer.map_err(|why| io::Error::other(why).into())
}

/// How long all series may take: several times what they were seen to take, which goes with their windows.
fn limit(settings: &MeasureSettings) -> Span {
    let windows = Span::from_ms(settings.window_ms.saturating_mul(settings.rounds.into()));
    BESIDE + Span::from_ns(windows.as_ns().saturating_mul(WINDOWS_MAX))
}

/// Measures, and prints what was seen.
pub(crate) fn main(settings: &OsStr) -> ExitCode {
    let settings = settings.to_str().and_then(|text| serde_json::from_str(text).ok());
    let answer = match settings {
        Some(settings) => measured(&settings).map_err(|error| error.to_string()),
        None => Err("no settings".to_owned()),
    };
    println!("{}", serde_json::to_string(&answer).expect("texts and numbers"));
    ExitCode::SUCCESS
}

type Measurement = fn(&Surroundings<'_>) -> io::Result<Series>;

fn measured(settings: &MeasureSettings) -> io::Result<Vec<Series>> {
    let allowed = allowed_processors()?;
    let &[first, second, ..] = allowed.as_slice() else {
        return Err(io::Error::other("one processor: a receive path cannot be split"));
    };
    let host = format!("measure-{}", std::process::id());
    let (groups, _) = Mounted::find().without_time().make_parent(&format!("tenuto-{host}"));
    let with = Surroundings { settings, host, groups, processors: [first, second] };
    let all: [Measurement; 7] = [
        forwarding::measure,
        requests::environments,
        batches::measure,
        planes::measure,
        requests::measure,
        isolation::measure,
        isolation::measure_usual,
    ];
    let named = MEASUREMENTS.iter().zip(all).filter(|(name, _)| settings.wants(name));
    let series = named.map(|(_, measure)| measure(&with)).collect();
    with.remove_groups();
    series
}
