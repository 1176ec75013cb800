//! Methods that are right for other switches: printed beside ours, never part of a plan.
//!
//! Both assume that switches process frames at line rate and that ports do not disturb one another
//! ([Loko] section 2.3). Nothing here is valid for switches whose ports share a processor.

pub mod qjump;
pub mod silo;
