//! Addresses of hosts and flows, derived from their place in the description.
//!
//! Deterministic, so that the deployment, the end systems and a user's own program agree without
//! being told: host number h has 10.0.(h/250).(h%250+1) and 02:00:00:hh:hh:20 (network A or none)
//! or :40 (B); flow number f has UDP port 20000 + f unless the description names one, behind port
//! 65535 the count goes on with 1; a virtual link has 03:00:00:00:vv:vv; a flow with several targets has 239.1.(f/256).(f%256).

use crate::{Flow, MatchKind, MatchSpec, Network};

/// The UDP port of the first flow where none is written; that of each further one is one more.
const FLOW_PORT_BASE: u16 = 20_000;
const ETHERTYPE_IPV4: u16 = 0x0800;
const IP_PROTO_UDP: u8 = 17;

/// Addresses of a described network.
#[derive(Clone, Copy, Debug)]
pub struct Addressing<'a> {
    network: &'a Network,
}

/// Addresses of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostAddress {
    /// MAC address on network A, or the only one.
    pub mac: [u8; 6],
    /// IPv4 address.
    pub ip: [u8; 4],
}

/// Header fields of a flow's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowAddress {
    /// Source MAC address on network A, or the only one.
    pub eth_src: [u8; 6],
    /// Destination MAC address.
    pub eth_dst: [u8; 6],
    /// IPv4 source.
    pub ip_src: [u8; 4],
    /// IPv4 destination.
    pub ip_dst: [u8; 4],
    /// UDP source and destination port.
    pub udp_port: u16,
}

impl<'a> Addressing<'a> {
    /// The addresses of `network`.
    pub const fn new(network: &'a Network) -> Self {
        Self { network }
    }

    /// Addresses of the host with that index.
    pub fn host(&self, index: usize) -> HostAddress {
        let number = u16::try_from(index).expect("validation limits the number of hosts");
        let [high, low] = number.to_be_bytes();
        let (block, place) = (number / 250, number % 250 + 1);
        HostAddress {
            mac: [0x02, 0, 0, high, low, 0x20],
            ip: [10, 0, low_byte(block), low_byte(place)],
        }
    }

    /// The MAC address of a host on one of the redundant networks, or the only one: the last byte
    /// tells B from A (and only).
    pub fn host_mac(&self, index: usize, network: Option<&str>) -> [u8; 6] {
        let mut mac = self.host(index).mac;
        let second = self.network.networks.get(1);
        if network.is_some() && network == second.map(String::as_str) {
            mac[5] = 0x40;
        }
        mac
    }

    /// Header fields of the flow with that index.
    pub fn flow(&self, index: usize) -> FlowAddress {
        let flow = &self.network.flows[index];
        let number = u16::try_from(index).expect("validation limits the number of flows");
        let host = |name: &str| {
            let place = self.network.hosts.iter().position(|h| h.name == name);
            self.host(place.expect("validation resolved every host name"))
        };
        let source = host(&flow.source);
        let [high, low] = number.to_be_bytes();
        let (eth_dst, ip_dst) = match (flow.vl, flow.targets.as_slice()) {
            (Some(vl), _) => {
                let [vh, vl] = vl.to_be_bytes();
                ([0x03, 0, 0, 0, vh, vl], [224, 224, vh, vl])
            }
            (None, [only]) => {
                let target = host(&only.host);
                (target.mac, target.ip)
            }
            (None, _) => ([0x01, 0x00, 0x5e, 0x01, high, low], [239, 1, high, low]),
        };
        FlowAddress {
            eth_src: source.mac,
            eth_dst,
            ip_src: source.ip,
            ip_dst,
            udp_port: flow.udp_port.unwrap_or_else(|| automatic_port(number)),
        }
    }

    /// What identifies the frames of the flow with that index.
    ///
    /// Beside virtual links a five-tuple includes the destination MAC: a frame with the addresses
    /// of one flow and the MAC of a virtual link would else be metered as one and forwarded as the
    /// other.
    pub fn matching(&self, index: usize) -> MatchSpec {
        let address = self.flow(index);
        match self.network.flows[index].matching {
            MatchKind::Vl => MatchSpec { eth_dst: Some(address.eth_dst), ..MatchSpec::default() },
            MatchKind::FiveTuple => MatchSpec {
                eth_dst: self.has_links().then_some(address.eth_dst),
                eth_type: Some(ETHERTYPE_IPV4),
                ip_src: Some(address.ip_src),
                ip_dst: Some(address.ip_dst),
                ip_proto: Some(IP_PROTO_UDP),
                udp_dst: Some(address.udp_port),
                ..MatchSpec::default()
            },
        }
    }

    fn has_links(&self) -> bool {
        self.network.flows.iter().any(|flow| flow.matching == MatchKind::Vl)
    }

    /// The number that names a flow in entries and stamps.
    pub fn flow_index(&self, flow: &Flow) -> Option<usize> {
        self.network.flows.iter().position(|f| f.name == flow.name)
    }
}

/// The UDP port of the flow with that number where none is written. Behind the last port the count goes on
/// with 1: there is no port 0.
pub(crate) const fn automatic_port(number: u16) -> u16 {
    match FLOW_PORT_BASE.overflowing_add(number) {
        (port, false) => port,
        (behind, true) => behind + 1,
    }
}

const fn low_byte(number: u16) -> u8 {
    number.to_be_bytes()[1]
}

#[cfg(test)]
mod tests {
    use super::automatic_port;
    use crate::read::network::FLOWS_MAX;
    use std::collections::BTreeSet;

    #[test]
    fn every_flow_has_a_port_of_its_own_and_none_has_port_0() {
        let ports: BTreeSet<u16> = (0..u16::MAX).take(FLOWS_MAX).map(automatic_port).collect();
        assert_eq!(ports.len(), FLOWS_MAX);
        assert!(!ports.contains(&0));
        assert_eq!([0, 45_535, 45_536].map(automatic_port), [20_000, 65_535, 1]);
    }
}
