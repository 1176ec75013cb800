//! Waiting for descriptors and deadlines.

use crate::sys::time::ppoll;
use crate::{Capabilities, MonotonicClock, Port};
use std::io;
use std::os::fd::RawFd;
use tenuto_units::{Instant, Span};

/// How a thread waits: processor time against the delay of a wake-up.
///
/// By name: `spin`, `adaptive`, `block`.
///
/// Spinning is for threads with a processor of their own: more spinning threads than processors
/// stall one another by whole scheduler slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPolicy {
    /// Sleep in the kernel until something is ready or the deadline has come.
    Block,
    /// Look again and again for at most `spin`, then block.
    Adaptive {
        /// How long to look before sleeping.
        spin: Span,
    },
    /// Look again and again until something is ready or the deadline has come.
    Spin,
}

/// How long an adaptive wait looks before it sleeps, unless said otherwise: about two wake-ups.
pub const ADAPTIVE_SPIN: Span = Span::from_us(50);

impl Default for WaitPolicy {
    fn default() -> Self {
        Self::Adaptive { spin: ADAPTIVE_SPIN }
    }
}

impl WaitPolicy {
    /// One of each, the adaptive one as by default.
    pub const ALL: [Self; 3] = [Self::Spin, Self::Adaptive { spin: ADAPTIVE_SPIN }, Self::Block];

    /// How settings name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spin => "spin",
            Self::Adaptive { .. } => "adaptive",
            Self::Block => "block",
        }
    }
}

impl std::str::FromStr for WaitPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|policy| policy.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("no way of waiting is called {text:?}; there are {names}")
        })
    }
}

/// What to wait for on a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Data to read, or the peer's end.
    Read,
    /// Room to write.
    Write,
    /// Either of the two.
    ReadWrite,
    /// Errors and hang-ups only, which are always reported.
    None,
}

impl Interest {
    const fn events(self) -> libc::c_short {
        match self {
            Self::Read => libc::POLLIN,
            Self::Write => libc::POLLOUT,
            Self::ReadWrite => libc::POLLIN | libc::POLLOUT,
            Self::None => 0,
        }
    }
}

/// What a descriptor was found ready for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// A read will not block; also set at the peer's end and on errors, which a read then returns.
    pub readable: bool,
    /// A write will not block.
    pub writable: bool,
    /// The descriptor has an error, its peer is gone, or it is not open.
    pub failed: bool,
}

/// Names a descriptor of one [`PollSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PollKey(usize);

/// Waits longer than this are approached in steps; see [`PollSet::wait`].
const DIRECT_WAIT_NS_MAX: u64 = 1_000_000;
/// The kernel allows itself 0.1 % of a poll's time-out as slack, 0.5 % for nice threads; a step
/// ends earlier than its deadline by this share, which is more than either.
const STEP_DIVISOR: u64 = 128;

/// Descriptors that are waited on together.
///
/// The set does not own them: remove a descriptor before closing it.
#[derive(Default)]
pub struct PollSet {
    entries: Vec<libc::pollfd>,
    /// Of each entry: whether its owner tells by itself what waits there.
    peeked: Vec<bool>,
    /// What [`Self::look`] asks about, each with its place among the entries.
    asked: Vec<libc::pollfd>,
    places: Vec<usize>,
    /// The two above are those of the entries.
    is_sorted: bool,
    /// Where [`Self::look_at_a_port`] goes on.
    next_port: usize,
}

impl PollSet {
    /// An empty set, which still can wait for a deadline.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a descriptor; its key is the smallest that is free.
    pub fn add(&mut self, fd: RawFd, interest: Interest) -> PollKey {
        self.put(fd, interest, false)
    }

