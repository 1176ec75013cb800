//! Server graphs, and linear proofs about them (docs/theory/end-to-end.md).

mod linear;
mod net;
mod passage;
mod paths;
mod read;
mod service;
mod tree;
mod ways;

pub(crate) use linear::{Objective, proved};
pub(crate) use net::Net;
pub(crate) use read::{
    Bucket, Burst, Flow, Graph, Multiplexing, Proof, RateLatency, Server, Stop, Term, Visit,
};
pub(crate) use service::FINE;
