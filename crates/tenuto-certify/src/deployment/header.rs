//! Header fields of flows, from their place in the description, and sets of headers.

use crate::description::net::Net;
use crate::description::read::{Match, MatchKind};

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const IP_PROTO_UDP: u8 = 17;
const FLOW_PORT_BASE: u16 = 20_000;

/// Addresses of the host with that number.
fn host(number: usize) -> ([u8; 6], [u8; 4]) {
    let number = u16::try_from(number).unwrap_or(u16::MAX);
    let [high, low] = number.to_be_bytes();
    let [_, block] = (number / 250).to_be_bytes();
    let [_, place] = (number % 250 + 1).to_be_bytes();
    ([0x02, 0, 0, high, low, 0x20], [10, 0, block, place])
}

/// The UDP port of the flow with that number where none is described; behind the last one comes port 1.
const fn automatic_port(number: u16) -> u16 {
    match FLOW_PORT_BASE.overflowing_add(number) {
        (port, false) => port,
        (behind, true) => behind + 1,
    }
}

/// Every header field of the frames of a flow. Hosts come first among the nodes, hence their node
/// index is their number.
pub(crate) fn frame(net: &Net<'_>, flow: usize) -> Match {
    let described = &net.flows[flow];
    let number = u16::try_from(flow).unwrap_or(u16::MAX);
    let [high, low] = number.to_be_bytes();
    let (_, ip_src) = host(described.source);
    let (eth_dst, ip_dst) = match (described.raw.vl, described.targets.as_slice()) {
        (Some(vl), _) => {
            let [high, low] = vl.to_be_bytes();
            ([0x03, 0, 0, 0, high, low], [224, 224, high, low])
        }
        (None, [only]) => host(*only),
        (None, _) => ([0x01, 0x00, 0x5e, 0x01, high, low], [239, 1, high, low]),
    };
    Match {
        in_port: None,
        eth_dst: Some(eth_dst),
        eth_type: Some(ETHERTYPE_IPV4),
        ip_src: Some(ip_src),
        ip_dst: Some(ip_dst),
        ip_proto: Some(IP_PROTO_UDP),
        udp_dst: Some(described.raw.udp_port.unwrap_or_else(|| automatic_port(number))),
    }
}

/// The fields that identify the frames of a flow.
pub(crate) fn identity(net: &Net<'_>, flow: usize) -> Match {
    project(net, net.flows[flow].raw.matching, frame(net, flow))
}

/// Only the fields of `header` that a kind of matching looks at. Five-tuples look at the MAC too
/// where there are virtual links, or one frame could be of two flows.
pub(crate) fn project(net: &Net<'_>, kind: MatchKind, header: Match) -> Match {
    match kind {
        MatchKind::Vl => Match { eth_dst: header.eth_dst, ..Match::default() },
        MatchKind::FiveTuple => Match {
            in_port: None,
            eth_dst: header.eth_dst.filter(|_| net.has_virtual_links),
            ..header
        },
    }
}

/// Some of the fields of a [`Match`], a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fields(u8);

impl Fields {
    pub(crate) const fn are_within(self, others: Self) -> bool {
        self.0 & others.0 == self.0
    }

    pub(crate) const fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Match {
    /// The fields that are not left open.
    pub(crate) fn fields(self) -> Fields {
        let fixed = [
            self.in_port.is_some(),
            self.eth_dst.is_some(),
            self.eth_type.is_some(),
            self.ip_src.is_some(),
            self.ip_dst.is_some(),
            self.ip_proto.is_some(),
            self.udp_dst.is_some(),
        ];
        Fields(fixed.into_iter().fold(0, |bits, is_fixed| bits << 1 | u8::from(is_fixed)))
    }

    /// The larger set that leaves all but these fields open.
    pub(crate) fn only(self, fields: Fields) -> Self {
        let has = |place: u8| fields.0 >> (6 - place) & 1 == 1;
        Self {
            in_port: self.in_port.filter(|_| has(0)),
            eth_dst: self.eth_dst.filter(|_| has(1)),
            eth_type: self.eth_type.filter(|_| has(2)),
            ip_src: self.ip_src.filter(|_| has(3)),
            ip_dst: self.ip_dst.filter(|_| has(4)),
            ip_proto: self.ip_proto.filter(|_| has(5)),
            udp_dst: self.udp_dst.filter(|_| has(6)),
        }
    }

    /// What a field of the match needs and the match does not have, with that field (OpenFlow
    /// 1.3.5, section 7.2.3.8, table 12); `None` where every prerequisite is met.
    pub(crate) fn missing_prerequisite(self) -> Option<(&'static str, &'static str)> {
        let is_ipv4 = self.eth_type == Some(ETHERTYPE_IPV4);
        let is_ip = is_ipv4 || self.eth_type == Some(ETHERTYPE_IPV6);
        let is_udp = self.ip_proto == Some(IP_PROTO_UDP);
        // The port of entry, the Ethernet address and the EtherType need nothing.
        [
            ("ip_src", self.ip_src.is_some() && !is_ipv4, "eth_type 0x0800"),
            ("ip_dst", self.ip_dst.is_some() && !is_ipv4, "eth_type 0x0800"),
            ("ip_proto", self.ip_proto.is_some() && !is_ip, "eth_type 0x0800 or 0x86dd"),
            ("udp_dst", self.udp_dst.is_some() && !is_udp, "ip_proto 17"),
        ]
        .into_iter()
        .find_map(|(field, is_missing, needed)| is_missing.then_some((field, needed)))
    }

    /// The headers that are in both sets; `None` if there are none.
    pub(crate) fn and(self, other: Self) -> Option<Self> {
        fn both<T: PartialEq>(a: Option<T>, b: Option<T>) -> Option<Option<T>> {
            match (a, b) {
                (Some(a), Some(b)) => (a == b).then_some(Some(a)),
                (a, b) => Some(a.or(b)),
            }
        }
        Some(Self {
            in_port: both(self.in_port, other.in_port)?,
            eth_dst: both(self.eth_dst, other.eth_dst)?,
            eth_type: both(self.eth_type, other.eth_type)?,
            ip_src: both(self.ip_src, other.ip_src)?,
            ip_dst: both(self.ip_dst, other.ip_dst)?,
            ip_proto: both(self.ip_proto, other.ip_proto)?,
            udp_dst: both(self.udp_dst, other.udp_dst)?,
        })
    }

    /// Whether every header of `other` is in this set.
    #[cfg(test)]
    pub(crate) fn covers(self, other: Self) -> bool {
        self.and(other) == Some(other)
    }
}
