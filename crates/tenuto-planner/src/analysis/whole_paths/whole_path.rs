//! Bounds of whole paths that are less than the sums of their hops.

use std::collections::BTreeMap;
use tenuto_model::{Transition, WholePathProof};

/// A proved bound of one copy to one target.
#[derive(Clone, Debug)]
pub(crate) struct WholePath {
    pub(crate) delay_ps: u64,
    pub(crate) proof: WholePathProof,
    /// Nodes behind the root on the longest branch of its tree.
    pub(crate) nodes_behind_root: usize,
}

/// By mode, tree and place of the target.
pub(crate) type WholePaths = BTreeMap<(Transition, usize, usize), WholePath>;
