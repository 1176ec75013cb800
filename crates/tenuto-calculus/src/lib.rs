//! Arrival curves, min-plus operators and deviations in exact integers.
//!
//! Everything here is a pure function of integers: bursts in 10⁻⁶ bit, rates in 10⁻⁶ bit/s, times
//! in picoseconds; a rate times a time is then in 10⁻¹⁸ bit, as is a burst times 10¹². No result
//! is ever rounded in the unsafe direction, and each delay is the least whole picosecond that
//! [`holds`] in exact arithmetic (theory, "Delay of class k at port p"). Where a number leaves the
//! range in which products are exact, or where load exceeds capacity, there is no bound: `None`.

mod bucket;
mod concave;
mod deviation;
mod graph;
mod group;
mod nested;
mod peak;
mod staircase;
mod stepped;

pub use bucket::{Bucket, UBIT_PER_BIT, div_up, ubits};
pub use deviation::{Server, backlog, busy_period, delay, holds};
pub use graph::{
    GraphFlow, GraphServer, GraphTarget, GraphVisit, Multiplexing, RateLatency, ServerGraph,
};
pub use group::{Flows, GroupCurves};
pub use staircase::{Staircase, Step, SteppedGroup};
pub use stepped::{backlog_stepped, busy_period_stepped, delay_stepped};

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
