//! What one message asks of very many entries, a step at a time: frames get a turn in between.
//!
//! A dump of a hundred thousand entries, or their removal, takes as long as tens of thousands of
//! frames do. A switch that is told so (`GeneralConfig::entries_at_once`) notes such a message
//! down and carries it out when [`Switch::work_on`] is called, a few entries at each call.
//! Messages of the same connection wait behind it, a barrier among them; other connections go on
//! (OpenFlow 1.3.5, section 6.2). An entry that comes or goes meanwhile may or may not be met; one
//! that was there all the time is met once, as entries do not change their slots.

use super::read_back::{add_up, entry_stats};
use super::task::{Deletion, FlowChange, LongWork, Task, overlap};
use super::{ConnectionId, Done, Request};
use crate::switch::classifier::key::Pattern;
use crate::switch::path_cache::invalidation::Change;
use crate::switch::tables::Scope;
use crate::switch::{Entry, Switch, SwitchEvent};
use crate::{Effects, Frames};
use std::sync::Arc;
use tenuto_openflow::constants::{group, multipart_flag, table};
use tenuto_openflow::{
    Body, Experimenter, FlowModFailed, FlowRemovedReason, FlowStats, GroupMod, Message,
    ModesMessage, MultipartReply, ReplyBody,
};
use tenuto_units::Instant;

/// Slots that are looked at in a step, for each entry that something may be done about.
pub(super) const SLOTS_LOOKED_AT: usize = 8;

impl Switch {
    /// Connections for which work is under way, those that are gone among them. Nothing that one of
    /// them sends is carried out before [`Switch::work_on`] has finished it.
    pub fn at_work(&self) -> impl Iterator<Item = ConnectionId> {
        self.general.iter().flat_map(|general| general.works.keys().copied())
    }

    /// Goes a step on with what is under way for a connection.
    pub fn work_on(
        &mut self,
        id: ConnectionId,
        now: Instant,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let work = self.general.as_mut().and_then(|general| general.works.remove(&id));
        let Some(mut work) = work else { return };
        let request = Request { now, connection: id, xid: work.xid };
        let is_done = match &mut work.task {
            Task::Groups(reading) => self.tell_groups(request, reading, fx),
            Task::Meters(reading) => self.tell_meters(request, reading, fx),
            Task::Delete(deletion) => self.delete_on(request, deletion, fx),
            Task::Withdraw(sweep) => self.withdraw_on(request, sweep, fx),
            Task::Levels(change) => self.change_levels_on(now, change, frames, fx),
            _ => {
                let slots = self.look_on(&mut work);
                let is_last = work.at.0 > work.last;
                let done = match work.meets {
                    true => Err(FlowModFailed::Overlap.into()),
                    false => {
                        self.handle_found(request, work.level, &mut work.task, &slots, is_last, fx)
                    }
                };
                match done {
                    Ok(()) => is_last,
                    Err(code) => {
                        self.answer_error(request, code, &work.message(), fx);
                        true
                    }
                }
            }
        };
        if let Some(general) = self.general.as_mut().filter(|_| !is_done) {
            general.works.insert(id, work);
        }
    }

    /// Finishes what is under way for a connection.
    pub(super) fn finish_work(
        &mut self,
        id: ConnectionId,
        now: Instant,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        while self.at_work().any(|other| other == id) {
            self.work_on(id, now, frames, fx);
        }
    }

    /// Tells nobody who is gone. What a connection has asked to be changed is changed all the same.
    pub(in crate::switch) fn forget_readers(&mut self) {
        let Some(general) = &mut self.general else { return };
        let is_there = |id| self.connections.iter().any(|connection| connection.id == id);
        general.works.retain(|&id, work| {
            is_there(id)
                || !matches!(
                    work.task,
                    Task::Read(_) | Task::Sum(..) | Task::Groups(_) | Task::Meters(_)
                )
        });
    }

