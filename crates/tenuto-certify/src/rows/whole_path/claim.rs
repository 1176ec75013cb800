//! A linear proof of a plan, and the row that it is about.

use crate::kernel::server_graph::{Proof, Stop, Term};

/// A proof in the plan and what it is about.
pub(super) struct Claim<'a> {
    pub(super) stream: usize,
    pub(super) target: usize,
    pub(super) proof: &'a Proof,
    pub(super) place: String,
}

impl Claim<'_> {
    /// The proof with other names for flows' visits.
    ///
    /// # Errors
    /// If it names a visit that there is none of.
    pub(super) fn renamed(
        &self,
        name: impl Fn(usize, usize) -> Option<Stop>,
    ) -> Result<Proof, String> {
        let other = |(flow, visit): Stop| {
            name(flow, visit).ok_or_else(|| format!("flow {flow} does not visit {visit}"))
        };
        let mut proof = self.proof.clone();
        for term in &mut proof.terms {
            match term {
                Term::Monotone(_, stop, ..)
                | Term::Arrival(_, stop, ..)
                | Term::Passed(_, stop, ..)
                | Term::Left(_, stop, ..)
                | Term::Through(_, stop, ..)
                | Term::AllMonotone(_, stop, ..)
                | Term::AllArrival(_, stop, ..) => *stop = other(*stop)?,
                _ => {}
            }
        }
        Ok(proof)
    }
}
