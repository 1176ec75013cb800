//! Where the headers of a frame are, and the key that they give.

use super::ipv6;
use crate::switch::classifier::key::{PacketKey, VLAN_PRESENT, field, halves};
use tenuto_openflow::constants::{ethertype, ip_proto};
use tenuto_wire::EtherType;

/// Addresses and EtherType.
const ETHERNET_LEN: usize = 14;
/// What stands behind a length instead of an EtherType: sub-network access protocol of organisation
/// zero, whose protocol number is an EtherType ([RFC 1042]).
const SNAP: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];
/// Tags that are passed over; more are taken for payload.
const TAGS_MAX: usize = 8;
const ND_SOLICITATION: u8 = 135;
const ND_ADVERTISEMENT: u8 = 136;
/// Neighbour discovery options: source and target link-layer address ([RFC 4861], section 4.6).
const ND_OPTION_SOURCE: u8 = 1;
const ND_OPTION_TARGET: u8 = 2;

/// Protocol numbers of IP packets in IP packets ([RFC 2003], [RFC 2473]).
const IPV4_IN_IP: u8 = 4;
const IPV6_IN_IP: u8 = 41;

/// The network layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::switch) enum Network {
    #[default]
    None,
    V4(usize),
    V6(usize),
    Arp(usize),
    Mpls(usize),
    /// The service tag's control information, behind its EtherType.
    Pbb(usize),
}

/// Where the headers of a frame are; offsets from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::switch) struct Layers {
    /// The outermost VLAN tag, from its EtherType on.
    pub(super) vlan: Option<usize>,
    /// The EtherType behind the VLAN tags, or behind the headers of a frame with a length there.
    pub(super) eth_type_at: usize,
    pub(super) network: Network,
    /// The protocol behind the network header, and where its number stands.
    pub(super) proto: u8,
    pub(super) proto_at: usize,
    pub(super) exthdr: u16,
    /// Whether IPv6's address of the target is that of the next stop.
    pub(super) is_routed: bool,
    /// The transport header, if it is there to be read.
    pub(super) transport: Option<usize>,
    /// Where the IP packet that this IP packet carries begins.
    pub(super) carried: Option<usize>,
    /// Where the packet ends; padding follows.
    pub(super) end: usize,
    /// The address in the option of neighbour discovery that belongs to the message.
    pub(super) nd_link: Option<usize>,
    /// Whether the frame has an Ethernet header at all.
    pub(super) is_frame: bool,
}

pub(super) fn short(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from(b[0]) << 8 | u16::from(b[1]))
}

pub(super) fn long(bytes: &[u8], at: usize) -> u32 {
    u32::from(short(bytes, at)) << 16 | u32::from(short(bytes, at + 2))
}

/// Whether what stands at the place of an EtherType is the length of an IEEE 802.3 frame.
const fn is_length(eth_type: u16) -> bool {
    eth_type < EtherType::TYPE_MIN
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|b| b.first_chunk()).copied().unwrap_or([0; N])
}

fn mac(bytes: &[u8], at: usize) -> u64 {
    crate::switch::classifier::key::mac(array(bytes, at))
}

impl Layers {
    pub(in crate::switch) fn locate(bytes: &[u8]) -> Self {
        let mut layers = Self { end: bytes.len(), ..Self::default() };
        if bytes.len() < ETHERNET_LEN {
            return layers;
        }
        layers.is_frame = true;
        let mut at = ETHERNET_LEN - 2;
        for _ in 0..TAGS_MAX {
            let is_tag = matches!(short(bytes, at), ethertype::VLAN | ethertype::SERVICE_VLAN);
            if !is_tag || bytes.len() < at + 6 {
                break;
            }
            layers.vlan = layers.vlan.or(Some(at));
            at += 4;
        }
        if is_length(short(bytes, at)) && bytes[at + 2..].starts_with(&SNAP) {
            let is_type = bytes.len() >= at + 10 && !is_length(short(bytes, at + 8));
            at += if is_type { 8 } else { 0 };
        }
        layers.eth_type_at = at;
        let payload = at + 2;
        let has = |len: usize| bytes.len() >= payload + len;
        match short(bytes, at) {
            ethertype::IPV4 if has(20) => layers.ipv4(bytes, payload),
            ethertype::IPV6 if has(40) => layers.ipv6(bytes, payload),
            ethertype::ARP if has(28) => layers.network = Network::Arp(payload),
            ethertype::MPLS | ethertype::MPLS_MULTICAST if has(4) => {
                layers.network = Network::Mpls(payload);
            }
            ethertype::PBB if has(16) => layers.network = Network::Pbb(payload),
            _ => {}
        }
        layers
    }

