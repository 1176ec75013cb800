//! How many entries use each meter and each group: asked for without a walk over all of them.

use super::entry::{ActionStep, Entry};
use std::collections::BTreeMap;

/// What an entry may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum User {
    Meter(u32),
    Group(u32),
}

/// Entries of one level by what they use.
#[derive(Clone, Debug, Default)]
pub(super) struct Users(BTreeMap<User, u32>);

impl Users {
    pub(super) fn of(&self, used: User) -> u32 {
        self.0.get(&used).copied().unwrap_or(0)
    }

    pub(super) fn count_in(&mut self, entry: &Entry) {
        each(entry, |used| *self.0.entry(used).or_default() += 1);
    }

    pub(super) fn count_out(&mut self, entry: &Entry) {
        each(entry, |used| {
            if let Some(count) = self.0.get_mut(&used) {
                *count -= 1;
                if *count == 0 {
                    self.0.remove(&used);
                }
            }
        });
    }
}

/// Calls `visit` with everything that an entry uses, once each.
fn each(entry: &Entry, mut visit: impl FnMut(User)) {
    entry.behaviour.meter.into_iter().for_each(|id| visit(User::Meter(id)));
    let group = |step: &ActionStep| match *step {
        ActionStep::Group(id) => Some(id),
        _ => None,
    };
    let steps = || entry.behaviour.apply.iter().chain(&entry.behaviour.write).filter_map(group);
    for (place, id) in steps().enumerate() {
        if steps().take(place).all(|before| before != id) {
            visit(User::Group(id));
        }
    }
}
