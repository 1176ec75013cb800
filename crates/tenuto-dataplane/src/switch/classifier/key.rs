//! What entries compare: the header fields of a frame, packed into sixteen words.
//!
//! A match is a mask and a value over the same words, so that comparing, masking and hashing are
//! word operations; a mask leaves most words empty, and an index looks at the others only. Fields
//! whose prerequisites exclude each other share their bits (an ARP packet has no IP address):
//! a pattern always asks for the EtherType or protocol that tells them apart. Presence has bits of
//! its own (a frame without UDP is not one with port 0).

use super::ethernet_key::Words;
use super::hash_key::{HashKey, WordFactors};
use tenuto_openflow::{ErrorCode, Match, Oxm};
use tenuto_wire::{EtherType, FlowKey, IpProtocol};

/// Words of a key.
pub(in crate::switch) const WORDS: usize = 16;

/// [`field::HAS_IP`] and [`field::HAS_L4`] in their word.
const HAS_IP: u64 = 1;
const HAS_L4: u64 = 2;

/// VLAN bits as OpenFlow counts them: 12 bits of id and 0x1000 for presence.
pub(in crate::switch) const VLAN_PRESENT: u64 = 0x1000;

/// Header fields of a frame, or a mask over them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PacketKey([u64; WORDS]);

/// Where a field sits: word, lowest bit, width.
#[derive(Clone, Copy)]
pub(in crate::switch) struct Field(usize, u32, u32);

pub(in crate::switch) mod field {
    use super::Field;
    pub(in crate::switch) const IN_PORT: Field = Field(0, 32, 32);
    pub(in crate::switch) const ETH_TYPE: Field = Field(0, 16, 16);
    pub(in crate::switch) const VLAN_VID: Field = Field(0, 0, 13);
    pub(in crate::switch) const VLAN_PCP: Field = Field(0, 13, 3);
    pub(in crate::switch) const ETH_DST: Field = Field(1, 16, 48);
    pub(in crate::switch) const IP_PROTO: Field = Field(1, 8, 8);
    pub(in crate::switch) const IP_DSCP: Field = Field(1, 2, 6);
    pub(in crate::switch) const IP_ECN: Field = Field(1, 0, 2);
    pub(in crate::switch) const ETH_SRC: Field = Field(2, 16, 48);
    pub(in crate::switch) const HAS_IP: Field = Field(2, 0, 1);
    pub(in crate::switch) const HAS_L4: Field = Field(2, 1, 1);
    pub(in crate::switch) const HAS_ARP: Field = Field(2, 2, 1);
    pub(in crate::switch) const HAS_MPLS: Field = Field(2, 3, 1);
    pub(in crate::switch) const HAS_PBB: Field = Field(2, 4, 1);
    pub(in crate::switch) const HAS_ND_TARGET: Field = Field(2, 5, 1);
    pub(in crate::switch) const HAS_ND_LINK: Field = Field(2, 6, 1);
    /// Source addresses of IPv4 and ARP.
    pub(in crate::switch) const IP_SRC: Field = Field(3, 32, 32);
    /// Destination addresses of IPv4 and ARP.
    pub(in crate::switch) const IP_DST: Field = Field(3, 0, 32);
    /// Source port, or the type of ICMP, or the operation of ARP.
    pub(in crate::switch) const L4_SRC: Field = Field(4, 16, 16);
    /// Destination port, or the code of ICMP.
    pub(in crate::switch) const L4_DST: Field = Field(4, 0, 16);
    pub(in crate::switch) const IPV6_FLABEL: Field = Field(4, 32, 20);
    pub(in crate::switch) const MPLS_LABEL: Field = Field(4, 32, 20);
    pub(in crate::switch) const MPLS_TC: Field = Field(4, 52, 3);
    pub(in crate::switch) const MPLS_BOS: Field = Field(4, 55, 1);
    pub(in crate::switch) const PBB_ISID: Field = Field(4, 32, 24);
    pub(in crate::switch) const METADATA: Field = Field(5, 0, 64);
    pub(in crate::switch) const IN_PHY_PORT: Field = Field(6, 32, 32);
    pub(in crate::switch) const IPV6_EXTHDR: Field = Field(6, 0, 9);
    pub(in crate::switch) const IPV6_SRC: [Field; 2] = [Field(7, 0, 64), Field(8, 0, 64)];
    pub(in crate::switch) const IPV6_DST: [Field; 2] = [Field(9, 0, 64), Field(10, 0, 64)];
    pub(in crate::switch) const ND_TARGET: [Field; 2] = [Field(11, 0, 64), Field(12, 0, 64)];
    pub(in crate::switch) const ARP_SHA: Field = Field(13, 0, 48);
    /// Link-layer address in neighbour discovery: of the source in a solicitation, of the target
    /// in an advertisement.
    pub(in crate::switch) const ND_LINK: Field = Field(13, 0, 48);
    pub(in crate::switch) const ARP_THA: Field = Field(14, 0, 48);
    pub(in crate::switch) const TUNNEL_ID: Field = Field(15, 0, 64);
}

