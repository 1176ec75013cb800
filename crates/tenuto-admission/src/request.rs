//! What is asked for, and where it would go.

use crate::network::{Network, NodeId, PortId};

/// A flow that asks to be carried: a token bucket from one host to one or more, with a deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Chosen by who asks; asking again with the same number and content changes nothing.
    pub id: u64,
    /// Where it starts.
    pub source: NodeId,
    /// Where it ends; one copy at each.
    pub targets: Vec<NodeId>,
    /// Rate of the bucket, bit/s on the wire by the source's clock.
    pub rate_bps: u64,
    /// Burst of the bucket, bits on the wire: what may come to the source's queue at once, release jitter included.
    pub burst_bits: u64,
    /// The largest frame, bits on the wire: preamble, gap and padding count.
    pub frame_bits: u64,
    /// From the release at the source to the last bit at each target, ns.
    pub deadline_ns: u64,
}

/// The shortest frame, 64 B, with preamble and gap, bits on the wire.
const FRAME_BITS_MIN: u64 = 84 * 8;
/// Values beyond these leave the range in which the engine is exact.
const DEADLINE_NS_MAX: u64 = 10_000_000_000;
const BURST_BITS_MAX: u64 = 1 << 40;
const RATE_BPS_MAX: u64 = 1_000_000_000_000;

impl Request {
    /// The least time between two bursts that its rate allows, ns rounded down: the period of a
    /// contract that brings no less than the flow does. Such a contract is what the engine counts.
    pub fn period_ns(&self) -> u64 {
        let ns = u128::from(self.burst_bits) * 1_000_000_000 / u128::from(self.rate_bps.max(1));
        u64::try_from(ns).unwrap_or(u64::MAX).max(1)
    }

    /// Whether every value is in range.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub(crate) fn check(&self, network: &Network) -> Result<(), &'static str> {
        let nodes = network.nodes().len();
        let frames = 1..=self.burst_bits;
        if network.frame_bits_exact().is_some_and(|bits| bits != self.frame_bits) {
            return Err("a frame has another size than the switches' processors were measured for");
        }
        if self.frame_bits > network.frame_bits_max() {
            return Err("a frame is larger than what some port expects to have in the way");
        }
        if self.frame_bits < FRAME_BITS_MIN {
            return Err("no frame takes less than 84 B on the wire: 64 B, preamble and gap");
        }
        if !(1..=RATE_BPS_MAX).contains(&self.rate_bps) {
            return Err("the rate has to be from 1 bit/s to 1 Tbit/s");
        }
        if !frames.contains(&self.frame_bits) || self.burst_bits > BURST_BITS_MAX {
            return Err("a frame is no longer than the burst, and that no more than 2^40 bits");
        }
        if !(1..=DEADLINE_NS_MAX).contains(&self.deadline_ns) {
            return Err("the deadline has to be from 1 ns to 10 s");
        }
        if [self.source].iter().chain(&self.targets).any(|node| node.index() >= nodes) {
            return Err("source and targets have to be nodes of the network");
        }
        if self.targets.is_empty() || self.targets.contains(&self.source) {
            return Err("a flow needs a target other than its source");
        }
        Ok(())
    }
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
