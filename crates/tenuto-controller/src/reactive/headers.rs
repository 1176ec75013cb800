//! Header fields of a packet, as far as the switch has sent it.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// EtherType of a customer VLAN tag, and of a service tag (IEEE 802.1Q, clause 9.5).
const TAGS: [u16; 2] = [0x8100, 0x88a8];
/// EtherTypes of ARP, IPv4 and IPv6.
pub(super) const ARP: u16 = 0x0806;
pub(super) const IPV4: u16 = 0x0800;
pub(super) const IPV6: u16 = 0x86dd;
/// IP protocols.
pub(super) const ICMP: u8 = 1;
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
pub(super) const ICMPV6: u8 = 58;
/// IPv6 extension headers that are read over: hop-by-hop, routing, destination options.
const EXTENSIONS: [u8; 3] = [0, 43, 60];
const FRAGMENT: u8 = 44;
/// Extension headers that are read over at most; the transport of a longer chain is not known.
const EXTENSIONS_MAX: usize = 8;
/// What OpenFlow 1.3.5, section 7.2.3.7, matches as the EtherType of a frame that has a length there.
const NO_ETHER_TYPE: u16 = 0x05ff;

/// A VLAN tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Vlan {
    /// Its id, 12 bits.
    pub id: u16,
    /// Its priority, 3 bits.
    pub priority: u8,
}

/// An ARP packet for IPv4 over Ethernet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Arp {
    /// 1 for a request, 2 for a reply.
    pub operation: u16,
    /// The sender's hardware address.
    pub sender_mac: [u8; 6],
    /// The sender's protocol address.
    pub sender_ip: Ipv4Addr,
    /// The target's hardware address.
    pub target_mac: [u8; 6],
    /// The target's protocol address.
    pub target_ip: Ipv4Addr,
}

/// An IPv4 or IPv6 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ip {
    /// Source.
    pub src: IpAddr,
    /// Destination.
    pub dst: IpAddr,
    /// The protocol, behind the extension headers of IPv6.
    pub protocol: u8,
    /// Differentiated services code point, 6 bits.
    pub dscp: u8,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// Whether it is a fragment, be it the first.
    pub is_fragment: bool,
}

/// What follows the Ethernet header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Network {
    /// Address resolution.
    Arp(Arp),
    /// A packet of IPv4 or IPv6.
    Ip(Ip),
    /// Anything else, or too little of it.
    Other,
}

/// What follows the IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// A TCP segment.
    Tcp {
        /// Source port.
        src: u16,
        /// Destination port.
        dst: u16,
        /// FIN, SYN, RST, PSH, ACK, URG, ECE, CWR, from bit 0; 0 where the packet ends before.
        flags: u8,
    },
    /// A UDP datagram.
    Udp {
        /// Source port.
        src: u16,
        /// Destination port.
        dst: u16,
    },
    /// A message of ICMP or ICMPv6.
    Icmp {
        /// Its type.
        kind: u8,
        /// Its code.
        code: u8,
    },
    /// Anything else, too little of it, or a fragment that is not the first.
    Other,
}

/// The headers of a packet; what does not fit into the bytes at hand is `Other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Headers {
    /// The outer and the inner VLAN tag.
    pub vlans: [Option<Vlan>; 2],
    /// The EtherType behind the tags; 0x05ff where a length stands in its place or the packet ends.
    pub eth_type: u16,
    /// ARP or IP.
    pub network: Network,
    /// TCP, UDP or ICMP.
    pub transport: Transport,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let pair = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*pair))
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk::<N>().copied()
}

impl Headers {
    /// Reads a frame from its destination address on. Any bytes give headers.
    pub fn parse(frame: &[u8]) -> Self {
        let mut at = 12;
        let mut vlans = [None; 2];
        for place in &mut vlans {
            let is_tag = u16_at(frame, at).is_some_and(|it| TAGS.contains(&it));
            let Some(tag) = u16_at(frame, at + 2).filter(|_| is_tag) else { break };
            *place = Some(Vlan { id: tag & 0x0fff, priority: (tag >> 13) as u8 });
            at += 4;
        }
        let eth_type = u16_at(frame, at).filter(|it| *it >= 0x600).unwrap_or(NO_ETHER_TYPE);
        let rest = frame.get(at + 2..).unwrap_or_default();
        let (network, transport) = match eth_type {
            ARP => (arp(rest).map_or(Network::Other, Network::Arp), None),
            IPV4 => ipv4(rest),
            IPV6 => ipv6(rest),
            _ => (Network::Other, None),
        };
        Self { vlans, eth_type, network, transport: transport.unwrap_or(Transport::Other) }
    }