/// Value and mask of a match; every frame matches the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pattern {
    /// The bits that count.
    pub mask: PacketKey,
    /// Their values; zero where the mask is.
    pub value: PacketKey,
}

#[inline]
pub(in crate::switch) const fn mac([a, b, c, d, e, f]: [u8; 6]) -> u64 {
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

impl PacketKey {
    /// The mask under which everything counts.
    pub(in crate::switch) const ALL: Self = Self([u64::MAX; WORDS]);

    /// The port of entry and the Ethernet header, in the form of messages.
    pub(in crate::switch) fn described(&self) -> Match {
        let address = |field| {
            let [_, _, bytes @ ..] = self.get(field).to_be_bytes();
            bytes
        };
        Match::from(vec![
            Oxm::InPort(u32::try_from(self.get(field::IN_PORT)).unwrap_or(0)),
            Oxm::EthDst { value: address(field::ETH_DST), mask: None },
            Oxm::EthSrc { value: address(field::ETH_SRC), mask: None },
            Oxm::EthType(self.eth_type()),
        ])
    }

    /// The key of a frame that entered at `in_port`.
    #[inline]
    pub fn of(flow: &FlowKey, in_port: u32) -> Self {
        let mut key = Self::default();
        key.put(field::IN_PORT, u64::from(in_port));
        key.put(field::ETH_TYPE, u64::from(flow.eth_type.0));
        key.put(field::ETH_DST, mac(flow.eth_dst.0));
        key.put(field::ETH_SRC, mac(flow.eth_src.0));
        if let Some(tag) = flow.vlan {
            key.put(field::VLAN_VID, u64::from(tag.vid) | VLAN_PRESENT);
            key.put(field::VLAN_PCP, u64::from(tag.pcp));
        }
        if let Some(ip) = flow.ip {
            key.put(field::HAS_IP, 1);
            key.put(field::IP_PROTO, u64::from(ip.proto.0));
            key.put(field::IP_DSCP, u64::from(ip.dscp));
            key.put(field::IP_ECN, u64::from(ip.ecn));
            key.put(field::IP_SRC, u64::from(u32::from_be_bytes(ip.src)));
            key.put(field::IP_DST, u64::from(u32::from_be_bytes(ip.dst)));
        }
        if let Some(ports) = flow.l4 {
            key.put(field::HAS_L4, 1);
            key.put(field::L4_SRC, u64::from(ports.src));
            key.put(field::L4_DST, u64::from(ports.dst));
        }
        key
    }

    /// Reads the key of a frame that entered at `in_port` into an empty one: what [`Self::of`] makes of
    /// what [`FlowKey::extract`] reads, word by word as they stand in the frame. `false` if there is
    /// none, as the frame is shorter than an Ethernet header.
    #[inline]
    pub(in crate::switch) fn read(&mut self, frame: &[u8], in_port: u32) -> bool {
        let Some(header) = frame.first_chunk::<14>() else { return false };
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = *header;
        let (dst, src) = (mac([a, b, c, d, e, f]) << 16, mac([g, h, i, j, k, l]) << 16);
        let (mut eth_type, mut tag) = (u16::from_be_bytes([m, n]), 0);
        let mut rest = &frame[14..];
        if eth_type == EtherType::VLAN.0
            && let Some(([high, low, m, n], behind)) = rest.split_first_chunk()
        {
            tag = u64::from(u16::from_be_bytes([*high, *low])) | VLAN_PRESENT;
            eth_type = u16::from_be_bytes([*m, *n]);
            rest = behind;
        }
        if eth_type < EtherType::TYPE_MIN {
            eth_type = EtherType::NONE.0;
        }
        self.0[0] = u64::from(in_port) << 32 | u64::from(eth_type) << 16 | tag;
        (self.0[1], self.0[2]) = (dst, src);
        if eth_type == EtherType::IPV4.0 {
            self.read_ipv4(rest);
        }
        true
    }

    #[inline]
    fn read_ipv4(&mut self, packet: &[u8]) {
        let Some(header) = packet.first_chunk::<20>() else { return };
        let [version, tos, t, u, _, _, f, o, _, proto, _, _, addresses @ ..] = *header;
        let header_len = usize::from(version & 0x0f) * 4;
        let total_len = usize::from(u16::from_be_bytes([t, u]));
        if version >> 4 != 4 || header_len < 20 || total_len < header_len {
            return;
        }
        let Some(data) = packet.get(header_len..) else { return };
        self.0[1] |= u64::from(proto) << 8 | u64::from(tos);
        self.0[2] |= HAS_IP;
        self.0[3] = u64::from_be_bytes(addresses);
        let has_ports = matches!(IpProtocol(proto), IpProtocol::TCP | IpProtocol::UDP);
        let is_first = u16::from_be_bytes([f, o]) & 0x1fff == 0;
        if has_ports
            && is_first
            && total_len >= header_len + 4
            && let Some(ports) = data.first_chunk()
        {
            self.0[2] |= HAS_L4;
            self.0[4] = u64::from(u32::from_be_bytes(*ports));
        }
    }

    /// The same key with other metadata.
    pub fn set_metadata(&mut self, value: u64, mask: u64) {
        self.0[field::METADATA.0] = self.0[field::METADATA.0] & !mask | value & mask;
    }

    /// The metadata written so far.
    pub(in crate::switch) const fn metadata(&self) -> u64 {
        self.0[field::METADATA.0]
    }

    pub(in crate::switch) const fn tunnel_id(&self) -> u64 {
        self.0[field::TUNNEL_ID.0]
    }

    pub(in crate::switch) const fn set_tunnel_id(&mut self, value: u64) {
        self.0[field::TUNNEL_ID.0] = value;
    }

    /// What the frame carries, behind its VLAN tags.
    pub(in crate::switch) fn eth_type(&self) -> u16 {
        u16::try_from(self.get(field::ETH_TYPE)).unwrap_or(0)
    }

    /// VLAN id, source and destination of the frame.
    pub(in crate::switch) fn addresses(&self) -> (u16, u64, u64) {
        let vlan = u16::try_from(self.get(field::VLAN_VID)).unwrap_or(0);
        (vlan, self.get(field::ETH_SRC), self.get(field::ETH_DST))
    }

    /// What the pipeline has written beside the headers, taken over from another key.
    pub(in crate::switch) const fn keep_written(&mut self, other: &Self) {
        self.0[field::METADATA.0] = other.0[field::METADATA.0];
        self.0[field::TUNNEL_ID.0] = other.0[field::TUNNEL_ID.0];
    }

    /// A hash of all headers, the same wherever the frame enters: what one flow is.
    pub(in crate::switch) fn flow_hash(&self) -> u64 {
        let headers = self.0.iter().enumerate().map(|(place, word)| match place {
            0 => word & 0xffff_ffff,
            5 | 15 => 0,
            6 => word & 0xffff_ffff,
            _ => *word,
        });
        let hash = headers.fold(0, |hash: u64, word| {
            (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        });
        // The finaliser of splitmix64: every bit of the input counts in the upper bits.
        let hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^ hash >> 31
    }

    #[inline]
    pub(in crate::switch) fn put(&mut self, Field(word, shift, width): Field, value: u64) {
        let ones = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        self.0[word] = self.0[word] & !(ones << shift) | (value & ones) << shift;
    }

    #[inline]
    pub(in crate::switch) fn get(&self, Field(word, shift, width): Field) -> u64 {
        let ones = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        self.0[word] >> shift & ones
    }

    /// The bits of `self` that `mask` lets count.
    #[must_use]
    pub fn masked(&self, mask: &Self) -> Self {
        let mut words = self.0;
        words.iter_mut().zip(&mask.0).for_each(|(word, mask)| *word &= mask);
        Self(words)
    }

    /// The bits that either lets count.
    #[must_use]
    pub(in crate::switch) fn with(&self, other: &Self) -> Self {
        let mut words = self.0;
        words.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
        Self(words)
    }

    /// The words, for hashing.
    pub const fn words(&self) -> &[u64; WORDS] {
        &self.0
    }
}

impl Words for PacketKey {
    #[inline]
    fn word(&self, place: u8) -> u64 {
        self.0[usize::from(place) % WORDS]
    }
}

impl Pattern {
    /// Whether a frame with this key matches.
    pub fn matches(&self, key: &PacketKey) -> bool {
        key.masked(&self.mask) == self.value
    }

    /// Whether every frame matches.
    pub fn matches_all(&self) -> bool {
        self.mask == PacketKey::default()
    }

    /// Whether some frame matches both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.value.masked(&other.mask) == other.value.masked(&self.mask)
    }

    /// Whether every frame that `self` matches is matched by `other` too (OpenFlow 1.3.5,
    /// section 6.4: non-strict commands).
    pub fn is_within(&self, other: &Self) -> bool {
        self.mask.masked(&other.mask) == other.mask && self.value.masked(&other.mask) == other.value
    }

    /// Translates an OpenFlow match.
    ///
    /// # Errors
    /// The OpenFlow error to answer with ([`Match::check`]): unknown fields, fields given twice,
    /// missing prerequisites, values outside their mask (OpenFlow 1.3.5, section 7.2.3).
    pub fn from_match(matching: &Match) -> Result<Self, ErrorCode> {
        matching.check()?;
        let mut pattern = Self { mask: PacketKey::default(), value: PacketKey::default() };
        matching.oxms.iter().for_each(|oxm| pattern.add(oxm));
        Ok(pattern)
    }

    fn add(&mut self, oxm: &Oxm) {
        use Oxm as O;
        use field as f;
        let v4 = |bytes: [u8; 4]| u64::from(u32::from_be_bytes(bytes));
        let byte = |value: u8| u64::from(value);
        let short = |value: u16| u64::from(value);
        match *oxm {
            O::InPort(port) => self.ask(f::IN_PORT, u64::from(port), None),
            O::InPhyPort(port) => self.ask(f::IN_PHY_PORT, u64::from(port), None),
            O::Metadata { value, mask } => self.ask(f::METADATA, value, mask),
            O::TunnelId { value, mask } => self.ask(f::TUNNEL_ID, value, mask),
            O::EthDst { value, mask } => self.ask(f::ETH_DST, mac(value), mask.map(mac)),
            O::EthSrc { value, mask } => self.ask(f::ETH_SRC, mac(value), mask.map(mac)),
            O::EthType(value) => self.ask(f::ETH_TYPE, short(value), None),
            O::VlanVid { value, mask } => self.ask(f::VLAN_VID, short(value), mask.map(short)),
            O::VlanPcp(value) => self.ask(f::VLAN_PCP, byte(value), None),
            O::IpDscp(value) => self.of(f::HAS_IP, f::IP_DSCP, byte(value), None),
            O::IpEcn(value) => self.of(f::HAS_IP, f::IP_ECN, byte(value), None),
            O::IpProto(value) => self.of(f::HAS_IP, f::IP_PROTO, byte(value), None),
            O::Ipv4Src { value, mask } => self.of(f::HAS_IP, f::IP_SRC, v4(value), mask.map(v4)),
            O::Ipv4Dst { value, mask } => self.of(f::HAS_IP, f::IP_DST, v4(value), mask.map(v4)),
            O::UdpSrc { value, mask } | O::TcpSrc { value, mask } | O::SctpSrc { value, mask } => {
                self.of(f::HAS_L4, f::L4_SRC, short(value), mask.map(short));
            }
            O::UdpDst { value, mask } | O::TcpDst { value, mask } | O::SctpDst { value, mask } => {
                self.of(f::HAS_L4, f::L4_DST, short(value), mask.map(short));
            }
            O::Icmpv4Type(value) | O::Icmpv6Type(value) => {
                self.of(f::HAS_L4, f::L4_SRC, byte(value), None);
            }
            O::Icmpv4Code(value) | O::Icmpv6Code(value) => {
                self.of(f::HAS_L4, f::L4_DST, byte(value), None);
            }
            O::ArpOp(value) => self.of(f::HAS_ARP, f::L4_SRC, short(value), None),
            O::ArpSpa { value, mask } => self.of(f::HAS_ARP, f::IP_SRC, v4(value), mask.map(v4)),
            O::ArpTpa { value, mask } => self.of(f::HAS_ARP, f::IP_DST, v4(value), mask.map(v4)),
            O::ArpSha { value, mask } => self.of(f::HAS_ARP, f::ARP_SHA, mac(value), mask.map(mac)),
            O::ArpTha { value, mask } => self.of(f::HAS_ARP, f::ARP_THA, mac(value), mask.map(mac)),
            O::Ipv6Src { value, mask } => self.wide(f::HAS_IP, f::IPV6_SRC, value, mask),
            O::Ipv6Dst { value, mask } => self.wide(f::HAS_IP, f::IPV6_DST, value, mask),
            O::Ipv6Flabel { value, mask } => {
                self.of(f::HAS_IP, f::IPV6_FLABEL, value.into(), mask.map(u64::from));
            }
            O::Ipv6Exthdr { value, mask } => {
                self.of(f::HAS_IP, f::IPV6_EXTHDR, short(value), mask.map(short));
            }
            O::Ipv6NdTarget(value) => self.wide(f::HAS_ND_TARGET, f::ND_TARGET, value, None),
            O::Ipv6NdSll(value) | O::Ipv6NdTll(value) => {
                self.of(f::HAS_ND_LINK, f::ND_LINK, mac(value), None);
            }
            O::MplsLabel(value) => self.of(f::HAS_MPLS, f::MPLS_LABEL, value.into(), None),
            O::MplsTc(value) => self.of(f::HAS_MPLS, f::MPLS_TC, byte(value), None),
            O::MplsBos(value) => self.of(f::HAS_MPLS, f::MPLS_BOS, byte(value), None),
            O::PbbIsid { value, mask } => {
                let wide = |[a, b, c]: [u8; 3]| u64::from(u32::from_be_bytes([0, a, b, c]));
                self.of(f::HAS_PBB, f::PBB_ISID, wide(value), mask.map(wide));
            }
            O::Unknown { .. } => debug_assert!(false, "refused by Match::check"),
        }
    }

    /// Asks for the bits of a field.
    fn ask(&mut self, field: Field, value: u64, mask: Option<u64>) {
        self.mask.put(field, mask.unwrap_or(u64::MAX));
        self.value.put(field, value);
    }

    /// The same of a field of some header, and that the header is there at all.
    fn of(&mut self, presence: Field, field: Field, value: u64, mask: Option<u64>) {
        self.ask(field, value, mask);
        self.ask(presence, 1, None);
    }

    fn wide(
        &mut self,
        presence: Field,
        [high, low]: [Field; 2],
        value: [u8; 16],
        mask: Option<[u8; 16]>,
    ) {
        let (value_high, value_low) = halves(value);
        let mask = mask.map(halves);
        self.of(presence, high, value_high, mask.map(|(high, _)| high));
        self.of(presence, low, value_low, mask.map(|(_, low)| low));
    }
}

/// An IPv6 address as two words.
pub(in crate::switch) fn halves(bytes: [u8; 16]) -> (u64, u64) {
    let (high, low) = bytes.split_at(8);
    let word = |half: &[u8]| half.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
    (word(high), word(low))
}

/// The words of a mask that let any bit count, in ascending order: what an index looks at.
#[derive(Clone, Debug)]
#[repr(C)] // A probe of an index of few words reads one line of cache of this.
pub(in crate::switch) struct UsedWords {
    count: usize,
    one: WordFactors,
    words: [(u8, u64); WORDS],
    hash_key: HashKey,
}

impl UsedWords {
    pub(in crate::switch) fn of(mask: &PacketKey, hash_key: HashKey) -> Self {
        let mut used = Self { count: 0, one: hash_key.one(), words: [(0, 0); WORDS], hash_key };
        for (place, word) in (0_u8..).zip(&mask.0) {
            if *word != 0 {
                used.words[used.count] = (place, *word);
                used.count += 1;
            }
        }
        used
    }

    /// How many.
    #[inline]
    pub(in crate::switch) const fn count(&self) -> usize {
        self.count
    }

    /// The word that counts, of a key, if there is only one.
    #[inline]
    pub(in crate::switch) fn only(&self, key: &impl Words) -> Option<u64> {
        let (place, mask) = self.words[0];
        (self.count == 1).then(|| key.word(place) & mask)
    }

    /// The words that count, of a key, with their places in it.
    #[inline]
    fn of_key(&self, key: &impl Words) -> impl Iterator<Item = (u8, u64)> {
        self.words[..self.count].iter().map(|&(place, mask)| (place, key.word(place) & mask))
    }

    /// The words that count, of a key, and how many they are.
    pub(in crate::switch) fn words_of(&self, key: &impl Words) -> ([u64; WORDS], usize) {
        let mut words = [0; WORDS];
        words.iter_mut().zip(self.of_key(key)).for_each(|(to, (_, word))| *to = word);
        (words, self.count)
    }

    /// A hash of the words that count, of a key.
    #[inline]
    pub(in crate::switch) fn hash(&self, key: &impl Words) -> u64 {
        match self.only(key) {
            Some(word) => self.one.of(word),
            None => self.hash_key.of_words(self.of_key(key)),
        }
    }

    /// The same of the only word.
    #[inline(always)]
    pub(in crate::switch) const fn hash_word(&self, word: u64) -> u64 {
        self.one.of(word)
    }

    /// The same of the words themselves.
    pub(in crate::switch) fn hash_words(&self, words: &[u64]) -> u64 {
        match *words {
            [word] => self.one.of(word),
            _ => {
                let places = self.words.iter().map(|(place, _)| *place);
                self.hash_key.of_words(places.zip(words.iter().copied()))
            }
        }
    }

    /// Whether all words that count, of a key, are as `is_so` says, in their order.
    #[inline]
    pub(in crate::switch) fn all(
        &self,
        key: &impl Words,
        mut is_so: impl FnMut(u64) -> bool,
    ) -> bool {
        self.of_key(key).all(|(_, word)| is_so(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// VLAN 5 priority 3, drop eligible, 10.0.0.1:5000 > 10.0.0.2:6000, UDP, DSCP 46, ECN 1.
    const FRAME: [u8; 50] = [
        0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x81, 0x00, 0x70, 0x05, 0x08,
        0x00, // ethernet
        0x45, 0xb9, 0x00, 0x1c, 0, 0, 0x40, 0x00, 0x40, 0x11, 0, 0, // ipv4
        10, 0, 0, 1, 10, 0, 0, 2, // addresses
        0x13, 0x88, 0x17, 0x70, 0x00, 0x08, 0, 0, 1, 2, 3, 4, // udp
    ];

    fn agrees(frame: &[u8]) {
        let mut read = PacketKey::default();
        let is_read = read.read(frame, 7);
        let naive = FlowKey::extract(frame).map(|flow| PacketKey::of(&flow, 7));
        assert_eq!(is_read.then_some(read), naive, "{frame:02x?}");
    }

    #[test]
    fn reading_at_once_agrees_with_reading_field_by_field() {
        let untagged = [&FRAME[..12], &FRAME[16..]].concat();
        for frame in [&FRAME[..], &untagged] {
            (0..=frame.len()).for_each(|len| agrees(&frame[..len]));
            for at in 12..frame.len() {
                for value in 0..=u8::MAX {
                    let mut frame = frame.to_vec();
                    frame[at] = value;
                    agrees(&frame);
                    // Two bytes at once: a header length and what it needs of the rest.
                    frame[14] = 0x46;
                    agrees(&frame);
                }
            }
        }
    }
}
