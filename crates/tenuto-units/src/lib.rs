//! Time, data and rate as integers; every conversion says which way it rounds.
//!
//! Inside the data plane time is whole nanoseconds ([`Instant`], [`Span`]): what kernels stamp and
//! what 584 years of uptime fit into. Where a nanosecond is too coarse (serialising 8 bits at
//! 10 Gbit/s) the pacer keeps the remainder and the analysis counts one tick per port; see
//! [`Rate::has_whole_nanosecond_bits`]. Bounds are computed in picoseconds ([`Picos`]) and rounded
//! up to nanoseconds when printed.
//!
//! This crate owns no clock and no source of chance: an instant is always an input, and draws
//! ([`Draws`], [`Xorshift`]) follow from a seed.

mod counted;
mod data;
mod draws;
mod rate;
mod time;

pub use counted::counted;
pub use data::{
    FRAME_BYTES_MAX, FRAME_BYTES_MIN, WIRE_OVERHEAD_BYTES, frame_bytes_padded, wire_bits,
};
pub use draws::{Draws, Xorshift};
pub use rate::Rate;
pub use time::{Instant, Picos, Span};