    /// Adds a port, to wait for frames. One that tells by itself what waits ([`Port::pending`]) ends
    /// sleeps, and [`Self::look`] passes it by.
    ///
    /// # Errors
    ///
    /// When the port has no descriptor.
    pub fn add_port(&mut self, port: &dyn Port) -> io::Result<PollKey> {
        let fd = port.poll_fd().ok_or_else(|| io::Error::other("a port has a descriptor"))?;
        // Asking about a device that uses our memory itself also has it go on.
        let Capabilities { peekable, zero_copy, .. } = port.capabilities();
        Ok(self.put(fd, Interest::Read, peekable && !zero_copy))
    }

    fn put(&mut self, fd: RawFd, interest: Interest, is_peeked: bool) -> PollKey {
        assert!(fd >= 0, "a descriptor is never negative");
        let entry = libc::pollfd { fd, events: interest.events(), revents: 0 };
        self.is_sorted = false;
        if let Some(free) = self.entries.iter().position(|entry| entry.fd < 0) {
            (self.entries[free], self.peeked[free]) = (entry, is_peeked);
            return PollKey(free);
        }
        self.entries.push(entry);
        self.peeked.push(is_peeked);
        PollKey(self.entries.len() - 1)
    }

    /// Changes what a descriptor is waited on for.
    pub fn set_interest(&mut self, key: PollKey, interest: Interest) {
        let events = &mut self.entries[key.0].events;
        self.is_sorted &= *events == interest.events();
        *events = interest.events();
    }

    /// Removes a descriptor; its key may be given to a later one.
    pub fn remove(&mut self, key: PollKey) {
        // A negative descriptor is skipped by the kernel.
        self.entries[key.0] = libc::pollfd { fd: -1, events: 0, revents: 0 };
        self.is_sorted = false;
    }

    /// Blocks until a descriptor is ready or the deadline has come; returns how many are ready,
    /// zero exactly at or after the deadline. Without a deadline it waits without end.
    ///
    /// The deadline is met to the precision of the kernel's timers: with a long time-out the
    /// kernel would be free to wake the thread 0.1 % late (1 ms in a second), whatever the timer
    /// slack, so that long waits are approached in shorter and shorter steps. Measured on waits of
    /// 700 ms: 0.8 to 0.95 ms late in one step, 0.04 to 0.18 ms late in three.
    ///
    /// # Errors
    ///
    /// Those of `ppoll` but EINTR, after which it goes on waiting.
    pub fn wait(&mut self, deadline: Option<Instant>) -> io::Result<usize> {
        loop {
            let remaining_ns = deadline.map(|at| at.since(MonotonicClock::now()).as_ns());
            let ready = self.poll(remaining_ns.map(step_ns))?;
            let over = || deadline.is_some_and(|at| MonotonicClock::now() >= at);
            if ready > 0 || remaining_ns == Some(0) || over() {
                return Ok(ready);
            }
        }
    }

    /// Waits as `policy` says; otherwise as [`Self::wait`].
    ///
    /// # Errors
    ///
    /// As [`Self::wait`].
    pub fn wait_with(
        &mut self,
        policy: WaitPolicy,
        deadline: Option<Instant>,
    ) -> io::Result<usize> {
        let spin_until = match policy {
            WaitPolicy::Block => return self.wait(deadline),
            WaitPolicy::Spin => deadline,
            WaitPolicy::Adaptive { spin } => {
                let limit = MonotonicClock::now() + spin;
                Some(deadline.map_or(limit, |at| at.min(limit)))
            }
        };
        loop {
            let ready = self.poll(Some(0))?;
            if ready > 0 {
                return Ok(ready);
            }
            if spin_until.is_some_and(|at| MonotonicClock::now() >= at) {
                break;
            }
            std::hint::spin_loop();
        }
        match policy {
            WaitPolicy::Spin => Ok(0),
            _ => self.wait(deadline),
        }
    }

