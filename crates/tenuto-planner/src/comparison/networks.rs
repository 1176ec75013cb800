//! What Silo and QJump would promise to the flows of a network: for comparison only.
//!
//! Sizes are frames with FCS, without preamble and gap, as \[Loko\] counts them. Both look at output
//! lines alone; where the ports of a switch share a processor, what they promise does not hold.

use super::qjump;
use super::silo::{SiloLoad, SiloPort};
use crate::input::topology::Topology;
use crate::routes::{Plot, Tree};
use std::collections::BTreeMap;
use tenuto_model::{Action, Flow, MatchType, Network, Profile, Use};
use tenuto_units::{FRAME_BYTES_MIN, WIRE_OVERHEAD_BYTES};

const NS_PER_S: u128 = 1_000_000_000;

/// One egress of a switch as Silo sees it, with every flow that it admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedPort {
    /// `sw1:3 > sw2`.
    pub label: String,
    /// c_i, picoseconds up.
    pub capacity_ps: u64,
    /// p_i, picoseconds up.
    pub bound_ps: u64,
}

/// What one flow is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedFlow {
    /// Its name.
    pub name: String,
    /// The latency promised to its farthest target, picoseconds; `None` where it is not admitted.
    pub promise_ps: Option<u64>,
    /// Why not.
    pub refusal: Option<String>,
}

/// Silo's and QJump's view of a network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Every egress that a flow takes; empty for QJump, which looks at none.
    pub ports: Vec<ComparedPort>,
    /// Every flow, in the network's order.
    pub flows: Vec<ComparedFlow>,
    /// What was assumed.
    pub notes: Vec<String>,
    /// Switches that are not what the method assumes: their ports share a processor.
    pub unfit_switches: Vec<String>,
}

/// A flow as both methods count it.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    frame_bytes: u32,
    load: SiloLoad,
}

impl Sizes {
    fn of(flow: &Flow) -> Self {
        let contract = flow.highest();
        let mix = contract.size.frames(false);
        let overhead_bits = u64::from(mix.frames * WIRE_OVERHEAD_BYTES) * 8;
        let burst_bits = mix.message_wire_bits - overhead_bits;
        let rate =
            (u128::from(burst_bits) * NS_PER_S).div_ceil(u128::from(contract.period_ns.max(1)));
        let rate_bps = u64::try_from(rate).unwrap_or(u64::MAX);
        let frame_bytes = mix.frame_bytes_max.max(FRAME_BYTES_MIN);
        Self { frame_bytes, load: SiloLoad { rate_bps, burst_bits } }
    }
}

/// Silo (\[Loko\] appendix A): flows in the network's order, each admitted if p_i ≤ c_i holds at all
/// of its ports; what it is promised is Σc_i.
///
/// Where ports share a processor, the buffer before it is divided among those that have a link, in
/// whole frames of the largest size, as the paper does; else it is the buffer of the port.
///
/// # Errors
/// The name of a switch that states no buffer at all.
pub fn silo(network: &Network) -> Result<Compared, String> {
    let topology = Topology::new(network);
    let frame_bytes = largest_frame(network);
    let mut ports: BTreeMap<usize, (SiloPort, SiloLoad)> = BTreeMap::new();
    let routes = Plot::of_network(&topology).fewest_hops();
    for server in routes.trees.iter().flat_map(|tree| &tree.hops).map(|hop| hop.server) {
        if let Some(profile) = topology.nodes[topology.servers[server].node].profile {
            let name = topology.nodes[topology.servers[server].node].name;
            let linked = u64::try_from(network.ends_of(name).count()).unwrap_or(u64::MAX);
            let buffer_bytes = buffer_bytes(profile, frame_bytes, linked).ok_or(name)?;
            let port = SiloPort { line_bps: topology.servers[server].rate_bps, buffer_bytes };
            ports.insert(server, (port, SiloLoad::default()));
        }
    }
    let mut compared = Compared { unfit_switches: unfit(network), ..Compared::default() };
    for (index, flow) in network.flows.iter().enumerate() {
        let own: Vec<&Tree> = routes.trees.iter().filter(|tree| tree.flow == index).collect();
        compared.flows.push(admit(&topology, flow, &own, &mut ports));
    }
    let bound = |(server, (port, load)): (&usize, &(SiloPort, SiloLoad))| ComparedPort {
        label: topology.label(*server),
        capacity_ps: port.queue_capacity_ps(),
        bound_ps: port.queue_bound_ps(*load).unwrap_or(u64::MAX),
    };
    compared.ports = ports.iter().map(bound).collect();
    compared.notes.push(format!(
        "the promise is the sum of queue capacities of the switches on the way; the host's own \
         queue is not in it; frames of up to {frame_bytes} B"
    ));
    Ok(compared)
}

