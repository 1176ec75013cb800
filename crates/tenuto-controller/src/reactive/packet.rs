//! What an application is told of a packet.

use super::headers::Headers;
use super::transport_flow::TransportFlow;
use tenuto_openflow::{Match, Oxm, PacketIn};

/// What an application is told of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The message itself.
    pub message: &'a PacketIn,
    /// The port of entry.
    pub in_port: u32,
    /// Its destination.
    pub dst: [u8; 6],
    /// Its source.
    pub src: [u8; 6],
}

impl<'a> Packet<'a> {
    /// `None` if the message names no port or holds no Ethernet header.
    pub fn of(message: &'a PacketIn) -> Option<Self> {
        let in_port = message.match_.oxms.iter().find_map(|oxm| match oxm {
            Oxm::InPort(port) => Some(*port),
            _ => None,
        })?;
        let (dst, rest) = message.data.split_first_chunk::<6>()?;
        let src = rest.first_chunk::<6>()?;
        Some(Self { message, in_port, dst: *dst, src: *src })
    }

    /// Packets of the same source and destination, through whatever port.
    pub fn addresses(&self) -> Match {
        between(self.src, self.dst)
    }

    /// Packets of the same source and destination through the same port.
    pub fn addresses_at_port(&self) -> Match {
        let mut match_ = Match::from(vec![Oxm::InPort(self.in_port)]);
        match_.oxms.extend(self.addresses().oxms);
        match_
    }

    /// Its header fields, as far as the switch has sent them.
    pub fn headers(&self) -> Headers {
        Headers::parse(&self.message.data)
    }

    /// Its flow of TCP or UDP.
    pub fn flow(&self) -> Option<TransportFlow> {
        TransportFlow::of(&self.headers())
    }

    /// Whether it is for a group of stations, or for all (bit 0 of the first byte, IEEE 802).
    pub const fn is_multicast(&self) -> bool {
        self.dst[0] & 1 == 1
    }
}

/// Packets from one address to another.
pub fn between(src: [u8; 6], dst: [u8; 6]) -> Match {
    let (value, mask) = (dst, None);
    Match::from(vec![Oxm::EthDst { value, mask }, Oxm::EthSrc { value: src, mask }])
}

/// Packets to an address, whoever sends them.
pub fn to_address(dst: [u8; 6]) -> Match {
    Match::from(vec![Oxm::EthDst { value: dst, mask: None }])
}