    /// The IP header, if there is one.
    pub const fn ip(&self) -> Option<Ip> {
        match self.network {
            Network::Ip(ip) => Some(ip),
            _ => None,
        }
    }

    /// The ARP packet, if it is one.
    pub const fn arp(&self) -> Option<Arp> {
        match self.network {
            Network::Arp(arp) => Some(arp),
            _ => None,
        }
    }
}

fn arp(bytes: &[u8]) -> Option<Arp> {
    // Ethernet, IPv4, addresses of 6 and 4 bytes (RFC 826).
    let is_usual = array_at(bytes, 0)? == [0, 1, 8, 0, 6, 4];
    let read = Arp {
        operation: u16_at(bytes, 6)?,
        sender_mac: array_at(bytes, 8)?,
        sender_ip: array_at::<4>(bytes, 14)?.into(),
        target_mac: array_at(bytes, 18)?,
        target_ip: array_at::<4>(bytes, 24)?.into(),
    };
    is_usual.then_some(read)
}

fn ipv4(bytes: &[u8]) -> (Network, Option<Transport>) {
    let Some(header) = array_at::<20>(bytes, 0).filter(|it| it[0] >> 4 == 4) else {
        return (Network::Other, None);
    };
    let fragment = u16::from_be_bytes([header[6], header[7]]);
    // The offset, and whether more follow (RFC 791, section 3.1).
    let (offset, is_fragment) = (fragment & 0x1fff, fragment & 0x3fff != 0);
    let ip = Ip {
        src: Ipv4Addr::new(header[12], header[13], header[14], header[15]).into(),
        dst: Ipv4Addr::new(header[16], header[17], header[18], header[19]).into(),
        protocol: header[9],
        dscp: header[1] >> 2,
        ttl: header[8],
        is_fragment,
    };
    let header_bytes = usize::from(header[0] & 15) * 4;
    let rest = bytes.get(header_bytes..).filter(|_| header_bytes >= 20 && offset == 0);
    (Network::Ip(ip), rest.and_then(|rest| transport(ip.protocol, rest)))
}

fn ipv6(bytes: &[u8]) -> (Network, Option<Transport>) {
    let Some(header) = array_at::<40>(bytes, 0).filter(|it| it[0] >> 4 == 6) else {
        return (Network::Other, None);
    };
    let address = |at| array_at::<16>(&header, at).map_or(Ipv6Addr::UNSPECIFIED, Ipv6Addr::from);
    let mut ip = Ip {
        src: address(8).into(),
        dst: address(24).into(),
        protocol: header[6],
        dscp: (header[0] & 15) << 2 | header[1] >> 6,
        ttl: header[7],
        is_fragment: false,
    };
    let mut rest = &bytes[40..];
    for _ in 0..EXTENSIONS_MAX {
        let Some([next, len, high, low]) = array_at::<4>(rest, 0) else { break };
        let is_later = ip.protocol == FRAGMENT && u16::from_be_bytes([high, low]) >> 3 != 0;
        let skipped = match ip.protocol {
            FRAGMENT => 8,
            other if EXTENSIONS.contains(&other) => 8 * (usize::from(len) + 1),
            _ => return (Network::Ip(ip), transport(ip.protocol, rest)),
        };
        ip.is_fragment |= ip.protocol == FRAGMENT;
        ip.protocol = next;
        let Some(behind) = rest.get(skipped..).filter(|_| !is_later) else { break };
        rest = behind;
    }
    (Network::Ip(ip), None)
}

fn transport(protocol: u8, bytes: &[u8]) -> Option<Transport> {
    Some(match protocol {
        TCP => Transport::Tcp {
            src: u16_at(bytes, 0)?,
            dst: u16_at(bytes, 2)?,
            flags: bytes.get(13).copied().unwrap_or(0),
        },
        UDP => Transport::Udp { src: u16_at(bytes, 0)?, dst: u16_at(bytes, 2)? },
        ICMP | ICMPV6 => Transport::Icmp { kind: *bytes.first()?, code: *bytes.get(1)? },
        _ => return None,
    })
}
