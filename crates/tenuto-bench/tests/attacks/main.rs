//! An adversary of certified bounds: held against schedules by hand and the simulated world, and let loose.

mod aimed;
mod as_clockwork;
mod bounds_hold;
mod common;
mod played_by_hand;
mod witnesses;
