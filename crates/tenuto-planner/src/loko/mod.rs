//! Loko's network model: what a switch may be given so that its delay and buffer hold for good.
//!
//! An [`Allocation`] promises, per switch, a delay for any traffic within one token bucket; it
//! stays valid whatever is added later, as long as the sum stays within (\[Loko\] section 5). Where
//! flows are known, the analysis of [`crate::plan`] is tighter.

mod allocation;
mod demand;
mod search;

pub use allocation::{Allocation, SwitchModel};
pub use demand::{Admission, Allocations, Demand, admit, between_hosts, ring};
pub use search::optimised;
