//! IPv4 headers (RFC 791); options are stepped over, fragments recognised.

use crate::bytes::{array, be_u16};
use crate::checksum::internet_checksum;
use crate::error::{EmitError, WireError};

/// A header without options.
pub const HEADER_LEN: usize = 20;
const WHAT: &str = "ipv4";
const TTL: u8 = 64;
const DSCP_MAX: u8 = 63;
const ECN_MAX: u8 = 3;

mod field {
    use std::ops::Range;

    pub(super) const VERSION_IHL: usize = 0;
    pub(super) const DSCP_ECN: usize = 1;
    pub(super) const TOTAL_LEN: Range<usize> = 2..4;
    pub(super) const IDENT: Range<usize> = 4..6;
    pub(super) const FLAGS_OFFSET: Range<usize> = 6..8;
    pub(super) const TTL: usize = 8;
    pub(super) const PROTOCOL: usize = 9;
    pub(super) const CHECKSUM: Range<usize> = 10..12;
    pub(super) const SRC: Range<usize> = 12..16;
    pub(super) const DST: Range<usize> = 16..20;
}

mod flag {
    pub(super) const DONT_FRAGMENT: u16 = 0x4000;
    pub(super) const MORE_FRAGMENTS: u16 = 0x2000;
    pub(super) const OFFSET_MASK: u16 = 0x1fff;
}

/// What an IPv4 packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IpProtocol(pub u8);

impl IpProtocol {
    /// ICMP.
    pub const ICMP: Self = Self(1);
    /// TCP.
    pub const TCP: Self = Self(6);
    /// UDP.
    pub const UDP: Self = Self(17);
}

/// A view of an IPv4 packet, whose end may have been cut off (as in a packet-in).
#[derive(Clone, Copy, Debug)]
pub struct Ipv4Packet<T> {
    bytes: T,
}

impl<T: AsRef<[u8]>> Ipv4Packet<T> {
    /// A view of `bytes`, which must begin with a whole IPv4 header, options included.
    ///
    /// The checksum is not judged ([`Self::is_checksum_valid`]), and the payload may be cut short
    /// ([`Self::is_truncated`]) or followed by padding.
    pub fn new_checked(bytes: T) -> Result<Self, WireError> {
        let found = bytes.as_ref().len();
        WireError::check_len(WHAT, HEADER_LEN, found)?;
        let packet = Self { bytes };
        let version = packet.data()[field::VERSION_IHL] >> 4;
        if version != 4 {
            let value = u64::from(version);
            return Err(WireError::Field { what: WHAT, field: "version", value });
        }
        let header_len = packet.header_len();
        if header_len < HEADER_LEN {
            let value = header_len as u64;
            return Err(WireError::Field { what: WHAT, field: "header length", value });
        }
        WireError::check_len(WHAT, header_len, found)?;
        if packet.total_len() < header_len {
            let value = packet.total_len() as u64;
            return Err(WireError::Field { what: WHAT, field: "total length", value });
        }
        Ok(packet)
    }

