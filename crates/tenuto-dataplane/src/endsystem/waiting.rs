//! Who waits for something, in order of deadline.

use super::window::PLACES;
use std::collections::VecDeque;
use tenuto_units::Instant;

/// One who waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    pub(super) deadline: Instant,
    /// Place in the window.
    pub(super) place: usize,
    pub(super) message_id: u32,
}

/// Waiters in order of entry. All wait equally long, so that is the order of deadlines but for
/// ports whose arrivals are not in order with one another: one behind a later deadline is woken
/// with it.
///
/// Who need not wait any more stays until it is in front; a window has no more waiters than twice
/// its places, because the rest have been pushed out.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    queue: VecDeque<Waiter>,
}

impl Waiting {
    const LEN_MAX: usize = 2 * PLACES;

    pub(super) fn new() -> Self {
        Self { queue: VecDeque::with_capacity(Self::LEN_MAX) }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.queue.front().map(|w| w.deadline)
    }

    /// Adds one; if the queue is full, the one in front that has to leave.
    pub(super) fn push(&mut self, waiter: Waiter) -> Option<Waiter> {
        let front = if self.queue.len() >= Self::LEN_MAX { self.queue.pop_front() } else { None };
        self.queue.push_back(waiter);
        front
    }

    /// Removes those in front that need not wait any more.
    pub(super) fn settle(&mut self, waits: impl Fn(&Waiter) -> bool) {
        while self.queue.pop_front_if(|w| !waits(w)).is_some() {}
    }

    /// Removes the one in front if its time is over.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<Waiter> {
        self.queue.pop_front_if(|w| w.deadline <= now)
    }
}
