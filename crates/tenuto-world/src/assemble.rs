//! From a plan to nodes: what the cores are made of in every world.

use std::sync::Arc;
use tenuto_controller::ModeSettings;
use tenuto_dataplane::EgressConfig;
use tenuto_dataplane::endsystem::{
    Behaviour, EndPort, EndSystemConfig, FlowHeader, Form, MESSAGE_BYTES_MIN, ReceiverConfig,
    SenderConfig,
};
use tenuto_dataplane::switch::{ClassifierKind, HashKey, PortConfig, PortRole, SwitchConfig};
use tenuto_model::{
    Addressing, Contract, Flow, FlowAddress, HostDeployment, MeterCounts, Network, OtherTraffic,
    Plan, Size, Sizes, SwitchDeployment, UDP_FRAME_OVERHEAD_BYTES,
};
use tenuto_units::{Rate, Span};
use tenuto_wire::{LinkKey, MacAddress, UdpFrame};

/// Tables that a deployment uses: watch, police, forward.
const TABLES: u8 = 3;
/// Where a device states no buffer, more than any network of this field can queue.
const BUFFER_BITS_UNLIMITED: u64 = 1 << 40;
/// Least time in which the signals of one change may be sent again (docs/theory/analysis.md, "Return
/// from c to a").
pub(crate) const SIGNAL_DWELL_NS: u64 = 100_000_000;
/// A mode leader repeats itself after this; well above any signal's way.
const MODE_RETRY: Span = Span::from_ms(50);

/// The key of a trunk, the same at both ends, from the secret of the run.
pub fn link_key(secret: [u8; 16], a: (&str, u32), b: (&str, u32)) -> LinkKey {
    use std::hash::Hasher;
    let (first, second) = if a < b { (a, b) } else { (b, a) };
    let mut key = [0; 16];
    for (half, salt) in key.chunks_mut(8).zip([0x6b65_7941_u64, 0x6b65_7942]) {
        let mut hasher = siphasher::sip::SipHasher24::new_with_key(&secret);
        hasher.write_u64(salt);
        for (node, port) in [first, second] {
            hasher.write(node.as_bytes());
            hasher.write_u8(0);
            hasher.write_u32(port);
        }
        half.copy_from_slice(&hasher.finish().to_be_bytes());
    }
    LinkKey::new(key)
}

/// What a switch is made of. `boot_seed` must grow from start to start of the same switch; the hash key is
/// a secret where hosts are not trusted, and fixed where runs must repeat.
///
/// # Panics
/// If the deployment is not of this plan: its switch must be in the network.
pub fn switch_config(
    plan: &Plan,
    deployment: &SwitchDeployment,
    secret: [u8; 16],
    boot_seed: u64,
    hash_key: HashKey,
) -> Arc<SwitchConfig> {
    let switch = plan.network.switch(&deployment.switch).expect("a deployment names its switch");
    let profile = plan.network.profile_of(switch);
    let ports = deployment.ports.iter().map(|port| PortConfig {
        port: port.port,
        role: match port.role {
            tenuto_model::PortRole::Host => PortRole::Host,
            tenuto_model::PortRole::Trunk => PortRole::Trunk(link_key(
                secret,
                (&deployment.switch, port.port),
                (&port.peer, port.peer_port),
            )),
        },
        egress: EgressConfig {
            unpromised_from: other_class(&plan.network),
            ..egress(port.rate_bps, profile.queues_per_port, port.buffer_bytes)
        },
    });
    Arc::new(SwitchConfig {
        datapath_id: deployment.datapath_id,
        ports: ports.collect(),
        tables: TABLES,
        entries_max: profile.entries_max as usize,
        meters_max: profile.meters_max as usize,
        groups_max: profile.groups_max as usize,
        meter_extra_bytes: match profile.meter_counts {
            MeterCounts::L2WithoutFcs => 0,
            MeterCounts::Frame => 4,
            MeterCounts::Wire => 24,
        },
        classifier: ClassifierKind::ByMask,
        hash_key,
        boot_seed,
        mode_retry: MODE_RETRY,
        general: None,
    })
}

/// Queues and pacing of a port.
pub(crate) fn egress(rate_bps: u64, queues: u8, buffer_bytes: Option<u64>) -> EgressConfig {
    EgressConfig {
        rate: Rate::from_bps(rate_bps).expect("validation refuses links without rate"),
        queues,
        buffer_bits: buffer_bytes.map_or(BUFFER_BITS_UNLIMITED, |bytes| bytes * 8),
        unpromised_from: None,
    }
}

/// The class of other traffic, if it is carried.
const fn other_class(network: &Network) -> Option<u8> {
    match network.other_traffic {
        OtherTraffic::Carry { priority, .. } => Some(priority),
        OtherTraffic::Drop => None,
    }
}

