//! What a schedule decides, as the world looks it up: the rank and the latency of every frame.

use super::schedule::LINE_FREE_RANK;
use super::schedule::{
    SCHEDULE_ITEMS_MAX, Schedule, ScheduledFrame, ScheduledRelease, Transmission,
};
use crate::{Release, assemble};
use std::collections::BTreeMap;
use tenuto_dataplane::FrameId;
use tenuto_model::{Addressing, Network, SHIM_BYTES};
use tenuto_units::{Instant, wire_bits};
use tenuto_wire::{ShimRepr, Stamp};

/// The rank of mode signals among what happens at one instant.
const SIGNAL_RANK: u8 = 64;
/// Transmissions that are kept.
const TRANSMISSIONS_MAX: usize = 1_000_000;
/// Headers of a datagram: Ethernet, IPv4, UDP.
const HEADERS_BYTES: usize = 42;
/// What a frame has on the line behind what is in memory.
const FCS_BYTES: u32 = 4;

/// What tells the frames of a flow from others: destination MAC, both IP addresses, UDP destination port.
type FlowKey = [u8; 16];

/// A schedule as the world reads it.
#[derive(Debug)]
pub(super) struct Choices {
    /// The level at which all switches start.
    pub(super) start_level: u8,
    /// What the babbling host sends, with the index of its flow.
    pub(super) frames: Vec<(u16, ScheduledFrame)>,
    pub(super) babbling_host: Option<String>,
    pub(super) transmissions: Vec<Transmission>,
    flow_of: BTreeMap<FlowKey, u16>,
    /// By flow: whether its frames have a shim.
    shims: Vec<bool>,
    orders: Vec<u8>,
    /// By node and flow.
    latencies_ns: BTreeMap<(usize, u16), u64>,
    /// By node.
    signal_latencies_ns: BTreeMap<usize, u64>,
    /// Per switch and frame in the pool: when it was put into queues. Frames are shared by the switches that they
    /// come to, and their places in the pool are used again.
    queued_ns: BTreeMap<(usize, FrameId), u64>,
}

/// A node by its name, and the latencies that it may take for a frame, ns.
pub(super) type NodeLatencies<'a> = (&'a str, (u64, u64));

/// What a frame is to a schedule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chosen {
    pub(super) rank: u8,
    /// `None`: the least of the node.
    pub(super) latency_ns: Option<u64>,
}

