//! What entries compare: the header fields of a frame, packed into five words.
//!
//! A match is a mask and a value over the same words, so that comparing, masking and hashing are
//! word operations. Presence has bits of its own (a frame without UDP is not one with port 0).

use tenuto_openflow::{BadMatch, ErrorCode, Match, Oxm};
use tenuto_wire::FlowKey;

const WORDS: usize = 6;

/// VLAN bits as OpenFlow counts them: 12 bits of id and 0x1000 for presence.
const VLAN_PRESENT: u64 = 0x1000;

/// Header fields of a frame, or a mask over them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PacketKey([u64; WORDS]);

/// Where a field sits: word, lowest bit, width.
#[derive(Clone, Copy)]
struct Field(usize, u32, u32);

mod field {
    use super::Field;
    pub(super) const IN_PORT: Field = Field(0, 32, 32);
    pub(super) const ETH_TYPE: Field = Field(0, 16, 16);
    pub(super) const VLAN_VID: Field = Field(0, 0, 13);
    pub(super) const VLAN_PCP: Field = Field(0, 13, 3);
    pub(super) const ETH_DST: Field = Field(1, 16, 48);
    pub(super) const IP_PROTO: Field = Field(1, 8, 8);
    pub(super) const IP_DSCP: Field = Field(1, 2, 6);
    pub(super) const IP_ECN: Field = Field(1, 0, 2);
    pub(super) const ETH_SRC: Field = Field(2, 16, 48);
    pub(super) const HAS_IP: Field = Field(2, 0, 1);
    pub(super) const HAS_PORTS: Field = Field(2, 1, 1);
    pub(super) const IP_SRC: Field = Field(3, 32, 32);
    pub(super) const IP_DST: Field = Field(3, 0, 32);
    pub(super) const L4_SRC: Field = Field(4, 16, 16);
    pub(super) const L4_DST: Field = Field(4, 0, 16);
    pub(super) const METADATA: Field = Field(5, 0, 64);
}

/// Value and mask of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pattern {
    /// The bits that count.
    pub mask: PacketKey,
    /// Their values; zero where the mask is.
    pub value: PacketKey,
}

fn mac(bytes: [u8; 6]) -> u64 {
    bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

impl PacketKey {
    /// The key of a frame that entered at `in_port`.
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
            key.put(field::HAS_PORTS, 1);
            key.put(field::L4_SRC, u64::from(ports.src));
            key.put(field::L4_DST, u64::from(ports.dst));
        }
        key
    }

    /// The same key with other metadata.
    pub fn set_metadata(&mut self, value: u64, mask: u64) {
        self.0[field::METADATA.0] = self.0[field::METADATA.0] & !mask | value & mask;
    }

    fn put(&mut self, Field(word, shift, width): Field, value: u64) {
        let ones = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        self.0[word] = self.0[word] & !(ones << shift) | (value & ones) << shift;
    }

    fn get(&self, Field(word, shift, width): Field) -> u64 {
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

    /// The words, for hashing.
    pub const fn words(&self) -> &[u64; WORDS] {
        &self.0
    }
}

