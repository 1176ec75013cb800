//! Match fields and matches (OpenFlow 1.3.5, section 7.2.3).
//!
//! An OXM is a class, a field number, a mask bit, a length of its payload, and the payload: the
//! value, then the mask if there is one. Fields of the basic class that the pipeline looks at have
//! variants; every other is kept as bytes. A mask on a field that the specification does not allow
//! to be masked is also kept as bytes: it is well-formed, and [`Oxm::refusal`] says what to answer.

use crate::error::{BadMatch, ErrorCode};
use crate::wire::{Reader, Writer};

/// `OFPXMC_OPENFLOW_BASIC`
const CLASS_BASIC: u16 = 0x8000;
/// `OFPMT_OXM`: the only match type in use.
const MATCH_TYPE_OXM: u16 = 1;
const MATCH_HEADER_LEN: usize = 4;

/// Field numbers of the basic class (`enum oxm_ofb_match_fields`).
mod field {
    pub(super) const IN_PORT: u8 = 0;
    pub(super) const METADATA: u8 = 2;
    pub(super) const ETH_DST: u8 = 3;
    pub(super) const ETH_SRC: u8 = 4;
    pub(super) const ETH_TYPE: u8 = 5;
    pub(super) const VLAN_VID: u8 = 6;
    pub(super) const VLAN_PCP: u8 = 7;
    pub(super) const IP_DSCP: u8 = 8;
    pub(super) const IP_ECN: u8 = 9;
    pub(super) const IP_PROTO: u8 = 10;
    pub(super) const IPV4_SRC: u8 = 11;
    pub(super) const IPV4_DST: u8 = 12;
    pub(super) const TCP_SRC: u8 = 13;
    pub(super) const TCP_DST: u8 = 14;
    pub(super) const UDP_SRC: u8 = 15;
    pub(super) const UDP_DST: u8 = 16;
}

/// One condition of a match, or the field and value of a set-field action. Values are in host
/// order; whether they make sense (prerequisites, ranges, bits outside the mask) is not judged here.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Oxm {
    /// Ingress port.
    InPort(u32),
    /// Metadata passed between tables.
    Metadata {
        /// Its value.
        value: u64,
        /// The bits that count; all if there is none.
        mask: Option<u64>,
    },
    /// Ethernet destination.
    EthDst {
        /// Its value.
        value: [u8; 6],
        /// The bits that count; all if there is none.
        mask: Option<[u8; 6]>,
    },
    /// Ethernet source.
    EthSrc {
        /// Its value.
        value: [u8; 6],
        /// The bits that count; all if there is none.
        mask: Option<[u8; 6]>,
    },
    /// EtherType behind the VLAN tags.
    EthType(u16),
    /// VLAN id with [`vlan::PRESENT`](crate::constants::vlan::PRESENT), or
    /// [`vlan::NONE`](crate::constants::vlan::NONE).
    VlanVid {
        /// Its value.
        value: u16,
        /// The bits that count; all if there is none.
        mask: Option<u16>,
    },
    /// VLAN priority, 3 bits.
    VlanPcp(u8),
    /// Differentiated services code point, 6 bits.
    IpDscp(u8),
    /// Explicit congestion notification, 2 bits.
    IpEcn(u8),
    /// IP protocol.
    IpProto(u8),
    /// IPv4 source.
    Ipv4Src {
        /// Its value.
        value: [u8; 4],
        /// The bits that count; all if there is none.
        mask: Option<[u8; 4]>,
    },
    /// IPv4 destination.
    Ipv4Dst {
        /// Its value.
        value: [u8; 4],
        /// The bits that count; all if there is none.
        mask: Option<[u8; 4]>,
    },
    /// TCP source port.
    TcpSrc(u16),
    /// TCP destination port.
    TcpDst(u16),
    /// UDP source port.
    UdpSrc(u16),
    /// UDP destination port.
    UdpDst(u16),
    /// Any other field, or one of the above with a mask it cannot have.
    Unknown {
        /// The class (`OFPXMC_*`).
        class: u16,
        /// The field number within the class, 7 bits.
        field: u8,
        /// Whether the second half of the payload is a mask.
        has_mask: bool,
        /// The payload, at most 255 bytes.
        payload: Vec<u8>,
    },
}

