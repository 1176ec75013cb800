//! What is written down and certified: the graph, the bounds, and why.

use crate::outcome::{Analysis, Method};
use crate::proof::{BurstClaim, LinearProof};
use serde::{Deserialize, Serialize};
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
    pub fn document(&self, graph: &ServerGraph) -> Document {
        let bound = |(bound, proof): (&crate::TargetBound, &Option<LinearProof>)| DocumentBound {
            flow: bound.flow,
            target: bound.target,
            delay_bound_ps: bound.delay,
            method: bound.method,
            proof: proof.clone(),
        };
        Document {
            schema: SCHEMA.to_owned(),
            description: graph.clone(),
            line_shaping: self.proofs.line_shaping,
            server_delays_ps: self.proofs.server_delays_ps.clone(),
            bursts: self.proofs.bursts.clone(),
            bounds: self.bounds.iter().zip(&self.proofs.linear).map(bound).collect(),
        }
    }
}
