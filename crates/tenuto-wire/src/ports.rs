//! The ports of TCP and UDP, which lie at the same place in both.

use crate::bytes::be_u16;
use crate::ipv4::{IpProtocol, Ipv4Packet};

mod field {
    use std::ops::Range;

    pub(super) const SRC_PORT: Range<usize> = 0..2;
    pub(super) const DST_PORT: Range<usize> = 2..4;
    pub(super) const END: usize = 4;
}

/// The ports of a TCP segment or a UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ports {
    /// Source port.
    pub src: u16,
    /// Destination port.
    pub dst: u16,
}

impl Ports {
    /// The ports of `packet`; none for other protocols, for later fragments (which have no
    /// header to read them from), and where the bytes end before them.
    pub fn extract<T: AsRef<[u8]>>(packet: &Ipv4Packet<T>) -> Option<Self> {
        let has_ports = matches!(packet.protocol(), IpProtocol::TCP | IpProtocol::UDP);
        if !has_ports || !packet.is_first_fragment() {
            return None;
        }
        let header = packet.payload().get(..field::END)?;
        Some(Self { src: be_u16(header, field::SRC_PORT), dst: be_u16(header, field::DST_PORT) })
    }
}
