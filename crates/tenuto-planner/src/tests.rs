//! The planner against the theory's examples, published figures, and hand-computed networks.

mod apart;
mod builder;
mod certificate;
mod choosing;
mod comparisons;
mod deployment;
mod envelopes;
mod lines;
mod losses;
mod modes;
mod refusals;
mod replay;
mod routes;
mod settling;
mod single_mode;
mod witnesses;
