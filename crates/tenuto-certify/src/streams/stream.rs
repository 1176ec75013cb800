//! A copy of a flow and the ports that carry it.

/// One copy of a flow and the tree of ports that carries it, parents first.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) flow: usize,
    /// Index into the flow's copies; 0 where there is one network.
    pub(crate) copy: usize,
    pub(crate) tree: Vec<TreePort>,
    /// Per place in `tree` the places that follow it.
    pub(crate) children: Vec<Vec<usize>>,
    /// Per target the places in `tree` from the source on.
    pub(crate) paths: Vec<Vec<usize>>,
    /// The first switch, unless source and target are neighbours.
    pub(crate) first_switch: Option<usize>,
    /// Whether its flow is to be watched, but not at the first switch.
    pub(crate) is_watched_late: bool,
    /// Per place in `tree` the slower lines farther back than the one in front, the nearest first.
    pub(crate) slower: Vec<Vec<SlowLine>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct TreePort {
    pub(crate) port: usize,
    pub(crate) parent: Option<usize>,
}

/// A slower line on the way of a stream to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlowLine {
    /// Its place in the stream's tree.
    pub(crate) place: usize,
    /// A number shared by all that came from this line over equal ports.
    pub(crate) way: usize,
}
