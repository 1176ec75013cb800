//! Time-outs of entries (OpenFlow 1.3.5, section 5.5).
//!
//! Frames write when an entry was last used and nothing else. The timer stands at the earliest
//! instant at which some entry may have to go; an entry that was used since is put back to when it
//! may have to go then.

use super::entry::Entry;
use super::usage::EntryAge;
use std::collections::{BTreeMap, BTreeSet};
use tenuto_openflow::FlowRemovedReason;
use tenuto_units::{Instant, Span};

/// Level, table and slot of an entry.
type Place = (u8, u8, u32);

/// When entries may have to go: in order of time, and by place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::switch) struct Expiry {
    due: BTreeSet<(Instant, Place)>,
    armed: BTreeMap<Place, Instant>,
    /// When it goes on, if more were due than are handled at once.
    pub(super) rests_until: Option<Instant>,
}

/// Frames and other timers have their turn for so long, while more entries have to go.
pub(super) const REST: Span = Span::from_us(20);

/// When an entry goes if no frame matches it any more, and why.
pub(super) fn end(entry: &Entry, age: EntryAge) -> Option<(Instant, FlowRemovedReason)> {
    let after =
        |at: Instant, seconds: u16| (seconds != 0).then(|| at + Span::from_s(u64::from(seconds)));
    let hard = after(age.since, entry.hard_timeout).map(|at| (at, FlowRemovedReason::HardTimeout));
    let idle = after(age.used, entry.idle_timeout).map(|at| (at, FlowRemovedReason::IdleTimeout));
    match (hard, idle) {
        (Some(hard), Some(idle)) => Some(if idle.0 < hard.0 { idle } else { hard }),
        (hard, idle) => hard.or(idle),
    }
}

impl Expiry {
    pub(in crate::switch) fn deadline(&self) -> Option<Instant> {
        let at = self.due.first().map(|(at, _)| *at)?;
        Some(self.rests_until.map_or(at, |rest| rest.max(at)))
    }

    pub(super) fn arm(&mut self, place: Place, at: Instant) {
        self.disarm(place);
        self.armed.insert(place, at);
        self.due.insert((at, place));
    }

    pub(super) fn disarm(&mut self, place: Place) {
        if let Some(at) = self.armed.remove(&place) {
            self.due.remove(&(at, place));
        }
    }

    pub(super) fn pop(&mut self, now: Instant) -> Option<Place> {
        let (_, place) = self.due.first().filter(|(at, _)| *at <= now).copied()?;
        self.disarm(place);
        Some(place)
    }
}

/// Seconds, and nanoseconds beyond them.
pub(in crate::switch) fn duration(now: Instant, since: Instant) -> (u32, u32) {
    const NS: u64 = 1_000_000_000;
    let ns = now.since(since).as_ns();
    let seconds = u32::try_from(ns / NS).unwrap_or(u32::MAX);
    (seconds, u32::try_from(ns % NS).unwrap_or(0))
}
