//! AFDX addresses and the sequence number that tells the copies of networks A and B apart.
//!
//! Not supported: the partition ids inside AFDX IP addresses, and ports of the end system.

use crate::ethernet::{EtherType, EthernetFrame, MacAddress};
use crate::ipv4::Ipv4Packet;
use std::fmt;

/// The 16 bits of a destination address that name a virtual link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VlId(pub u16);

impl VlId {
    const CONSTANT: [u8; 4] = [0x03, 0x00, 0x00, 0x00];

    /// The destination address of the virtual link's frames.
    pub const fn address(self) -> MacAddress {
        let [a, b, c, d] = Self::CONSTANT;
        let [hi, lo] = self.0.to_be_bytes();
        MacAddress([a, b, c, d, hi, lo])
    }

    /// The virtual link that `address` names, if it is one.
    pub fn from_address(address: MacAddress) -> Option<Self> {
        let [constant @ .., hi, lo] = address.0;
        (constant == Self::CONSTANT).then_some(Self(u16::from_be_bytes([hi, lo])))
    }
}

impl fmt::Display for VlId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VL {}", self.0)
    }
}

/// One of the two redundant networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Network {
    /// Network A.
    A,
    /// Network B.
    B,
}

impl Network {
    /// The last byte of source addresses on this network.
    const fn byte(self) -> u8 {
        match self {
            Self::A => 0x20,
            Self::B => 0x40,
        }
    }

    const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0x20 => Some(Self::A),
            0x40 => Some(Self::B),
            _ => None,
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "A",
            Self::B => "B",
        })
    }
}

/// Which host sent a frame, and on which network: what an AFDX source address says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    /// Number of the host.
    pub host: u16,
    /// The network of this copy.
    pub network: Network,
}

impl Source {
    const CONSTANT: [u8; 3] = [0x02, 0x00, 0x00];

    /// The source address of the host's frames on the network.
    pub const fn address(self) -> MacAddress {
        let [a, b, c] = Self::CONSTANT;
        let [hi, lo] = self.host.to_be_bytes();
        MacAddress([a, b, c, hi, lo, self.network.byte()])
    }

    /// The source that `address` names, if it has this form.
    pub fn from_address(address: MacAddress) -> Option<Self> {
        let [constant @ .., hi, lo, network] = address.0;
        let network = Network::from_byte(network)?;
        let host = u16::from_be_bytes([hi, lo]);
        (constant == Self::CONSTANT).then_some(Self { host, network })
    }
}

/// The sequence number of a virtual link's frames: 0 only right after a reset of the sender,
/// then 1 to 255, and from 255 back to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SequenceNumber(u8);

impl SequenceNumber {
    /// The number of the first frame after a reset.
    pub const RESET: Self = Self(0);
    /// How many numbers recur.
    const CYCLE: u8 = 255;

    /// The byte that a frame carries.
    pub const fn as_byte(self) -> u8 {
        self.0
    }

    /// The number of the frame after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        if self.0 == Self::CYCLE { Self(1) } else { Self(self.0 + 1) }
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Reads the sequence number of `frame`: the last byte that the IPv4 header counts, in front of
/// any padding. `None` if the frame is not IPv4, has no payload, or is cut short.
pub fn sequence_number(frame: &[u8]) -> Option<SequenceNumber> {
    sequence_position(frame).map(|at| SequenceNumber(frame[at]))
}

/// Writes the sequence number of `frame` and says whether it has one.
///
/// A UDP checksum is not brought up to date: AFDX frames, and those of [`crate::UdpFrame`], carry
/// none.
#[must_use = "a frame without a sequence number is left as it was"]
pub fn set_sequence_number(frame: &mut [u8], number: SequenceNumber) -> bool {
    let position = sequence_position(frame);
    if let Some(at) = position {
        frame[at] = number.0;
    }
    position.is_some()
}

fn sequence_position(frame: &[u8]) -> Option<usize> {
    let ethernet = EthernetFrame::new_checked(frame).ok()?;
    if ethernet.ether_type() != EtherType::IPV4 {
        return None;
    }
    let ip = Ipv4Packet::new_checked(ethernet.payload()).ok()?;
    let has_payload = !ip.is_truncated() && !ip.payload().is_empty();
    has_payload.then(|| ethernet.header_len() + ip.total_len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::UdpFrame;

    #[test]
    fn addresses_name_virtual_link_host_and_network() {
        assert_eq!(VlId(0x1234).address().to_string(), "03:00:00:00:12:34");
        let source = Source { host: 0x0102, network: Network::B };
        assert_eq!(source.address().to_string(), "02:00:00:01:02:40");
        assert_eq!(VlId::from_address(VlId(7).address()), Some(VlId(7)));
        assert_eq!(Source::from_address(source.address()), Some(source));
        assert_eq!(VlId::from_address(source.address()), None);
        assert_eq!(Source::from_address(MacAddress([2, 0, 0, 1, 2, 0x60])), None);
        assert_eq!(Source::from_address(MacAddress([2, 0, 1, 1, 2, 0x20])), None);
    }

    #[test]
    fn numbers_go_round_without_zero() {
        let mut number = SequenceNumber::RESET;
        for expected in (1..=255).chain(1..=3) {
            number = number.next();
            assert_eq!(number.as_byte(), expected);
        }
    }

    #[test]
    fn the_number_is_in_front_of_the_padding() {
        // A frame of 63 bytes as stated: 17 bytes of payload, the last one the number.
        let frame = UdpFrame {
            eth_dst: VlId(7).address(),
            eth_src: Source { host: 1, network: Network::A }.address(),
            ip_src: [10, 0, 0, 1],
            ip_dst: [224, 224, 0, 7],
            udp_src: 1,
            udp_dst: 2,
            dscp: 0,
            payload_len: 17,
        };
        let mut bytes = [0; 64];
        let written = frame.emit(&mut bytes).expect("fits");
        assert_eq!((written.len, written.payload.end), (60, 59));
        assert!(set_sequence_number(&mut bytes[..60], SequenceNumber(0xab)));
        assert_eq!((bytes[58], bytes[59]), (0xab, 0));
        assert_eq!(sequence_number(&bytes[..60]), Some(SequenceNumber(0xab)));
        assert_eq!(sequence_number(&bytes[..58]), None);
    }
}
