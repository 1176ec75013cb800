//! Bounds of whole paths, by linear proofs on server graphs.

mod class_graph;
mod processor_graph;
mod proofs;
mod reach;
mod whole_path;

pub(crate) use proofs::whole_paths;
pub(crate) use whole_path::WholePaths;
