//! How one thread waits for its ports, its other descriptors and its timers.

use crate::{MonotonicClock, PollSet, Port, WaitPolicy, realtime};
use std::io;
use tenuto_units::{Instant, Span};

/// While a thread looks at its ports itself, it asks the kernel about all else at most and at least this often;
/// in between so that asking takes it a hundredth of the time: a frame that comes meanwhile waits, and of a hundred
/// at most one is to.
const KERNEL_LOOK_PERIODS: (Span, Span) = (Span::from_us(20), Span::from_us(200));
const LOOKS_SHARE: u64 = 100;
/// Just behind frames, when the next ones are the farthest away, it asks as often as that. With frames at hand or
/// on their way it asks after so many times as long: what comes at a pace shorter than that never meets it asking.
const OTHERWISE: u64 = 2;
/// And about one more of the ports, for errors that their memory does not tell.
const PORT_LOOK_PERIOD: Span = Span::from_ms(1);
/// A rest shorter than this is not worth its wake-up: to begin and end one in the kernel takes some 75 us
/// with thirty rings. A frame ends it, however long it is.
const REST_LEAST: Span = Span::from_us(250);
/// A deadline nearer than this is looked out for: a sleep would end after it.
const SOON: Span = Span::from_us(3);
const PERMILLE: u64 = 1_000;
/// Looks at ports for each reading of the clock, of a thread that does not sleep.
const LOOKS_PER_TIME: u32 = 4;

/// What is known about frames that wait, before the kernel is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// Some wait.
    Frames,
    /// None wait.
    Nothing,
    /// Only the kernel can tell about some of the ports.
    Unknown,
}

/// What a look for frames is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Another one follows if there are none.
    Passing,
    /// The thread sleeps if there are none; the next one is to wake it.
    BeforeSleep,
}

impl Pending {
    /// Of all `ports` together.
    pub fn of<'a>(ports: impl IntoIterator<Item = &'a dyn Port>, look: Look) -> Self {
        Self::all(ports.into_iter().map(|port| {
            let waits = match look {
                Look::Passing => port.pending(),
                Look::BeforeSleep => port.pending_at_rest(),
            };
            waits.map_or(Self::Unknown, |waits| if waits { Self::Frames } else { Self::Nothing })
        }))
    }

    /// Of several places together.
    pub(crate) fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self::Nothing;
        for part in parts {
            match part {
                Self::Frames => return Self::Frames,
                Self::Nothing => {}
                Self::Unknown => all = Self::Unknown,
            }
        }
        all
    }
}

/// Time that a spinning thread under SCHED_FIFO leaves to others by itself, in short rests when
/// nothing is to be done, so that the kernel does not take it at once.
///
/// A rest is a wait in the kernel: a frame ends it, one wake-up late. What the thread owes is kept;
/// a thread that always finds work owes until it is stopped after all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rests {
    permille: u64,
    /// No more is owed than this.
    most: Span,
    counted_until: Instant,
    owed_ns_permille: u64,
}

impl Rests {
    /// Counts the time up to `now` as work.
    fn work(&mut self, now: Instant) {
        let worked = now.since(self.counted_until).as_ns().saturating_mul(self.permille);
        let most = self.most.as_ns().saturating_mul(PERMILLE);
        self.owed_ns_permille = self.owed_ns_permille.saturating_add(worked).min(most);
        self.counted_until = now;
    }

    fn owed(&self) -> Span {
        Span::from_ns(self.owed_ns_permille / PERMILLE)
    }

    /// Counts the time up to `now` as rest, but for the processor time that the thread used in it: others
    /// had nothing of that, however long the call of the kernel took.
    fn rest(&mut self, now: Instant, used: Span) {
        let rested = now.since(self.counted_until) - used;
        let rested = rested.as_ns().saturating_mul(PERMILLE);
        self.owed_ns_permille = self.owed_ns_permille.saturating_sub(rested);
        self.counted_until = now;
    }
}