fn admit(
    topology: &Topology<'_>,
    flow: &Flow,
    trees: &[&Tree],
    ports: &mut BTreeMap<usize, (SiloPort, SiloLoad)>,
) -> ComparedFlow {
    let source = Sizes::of(flow).load;
    let mut with = ports.clone();
    let mut refusal = trees.is_empty().then(|| "no route".to_owned());
    let mut promise_ps = 0;
    for tree in trees {
        let mut behind: Vec<(SiloLoad, u64)> = Vec::with_capacity(tree.hops.len());
        for hop in &tree.hops {
            let (load, promised) = hop.parent.map_or((source, 0), |parent| behind[parent]);
            let Some((port, sum)) = with.get_mut(&hop.server) else {
                behind.push((load, promised));
                continue;
            };
            sum.rate_bps = sum.rate_bps.saturating_add(load.rate_bps);
            sum.burst_bits = sum.burst_bits.saturating_add(load.burst_bits);
            if !port.accepts(*sum) {
                refusal.get_or_insert_with(|| format!("p > c at {}", topology.label(hop.server)));
            }
            let promised = promised.saturating_add(port.queue_capacity_ps());
            behind.push((load.behind(port), promised));
            promise_ps = promise_ps.max(promised);
        }
    }
    if refusal.is_none() {
        *ports = with;
    }
    let promise_ps = refusal.is_none().then_some(promise_ps);
    ComparedFlow { name: flow.name.clone(), promise_ps, refusal }
}

/// QJump (\[Loko\] section 2.3): every host sends at most one frame of the largest size per network
/// epoch 2nP/R + ε, which is what all flows are promised. R is the slowest line, ε the longest sum
/// of processing times on a route.
pub fn qjump(network: &Network) -> Compared {
    let topology = Topology::new(network);
    let frame_bytes = largest_frame(network);
    let line_bps = network.links.iter().map(|link| link.rate_bps).min().unwrap_or(1);
    let epsilon_ps = |tree: &Tree, path: &[usize]| -> u64 {
        let profile =
            |hop: &usize| topology.nodes[topology.servers[tree.hops[*hop].server].node].profile;
        path.iter().filter_map(profile).map(|profile| traversal_ps(profile, frame_bytes)).sum()
    };
    let routes = Plot::of_network(&topology).fewest_hops();
    let paths = routes.trees.iter().flat_map(|tree| tree.paths.iter().map(move |p| (tree, p)));
    let epsilon_ps = paths.map(|(tree, path)| epsilon_ps(tree, path)).max().unwrap_or(0);
    let hosts = u32::try_from(network.hosts.len()).unwrap_or(u32::MAX);
    let epoch_ps = qjump::epoch_ps(hosts, frame_bytes, line_bps, epsilon_ps);
    let rate_bps = qjump::rate_bps(frame_bytes, epoch_ps);
    let mut used: BTreeMap<&str, SiloLoad> = BTreeMap::new();
    let mut compared = Compared { unfit_switches: unfit(network), ..Compared::default() };
    for flow in &network.flows {
        let own = Sizes::of(flow).load;
        let sum = used.entry(&flow.source).or_default();
        let with = SiloLoad {
            rate_bps: sum.rate_bps.saturating_add(own.rate_bps),
            burst_bits: sum.burst_bits.saturating_add(own.burst_bits),
        };
        let refusal = if with.burst_bits > u64::from(frame_bytes) * 8 {
            Some(format!("{} sends more than one frame per epoch at once", flow.source))
        } else if with.rate_bps > rate_bps {
            Some(format!("{} sends {} of {rate_bps} bit/s", flow.source, with.rate_bps))
        } else {
            *sum = with;
            None
        };
        let promise_ps = refusal.is_none().then_some(epoch_ps);
        compared.flows.push(ComparedFlow { name: flow.name.clone(), promise_ps, refusal });
    }
    compared.notes.push(format!(
        "n = {hosts} hosts, P = {frame_bytes} B, R = {line_bps} bit/s, epsilon = {epsilon_ps} ps: \
         epoch {epoch_ps} ps, {rate_bps} bit/s per host"
    ));
    compared
}

fn largest_frame(network: &Network) -> u32 {
    network.flows.iter().map(|flow| Sizes::of(flow).frame_bytes).max().unwrap_or(FRAME_BYTES_MIN)
}

fn buffer_bytes(profile: &Profile, frame_bytes: u32, linked: u64) -> Option<u64> {
    let shared = || {
        let buffer = profile.receive_buffer?;
        let ports = if buffer.is_per_port { 1 } else { linked.max(1) };
        Some(buffer.frames(frame_bytes) / ports * u64::from(frame_bytes))
    };
    shared().or(profile.buffer_bytes_per_port)
}

fn traversal_ps(profile: &Profile, frame_bytes: u32) -> u64 {
    let it = Use::worst(MatchType::FiveTuple, Action::Output, profile.entries_max, frame_bytes);
    let line = profile.latency_ns_max.saturating_mul(1_000);
    profile.processor.as_ref().map_or(line, |processor| processor.service(&it).traversal_ps)
}

fn unfit(network: &Network) -> Vec<String> {
    let shared = network.switches.iter().filter(|s| network.profile_of(s).processor.is_some());
    shared.map(|switch| switch.name.clone()).collect()
}
