//! Campaigns: runs drawn from seeds, as close to the fault model's edge as it allows or beyond it,
//! and the invariants that each of them is held against.
//!
//! A case is its seed: the same plan, seed and [`Reach`] give the same scenario, and so the same run.

mod case;
mod draw;
mod invariants;
mod tally;

pub use case::{Case, Ran};
pub use draw::{Reach, scenario};
pub use invariants::{Broken, Invariant, broken};
pub use tally::{Finding, RowTally, Tally};