/// The wait of one thread: policy, rests, and when the kernel was last asked.
#[derive(Clone, Debug)]
pub struct PortWait {
    policy: WaitPolicy,
    rests: Option<Rests>,
    asked_at: Instant,
    /// How long after that it is asked again behind frames, if the ports keep the thread awake.
    ask_after: Span,
    /// When the kernel was last asked about a port.
    port_asked_at: Instant,
}

impl PortWait {
    /// A wait by `policy`, without rests.
    pub fn new(policy: WaitPolicy) -> Self {
        let never = Instant::ZERO;
        let ask_after = KERNEL_LOOK_PERIODS.0;
        Self { policy, rests: None, asked_at: never, ask_after, port_asked_at: never }
    }

    /// A wait that leaves a little more to others than the kernel would take from a thread under
    /// SCHED_FIFO that never sleeps (see [`crate::realtime::fifo_budget`]); `None` budget: no limit.
    #[must_use]
    pub fn resting_within(mut self, budget: Option<(Span, Span)>) -> Self {
        self.rests = budget.map(|(runtime, period)| {
            let taken = period.as_ns().saturating_sub(runtime.as_ns()).saturating_mul(PERMILLE);
            Rests {
                permille: taken.div_ceil(period.as_ns().max(1)) + 10,
                most: period - runtime + Span::from_ms(10),
                counted_until: MonotonicClock::now(),
                owed_ns_permille: 0,
            }
        });
        self
    }

    /// The policy.
    pub const fn policy(&self) -> WaitPolicy {
        self.policy
    }

    /// Rest that could not be taken so far, for want of an idle moment.
    pub fn owed(&self) -> Span {
        self.rests.as_ref().map_or(Span::ZERO, Rests::owed)
    }

    /// Waits until frames wait, a descriptor of `set` is ready or `deadline` has come.
    ///
    /// Afterwards `set` tells of this wait only: a port is to be served if its own
    /// [`Port::pending`], or else its descriptor, says so. While frames keep coming, descriptors
    /// are still asked every 20 to 200 us, the rarer the longer asking takes.
    ///
    /// # Errors
    ///
    /// Those of `ppoll`.
    pub fn wait(
        &mut self,
        set: &mut PollSet,
        deadline: Option<Instant>,
        pending: &mut dyn FnMut(Look) -> Pending,
    ) -> io::Result<()> {
        let mut spin_until = None;
        let mut is_behind_frames = true;
        loop {
            // The clock first: a frame that is found is not to wait for a reading of it.
            let now = MonotonicClock::now();
            let known = self.look(pending);
            let may_sleep = match self.policy {
                WaitPolicy::Block => true,
                WaitPolicy::Spin => false,
                WaitPolicy::Adaptive { spin } => now >= *spin_until.get_or_insert(now + spin),
            };
            if let Some(rests) = &mut self.rests {
                rests.work(now);
            }
            let is_soon = deadline.is_some_and(|at| at <= now + SOON);
            if may_sleep && !is_soon && known != Pending::Frames {
                if pending(Look::BeforeSleep) == Pending::Frames {
                    continue;
                }
                return self.block(set, deadline).map(|_| ());
            }
            if self.is_due(now, known, is_behind_frames) {
                if self.ask(set, now, known)? > 0 {
                    return Ok(());
                }
            } else {
                set.forget();
            }
            if known == Pending::Frames || deadline.is_some_and(|at| now >= at) {
                return Ok(());
            }
            let owed = self.owed();
            if owed >= REST_LEAST && pending(Look::BeforeSleep) != Pending::Frames {
                let until = now + owed;
                if self.block(set, Some(deadline.map_or(until, |at| at.min(until))))? > 0 {
                    return Ok(());
                }
            }
            is_behind_frames = false;
            std::hint::spin_loop();
        }
    }

