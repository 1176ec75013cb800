//! Who speaks with whom, as finely as packets tell.

use super::headers::Headers;
use super::packet::{Packet, between};
use super::transport_flow::TransportFlow;
use tenuto_openflow::{Match, Oxm};

/// Packets in one direction: those of a flow of TCP or UDP, or else of two stations and a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Conversation {
    /// A flow of TCP or UDP.
    Flow(TransportFlow),
    /// Other packets.
    Stations {
        /// Source address.
        src: [u8; 6],
        /// Destination address.
        dst: [u8; 6],
        /// EtherType.
        eth_type: u16,
        /// Protocol, of IP packets.
        protocol: Option<u8>,
    },
}

impl Conversation {
    /// That of a packet.
    pub fn of(packet: &Packet<'_>) -> Self {
        let headers: Headers = packet.headers();
        let Packet { src, dst, .. } = *packet;
        match TransportFlow::of(&headers) {
            Some(flow) => Self::Flow(flow),
            None => {
                let protocol = headers.ip().map(|ip| ip.protocol);
                Self::Stations { src, dst, eth_type: headers.eth_type, protocol }
            }
        }
    }

    /// That of the replies.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Flow(flow) => Self::Flow(flow.reversed()),
            Self::Stations { src, dst, eth_type, protocol } => {
                Self::Stations { src: dst, dst: src, eth_type, protocol }
            }
        }
    }

    /// Its packets, through whatever port.
    pub fn matching(&self) -> Match {
        match *self {
            Self::Flow(flow) => flow.matching(),
            Self::Stations { src, dst, eth_type, protocol } => {
                let mut match_ = between(src, dst);
                match_.oxms.push(Oxm::EthType(eth_type));
                match_.oxms.extend(protocol.map(Oxm::IpProto));
                match_
            }
        }
    }
}
