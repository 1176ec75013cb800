//! Entries: what a flow-mod adds, changes and removes, and which instructions and actions this
//! switch takes on.

use super::{ACTIONS_MAX, Done};
use crate::switch::Switch;
use crate::switch::key::Pattern;
use crate::switch::table::{ActionStep, Behaviour, Entry};
use tenuto_openflow::constants::{flow_flag, group, port, table};
use tenuto_openflow::{
    Action, BadAction, BadInstruction, EXPERIMENTER_ID, ErrorCode, FlowMod, FlowModCommand,
    FlowModFailed, Instruction, MeterModFailed,
};

/// Flags of a flow-mod that this switch acts on, or may leave aside (it counts all the same).
const FLOW_FLAGS: u16 = flow_flag::CHECK_OVERLAP
    | flow_flag::RESET_COUNTS
    | flow_flag::NO_PKT_COUNTS
    | flow_flag::NO_BYT_COUNTS;

impl Switch {
    pub(super) fn flow_mod(&mut self, level: Option<u8>, flow_mod: &FlowMod) -> Done {
        use FlowModCommand as C;
        let pattern = Pattern::from_match(&flow_mod.match_)?;
        let level = level.unwrap_or(0);
        if matches!(flow_mod.command, C::Delete | C::DeleteStrict) {
            return self.delete_flows(level, flow_mod, &pattern);
        }
        if flow_mod.table_id >= self.config.tables {
            return Err(FlowModFailed::BadTableId.into());
        }
        // What this switch does not do is refused, not silently left out.
        if flow_mod.idle_timeout != 0 || flow_mod.hard_timeout != 0 {
            return Err(FlowModFailed::BadTimeout.into());
        }
        if flow_mod.flags & !FLOW_FLAGS != 0 {
            return Err(FlowModFailed::BadFlags.into());
        }
        let behaviour = self.behaviour(flow_mod)?;
        let entry = Entry {
            pattern,
            precedence: flow_mod.priority,
            cookie: flow_mod.cookie,
            flags: flow_mod.flags,
            behaviour,
            matching: flow_mod.match_.clone(),
            instructions: flow_mod.instructions.clone(),
        };
        if flow_mod.command == C::Add {
            if flow_mod.flags & flow_flag::CHECK_OVERLAP != 0
                && self.tables.overlaps(level, flow_mod.table_id, &entry)
            {
                return Err(FlowModFailed::Overlap.into());
            }
            let added = self.tables.add(level, flow_mod.table_id, entry);
            return added.map_err(|_| FlowModFailed::TableFull.into());
        }
        let strict = flow_mod.command == C::ModifyStrict;
        let chosen = |e: &Entry| chosen(e, flow_mod, &pattern, strict);
        let change = |e: &mut Entry| {
            e.behaviour.clone_from(&entry.behaviour);
            e.instructions.clone_from(&entry.instructions);
        };
        let reset = flow_mod.flags & flow_flag::RESET_COUNTS != 0;
        self.tables.modify(level, flow_mod.table_id, chosen, change, reset);
        Ok(())
    }

    fn delete_flows(&mut self, level: u8, flow_mod: &FlowMod, pattern: &Pattern) -> Done {
        let all = flow_mod.table_id == table::ALL;
        if !all && flow_mod.table_id >= self.config.tables {
            return Err(FlowModFailed::BadTableId.into());
        }
        let strict = flow_mod.command == FlowModCommand::DeleteStrict;
        for id in 0..self.config.tables {
            if all || id == flow_mod.table_id {
                self.tables.remove(level, id, |e| {
                    chosen(e, flow_mod, pattern, strict)
                        && sends_to(e, flow_mod.out_port, flow_mod.out_group)
                });
            }
        }
        Ok(())
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
                    let known = matches!(self.meters.get(*id as usize), Some(Some(_)));
                    if !known {
                        return Err(MeterModFailed::UnknownMeter.into());
                    }
                    behaviour.meter = Some(*id);
                }
                Instruction::ApplyActions(actions) => behaviour.apply = self.steps(actions)?,
                Instruction::WriteActions(actions) => behaviour.write = self.steps(actions)?,
                Instruction::ClearActions => behaviour.clear = true,
                Instruction::WriteMetadata { metadata, mask } => {
                    behaviour.metadata = Some((*metadata, *mask));
                }
                Instruction::GotoTable(next) => {
                    if *next <= flow_mod.table_id || *next >= self.config.tables {
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
        Ok(behaviour)
    }

    pub(super) fn steps(&self, actions: &[Action]) -> Result<Vec<ActionStep>, ErrorCode> {
        // Which port it is for only the output says; a queue that no port has is certainly wrong.
        let queues =
            self.config.ports.iter().map(|p| u32::from(p.egress.queues)).max().unwrap_or(0);
        let step = |action: &Action| match action {
            Action::Output { port, .. } if self.port_index.contains_key(port) => {
                Ok(ActionStep::Output(*port))
            }
            Action::Output { .. } => Err(BadAction::BadOutPort.into()),
            Action::SetQueue(queue) if *queue < queues => Ok(ActionStep::SetQueue(*queue)),
            Action::SetQueue(_) => Err(BadAction::BadQueue.into()),
            Action::Group(id) if self.groups.contains_key(id) => Ok(ActionStep::Group(*id)),
            Action::Group(_) => Err(BadAction::BadOutGroup.into()),
            Action::Monitor(id) if matches!(self.monitors.get(*id as usize), Some(Some(_))) => {
                Ok(ActionStep::Monitor(*id))
            }
            Action::Monitor(_) => Err(BadAction::BadArgument.into()),
            Action::Experimenter { experimenter: EXPERIMENTER_ID, .. } => {
                Err(BadAction::BadExpType.into())
            }
            Action::Experimenter { .. } => Err(BadAction::BadExperimenter.into()),
            _ => Err(BadAction::BadType.into()),
        };
        if actions.len() > ACTIONS_MAX {
            return Err(BadAction::TooMany.into());
        }
        actions.iter().map(step).collect()
    }
}

/// Whether a modify or delete touches an entry (OpenFlow 1.3.5, section 6.4).
fn chosen(entry: &Entry, flow_mod: &FlowMod, pattern: &Pattern, strict: bool) -> bool {
    let cookie = entry.cookie & flow_mod.cookie_mask == flow_mod.cookie & flow_mod.cookie_mask;
    let matched = if strict {
        entry.pattern == *pattern && entry.precedence == flow_mod.priority
    } else {
        entry.pattern.is_within(pattern)
    };
    cookie && matched
}

/// Whether an entry passes the conditions on its outputs that a delete or a request may make.
pub(super) fn sends_to(entry: &Entry, out_port: u32, out_group: u32) -> bool {
    let has = |wanted: ActionStep| {
        let Behaviour { apply, write, .. } = &entry.behaviour;
        apply.iter().chain(write).any(|step| *step == wanted)
    };
    (out_port == port::ANY || has(ActionStep::Output(out_port)))
        && (out_group == group::ANY || has(ActionStep::Group(out_group)))
}
