//! What the walk needs of an entry, in one line of cache; the entry itself is for who asks.

use super::entry::{ActionStep, Entry};

/// Steps that a course has room for.
const STEPS: usize = 3;

/// The actions of planned switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    SetQueue(u32),
    Output(u32),
    Group(u32),
    Monitor(u32),
}

/// The way of a frame through an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub(super) struct Course {
    pub(super) cookie: u64,
    /// Meter asked first.
    pub(super) meter: Option<u32>,
    /// The next best entry of the same pattern.
    pub(super) next_best: Option<u32>,
    pub(super) precedence: u16,
    /// Next table.
    pub(super) goto: Option<u8>,
    pub(super) is_table_miss: bool,
    /// Whether the entry has an action set or metadata for the frame.
    pub(super) writes: bool,
    /// Its actions, unless there are too many or others.
    steps: [Step; STEPS],
    count: Option<u8>,
}

impl Course {
    pub(super) fn of(entry: &Entry) -> Self {
        let behaviour = &entry.behaviour;
        let mut steps = [Step::SetQueue(0); STEPS];
        let fits = behaviour.apply.len() <= STEPS;
        let known = steps.iter_mut().zip(&behaviour.apply).all(|(place, step)| {
            let step = match *step {
                ActionStep::SetQueue(queue) => Step::SetQueue(queue),
                ActionStep::Output(port) => Step::Output(port),
                ActionStep::Group(id) => Step::Group(id),
                ActionStep::Monitor(id) => Step::Monitor(id),
                ActionStep::Controller(_) | ActionStep::Edit(_) => return false,
            };
            *place = step;
            true
        });
        let count = u8::try_from(behaviour.apply.len()).ok().filter(|_| fits && known);
        Self {
            cookie: entry.cookie,
            meter: behaviour.meter,
            next_best: None,
            precedence: entry.precedence,
            goto: behaviour.goto,
            is_table_miss: entry.is_table_miss(),
            writes: behaviour.clear || !behaviour.write.is_empty() || behaviour.metadata.is_some(),
            steps,
            count,
        }
    }

    /// Its actions, in order; `None` if the entry has to be asked.
    pub(super) fn steps(&self) -> Option<impl Iterator<Item = ActionStep>> {
        let steps = &self.steps[..usize::from(self.count?)];
        Some(steps.iter().map(|step| match *step {
            Step::SetQueue(queue) => ActionStep::SetQueue(queue),
            Step::Output(port) => ActionStep::Output(port),
            Step::Group(id) => ActionStep::Group(id),
            Step::Monitor(id) => ActionStep::Monitor(id),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_is_one_line_of_cache() {
        assert_eq!(size_of::<Course>(), 64);
    }
}
