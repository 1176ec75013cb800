//! What one message asks of very many entries, a step at a time: frames get a turn in between.
//!
//! A dump of a hundred thousand entries, or their removal, takes as long as tens of thousands of
//! frames do. A switch that is told so (`GeneralConfig::entries_at_once`) notes such a message
//! down and carries it out when [`Switch::work_on`] is called, a few entries at each call.
//! Messages of the same connection wait behind it, a barrier among them; other connections go on
//! (OpenFlow 1.3.5, section 6.2). An entry that comes or goes meanwhile may or may not be met; one
//! that was there all the time is met once, as entries do not change their slots.

use super::flow_mods::{FlowChange, has_cookie, sends_to};
use super::group_stats::GroupReading;
use super::read_back::{add_up, entry_stats};
use super::{ConnectionId, Request};
use crate::Effects;
use crate::switch::entry::ActionStep;
use crate::switch::key::Pattern;
use crate::switch::tables::Scope;
use crate::switch::{Entry, Switch, SwitchEvent};
use std::sync::Arc;
use tenuto_openflow::constants::{group, meter, multipart_flag, table};
use tenuto_openflow::{
    AggregateStats, Body, FlowMod, FlowRemovedReason, FlowStatsRequest, GroupMod, Message,
    MeterMod, MultipartReply, ReplyBody,
};
use tenuto_units::Instant;

/// Slots that are looked at in a step, for each entry that something may be done about.
const SLOTS_LOOKED_AT: usize = 8;

/// Work under way for a connection.
#[derive(Clone, Debug)]
pub(in crate::switch) struct LongWork {
    xid: u32,
    pattern: Pattern,
    task: Task,
    /// Table and slot to go on at.
    at: (u8, u32),
    /// The last table.
    last: u8,
}

/// What is done about the entries.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// Told, each of them.
    Read(FlowStatsRequest),
    /// Told, their sum.
    Sum(FlowStatsRequest, AggregateStats),
    /// Removed.
    Remove(FlowMod),
    /// Changed.
    Change(FlowMod, FlowChange),
    /// Removed with the meters or groups that they use.
    Delete(Deletion),
    /// Not entries but groups, told: they may have as many buckets.
    Groups(GroupReading),
}

/// Meters or groups that go, and with them the entries that use them.
#[derive(Clone, Debug)]
pub(super) enum Deletion {
    Meters(MeterMod),
    Groups(GroupMod),
}

impl Deletion {
    fn concerns(&self, entry: &Entry) -> bool {
        let is_it = |wanted: u32, all: u32, id: u32| wanted == all || wanted == id;
        match self {
            Self::Meters(it) => {
                entry.behaviour.meter.is_some_and(|id| is_it(it.meter_id, meter::ALL, id))
            }
            Self::Groups(it) => entry.has_step(
                |step| matches!(*step, ActionStep::Group(id) if is_it(it.group_id, group::ALL, id)),
            ),
        }
    }

    const fn reason(&self) -> FlowRemovedReason {
        match self {
            Self::Meters(_) => FlowRemovedReason::Delete,
            Self::Groups(_) => FlowRemovedReason::GroupDelete,
        }
    }

    /// The request that it was.
    fn body(&self) -> Body {
        match self {
            Self::Meters(it) => Body::MeterMod(it.clone()),
            Self::Groups(it) => Body::GroupMod(it.clone()),
        }
    }
}

impl Task {
    fn table(&self) -> u8 {
        match self {
            Self::Read(request) | Self::Sum(request, _) => request.table_id,
            Self::Remove(flow_mod) | Self::Change(flow_mod, _) => flow_mod.table_id,
            Self::Delete(_) | Self::Groups(_) => table::ALL,
        }
    }

