//! Measuring switches of others: real interfaces and a real control connection as a bench
//! ([`tenuto_world::profiling`]).
//!
//! One host has two or more ports of the switch and is its controller. The procedures are those of virtual devices; what is
//! different is here: frames that leave as soon as the machine can, stamps of the kernel or of the network device, and the
//! machine's own delays, which are measured beside.

mod channel;
mod host_watch;
mod live_rig;
mod taps;

pub use channel::Channel;
pub use live_rig::{LiveRig, LiveRigSettings};
pub use taps::StampsWanted;