impl Pattern {
    /// Whether a frame with this key matches.
    pub fn matches(&self, key: &PacketKey) -> bool {
        key.masked(&self.mask) == self.value
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
    /// The OpenFlow error to answer with: unknown fields, fields given twice, missing
    /// prerequisites, values outside their mask (OpenFlow 1.3.5, section 7.2.3).
    pub fn from_match(matching: &Match) -> Result<Self, ErrorCode> {
        let mut pattern = Self { mask: PacketKey::default(), value: PacketKey::default() };
        // Fields given, also those whose mask lets no bit count: repeating them is no less wrong,
        // and bounds what is kept of a match for read-back.
        let mut given = PacketKey::default();
        for oxm in &matching.oxms {
            pattern.add(oxm, &mut given)?;
        }
        pattern.check_prerequisites(matching)?;
        Ok(pattern)
    }

    fn add(&mut self, oxm: &Oxm, given: &mut PacketKey) -> Result<(), ErrorCode> {
        let ip = |bytes: [u8; 4]| u64::from(u32::from_be_bytes(bytes));
        let (field, value, mask) = match *oxm {
            Oxm::InPort(port) => (field::IN_PORT, u64::from(port), None),
            Oxm::Metadata { value, mask } => (field::METADATA, value, mask),
            Oxm::EthDst { value, mask } => (field::ETH_DST, mac(value), mask.map(mac)),
            Oxm::EthSrc { value, mask } => (field::ETH_SRC, mac(value), mask.map(mac)),
            Oxm::EthType(value) => (field::ETH_TYPE, u64::from(value), None),
            Oxm::VlanVid { value, mask } => {
                (field::VLAN_VID, u64::from(value), mask.map(u64::from))
            }
            Oxm::VlanPcp(value) => (field::VLAN_PCP, u64::from(value), None),
            Oxm::IpDscp(value) => (field::IP_DSCP, u64::from(value), None),
            Oxm::IpEcn(value) => (field::IP_ECN, u64::from(value), None),
            Oxm::IpProto(value) => (field::IP_PROTO, u64::from(value), None),
            Oxm::Ipv4Src { value, mask } => (field::IP_SRC, ip(value), mask.map(ip)),
            Oxm::Ipv4Dst { value, mask } => (field::IP_DST, ip(value), mask.map(ip)),
            Oxm::UdpSrc(port) | Oxm::TcpSrc(port) => (field::L4_SRC, u64::from(port), None),
            Oxm::UdpDst(port) | Oxm::TcpDst(port) => (field::L4_DST, u64::from(port), None),
            Oxm::Unknown { .. } => {
                return Err(oxm.refusal().unwrap_or(ErrorCode::BadMatch(BadMatch::BadField)));
            }
        };
        let ones = if field.2 == 64 { u64::MAX } else { (1 << field.2) - 1 };
        if value > ones {
            return Err(ErrorCode::BadMatch(BadMatch::BadValue));
        }
        if given.get(field) != 0 {
            return Err(ErrorCode::BadMatch(BadMatch::DupField));
        }
        given.put(field, ones);
        let mask = mask.unwrap_or(ones);
        if value & !mask != 0 {
            return Err(ErrorCode::BadMatch(BadMatch::BadWildcards));
        }
        self.mask.put(field, mask);
        self.value.put(field, value);
        if matches!(field.0, 3) || matches!(field.0, 1) && field.2 < 48 {
            self.ask(field::HAS_IP);
        }
        if field.0 == field::L4_SRC.0 {
            self.ask(field::HAS_PORTS);
        }
        Ok(())
    }

    fn ask(&mut self, presence: Field) {
        self.mask.put(presence, 1);
        self.value.put(presence, 1);
    }

    fn check_prerequisites(&self, matching: &Match) -> Result<(), ErrorCode> {
        const IPV4: u64 = 0x0800;
        const TCP: u64 = 6;
        const UDP: u64 = 17;
        let exact = |field: Field, value: u64| {
            self.mask.get(field) == (1 << field.2) - 1 && self.value.get(field) == value
        };
        let needs = |oxm: &Oxm| match oxm {
            Oxm::Ipv4Src { .. } | Oxm::Ipv4Dst { .. } => exact(field::ETH_TYPE, IPV4),
            Oxm::IpProto(_) | Oxm::IpDscp(_) | Oxm::IpEcn(_) => exact(field::ETH_TYPE, IPV4),
            Oxm::UdpSrc(_) | Oxm::UdpDst(_) => exact(field::IP_PROTO, UDP),
            Oxm::TcpSrc(_) | Oxm::TcpDst(_) => exact(field::IP_PROTO, TCP),
            Oxm::VlanPcp(_) => self.value.get(field::VLAN_VID) & VLAN_PRESENT != 0,
            _ => true,
        };
        match matching.oxms.iter().all(needs) {
            true => Ok(()),
            false => Err(ErrorCode::BadMatch(BadMatch::BadPrereq)),
        }
    }
}
