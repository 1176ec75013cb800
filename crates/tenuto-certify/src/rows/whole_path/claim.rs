//! A linear proof of a plan, and the row that it is about.

use crate::kernel::server_graph::Proof;

/// A proof in the plan and what it is about.
pub(super) struct Claim<'a> {
    pub(super) stream: usize,
    pub(super) target: usize,
    pub(super) proof: &'a Proof,
    pub(super) place: String,
}
