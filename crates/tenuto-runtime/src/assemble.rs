//! From a plan to the jobs of its nodes, and from a job to a core.

use crate::protocol::ModesJob;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tenuto_dataplane::EgressConfig;
use tenuto_dataplane::endsystem::{
    Behaviour, EndPort, EndSystemConfig, FlowHeader, Form, MESSAGE_BYTES_MIN, ReceiverConfig,
    SenderConfig,
};
use tenuto_model::{
    Addressing, Contract, Flow, HostDeployment, Network, Offsets, Plan, Scenario, Size, Sizes,
    SwitchDeployment, UDP_FRAME_OVERHEAD_BYTES,
};
use tenuto_units::{Rate, Span};

/// Where no buffer is stated: more than any host can queue.
const BUFFER_BITS_UNLIMITED: u64 = 1 << 40;
/// A host has as many queues as classes can be told apart.
const HOST_QUEUES: u8 = 8;
/// The last byte of a host's MAC address on network B; 0x20 on A, or the only one.
const MAC_NETWORK_B: u8 = 0x40;
/// Least time between mode changes: what switches enforce and the analysis charges.
const DWELL_NS: u64 = 100_000_000;
/// Without a bound for the way back, this is quiet enough to try.
const QUIET_NS_DEFAULT: u64 = 500_000_000;

/// The plan without what only planning needs.
fn bare(plan: &Plan, network: Network) -> Plan {
    Plan {
        schema: plan.schema.clone(),
        version: plan.version.clone(),
        description_digest: plan.description_digest.clone(),
        plan_hash: plan.plan_hash.clone(),
        network,
        model: plan.model,
        as_stated: plan.as_stated,
        line_shaping: plan.line_shaping,
        feasible: plan.feasible,
        quiet_ns: plan.quiet_ns,
        signal_copies: plan.signal_copies,
        routes: Vec::new(),
        ports: Vec::new(),
        port_rows: Vec::new(),
        flows: Vec::new(),
        mode_changes: Vec::new(),
        switches: Vec::new(),
        hosts: Vec::new(),
        refusals: Vec::new(),
        assumptions: Vec::new(),
    }
}

/// What a switch needs of the plan to be made.
pub(crate) fn switch_plan(plan: &Plan, deployment: &SwitchDeployment) -> Plan {
    let mut network = plan.network.clone();
    network.hosts.clear();
    network.links.clear();
    network.flows.clear();
    network.controllers.clear();
    network.switches.retain(|switch| switch.name == deployment.switch);
    let used: BTreeSet<_> = network.switches.iter().map(|s| s.profile.clone()).collect();
    network.profiles.retain(|name, _| used.contains(name));
    bare(plan, network)
}

/// What a host needs of the plan: names and numbers of all hosts and flows.
pub(crate) fn host_plan(plan: &Plan) -> Plan {
    let mut network = plan.network.clone();
    network.links.clear();
    network.switches.clear();
    network.controllers.clear();
    network.profiles.clear();
    bare(plan, network)
}

/// What the switches are told about modes.
pub(crate) fn modes(plan: &Plan) -> ModesJob {
    let network = &plan.network;
    let levels = u8::try_from(network.modes.len()).unwrap_or(u8::MAX);
    if levels < 2 {
        return ModesJob { levels, ..ModesJob::default() };
    }
    let has_modes = |name: &str| {
        network.switch(name).is_some_and(|switch| network.profile_of(switch).has_modes)
    };
    let members = plan.switches.iter().filter(|d| has_modes(&d.switch)).map(|d| d.datapath_id);
    ModesJob {
        generation: 1,
        levels,
        quiet_ns: plan.quiet_ns.unwrap_or(QUIET_NS_DEFAULT),
        signal_copies: plan.signal_copies,
        dwell_ns: DWELL_NS,
        members: members.collect(),
    }
}

/// First release of each flow of this host that our sender generates.
pub(crate) fn offsets(
    plan: &Plan,
    deployment: &HostDeployment,
    scenario: &Scenario,
    seed: u64,
) -> BTreeMap<u16, u64> {
    let offset = |flow: u16| match scenario.traffic.offsets {
        Offsets::Zero => 0,
        Offsets::Random => {
            let contract = plan.network.flows.get(usize::from(flow)).and_then(|f| f.contract(0));
            let period_ns = contract.map_or(1, |c| c.period_ns.max(1));
            mix(seed ^ mix(u64::from(flow) + 1)) % period_ns
        }
    };
    deployment.senders.iter().map(|s| (s.flow_index, offset(s.flow_index))).collect()
}

