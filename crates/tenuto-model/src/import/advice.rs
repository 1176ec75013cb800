//! What would fit where an importer refuses a value: the words that several formats share.

/// A number above what a field can bear.
pub(super) const TOO_LARGE: &str = "write a smaller number; times are at most ten days, rates at \
                                    most 1000 Gbit/s";
/// A text that is no number.
pub(super) const NUMBER: &str = "write a number such as 12, 0.5 or 1e6";
/// An id that two things have.
pub(super) const TWICE: &str = "give one of them another id: others refer to it by that";
/// A link from a node to itself, or of hardly any rate.
pub(super) const LINK: &str = "give it two different nodes and a rate such as 100 Mbit/s";
/// A text that is no table.
pub(super) const TABLE: &str = "the first line names the columns; all rows have as many cells";
/// A service curve that never rises.
pub(super) const RATE: &str = "give its service curve a rate above zero";
/// A path that comes back.
pub(super) const ONCE: &str = "name every server once, or write another flow for the rest";
/// A curve without a line in it.
pub(super) const PIECES: &str = "give it at least one piece: a burst or latency, and a rate";
