//! The raises of a run, and the row that holds for what was under way at a time.

use crate::layout::Layout;

/// A raise that has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Raised {
    /// The last bit of the violating frame at the switch that saw it.
    pub(crate) at_ns: u64,
    pub(crate) from: u8,
    pub(crate) to: u8,
    /// From here on the new mode's own rows hold; never, if the plan has no such time.
    pub(crate) settled_ns: u64,
}

/// The level at the start, and every raise since.
#[derive(Clone, Debug, Default)]
pub(crate) struct Raises {
    start: u8,
    list: Vec<Raised>,
}

impl Raises {
    pub(crate) fn restart(&mut self, level: u8) {
        self.start = level;
        self.list.clear();
    }

    pub(crate) fn level(&self) -> u8 {
        self.list.last().map_or(self.start, |it| it.to)
    }

    pub(crate) fn push(&mut self, raised: Raised) {
        self.list.push(raised);
    }

    pub(crate) fn list(&self) -> &[Raised] {
        &self.list
    }

    /// The transition whose row bounds what began at `began_ns` and ended at `ended_ns`, and the level that has
    /// to guarantee it; `None` if no row does.
    ///
    /// What ended before the first trigger is of the mode before. What began once a raise has settled is of the
    /// mode behind it. Whatever lies between belongs to the raise from the level before the first to the level
    /// after the last trigger that it met.
    pub(crate) fn transition(
        &self,
        layout: &Layout,
        began_ns: u64,
        ended_ns: u64,
    ) -> Option<(usize, u8)> {
        let (mut from, mut to, mut is_raise) = (self.start, self.start, false);
        for raised in self.list.iter().filter(|it| it.at_ns < ended_ns) {
            if raised.settled_ns <= began_ns && !is_raise {
                (from, to) = (raised.to, raised.to);
            } else {
                (to, is_raise) = (raised.to, true);
            }
        }
        let found = if is_raise { layout.raise(from, to) } else { layout.steady(to) };
        found.map(|transition| (transition, to))
    }
}
