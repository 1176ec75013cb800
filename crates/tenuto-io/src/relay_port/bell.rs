//! Waking a thread that may sleep, at the cost of a call of the kernel only if it does.

use crate::sys::socket::event_counter;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// One thread waits, others ring.
///
/// Who waits calls [`Bell::expect`], looks once more for what it waits for, and sleeps only if
/// there is none. Who has put something there rings afterwards. Of the two, at least one sees what
/// the other did before.
pub(super) struct Bell {
    counter: File,
    /// Somebody may sleep.
    is_expected: AtomicBool,
    /// The counter may be above zero.
    is_rung: AtomicBool,
}

impl Bell {
    pub(super) fn new() -> io::Result<Self> {
        let counter = File::from(event_counter()?);
        let (is_expected, is_rung) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(Self { counter, is_expected, is_rung })
    }

    /// Readable once it was rung, until it is hushed.
    pub(super) fn fd(&self) -> RawFd {
        self.counter.as_raw_fd()
    }

    /// From now on the next ring is heard.
    pub(super) fn expect(&self) {
        self.is_expected.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Wakes who sleeps, if that is expected.
    pub(super) fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.is_expected.load(Ordering::Relaxed)
            && self.is_expected.swap(false, Ordering::Relaxed)
        {
            self.is_rung.store(true, Ordering::Release);
            // Full would mean rung 2^64 times.
            let _ = (&self.counter).write(&1_u64.to_ne_bytes());
        }
    }

    /// Awake again: nothing more is to be heard.
    pub(super) fn hush(&self) {
        if self.is_expected.load(Ordering::Relaxed) {
            self.is_expected.store(false, Ordering::Relaxed);
        }
        if self.is_rung.load(Ordering::Acquire)
            && self.is_rung.swap(false, Ordering::Acquire)
            && (&self.counter).read(&mut [0; 8]).is_err()
        {
            // The other thread is between its two steps: it is for the next time.
            self.is_rung.store(true, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interest, PollSet};
    use tenuto_units::Instant;

    #[test]
    fn it_is_heard_only_by_who_expects_it() {
        let bell = Bell::new().expect("a descriptor");
        let mut set = PollSet::new();
        let key = set.add(bell.fd(), Interest::Read);
        let mut heard = || {
            set.wait(Some(Instant::ZERO)).expect("poll");
            set.readiness(key).readable
        };
        bell.ring();
        assert!(!heard(), "nobody sleeps");
        bell.expect();
        assert!(!heard());
        bell.ring();
        bell.ring();
        assert!(heard());
        bell.hush();
        bell.ring();
        assert!(!heard(), "awake again");
    }
}
