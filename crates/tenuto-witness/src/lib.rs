//! Schedules that come close to certified bounds: a player of frames, and searches that have not read the analysis.
//!
//! The planner and the checker follow the same chapter of theory, so a mistake in it certifies false
//! bounds. This crate takes no part in that chapter. It knows what a network does with frames
//! (ARCHITECTURE.md, "Life of a packet"; `docs/theory/modes.md`), plays schedules that hosts may
//! legally produce, and searches for one whose delay or backlog comes close to a certified bound, or
//! exceeds it (`docs/theory/witness.md`).
//!
//! | module | concept |
//! |---|---|
//! | [`layout`] | a plan as arrays: ports, trees, guards, and the bounds of its rows |
//! | [`schedule`] | what the adversary chooses, and what a conforming host may choose |
//! | [`play`] | frames through ports and switches, one event after the other |
//! | [`scope`] | the hops that can matter for one row |
//! | [`aim`] | schedules constructed against one row |
//! | [`flood`] | schedules of one babbling host |
//! | [`search`] | hill climbing from constructed and random schedules |
//! | [`row_search`] | the search against one row, in portions of work |
//!
//! Not played: networks with shared processors, other traffic, the time after the loss of a link, and
//! returns to a lower mode. All instants are whole nanoseconds, as devices hand frames over; the
//! fraction of a nanosecond that a line owes is carried exactly.

pub mod aim;
mod events;
pub mod flood;
mod framing;
mod guard;
pub mod layout;
pub mod play;
mod port;
mod raises;
pub mod row_search;
pub mod rows;
pub mod schedule;
pub mod scope;
pub mod search;
