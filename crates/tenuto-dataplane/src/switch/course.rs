//! What the walk needs of an entry and what it writes of it, in one line of cache; the entry itself
//! is for who asks.

use super::entry::{ActionStep, Entry};
use super::tables::EntryCounter;
use tenuto_units::Instant;

/// Steps that a course has room for.
const STEPS: usize = 3;
/// No meter: `OFPM_ALL`, which names none.
const NO_METER: u32 = u32::MAX;
/// No table: `OFPTT_ALL`, which names none.
const NO_TABLE: u8 = u8::MAX;
/// The entry has to be asked for its actions.
const MORE: u8 = u8::MAX;

/// The actions of planned switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    SetQueue,
    Output,
    Group,
    Monitor,
}

/// The way of a frame through an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Course {
    pub(super) cookie: u64,
    meter: u32,
    values: [u32; STEPS],
    kinds: [Kind; STEPS],
    /// How many actions there are; [`MORE`] if there are too many or others.
    count: u8,
    goto: u8,
    pub(super) is_table_miss: bool,
    /// Whether the entry has an action set or metadata for the frame.
    pub(super) writes: bool,
}

/// What a look-up in the next table gives to every frame that matches an entry, noted at the first.
///
/// It is good as long as that table has the same stamp, which no other table ever has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    stamp: u32,
    /// Slot in the lower 24 bits, probes above; [`ASK`] if frames have to be looked up one by one.
    found: u32,
}

/// They have to be looked up: their entries differ, or do not fit.
const ASK: u32 = u32::MAX;
const SLOT_BITS: u32 = 24;

impl Link {
    /// Nothing noted: no table has this stamp.
    pub(super) const NONE: Self = Self { stamp: 0, found: ASK };

    /// To a slot of the table with a stamp, after so many probes; `None`: look up.
    pub(super) fn new(stamp: u32, found: Option<(u32, u32)>) -> Self {
        let fits = |&(slot, probes): &(u32, u32)| slot >> SLOT_BITS == 0 && probes < 0xff;
        let found = found.filter(fits).map_or(ASK, |(slot, probes)| probes << SLOT_BITS | slot);
        Self { stamp, found }
    }

    /// Whether it was noted of the table with this stamp.
    #[inline]
    pub(super) const fn is_of(self, stamp: u32) -> bool {
        self.stamp == stamp
    }

    /// Slot and probes, if the look-up is done.
    #[inline]
    pub(super) const fn found(self) -> Option<(u32, u32)> {
        match self.found {
            ASK => None,
            found => Some((found & ((1 << SLOT_BITS) - 1), found >> SLOT_BITS)),
        }
    }
}

/// An entry as frames see it.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Line {
    pub(super) course: Course,
    /// Where its frames are in the next table.
    pub(super) next: Link,
    pub(super) counter: EntryCounter,
    /// When a frame last matched it.
    pub(super) used: Instant,
}

impl Course {
    pub(super) fn of(entry: &Entry) -> Self {
        let behaviour = &entry.behaviour;
        let (mut values, mut kinds) = ([0; STEPS], [Kind::SetQueue; STEPS]);
        let mut count = u8::try_from(behaviour.apply.len()).unwrap_or(MORE);
        for (place, step) in behaviour.apply.iter().enumerate() {
            let step = match *step {
                ActionStep::SetQueue(queue) => Some((Kind::SetQueue, queue)),
                ActionStep::Output(port) => Some((Kind::Output, port)),
                ActionStep::Group(id) => Some((Kind::Group, id)),
                ActionStep::Monitor(id) => Some((Kind::Monitor, id)),
                _ => None,
            };
            match step.filter(|_| place < STEPS) {
                Some(step) => (kinds[place], values[place]) = step,
                None => count = MORE,
            }
        }
        Self {
            cookie: entry.cookie,
            meter: behaviour.meter.unwrap_or(NO_METER),
            values,
            kinds,
            count,
            goto: behaviour.goto.unwrap_or(NO_TABLE),
            is_table_miss: entry.is_table_miss(),
            writes: behaviour.clear || !behaviour.write.is_empty() || behaviour.metadata.is_some(),
        }
    }

    /// The meter asked first.
    #[inline]
    pub(super) fn meter(&self) -> Option<u32> {
        Some(self.meter).filter(|&id| id != NO_METER)
    }

    /// The next table.
    #[inline]
    pub(super) fn goto(&self) -> Option<u8> {
        Some(self.goto).filter(|&table| table != NO_TABLE)
    }

    /// How many actions it has; `None` if the entry has to be asked.
    #[inline]
    pub(super) fn steps(&self) -> Option<usize> {
        (self.count != MORE).then_some(usize::from(self.count))
    }

    /// Whether a frame leaves the entry with the header fields and metadata that it came with; but
    /// for what its meter remarks.
    #[inline]
    pub(super) const fn keeps_key(&self) -> bool {
        self.count != MORE && !self.writes
    }

    /// One of its actions.
    #[inline]
    pub(super) fn step(&self, place: usize) -> ActionStep {
        let value = self.values[place];
        match self.kinds[place] {
            Kind::SetQueue => ActionStep::SetQueue(value),
            Kind::Output => ActionStep::Output(value),
            Kind::Group => ActionStep::Group(value),
            Kind::Monitor => ActionStep::Monitor(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_one_line_of_cache() {
        assert_eq!(size_of::<Line>(), 64);
    }
}
