//! One load: switches connect, hosts are introduced, questions are asked for a while.

use super::cpu_time;
use super::delays::Delays;
use super::emulated_switch::{EmulatedSwitch, HOSTS};
use std::io;
use std::net::SocketAddr;
use tenuto_io::{MonotonicClock, PollSet};
use tenuto_units::{Instant, Span};

/// For the handshakes, and for each host to be learned.
const START_PATIENCE: Span = Span::from_s(10);
/// Before anything counts.
const WARM: Span = Span::from_ms(100);
/// Closed loops of a controller that answers nothing for so long begin anew; so long are the last answers waited for.
const STALL: Span = Span::from_ms(500);

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// How.
    pub kind: LoadKind,
    /// By so many switches.
    pub switches: u32,
    /// For so long.
    pub lasts: Span,
}

/// How questions follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadKind {
    /// An answer brings the next question.
    Closed {
        /// Questions of a switch at a time.
        outstanding: u32,
    },
    /// Time brings the next question.
    Open {
        /// Questions a second, of all switches.
        per_s: u64,
    },
}

/// What came of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadFigures {
    /// From the instant at which a question was due to its answer.
    pub delays: Delays,
    /// How long answers were counted, ns.
    pub ns: u64,
    /// Questions without an answer.
    pub unanswered: u64,
    /// Questions a second that were asked for, open loop.
    pub asked_per_s: Option<u64>,
    /// Processor time of the controller.
    pub controller_ns: Option<u64>,
    /// Processor time of the generator.
    pub generator_ns: Option<u64>,
}

impl LoadFigures {
    /// Answers a second.
    pub fn answers_per_s(&self) -> f64 {
        self.delays.count() as f64 * 1e9 / self.ns.max(1) as f64
    }

    /// A time by answers, us; `None` without answers.
    pub fn per_answer_us(&self, ns: u64) -> Option<f64> {
        (self.delays.count() > 0).then(|| ns as f64 / 1e3 / self.delays.count() as f64)
    }
}

struct Run {
    poll: PollSet,
    switches: Vec<EmulatedSwitch>,
    load: Load,
    /// Open loop: questions so far, and when the first was due.
    asked: u64,
    began: Instant,
    delays: Delays,
    answers: u64,
    lost: u64,
}

/// Runs a load against the controller of an address.
///
/// # Errors
/// Those of sockets; a controller that does not greet, or does not answer to hosts it has not seen yet.
pub(super) fn run(load: &Load, to: SocketAddr, controller: u32) -> io::Result<LoadFigures> {
    let mut run = Run::connected(load, to)?;
    run.introduce()?;
    run.began = MonotonicClock::now();
    run.go_on(run.began + WARM)?;
    run.lost = 0;
    run.delays = Delays::default();
    let cpu = || (cpu_time::of_process(controller), cpu_time::of_this_thread());
    let (before, from) = (cpu(), MonotonicClock::now());
    run.go_on(from + load.lasts)?;
    let (after, until) = (cpu(), MonotonicClock::now());
    let delays = std::mem::take(&mut run.delays);
    run.finish()?;
    let spent = |before: Option<u64>, after: Option<u64>| Some(after?.saturating_sub(before?));
    Ok(LoadFigures {
        delays,
        ns: until.since(from).as_ns(),
        unanswered: run.lost,
        asked_per_s: match load.kind {
            LoadKind::Open { per_s } => Some(per_s),
            LoadKind::Closed { .. } => None,
        },
        controller_ns: spent(before.0, after.0),
        generator_ns: spent(before.1, after.1),
    })
}

impl Run {
    fn connected(load: &Load, to: SocketAddr) -> io::Result<Self> {
        let mut poll = PollSet::new();
        let connect = |number| EmulatedSwitch::connect(number, to, &mut poll);
        let switches = (0..load.switches).map(connect).collect::<io::Result<_>>()?;
        let (began, delays) = (MonotonicClock::now(), Delays::default());
        let mut run =
            Self { poll, switches, load: *load, asked: 0, began, delays, answers: 0, lost: 0 };
        let until = began + START_PATIENCE;
        while !run.switches.iter().all(|it| it.has_features_asked) {
            run.turn(Some(until))?;
            if MonotonicClock::now() >= until {
                return Err(io::Error::other(
                    "the controller has not asked every switch for its features",
                ));
            }
        }
        Ok(run)
    }

