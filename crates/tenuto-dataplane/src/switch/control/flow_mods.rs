//! Entries: what a flow-mod adds, changes and removes, and which instructions this switch takes on.

use super::attendre::{collect_commands, has_buffers};
use super::task::{FlowChange, Task, has_cookie, sends_to};
use super::{Done, Request};
use crate::Effects;
use crate::switch::classifier::key::Pattern;
use crate::switch::tables::entry::{Behaviour, Entry, actions_of};
use crate::switch::tables::{Removed, Scope};
use crate::switch::{Switch, SwitchEvent};
use tenuto_openflow::constants::{NO_BUFFER, flow_flag, table};
use tenuto_openflow::{
    BadInstruction, BadMatch, ErrorCode, FlowMod, FlowModCommand, FlowModFailed, FlowRemovedReason,
    Instruction, MeterModFailed, Version,
};
use tenuto_units::Instant;

impl Switch {
    pub(super) fn flow_mod(
        &mut self,
        now: Instant,
        level: Option<u8>,
        flow_mod: &FlowMod,
        version: Option<Version>,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        use FlowModCommand as C;
        let pattern = Pattern::from_match(&flow_mod.match_)?;
        if !self.policy.takes_match(&flow_mod.match_) {
            return Err(BadMatch::BadField.into());
        }
        let level = level.unwrap_or(0);
        if matches!(flow_mod.command, C::Delete | C::DeleteStrict) {
            return self.delete_flows(now, level, flow_mod, &pattern, fx);
        }
        if self.has_table(flow_mod.table_id) && has_buffers(flow_mod) {
            return self.flow_mod_with_buffers(now, Some(level), flow_mod, version, fx);
        }
        let behaviour = self.checked_behaviour(flow_mod)?;
        let table = flow_mod.table_id;
        if flow_mod.command == C::Add {
            let entry = entry_of(flow_mod, pattern, behaviour, version);
            if flow_mod.flags & flow_flag::CHECK_OVERLAP != 0
                && self
                    .tables
                    .get(level, table)
                    .is_some_and(|state| state.table().overlaps(&entry.pattern, entry.precedence))
            {
                return Err(FlowModFailed::Overlap.into());
            }
            return self.add_entry(now, (level, table), entry);
        }
        let scope = match flow_mod.command {
            C::ModifyStrict => Scope::Exact(&pattern, flow_mod.priority),
            _ => Scope::Within(&pattern),
        };
        let chosen = |e: &Entry| has_cookie(e, flow_mod);
        let change = FlowChange::of(flow_mod, behaviour, version);
        self.change_entries((level, table), scope, chosen, &change)
    }

    /// Adds an entry; whether others overlap it was asked before.
    pub(super) fn add_entry(
        &mut self,
        now: Instant,
        (level, table): (u8, u8),
        entry: Entry,
    ) -> Done {
        self.tell_waiting((level, table), &entry);
        let added = self.tables.add(now, level, table, entry);
        let slot = added.map_err(|_| ErrorCode::from(FlowModFailed::TableFull))?;
        self.arm(level, table, slot);
        Ok(())
    }

    /// Changes the entries in a scope that `chosen` picks.
    pub(super) fn change_entries(
        &mut self,
        place: (u8, u8),
        scope: Scope<'_>,
        chosen: impl Fn(&Entry) -> bool,
        change: &FlowChange,
    ) -> Done {
        let actions = actions_of(&change.instructions);
        let apply = (|entry: &mut Entry| change.apply(entry), actions);
        let changed = self.tables.modify(place, scope, chosen, apply, change.reset);
        changed.map(|_| ()).map_err(|_| FlowModFailed::TableFull.into())
    }

    /// What a flow-mod makes of frames, or why it is refused.
    pub(super) fn checked_behaviour(&self, flow_mod: &FlowMod) -> Result<Behaviour, ErrorCode> {
        if !self.has_table(flow_mod.table_id) {
            return Err(FlowModFailed::BadTableId.into());
        }
        // What this switch does not do is refused, not silently left out.
        let goes_by_itself = flow_mod.idle_timeout != 0 || flow_mod.hard_timeout != 0;
        if goes_by_itself && !self.policy.takes_timeouts() {
            return Err(FlowModFailed::BadTimeout.into());
        }
        if flow_mod.flags & !self.policy.flow_flags != 0 {
            return Err(FlowModFailed::BadFlags.into());
        }
        self.behaviour(flow_mod)
    }

