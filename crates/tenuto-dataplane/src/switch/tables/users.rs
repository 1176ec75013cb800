//! Which entries use each meter, group and monitor: asked for without a walk over all of them.

use super::entry::{ActionStep, Entry};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// What an entry may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::switch) enum User {
    Meter(u32),
    Group(u32),
    Monitor(u32),
}

/// Table and slot of an entry.
pub(in crate::switch) type Seat = (u8, u32);

/// Entries of one level by what they use.
#[derive(Clone, Debug, Default)]
pub(in crate::switch) struct Users(BTreeMap<User, BTreeSet<Seat>>);

impl Users {
    /// How many entries use it.
    pub(in crate::switch) fn of(&self, used: User) -> usize {
        self.0.get(&used).map_or(0, BTreeSet::len)
    }

    /// Entries that use something of a range; those that use several of it, several times.
    pub(in crate::switch) fn seats(
        &self,
        used: RangeInclusive<User>,
    ) -> impl Iterator<Item = Seat> {
        self.0.range(used).flat_map(|(_, seats)| seats.iter().copied())
    }

    pub(in crate::switch) fn count_in(&mut self, entry: &Entry, seat: Seat) {
        each(entry, |used| {
            self.0.entry(used).or_default().insert(seat);
        });
    }

    pub(in crate::switch) fn count_out(&mut self, entry: &Entry, seat: Seat) {
        each(entry, |used| {
            if let Some(seats) = self.0.get_mut(&used) {
                seats.remove(&seat);
                if seats.is_empty() {
                    self.0.remove(&used);
                }
            }
        });
    }
}

/// Calls `visit` with everything that an entry uses.
fn each(entry: &Entry, mut visit: impl FnMut(User)) {
    entry.behaviour.meter.into_iter().for_each(|id| visit(User::Meter(id)));
    for step in entry.behaviour.apply.iter().chain(&entry.behaviour.write) {
        match *step {
            ActionStep::Group(id) => visit(User::Group(id)),
            ActionStep::Monitor(id) => visit(User::Monitor(id)),
            _ => {}
        }
    }
}