impl Choices {
    /// A schedule of a network, whose nodes are numbered as given.
    ///
    /// # Errors
    /// What of the schedule is not of this network.
    pub(super) fn read(
        network: &Network,
        nodes: &[NodeLatencies<'_>],
        schedule: &Schedule,
    ) -> Result<Self, String> {
        let mut choices = Self {
            start_level: start_level(network, &schedule.start_mode)?,
            frames: Vec::new(),
            babbling_host: schedule.babbling_host.clone(),
            transmissions: Vec::new(),
            flow_of: flow_keys(network),
            shims: network.flows.iter().map(|it| it.highest().size.has_shim()).collect(),
            orders: vec![LINE_FREE_RANK; network.flows.len()],
            latencies_ns: BTreeMap::new(),
            signal_latencies_ns: BTreeMap::new(),
            queued_ns: BTreeMap::new(),
        };
        for of in &schedule.flows {
            let flow = flow_index(network, &of.flow)?;
            choices.orders[usize::from(flow)] = of.order;
            for (switch, &latency_ns) in &of.latencies_ns {
                let node = node_with_latency(nodes, switch, latency_ns)?;
                choices.latencies_ns.insert((node, flow), latency_ns);
            }
        }
        for (switch, &latency_ns) in &schedule.signal_latencies_ns {
            let node = node_with_latency(nodes, switch, latency_ns)?;
            choices.signal_latencies_ns.insert(node, latency_ns);
        }
        for frame in &schedule.frames {
            let flow = flow_index(network, &frame.flow)?;
            let source = &network.flows[usize::from(flow)].source;
            if Some(source) != schedule.babbling_host.as_ref() {
                return Err(format!("{}: its source {source} does not babble", frame.flow));
            }
            choices.frames.push((flow, frame.clone()));
        }
        Ok(choices)
    }

    /// What was chosen for a frame on its way to a node.
    pub(super) fn of(&self, frame: &[u8], far: usize, is_signal: bool) -> Chosen {
        if is_signal {
            let latency_ns = self.signal_latencies_ns.get(&far).copied();
            return Chosen { rank: SIGNAL_RANK, latency_ns };
        }
        let Some(flow) = self.flow(frame) else {
            return Chosen { rank: LINE_FREE_RANK, latency_ns: None };
        };
        let latency_ns = self.latencies_ns.get(&(far, flow)).copied();
        Chosen { rank: self.rank_of(flow), latency_ns }
    }

    /// The rank of a flow's frames and releases.
    pub(super) fn rank_of(&self, flow: u16) -> u8 {
        self.orders.get(usize::from(flow)).copied().unwrap_or(LINE_FREE_RANK)
    }

    /// Remembers when a frame came to the queues of a switch.
    pub(super) fn record_queued(&mut self, node: usize, frame: FrameId, now: Instant) {
        self.queued_ns.insert((node, frame), now.as_ns());
    }

    /// Remembers a frame whose last bit has left; `start_ns` is when traffic started.
    pub(super) fn record_transmission(
        &mut self,
        (node, name, port): (usize, &str, u32),
        (frame, bytes): (FrameId, &[u8]),
        departure: Instant,
        start_ns: u64,
    ) {
        if start_ns == 0 || self.transmissions.len() >= TRANSMISSIONS_MAX {
            return;
        }
        let flow = self.flow(bytes);
        let has_shim = flow.is_some_and(|it| self.shims[usize::from(it)]);
        let shim_bytes = if has_shim { SHIM_BYTES as usize } else { 0 };
        let stamp = bytes.get(HEADERS_BYTES + shim_bytes..).and_then(Stamp::parse);
        let frame_bytes = u32::try_from(bytes.len()).unwrap_or(u32::MAX).saturating_add(FCS_BYTES);
        let queued_ns = self.queued_ns.get(&(node, frame)).map(|it| it.saturating_sub(start_ns));
        self.transmissions.push(Transmission {
            node: name.to_owned(),
            port,
            flow,
            message: stamp.map(|it| it.message_id),
            wire_bits: wire_bits(frame_bytes),
            departure_ns: departure.as_ns().saturating_sub(start_ns),
            queued_ns,
        });
    }

    fn flow(&self, frame: &[u8]) -> Option<u16> {
        self.flow_of.get(&key_of(frame)?).copied()
    }
}

fn start_level(network: &Network, mode: &str) -> Result<u8, String> {
    match network.modes.iter().position(|it| it == mode) {
        Some(level) => Ok(u8::try_from(level).unwrap_or(u8::MAX)),
        None if network.modes.len() < 2 => Ok(0),
        None => Err(format!("{mode} is no mode of this plan")),
    }
}

/// Index of a flow by name.
fn flow_index(network: &Network, name: &str) -> Result<u16, String> {
    let place = network.flows.iter().position(|it| it.name == name);
    let place = place.and_then(|it| u16::try_from(it).ok());
    place.ok_or_else(|| format!("the schedule names a flow {name}, which this plan does not have"))
}

/// A node by name, if it may take so long.
fn node_with_latency(
    nodes: &[NodeLatencies<'_>],
    name: &str,
    latency_ns: u64,
) -> Result<usize, String> {
    let node = nodes.iter().position(|it| it.0 == name);
    let node = node.ok_or_else(|| format!("the schedule names a switch {name}"))?;
    let (least, most) = nodes[node].1;
    if (least..=most).contains(&latency_ns) {
        return Ok(node);
    }
    Err(format!("{name} takes {least} to {most} ns for a frame, not {latency_ns} ns"))
}

/// The releases of a schedule.
///
/// # Errors
/// If it has too many, or of flows that the network does not have.
pub(super) fn releases(network: &Network, schedule: &Schedule) -> Result<Vec<Release>, String> {
    if schedule.releases.len() + schedule.frames.len() > SCHEDULE_ITEMS_MAX {
        return Err(format!("the schedule has more than {SCHEDULE_ITEMS_MAX} releases"));
    }
    let of = |it: &ScheduledRelease| {
        let flow = flow_index(network, &it.flow)?;
        Ok(Release { at_ns: it.at_ns, flow, bytes: it.bytes })
    };
    schedule.releases.iter().map(of).collect()
}

/// The key of a frame, if it is an untagged datagram.
fn key_of(frame: &[u8]) -> Option<FlowKey> {
    let mut key = [0; 16];
    key[..6].copy_from_slice(frame.get(..6)?);
    key[6..14].copy_from_slice(frame.get(26..34)?);
    key[14..].copy_from_slice(frame.get(36..38)?);
    Some(key)
}

fn flow_keys(network: &Network) -> BTreeMap<FlowKey, u16> {
    let addressing = Addressing::new(network);
    let key = |flow: u16| {
        let address = addressing.flow(usize::from(flow));
        let mut key = [0; 16];
        key[..6].copy_from_slice(&address.eth_dst);
        key[6..10].copy_from_slice(&address.ip_src);
        key[10..14].copy_from_slice(&address.ip_dst);
        key[14..].copy_from_slice(&address.udp_port.to_be_bytes());
        (key, flow)
    };
    (0u16..).take(network.flows.len()).map(key).collect()
}

/// Writes a frame of the babbling host: a flow's header, and a shim where the flow has them.
pub(super) fn emit(
    network: &Network,
    flow: u16,
    frame: &ScheduledFrame,
    buffer: &mut [u8],
) -> Option<usize> {
    let address = Addressing::new(network).flow(usize::from(flow));
    let len = usize::try_from(frame.frame_bytes.saturating_sub(FCS_BYTES)).ok()?;
    let written =
        assemble::udp_frame(&address, len.saturating_sub(HEADERS_BYTES)).emit(buffer).ok()?;
    let payload = buffer.get_mut(written.payload)?;
    let has_shim = network.flows[usize::from(flow)].highest().size.has_shim();
    if has_shim && payload.len() >= SHIM_BYTES as usize {
        let message_bytes = u32::try_from(payload.len()).ok()? - SHIM_BYTES;
        ShimRepr { message_id: frame.message, message_bytes, sequence: 0 }.emit(payload);
    }
    Some(written.len)
}