/// Spreads a number over all 64 bits (the finaliser of splitmix64).
pub(crate) const fn mix(seed: u64) -> u64 {
    let x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// What an end system is made of.
pub(crate) fn end_system_config(
    plan: &Plan,
    deployment: &HostDeployment,
    seed: u64,
    sizes: Sizes,
) -> Arc<EndSystemConfig> {
    let network = &plan.network;
    let addressing = Addressing::new(network);
    let place = network.hosts.iter().position(|h| h.name == deployment.host).unwrap_or(0);
    let mac = addressing.host(place).mac;
    let ports = deployment.ports.iter().enumerate().map(|(nth, port)| EndPort {
        port: port.port,
        egress: EgressConfig {
            rate: Rate::from_bps(port.rate_bps).expect("validation refuses links without rate"),
            queues: HOST_QUEUES.max(port.queues),
            buffer_bits: port.buffer_bytes.map_or(BUFFER_BITS_UNLIMITED, |bytes| bytes * 8),
        },
        mac: match nth {
            1 if network.networks.len() > 1 => [mac[0], mac[1], mac[2], mac[3], mac[4], MAC_NETWORK_B],
            _ => mac,
        },
    });
    let known = |index: u16| network.flows.get(usize::from(index)).map(|flow| (index, flow));
    let senders = deployment.senders.iter().filter_map(|sender| {
        let (index, flow) = known(sender.flow_index)?;
        let behaviours = flow.contracts.iter().enumerate().map(|(mode, contract)| {
            let queue = sender.queues.get(mode).or(sender.queues.last());
            behaviour(flow, contract, queue.copied().unwrap_or(contract.priority), sizes)
        });
        Some(SenderConfig {
            flow: index,
            header: header(&addressing, index),
            form: form(flow),
            ports: sender.ports.clone(),
            behaviours: behaviours.collect(),
        })
    });
    let receivers = deployment.receivers.iter().filter_map(|receiver| {
        let (index, flow) = known(receiver.flow_index)?;
        Some(ReceiverConfig {
            flow: index,
            header: header(&addressing, index),
            form: form(flow),
            bytes_max: flow.contracts.iter().map(|c| bytes_max(flow, c)).max().unwrap_or(0),
            ports: receiver.ports.clone(),
            skew_max: receiver.skew_max_ns.map(Span::from_ns),
            patience: None,
        })
    });
    Arc::new(EndSystemConfig {
        host: u16::try_from(place).unwrap_or(u16::MAX),
        seed,
        ports: ports.collect(),
        senders: senders.collect(),
        receivers: receivers.collect(),
    })
}

/// Header fields of a flow's frames.
pub(crate) fn header(addressing: &Addressing<'_>, flow: u16) -> FlowHeader {
    let address = addressing.flow(usize::from(flow));
    FlowHeader {
        eth_dst: address.eth_dst,
        ip_src: address.ip_src,
        ip_dst: address.ip_dst,
        udp_port: address.udp_port,
        dscp: 0,
    }
}

fn form(flow: &Flow) -> Form {
    match flow.highest().size {
        Size::MessageBytes(_) => Form::Message,
        _ => Form::Datagram { sequenced: flow.vl.is_some() },
    }
}

/// The largest message in the end system's terms.
fn bytes_max(flow: &Flow, contract: &Contract) -> u32 {
    match contract.size {
        Size::MessageBytes(bytes) => bytes.max(MESSAGE_BYTES_MIN),
        Size::PayloadBytes(bytes) => datagram_bytes(flow, bytes),
        Size::FrameBytes(bytes) => {
            datagram_bytes(flow, bytes.saturating_sub(UDP_FRAME_OVERHEAD_BYTES))
        }
    }
}

/// Room for the stamp, which the least frame has anyway.
fn datagram_bytes(flow: &Flow, bytes: u32) -> u32 {
    bytes.max(MESSAGE_BYTES_MIN + u32::from(flow.vl.is_some()))
}

fn behaviour(flow: &Flow, contract: &Contract, queue: u8, sizes: Sizes) -> Behaviour {
    let bytes_max = bytes_max(flow, contract);
    let least = match (contract.size, contract.frame_bytes_min) {
        (Size::MessageBytes(_), _) => MESSAGE_BYTES_MIN,
        (_, Some(frame)) => frame.saturating_sub(UDP_FRAME_OVERHEAD_BYTES),
        (_, None) => 0,
    };
    Behaviour {
        period: Span::from_ns(contract.period_ns),
        bytes_min: match sizes {
            Sizes::Largest => bytes_max,
            Sizes::Random => least.min(bytes_max),
        },
        bytes_max,
        jitter: Span::from_ns(contract.jitter_ns),
        queue,
    }
}
