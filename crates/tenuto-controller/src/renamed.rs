//! What is wanted under the ids that a switch has it under.
//!
//! Ids of meters, monitors and groups mean nothing outside of a switch. A plan numbers them anew, so that one flow
//! less renumbers those behind it; carried out as it stands, that would give meters of flows that
//! stay the rates of others for a moment. Here a meter keeps the id under which the same entry
//! refers to it, so does a monitor, a group has that of an equal one, and what is new gets an id that is not in use.

use crate::tables::SwitchTables;
use std::collections::{BTreeMap, BTreeSet};
use tenuto_openflow::{Action, Instruction};

impl SwitchTables {
    /// These tables under the ids that `held` has; what they do to a frame does not change.
    pub(crate) fn renamed(&self, held: &Self) -> Self {
        let meters = self.ids_by_entry(held, (&self.meters, &held.meters), meter_of);
        let monitors = self.ids_by_entry(held, (&self.monitors, &held.monitors), monitor_of);
        let groups = self.group_ids(held);
        let mut renamed = self.clone();
        let of = |ids: &BTreeMap<u32, u32>, id: u32| ids.get(&id).copied().unwrap_or(id);
        renamed.meters =
            self.meters.iter().map(|(id, it)| (of(&meters, *id), it.clone())).collect();
        renamed.monitors =
            self.monitors.iter().map(|(id, it)| (of(&monitors, *id), it.clone())).collect();
        renamed.groups =
            self.groups.iter().map(|(id, it)| (of(&groups, *id), it.clone())).collect();
        for entry in renamed.entries.values_mut() {
            for instruction in &mut entry.instructions {
                match instruction {
                    Instruction::Meter(id) => *id = of(&meters, *id),
                    Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) => {
                        for action in actions {
                            match action {
                                Action::Group(id) => *id = of(&groups, *id),
                                Action::Monitor(id) => *id = of(&monitors, *id),
                                _ => {}
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        renamed
    }

    /// The id of each meter or monitor: that of the entry which both have.
    fn ids_by_entry<T>(
        &self,
        held: &Self,
        (own, theirs): (&BTreeMap<u32, T>, &BTreeMap<u32, T>),
        id_of: fn(&[Instruction]) -> Option<u32>,
    ) -> BTreeMap<u32, u32> {
        let mut ids = Ids::beside(theirs.keys());
        for (key, entry) in &self.entries {
            let known = held.entries.get(key).and_then(|it| id_of(&it.instructions));
            if let (Some(id), Some(known)) = (id_of(&entry.instructions), known)
                && own.contains_key(&id)
                && theirs.contains_key(&known)
            {
                ids.take(id, known);
            }
        }
        ids.complete(own.keys())
    }

    /// The id of each group: that of an equal one, as any will do.
    fn group_ids(&self, held: &Self) -> BTreeMap<u32, u32> {
        let mut ids = Ids::beside(held.groups.keys());
        for (id, group) in &self.groups {
            let same = held.groups.get_key_value(id).into_iter().chain(&held.groups);
            let same = same.filter(|(_, it)| *it == group).map(|(id, _)| *id);
            let free = same.into_iter().find(|known| !ids.taken.contains(known));
            if let Some(known) = free {
                ids.take(*id, known);
            }
        }
        ids.complete(self.groups.keys())
    }
}

fn meter_of(instructions: &[Instruction]) -> Option<u32> {
    instructions.iter().find_map(|it| match it {
        Instruction::Meter(id) => Some(*id),
        _ => None,
    })
}

/// The monitor that an entry leads past.
pub(crate) fn monitor_of(instructions: &[Instruction]) -> Option<u32> {
    let of = |action: &Action| match action {
        Action::Monitor(id) => Some(*id),
        _ => None,
    };
    instructions.iter().find_map(|it| match it {
        Instruction::ApplyActions(actions) => actions.iter().find_map(of),
        _ => None,
    })
}

/// Ids that are being given.
struct Ids {
    held: BTreeSet<u32>,
    given: BTreeMap<u32, u32>,
    taken: BTreeSet<u32>,
}

impl Ids {
    fn beside<'a>(held: impl Iterator<Item = &'a u32>) -> Self {
        Self { held: held.copied().collect(), given: BTreeMap::new(), taken: BTreeSet::new() }
    }

    /// Gives an id that the switch has, unless either was given before.
    fn take(&mut self, id: u32, known: u32) {
        if !self.given.contains_key(&id) && self.taken.insert(known) {
            self.given.insert(id, known);
        }
    }

    /// Gives what is left an id that is not in use: its own, or the least.
    fn complete<'a>(mut self, all: impl Iterator<Item = &'a u32>) -> BTreeMap<u32, u32> {
        for id in all {
            if self.given.contains_key(id) {
                continue;
            }
            let is_free = |it: &u32| !self.held.contains(it) && !self.taken.contains(it);
            let free = if is_free(id) { *id } else { (1..).find(is_free).unwrap_or(*id) };
            self.taken.insert(free);
            self.given.insert(*id, free);
        }
        self.given
    }
}