    /// Notes the task down if it may be about more entries than are handled at once; gives it back
    /// if it is to be carried out now.
    pub(super) fn put_off(
        &mut self,
        request: Request,
        level: u8,
        pattern: &Pattern,
        task: Task,
    ) -> Option<Task> {
        let Some(limit) = self.policy.entries_at_once else { return Some(task) };
        let (first, last) = match task.table() {
            table::ALL => (0, self.config.tables - 1),
            id => (id, id),
        };
        let many = |id: u8| self.count_looked_at(level, id, pattern, &task);
        if (first..=last).map(many).sum::<usize>() <= limit as usize {
            return Some(task);
        }
        let (xid, pattern) = (request.xid, *pattern);
        let work = LongWork { xid, level, pattern, task, at: (first, 0), last, meets: false };
        if let Some(general) = &mut self.general {
            general.works.insert(request.connection, work);
        }
        None
    }

    /// Entries of a table that have to be looked at, if it is more than a few.
    fn count_looked_at(&self, level: u8, table: u8, pattern: &Pattern, task: &Task) -> usize {
        self.tables.get(level, table).map_or(0, |state| match task {
            Task::Add(_, new) => state.table().count_rivals(&new.pattern, new.precedence),
            _ => state.table().count_within(pattern),
        })
    }

    /// Tells entries that wait to be added, behind a search for others that overlap, of one that
    /// comes now and may stand where they have looked already.
    pub(super) fn tell_waiting(&mut self, (level, table): (u8, u8), entry: &Entry) {
        let works = self.general.iter_mut().flat_map(|general| general.works.values_mut());
        for work in works.filter(|work| work.level == level) {
            if let Task::Add(flow_mod, new) = &work.task
                && flow_mod.table_id == table
                && overlap(new, entry)
            {
                work.meets = true;
            }
        }
    }

    /// Notes a task down that may concern every entry; gives it back where nothing is done in steps.
    pub(super) fn note_down(&mut self, request: Request, task: Task) -> Option<Task> {
        let is_limited = self.policy.entries_at_once.is_some();
        let Some(general) = self.general.as_mut().filter(|_| is_limited) else { return Some(task) };
        let (xid, pattern, last) = (request.xid, Pattern::default(), self.config.tables - 1);
        let work = LongWork { xid, level: 0, pattern, task, at: (0, 0), last, meets: false };
        general.works.insert(request.connection, work);
        None
    }

    /// The next entries, by table and slot, that something is to be done about.
    fn look_on(&self, work: &mut LongWork) -> Vec<(u8, u32)> {
        let limit = self.entries_at_once().unwrap_or(1);
        let mut found = Vec::with_capacity(limit);
        for _ in 0..limit * SLOTS_LOOKED_AT {
            let (id, slot) = work.at;
            if id > work.last || found.len() == limit {
                break;
            }
            let table = self.tables.get(work.level, id).map(|state| state.table());
            let Some(table) = table.filter(|table| (slot as usize) < table.slots()) else {
                work.at = (id + 1, 0);
                continue;
            };
            work.at = (id, slot + 1);
            let is_met = |entry: &Entry| match work.task {
                Task::Add(..) => work.task.concerns(entry),
                _ => entry.pattern.is_within(&work.pattern) && work.task.concerns(entry),
            };
            if table.get(slot).is_some_and(is_met) {
                found.push((id, slot));
            }
        }
        found
    }

