//! Forwarding between two interfaces of this machine, side by side in one run: what the bare ports
//! do, our switch, and Open vSwitch.
//!
//! Everything is inside namespaces of its own, in a process of its own, so that the kernel removes
//! it whatever happens. Subjects take turns, window by window ([`tenuto_io::measure`]); whoever has
//! no turn is stopped.

mod babbling;
mod entries;
mod flows;
mod inside;
pub(in crate::measure) mod open_vswitch;
mod ours;
mod rates;
mod ratios;
mod reactive;

pub use babbling::{
    BABBLE_FRAME_BYTES, BabblePoint, LINE_BPS, METER_KBIT, VICTIM_FRAME_BYTES, VICTIM_PPS,
};
pub use flows::{FlowCurve, FlowPoint};
pub use rates::{LiveFigures, LiveSubject};
pub use ratios::{LiveQuantity, LiveRatio};

use super::{Spread, apart};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Write};
use std::process::Stdio;

/// First argument of the process inside.
pub(crate) const ROLE: &str = "__measure";

pub(crate) use inside::main;

/// What is to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LiveTask {
    /// Rate and delay of all subjects.
    Rates,
    /// Delay alone, of the subjects on AF_XDP alone: in the same time, many more windows of it.
    Tails,
    /// Delay against the number of flows, of our switch in four ways.
    Flows,
    /// Delay beside an end system that sends more than it may.
    Babbling,
}

/// How it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveOrder {
    /// What.
    pub task: LiveTask,
    /// Windows of each kind.
    pub repetitions: u32,
    /// Length of a window, ms, at most 500.
    pub window_ms: u64,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveReport {
    /// Rates and delays, by subject and size of frames.
    pub rates: Vec<LiveFigures>,
    /// Rates and delays of one subject by those of another, window by window.
    pub ratios: Vec<LiveRatio>,
    /// Delays, by curve and number of flows.
    pub flows: Vec<FlowPoint>,
    /// Delays of a victim, by what another one sends.
    pub babbling: Vec<BabblePoint>,
    /// The longest time for which a thread of the measurement was not served, nanoseconds.
    pub stall_ns: Option<u64>,
    /// Subjects that could not be measured, each with the reason.
    pub skipped: Vec<(String, String)>,
    /// What is to be known about the figures.
    pub notes: Vec<String>,
}

/// Who runs where.
#[derive(Clone, Copy)]
struct Processors {
    /// Who sends, and the kernel on its behalf.
    generator: usize,
    /// What is measured.
    forwarder: Option<usize>,
    /// A further thread of it, where there is a third processor.
    beside: Option<usize>,
}

/// A line from inside.
#[derive(Debug, Serialize, Deserialize)]
enum Line {
    Progress(String),
    Report(Box<LiveReport>),
    Failed(String),
}

/// Measures inside namespaces of its own; `progress` is told what is going on.
///
/// # Errors
///
/// When namespaces are not allowed here, the first interfaces cannot be made, or what is measured
/// breaks off; the text says which.
pub fn measure_live(order: LiveOrder, progress: &mut dyn FnMut(&str)) -> io::Result<LiveReport> {
    let mut guardian = apart::start(&[ROLE, &serde_json::to_string(&order)?], Stdio::null())?;
    let stdout = guardian.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
    let mut found = Err(io::Error::other("the measuring process ended without a result"));
    for line in BufReader::new(stdout).lines() {
        match serde_json::from_str(&line?)? {
            Line::Progress(text) => progress(&text),
            Line::Report(report) => found = Ok(*report),
            Line::Failed(why) => found = Err(io::Error::other(why)),
        }
    }
    guardian.wait()?;
    found
}

/// Says something to the process outside.
fn tell(line: &Line) {
    let Ok(text) = serde_json::to_string(line) else { return };
    let mut out = io::stdout().lock();
    // Whoever does not listen any more has ended us too.
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

fn say(text: String) {
    tell(&Line::Progress(text));
}

/// Of nanoseconds, in microseconds.
fn spread_us(values_ns: &[u64]) -> Spread {
    Spread::of(values_ns.iter().map(|&ns| ns as f64 / 1e3).collect())
}