    fn concerns(&self, entry: &Entry) -> bool {
        match self {
            Self::Read(request) | Self::Sum(request, _) => is_asked_for(entry, request),
            Self::Remove(flow_mod) => {
                has_cookie(entry, flow_mod)
                    && sends_to(entry, flow_mod.out_port, flow_mod.out_group)
            }
            Self::Change(flow_mod, _) => has_cookie(entry, flow_mod),
            Self::Delete(deletion) => deletion.concerns(entry),
            Self::Groups(_) => false,
        }
    }
}

/// Whether a request for statistics asks for an entry, its match left aside.
pub(super) fn is_asked_for(entry: &Entry, request: &FlowStatsRequest) -> bool {
    entry.cookie & request.cookie_mask == request.cookie & request.cookie_mask
        && sends_to(entry, request.out_port, request.out_group)
}

impl Switch {
    /// Connections for which work is under way, those that are gone among them. Nothing that one of
    /// them sends is carried out before [`Switch::work_on`] has finished it.
    pub fn at_work(&self) -> impl Iterator<Item = ConnectionId> {
        self.general.iter().flat_map(|general| general.works.keys().copied())
    }

    /// Goes a step on with what is under way for a connection.
    pub fn work_on(&mut self, id: ConnectionId, now: Instant, fx: &mut Effects<SwitchEvent>) {
        let work = self.general.as_mut().and_then(|general| general.works.remove(&id));
        let Some(mut work) = work else { return };
        let request = Request { now, connection: id, xid: work.xid };
        let is_done = if let Task::Groups(reading) = &mut work.task {
            self.tell_groups(request, reading, fx)
        } else {
            let slots = self.look_on(&mut work);
            let is_last = work.at.0 > work.last;
            self.handle_found(request, &mut work.task, &slots, is_last, fx) && is_last
        };
        self.settle();
        if let Some(general) = self.general.as_mut().filter(|_| !is_done) {
            general.works.insert(id, work);
        }
    }

    /// Finishes what is under way for a connection.
    pub(super) fn finish_work(
        &mut self,
        id: ConnectionId,
        now: Instant,
        fx: &mut Effects<SwitchEvent>,
    ) {
        while self.at_work().any(|other| other == id) {
            self.work_on(id, now, fx);
        }
    }

    /// Tells nobody who is gone. What a connection has asked to be changed is changed all the same.
    pub(in crate::switch) fn forget_readers(&mut self) {
        let Some(general) = &mut self.general else { return };
        let is_there = |id| self.connections.iter().any(|connection| connection.id == id);
        general.works.retain(|&id, work| {
            is_there(id) || !matches!(work.task, Task::Read(_) | Task::Sum(..) | Task::Groups(_))
        });
    }

    /// Notes the task down if it may be about more entries than are handled at once; gives it back
    /// if it is to be carried out now.
    pub(super) fn put_off(
        &mut self,
        request: Request,
        pattern: &Pattern,
        task: Task,
    ) -> Option<Task> {
        let limit = self.config.general.as_ref().and_then(|general| general.entries_at_once);
        let (Some(limit), Some(general)) = (limit, &mut self.general) else { return Some(task) };
        let (first, last) = match task.table() {
            table::ALL => (0, self.config.tables - 1),
            id => (id, id),
        };
        let within =
            |id| self.tables.get(0, id).map_or(0, |state| state.table().count_within(pattern));
        if (first..=last).map(within).sum::<usize>() <= limit as usize {
            return Some(task);
        }
        let work = LongWork { xid: request.xid, pattern: *pattern, task, at: (first, 0), last };
        general.works.insert(request.connection, work);
        None
    }

    /// Notes a task down that may concern every entry; gives it back where nothing is done in steps.
    pub(super) fn note_down(&mut self, request: Request, task: Task) -> Option<Task> {
        let is_limited = self.config.general.as_ref().is_some_and(|g| g.entries_at_once.is_some());
        let Some(general) = self.general.as_mut().filter(|_| is_limited) else { return Some(task) };
        let (xid, pattern, last) = (request.xid, Pattern::default(), self.config.tables - 1);
        let work = LongWork { xid, pattern, task, at: (0, 0), last };
        general.works.insert(request.connection, work);
        None
    }

