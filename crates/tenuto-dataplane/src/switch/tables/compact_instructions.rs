//! The instructions of an entry in half a line of cache: what the interpreter needs of most entries. It
//! reads the entry itself where they do not fit.

use super::entry::{ActionStep, Entry};

/// Actions that fit.
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

/// What an entry does with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct CompactInstructions {
    pub(in crate::switch) cookie: u64,
    meter: u32,
    values: [u32; STEPS],
    kinds: [Kind; STEPS],
    /// How many actions there are; [`MORE`] if there are too many or others.
    count: u8,
    goto: u8,
    pub(in crate::switch) is_table_miss: bool,
    /// Whether the entry has an action set or metadata for the frame.
    pub(in crate::switch) writes: bool,
}

impl CompactInstructions {
    pub(in crate::switch) fn of(entry: &Entry) -> Self {
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
    pub(in crate::switch) fn meter(&self) -> Option<u32> {
        Some(self.meter).filter(|&id| id != NO_METER)
    }

    /// The next table.
    #[inline]
    pub(in crate::switch) fn goto(&self) -> Option<u8> {
        Some(self.goto).filter(|&table| table != NO_TABLE)
    }

    /// How many actions it has; `None` if the entry has to be asked.
    #[inline]
    pub(in crate::switch) fn steps(&self) -> Option<usize> {
        (self.count != MORE).then_some(usize::from(self.count))
    }

    /// One of its actions.
    #[inline]
    pub(in crate::switch) fn step(&self, place: usize) -> ActionStep {
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
    fn an_entry_is_half_a_line_of_cache() {
        assert_eq!(size_of::<CompactInstructions>(), 32);
    }
}
