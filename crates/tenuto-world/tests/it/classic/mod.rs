//! The classic model: its counts against those of the tool that it follows, and the bugs of its paper.

mod bugs;
mod counts;
mod outcomes;