    /// The next entries, by table and slot, that something is to be done about.
    fn look_on(&self, work: &mut LongWork) -> Vec<(u8, u32)> {
        let general = self.config.general.as_ref();
        let limit = general.and_then(|general| general.entries_at_once).unwrap_or(1) as usize;
        let mut found = Vec::with_capacity(limit);
        for _ in 0..limit * SLOTS_LOOKED_AT {
            let (id, slot) = work.at;
            if id > work.last || found.len() == limit {
                break;
            }
            let table = self.tables.get(0, id).map(|state| state.table());
            let Some(table) = table.filter(|table| (slot as usize) < table.slots()) else {
                work.at = (id + 1, 0);
                continue;
            };
            work.at = (id, slot + 1);
            let is_met =
                |entry: &Entry| entry.pattern.is_within(&work.pattern) && work.task.concerns(entry);
            if table.get(slot).is_some_and(is_met) {
                found.push((id, slot));
            }
        }
        found
    }

    /// Does something about the entries that were found; false if, though they are the last, there is
    /// more to do.
    fn handle_found(
        &mut self,
        request: Request,
        task: &mut Task,
        slots: &[(u8, u32)],
        is_done: bool,
        fx: &mut Effects<SwitchEvent>,
    ) -> bool {
        let now = request.now;
        match task {
            Task::Read(_) => {
                let tables = slots.iter().filter_map(|&(id, slot)| {
                    let state = self.tables.get(0, id)?;
                    Some(entry_stats(id, state, slot, self.shown_age(now, state, slot)))
                });
                let flags = if is_done { 0 } else { multipart_flag::MORE };
                let body = ReplyBody::Flow(tables.collect());
                for part in (MultipartReply { flags, body }).split() {
                    self.answer(request, Body::MultipartReply(part), fx);
                }
            }
            Task::Sum(_, sum) => {
                for &(id, slot) in slots {
                    if let Some(state) = self.tables.get(0, id) {
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
                    let removed = [self.tables.remove_slot(0, id, slot)];
                    self.forget(now, (0, id), &removed, FlowRemovedReason::Delete, fx);
                }
            }
            Task::Delete(deletion) => {
                for &(id, slot) in slots {
                    let removed = [self.tables.remove_slot(0, id, slot)];
                    self.forget(now, (0, id), &removed, deletion.reason(), fx);
                }
                if !is_done || !self.drops_groups(deletion) {
                    return false;
                }
                if let Err(code) = self.finish_deletion(now, deletion, fx) {
                    // Meanwhile another controller has made a group that leads to this one.
                    let message = Message { xid: request.xid, body: deletion.body() };
                    self.answer_error(request, code, &message, fx);
                }
            }
            Task::Groups(_) => {}
            Task::Change(_, change) => {
                for &(id, slot) in slots {
                    let Some(state) = self.tables.get(0, id) else { continue };
                    let Entry { pattern, precedence, .. } = *state.table().entry(slot);
                    let scope = Scope::Exact(&pattern, precedence);
                    self.tables.modify((0, id), scope, |_| true, |e| change.apply(e), change.reset);
                }
            }
        }
        true
    }

    /// Drops some groups where all are to go; whether none is left of those.
    fn drops_groups(&mut self, deletion: &Deletion) -> bool {
        let Deletion::Groups(GroupMod { group_id: group::ALL, .. }) = deletion else { return true };
        let limit = self.config.general.as_ref().and_then(|general| general.entries_at_once);
        let (groups, mut last, mut cost) = (Arc::make_mut(&mut self.groups), None, 0);
        while limit.is_none_or(|limit| cost < limit as usize)
            && let Some((id, state)) = groups.pop_first()
        {
            last = Some(id);
            cost += 1 + state.buckets.len();
        }
        if let (Some(general), Some(last)) = (&mut self.general, last) {
            general.groups.forget_through(last);
        }
        self.tables.touch();
        self.tables.forget_tracks();
        groups.is_empty()
    }
}
