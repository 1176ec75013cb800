//! Following a lab from outside: its reports and observations, Ctrl-C, and the view of it.

use crate::books::Books;
use crate::lab::{Lab, Ui};
use crate::lines;
use crate::protocol::{LabCommand, LabJob, LabReport, OBSERVATION_START};
use std::io;
use std::os::fd::AsRawFd;
use tenuto_io::signals::{Signal, SignalFd};
use tenuto_io::{Interest, MonotonicClock, PollKey, PollSet};
use tenuto_units::{Instant, Span};
use tenuto_world::Observation;

/// A view of the run at most this often; less often where it takes long.
const PROGRESS_PERIOD: Span = Span::from_ms(250);
const PROGRESS_SHARE: u64 = 50;
/// How long the supervisor may take to end after its last word.
const END_PATIENCE: Span = Span::from_s(5);

/// A lab that should have ended, and says nothing for so long, does not answer.
const SILENCE_MAX: Span = Span::from_s(10);

/// The run, followed from its start to its end.
pub(crate) struct Watch<'a, 'b> {
    pub(crate) lab: Lab,
    pub(crate) books: Books<'a>,
    pub(crate) ui: &'b mut dyn Ui,
    pub(crate) began: Instant,
    pub(crate) interrupted: bool,
    /// It was ended without waiting for the last counters of its nodes.
    pub(crate) at_once: bool,
    pub(crate) patience: Patience,
}

/// How long a lab may say nothing before it is taken for lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// From the call until traffic starts.
    set_up: Span,
    /// From the start of traffic until the lab has told everything.
    run: Span,
}

impl Patience {
    pub(crate) fn of(job: &LabJob) -> Self {
        let (set_up, end) = crate::supervisor::patience(job);
        let run = Span::from_ns(job.scenario.duration_ns) + Span::from_ns(job.drain_ns) + end;
        Self { set_up, run }
    }

    /// Until when it is waited, if the last word came at `heard`.
    fn until(&self, began: Instant, start: Option<Instant>, heard: Instant) -> Instant {
        let due = start.map_or(began + self.set_up, |start| start + self.run);
        due.max(heard) + SILENCE_MAX
    }
}

impl Watch<'_, '_> {
    /// Follows the lab to its end; gives why it ended if it was not asked to.
    pub(crate) fn run(&mut self) -> Option<String> {
        match self.follow() {
            Ok(crashed) => crashed,
            Err(error) => Some(format!("the lab was lost: {error}")),
        }
    }

    fn follow(&mut self) -> io::Result<Option<String>> {
        let mut signals = SignalFd::new(&[Signal::Interrupt, Signal::Terminate, Signal::HangUp])?;
        let mut poll = PollSet::new();
        let signals_key = poll.add(signals.as_raw_fd(), Interest::Read);
        let reader_key = poll.add(self.lab.reader.fd(), Interest::Read);
        let mut progress_at = MonotonicClock::now();
        let mut end: Option<Instant> = None;
        let mut heard = MonotonicClock::now();
        loop {
            self.lab.writer.write();
            self.set_interest(&mut poll, reader_key);
            poll.wait(Some(end.unwrap_or(progress_at).min(progress_at)))?;
            if poll.readiness(signals_key).readable {
                while signals.next_pending()?.is_some() {
                    let is_first = !std::mem::replace(&mut self.interrupted, true);
                    self.books.stop_asked(MonotonicClock::now().as_ns());
                    // Before any traffic no node has anything to tell.
                    self.at_once = !is_first || !self.books.has_started();
                    if self.at_once {
                        self.step("interrupted: ending at once");
                        return Ok(None);
                    }
                    self.step("interrupted: ending in order (again to end at once)");
                    self.lab.tell(LabCommand::Stop);
                }
            }
            if poll.readiness(reader_key).readable {
                heard = MonotonicClock::now();
                match self.read()? {
                    News::More => {}
                    News::Done => end = Some(MonotonicClock::now() + END_PATIENCE),
                    News::Failed(text) => return Ok(Some(text)),
                    News::Closed if self.books.is_done() => return Ok(None),
                    News::Closed => {
                        let status = self.lab.guardian.wait()?;
                        return Ok(Some(format!("the lab ended early ({status})")));
                    }
                }
            }
            let now = MonotonicClock::now();
            if end.is_some_and(|at| at <= now) {
                return Ok(None);
            }
            if self.patience.until(self.began, self.books.start(), heard) <= now {
                return Ok(Some("the lab does not answer".to_owned()));
            }
            if now >= progress_at {
                progress_at = self.progress(now);
            }
        }
    }

    fn set_interest(&self, poll: &mut PollSet, key: PollKey) {
        let waits = self.lab.writer.pending() > 0;
        poll.set_interest(key, if waits { Interest::ReadWrite } else { Interest::Read });
    }

    fn read(&mut self) -> io::Result<News> {
        let (mut reports, mut unreadable) = (Vec::new(), None);
        let books = &mut self.books;
        let is_open = self.lab.reader.read(|line| {
            if line.starts_with(OBSERVATION_START) {
                match lines::parse::<Observation>(line) {
                    Ok(observation) => books.observe(observation),
                    Err(error) => unreadable = Some(error),
                }
                return;
            }
            match lines::parse::<LabReport>(line) {
                Ok(report) => reports.push(report),
                Err(error) => unreadable = Some(error),
            }
        })?;
        for text in self.books.take_news() {
            self.ui.event(&text);
        }
        if let Some(error) = unreadable {
            return Ok(News::Failed(error));
        }
        let mut news = News::More;
        for report in reports {
            match report {
                LabReport::Step { text } => self.step(&text),
                LabReport::Nodes { nodes } => self.lab.name_nodes(nodes),
                LabReport::Started { start_ns } => {
                    self.books.started(start_ns);
                    self.step("traffic starts");
                }
                LabReport::Quiet { at_ns } => self.books.quiet(at_ns),
                LabReport::Failed { text } => return Ok(News::Failed(text)),
                LabReport::Done { end_ns } => {
                    self.books.done(end_ns);
                    news = News::Done;
                }
            }
        }
        if self.books.take_drained() {
            self.lab.tell(LabCommand::Drained);
        }
        Ok(if is_open { news } else { News::Closed })
    }

    fn progress(&mut self, now: Instant) -> Instant {
        if let Some((rows, mode, elapsed)) = self.books.progress(now) {
            self.ui.progress(&rows, &mode, elapsed);
        }
        let took = MonotonicClock::now().since(now);
        now + PROGRESS_PERIOD + took.times(PROGRESS_SHARE)
    }

    fn step(&mut self, text: &str) {
        let elapsed = MonotonicClock::now().since(self.began).as_ns() / 1_000_000;
        self.ui.step(&format!("{}.{:03} s  {text}", elapsed / 1_000, elapsed % 1_000));
    }
}

enum News {
    More,
    Done,
    Failed(String),
    Closed,
}