    /// Does something about the entries that were found.
    fn handle_found(
        &mut self,
        request: Request,
        level: u8,
        task: &mut Task,
        slots: &[(u8, u32)],
        is_done: bool,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        let now = request.now;
        match task {
            Task::Read(_) => {
                let stats = slots.iter().filter_map(|&(id, slot)| {
                    let state = self.tables.get(level, id)?;
                    Some(entry_stats(id, state, slot, self.shown_age(now, state, slot)))
                });
                let stats = stats.collect();
                self.tell_entries(request, level, stats, is_done, fx);
            }
            Task::Sum(_, sum) => {
                for &(id, slot) in slots {
                    if let Some(state) = self.tables.get(level, id) {
                        add_up(sum, state.counter(slot));
                    }
                }
                if is_done {
                    let reply = MultipartReply { flags: 0, body: ReplyBody::Aggregate(*sum) };
                    self.answer(request, Body::MultipartReply(reply), fx);
                }
            }
            Task::Remove(_) => {
                for &(id, slot) in slots {
                    let removed = [self.tables.remove_slot(level, id, slot)];
                    self.forget(now, (level, id), &removed, FlowRemovedReason::Delete, fx);
                }
            }
            Task::Change(_, change) => self.change_found(level, slots, change)?,
            Task::Add(..) if !slots.is_empty() => return Err(FlowModFailed::Overlap.into()),
            Task::Add(flow_mod, entry) if is_done => {
                // What it refers to may have gone meanwhile.
                let behaviour = self.checked_behaviour(flow_mod)?;
                let entry = Entry { behaviour, ..(**entry).clone() };
                self.add_entry(now, (level, flow_mod.table_id), entry)?;
            }
            Task::Add(..)
            | Task::Delete(_)
            | Task::Groups(_)
            | Task::Meters(_)
            | Task::Withdraw(_)
            | Task::Levels(_) => {}
        }
        Ok(())
    }

    fn change_found(&mut self, level: u8, slots: &[(u8, u32)], change: &FlowChange) -> Done {
        for &(id, slot) in slots {
            let Some(state) = self.tables.get(level, id) else { continue };
            let Entry { pattern, precedence, .. } = *state.table().entry(slot);
            let scope = Scope::Exact(&pattern, precedence);
            self.change_entries((level, id), scope, |_| true, change)?;
        }
        Ok(())
    }

    /// Tells entries, or some of them.
    fn tell_entries(
        &self,
        request: Request,
        level: u8,
        stats: Vec<FlowStats>,
        is_done: bool,
        fx: &mut Effects<SwitchEvent>,
    ) {
        if level > 0 {
            for mut reply in ModesMessage::shadow_stats_replies(level, stats) {
                if let ModesMessage::ShadowStatsReply { more, .. } = &mut reply {
                    *more |= !is_done;
                }
                self.answer(request, Body::Experimenter(Experimenter::Modes(reply)), fx);
            }
            return;
        }
        let flags = if is_done { 0 } else { multipart_flag::MORE };
        for part in (MultipartReply { flags, body: ReplyBody::Flow(stats) }).split() {
            self.answer(request, Body::MultipartReply(part), fx);
        }
    }

    /// Goes a step on with a deletion; true if it is done.
    fn delete_on(
        &mut self,
        request: Request,
        deletion: &Deletion,
        fx: &mut Effects<SwitchEvent>,
    ) -> bool {
        let limit = self.entries_at_once().unwrap_or(usize::MAX);
        if self.remove_users(request.now, deletion, limit, fx) == limit {
            return false;
        }
        if !self.drops_groups(deletion) {
            return false;
        }
        if let Err(code) = self.finish_deletion(request.now, deletion, fx) {
            // Meanwhile another controller has made a group that leads to this one.
            let message = Message { xid: request.xid, body: deletion.body() };
            self.answer_error(request, code, &message, fx);
        }
        true
    }

    /// Entries that one message touches before frames get a turn.
    pub(super) fn entries_at_once(&self) -> Option<usize> {
        self.policy.entries_at_once.map(|limit| limit as usize)
    }

    /// Drops some groups where all are to go; whether none is left of those.
    fn drops_groups(&mut self, deletion: &Deletion) -> bool {
        let Deletion::Groups(GroupMod { group_id: group::ALL, .. }) = deletion else { return true };
        let limit = self.entries_at_once();
        let (groups, mut last, mut cost) = (Arc::make_mut(&mut self.groups), None, 0);
        while limit.is_none_or(|limit| cost < limit)
            && let Some((id, state)) = groups.pop_first()
        {
            last = Some(id);
            cost += 1 + state.buckets.len();
        }
        if let (Some(general), Some(last)) = (&mut self.general, last) {
            general.groups.forget_through(last);
        }
        self.tables.invalidate_paths(Change::Any);
        groups.is_empty()
    }
}
