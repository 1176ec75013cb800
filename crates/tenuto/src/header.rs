//! What every document begins with.

use serde::Serialize;

/// The keys that all documents share, in this order.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Header {
    schema: &'static str,
    version: &'static str,
    /// Where what is told happens: planned, simulated, live, …
    world: Option<&'static str>,
    seed: Option<u64>,
    plan_hash: Option<String>,
    verdict: &'static str,
}

impl Header {
    pub(crate) const fn new(schema: &'static str, verdict: &'static str) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        Self { schema, version, world: None, seed: None, plan_hash: None, verdict }
    }

    /// Of what a plan says.
    pub(crate) fn planned(schema: &'static str, verdict: &'static str, plan_hash: &str) -> Self {
        Self::new(schema, verdict).world("planned").plan_hash(plan_hash)
    }

    pub(crate) fn world(self, world: &'static str) -> Self {
        Self { world: Some(world), ..self }
    }

    pub(crate) fn seed(self, seed: Option<u64>) -> Self {
        Self { seed, ..self }
    }

    pub(crate) fn plan_hash(self, plan_hash: &str) -> Self {
        Self { plan_hash: Some(plan_hash.to_owned()), ..self }
    }
}
