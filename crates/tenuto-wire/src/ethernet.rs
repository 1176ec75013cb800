//! Ethernet II with at most one 802.1Q tag.

use crate::bytes::{array, be_u16};
use crate::error::{AddressError, WireError};
use std::fmt;
use std::str::FromStr;

/// The least length in memory, FCS not counted; shorter frames are padded.
pub const FRAME_LEN_MIN: usize = 60;
/// The largest length in memory of an untagged frame, FCS not counted.
pub const FRAME_LEN_MAX: usize = 1514;
/// The Ethernet header without a tag.
pub const HEADER_LEN: usize = 14;
/// One 802.1Q tag.
pub const VLAN_TAG_LEN: usize = 4;
/// The frame check sequence, which frames in memory do not have.
pub(crate) const FCS_LEN: usize = 4;

/// The size that the network is planned with, FCS and padding counted, of a frame that has
/// `len_without_fcs` bytes in memory.
pub fn frame_bytes(len_without_fcs: usize) -> u32 {
    let with_fcs = u32::try_from(len_without_fcs.saturating_add(FCS_LEN)).unwrap_or(u32::MAX);
    tenuto_units::frame_bytes_padded(with_fcs)
}

mod field {
    use std::ops::Range;

    pub(super) const DST: Range<usize> = 0..6;
    pub(super) const SRC: Range<usize> = 6..12;
    pub(super) const TYPE: Range<usize> = 12..14;
    /// Priority (3 bits), drop eligibility (1), VLAN id (12).
    pub(super) const TAG_CONTROL: Range<usize> = 14..16;
    pub(super) const TYPE_AFTER_TAG: Range<usize> = 16..18;
}

/// A MAC address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// All stations.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Whether this names a group of stations, broadcast included.
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl FromStr for MacAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let mut octets = [0; 6];
        let mut parts = text.split(':');
        for octet in &mut octets {
            let part = parts.next().ok_or(AddressError)?;
            // `from_str_radix` would take a sign.
            if part.len() != 2 || !part.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(AddressError);
            }
            *octet = u8::from_str_radix(part, 16).map_err(|_| AddressError)?;
        }
        if parts.next().is_some() { Err(AddressError) } else { Ok(Self(octets)) }
    }
}

/// What an Ethernet frame carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EtherType(pub u16);

impl EtherType {
    /// The value that OpenFlow switches match for a frame whose field is a *length* (IEEE 802.3
    /// with LLC): such a frame has no type.
    pub const NONE: Self = Self(0x05ff);
    /// IPv4.
    pub const IPV4: Self = Self(0x0800);
    /// ARP.
    pub const ARP: Self = Self(0x0806);
    /// An 802.1Q tag follows.
    pub const VLAN: Self = Self(0x8100);
    /// IPv6. This crate has no view of its header; a general switch reads it by itself.
    pub const IPV6: Self = Self(0x86dd);
    /// Link layer discovery.
    pub const LLDP: Self = Self(0x88cc);
    /// Mode signals: [`crate::signal`].
    pub const MODE_SIGNAL: Self = Self(0x0f00);
    /// Attendre commands: [`crate::attendre`].
    pub const ATTENDRE: Self = Self(0x0f01);

    /// The least value that is a type; smaller ones are lengths (IEEE 802.3, 3.2.6). Our own two
    /// types lie above it.
    pub const TYPE_MIN: u16 = 0x0600;

    const fn from_field(value: u16) -> Self {
        if value < Self::TYPE_MIN { Self::NONE } else { Self(value) }
    }
}

impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::IPV4 => f.write_str("IPv4"),
            Self::ARP => f.write_str("ARP"),
            Self::IPV6 => f.write_str("IPv6"),
            Self::LLDP => f.write_str("LLDP"),
            Self::MODE_SIGNAL => f.write_str("mode signal"),
            Self::ATTENDRE => f.write_str("Attendre"),
            Self::NONE => f.write_str("802.3"),
            Self(value) => write!(f, "ethertype 0x{value:04x}"),
        }
    }
}

/// What an 802.1Q tag says of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VlanTag {
    /// VLAN id, 0 to 4095; 0 means that only the priority is meant.
    pub vid: u16,
    /// Priority code point, 0 to 7.
    pub pcp: u8,
}

/// A view of an Ethernet frame.
#[derive(Clone, Copy, Debug)]
pub struct EthernetFrame<T> {
    bytes: T,
}

impl<T: AsRef<[u8]>> EthernetFrame<T> {
    /// A view of `bytes`, which must hold at least the header.
    pub fn new_checked(bytes: T) -> Result<Self, WireError> {
        WireError::check_len("ethernet", HEADER_LEN, bytes.as_ref().len())?;
        Ok(Self { bytes })
    }

