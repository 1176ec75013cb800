//! The process inside: makes what is measured, measures, and tells.

use super::{Line, LiveOrder, LiveReport, LiveTask, Processors, babbling, flows, rates, tell};
use std::io;
use std::process::ExitCode;
use tenuto_io::links::{IpBatch, LinkName};
use tenuto_io::realtime;

/// Plays the role; the order is the second argument.
pub(crate) fn main() -> ExitCode {
    let line = match measured() {
        Ok(report) => Line::Report(Box::new(report)),
        Err(error) => Line::Failed(error.to_string()),
    };
    tell(&line);
    ExitCode::SUCCESS
}

fn measured() -> io::Result<LiveReport> {
    let order = std::env::args().nth(2).unwrap_or_default();
    let order: LiveOrder = serde_json::from_str(&order)?;
    // Control channels are local.
    let loopback = LinkName::new("lo").map_err(io::Error::other)?;
    IpBatch::new().up(&loopback).run().map_err(io::Error::other)?;
    let processors = realtime::allowed_processors()?;
    let places = Processors {
        generator: processors.first().copied().unwrap_or(0),
        forwarder: processors.last().copied(),
        beside: processors.get(1).copied().filter(|_| processors.len() > 2),
    };
    let mut report = match order.task {
        LiveTask::Rates | LiveTask::Tails => rates::measured(order, places),
        LiveTask::Babbling => babbling::measured(order, places),
        LiveTask::Flows => flows::measured(order, (places.generator, places.forwarder)),
    }?;
    if processors.len() < 2 {
        report.notes.push("one processor alone: who sends and who forwards share it".into());
    }
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("?");
    report.notes.push(format!(
        "{} processors, load average {load} at the end; windows of {} ms, {} of each kind, in turn",
        processors.len(),
        order.window_ms,
        order.repetitions
    ));
    Ok(report)
}