/// Splits a payload of exactly N or, with a mask, 2·N bytes.
fn value_and_mask<const N: usize>(
    mut payload: Reader<'_>,
    has_mask: bool,
) -> Result<([u8; N], Option<[u8; N]>), ErrorCode> {
    let value = payload.array()?;
    let mask = if has_mask { Some(payload.array()?) } else { None };
    payload.finish()?;
    Ok((value, mask))
}

/// A payload of exactly N bytes, or `None` if a mask of N bytes follows where none is allowed.
fn value_only<const N: usize>(
    payload: Reader<'_>,
    has_mask: bool,
) -> Result<Option<[u8; N]>, ErrorCode> {
    let (value, mask) = value_and_mask(payload, has_mask)?;
    Ok(mask.is_none().then_some(value))
}

impl Oxm {
    /// What to answer when this field is not supported: a bad mask if the field itself is known, a
    /// bad field otherwise. `None` for fields with a variant of their own.
    pub const fn refusal(&self) -> Option<ErrorCode> {
        match self {
            Self::Unknown { class: CLASS_BASIC, field, has_mask: true, .. }
                if is_unmaskable(*field) =>
            {
                Some(ErrorCode::BadMatch(BadMatch::BadMask))
            }
            Self::Unknown { .. } => Some(ErrorCode::BadMatch(BadMatch::BadField)),
            _ => None,
        }
    }

    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let class = r.u16()?;
        let field_and_mask = r.u8()?;
        let (field, has_mask) = (field_and_mask >> 1, field_and_mask & 1 == 1);
        let len = usize::from(r.u8()?);
        let payload = r.part(len, r.bad_len())?;
        let known =
            if class == CLASS_BASIC { Self::read_basic(field, has_mask, payload)? } else { None };
        Ok(known.unwrap_or_else(|| {
            let payload = { payload }.rest().to_vec();
            Self::Unknown { class, field, has_mask, payload }
        }))
    }

    fn read_basic(
        field: u8,
        has_mask: bool,
        payload: Reader<'_>,
    ) -> Result<Option<Self>, ErrorCode> {
        let byte = || value_only(payload, has_mask).map(|value| value.map(u8::from_be_bytes));
        let short = || value_only(payload, has_mask).map(|value| value.map(u16::from_be_bytes));
        Ok(match field {
            field::IN_PORT => {
                value_only(payload, has_mask)?.map(u32::from_be_bytes).map(Self::InPort)
            }
            field::METADATA => {
                let (value, mask) = value_and_mask(payload, has_mask)?;
                let mask = mask.map(u64::from_be_bytes);
                Some(Self::Metadata { value: u64::from_be_bytes(value), mask })
            }
            field::ETH_DST => {
                let (value, mask) = value_and_mask(payload, has_mask)?;
                Some(Self::EthDst { value, mask })
            }
            field::ETH_SRC => {
                let (value, mask) = value_and_mask(payload, has_mask)?;
                Some(Self::EthSrc { value, mask })
            }
            field::VLAN_VID => {
                let (value, mask) = value_and_mask(payload, has_mask)?;
                let mask = mask.map(u16::from_be_bytes);
                Some(Self::VlanVid { value: u16::from_be_bytes(value), mask })
            }
            field::IPV4_SRC => {
                let (value, mask) = value_and_mask(payload, has_mask)?;
                Some(Self::Ipv4Src { value, mask })
            }
            field::IPV4_DST => {
                let (value, mask) = value_and_mask(payload, has_mask)?;
                Some(Self::Ipv4Dst { value, mask })
            }
            field::ETH_TYPE => short()?.map(Self::EthType),
            field::VLAN_PCP => byte()?.map(Self::VlanPcp),
            field::IP_DSCP => byte()?.map(Self::IpDscp),
            field::IP_ECN => byte()?.map(Self::IpEcn),
            field::IP_PROTO => byte()?.map(Self::IpProto),
            field::TCP_SRC => short()?.map(Self::TcpSrc),
            field::TCP_DST => short()?.map(Self::TcpDst),
            field::UDP_SRC => short()?.map(Self::UdpSrc),
            field::UDP_DST => short()?.map(Self::UdpDst),
            _ => None,
        })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        match self {
            Self::InPort(port) => put(w, field::IN_PORT, port.to_be_bytes(), None),
            Self::Metadata { value, mask } => {
                put(w, field::METADATA, value.to_be_bytes(), mask.map(u64::to_be_bytes));
            }
            Self::EthDst { value, mask } => put(w, field::ETH_DST, *value, *mask),
            Self::EthSrc { value, mask } => put(w, field::ETH_SRC, *value, *mask),
            Self::EthType(value) => put(w, field::ETH_TYPE, value.to_be_bytes(), None),
            Self::VlanVid { value, mask } => {
                put(w, field::VLAN_VID, value.to_be_bytes(), mask.map(u16::to_be_bytes));
            }
            Self::VlanPcp(value) => put(w, field::VLAN_PCP, [*value], None),
            Self::IpDscp(value) => put(w, field::IP_DSCP, [*value], None),
            Self::IpEcn(value) => put(w, field::IP_ECN, [*value], None),
            Self::IpProto(value) => put(w, field::IP_PROTO, [*value], None),
            Self::Ipv4Src { value, mask } => put(w, field::IPV4_SRC, *value, *mask),
            Self::Ipv4Dst { value, mask } => put(w, field::IPV4_DST, *value, *mask),
            Self::TcpSrc(value) => put(w, field::TCP_SRC, value.to_be_bytes(), None),
            Self::TcpDst(value) => put(w, field::TCP_DST, value.to_be_bytes(), None),
            Self::UdpSrc(value) => put(w, field::UDP_SRC, value.to_be_bytes(), None),
            Self::UdpDst(value) => put(w, field::UDP_DST, value.to_be_bytes(), None),
            Self::Unknown { class, field, has_mask, payload } => {
                w.u16(*class);
                w.u8(field << 1 | u8::from(*has_mask));
                w.len_u8(payload.len());
                w.bytes(payload);
            }
        }
    }
}

