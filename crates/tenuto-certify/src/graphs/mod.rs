//! Bounds on server graphs, as `tenuto-bounds/1` documents say them.

mod description;
mod document;
mod read;

pub use document::{BoundsCertificate, certify_bounds};
