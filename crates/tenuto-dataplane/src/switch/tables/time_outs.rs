//! Entries go when their time-outs end, and controllers hear of it (OpenFlow 1.3.5, section 5.5).

use super::Removed;
use super::expiry::{REST, duration, end};
use crate::Effects;
use crate::switch::control::connection::Asynchronous;
use crate::switch::{Switch, SwitchEvent};
use tenuto_openflow::constants::flow_flag;
use tenuto_openflow::{Body, FlowRemoved, FlowRemovedReason};
use tenuto_units::Instant;

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
