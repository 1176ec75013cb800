//! One hop of one tree.

/// One hop of one tree, with everything that its curves need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    /// Index of the tree.
    pub(crate) tree: usize,
    /// Index of the egress.
    pub(crate) server: usize,
    /// The visit before, `None` at the source.
    pub(crate) parent: Option<usize>,
    /// How many hops lie before it; 1 is the first switch.
    pub(crate) depth: usize,
}
