//! Message sets: which are complete (\[Attendre\] section IV.C.4;
//! docs/theory/attendre.md, "What waits, where, for what").

use std::collections::{BTreeMap, BTreeSet};
use tenuto_openflow::Version;

/// What is known of message sets. Bounded: what is forgotten counts as complete, so that nothing
/// ever waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sets {
    /// Messages carried out of sets that are not complete.
    open: BTreeMap<Version, u16>,
    completed: BTreeSet<Version>,
    /// The highest version forgotten: it and all below count as complete unless they are open.
    forgotten: Option<Version>,
    max: usize,
}

impl Sets {
    pub(super) const fn new(max: usize) -> Self {
        Self { open: BTreeMap::new(), completed: BTreeSet::new(), forgotten: None, max }
    }

    pub(super) fn is_complete(&self, version: Version) -> bool {
        let is_forgotten = self.forgotten.is_some_and(|forgotten| version <= forgotten);
        self.completed.contains(&version) || is_forgotten && !self.open.contains_key(&version)
    }

    /// Messages carried out of a set that is open.
    pub(super) fn done(&self, version: Version) -> u16 {
        self.open.get(&version).copied().unwrap_or(0)
    }

    /// One more message of a set of `messages` was carried out. Gives the sets for which nothing
    /// waits any longer: this one if it is complete now, and one that had to be forgotten.
    pub(super) fn carried_out(&mut self, version: Version, messages: u16) -> [Option<Version>; 2] {
        if self.is_complete(version) {
            return [None; 2];
        }
        let done = self.open.entry(version).or_default();
        *done = done.saturating_add(1);
        if *done >= messages {
            self.open.remove(&version);
            self.completed.insert(version);
            if self.completed.len() > self.max
                && let Some(oldest) = self.completed.pop_first()
            {
                self.forget(oldest);
            }
            return [Some(version), None];
        }
        let evicted = match self.open.len() > self.max {
            true => self.open.pop_first().map(|(oldest, _)| oldest),
            false => None,
        };
        evicted.into_iter().for_each(|oldest| self.forget(oldest));
        [None, evicted]
    }

    fn forget(&mut self, version: Version) {
        self.forgotten = self.forgotten.max(Some(version));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn v(generation: u64, counter: u64) -> Version {
        Version { generation, counter }
    }

    #[test]
    fn a_set_is_complete_with_its_last_message_and_stays_so() {
        let mut sets = Sets::new(4);
        assert_eq!(sets.carried_out(v(1, 1), 2), [None, None]);
        assert!(!sets.is_complete(v(1, 1)) && sets.done(v(1, 1)) == 1);
        assert_eq!(sets.carried_out(v(1, 1), 2), [Some(v(1, 1)), None]);
        assert!(sets.is_complete(v(1, 1)));
        assert_eq!(sets.carried_out(v(1, 1), 2), [None, None], "once only");
        assert_eq!(sets.carried_out(v(1, 2), 0), [Some(v(1, 2)), None], "an empty set");
    }

    #[test]
    fn what_is_forgotten_counts_as_complete_unless_it_is_open() {
        let mut sets = Sets::new(2);
        assert_eq!(sets.carried_out(v(1, 2), 2), [None, None]);
        for counter in [3, 4, 5] {
            assert_eq!(sets.carried_out(v(1, counter), 1), [Some(v(1, counter)), None]);
        }
        let complete = [1, 2, 3, 4, 5, 6].map(|counter| sets.is_complete(v(1, counter)));
        assert_eq!(complete, [true, false, true, true, true, false]);
        assert!(sets.is_complete(v(0, 9)) && !sets.is_complete(v(2, 0)));
    }

    #[test]
    fn of_too_many_open_sets_the_oldest_is_given_up() {
        let mut sets = Sets::new(2);
        for counter in [8, 9] {
            assert_eq!(sets.carried_out(v(1, counter), 2), [None, None]);
        }
        assert_eq!(sets.carried_out(v(1, 10), 2), [None, Some(v(1, 8))]);
        assert!(sets.is_complete(v(1, 8)) && !sets.is_complete(v(1, 9)));
        assert_eq!(sets.carried_out(v(1, 7), 2), [None, None], "older than what was given up");
    }
}
