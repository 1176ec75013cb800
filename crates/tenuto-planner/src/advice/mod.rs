//! Advice: where a bound comes from, and what would fit instead of what is refused.

pub(crate) mod explain;
pub(crate) mod explain_loss;
pub(crate) mod explain_route;
pub(crate) mod would_fit;
