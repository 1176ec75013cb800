//! Time-outs of entries (OpenFlow 1.3.5, section 5.5).
//!
//! Frames write when an entry was last used and nothing else. The timer stands at the earliest
//! instant at which some entry may have to go; an entry that was used since is put back to when it
//! may have to go then.

use super::{EntryAge, Removed};
use crate::Effects;
use crate::switch::control::connection::Asynchronous;
use crate::switch::{Entry, Switch, SwitchEvent};
use std::collections::{BTreeMap, BTreeSet};
use tenuto_openflow::constants::flow_flag;
use tenuto_openflow::{Body, FlowRemoved, FlowRemovedReason};
use tenuto_units::{Instant, Span};

/// Level, table and slot of an entry.
type Place = (u8, u8, u32);

/// When entries may have to go: in order of time, and by place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::switch) struct Expiry {
    due: BTreeSet<(Instant, Place)>,
    armed: BTreeMap<Place, Instant>,
    /// When it goes on, if more were due than are handled at once.
    rests_until: Option<Instant>,
}

/// Frames and other timers have their turn for so long, while more entries have to go.
const REST: Span = Span::from_us(20);

/// When an entry goes if no frame matches it any more, and why.
fn end(entry: &Entry, age: EntryAge) -> Option<(Instant, FlowRemovedReason)> {
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

    fn arm(&mut self, place: Place, at: Instant) {
        self.disarm(place);
        self.armed.insert(place, at);
        self.due.insert((at, place));
    }

    fn disarm(&mut self, place: Place) {
        if let Some(at) = self.armed.remove(&place) {
            self.due.remove(&(at, place));
        }
    }

    fn pop(&mut self, now: Instant) -> Option<Place> {
        let (_, place) = self.due.first().filter(|(at, _)| *at <= now).copied()?;
        self.disarm(place);
        Some(place)
    }
}

impl Switch {
    /// Watches an entry that was just added, in place of what was in its slot.
    pub(in crate::switch) fn arm(&mut self, level: u8, table: u8, slot: u32) {
        let Some(general) = &mut self.general else { return };
        let Some(state) = self.tables.get(level, table) else { return };
        match end(state.table().entry(slot), state.age(slot)) {
            Some((at, _)) => general.expiry.arm((level, table, slot), at),
            None => general.expiry.disarm((level, table, slot)),
        }
    }

    /// Forgets an entry that is gone.
    pub(in crate::switch) fn disarm(&mut self, level: u8, table: u8, slot: u32) {
        if let Some(general) = &mut self.general {
            general.expiry.disarm((level, table, slot));
        }
    }

    /// Removes the entries whose time has come, some at a time where that is limited: those that
    /// came together may go together.
    pub(in crate::switch) fn expire(&mut self, now: Instant, fx: &mut Effects<SwitchEvent>) {
        let limit = self.policy.entries_at_once;
        let mut left = limit.unwrap_or(u32::MAX);
        while let Some(general) = &mut self.general {
            general.expiry.rests_until = None;
            if left == 0 && general.expiry.deadline().is_some_and(|at| at <= now) {
                general.expiry.rests_until = Some(now + REST);
                return;
            }
            let Some((level, table, slot)) = general.expiry.pop(now) else { return };
            left = left.saturating_sub(u32::from(limit.is_some()));
            let Some(state) = self.tables.get(level, table) else { continue };
            // A change of levels takes tables away with all that was in them.
            let Some(entry) = state.table().get(slot) else { continue };
            match end(entry, state.age(slot)) {
                Some((at, reason)) if at <= now => {
                    let removed = self.tables.remove_slot(level, table, slot);
                    self.tell_removed(now, table, &removed, reason, fx);
                }
                Some((at, _)) => general.expiry.arm((level, table, slot), at),
                None => {}
            }
        }
    }

    /// Says that an entry is gone, if it was to be said.
    pub(in crate::switch) fn tell_removed(
        &self,
        now: Instant,
        table_id: u8,
        Removed { entry, counter, age, .. }: &Removed,
        reason: FlowRemovedReason,
        fx: &mut Effects<SwitchEvent>,
    ) {
        if entry.flags & flow_flag::SEND_FLOW_REM == 0 {
            return;
        }
        let (duration_sec, duration_nsec) = duration(now, age.since);
        let body = Body::FlowRemoved(FlowRemoved {
            cookie: entry.cookie,
            priority: entry.precedence,
            reason,
            table_id,
            duration_sec,
            duration_nsec,
            idle_timeout: entry.idle_timeout,
            hard_timeout: entry.hard_timeout,
            packet_count: counter.frames,
            byte_count: counter.bytes,
            match_: entry.matching.clone(),
        });
        self.notify(Asynchronous::FlowRemoved, reason.to_wire(), &body, fx);
    }
}

/// Seconds, and nanoseconds beyond them.
pub(in crate::switch) fn duration(now: Instant, since: Instant) -> (u32, u32) {
    const NS: u64 = 1_000_000_000;
    let ns = now.since(since).as_ns();
    let seconds = u32::try_from(ns / NS).unwrap_or(u32::MAX);
    (seconds, u32::try_from(ns % NS).unwrap_or(0))
}
