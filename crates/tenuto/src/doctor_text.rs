//! What a machine can show, as people read it; the first line is the answer.

use std::fmt::Write;
use tenuto_model::quantity::format_time;
use tenuto_runtime::{DoctorReport, Finding};

use crate::format::ms_up_ns;

/// The whole report.
pub(crate) fn text(report: &DoctorReport) -> String {
    let mut out = format!("{}\n", report.headline);
    let mut say = |name: &str, text: &str| {
        writeln!(out, "{name:<10} {text}").expect("writing to a string");
    };
    let right = |finding: &Finding| {
        let word = if finding.granted { "yes" } else { "no" };
        let note = match finding.note.lines().next() {
            Some(note) if !note.is_empty() => format!(" ({note})"),
            _ => String::new(),
        };
        format!("{} {word}{note}", finding.name)
    };
    let rights: Vec<String> = report.rights.iter().map(right).collect();
    say("rights", &rights.join("; "));
    say("clock", &format!("{}, receive stamps kernel (software)", report.clocksource));
    let isolated = match report.isolated.as_str() {
        "" => "none",
        some => some,
    };
    let governor = &report.governor;
    say("cpu", &format!("{}, isolated {isolated}, governor {governor}", report.processors));
    let service = &report.service;
    say(
        "measured",
        &format!(
            "{}, wait policy block: wake-up p50 {} ms, p99.9 {} ms, max {} ms; x 1.5 = host \
             allowance {} ms per element",
            format_time(service.measured_ns / 1_000_000 * 1_000_000),
            ms_up_ns(service.wakeup_ns_p50),
            ms_up_ns(service.wakeup_ns_p999),
            ms_up_ns(service.wakeup_ns_max),
            ms_up_ns(service.stall_allowance_ns),
        ),
    );
    let budget = report.fifo_budget_ns.map_or_else(
        || "no limit on real-time threads".to_owned(),
        |(run, period)| {
            let rest = format_time(period.saturating_sub(run));
            format!("a spinning FIFO thread stops {rest} in each {}", format_time(period))
        },
    );
    say("real time", &budget);
    for better in &report.better {
        say("better", better);
    }
    out
}
