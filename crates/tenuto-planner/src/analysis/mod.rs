//! The analysis of one set of routes: ports, processors and whole paths in every mode and raise.

pub(crate) mod context;
pub(crate) mod fixed_point;
pub(crate) mod hop_sum;
pub(crate) mod meters;
pub(crate) mod mode_input;
pub(crate) mod mode_result;
pub(crate) mod port;
pub(crate) mod port_graph;
pub(crate) mod processor;
pub(crate) mod purging;
pub(crate) mod raise_terms;
pub(crate) mod settled;
pub(crate) mod upstream;
mod upstream_curves;
mod visit;
pub(crate) mod whole_paths;
