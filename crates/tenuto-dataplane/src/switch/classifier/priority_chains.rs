//! Priority chains: entries of one pattern, each of another precedence.
//!
//! Entries of one pattern are chained, best first, and mostly there are one or two. A controller may
//! install 65,536 of them; from [`CHAIN_INDEXED_MIN`] of them on their slots are kept in order of precedence as well.

use super::key::Pattern;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Entries of one pattern that are walked along one by one.
pub(in crate::switch) const CHAIN_INDEXED_MIN: usize = 16;

type PriorityChain = BTreeMap<Reverse<u16>, u32>;

/// Slots by precedence, of patterns with more than [`CHAIN_INDEXED_MIN`] entries.
#[derive(Clone, Debug, Default)]
pub(in crate::switch) struct PriorityChains(BTreeMap<Pattern, PriorityChain>);

impl PriorityChains {
    fn of(&self, pattern: &Pattern) -> Option<&PriorityChain> {
        // As it is with nearly all tables.
        if self.0.is_empty() { None } else { self.0.get(pattern) }
    }

    /// How many entries there are of a pattern, if they are a long chain.
    pub(in crate::switch) fn count(&self, pattern: &Pattern) -> Option<usize> {
        self.of(pattern).map(BTreeMap::len)
    }

    /// The slot of the entry of a precedence; `None` where there is no long chain.
    pub(in crate::switch) fn find(
        &self,
        pattern: &Pattern,
        precedence: u16,
    ) -> Option<Option<u32>> {
        self.of(pattern).map(|chain| chain.get(&Reverse(precedence)).copied())
    }

    /// The slot of the last entry that is better; `None` where there is no long chain.
    pub(in crate::switch) fn before(
        &self,
        pattern: &Pattern,
        precedence: u16,
    ) -> Option<Option<u32>> {
        let better = |chain: &PriorityChain| {
            chain.range(..Reverse(precedence)).next_back().map(|(_, &slot)| slot)
        };
        self.of(pattern).map(better)
    }

    /// These are all entries of a pattern, with their precedences.
    pub(in crate::switch) fn form(
        &mut self,
        pattern: Pattern,
        all: impl Iterator<Item = (u16, u32)>,
    ) {
        let chain = all.map(|(precedence, slot)| (Reverse(precedence), slot)).collect();
        self.0.insert(pattern, chain);
    }

    /// An entry has come.
    pub(in crate::switch) fn join(&mut self, pattern: &Pattern, precedence: u16, slot: u32) {
        if !self.0.is_empty()
            && let Some(chain) = self.0.get_mut(pattern)
        {
            chain.insert(Reverse(precedence), slot);
        }
    }

    /// An entry has gone.
    pub(in crate::switch) fn leave(&mut self, pattern: &Pattern, precedence: u16) {
        if self.0.is_empty() {
            return;
        }
        let Some(chain) = self.0.get_mut(pattern) else { return };
        chain.remove(&Reverse(precedence));
        // Not at once below the limit: who adds and removes one forms no long chain each time.
        if chain.len() <= CHAIN_INDEXED_MIN / 2 {
            self.0.remove(pattern);
        }
    }
}
