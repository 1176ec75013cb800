//! OpenFlow messages as bytes. One program, since every program is linked by itself.

mod captured;
mod common;
mod golden;
mod golden_attendre;
mod golden_full;
mod golden_modes;
mod golden_queues;
mod golden_slices;
mod malformed;
mod properties;
