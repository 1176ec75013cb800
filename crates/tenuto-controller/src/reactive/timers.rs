//! Timers of an application, by name.

use std::collections::BTreeMap;
use tenuto_units::Instant;

/// Timers that run at once at most; one more is refused and reported.
pub const TIMERS_MAX: usize = 1_024;

/// Running timers and when they are due.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Timers {
    due: BTreeMap<String, Instant>,
}

/// What an answer does to a timer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TimerChange {
    Start(String, Instant),
    Stop(String),
}

impl Timers {
    pub(super) const fn new() -> Self {
        Self { due: BTreeMap::new() }
    }

    /// Whether there was room for it.
    pub(super) fn apply(&mut self, change: TimerChange) -> bool {
        match change {
            TimerChange::Start(name, at) => {
                if self.due.len() >= TIMERS_MAX && !self.due.contains_key(&name) {
                    return false;
                }
                self.due.insert(name, at);
            }
            TimerChange::Stop(name) => {
                self.due.remove(&name);
            }
        }
        true
    }

    pub(super) fn for_each(&self, mut visit: impl FnMut(&str, Instant)) {
        self.due.iter().for_each(|(name, at)| visit(name, *at));
    }

    /// Whether it was running.
    pub(super) fn take(&mut self, name: &str) -> bool {
        self.due.remove(name).is_some()
    }

    /// The earliest timer that is due.
    pub(super) fn earliest(&self) -> Option<(&str, Instant)> {
        let earliest = self.due.iter().min_by_key(|(_, at)| **at)?;
        Some((earliest.0, *earliest.1))
    }
}
