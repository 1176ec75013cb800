//! The document of bounds as it is read; nothing in it is believed.

use crate::kernel::server_graph::{Burst, Graph, Proof};
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Bound {
    pub(super) flow: usize,
    pub(super) target: usize,
    pub(super) delay_bound_ps: Option<i128>,
    pub(super) proof: Option<Proof>,
}

/// Members that this checker does not know may be added to a document; not to its description.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Document {
    pub(super) schema: String,
    pub(super) description_digest: String,
    pub(super) plan_hash: String,
    pub(super) description: Graph,
    pub(super) line_shaping: bool,
    pub(super) server_delays_ps: Vec<Option<i128>>,
    pub(super) bursts: Vec<Burst>,
    pub(super) bounds: Vec<Bound>,
}
