//! What one message asks of many entries, groups or meters, and how far that is done.

use crate::switch::classifier::key::Pattern;
use crate::switch::mode::ModeConfig;
use crate::switch::tables::entry::{ActionStep, Behaviour, Entry};
use crate::switch::tables::users::User;
use std::ops::{Range, RangeInclusive};
use tenuto_openflow::constants::{flow_flag, group, meter, port, table};
use tenuto_openflow::{
    AggregateStats, Body, Experimenter, FlowMod, FlowRemovedReason, FlowStatsRequest, GroupMod,
    Instruction, Message, MeterMod, ModesMessage, MonitorMod, Version,
};

/// Work under way for a connection.
#[derive(Clone, Debug)]
pub(in crate::switch) struct LongWork {
    pub(super) xid: u32,
    /// Level of the entries.
    pub(super) level: u8,
    pub(super) pattern: Pattern,
    pub(super) task: Task,
    /// Table and slot to go on at.
    pub(super) at: (u8, u32),
    /// The last table.
    pub(super) last: u8,
    /// Whether an entry has come meanwhile that it is about.
    pub(super) meets: bool,
}

impl LongWork {
    /// Whether it empties tables that have left the pipeline.
    pub(super) const fn is_withdrawal(&self) -> bool {
        matches!(self.task, Task::Withdraw(_))
    }

    /// The request that it was, as far as errors tell it.
    pub(super) fn message(&self) -> Message {
        let body = match &self.task {
            Task::Change(flow_mod, _) | Task::Add(flow_mod, _) => Body::FlowMod(flow_mod.clone()),
            _ => Body::BarrierRequest,
        };
        Message { xid: self.xid, body }
    }
}

/// Whether two entries of one precedence, but of different patterns, match some of the same frames.
pub(super) fn overlap(one: &Entry, other: &Entry) -> bool {
    one.precedence == other.precedence
        && one.pattern != other.pattern
        && one.pattern.overlaps(&other.pattern)
}

/// What is done about the entries.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// Told, each of them; those of a level above the lowest by our own message.
    Read(FlowStatsRequest),
    /// Told, their sum.
    Sum(FlowStatsRequest, AggregateStats),
    /// Removed.
    Remove(FlowMod),
    /// Changed.
    Change(FlowMod, FlowChange),
    /// Compared with one that is to be added to a table if none overlaps it.
    Add(FlowMod, Box<Entry>),
    /// Removed with what they use.
    Delete(Deletion),
    /// Not entries but groups, told: they may have as many buckets.
    Groups(GroupReading),
    /// Meters, told.
    Meters(MeterReading),
    /// Entries of tables that have left the pipeline: gone, and nobody is told.
    Withdraw(Sweep),
    /// Entries of levels that go, removed, and the others noted; then there are so many levels.
    Levels(Box<LevelChange>),
}

/// Meters, groups or a monitor that go, and with them the entries that use them.
#[derive(Clone, Debug)]
pub(super) enum Deletion {
    Meters(MeterMod),
    Groups(GroupMod),
    Monitor(MonitorMod),
}

impl Deletion {
    /// What goes.
    pub(super) fn used(&self) -> RangeInclusive<User> {
        let of = |kind: fn(u32) -> User, id: u32, is_all: bool| match is_all {
            true => kind(0)..=kind(u32::MAX),
            false => kind(id)..=kind(id),
        };
        match self {
            Self::Meters(it) => of(User::Meter, it.meter_id, it.meter_id == meter::ALL),
            Self::Groups(it) => of(User::Group, it.group_id, it.group_id == group::ALL),
            Self::Monitor(it) => of(User::Monitor, it.monitor_id, false),
        }
    }

    pub(super) const fn reason(&self) -> FlowRemovedReason {
        match self {
            Self::Meters(_) | Self::Monitor(_) => FlowRemovedReason::Delete,
            Self::Groups(_) => FlowRemovedReason::GroupDelete,
        }
    }

    /// The request that it was.
    pub(super) fn body(&self) -> Body {
        match self {
            Self::Meters(it) => Body::MeterMod(it.clone()),
            Self::Groups(it) => Body::GroupMod(it.clone()),
            Self::Monitor(it) => {
                Body::Experimenter(Experimenter::Modes(ModesMessage::MonitorMod(it.clone())))
            }
        }
    }
}

