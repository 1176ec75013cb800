//! Patterns of very many entries, each of another precedence: found without a walk along their chain.
//!
//! Entries of one pattern are chained, best first, and mostly there are one or two. A controller may
//! put 65,536 there; from [`CROWD`] of them on their slots are kept in order of precedence as well.

use super::key::Pattern;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Entries of one pattern that are walked along one by one.
pub(super) const CROWD: usize = 16;

type Crowd = BTreeMap<Reverse<u16>, u32>;

/// Slots by precedence, of patterns with more than [`CROWD`] entries.
#[derive(Clone, Debug, Default)]
pub(super) struct Crowds(BTreeMap<Pattern, Crowd>);

impl Crowds {
    fn of(&self, pattern: &Pattern) -> Option<&Crowd> {
        // As it is with nearly all tables.
        if self.0.is_empty() { None } else { self.0.get(pattern) }
    }

    /// How many entries there are of a pattern, if they are a crowd.
    pub(super) fn count(&self, pattern: &Pattern) -> Option<usize> {
        self.of(pattern).map(BTreeMap::len)
    }

    /// The slot of the entry of a precedence; `None` where there is no crowd.
    pub(super) fn find(&self, pattern: &Pattern, precedence: u16) -> Option<Option<u32>> {
        self.of(pattern).map(|crowd| crowd.get(&Reverse(precedence)).copied())
    }

    /// The slot of the last entry that is better; `None` where there is no crowd.
    pub(super) fn before(&self, pattern: &Pattern, precedence: u16) -> Option<Option<u32>> {
        let better =
            |crowd: &Crowd| crowd.range(..Reverse(precedence)).next_back().map(|(_, &slot)| slot);
        self.of(pattern).map(better)
    }

    /// These are all entries of a pattern, with their precedences.
    pub(super) fn form(&mut self, pattern: Pattern, all: impl Iterator<Item = (u16, u32)>) {
        let crowd = all.map(|(precedence, slot)| (Reverse(precedence), slot)).collect();
        self.0.insert(pattern, crowd);
    }

    /// An entry has come.
    pub(super) fn join(&mut self, pattern: &Pattern, precedence: u16, slot: u32) {
        if !self.0.is_empty()
            && let Some(crowd) = self.0.get_mut(pattern)
        {
            crowd.insert(Reverse(precedence), slot);
        }
    }

    /// An entry has gone.
    pub(super) fn leave(&mut self, pattern: &Pattern, precedence: u16) {
        if self.0.is_empty() {
            return;
        }
        let Some(crowd) = self.0.get_mut(pattern) else { return };
        crowd.remove(&Reverse(precedence));
        // Not at once below the limit: who adds and removes one forms no crowd each time.
        if crowd.len() <= CROWD / 2 {
            self.0.remove(pattern);
        }
    }
}
