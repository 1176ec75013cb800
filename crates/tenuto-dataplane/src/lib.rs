//! Switch, egress and end system as sans-I/O state machines: bytes and time in, bytes and
//! deadlines out.
//!
//! Nothing here owns a socket, a clock, a thread or a random source, so the same code runs live,
//! simulated and explored. The shape every node has:
//!
//! - `receive(now, arrival, port, frame, …)`: a frame enters with its arrival stamp (≤ now,
//!   non-decreasing per port). Meters and monitors judge by *arrival*, schedulers by *now*.
//! - `for_each_deadline(visit)` and `fire(timer, now, …)`: timers have names ([`TimerId`]), so an
//!   explorer can fire any of them.
//! - Frames are handles ([`FrameId`]) into a [`Frames`] store that is passed per call; nothing is
//!   allocated per packet after start-up.
//! - What a call causes is appended to [`Effects`]; what it cost is returned as [`Work`].
//!
//! **Invariant:** a core never drops a frame silently: every handle that enters is transmitted,
//! consumed by a receiver, or listed in [`Effects::drops`] with its reason.

mod effects;
mod egress;
pub mod endsystem;
mod frames;
pub mod switch;

pub use effects::{DropReason, Dropped, Effects, TimerId, Transmit, Work};
pub use egress::{
    Delays, Egress, EgressConfig, EgressStats, QueueCounters, QueueFull, Queued, SIGNAL_QUEUE,
    Share, UNPACED_BPS,
};
pub use frames::{FRAME_CAPACITY, FrameId, FramePool, Frames, LENT_MAX, LentFrames};