    /// Whether the kernel is to be asked now: at the beginning of a wait, when what there was is served, or
    /// else when it has not been for long.
    fn is_due(&self, now: Instant, known: Pending, is_behind_frames: bool) -> bool {
        let since = now.since(self.asked_at);
        match known {
            Pending::Unknown => true,
            Pending::Nothing if is_behind_frames => since >= self.ask_after,
            Pending::Nothing | Pending::Frames => {
                let long = Span::from_ns(self.ask_after.as_ns().saturating_mul(OTHERWISE));
                since >= long.min(KERNEL_LOOK_PERIODS.1)
            }
        }
    }

    /// Looks at the ports: once before a sleep, else a few times, as looking takes less time than reading
    /// the clock does.
    fn look(&self, pending: &mut dyn FnMut(Look) -> Pending) -> Pending {
        let looks = if self.policy == WaitPolicy::Block { 1 } else { LOOKS_PER_TIME };
        for _ in 1..looks {
            let known = pending(Look::Passing);
            if known != Pending::Nothing {
                return known;
            }
            std::hint::spin_loop();
        }
        pending(Look::Passing)
    }

    /// Asks the kernel; if all ports tell by themselves, about one of them now and then.
    fn ask(&mut self, set: &mut PollSet, now: Instant, known: Pending) -> io::Result<usize> {
        self.asked_at = now;
        if known == Pending::Unknown {
            return set.wait(Some(Instant::ZERO));
        }
        let ready = set.look()?;
        self.ask_after = ask_after(MonotonicClock::now().since(now));
        if now.since(self.port_asked_at) < PORT_LOOK_PERIOD {
            return Ok(ready);
        }
        self.port_asked_at = now;
        Ok(ready + set.look_at_a_port()?)
    }

    /// Blocks until a descriptor is ready or the time has come; how many are ready.
    fn block(&mut self, set: &mut PollSet, until: Option<Instant>) -> io::Result<usize> {
        let before = self.rests.map(|_| realtime::thread_processor_time());
        let ready = set.wait(until)?;
        self.asked_at = MonotonicClock::now();
        if let Some((rests, before)) = self.rests.as_mut().zip(before) {
            rests.rest(self.asked_at, realtime::thread_processor_time() - before);
        }
        Ok(ready)
    }
}

