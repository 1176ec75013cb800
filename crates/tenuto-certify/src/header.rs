//! Header fields of flows, from their place in the description, and sets of headers.

use crate::network::Net;
use crate::read::{Match, MatchKind};

const ETHERTYPE_IPV4: u16 = 0x0800;
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
        udp_dst: Some(described.raw.udp_port.unwrap_or(FLOW_PORT_BASE.wrapping_add(number))),
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

impl Match {
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
    pub(crate) fn covers(self, other: Self) -> bool {
        self.and(other) == Some(other)
    }
}
