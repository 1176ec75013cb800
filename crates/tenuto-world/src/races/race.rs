//! A race: two accesses to one table.

/// Which accesses race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RaceKind {
    /// Two flow-mods.
    Writes,
    /// A packet and a flow-mod.
    ReadWrite,
}

/// Two accesses that are not ordered, and do not commute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Race {
    /// Which accesses.
    pub kind: RaceKind,
    /// Place of the event of the first access in the run; of a look-up, if there is one.
    pub one: usize,
    /// Place of the event of the other.
    pub other: usize,
    /// Seconds between them in the record.
    pub apart_s: f64,
    /// Whether what was read orders them.
    pub is_covered: bool,
}