    fn data(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Bytes of the header, options included.
    pub fn header_len(&self) -> usize {
        usize::from(self.data()[field::VERSION_IHL] & 0x0f) * 4
    }

    /// Bytes of header and payload as the header states them, padding excluded.
    pub fn total_len(&self) -> usize {
        usize::from(be_u16(self.data(), field::TOTAL_LEN))
    }

    /// Differentiated services code point, 0 to 63.
    pub fn dscp(&self) -> u8 {
        self.data()[field::DSCP_ECN] >> 2
    }

    /// Explicit congestion notification, 0 to 3.
    pub fn ecn(&self) -> u8 {
        self.data()[field::DSCP_ECN] & ECN_MAX
    }

    /// What the packet carries.
    pub fn protocol(&self) -> IpProtocol {
        IpProtocol(self.data()[field::PROTOCOL])
    }

    /// Source address.
    pub fn src(&self) -> [u8; 4] {
        array(self.data(), field::SRC)
    }

    /// Destination address.
    pub fn dst(&self) -> [u8; 4] {
        array(self.data(), field::DST)
    }

    /// Whether the payload begins with the header of the protocol above: true of whole packets
    /// and of first fragments.
    pub(crate) fn is_first_fragment(&self) -> bool {
        be_u16(self.data(), field::FLAGS_OFFSET) & flag::OFFSET_MASK == 0
    }

    /// Whether the packet is a part of a larger one.
    pub fn is_fragment(&self) -> bool {
        be_u16(self.data(), field::FLAGS_OFFSET) & (flag::OFFSET_MASK | flag::MORE_FRAGMENTS) != 0
    }

    /// Whether fewer bytes are there than the header states.
    pub fn is_truncated(&self) -> bool {
        self.data().len() < self.total_len()
    }

    /// Whether the header checksum is right.
    pub fn is_checksum_valid(&self) -> bool {
        internet_checksum(&[&self.data()[..self.header_len()]]) == 0
    }

    /// The payload as far as it is there, padding excluded.
    pub fn payload(&self) -> &[u8] {
        let data = self.data();
        &data[self.header_len()..self.total_len().min(data.len())]
    }
}

/// An IPv4 header without options, of a packet that is not fragmented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Repr {
    /// Source address.
    pub src: [u8; 4],
    /// Destination address.
    pub dst: [u8; 4],
    /// What the packet carries.
    pub protocol: IpProtocol,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// Explicit congestion notification, 0 to 3.
    pub ecn: u8,
    /// Bytes behind the header.
    pub payload_len: usize,
}

impl Ipv4Repr {
    /// The most bytes that an IPv4 packet carries behind a header without options.
    const PAYLOAD_LEN_MAX: usize = 65_535 - HEADER_LEN;

    /// Writes the header with its checksum at the start of `bytes` and returns its length.
    ///
    /// Identification is 0 with "don't fragment": RFC 6864, section 4.1, lets a datagram that is
    /// never fragmented carry any, and a constant keeps equal frames equal.
    pub fn emit(&self, bytes: &mut [u8]) -> Result<usize, EmitError> {
        let total_len = self.check(bytes.len())?;
        let header = &mut bytes[..HEADER_LEN];
        header[field::VERSION_IHL] = 0x45;
        header[field::DSCP_ECN] = self.dscp << 2 | self.ecn;
        header[field::TOTAL_LEN].copy_from_slice(&total_len.to_be_bytes());
        header[field::IDENT].fill(0);
        header[field::FLAGS_OFFSET].copy_from_slice(&flag::DONT_FRAGMENT.to_be_bytes());
        header[field::TTL] = TTL;
        header[field::PROTOCOL] = self.protocol.0;
        header[field::CHECKSUM].fill(0);
        header[field::SRC].copy_from_slice(&self.src);
        header[field::DST].copy_from_slice(&self.dst);
        let checksum = internet_checksum(&[header]);
        header[field::CHECKSUM].copy_from_slice(&checksum.to_be_bytes());
        Ok(HEADER_LEN)
    }