    fn ipv4(&mut self, bytes: &[u8], at: usize) {
        let header_len = usize::from(bytes[at] & 15) * 4;
        let total_len = usize::from(short(bytes, at + 2));
        if bytes[at] >> 4 != 4 || header_len < 20 || bytes.len() < at + header_len {
            return;
        }
        self.network = Network::V4(at);
        (self.proto, self.proto_at) = (bytes[at + 9], at + 9);
        self.end = bytes.len().min(at + total_len.max(header_len));
        // Later fragments have no transport header.
        if short(bytes, at + 6) & 0x1fff == 0 {
            self.transport(bytes, at + header_len);
        }
    }

    fn ipv6(&mut self, bytes: &[u8], at: usize) {
        if bytes[at] >> 4 != 6 {
            return;
        }
        let payload_len = usize::from(short(bytes, at + 4));
        self.end = bytes.len().min(at + 40 + payload_len);
        let chain = ipv6::follow(&bytes[..self.end], at);
        self.network = Network::V6(at);
        (self.proto, self.proto_at, self.exthdr) = (chain.proto, chain.proto_at, chain.flags);
        self.is_routed = chain.is_routed;
        if chain.is_readable {
            self.transport(bytes, chain.payload);
        }
    }

    fn transport(&mut self, bytes: &[u8], at: usize) {
        let needed = match self.proto {
            ip_proto::TCP => 20,
            ip_proto::UDP => 8,
            ip_proto::SCTP => 12,
            ip_proto::ICMP | ip_proto::ICMPV6 => 4,
            IPV4_IN_IP | IPV6_IN_IP => {
                self.carried = Some(at);
                return;
            }
            _ => return,
        };
        let is_v6 = matches!(self.network, Network::V6(_));
        let is_foreign = match self.proto {
            ip_proto::ICMP => is_v6,
            ip_proto::ICMPV6 => !is_v6,
            _ => false,
        };
        if is_foreign || at + needed > self.end {
            return;
        }
        self.transport = Some(at);
        let wanted = match (self.proto, bytes[at]) {
            (ip_proto::ICMPV6, ND_SOLICITATION) => ND_OPTION_SOURCE,
            (ip_proto::ICMPV6, ND_ADVERTISEMENT) => ND_OPTION_TARGET,
            _ => return,
        };
        let mut option = at + 24;
        while option + 8 <= self.end {
            let (kind, len) = (bytes[option], usize::from(bytes[option + 1]) * 8);
            if kind == wanted {
                self.nd_link = Some(option + 2);
                return;
            }
            if len == 0 {
                return;
            }
            option += len;
        }
    }

    /// Where the target address of neighbour discovery is.
    pub(super) fn nd_target(&self, bytes: &[u8]) -> Option<usize> {
        let at = self.transport.filter(|_| self.proto == ip_proto::ICMPV6)?;
        let is_nd = matches!(bytes[at], ND_SOLICITATION | ND_ADVERTISEMENT);
        (is_nd && at + 24 <= self.end).then_some(at + 8)
    }

    /// Where the address is that this field sets: the source's of a solicitation (32), the target's of
    /// an advertisement (33).
    pub(super) fn nd_link_of(&self, field: u8, bytes: &[u8]) -> Option<usize> {
        let kind = if field == 32 { ND_SOLICITATION } else { ND_ADVERTISEMENT };
        self.nd_link.filter(|_| self.transport.is_some_and(|at| bytes[at] == kind))
    }

    /// Whether this is a fragment of an IP packet.
    pub(in crate::switch) fn is_fragment(&self, bytes: &[u8]) -> bool {
        match self.network {
            Network::V4(at) => short(bytes, at + 6) & 0x3fff != 0,
            Network::V6(_) => self.exthdr & tenuto_openflow::constants::ipv6_exthdr::FRAG != 0,
            _ => false,
        }
    }

