//! Races in a recorded run: accesses to the table of a switch of which nothing says which comes first, and whose
//! order matters (\[SDNRacer\]).
//!
//! A run is a list of events in the order in which they were recorded. What happens before what follows from packets
//! and messages that one event sends and another takes, and from barriers. Two accesses to one table that are not
//! ordered race, if one of them writes; they *commute* if either order has the same effect. Of the others some are
//! *covered*: that one is read which the other has written orders them.

mod classic_messages;
mod commute;
mod detect;
mod event;
mod matching;
mod order;
mod read_hb;
mod recorded;
mod written_first;

pub use detect::{Detected, Race, RaceKind, detect};
pub use event::{Access, Command, Event, EventKind, FlowEntry, Run, Write};
pub use matching::Matching;
pub use read_hb::read_hb;
pub use recorded::{Record, is_record, read_record};
