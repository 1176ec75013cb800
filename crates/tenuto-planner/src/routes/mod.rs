//! Routes: one tree of ports per flow and copy.
//!
//! Routes that the description fixes are kept. The others begin as the ways with the fewest hops,
//! then the least added load, then the order of links; if these break a promise, `search` looks
//! for others. The same description always gives the same routes.

mod disjoint;
mod grow;
mod load;
mod pain;
mod plot;
mod search;
mod taken;
mod tree;

pub(crate) use pain::{Gathering, Verdict, WORST, above};
pub(crate) use plot::Plot;
pub(crate) use search::{Effort, Search, improved};
pub(crate) use tree::{Routes, Tree, describe};
