//! Copies of flows on their ways, and what of them arrives where.

pub(crate) mod attributed;
pub(crate) mod envelopes;
pub(crate) mod levels;
pub(crate) mod messages;
pub(crate) mod routes;
pub(crate) mod scale;
pub(crate) mod stream;
pub(crate) mod upstream;
