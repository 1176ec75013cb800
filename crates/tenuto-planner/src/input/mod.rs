//! What a description says, as the analysis takes it.

pub(crate) mod envelope;
pub(crate) mod topology;
pub(crate) mod transitions;