    /// The total length, if all fields and the buffer are in range.
    fn check(&self, given: usize) -> Result<u16, EmitError> {
        if given < HEADER_LEN {
            return Err(EmitError::BufferTooSmall { needed: HEADER_LEN, given });
        }
        if self.dscp > DSCP_MAX {
            return Err(EmitError::DscpTooLarge(self.dscp));
        }
        if self.ecn > ECN_MAX {
            return Err(EmitError::EcnTooLarge(self.ecn));
        }
        u16::try_from(self.payload_len.saturating_add(HEADER_LEN)).map_err(|_| {
            let (bytes, bytes_max) = (self.payload_len, Self::PAYLOAD_LEN_MAX);
            EmitError::PayloadTooLong { bytes, bytes_max }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The textbook example of the header checksum, b861.
    const UDP_115: [u8; 20] = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00,
        0x01, 0xc0, 0xa8, 0x00, 0xc7,
    ];

    const REPR: Ipv4Repr = Ipv4Repr {
        src: [192, 168, 0, 1],
        dst: [192, 168, 0, 199],
        protocol: IpProtocol::UDP,
        dscp: 0,
        ecn: 0,
        payload_len: 95,
    };

    #[test]
    fn a_header_is_written_byte_for_byte() {
        let mut bytes = [0xff; 24];
        assert_eq!(REPR.emit(&mut bytes), Ok(20));
        assert_eq!(bytes[..20], UDP_115);
        assert_eq!(bytes[20..], [0xff; 4]);
    }

    #[test]
    fn a_header_without_its_payload_is_truncated_but_readable() {
        let packet = Ipv4Packet::new_checked(UDP_115).expect("a whole header");
        assert!(packet.is_checksum_valid() && packet.is_truncated() && !packet.is_fragment());
        assert_eq!((packet.total_len(), packet.payload().len()), (115, 0));
        assert_eq!((packet.src(), packet.dst()), (REPR.src, REPR.dst));
    }

    #[test]
    fn options_are_stepped_over_and_padding_is_no_payload() {
        let mut bytes = [0; 30];
        bytes[..20].copy_from_slice(&UDP_115);
        (bytes[0], bytes[3]) = (0x46, 26); // one word of options, two bytes of payload
        bytes[24..26].copy_from_slice(&[7, 8]);
        let packet = Ipv4Packet::new_checked(bytes).expect("valid");
        assert_eq!(packet.payload(), [7, 8]);
        assert!(!packet.is_checksum_valid());
    }

    #[test]
    fn fragments_are_told_apart() {
        for (flags, first, fragment) in
            [(0x4000, true, false), (0x2000, true, true), (0x2001, false, true), (1, false, true)]
        {
            let mut bytes = UDP_115;
            bytes[6..8].copy_from_slice(&u16::to_be_bytes(flags));
            let packet = Ipv4Packet::new_checked(bytes).expect("valid");
            assert_eq!((packet.is_first_fragment(), packet.is_fragment()), (first, fragment));
        }
    }

    #[test]
    fn malformed_headers_are_refused_by_field() {
        let broken = |at: usize, value: u8| {
            let mut bytes = UDP_115;
            bytes[at] = value;
            Ipv4Packet::new_checked(bytes).map(|_| ())
        };
        let field = |field, value| Err(WireError::Field { what: "ipv4", field, value });
        assert_eq!(broken(0, 0x65), field("version", 6));
        assert_eq!(broken(0, 0x44), field("header length", 16));
        assert_eq!(broken(3, 0x13), field("total length", 19));
        assert_eq!(
            broken(0, 0x46),
            Err(WireError::Truncated { what: "ipv4", needed: 24, found: 20 })
        );
    }

    #[test]
    fn values_without_a_byte_form_are_refused() {
        let mut bytes = [0; 20];
        let emit = |repr: Ipv4Repr, bytes: &mut [u8]| repr.emit(bytes);
        assert_eq!(
            emit(Ipv4Repr { dscp: 64, ..REPR }, &mut bytes),
            Err(EmitError::DscpTooLarge(64))
        );
        assert_eq!(emit(Ipv4Repr { ecn: 4, ..REPR }, &mut bytes), Err(EmitError::EcnTooLarge(4)));
        assert_eq!(
            emit(Ipv4Repr { payload_len: 65_516, ..REPR }, &mut bytes),
            Err(EmitError::PayloadTooLong { bytes: 65_516, bytes_max: 65_515 })
        );
        assert_eq!(
            emit(REPR, &mut bytes[..19]),
            Err(EmitError::BufferTooSmall { needed: 20, given: 19 })
        );
    }
}
