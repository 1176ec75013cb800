//! What is asked for, and where it would go.

use crate::network::{NodeId, PortId};

/// A flow that asks to be carried: a token bucket from one host to one or more, with a deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Chosen by who asks; asking again with the same number and content changes nothing.
    pub id: u64,
    /// Where it starts.
    pub source: NodeId,
    /// Where it ends; one copy at each.
    pub targets: Vec<NodeId>,
    /// Rate of the bucket, bit/s on the wire.
    pub rate_bps: u64,
    /// Burst of the bucket, bits on the wire.
    pub burst_bits: u64,
    /// The largest frame, bits on the wire.
    pub frame_bits: u64,
    /// From the release at the source to the last bit at each target, ns.
    pub deadline_ns: u64,
}

/// One port on a flow's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The port.
    pub port: PortId,
    /// Its queue, 0 before all others.
    pub queue: u8,
    /// Place of the visit before it on the tree; `None` at the source.
    pub parent: Option<u16>,
    /// Whether a target is behind this port.
    pub is_last: bool,
}