    /// Whether a flow-mod is noted down, to be carried out a step at a time.
    pub(super) fn puts_off(
        &mut self,
        request: Request,
        level: u8,
        flow_mod: &FlowMod,
    ) -> Result<bool, ErrorCode> {
        use FlowModCommand as C;
        let pattern = Pattern::from_match(&flow_mod.match_)?;
        let task = match flow_mod.command {
            C::Delete if flow_mod.table_id == table::ALL || self.has_table(flow_mod.table_id) => {
                Task::Remove(flow_mod.clone())
            }
            // A packet that waits for the change goes by it.
            _ if has_buffers(flow_mod) || flow_mod.buffer_id != NO_BUFFER => return Ok(false),
            C::Add if flow_mod.flags & flow_flag::CHECK_OVERLAP != 0 => {
                let behaviour = self.checked_behaviour(flow_mod)?;
                let entry = entry_of(flow_mod, pattern, behaviour, None);
                Task::Add(flow_mod.clone(), Box::new(entry))
            }
            C::Modify => {
                let behaviour = self.checked_behaviour(flow_mod)?;
                Task::Change(flow_mod.clone(), FlowChange::of(flow_mod, behaviour, None))
            }
            _ => return Ok(false),
        };
        Ok(self.put_off(request, level, &pattern, task).is_none())
    }

    fn delete_flows(
        &mut self,
        now: Instant,
        level: u8,
        flow_mod: &FlowMod,
        pattern: &Pattern,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        let all = flow_mod.table_id == table::ALL;
        if !all && !self.has_table(flow_mod.table_id) {
            return Err(FlowModFailed::BadTableId.into());
        }
        let scope = match flow_mod.command {
            FlowModCommand::DeleteStrict => Scope::Exact(pattern, flow_mod.priority),
            _ => Scope::Within(pattern),
        };
        for id in 0..self.config.tables {
            if all || id == flow_mod.table_id {
                let removed = self.tables.remove(level, id, scope, |e| {
                    has_cookie(e, flow_mod) && sends_to(e, flow_mod.out_port, flow_mod.out_group)
                });
                self.forget(now, (level, id), &removed, FlowRemovedReason::Delete, fx);
            }
        }
        Ok(())
    }

    /// What follows from the removal of entries: their time-outs, and who is told.
    pub(super) fn forget(
        &mut self,
        now: Instant,
        (level, table): (u8, u8),
        removed: &[Removed],
        reason: FlowRemovedReason,
        fx: &mut Effects<SwitchEvent>,
    ) {
        for gone in removed {
            self.disarm(level, table, gone.slot);
            self.tell_removed(now, table, gone, reason, fx);
        }
    }

    fn behaviour(&self, flow_mod: &FlowMod) -> Result<Behaviour, ErrorCode> {
        let mut behaviour = Behaviour::default();
        for (place, instruction) in flow_mod.instructions.iter().enumerate() {
            // One of each type (section 5.9), for which OpenFlow 1.3 has no code of its own.
            let kind = std::mem::discriminant(instruction);
            if flow_mod.instructions[..place].iter().any(|i| std::mem::discriminant(i) == kind) {
                return Err(BadInstruction::UnsupInst.into());
            }
            match instruction {
                Instruction::Meter(id) => {
                    let known = self.tables.has_meter(*id);
                    if !known {
                        return Err(MeterModFailed::UnknownMeter.into());
                    }
                    behaviour.meter = Some(*id);
                }
                Instruction::ApplyActions(actions) => {
                    behaviour.apply = self.steps(actions)?;
                    collect_commands(&mut behaviour.apply, actions, &mut behaviour.commands)?;
                }
                Instruction::WriteActions(actions) => {
                    behaviour.write = self.steps(actions)?;
                    collect_commands(&mut behaviour.write, actions, &mut behaviour.commands)?;
                }
                Instruction::ClearActions => behaviour.clear = true,
                Instruction::WriteMetadata { metadata, mask } => {
                    behaviour.metadata = Some((*metadata, *mask));
                }
                Instruction::GotoTable(next) => {
                    if *next <= flow_mod.table_id || !self.has_table(*next) {
                        return Err(BadInstruction::BadTableId.into());
                    }
                    behaviour.goto = Some(*next);
                }
                Instruction::Experimenter { .. } => {
                    return Err(BadInstruction::BadExperimenter.into());
                }
                Instruction::Unknown { .. } => return Err(BadInstruction::UnknownInst.into()),
            }
        }
        self.check_sets(&flow_mod.match_, &flow_mod.instructions)?;
        Ok(behaviour)
    }
}

fn entry_of(
    flow_mod: &FlowMod,
    pattern: Pattern,
    behaviour: Behaviour,
    version: Option<Version>,
) -> Entry {
    Entry {
        pattern,
        precedence: flow_mod.priority,
        cookie: flow_mod.cookie,
        flags: flow_mod.flags,
        idle_timeout: flow_mod.idle_timeout,
        hard_timeout: flow_mod.hard_timeout,
        behaviour,
        version,
        matching: flow_mod.match_.clone(),
        instructions: flow_mod.instructions.clone(),
    }
}
