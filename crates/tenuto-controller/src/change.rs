//! A change of several switches under way: how far it has come, and what it waits for.

use crate::target::Target;
use std::collections::{BTreeMap, BTreeSet};

/// How far a change has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    Adding,
    Removing,
    Undoing,
}

/// A change under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Change {
    pub(crate) stage: Stage,
    /// Switches that are changed together, next to destinations first; every managed one once.
    pub(crate) waves: Vec<Vec<u64>>,
    /// Waves of this stage that are done or under way.
    pub(crate) begun: usize,
    /// Switches whose confirmation is waited for.
    pub(crate) awaited: BTreeSet<u64>,
    /// Switches that take part: installed when it began, and there ever since.
    pub(crate) taking_part: BTreeSet<u64>,
    pub(crate) old: BTreeMap<u64, Target>,
    pub(crate) new: BTreeMap<u64, Target>,
}

impl Change {
    /// The switches of the next wave; `None` if this stage has no more.
    pub(crate) fn next_wave(&mut self) -> Option<Vec<u64>> {
        let place = match self.stage {
            Stage::Adding | Stage::Undoing => self.begun,
            Stage::Removing => self.waves.len().checked_sub(self.begun + 1)?,
        };
        let wave = match self.stage {
            Stage::Undoing if self.begun > 0 => None,
            // They stood together before, so their order does not matter.
            Stage::Undoing => Some(self.waves.concat()),
            _ => self.waves.get(place).cloned(),
        };
        self.begun += usize::from(wave.is_some());
        wave
    }

    /// What a switch shall have in this stage, and whether what it has besides stays.
    pub(crate) fn target(&self, dpid: u64) -> Option<(Target, bool)> {
        let (targets, keeps_old) = match self.stage {
            Stage::Adding => (&self.new, true),
            Stage::Removing => (&self.new, false),
            Stage::Undoing => (&self.old, false),
        };
        Some((targets.get(&dpid)?.clone(), keeps_old))
    }
}
