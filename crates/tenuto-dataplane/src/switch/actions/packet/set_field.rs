//! Setting header fields, and the checksums that cover them.

use super::checksum::{adjusted, crc32c};
use super::layers::{Network, long, short};
use super::{Buffer, FieldValue};
use tenuto_openflow::constants::ip_proto;

/// Where the checksum stands in a transport header.
const TCP_CHECKSUM: usize = 16;
const UDP_CHECKSUM: usize = 6;
const SCTP_CHECKSUM: usize = 8;
const ICMP_CHECKSUM: usize = 2;
/// Largest number of bytes of one field.
const FIELD_MAX: usize = 16;

impl Buffer {
    pub(super) fn set_field(&mut self, value: &FieldValue) {
        match value.field {
            3 => self.put(0, &value.tail::<6>()),
            4 => self.put(6, &value.tail::<6>()),
            5 => {
                let at = self.layers.eth_type_at;
                self.put(at, &value.tail::<2>());
                self.relocate();
            }
            6 => self.set_tag(0x0fff, value.short()),
            7 => self.set_tag(0xe000, u16::from(value.byte()) << 13),
            8 => self.set_dscp(value.byte()),
            9 => self.set_traffic_class(0x03, value.byte()),
            10 => self.set_protocol(value.byte()),
            11..=12 | 22..=27 | 31..=33 | 21 | 28 => self.set_network(value),
            13..=18 => self.set_port(value),
            19 | 20 | 29 | 30 => self.set_icmp(value),
            34 => self.set_label(0xffff_f000, value.long() << 12),
            35 => self.set_label(0x0000_0e00, value.long() << 9),
            36 => self.set_label(0x0000_0100, value.long() << 8),
            37 => {
                if let Network::Pbb(at) = self.layers.network {
                    self.put(at + 1, &value.tail::<3>());
                }
            }
            _ => {}
        }
    }

    /// Bits of the control information of the outermost VLAN tag.
    fn set_tag(&mut self, mask: u16, value: u16) {
        if let Some(tag) = self.layers.vlan {
            let tci = short(self.bytes(), tag + 2) & !mask | value & mask;
            self.put(tag + 2, &tci.to_be_bytes());
        }
    }

    fn set_label(&mut self, mask: u32, value: u32) {
        if let Network::Mpls(at) = self.layers.network {
            let label = long(self.bytes(), at) & !mask | value & mask;
            self.put(at, &label.to_be_bytes());
        }
    }

    pub(super) fn set_dscp(&mut self, dscp: u8) {
        self.set_traffic_class(0xfc, dscp << 2);
    }

    fn set_traffic_class(&mut self, mask: u8, value: u8) {
        match self.layers.network {
            Network::V4(at) => {
                let old = self.bytes()[at + 1];
                self.set_ipv4_header(at, at + 1, &[old & !mask | value & mask]);
            }
            Network::V6(at) => {
                let (mask, value) = (u32::from(mask) << 20, u32::from(value) << 20);
                let head = long(self.bytes(), at) & !mask | value & mask;
                self.put(at, &head.to_be_bytes());
            }
            _ => {}
        }
    }

    /// Bytes of an IPv4 header, with its checksum.
    fn set_ipv4_header(&mut self, header: usize, at: usize, bytes: &[u8]) {
        self.set_covered(at, bytes, header + 10);
    }

    /// Bytes that the checksum at `checksum` covers. Headers begin at even offsets, so that whole
    /// words of the frame are whole words of the sum.
    fn set_covered(&mut self, at: usize, bytes: &[u8], checksum: usize) {
        let (from, to) = (at & !1, (at + bytes.len()).next_multiple_of(2));
        let to = to.min(self.bytes().len());
        let mut before = [0; FIELD_MAX + 2];
        before[..to - from].copy_from_slice(&self.bytes()[from..to]);
        self.put(at, bytes);
        let after = &self.bytes()[from..to];
        let new = adjusted(short(self.bytes(), checksum), &before[..to - from], after);
        self.put(checksum, &new.to_be_bytes());
    }

    /// Adjusts the checksum of the transport header to a change of what it covers.
    fn adjust_transport(&mut self, before: &[u8], after: &[u8]) {
        let Some(at) = self.layers.transport else { return };
        let place = match self.layers.proto {
            ip_proto::TCP => at + TCP_CHECKSUM,
            ip_proto::UDP => at + UDP_CHECKSUM,
            ip_proto::ICMPV6 => at + ICMP_CHECKSUM,
            _ => return,
        };
        let old = short(self.bytes(), place);
        // A UDP checksum of zero says that there is none; one that comes out as zero is sent as
        // its complement ([RFC 768]).
        let is_udp = self.layers.proto == ip_proto::UDP;
        if is_udp && old == 0 {
            return;
        }
        let new = match adjusted(old, before, after) {
            0 if is_udp => 0xffff,
            new => new,
        };
        self.put(place, &new.to_be_bytes());
    }

