//! The header fields that a switch can match, read in one pass.
//!
//! Extraction is total and errs on the side of knowing less: a part that is malformed or cut off
//! is absent, so that entries that ask for it do not match and the frame ends at the table-miss.
//! The end of a packet may be missing (a packet-in carries a prefix); checksums are not judged,
//! as in other switches.

use crate::ethernet::{EtherType, EthernetFrame, MacAddress, VlanTag};
use crate::ipv4::{IpProtocol, Ipv4Packet};
use crate::ports::Ports;
use std::fmt;

/// The fields of the IPv4 header that a switch can match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ipv4Key {
    /// Source address.
    pub src: [u8; 4],
    /// Destination address.
    pub dst: [u8; 4],
    /// What the packet carries.
    pub proto: IpProtocol,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// Explicit congestion notification, 0 to 3.
    pub ecn: u8,
}

/// The header fields of a frame that a switch can match; the ingress port is not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowKey {
    /// Destination address.
    pub eth_dst: MacAddress,
    /// Source address.
    pub eth_src: MacAddress,
    /// What the frame carries, behind the tag.
    pub eth_type: EtherType,
    /// The 802.1Q tag.
    pub vlan: Option<VlanTag>,
    /// The IPv4 header, if there is a whole one.
    pub ip: Option<Ipv4Key>,
    /// The ports of TCP or UDP.
    pub l4: Option<Ports>,
}

impl FlowKey {
    /// The key of `frame` (without FCS); `None` if it is shorter than an Ethernet header.
    pub fn extract(frame: &[u8]) -> Option<Self> {
        let ethernet = EthernetFrame::new_checked(frame).ok()?;
        let eth_type = ethernet.ether_type();
        let packet = match eth_type {
            EtherType::IPV4 => Ipv4Packet::new_checked(ethernet.payload()).ok(),
            _ => None,
        };
        Some(Self {
            eth_dst: ethernet.dst(),
            eth_src: ethernet.src(),
            eth_type,
            vlan: ethernet.vlan(),
            ip: packet.as_ref().map(Ipv4Key::of),
            l4: packet.as_ref().and_then(Ports::extract),
        })
    }
}

impl Ipv4Key {
    fn of<T: AsRef<[u8]>>(packet: &Ipv4Packet<T>) -> Self {
        Self {
            src: packet.src(),
            dst: packet.dst(),
            proto: packet.protocol(),
            dscp: packet.dscp(),
            ecn: packet.ecn(),
        }
    }
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {}, ", self.eth_src, self.eth_dst)?;
        if let Some(VlanTag { vid, pcp }) = self.vlan {
            write!(f, "vlan {vid}, p {pcp}, ")?;
        }
        write!(f, "{}", self.eth_type)?;
        match (self.ip, self.l4) {
            (Some(ip), ports) => write_ip(f, &ip, ports),
            (None, _) => Ok(()),
        }
    }
}

/// As tcpdump writes it: the port is a fifth number behind the address.
fn write_ip(f: &mut fmt::Formatter<'_>, ip: &Ipv4Key, ports: Option<Ports>) -> fmt::Result {
    let [a, b, c, d] = ip.src;
    write!(f, " {a}.{b}.{c}.{d}")?;
    if let Some(ports) = ports {
        write!(f, ".{}", ports.src)?;
    }
    let [a, b, c, d] = ip.dst;
    write!(f, " > {a}.{b}.{c}.{d}")?;
    if let Some(ports) = ports {
        write!(f, ".{}", ports.dst)?;
    }
    match ip.proto {
        IpProtocol::ICMP => f.write_str(": ICMP")?,
        IpProtocol::TCP => f.write_str(": TCP")?,
        IpProtocol::UDP => f.write_str(": UDP")?,
        IpProtocol(number) => write!(f, ": proto {number}")?,
    }
    if ip.dscp != 0 { write!(f, ", dscp {}", ip.dscp) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// VLAN 5 priority 3, 10.0.0.1:5000 > 10.0.0.2:6000, UDP, DSCP 46, ECN 1.
    const FRAME: [u8; 46] = [
        0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x81, 0x00, 0x60, 0x05, 0x08,
        0x00, // ethernet
        0x45, 0xb9, 0x00, 0x1c, 0, 0, 0x40, 0x00, 0x40, 0x11, 0, 0, // ipv4
        10, 0, 0, 1, 10, 0, 0, 2, // addresses
        0x13, 0x88, 0x17, 0x70, 0x00, 0x08, 0, 0, // udp
    ];

    fn key(frame: &[u8]) -> FlowKey {
        FlowKey::extract(frame).expect("at least a header")
    }

    #[test]
    fn every_field_is_found() {
        let key = key(&FRAME);
        assert_eq!(key.vlan, Some(VlanTag { vid: 5, pcp: 3 }));
        assert_eq!(
            key.ip,
            Some(Ipv4Key {
                src: [10, 0, 0, 1],
                dst: [10, 0, 0, 2],
                proto: IpProtocol::UDP,
                dscp: 46,
                ecn: 1
            })
        );
        assert_eq!(key.l4, Some(Ports { src: 5000, dst: 6000 }));
        assert_eq!(
            key.to_string(),
            "02:00:00:00:00:01 > 02:00:00:00:00:02, vlan 5, p 3, \
             IPv4 10.0.0.1.5000 > 10.0.0.2.6000: UDP, dscp 46"
        );
    }

    #[test]
    fn a_prefix_gives_what_is_in_it() {
        assert_eq!(FlowKey::extract(&FRAME[..13]), None);
        assert_eq!(key(&FRAME[..14]).eth_type, EtherType::VLAN);
        assert_eq!((key(&FRAME[..37]).eth_type, key(&FRAME[..37]).ip), (EtherType::IPV4, None));
        let (without_ports, ports_only) = (key(&FRAME[..41]), key(&FRAME[..42]));
        assert!(without_ports.ip.is_some() && without_ports.l4.is_none());
        assert_eq!(ports_only, key(&FRAME));
    }

    #[test]
    fn later_fragments_and_other_protocols_have_no_ports() {
        for (at, value) in [(25, 0x01), (27, 0x01)] {
            let mut frame = FRAME;
            frame[at] = value;
            assert!(key(&frame).ip.is_some() && key(&frame).l4.is_none(), "byte {at}");
        }
    }

    #[test]
    fn padding_is_not_taken_for_ports() {
        let mut frame = FRAME;
        frame[21] = 20; // a total length of the header alone
        assert_eq!(key(&frame).l4, None);
    }

    #[test]
    fn a_key_is_compact() {
        assert!(size_of::<FlowKey>() <= 40, "{}", size_of::<FlowKey>());
    }
}