    /// Asks once, without waiting, about all but ports that tell by themselves, which are told as not
    /// ready; returns how many are ready. A call for thirty rings takes 20 us and more, and none of them
    /// says more than its own memory does.
    ///
    /// # Errors
    ///
    /// Those of `ppoll`.
    pub fn look(&mut self) -> io::Result<usize> {
        if !self.is_sorted {
            self.sort();
        }
        self.forget();
        if self.asked.is_empty() {
            return Ok(0);
        }
        let ready = match ppoll(&mut self.asked, Some(0)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(0),
            result => result?,
        };
        if ready > 0 {
            for (asked, &place) in self.asked.iter().zip(&self.places) {
                self.entries[place].revents = asked.revents;
            }
        }
        Ok(ready)
    }

    /// Asks once, without waiting, about one of the ports that [`Self::look`] passes by, another one each
    /// time: for errors, which their memory does not tell. Returns how many are ready; what else is known
    /// stays.
    ///
    /// # Errors
    ///
    /// Those of `ppoll`.
    pub fn look_at_a_port(&mut self) -> io::Result<usize> {
        let count = self.entries.len();
        let is_port = |&place: &usize| self.peeked[place] && self.entries[place].fd >= 0;
        let place = (0..count).map(|nth| (self.next_port + nth) % count).find(is_port);
        let Some(place) = place else { return Ok(0) };
        self.next_port = place + 1;
        match ppoll(&mut self.entries[place..=place], Some(0)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            result => result,
        }
    }

    fn sort(&mut self) {
        self.asked.clear();
        self.places.clear();
        for (place, entry) in self.entries.iter().enumerate() {
            if entry.fd >= 0 && !self.peeked[place] {
                self.asked.push(libc::pollfd { revents: 0, ..*entry });
                self.places.push(place);
            }
        }
        self.is_sorted = true;
    }

    /// Nothing is ready any more, as far as this set knows.
    pub(crate) fn forget(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.revents = 0);
    }

    /// What one descriptor was ready for at the last wait.
    pub fn readiness(&self, key: PollKey) -> Readiness {
        let seen = self.entries[key.0].revents;
        let failed = seen & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0;
        Readiness {
            readable: seen & libc::POLLIN != 0 || failed,
            writable: seen & libc::POLLOUT != 0,
            failed,
        }
    }

    /// The descriptors that were ready at the last wait, by key.
    pub fn ready(&self) -> impl Iterator<Item = (PollKey, Readiness)> + '_ {
        let found = self.entries.iter().enumerate().filter(|(_, entry)| entry.revents != 0);
        found.map(|(index, _)| (PollKey(index), self.readiness(PollKey(index))))
    }

    /// One poll; an interrupted one found nothing.
    fn poll(&mut self, timeout_ns: Option<u64>) -> io::Result<usize> {
        match ppoll(&mut self.entries, timeout_ns) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                self.forget();
                Ok(0)
            }
            result => result,
        }
    }
}

