//! What a controller begins with.

use crate::decide::Planning;
use tenuto_model::{Network, Plan};

/// The network file that a controller begins with, and how it decides.
#[derive(Clone, Copy)]
pub(crate) struct Beginning<'a> {
    pub(crate) network: &'a Network,
    pub(crate) file: &'a str,
    pub(crate) planning: Planning,
    pub(crate) checker: fn(&Plan) -> Vec<String>,
}