/// How long after a look the next one is due, if it took so long. A thread that was stopped in the middle of it
/// took longer, hence the limit.
fn ask_after(took: Span) -> Span {
    let (least, most) = KERNEL_LOOK_PERIODS;
    Span::from_ns(took.as_ns().saturating_mul(LOOKS_SHARE)).clamp(least, most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interest, MemoryPort};
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;

    const POLICIES: [WaitPolicy; 3] =
        [WaitPolicy::Block, WaitPolicy::Adaptive { spin: Span::from_us(50) }, WaitPolicy::Spin];

    #[test]
    fn looks_take_a_hundredth_of_the_time_within_limits() {
        assert_eq!(ask_after(Span::from_ns(90)), Span::from_us(20));
        assert_eq!(ask_after(Span::from_ns(800)), Span::from_us(80));
        assert_eq!(ask_after(Span::from_ms(50)), Span::from_us(200));
        assert_eq!(ask_after(Span::from_ns(u64::MAX)), Span::from_us(200));
    }

    #[test]
    fn looks_come_behind_frames_and_never_too_late() {
        let at = |us| Instant::ZERO + Span::from_us(us);
        let wait =
            |us| PortWait { ask_after: Span::from_us(us), ..PortWait::new(WaitPolicy::Spin) };
        let due = |wait: &PortWait, known, is_behind_frames| {
            (1..).find(|&us| wait.is_due(at(us), known, is_behind_frames)).expect("some time")
        };
        for (ask_after, long) in [(20, 40), (80, 160), (150, 200), (200, 200)] {
            let wait = wait(ask_after);
            assert_eq!(due(&wait, Pending::Nothing, true), ask_after);
            for (known, is_behind_frames) in
                [(Pending::Nothing, false), (Pending::Frames, true), (Pending::Frames, false)]
            {
                assert_eq!(due(&wait, known, is_behind_frames), long, "{known:?}");
            }
            assert!(wait.is_due(at(0), Pending::Unknown, true));
        }
        // A frame every 50 us: each look is in front of one.
        let wait = wait(80);
        let idle = (51..100).all(|us| !wait.is_due(at(us), Pending::Nothing, false));
        assert!(idle && wait.is_due(at(100), Pending::Nothing, true));
    }

    #[test]
    fn a_wait_ends_at_its_deadline_and_not_before() {
        for policy in POLICIES {
            for known in [Pending::Nothing, Pending::Unknown] {
                let deadline = MonotonicClock::now() + Span::from_ms(2);
                let mut wait = PortWait::new(policy);
                wait.wait(&mut PollSet::new(), Some(deadline), &mut |_| known).expect("poll");
                assert!(MonotonicClock::now() >= deadline, "{policy:?} {known:?}");
            }
        }
    }

    #[test]
    fn frames_and_descriptors_both_end_it() {
        let (mut a, b) = MemoryPort::pair(8).expect("pair");
        let (reader, mut writer) = io::pipe().expect("pipe");
        for policy in POLICIES {
            let mut set = PollSet::new();
            let port = set.add(b.poll_fd().expect("pollable"), Interest::Read);
            let pipe = set.add(reader.as_raw_fd(), Interest::Read);
            let mut wait = PortWait::new(policy);
            let end = MonotonicClock::now() + Span::from_s(10);
            let late = Some(end);
            assert!(a.send(&[0; 60]).expect("fits"));
            a.flush().expect("flush");
            wait.wait(&mut set, late, &mut |look| Pending::of([&b as &dyn Port], look))
                .expect("poll");
            assert_eq!(Pending::of([&b as &dyn Port], Look::Passing), Pending::Frames);
            assert!(!set.readiness(pipe).readable);

            // Frames that keep waiting do not hide the pipe for longer than a moment.
            writer.write_all(b"x").expect("room");
            let mut rounds = 0;
            while !set.readiness(pipe).readable {
                wait.wait(&mut set, late, &mut |_| Pending::Frames).expect("poll");
                rounds += 1;
            }
            assert!(MonotonicClock::now() < end, "{policy:?}: {rounds} rounds");
            assert!(set.readiness(port).readable);
            (&reader).read_exact(&mut [0]).expect("a byte");
            let soon = Some(MonotonicClock::now());
            wait.wait(&mut set, soon, &mut |_| Pending::Frames).expect("poll");
            assert!(!set.readiness(pipe).readable, "{policy:?}: nothing old is told");
        }
    }

    #[test]
    fn a_spinning_thread_rests_as_much_as_it_would_be_stopped() {
        let budget = Some((Span::from_ms(95), Span::from_ms(100)));
        let mut wait = PortWait::new(WaitPolicy::Spin).resting_within(budget);
        let rests = wait.rests.expect("a budget");
        assert_eq!((rests.permille, rests.most), (60, Span::from_ms(15)));
        // Without an idle moment the debt grows, to its limit.
        let start = rests.counted_until;
        let mut busy = rests;
        busy.work(start + Span::from_ms(10));
        assert_eq!(busy.owed(), Span::from_us(600));
        busy.rest(start + Span::from_us(10_600), Span::from_us(200));
        assert_eq!(busy.owed(), Span::from_us(200));
        // A call of the kernel that did not sleep is no rest.
        busy.rest(start + Span::from_us(10_700), Span::from_us(100));
        assert_eq!(busy.owed(), Span::from_us(200));
        busy.work(start + Span::from_s(9));
        assert_eq!(busy.owed(), Span::from_ms(15));
        // With idle moments it is paid.
        let deadline = Some(MonotonicClock::now() + Span::from_ms(20));
        wait.wait(&mut PollSet::new(), deadline, &mut |_| Pending::Nothing).expect("poll");
        assert!(wait.owed() < Span::from_ms(1), "{}", wait.owed());
        assert!(PortWait::new(WaitPolicy::Spin).resting_within(None).rests.is_none());
    }
}