    /// Each host sends a packet to all, until that was answered: then the controller knows where it is.
    fn introduce(&mut self) -> io::Result<()> {
        let until = MonotonicClock::now() + START_PATIENCE;
        for host in 0..HOSTS {
            let now = MonotonicClock::now().as_ns();
            self.switches.iter_mut().for_each(|it| {
                it.introduce(host, now);
            });
            let mut again = MonotonicClock::now() + STALL;
            while self.switches.iter().any(|it| it.outstanding() > 0) {
                self.turn(Some(again.min(until)))?;
                let now = MonotonicClock::now();
                if now >= until {
                    return Err(io::Error::other(
                        "the controller does not answer to packets to all",
                    ));
                }
                if now >= again {
                    // A controller may drop what came before it was ready.
                    again = now + STALL;
                    for it in self.switches.iter_mut().filter(|it| it.outstanding() > 0) {
                        it.give_up();
                        it.introduce(host, now.as_ns());
                    }
                }
            }
        }
        Ok(())
    }

    /// Asks and listens until an instant.
    fn go_on(&mut self, until: Instant) -> io::Result<()> {
        let mut stalls_at = MonotonicClock::now() + STALL;
        let mut answers = self.answers;
        loop {
            let now = MonotonicClock::now();
            if now >= until {
                return Ok(());
            }
            if answers != self.answers {
                (answers, stalls_at) = (self.answers, now + STALL);
            }
            let next = match self.load.kind {
                LoadKind::Closed { outstanding } => {
                    if now >= stalls_at {
                        stalls_at = now + STALL;
                        self.lost +=
                            self.switches.iter_mut().map(EmulatedSwitch::give_up).sum::<u64>();
                    }
                    self.fill(outstanding as usize, now);
                    stalls_at
                }
                LoadKind::Open { per_s } => self.catch_up(per_s, now),
            };
            self.turn(Some(until.min(next)))?;
        }
    }

    /// As many questions of each switch as may be under way.
    fn fill(&mut self, outstanding: usize, now: Instant) {
        for switch in &mut self.switches {
            while switch.outstanding() < outstanding && switch.ask(now.as_ns()) {}
        }
    }

    /// All questions that are due; when the next one is. One without a free buffer is asked later, and counts from when it was due.
    fn catch_up(&mut self, per_s: u64, now: Instant) -> Instant {
        let began = self.began;
        let due = |n: u64| {
            let ns = u128::from(n) * 1_000_000_000 / u128::from(per_s);
            began + Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
        };
        loop {
            let at = due(self.asked);
            if at > now {
                return at;
            }
            let place = usize::try_from(self.asked % self.switches.len() as u64).unwrap_or(0);
            if !self.switches[place].ask(at.as_ns()) {
                // An answer frees a buffer, and ends the wait.
                return now + STALL;
            }
            self.asked += 1;
        }
    }

    /// Sends, waits until there is something or it is time, and receives.
    fn turn(&mut self, until: Option<Instant>) -> io::Result<()> {
        for switch in &mut self.switches {
            switch.send(&mut self.poll)?;
        }
        self.poll.wait(until)?;
        let now = MonotonicClock::now().as_ns();
        for switch in &mut self.switches {
            switch.receive(&self.poll, |due_ns| {
                self.delays.push(now.saturating_sub(due_ns));
                self.answers += 1;
            })?;
        }
        Ok(())
    }

    /// Waits for the last answers; what does not come is lost.
    fn finish(&mut self) -> io::Result<()> {
        let until = MonotonicClock::now() + STALL;
        while self.switches.iter().any(|it| it.outstanding() > 0) && MonotonicClock::now() < until {
            self.turn(Some(until))?;
        }
        self.lost += self.switches.iter_mut().map(EmulatedSwitch::give_up).sum::<u64>();
        Ok(())
    }
}