/// What an end system is made of; `sizes` lets a scenario draw them instead of the largest.
///
/// # Panics
/// If the host is not of this plan.
pub fn host_config(plan: &Plan, host: &HostDeployment, seed: u64, sizes: Sizes) -> EndSystemConfig {
    let network = &plan.network;
    let number = network.hosts.iter().position(|h| h.name == host.host);
    let number = number.expect("a deployment names its host");
    let address = Addressing::new(network);
    let ports = host.ports.iter().map(|port| EndPort {
        port: port.port,
        egress: egress(port.rate_bps, port.queues, port.buffer_bytes),
        mac: {
            let peer = network.switch(&port.peer).and_then(|s| s.network.as_deref());
            address.host_mac(number, peer)
        },
    });
    let senders = host.senders.iter().map(|spec| {
        let flow = &network.flows[usize::from(spec.flow_index)];
        let queue = |mode: usize| spec.queues.get(mode).copied().unwrap_or(0);
        let behaviours = flow.contracts.iter().enumerate();
        SenderConfig {
            flow: spec.flow_index,
            header: header_of(&address, usize::from(spec.flow_index)),
            form: form_of(flow),
            ports: spec.ports.clone(),
            behaviours: behaviours.map(|(m, c)| behaviour(c, flow, queue(m), sizes)).collect(),
        }
    });
    let receivers = host.receivers.iter().map(|spec| {
        let flow = &network.flows[usize::from(spec.flow_index)];
        ReceiverConfig {
            flow: spec.flow_index,
            header: header_of(&address, usize::from(spec.flow_index)),
            form: form_of(flow),
            bytes_max: flow.contracts.iter().map(bytes_of).max().unwrap_or(0),
            ports: spec.ports.clone(),
            skew_max: spec.skew_max_ns.map(Span::from_ns),
            patience: None,
        }
    });
    EndSystemConfig {
        host: u16::try_from(number).expect("validation limits the number of hosts"),
        seed,
        ports: ports.collect(),
        senders: senders.collect(),
        receivers: receivers.collect(),
    }
}

/// A datagram with a flow's header.
pub(crate) const fn udp_frame(address: &FlowAddress, payload_len: usize) -> UdpFrame {
    UdpFrame {
        eth_dst: MacAddress(address.eth_dst),
        eth_src: MacAddress(address.eth_src),
        ip_src: address.ip_src,
        ip_dst: address.ip_dst,
        udp_src: address.udp_port,
        udp_dst: address.udp_port,
        dscp: 0,
        payload_len,
    }
}

fn header_of(address: &Addressing<'_>, flow: usize) -> FlowHeader {
    let FlowAddress { eth_dst, ip_src, ip_dst, udp_port, .. } = address.flow(flow);
    FlowHeader { eth_dst, ip_src, ip_dst, udp_port, dscp: 0 }
}

fn form_of(flow: &Flow) -> Form {
    match flow.highest().size {
        Size::MessageBytes(_) => Form::Message,
        Size::PayloadBytes(_) | Size::FrameBytes(_) => {
            Form::Datagram { sequenced: flow.vl.is_some() }
        }
    }
}

/// Bytes of a message, or of a datagram's payload, that fill the contract and no more.
const fn bytes_of(contract: &Contract) -> u32 {
    match contract.size {
        Size::MessageBytes(bytes) | Size::PayloadBytes(bytes) => bytes,
        Size::FrameBytes(frame) => frame.saturating_sub(UDP_FRAME_OVERHEAD_BYTES),
    }
}

fn behaviour(contract: &Contract, flow: &Flow, queue: u8, sizes: Sizes) -> Behaviour {
    let bytes_max = bytes_of(contract);
    let least = if flow.highest().size.has_shim() { MESSAGE_BYTES_MIN } else { 1 };
    let bytes_min = match sizes {
        Sizes::Largest => bytes_max,
        Sizes::Random => least.min(bytes_max),
    };
    Behaviour {
        period: Span::from_ns(contract.period_ns),
        bytes_min,
        bytes_max,
        jitter: Span::from_ns(contract.jitter_ns),
        queue,
    }
}

/// How switches take part in mode changes, from the plan.
pub fn mode_settings(plan: &Plan, generation: u64) -> ModeSettings {
    let mut members: Vec<u64> = plan.network.switches.iter().map(|s| s.datapath_id).collect();
    members.sort_unstable();
    ModeSettings {
        generation,
        levels: u8::try_from(plan.network.modes.len()).expect("validation limits the modes"),
        quiet_ns: plan.quiet_ns.unwrap_or(0),
        signal_copies: plan.signal_copies.max(1),
        dwell_ns: SIGNAL_DWELL_NS,
        members,
    }
}
