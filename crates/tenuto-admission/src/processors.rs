//! Switches whose ports share a processor (\[Loko\] section 4): one server per switch, in front of
//! its lines.
//!
//! The server offers β_{R,T} to all frames that enter the switch together, whichever port they leave
//! by: the port model with C = R and R·T in the way. R and T are measured for frames of one size; on
//! such a network every frame has that size. The server may be faster than R at any time, so what
//! leaves it is shaped by the line behind it and never by R.

use crate::network::{Network, NetworkError, Node, NodeId, Port, PortId};

const NS_PER_S: u128 = 1_000_000_000;

/// The processor that the ports of a switch share, for frames of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// R: frames' bits that it forwards at least, bit/s.
    pub rate_bps: u64,
    /// T: it may let a frame wait for so long before it serves at R, ns rounded up.
    pub latency_ns: u64,
    /// Whole frames that fit, the one in service included.
    pub room_frames: u32,
    /// The frame, bytes as the lines count them.
    pub frame_bytes: u32,
    /// Rate of the line between the processor and the ports, bit/s.
    pub output_bps: u64,
}

impl Network {
    /// As [`Network::new`], of which some switches forward with a shared processor: one entry per
    /// node, `None` where every port is served at its line rate.
    ///
    /// Such a switch becomes two nodes with the processor between them, as one more port: behind
    /// all given ones, in the order of the nodes.
    ///
    /// # Errors
    /// As [`Network::new`]; processors at hosts or beyond the nodes, and such as were measured for
    /// frames of different sizes.
    pub fn with_processors(
        mut nodes: Vec<Node>,
        mut ports: Vec<Port>,
        processors: &[Option<Processor>],
    ) -> Result<Self, NetworkError> {
        let lines = ports.len();
        let mut emitted_bps: Vec<u64> = ports.iter().map(|port| port.rate_bps).collect();
        let mut frame_bytes = None;
        for (id, processor) in (0_u32..).map(NodeId).zip(processors) {
            let Some(it) = processor else { continue };
            if !nodes.get(id.index()).is_some_and(|node| node.is_switch) {
                return Err(NetworkError::NoSwitch { node: id.0 });
            }
            let known = *frame_bytes.get_or_insert(it.frame_bytes);
            if known != it.frame_bytes {
                return Err(NetworkError::FrameSizes { one: known, other: it.frame_bytes });
            }
            let behind = NodeId(u32::try_from(nodes.len()).unwrap_or(u32::MAX));
            let name = format!("{} behind its processor", nodes[id.index()].name);
            nodes.push(Node { name, is_switch: true });
            ports[..lines].iter_mut().filter(|port| port.from == id).for_each(|port| {
                port.from = behind;
            });
            ports.push(it.port(id, behind));
            emitted_bps.push(it.output_bps);
        }
        let mut network = Self::new(nodes, ports)?;
        network.set_processors(lines, emitted_bps, frame_bytes.map(|bytes| u64::from(bytes) * 8));
        Ok(network)
    }

    /// Whether this port is the processor of a switch.
    pub(crate) fn is_processor(&self, id: PortId) -> bool {
        id.index() >= self.lines()
    }
}

impl Processor {
    fn port(&self, from: NodeId, to: NodeId) -> Port {
        let waiting_bits =
            (u128::from(self.rate_bps) * u128::from(self.latency_ns)).div_ceil(NS_PER_S);
        Port {
            from,
            to,
            rate_bps: self.rate_bps,
            propagation_ns: 0,
            queues: 1,
            queue_bytes: self.room_frames.saturating_mul(self.frame_bytes),
            blocking_bytes: u32::try_from(waiting_bits.div_ceil(8)).unwrap_or(u32::MAX),
        }
    }
}
