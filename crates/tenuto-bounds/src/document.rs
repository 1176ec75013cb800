//! What is written down and certified: the graph, the bounds, and why.

use crate::outcome::{Analysis, Method};
use crate::proof::{BurstClaim, LinearProof};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use tenuto_calculus::ServerGraph;
use tenuto_units::Picos;

/// The name of the format.
pub const SCHEMA: &str = "tenuto-bounds/1";

/// One bound as it is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentBound {
    /// Index of the flow.
    pub flow: usize,
    /// Index of the target in the flow.
    pub target: usize,
    /// The bound; null: none.
    pub delay_bound_ps: Option<Picos>,
    /// The method that gave it.
    pub method: Method,
    /// Its linear proof; null: the sum of the servers' delays and the constant is the bound.
    pub proof: Option<LinearProof>,
}

/// A graph with its bounds and all that the checker needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: String,
    /// SHA-256 of the compact JSON of `description`, in hex.
    pub description_digest: String,
    /// SHA-256 of the compact JSON of the whole document with this field empty, in hex: what was
    /// changed since, by accident or not, is told from what was found.
    pub plan_hash: String,
    /// The graph.
    pub description: ServerGraph,
    /// Whether lines are taken to bound what leaves a server together.
    pub line_shaping: bool,
    /// Per server: its delay by total flow analysis; null: none.
    pub server_delays_ps: Vec<Option<Picos>>,
    /// Bursts inside the network, each proved from all the others.
    pub bursts: Vec<BurstClaim>,
    /// Every flow and target once.
    pub bounds: Vec<DocumentBound>,
}

impl Analysis {
    /// The document of this analysis of `graph`.
    ///
    /// # Panics
    /// Never: no map in it has other keys than texts.
    pub fn document(&self, graph: &ServerGraph) -> Document {
        let bound = |(bound, proof): (&crate::TargetBound, &Option<LinearProof>)| DocumentBound {
            flow: bound.flow,
            target: bound.target,
            delay_bound_ps: bound.delay,
            method: bound.method,
            proof: proof.clone(),
        };
        let mut document = Document {
            schema: SCHEMA.to_owned(),
            description_digest: digest(graph),
            plan_hash: String::new(),
            description: graph.clone(),
            line_shaping: self.proofs.line_shaping,
            server_delays_ps: self.proofs.server_delays_ps.clone(),
            bursts: self.proofs.bursts.clone(),
            bounds: self.bounds.iter().zip(&self.proofs.linear).map(bound).collect(),
        };
        document.plan_hash = digest(&document);
        document
    }
}

/// SHA-256 of the compact JSON, in hex.
fn digest(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).expect("keys are texts");
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing to a string");
        hex
    })
}