    /// The protocol number counts in the pseudo header of the transport that is there.
    fn set_protocol(&mut self, proto: u8) {
        let (before, at) = (self.layers.proto, self.layers.proto_at);
        match self.layers.network {
            Network::V4(header) => self.set_ipv4_header(header, at, &[proto]),
            Network::V6(_) => self.put(at, &[proto]),
            _ => return,
        }
        self.adjust_transport(&[0, before], &[0, proto]);
        self.relocate();
    }

    /// An address of the network layer: it counts in the pseudo header as well.
    fn set_address<const N: usize>(&mut self, at: usize, value: [u8; N]) {
        let mut before = [0; N];
        before.copy_from_slice(&self.bytes()[at..at + N]);
        match self.layers.network {
            Network::V4(header) => self.set_ipv4_header(header, at, &value),
            _ => self.put(at, &value),
        }
        self.adjust_transport(&before, &value);
    }

    fn set_network(&mut self, value: &FieldValue) {
        match (value.field, self.layers.network) {
            (11, Network::V4(at)) => self.set_address::<4>(at + 12, value.tail()),
            (12, Network::V4(at)) => self.set_address::<4>(at + 16, value.tail()),
            (26, Network::V6(at)) => self.set_address::<16>(at + 8, value.tail()),
            // The checksum covers the final destination (RFC 8200, section 8.1).
            (27, Network::V6(at)) if self.layers.is_routed => {
                self.put(at + 24, &value.tail::<16>());
            }
            (27, Network::V6(at)) => self.set_address::<16>(at + 24, value.tail()),
            (28, Network::V6(at)) => {
                let head = long(self.bytes(), at) & !0xf_ffff | value.long() & 0xf_ffff;
                self.put(at, &head.to_be_bytes());
            }
            (21, Network::Arp(at)) => self.put(at + 6, &value.tail::<2>()),
            (22, Network::Arp(at)) => self.put(at + 14, &value.tail::<4>()),
            (23, Network::Arp(at)) => self.put(at + 24, &value.tail::<4>()),
            (24, Network::Arp(at)) => self.put(at + 8, &value.tail::<6>()),
            (25, Network::Arp(at)) => self.put(at + 18, &value.tail::<6>()),
            (31, Network::V6(_)) => {
                if let Some(at) = self.layers.nd_target(self.bytes()) {
                    self.set_transport_bytes(at, &value.tail::<16>());
                }
            }
            (32 | 33, Network::V6(_)) => {
                if let Some(at) = self.layers.nd_link_of(value.field, self.bytes()) {
                    self.set_transport_bytes(at, &value.tail::<6>());
                }
            }
            _ => {}
        }
    }

    /// Bytes behind the start of the transport header, at an even offset and of even length.
    fn set_transport_bytes<const N: usize>(&mut self, at: usize, value: &[u8; N]) {
        if self.layers.proto == ip_proto::SCTP {
            return self.set_sctp_bytes(at, value);
        }
        let mut before = [0; N];
        before.copy_from_slice(&self.bytes()[at..at + N]);
        self.put(at, value);
        self.adjust_transport(&before, value);
    }

    fn set_port(&mut self, value: &FieldValue) {
        let wanted = match value.field {
            13 | 14 => ip_proto::TCP,
            15 | 16 => ip_proto::UDP,
            _ => ip_proto::SCTP,
        };
        if let Some(at) = self.layers.transport
            && self.layers.proto == wanted
        {
            let offset = if value.field % 2 == 1 { 0 } else { 2 };
            self.set_transport_bytes(at + offset, &value.tail::<2>());
        }
    }

    fn set_icmp(&mut self, value: &FieldValue) {
        let wanted = if value.field < 29 { ip_proto::ICMP } else { ip_proto::ICMPV6 };
        let Some(at) = self.layers.transport.filter(|_| self.layers.proto == wanted) else {
            return;
        };
        let is_type = matches!(value.field, 19 | 29);
        let place = if is_type { at } else { at + 1 };
        self.set_covered(place, &[value.byte()], at + ICMP_CHECKSUM);
        if is_type {
            self.relocate();
        }
    }

    /// Bytes of an SCTP header. The CRC has no difference to change it by; it is wrong by as much as
    /// it was before, so that a damaged packet is not taken for a whole one.
    fn set_sctp_bytes(&mut self, at: usize, value: &[u8]) {
        let Some(header) = self.layers.transport else { return };
        let stored = long(self.bytes(), header + SCTP_CHECKSUM);
        let wrong = stored ^ self.sctp_checksum(header);
        self.put(at, value);
        let checksum = self.sctp_checksum(header) ^ wrong;
        self.put(header + SCTP_CHECKSUM, &checksum.to_be_bytes());
    }

    /// The CRC over the whole packet, its own place taken as zero, as it is sent: least byte first.
    fn sctp_checksum(&self, header: usize) -> u32 {
        let (place, bytes) = (header + SCTP_CHECKSUM, self.bytes());
        let rest = &bytes[place + 4..self.layers.end];
        crc32c(&[&bytes[header..place], &[0; 4], rest]).swap_bytes()
    }
}
