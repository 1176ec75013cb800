//! OpenFlow sessions, compilation of deployments and reconciliation, sans-I/O.
//!
//! What this crate owns: the way from a plan's neutral deployment to switches that hold it, and the
//! proof that they do. [`compile()`] maps a deployment one to one to OpenFlow messages;
//! [`Session`] keeps one channel; [`Controller`] brings every switch of a plan to what is wanted,
//! reads it back, and lets all of them start together.
//!
//! It owns no socket, clock, thread or randomness: bytes and instants go in, bytes, deadlines and
//! events come out, the same for the same input. Everything is `Clone`, so that a run can be forked.
//!
//! - *Proactive.* Forwarding never waits for the controller: every entry is installed beforehand,
//!   and a packet that reaches the controller is a reported anomaly. Applications that do decide
//!   packet by packet are in [`reactive`], apart from plans.
//! - *Confirmed, not sent.* A switch counts as installed only after a barrier reply and a read-back
//!   that equals what is wanted, field by field.
//! - *Everything has a limit*, and nothing that a switch sends makes the controller panic.

mod change;
mod compile;
mod controller;
mod difference;
mod events;
mod installer;
mod leadership;
mod members;
mod mode_changer;
mod outcome;
pub mod reactive;
mod read_back;
mod renamed;
mod session;
mod tables;
mod target;
#[cfg(test)]
mod tests;
mod watching;

pub use compile::{ModeSettings, compile};
pub use controller::{Controller, ControllerConfig, ControllerLimits, ControllerTimer};
pub use difference::Difference;
pub use events::{Anomaly, ConnId, ControllerEvent, NoPlace};
pub use installer::{Approach, InstallLimits, InstallTimer};
pub use leadership::Leadership;
pub use mode_changer::{ChangerMode, ModeChanger, ModeCommands};
pub use outcome::{InstallEvent, InstallFailure, InstallKind};
pub use session::{Refusal, Session, SessionError, SessionEvent, SessionLimits, SessionTimer};
pub use watching::{ARP_ETHER_TYPE, LLDP_ADDRESS, LLDP_ETHER_TYPE};