impl Task {
    pub(super) fn table(&self) -> u8 {
        match self {
            Self::Read(request) | Self::Sum(request, _) => request.table_id,
            Self::Remove(flow_mod) | Self::Change(flow_mod, _) | Self::Add(flow_mod, _) => {
                flow_mod.table_id
            }
            Self::Delete(_)
            | Self::Groups(_)
            | Self::Meters(_)
            | Self::Withdraw(_)
            | Self::Levels(_) => table::ALL,
        }
    }

    pub(super) fn concerns(&self, entry: &Entry) -> bool {
        match self {
            Self::Read(request) | Self::Sum(request, _) => is_asked_for(entry, request),
            Self::Remove(flow_mod) => {
                has_cookie(entry, flow_mod)
                    && sends_to(entry, flow_mod.out_port, flow_mod.out_group)
            }
            Self::Change(flow_mod, _) => has_cookie(entry, flow_mod),
            Self::Add(_, new) => overlap(new, entry),
            Self::Delete(_)
            | Self::Groups(_)
            | Self::Meters(_)
            | Self::Withdraw(_)
            | Self::Levels(_) => false,
        }
    }
}

/// Whether a request for statistics asks for an entry, its match left aside.
pub(super) fn is_asked_for(entry: &Entry, request: &FlowStatsRequest) -> bool {
    entry.cookie & request.cookie_mask == request.cookie & request.cookie_mask
        && sends_to(entry, request.out_port, request.out_group)
}

/// What a modify changes of an entry.
#[derive(Clone, Debug)]
pub(super) struct FlowChange {
    pub(super) behaviour: Behaviour,
    pub(super) instructions: Vec<Instruction>,
    pub(super) version: Option<Version>,
    /// Whether its counters begin again.
    pub(super) reset: bool,
}

impl FlowChange {
    pub(super) fn of(flow_mod: &FlowMod, behaviour: Behaviour, version: Option<Version>) -> Self {
        let (instructions, reset) =
            (flow_mod.instructions.clone(), flow_mod.flags & flow_flag::RESET_COUNTS != 0);
        Self { behaviour, instructions, version, reset }
    }

    pub(super) fn apply(&self, entry: &mut Entry) {
        entry.behaviour.clone_from(&self.behaviour);
        entry.instructions.clone_from(&self.instructions);
        entry.version = self.version.or(entry.version);
    }
}

/// A reading of groups: what is told, and where it goes on.
#[derive(Clone, Debug)]
pub(super) struct GroupReading {
    /// The group whose statistics are asked for, or all; none where groups themselves are told.
    pub(super) counted: Option<u32>,
    /// The next group; none when all have been told.
    pub(super) next: Option<u32>,
}

/// A reading of meters: what is told, and which are still to be looked at.
#[derive(Clone, Debug)]
pub(super) struct MeterReading {
    /// Whether what they have counted is told, rather than what they are.
    pub(super) is_counted: bool,
    /// Numbers of meters.
    pub(super) left: Range<u32>,
    /// Whether the virtual meter of the controllers comes behind them.
    pub(super) is_virtual_told: bool,
}

/// Where a sweep goes on.
#[derive(Clone, Debug, Default)]
pub(super) struct Sweep {
    pub(super) level: u8,
    pub(super) table: u8,
    pub(super) slot: u32,
}

impl Sweep {
    pub(super) const fn next_table(&mut self, tables: u8) {
        (self.table, self.slot) = (self.table + 1, 0);
        if self.table >= tables {
            (self.level, self.table) = (self.level + 1, 0);
        }
    }
}

/// Modes that are to be, once the entries of levels that go are gone, and those of the lowest noted.
#[derive(Clone, Debug)]
pub(super) struct LevelChange {
    pub(super) config: ModeConfig,
    pub(super) sweep: Sweep,
}

/// Whether a modify or delete touches an entry with its cookie (OpenFlow 1.3.5, section 6.4).
pub(super) const fn has_cookie(entry: &Entry, flow_mod: &FlowMod) -> bool {
    entry.cookie & flow_mod.cookie_mask == flow_mod.cookie & flow_mod.cookie_mask
}

/// Whether an entry passes the conditions on its outputs that a delete or a request may make.
pub(super) fn sends_to(entry: &Entry, out_port: u32, out_group: u32) -> bool {
    let leaves_by = |step: &ActionStep| match *step {
        ActionStep::Output(port) => port == out_port,
        ActionStep::Controller(_) => out_port == port::CONTROLLER,
        _ => false,
    };
    (out_port == port::ANY || entry.has_step(leaves_by))
        && (out_group == group::ANY || entry.has_step(|s| *s == ActionStep::Group(out_group)))
}
