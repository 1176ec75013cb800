//! The independent exact checker of plans; no floats.
//!
//! A plan carries a description and claims about it. [`certify`] reads the text of a plan by
//! itself and trusts no number that it can rebuild: from the description it makes frames,
//! contracts, trees, groups and curves anew, and every claim then has to satisfy an inequality in
//! exact arithmetic. It shares no code with the planner; both follow the same chapter
//! (`docs/theory/analysis.md`). What is enforced (meters and monitors) is taken as deployed, and
//! the tables are walked with sets of headers, so that nothing is analysed that is not enforced.
//!
//! This crate opens no file and never panics on any text. Every difference is a [`Finding`], and
//! all are reported at once.

#![deny(clippy::float_arithmetic)]

mod assumptions;
mod budget;
mod certificate;
mod deployment;
mod description;
mod digest;
mod finding;
mod graphs;
mod kernel;
mod link_loss;
mod rows;
mod streams;
mod text;

pub use certificate::{Certificate, certify};
pub use finding::Finding;
pub use graphs::{BoundsCertificate, certify_bounds};
pub use text::PLAN_BYTES_MAX;
