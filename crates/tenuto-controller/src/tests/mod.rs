//! The controller against switches in memory, in virtual time.

mod applications;
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
mod roles;
mod sessions;
mod strangers;
mod switches;
mod transactions;
