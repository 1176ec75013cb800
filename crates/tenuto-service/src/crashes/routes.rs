//! Frames of flows, and where they come to by what the switches hold at a moment.

use super::peer::Peer;
use std::collections::{BTreeMap, BTreeSet};
use tenuto_model::{Network, Plan};
use tenuto_units::Instant;
use tenuto_wire::{MacAddress, UdpFrame};

/// A frame of a flow at the switch of its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    dpid: u64,
    port: u32,
    pub(crate) bytes: Vec<u8>,
    pub(crate) targets: BTreeSet<String>,
}

/// Where a frame has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    /// Its first switch drops it.
    Nothing,
    /// These hosts have it, and no switch behind the first has dropped it.
    Hosts(BTreeSet<String>),
    /// A switch behind the first has dropped it.
    LostAt(u64),
}

/// The links of a network by switch and port: a switch and its port, or a host.
pub(crate) struct Links(BTreeMap<(u64, u32), Result<(u64, u32), String>>);

impl Links {
    pub(crate) fn of(network: &Network, plan: &Plan) -> Self {
        let dpid =
            |name: &str| plan.switches.iter().find(|it| it.switch == name).map(|it| it.datapath_id);
        let mut links = BTreeMap::new();
        for switch in &plan.switches {
            for (own, far, _) in network.ends_of(&switch.switch) {
                let to = dpid(&far.node).map(|it| (it, far.port)).ok_or_else(|| far.node.clone());
                links.insert((switch.datapath_id, own.port), to);
            }
        }
        Self(links)
    }

    /// Where a frame comes to now.
    pub(super) fn walk(&self, now: Instant, peers: &BTreeMap<u64, Peer>, probe: &Probe) -> Reached {
        self.walk_by(probe, |dpid, port| peers[&dpid].outputs(now, port, &probe.bytes))
    }

    /// Where a frame comes to that leaves switches by these ports.
    pub(crate) fn walk_by(&self, probe: &Probe, outputs: impl Fn(u64, u32) -> Vec<u32>) -> Reached {
        let mut hosts = BTreeSet::new();
        let mut waiting = vec![(probe.dpid, probe.port)];
        let mut is_first = true;
        // A line has no loops; more steps than ports would be one.
        for _ in 0..64 {
            let Some((dpid, port)) = waiting.pop() else {
                return Reached::Hosts(hosts);
            };
            let outputs = outputs(dpid, port);
            if outputs.is_empty() {
                return if is_first { Reached::Nothing } else { Reached::LostAt(dpid) };
            }
            is_first = false;
            for port in outputs {
                match self.0.get(&(dpid, port)) {
                    Some(Ok(next)) => waiting.push(*next),
                    Some(Err(host)) => drop(hosts.insert(host.clone())),
                    None => return Reached::LostAt(dpid),
                }
            }
        }
        panic!("a frame goes round");
    }
}

impl Probe {
    /// The frame of a flow that a plan has.
    pub(crate) fn of(plan: &Plan, name: &str) -> Self {
        let network = &plan.network;
        let flow = network.flow(name).expect("the plan has it");
        let (_, far, _) = network.ends_of(&flow.source).next().expect("a host has a link");
        let switch = plan.switches.iter().find(|it| it.switch == far.node).expect("a switch");
        let entries = switch.entries.iter().filter(|it| it.flow.as_deref() == Some(name));
        let specs: Vec<_> = entries.map(|it| it.matching).collect();
        let eth_dst = specs.iter().find_map(|it| it.eth_dst).unwrap_or([2, 0, 0, 0, 0, 9]);
        let frame = UdpFrame {
            eth_dst: MacAddress(eth_dst),
            eth_src: MacAddress([2, 0, 0, 0, 0, 8]),
            ip_src: specs.iter().find_map(|it| it.ip_src).expect("flows have addresses"),
            ip_dst: specs.iter().find_map(|it| it.ip_dst).expect("flows have addresses"),
            udp_src: 9,
            udp_dst: specs.iter().find_map(|it| it.udp_dst).expect("flows have ports"),
            dscp: 0,
            payload_len: 32,
        };
        let mut bytes = vec![0; 256];
        let length = frame.emit(&mut bytes).expect("room for it").len;
        bytes.truncate(length);
        let targets = flow.targets.iter().map(|it| it.host.clone()).collect();
        Self { dpid: switch.datapath_id, port: far.port, bytes, targets }
    }
}
