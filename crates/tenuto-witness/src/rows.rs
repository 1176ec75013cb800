//! The rows of a plan: their bounds, what was seen beside them, and what kind each is of.

use std::fmt;
use tenuto_model::Transition;

/// What a row bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Delay of a flow to a target, by leaf of [`crate::layout::Layout::leaves`].
    Delay(usize),
    /// Backlog of a port, by index into [`crate::layout::Layout::ports`].
    Backlog(usize),
}

/// Names one row of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// What it bounds.
    pub subject: Subject,
    /// Index into [`Layout::transitions`](crate::layout::Layout::transitions).
    pub transition: usize,
}

/// One number per row of a plan: delays in picoseconds, backlogs in bits on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    transitions: usize,
    delays: Vec<Option<u64>>,
    backlogs: Vec<Option<u64>>,
}

impl Values {
    /// No value for any row.
    pub fn none(leaves: usize, ports: usize, transitions: usize) -> Self {
        Self {
            transitions,
            delays: vec![None; leaves * transitions],
            backlogs: vec![None; ports * transitions],
        }
    }

    /// Forgets every value.
    pub fn clear(&mut self) {
        self.delays.fill(None);
        self.backlogs.fill(None);
    }

    /// The value of a row.
    pub fn get(&self, row: Row) -> Option<u64> {
        match row.subject {
            Subject::Delay(leaf) => self.delays[leaf * self.transitions + row.transition],
            Subject::Backlog(port) => self.backlogs[port * self.transitions + row.transition],
        }
    }

    /// Sets the value of a row.
    pub fn set(&mut self, row: Row, value: Option<u64>) {
        *self.place(row) = value;
    }

    /// Keeps the larger of what is there and `value`.
    pub fn raise_to(&mut self, row: Row, value: u64) {
        let place = self.place(row);
        *place = Some(place.map_or(value, |it| it.max(value)));
    }

    /// Every row that has a value, with it.
    pub fn iter(&self) -> impl Iterator<Item = (Row, u64)> + '_ {
        let rows = |subject: fn(usize) -> Subject, list: &[Option<u64>]| {
            let row = |at| Row {
                subject: subject(at / self.transitions),
                transition: at % self.transitions,
            };
            let found = list.iter().enumerate();
            found.filter_map(|(at, value)| value.map(|it| (row(at), it))).collect::<Vec<_>>()
        };
        let delays = rows(Subject::Delay, &self.delays);
        delays.into_iter().chain(rows(Subject::Backlog, &self.backlogs))
    }

    fn place(&mut self, row: Row) -> &mut Option<u64> {
        match row.subject {
            Subject::Delay(leaf) => &mut self.delays[leaf * self.transitions + row.transition],
            Subject::Backlog(port) => &mut self.backlogs[port * self.transitions + row.transition],
        }
    }
}

/// Rows of one kind rest on the same parts of the theory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKind {
    /// Whether one host may babble.
    pub babbling: bool,
    /// Whether it is a raise rather than a steady mode.
    pub raise: bool,
    /// Whether the mode (of a raise: the mode before) is above the lowest.
    pub higher: bool,
    /// Whether it bounds a backlog rather than a delay.
    pub backlog: bool,
    /// Whether the plan counts whole messages.
    pub staircases: bool,
}

impl RowKind {
    /// The kind of a row of a plan.
    pub fn of(subject: Subject, transition: Transition, babbling: bool, staircases: bool) -> Self {
        let (raise, from) = match transition {
            Transition::Steady(level) => (false, level),
            Transition::Raise { from, .. } | Transition::Return { from, .. } => (true, from),
        };
        let backlog = matches!(subject, Subject::Backlog(_));
        Self { babbling, raise, higher: from > 0, backlog, staircases }
    }
}

impl fmt::Display for RowKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {:<6} {:<7} {:<7} {}",
            if self.babbling { "babbling" } else { "trusted " },
            if self.raise { "raise" } else { "steady" },
            if self.higher { "higher" } else { "lowest" },
            if self.backlog { "backlog" } else { "delay" },
            if self.staircases { "staircases" } else { "buckets" },
        )
    }
}

/// `seen` by `bound` in parts per million, rounded up; a bound of nothing is exceeded by anything.
pub fn ratio_ppm(seen: u64, bound: u64) -> u64 {
    let scaled = u128::from(seen) * 1_000_000;
    let ratio = scaled.div_ceil(u128::from(bound.max(1)));
    u64::try_from(ratio).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_the_largest_of_each_row() {
        let mut values = Values::none(2, 1, 3);
        let delay = Row { subject: Subject::Delay(1), transition: 2 };
        let backlog = Row { subject: Subject::Backlog(0), transition: 1 };
        values.raise_to(delay, 7);
        values.raise_to(delay, 5);
        values.raise_to(backlog, 9);
        assert_eq!(values.iter().collect::<Vec<_>>(), [(delay, 7), (backlog, 9)]);
        values.clear();
        assert_eq!(values.iter().count(), 0);
    }

    #[test]
    fn ratios_are_rounded_up() {
        assert_eq!(ratio_ppm(1, 3), 333_334);
        assert_eq!(ratio_ppm(3, 3), 1_000_000);
        assert_eq!(ratio_ppm(4, 0), 4_000_000);
    }
}
