//! Where a slice is in the switch of others: its tables, groups and meters there.

use tenuto_openflow::constants::{group, port};
use tenuto_openflow::{
    Action, Bucket, FlowStats, GroupMod, GroupStats, Instruction, MeterMod, MeterStats,
};

/// Groups of a slice have numbers from a multiple of this.
const GROUPS_EACH: u32 = 1 << 24;
/// Meters likewise: switches have few numbers for them.
const METERS_EACH: u32 = 1 << 10;

/// An action that sends a frame out of a port.
const OUTPUT_BYTES: usize = 16;

/// Ranges of numbers that are a slice's alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Places {
    /// Its place among the slices, from 1.
    number: u32,
    /// Its first table.
    pub(super) first_table: u8,
    /// Its tables.
    pub(super) tables: u8,
}

impl Places {
    pub(super) const fn new(number: u32, first_table: u8, tables: u8) -> Self {
        Self { number, first_table, tables }
    }

    /// Its tables, as the switch has them.
    pub(super) fn tables(self) -> impl Iterator<Item = u8> {
        (0..self.tables).map(move |table| self.first_table + table)
    }

    pub(super) const fn table_out(self, table: u8) -> u8 {
        self.first_table.saturating_add(table)
    }

    /// The slice's own number of a table of the switch, if it is one of its tables.
    pub(super) fn table_in(self, table: u8) -> Option<u8> {
        table.checked_sub(self.first_table).filter(|own| *own < self.tables)
    }

    const fn group_out(self, id: u32) -> u32 {
        (self.number * GROUPS_EACH).saturating_add(id)
    }

    pub(super) fn group_in(self, id: u32) -> Option<u32> {
        id.checked_sub(self.number * GROUPS_EACH).filter(|own| *own < GROUPS_EACH)
    }

    const fn meter_out(self, id: u32) -> u32 {
        (self.number * METERS_EACH).saturating_add(id)
    }

    pub(super) fn meter_in(self, id: u32) -> Option<u32> {
        id.checked_sub(self.number * METERS_EACH).filter(|own| *own < METERS_EACH)
    }

    /// Whether a group of this number has a place.
    pub(super) const fn fits_group(id: u32) -> bool {
        id < GROUPS_EACH
    }

    /// Whether a meter of this number has a place.
    pub(super) const fn fits_meter(id: u32) -> bool {
        id < METERS_EACH
    }

    /// One group of a request; none stands for none.
    pub(super) const fn wanted_group(self, id: u32) -> u32 {
        if id == group::ANY { id } else { self.group_out(id) }
    }

    pub(super) const fn wanted_meter(self, id: u32) -> u32 {
        self.meter_out(id)
    }

    /// How much longer actions are once floods go out of each port.
    pub(super) fn longer_by(ports: &[u32], actions: &[Action]) -> usize {
        let is_flood =
            |it: &&Action| matches!(it, Action::Output { port: port::ALL | port::FLOOD, .. });
        let more = ports.len().saturating_sub(1).saturating_mul(OUTPUT_BYTES);
        actions.iter().filter(is_flood).count().saturating_mul(more)
    }

    /// Actions for the switch: groups by their numbers there, floods as the slice's ports, frames for the
    /// controller whole.
    pub(super) fn actions_out(self, ports: &[u32], actions: &[Action]) -> Vec<Action> {
        let mut out = Vec::with_capacity(actions.len());
        for action in actions {
            match *action {
                Action::Group(id) => out.push(Action::Group(self.group_out(id))),
                Action::Output { port: port::ALL | port::FLOOD, .. } => {
                    out.extend(ports.iter().map(|&port| Action::Output { port, max_len: 0 }));
                }
                Action::Output { port: port::CONTROLLER, .. } => {
                    out.push(Action::Output { port: port::CONTROLLER, max_len: 0xffff });
                }
                _ => out.push(action.clone()),
            }
        }
        out
    }

    pub(super) fn instructions_out(self, ports: &[u32], all: &[Instruction]) -> Vec<Instruction> {
        let out = |instruction: &Instruction| match instruction {
            Instruction::GotoTable(table) => Instruction::GotoTable(self.table_out(*table)),
            Instruction::Meter(id) => Instruction::Meter(self.meter_out(*id)),
            Instruction::ApplyActions(actions) => {
                Instruction::ApplyActions(self.actions_out(ports, actions))
            }
            Instruction::WriteActions(actions) => {
                Instruction::WriteActions(self.actions_out(ports, actions))
            }
            other => other.clone(),
        };
        all.iter().map(out).collect()
    }

    pub(super) fn group_mod_out(self, ports: &[u32], it: &GroupMod) -> GroupMod {
        let bucket = |bucket: &Bucket| {
            let watch_group = self.wanted_group(bucket.watch_group);
            let actions = self.actions_out(ports, &bucket.actions);
            Bucket { watch_group, actions, ..bucket.clone() }
        };
        GroupMod {
            group_id: self.group_out(it.group_id),
            buckets: it.buckets.iter().map(bucket).collect(),
            ..it.clone()
        }
    }

    pub(super) fn meter_mod_out(self, it: &MeterMod) -> MeterMod {
        MeterMod { meter_id: self.meter_out(it.meter_id), ..it.clone() }
    }

    /// An entry as the slice sees it: `None` of another slice.
    pub(super) fn flow_stats_in(self, stats: FlowStats) -> Option<FlowStats> {
        let table_id = self.table_in(stats.table_id)?;
        let instructions = stats.instructions.iter().map(|it| self.instruction_in(it)).collect();
        Some(FlowStats { table_id, instructions, ..stats })
    }

    fn instruction_in(self, instruction: &Instruction) -> Instruction {
        let actions = |all: &[Action]| {
            let back = |action: &Action| match *action {
                Action::Group(id) => Action::Group(self.group_in(id).unwrap_or(id)),
                _ => action.clone(),
            };
            all.iter().map(back).collect()
        };
        match instruction {
            Instruction::GotoTable(table) => {
                Instruction::GotoTable(self.table_in(*table).unwrap_or(*table))
            }
            Instruction::Meter(id) => Instruction::Meter(self.meter_in(*id).unwrap_or(*id)),
            Instruction::ApplyActions(all) => Instruction::ApplyActions(actions(all)),
            Instruction::WriteActions(all) => Instruction::WriteActions(actions(all)),
            other => other.clone(),
        }
    }

    pub(super) fn group_stats_in(self, stats: GroupStats) -> Option<GroupStats> {
        Some(GroupStats { group_id: self.group_in(stats.group_id)?, ..stats })
    }

    pub(super) fn meter_stats_in(self, stats: MeterStats) -> Option<MeterStats> {
        Some(MeterStats { meter_id: self.meter_in(stats.meter_id)?, ..stats })
    }
}
