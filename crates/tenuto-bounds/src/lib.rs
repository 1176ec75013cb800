//! End-to-end delay bounds on server graphs, and the proofs that go with them.
//!
//! The wall of this crate is its number policy: searching for a bound may use floating point and
//! a linear-programming solver, so nothing in here is believed. A search ends in a *proof*, plain
//! integers that the independent checker re-computes exactly; a bound without a proof is never
//! printed.
//!
//! This crate opens no file, owns no clock and starts no thread of its own accord.

pub use tenuto_calculus::{
    Bucket, GraphFlow, GraphServer, GraphTarget, GraphVisit, Multiplexing, RateLatency, ServerGraph,
};

mod analyse;
mod any_order;
mod blind;
mod cholesky;
mod curve;
mod cyclic;
mod document;
mod exact;
mod executor;
mod factors;
mod grouping;
mod inner;
mod interior;
mod natural;
mod outcome;
mod passing;
mod program;
mod proof;
mod prove;
mod search;
mod shorten;
mod simplex;
mod solver;
mod surroundings;
mod tfa;
mod topology;
mod tree;
mod whole;

pub use analyse::{analyse, analyse_on, has_cycles, tighten};
pub use document::{Document, DocumentBound, SCHEMA};
pub use executor::{Executor, InTurn};
pub use natural::Natural;
pub use outcome::{Analysis, Effort, Method, Options, Progress, TargetBound};
pub use proof::{BurstClaim, Date, DateKind, LinearProof, Node, Proofs, Term};
pub use topology::line_loads_ubps;