const fn is_unmaskable(field: u8) -> bool {
    matches!(
        field,
        field::IN_PORT
            | field::ETH_TYPE
            | field::VLAN_PCP
            | field::IP_DSCP
            | field::IP_ECN
            | field::IP_PROTO
            | field::TCP_SRC
            | field::TCP_DST
            | field::UDP_SRC
            | field::UDP_DST
    )
}

fn put<const N: usize>(w: &mut Writer<'_>, field: u8, value: [u8; N], mask: Option<[u8; N]>) {
    w.u16(CLASS_BASIC);
    w.u8(field << 1 | u8::from(mask.is_some()));
    w.len_u8(if mask.is_some() { 2 * N } else { N });
    w.bytes(&value);
    if let Some(mask) = mask {
        w.bytes(&mask);
    }
}

/// The conditions under which an entry applies; none at all matches every packet. They are sent in
/// the order given, and duplicates or missing prerequisites are not judged here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Match {
    /// The conditions.
    pub oxms: Vec<Oxm>,
}

impl Match {
    /// The match of every packet.
    pub const ANY: Self = Self { oxms: Vec::new() };

    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let bad_len = ErrorCode::BadMatch(BadMatch::BadLen);
        let type_ = r.peek_u16(0)?;
        if type_ != MATCH_TYPE_OXM {
            return Err(BadMatch::BadType.into());
        }
        // The length leaves the padding out (section 7.2.3.1).
        let len = usize::from(r.peek_u16(2)?);
        if len < MATCH_HEADER_LEN || len + crate::wire::padding(len) > r.len() {
            return Err(bad_len);
        }
        let mut fields = r.part(len, bad_len)?;
        fields.skip(MATCH_HEADER_LEN)?;
        r.skip(crate::wire::padding(len))?;
        Ok(Self { oxms: fields.list(Oxm::read)? })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        let start = w.tlv(MATCH_TYPE_OXM, |w| self.oxms.iter().for_each(|oxm| oxm.write(w)));
        w.pad(start);
    }
}

impl From<Vec<Oxm>> for Match {
    fn from(oxms: Vec<Oxm>) -> Self {
        Self { oxms }
    }
}
