//! Flows of TCP and UDP: addresses and ports of both ends.

use super::headers::{Headers, IPV4, IPV6, TCP, Transport, UDP};
use core::net::IpAddr;
use tenuto_openflow::{Match, Oxm};

/// A flow of TCP or UDP in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransportFlow {
    /// TCP; otherwise UDP.
    pub is_tcp: bool,
    /// Source address and port.
    pub src: (IpAddr, u16),
    /// Destination address and port.
    pub dst: (IpAddr, u16),
}

impl TransportFlow {
    /// The flow of a packet; `None` for other packets and for fragments, of which only the first
    /// has ports.
    pub fn of(headers: &Headers) -> Option<Self> {
        let ip = headers.ip().filter(|ip| !ip.is_fragment)?;
        let (is_tcp, src, dst) = match headers.transport {
            Transport::Tcp { src, dst, .. } => (true, src, dst),
            Transport::Udp { src, dst } => (false, src, dst),
            Transport::Icmp { .. } | Transport::Other => return None,
        };
        Some(Self { is_tcp, src: (ip.src, src), dst: (ip.dst, dst) })
    }

    /// The flow of the replies.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self { is_tcp: self.is_tcp, src: self.dst, dst: self.src }
    }

    /// The packets of this flow, with the prerequisites of OpenFlow 1.3.5, section 7.2.3.6.
    pub fn matching(&self) -> Match {
        let mask = None;
        let (eth_type, src, dst) = match (self.src.0, self.dst.0) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => (
                IPV4,
                Oxm::Ipv4Src { value: src.octets(), mask },
                Oxm::Ipv4Dst { value: dst.octets(), mask },
            ),
            (src, dst) => (
                IPV6,
                Oxm::Ipv6Src { value: as_v6(src), mask: None },
                Oxm::Ipv6Dst { value: as_v6(dst), mask: None },
            ),
        };
        let (from, to) = (self.src.1, self.dst.1);
        let mut oxms = vec![Oxm::EthType(eth_type)];
        match self.is_tcp {
            true => oxms.extend([Oxm::IpProto(TCP), src, dst, tcp_src(from), tcp_dst(to)]),
            false => oxms.extend([Oxm::IpProto(UDP), src, dst, udp_src(from), udp_dst(to)]),
        }
        Match::from(oxms)
    }
}

/// Both addresses of a packet are of one kind; the other case is here for flows made by hand.
const fn as_v6(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

const fn tcp_src(value: u16) -> Oxm {
    Oxm::TcpSrc { value, mask: None }
}

const fn tcp_dst(value: u16) -> Oxm {
    Oxm::TcpDst { value, mask: None }
}

const fn udp_src(value: u16) -> Oxm {
    Oxm::UdpSrc { value, mask: None }
}

const fn udp_dst(value: u16) -> Oxm {
    Oxm::UdpDst { value, mask: None }
}