/// How long to sleep next with `remaining_ns` to go.
fn step_ns(remaining_ns: u64) -> u64 {
    if remaining_ns <= DIRECT_WAIT_NS_MAX {
        remaining_ns
    } else {
        remaining_ns - remaining_ns / STEP_DIVISOR
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;

    const POLICIES: [WaitPolicy; 3] =
        [WaitPolicy::Block, WaitPolicy::Adaptive { spin: Span::from_us(50) }, WaitPolicy::Spin];

    #[test]
    fn a_wait_ends_at_its_deadline_and_not_before() {
        for policy in POLICIES {
            for wait in [Span::ZERO, Span::from_us(100), Span::from_ms(5)] {
                let deadline = MonotonicClock::now() + wait;
                let ready = PollSet::new().wait_with(policy, Some(deadline)).expect("poll");
                assert_eq!(ready, 0);
                assert!(MonotonicClock::now() >= deadline, "{policy:?} {wait}");
            }
        }
    }

    #[test]
    fn a_deadline_in_the_past_still_looks_once() {
        let (reader, mut writer) = io::pipe().expect("pipe");
        writer.write_all(b"x").expect("write");
        for policy in POLICIES {
            let mut set = PollSet::new();
            set.add(reader.as_raw_fd(), Interest::Read);
            assert_eq!(set.wait_with(policy, Some(Instant::ZERO)).expect("poll"), 1);
        }
    }

    #[test]
    fn ready_descriptors_are_named_by_their_keys() {
        let (mut reader, mut writer) = io::pipe().expect("pipe");
        let (idle, _kept) = io::pipe().expect("pipe");
        let mut set = PollSet::new();
        let idle = set.add(idle.as_raw_fd(), Interest::Read);
        let read = set.add(reader.as_raw_fd(), Interest::Read);
        let write = set.add(writer.as_raw_fd(), Interest::Write);

        assert_eq!(set.wait(None).expect("poll"), 1);
        let writable = Readiness { writable: true, ..Readiness::default() };
        assert_eq!(set.ready().collect::<Vec<_>>(), [(write, writable)]);

        set.set_interest(write, Interest::None);
        writer.write_all(b"x").expect("write");
        assert_eq!(set.wait(None).expect("poll"), 1);
        assert!(set.readiness(read).readable && !set.readiness(idle).readable);
        reader.read_exact(&mut [0]).expect("read");

        set.remove(write);
        drop(writer);
        assert_eq!(set.wait(None).expect("poll"), 1);
        assert!(set.readiness(read).failed, "the other end is gone");

        set.remove(read);
        assert_eq!(set.add(reader.as_raw_fd(), Interest::Read), read, "keys are used again");
    }

    #[test]
    fn a_look_passes_by_what_tells_by_itself() {
        let pipes = [(); 3].map(|()| io::pipe().expect("pipe"));
        let mut set = PollSet::new();
        let [first, peeked, last] = [0, 1, 2].map(|n| {
            let fd = pipes[n].0.as_raw_fd();
            set.put(fd, Interest::Read, n == 1)
        });
        assert_eq!(set.look().expect("poll"), 0);
        for (_, writer) in &pipes {
            let mut writer = writer;
            writer.write_all(b"x").expect("write");
        }
        let readable = |set: &PollSet| [first, peeked, last].map(|key| set.readiness(key).readable);
        assert_eq!((set.look().expect("poll"), readable(&set)), (2, [true, false, true]));
        assert_eq!((set.wait(None).expect("poll"), readable(&set)), (3, [true; 3]));
        // One port each time; an interrupted look would leave what was known.
        assert_eq!((set.look().expect("poll"), readable(&set)), (2, [true, false, true]));
        assert_eq!((set.look_at_a_port().expect("poll"), readable(&set)), (1, [true; 3]));
        assert_eq!(set.look_at_a_port().expect("poll"), 1, "there is one: again");
        // What changes between looks is followed.
        set.remove(first);
        set.set_interest(last, Interest::None);
        assert_eq!((set.look().expect("poll"), readable(&set)), (0, [false; 3]));
        assert_eq!(set.add(pipes[0].0.as_raw_fd(), Interest::Read), first, "the key is used again");
        assert_eq!((set.look().expect("poll"), readable(&set)), (1, [true, false, false]));
        set.remove(peeked);
        assert_eq!(set.add(pipes[1].0.as_raw_fd(), Interest::Read), peeked, "not peeked any more");
        assert_eq!((set.look().expect("poll"), readable(&set)), (2, [true, true, false]));
    }

    #[test]
    fn a_long_wait_is_approached_in_steps_that_end_early() {
        let mut remaining = 3_600_000_000_000;
        let mut steps = 0;
        while remaining > DIRECT_WAIT_NS_MAX {
            let step = step_ns(remaining);
            assert!(step + step / 200 < remaining, "even 0.5 % of slack ends before the deadline");
            remaining -= step;
            steps += 1;
        }
        assert!(steps <= 4, "an hour takes {steps} wake-ups before the last");
    }
}
