//! Admission: decides flow by flow what a network can still promise.
//!
//! One interface, [`Engine`], and three ways to decide ([`Method`]). Everything is a pure function
//! of what was asked so far: no clock, no I/O, integers only. What is promised is a flow's deadline
//! and room for every frame of it, whatever comes later; the soundness argument is in
//! `docs/theory/admission.md`. [`audit`] recomputes a set of flows from nothing and shares no code
//! with the engine's inequalities.
//!
//! The forwarding model is store-and-forward: strict priority at the line rate, one frame of lower
//! priority in the way, and each incoming line brings at most one frame and what fits on it.
//! Switches whose ports share a [`Processor`] have one more server, for all of their ports together.

pub mod audit;
mod behind;
mod books;
mod ceilings;
mod curves;
mod engine;
mod envelope;
mod expecting;
mod fit;
mod frames;
mod lowering;
mod network;
mod pacing;
mod placing;
mod prices;
mod processors;
mod refusal;
mod rehearsal;
mod request;
mod reservation;
mod routes;
mod search;
mod shadow;
mod slack;
mod timing;
mod transition;
mod whole_frames;
mod yielding;

pub use ceilings::{Ceilings, Kept, best_for, narrowed};
pub use curves::QUEUES_MAX;
pub use engine::{Decision, Engine, Grant, Method, Move, RemovalError, Replanned};
pub use envelope::Meter;
pub use network::{CLOCK_TOLERANCE_PPM, Network, NetworkError, Node, NodeId, Port, PortId};
pub use pacing::{Paced, paced};
pub use processors::Processor;
pub use refusal::{Refusal, Resource, Scarce};
pub use request::{Request, Visit};
pub use reservation::{Place, Pricing, Reservation, Share, Yielding};
pub use timing::SwitchTiming;

#[cfg(test)]
mod tests;
