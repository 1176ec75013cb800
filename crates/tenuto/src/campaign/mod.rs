//! `sim --campaign`: many cases at once, what they showed together, and the command that repeats one.

mod command;
mod document;
mod text;

use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output;
use crate::progress::{Progress, bar};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Instant;
use tenuto_model::{Plan, Scenario};
use tenuto_world::campaign::{Case, Reach, Tally};
use tenuto_world::clockwork::RunError;

/// Words about finished cases that wait to be shown.
const WORDS_MAX: usize = 64;

/// What cases are drawn for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drawn<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) reach: Reach,
    /// How long sources send, if that is said.
    pub(crate) traffic_ns: Option<u64>,
}

/// How a campaign is shown and kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown<'a> {
    pub(crate) is_json: bool,
    pub(crate) all: bool,
    pub(crate) output: Option<&'a Path>,
}

impl<'a> Drawn<'a> {
    const fn case(&self, seed: u64) -> Case<'a> {
        Case { plan: self.plan, seed, reach: self.reach, traffic_ns: self.traffic_ns }
    }

    /// What happens in the case of a seed.
    pub(crate) fn scenario(&self, seed: u64) -> Scenario {
        tenuto_world::campaign::scenario(self.plan, seed, self.reach, self.traffic_ns)
    }

    /// Holds the case of a seed against the invariants, after its run was shown.
    pub(crate) fn judged(&self, seed: u64, shown: Outcome) -> Result<Outcome, Failure> {
        let ran = self.case(seed).run().map_err(|error| not_made(&error))?;
        for it in &ran.broken {
            output::complain(&format!("broken: {}: {}", text::word(it.invariant), it.what));
        }
        Ok(if ran.broken.is_empty() { shown } else { Outcome::Bad })
    }
}

fn not_made(error: &RunError) -> Failure {
    Failure::undecidable(format!("the runs could not be made: {error}"), None)
}

/// Runs so many cases, from a seed on, and says what they showed.
pub(crate) fn run(
    drawn: &Drawn<'_>,
    (first, cases): (u64, u64),
    jobs: Option<usize>,
    shown: Shown<'_>,
) -> Result<Outcome, Failure> {
    let jobs = jobs.unwrap_or_else(available);
    let started = Instant::now();
    let tally = all(drawn, (first, cases), jobs).map_err(|error| not_made(&error))?;
    let took = started.elapsed();
    let document = document::of(drawn.plan, drawn.reach, first, &tally);
    if shown.is_json {
        output::say_json(&document)?;
    } else {
        output::say(&text::text(&document, took, jobs, shown.all))?;
    }
    let written = match shown.output {
        Some(path) => output::write_file(path, output::json(&document)),
        None => Ok(()),
    };
    Ok(Failure::unkept(written, document.outcome()))
}

fn available() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The cases, shared out one by one.
fn all(drawn: &Drawn<'_>, (first, cases): (u64, u64), jobs: usize) -> Result<Tally, RunError> {
    let (next, broken) = (AtomicU64::new(0), AtomicU64::new(0));
    let (tell, told) = sync_channel::<()>(WORDS_MAX);
    let work = || -> Result<Tally, RunError> {
        let mut tally = Tally::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= cases {
                return Ok(tally);
            }
            let seed = first.wrapping_add(number);
            let ran = drawn.case(seed).run().inspect_err(|_| {
                // Nobody else need begin another.
                next.store(cases, Ordering::Relaxed);
            })?;
            broken.fetch_add(u64::from(!ran.broken.is_empty()), Ordering::Relaxed);
            tally.count(seed, &ran);
            // A reader that is slow has enough to read.
            let _ = tell.try_send(());
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
        let mut progress = Progress::new();
        let name = &drawn.plan.network.name;
        while !workers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            let _ = told.recv_timeout(std::time::Duration::from_millis(50));
            let begun = next.load(Ordering::Relaxed).min(cases);
            let found = broken.load(Ordering::Relaxed);
            progress.say(|| {
                format!(
                    "{name} campaign  {} {begun}/{cases} cases, {found} broken",
                    bar(begun, cases)
                )
            });
        }
        drop(progress);
        let mut whole = Tally::default();
        for worker in workers {
            whole.join(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(whole)
    })
}
