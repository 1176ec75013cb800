//! Admission benchmarks: lists of requests in, decisions and their audit out.

mod ceiling;
mod files;
mod generated;
mod measure;
mod operations;
mod text;

pub(crate) use files::{List, read_list};
pub(crate) use generated::generated;
pub(crate) use measure::{Report, Setting, measure};
pub(crate) use operations::read_operations;
pub(crate) use text::text;

use tenuto_admission::Request;

/// One step of a list.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// A flow asks.
    Add(Request),
    /// An earlier flow goes.
    Remove(u64),
}