    fn data(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Destination address.
    pub fn dst(&self) -> MacAddress {
        MacAddress(array(self.data(), field::DST))
    }

    /// Source address.
    pub fn src(&self) -> MacAddress {
        MacAddress(array(self.data(), field::SRC))
    }

    /// Whether a whole tag is there. A frame cut short inside its tag is taken as untagged, of
    /// type [`EtherType::VLAN`].
    fn is_tagged(&self) -> bool {
        be_u16(self.data(), field::TYPE) == EtherType::VLAN.0
            && self.data().len() >= HEADER_LEN + VLAN_TAG_LEN
    }

    /// The 802.1Q tag, if there is one.
    pub fn vlan(&self) -> Option<VlanTag> {
        let control = self.is_tagged().then(|| array::<2>(self.data(), field::TAG_CONTROL))?;
        Some(VlanTag { vid: u16::from_be_bytes(control) & 0x0fff, pcp: control[0] >> 5 })
    }

    /// What the frame carries, behind the tag if there is one; [`EtherType::NONE`] for a length.
    pub fn ether_type(&self) -> EtherType {
        let at = if self.is_tagged() { field::TYPE_AFTER_TAG } else { field::TYPE };
        EtherType::from_field(be_u16(self.data(), at))
    }

    /// Bytes of the header, the tag included.
    pub fn header_len(&self) -> usize {
        if self.is_tagged() { HEADER_LEN + VLAN_TAG_LEN } else { HEADER_LEN }
    }

    /// What follows the header, padding included.
    pub fn payload(&self) -> &[u8] {
        &self.data()[self.header_len()..]
    }
}

/// Writes an untagged header at the start of `bytes`.
///
/// # Panics
/// If `bytes` is shorter than [`HEADER_LEN`].
pub(crate) fn emit_header(
    bytes: &mut [u8],
    dst: MacAddress,
    src: MacAddress,
    ether_type: EtherType,
) {
    bytes[field::DST].copy_from_slice(&dst.0);
    bytes[field::SRC].copy_from_slice(&src.0);
    bytes[field::TYPE].copy_from_slice(&ether_type.0.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAGGED: [u8; 20] = [
        0x03, 0, 0, 0, 0x12, 0x34, 0x02, 0, 0, 0, 1, 0x20, // addresses
        0x81, 0x00, 0xb0, 0x05, 0x08, 0x00, // priority 5, drop eligible, VLAN 5, IPv4
        0xaa, 0xbb,
    ];

    #[test]
    fn a_tagged_frame_is_read_behind_its_tag() {
        let frame = EthernetFrame::new_checked(TAGGED).expect("long enough");
        assert_eq!(frame.dst().to_string(), "03:00:00:00:12:34");
        assert_eq!(frame.src().to_string(), "02:00:00:00:01:20");
        assert_eq!(frame.vlan(), Some(VlanTag { vid: 5, pcp: 5 }));
        assert_eq!(frame.ether_type(), EtherType::IPV4);
        assert_eq!(frame.payload(), [0xaa, 0xbb]);
    }

    #[test]
    fn a_frame_cut_inside_its_tag_is_untagged() {
        let frame = EthernetFrame::new_checked(&TAGGED[..17]).expect("long enough");
        assert_eq!((frame.vlan(), frame.ether_type()), (None, EtherType::VLAN));
        assert_eq!(frame.payload(), &TAGGED[14..17]);
    }

    #[test]
    fn a_length_is_no_type() {
        let mut bytes = TAGGED;
        bytes[12..14].copy_from_slice(&[0x00, 0x2e]);
        let frame = EthernetFrame::new_checked(bytes).expect("long enough");
        assert_eq!(frame.ether_type(), EtherType::NONE);
    }

    #[test]
    fn thirteen_bytes_are_no_frame() {
        assert_eq!(
            EthernetFrame::new_checked(&TAGGED[..13]).map(|_| ()),
            Err(WireError::Truncated { what: "ethernet", needed: 14, found: 13 })
        );
    }

    #[test]
    fn planned_sizes_count_fcs_and_padding() {
        for (len, frame) in [(0, 64), (59, 64), (60, 64), (61, 65), (1514, 1518)] {
            assert_eq!(frame_bytes(len), frame);
        }
        assert_eq!(frame_bytes(usize::MAX), u32::MAX);
    }

    #[test]
    fn addresses_are_read_strictly() {
        let address = "02:00:00:Ab:cD:ef".parse::<MacAddress>();
        assert_eq!(address, Ok(MacAddress([2, 0, 0, 0xab, 0xcd, 0xef])));
        for bad in
            ["", "02:00:00:00:00", "02:00:00:00:00:00:00", "+2:00:00:00:00:00", "2:0:0:0:0:0"]
        {
            assert_eq!(bad.parse::<MacAddress>(), Err(AddressError), "{bad}");
        }
    }
}
