//! Admission benchmarks: lists of requests in, decisions and their audit out.

mod ceiling;
mod files;
mod generated;
mod measure;
mod operations;
mod planned;
mod sizes;
mod text;

pub(crate) use files::{List, read_list};
pub(crate) use generated::generated;
pub(crate) use measure::{Report, Setting, measure};
pub(crate) use operations::{LineRates, read_operations};
pub(crate) use planned::{QUEUES, network_of};
pub(crate) use text::text;

#[cfg(test)]
mod tests;

use tenuto_admission::Request;

/// One step of a list.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// A flow asks.
    Add(Request),
    /// An earlier flow goes.
    Remove(u64),
}
