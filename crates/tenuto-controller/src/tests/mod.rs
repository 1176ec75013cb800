//! The controller against switches in memory, in virtual time.

mod common_start;
mod compiling;
mod fake_switch;
mod headers;
mod installing;
mod lab;
mod misbehaving;
mod reactive;
mod reactive_events;
mod repairing;
mod sessions;
mod strangers;
mod transactions;
