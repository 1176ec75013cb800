//! Measuring controllers: switches that ask about packets, and what answering costs.
//!
//! The load generator is of our own, as none of OpenFlow 1.3 is kept today: emulated switches, each a connection, ask about
//! packets between hosts that the controller has learned, so that every answer is one flow-mod. An
//! answer names the buffer of its packet, which tells which question it answers. Three kinds of load:
//! *latency* (one question of each switch at a time), *windowed* (so many at a time), *open loop*
//! (questions at a stated rate, delays from the instant at which a question was due, so that a controller that is
//! late does not slow down what is asked of it).
//!
//! Wall-clock rates hold what else the machine does. The processor time of an answer does not.

mod core_switch;
mod cpu_time;
mod delays;
mod emulated_switch;
mod load;
mod question;
mod shared_switch;
mod subject;

pub use core_switch::CoreSwitch;
pub use delays::Delays;
pub use load::{Load, LoadFigures, LoadKind};
pub use shared_switch::SharedSwitch;

use crate::measure::Spread;
use std::io;
use std::path::PathBuf;
use subject::Subject;
use tenuto_units::Span;

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct ControllerOrder {
    /// The program `tenuto`.
    pub own: PathBuf,
    /// A Python that has os-ken.
    pub os_ken: Option<PathBuf>,
    /// Emulated switches.
    pub switches: u32,
    /// Questions of each switch at a time, windowed.
    pub window: u32,
    /// How long each load lasts.
    pub lasts: Span,
    /// Times that each load is repeated; controllers take turns.
    pub repeat: u32,
    /// Kinds of load.
    pub kinds: Vec<LoadOrder>,
}

/// A kind of load, as it is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadOrder {
    /// One question at a time.
    Latency,
    /// So many at a time.
    Windowed,
    /// At a rate; without one, half of what was answered windowed, or in turn.
    OpenLoop {
        /// Questions a second, of all switches.
        per_s: Option<u64>,
    },
}

/// One controller under one kind of load, over all repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct ControllerRow {
    /// The controller.
    pub controller: &'static str,
    /// The load.
    pub load: &'static str,
    /// Questions a second that were asked for, open loop.
    pub asked_per_s: Option<Spread>,
    /// Answers a second.
    pub answers_per_s: Spread,
    /// Delays that half of the answers, 99 % and 99.9 % do not exceed, us.
    pub p50_us: Spread,
    /// 99 %.
    pub p99_us: Spread,
    /// 99.9 %.
    pub p999_us: Spread,
    /// Processor time of the controller per answer, us; all its threads.
    pub cpu_us: Option<Spread>,
    /// Processor time of the generator per answer, us.
    pub generator_us: Option<Spread>,
    /// Questions without an answer, of all repetitions.
    pub unanswered: u64,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ControllerReport {
    /// Controllers by loads.
    pub rows: Vec<ControllerRow>,
    /// Controllers that were not measured, and why.
    pub skipped: Vec<String>,
}

/// Measures ours, and beside it what else is installed.
///
/// # Errors
/// When our own controller does not start, or sockets fail.
pub fn measure_controllers(
    order: &ControllerOrder,
    progress: &mut dyn FnMut(&str),
) -> io::Result<ControllerReport> {
    let mut report = ControllerReport::default();
    let mut subjects = vec![Subject::ours(&order.own)?];
    let others = [Subject::ovs_testcontroller(), Subject::os_ken(order.os_ken.as_deref())];
    for other in others {
        match other {
            Ok(subject) => subjects.push(subject),
            Err(why) => report.skipped.push(why),
        }
    }
    let mut found: Vec<Vec<Vec<LoadFigures>>> =
        vec![vec![Vec::new(); order.kinds.len()]; subjects.len()];
    for turn in 1..=order.repeat {
        for (subject, of_subject) in subjects.iter_mut().zip(&mut found) {
            progress(&format!("{}, {turn} of {}", subject.name, order.repeat));
            let mut answered = 0.0;
            for (kind, of_kind) in order.kinds.iter().zip(of_subject.iter_mut()) {
                let figures = subject.measure(&load(order, *kind, answered))?;
                if !matches!(kind, LoadOrder::OpenLoop { .. }) {
                    answered = figures.answers_per_s();
                }
                of_kind.push(figures);
            }
        }
    }
    for (subject, of_subject) in subjects.iter().zip(&found) {
        for (kind, of_kind) in order.kinds.iter().zip(of_subject) {
            report.rows.push(row(subject.name, *kind, of_kind));
        }
    }
    Ok(report)
}

/// The load of an order; `answered` a second before.
fn load(order: &ControllerOrder, kind: LoadOrder, answered: f64) -> Load {
    let kind = match kind {
        LoadOrder::Latency => LoadKind::Closed { outstanding: 1 },
        LoadOrder::Windowed => LoadKind::Closed { outstanding: order.window },
        LoadOrder::OpenLoop { per_s } => {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a rate of messages
            let half = (answered.max(0.0) / 2.0) as u64;
            LoadKind::Open { per_s: per_s.unwrap_or(half).max(1) }
        }
    };
    Load { kind, switches: order.switches, lasts: order.lasts }
}

fn row(controller: &'static str, kind: LoadOrder, figures: &[LoadFigures]) -> ControllerRow {
    let spread = |of: &dyn Fn(&LoadFigures) -> f64| Spread::of(figures.iter().map(of).collect());
    let some = |of: &dyn Fn(&LoadFigures) -> Option<f64>| {
        let values: Option<Vec<f64>> = figures.iter().map(of).collect();
        values.map(Spread::of)
    };
    let delay = |permille: u64| spread(&|it| it.delays.at_permille(permille) as f64 / 1e3);
    ControllerRow {
        controller,
        load: match kind {
            LoadOrder::Latency => "latency",
            LoadOrder::Windowed => "windowed",
            LoadOrder::OpenLoop { .. } => "open loop",
        },
        asked_per_s: some(&|it| it.asked_per_s.map(|rate| rate as f64)),
        answers_per_s: spread(&LoadFigures::answers_per_s),
        p50_us: delay(500),
        p99_us: delay(990),
        p999_us: delay(999),
        cpu_us: some(&|it| it.per_answer_us(it.controller_ns?)),
        generator_us: some(&|it| it.per_answer_us(it.generator_ns?)),
        unanswered: figures.iter().map(|it| it.unanswered).sum(),
    }
}
