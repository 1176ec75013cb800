//! UDP headers (RFC 768).

use crate::bytes::be_u16;
use crate::checksum::internet_checksum;
use crate::error::WireError;
use crate::ipv4::IpProtocol;

/// The UDP header.
pub const HEADER_LEN: usize = 8;
const WHAT: &str = "udp";

mod field {
    use std::ops::Range;

    pub(super) const SRC_PORT: Range<usize> = 0..2;
    pub(super) const DST_PORT: Range<usize> = 2..4;
    pub(super) const LENGTH: Range<usize> = 4..6;
    pub(super) const CHECKSUM: Range<usize> = 6..8;
}

/// A view of a whole UDP datagram.
#[derive(Clone, Copy, Debug)]
pub struct UdpPacket<T> {
    bytes: T,
}

impl<T: AsRef<[u8]>> UdpPacket<T> {
    /// A view of `bytes`, the payload of an IP packet, which must hold all that the header states.
    pub fn new_checked(bytes: T) -> Result<Self, WireError> {
        let found = bytes.as_ref().len();
        WireError::check_len(WHAT, HEADER_LEN, found)?;
        let packet = Self { bytes };
        let length = packet.length();
        if length < HEADER_LEN {
            let value = length as u64;
            return Err(WireError::Field { what: WHAT, field: "length", value });
        }
        WireError::check_len(WHAT, length, found)?;
        Ok(packet)
    }

    fn data(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Bytes of header and payload.
    pub fn length(&self) -> usize {
        usize::from(be_u16(self.data(), field::LENGTH))
    }

    /// The payload.
    pub fn payload(&self) -> &[u8] {
        &self.data()[HEADER_LEN..self.length()]
    }

    /// Whether the checksum is right, or absent: "An all zero transmitted checksum value means
    /// that the transmitter generated no checksum" (RFC 768).
    pub fn is_checksum_valid(&self, ip_src: [u8; 4], ip_dst: [u8; 4]) -> bool {
        let datagram = &self.data()[..self.length()];
        let [length_hi, length_lo] = [datagram[4], datagram[5]];
        let pseudo_header = [0, IpProtocol::UDP.0, length_hi, length_lo];
        be_u16(datagram, field::CHECKSUM) == 0
            || internet_checksum(&[&ip_src, &ip_dst, &pseudo_header, datagram]) == 0
    }
}

/// Writes a header without checksum (the frame check sequence guards each hop).
pub(crate) fn emit_header(bytes: &mut [u8], src_port: u16, dst_port: u16, length: u16) {
    bytes[field::SRC_PORT].copy_from_slice(&src_port.to_be_bytes());
    bytes[field::DST_PORT].copy_from_slice(&dst_port.to_be_bytes());
    bytes[field::LENGTH].copy_from_slice(&length.to_be_bytes());
    bytes[field::CHECKSUM].fill(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 5000 > 6000, "hi", and two bytes of padding.
    const DATAGRAM: [u8; 12] =
        [0x13, 0x88, 0x17, 0x70, 0x00, 0x0a, 0x00, 0x00, b'h', b'i', 0xee, 0xee];

    #[test]
    fn payload_ends_where_the_length_says() {
        let packet = UdpPacket::new_checked(DATAGRAM).expect("valid");
        assert_eq!(packet.payload(), b"hi");
    }

    #[test]
    fn a_checksum_is_checked_and_zero_is_none() {
        let (src, dst) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        let mut bytes = DATAGRAM;
        let valid = |bytes: &[u8]| {
            UdpPacket::new_checked(bytes).expect("valid").is_checksum_valid(src, dst)
        };
        assert!(valid(&bytes));
        // 0a00+0001+0a00+0002+0011+000a+1388+1770+000a+6869 = a789; its complement is 5876.
        bytes[6..8].copy_from_slice(&[0x58, 0x76]);
        assert!(valid(&bytes));
        bytes[8] ^= 1;
        assert!(!valid(&bytes));
    }

    #[test]
    fn lengths_are_judged() {
        let with = |length: u8| {
            let mut bytes = DATAGRAM;
            bytes[5] = length;
            UdpPacket::new_checked(bytes).map(|_| ())
        };
        assert_eq!(with(8), Ok(()));
        assert_eq!(with(7), Err(WireError::Field { what: "udp", field: "length", value: 7 }));
        assert_eq!(with(13), Err(WireError::Truncated { what: "udp", needed: 13, found: 12 }));
    }
}
