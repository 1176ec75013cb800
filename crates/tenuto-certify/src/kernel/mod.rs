//! Exact numbers and linear proofs: arithmetic that knows nothing of networks.

pub(crate) mod exact;
pub(crate) mod server_graph;
