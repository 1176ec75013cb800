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
mod listened;
mod mark;
mod masks;
mod measured;
mod messages;
mod meters;
mod model;
mod names;
mod procedure;
mod queues;
mod rig;
mod scene;
mod session;
mod summary;
mod throughput;
mod two_switches;
mod updates;
mod virtual_rig;
mod wiring;
mod written;
mod written_measured;

pub use buffer::{Capacity, capacities};
pub use cells::{Design, cells_of};
pub use checked::{CheckRow, RowVerdict, check};
pub use firmware::Firmware;
pub use forwarding::{Cell, Cost, forwarding};
pub use mark::number_of;
pub use masks::{MaskSample, Masks, masks};
pub use measured::{Measured, Room, Shape};
pub use messages::{MessageSample, messages};
pub use meters::{MeterSample, Meters, meters};
pub use names::{action_name, kind_name};
pub use procedure::{Settings, profile};
pub use queues::{Queues, queues};
pub use rig::{Event, HostNoise, ProfileError, Rig, Stamps};
pub use scene::Scene;
pub use session::{Exchange, Passed, Session};
pub use summary::Summary;
pub use throughput::{Throughput, output_rate, search_rate};
pub use two_switches::{TwoSwitches, TwoSwitchesSeen};
pub use updates::{Change, Update, updates};
pub use virtual_rig::VirtualRig;
pub use written::to_yaml;