    /// What entries compare of a frame that entered at `in_port`; `None` if it is shorter than an
    /// Ethernet header.
    pub(in crate::switch) fn key(&self, bytes: &[u8], in_port: u32) -> Option<PacketKey> {
        if !self.is_frame {
            return None;
        }
        let mut key = PacketKey::default();
        key.put(field::IN_PORT, in_port.into());
        key.put(field::IN_PHY_PORT, in_port.into());
        let eth_type = short(bytes, self.eth_type_at);
        let eth_type = if is_length(eth_type) { EtherType::NONE.0 } else { eth_type };
        key.put(field::ETH_TYPE, eth_type.into());
        key.put(field::ETH_DST, mac(bytes, 0));
        key.put(field::ETH_SRC, mac(bytes, 6));
        if let Some(tag) = self.vlan {
            let tci = u64::from(short(bytes, tag + 2));
            key.put(field::VLAN_VID, tci & 0xfff | VLAN_PRESENT);
            key.put(field::VLAN_PCP, tci >> 13);
        }
        match self.network {
            Network::None => {}
            Network::V4(at) => {
                key.put(field::IP_SRC, long(bytes, at + 12).into());
                key.put(field::IP_DST, long(bytes, at + 16).into());
                self.put_ip(&mut key, bytes[at + 1]);
            }
            Network::V6(at) => {
                let head = long(bytes, at);
                self.put_ip(&mut key, (head >> 20).to_le_bytes()[0]);
                key.put(field::IPV6_FLABEL, (head & 0xf_ffff).into());
                key.put(field::IPV6_EXTHDR, self.exthdr.into());
                put_wide(&mut key, field::IPV6_SRC, array(bytes, at + 8));
                put_wide(&mut key, field::IPV6_DST, array(bytes, at + 24));
            }
            Network::Arp(at) => {
                key.put(field::HAS_ARP, 1);
                key.put(field::L4_SRC, short(bytes, at + 6).into());
                key.put(field::ARP_SHA, mac(bytes, at + 8));
                key.put(field::IP_SRC, long(bytes, at + 14).into());
                key.put(field::ARP_THA, mac(bytes, at + 18));
                key.put(field::IP_DST, long(bytes, at + 24).into());
            }
            Network::Mpls(at) => {
                let label = u64::from(long(bytes, at));
                key.put(field::HAS_MPLS, 1);
                key.put(field::MPLS_LABEL, label >> 12);
                key.put(field::MPLS_TC, label >> 9);
                key.put(field::MPLS_BOS, label >> 8);
            }
            Network::Pbb(at) => {
                key.put(field::HAS_PBB, 1);
                key.put(field::PBB_ISID, u64::from(long(bytes, at)));
            }
        }
        self.put_transport(&mut key, bytes);
        Some(key)
    }

    fn put_ip(&self, key: &mut PacketKey, traffic_class: u8) {
        key.put(field::HAS_IP, 1);
        key.put(field::IP_PROTO, self.proto.into());
        key.put(field::IP_DSCP, (traffic_class >> 2).into());
        key.put(field::IP_ECN, (traffic_class & 3).into());
    }

    fn put_transport(&self, key: &mut PacketKey, bytes: &[u8]) {
        let Some(at) = self.transport else { return };
        key.put(field::HAS_L4, 1);
        if matches!(self.proto, ip_proto::ICMP | ip_proto::ICMPV6) {
            key.put(field::L4_SRC, bytes[at].into());
            key.put(field::L4_DST, bytes[at + 1].into());
        } else {
            key.put(field::L4_SRC, short(bytes, at).into());
            key.put(field::L4_DST, short(bytes, at + 2).into());
        }
        if let Some(target) = self.nd_target(bytes) {
            key.put(field::HAS_ND_TARGET, 1);
            put_wide(key, field::ND_TARGET, array(bytes, target));
        }
        if let Some(link) = self.nd_link {
            key.put(field::HAS_ND_LINK, 1);
            key.put(field::ND_LINK, mac(bytes, link));
        }
    }
}

fn put_wide(
    key: &mut PacketKey,
    [high, low]: [crate::switch::classifier::key::Field; 2],
    address: [u8; 16],
) {
    let (high_value, low_value) = halves(address);
    key.put(high, high_value);
    key.put(low, low_value);
}
