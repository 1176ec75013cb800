//! What a plan says: bounds row by row, what every switch is told, and refusals.

pub(crate) mod assumptions;
pub(crate) mod deployment;
pub(crate) mod entries;
pub(crate) mod other_traffic;
pub(crate) mod processor_rows;
pub(crate) mod refusal;
pub(crate) mod rows;
