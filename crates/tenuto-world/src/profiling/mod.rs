//! A model of a switch by measurement (\[Loko\] section 3): what a plan believes of it, with the samples behind it.
//!
//! The procedures are pure: they speak to a [`Rig`], which sends control bytes and frames at instants and gives back
//! what left the device with stamps. Virtual devices and devices on a bench are measured by the same code. What a
//! measured model promises, and what not, is in docs/theory/measured-models.md.

mod buffer;
mod cells;
mod checked;
mod firmware;
mod fit;
mod forwarding;
mod measured;
mod messages;
mod model;
mod procedure;
mod rig;
mod scene;
mod session;
mod summary;
mod throughput;
mod two_switches;
mod virtual_rig;
mod written;

pub use buffer::{Capacity, capacities};
pub use cells::{Design, cells_of};
pub use checked::{Excess, check};
pub use firmware::Firmware;
pub use forwarding::{Cell, Cost, forwarding};
pub use measured::{Measured, Shape};
pub use messages::{MessageSample, messages};
pub use procedure::{Settings, profile};
pub use rig::{ProfileError, Rig, Stamps};
pub use scene::Scene;
pub use session::Session;
pub use summary::Summary;
pub use throughput::{output_rate, search_rate};
pub use two_switches::{TwoSwitches, TwoSwitchesSeen};
pub use virtual_rig::VirtualRig;
pub use written::to_yaml;
