//! Match fields and matches (OpenFlow 1.3.5, section 7.2.3).
//!
//! An OXM is a class, a field number, a mask bit, a length of its payload, and the payload: the
//! value, then the mask if there is one. Every field of the basic class has a variant; fields of
//! other classes are kept as bytes, and so is a mask on a field that the specification does not
//! allow to be masked: it is well-formed, and [`Oxm::refusal`] says what to answer. Whether values
//! and prerequisites make sense is judged apart, by [`Match::check`].

use crate::error::{BadMatch, ErrorCode};
use crate::wire::{Reader, Writer};

/// `OFPXMC_OPENFLOW_BASIC`
pub(crate) const CLASS_BASIC: u16 = 0x8000;
/// `OFPMT_OXM`: the only match type in use.
const MATCH_TYPE_OXM: u16 = 1;
const MATCH_HEADER_LEN: usize = 4;

/// A value of fixed size, big-endian on the wire.
trait Value<const N: usize>: Copy {
    fn from_wire(bytes: [u8; N]) -> Self;
    fn to_wire(self) -> [u8; N];
}

macro_rules! integers {
    ($($type:ty: $len:literal,)*) => {
        $(impl Value<$len> for $type {
            fn from_wire(bytes: [u8; $len]) -> Self {
                Self::from_be_bytes(bytes)
            }

            fn to_wire(self) -> [u8; $len] {
                self.to_be_bytes()
            }
        })*
    };
}

macro_rules! byte_strings {
    ($($len:literal)*) => {
        $(impl Value<$len> for [u8; $len] {
            fn from_wire(bytes: Self) -> Self {
                bytes
            }

            fn to_wire(self) -> Self {
                self
            }
        })*
    };
}

integers! { u8: 1, u16: 2, u32: 4, u64: 8, }
byte_strings! { 3 4 6 16 }

/// Declares the fields of the basic class (`enum oxm_ofb_match_fields`): number, name in the flow
/// syntax, type. The first list cannot be masked, the second can: the fields that table 12 of the
/// specification has masks for, and transport ports, as Open vSwitch has them.
macro_rules! basic_fields {
    (plain { $($(#[$pmeta:meta])* $plain:ident = $pnumber:literal $pname:literal: $ptype:ty;)* }
     maskable { $($(#[$mmeta:meta])* $masked:ident = $mnumber:literal $mname:literal: $mtype:ty;)* }
    ) => {
        /// One condition of a match, or the field and value of a set-field action. Numbers are in
        /// host order; whether they make sense (prerequisites, ranges, bits outside the mask) is
        /// not judged here.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Oxm {
            $($(#[$pmeta])* $plain($ptype),)*
            $($(#[$mmeta])* $masked {
                /// Its value.
                value: $mtype,
                /// The bits that count; all if there is none.
                mask: Option<$mtype>,
            },)*
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

        impl Oxm {
            /// The field's number in the basic class (`OFPXMT_OFB_*`); `None` for other classes.
            pub const fn number(&self) -> Option<u8> {
                match self {
                    $(Self::$plain(_) => Some($pnumber),)*
                    $(Self::$masked { .. } => Some($mnumber),)*
                    Self::Unknown { class: CLASS_BASIC, field, .. } => Some(*field),
                    Self::Unknown { .. } => None,
                }
            }

            /// The field's name in the flow syntax of `ovs-ofctl`.
            pub(crate) const fn name(&self) -> &'static str {
                match self {
                    $(Self::$plain(_) => $pname,)*
                    $(Self::$masked { .. } => $mname,)*
                    Self::Unknown { .. } => "oxm",
                }
            }

            /// The value as a number, big-endian as on the wire; `None` for other classes and
            /// fields that are kept as bytes.
            pub fn value_bits(&self) -> Option<u128> {
                match self {
                    $(Self::$plain(value) => Some(number(&value.to_wire())),)*
                    $(Self::$masked { value, .. } => Some(number(&value.to_wire())),)*
                    Self::Unknown { .. } => None,
                }
            }

            /// The mask in the same way; `None` where there is none.
            pub fn mask_bits(&self) -> Option<u128> {
                match self {
                    $(Self::$masked { mask, .. } => mask.map(|mask| number(&mask.to_wire())),)*
                    _ => None,
                }
            }

            /// Whether a mask is given, in whatever field.
            pub const fn has_mask(&self) -> bool {
                match self {
                    $(Self::$plain(_) => false,)*
                    $(Self::$masked { mask, .. } => mask.is_some(),)*
                    Self::Unknown { has_mask, .. } => *has_mask,
                }
            }

            fn read_basic(
                field: u8,
                has_mask: bool,
                payload: Reader<'_>,
            ) -> Result<Option<Self>, ErrorCode> {
                Ok(match field {
                    $($pnumber => {
                        value_only(payload, has_mask)?
                            .map(|value| Self::$plain(Value::from_wire(value)))
                    })*
                    $($mnumber => {
                        let (value, mask) = value_and_mask(payload, has_mask)?;
                        let mask = mask.map(Value::from_wire);
                        Some(Self::$masked { value: Value::from_wire(value), mask })
                    })*
                    _ => None,
                })
            }

            pub(crate) fn write(&self, w: &mut Writer<'_>) {
                match self {
                    $(Self::$plain(value) => put(w, $pnumber, value.to_wire(), None),)*
                    $(Self::$masked { value, mask } => {
                        put(w, $mnumber, value.to_wire(), mask.map(Value::to_wire));
                    })*
                    Self::Unknown { class, field, has_mask, payload } => {
                        w.u16(*class);
                        w.u8(field << 1 | u8::from(*has_mask));
                        w.len_u8(payload.len());
                        w.bytes(payload);
                    }
                }
            }
        }

        /// The bytes of a field's value without its mask; `None` for a number that is not defined.
        pub(crate) const fn value_len(field: u8) -> Option<usize> {
            match field {
                $($pnumber => Some(size_of::<$ptype>()),)*
                $($mnumber => Some(size_of::<$mtype>()),)*
                _ => None,
            }
        }

        /// Whether this field of the basic class may be masked.
        pub(crate) const fn is_maskable(field: u8) -> bool {
            matches!(field, $($mnumber)|*)
        }
    };
}

basic_fields! {
    plain {
        /// Ingress port.
        InPort = 0 "in_port": u32;
        /// Physical port that a logical ingress port stands on.
        InPhyPort = 1 "in_phy_port": u32;
        /// EtherType behind the VLAN tags.
        EthType = 5 "dl_type": u16;
        /// VLAN priority, 3 bits.
        VlanPcp = 7 "dl_vlan_pcp": u8;
        /// Differentiated services code point, 6 bits.
        IpDscp = 8 "ip_dscp": u8;
        /// Explicit congestion notification, 2 bits.
        IpEcn = 9 "nw_ecn": u8;
        /// IP protocol.
        IpProto = 10 "nw_proto": u8;
        /// ICMP type.
        Icmpv4Type = 19 "icmp_type": u8;
        /// ICMP code.
        Icmpv4Code = 20 "icmp_code": u8;
        /// ARP operation.
        ArpOp = 21 "arp_op": u16;
        /// ICMPv6 type.
        Icmpv6Type = 29 "icmpv6_type": u8;
        /// ICMPv6 code.
        Icmpv6Code = 30 "icmpv6_code": u8;
        /// Target address of neighbour discovery.
        Ipv6NdTarget = 31 "nd_target": [u8; 16];
        /// Source link-layer address of a neighbour solicitation.
        Ipv6NdSll = 32 "nd_sll": [u8; 6];
        /// Target link-layer address of a neighbour advertisement.
        Ipv6NdTll = 33 "nd_tll": [u8; 6];
        /// MPLS label, 20 bits.
        MplsLabel = 34 "mpls_label": u32;
        /// MPLS traffic class, 3 bits.
        MplsTc = 35 "mpls_tc": u8;
        /// MPLS bottom-of-stack bit.
        MplsBos = 36 "mpls_bos": u8;
    }
    maskable {
        /// Metadata passed between tables.
        Metadata = 2 "metadata": u64;
        /// Ethernet destination.
        EthDst = 3 "dl_dst": [u8; 6];
        /// Ethernet source.
        EthSrc = 4 "dl_src": [u8; 6];
        /// VLAN id with [`vlan::PRESENT`](crate::constants::vlan::PRESENT), or
        /// [`vlan::NONE`](crate::constants::vlan::NONE).
        VlanVid = 6 "vlan_vid": u16;
        /// IPv4 source.
        Ipv4Src = 11 "nw_src": [u8; 4];
        /// IPv4 destination.
        Ipv4Dst = 12 "nw_dst": [u8; 4];
        /// TCP source port.
        TcpSrc = 13 "tcp_src": u16;
        /// TCP destination port.
        TcpDst = 14 "tcp_dst": u16;
        /// UDP source port.
        UdpSrc = 15 "udp_src": u16;
        /// UDP destination port.
        UdpDst = 16 "udp_dst": u16;
        /// SCTP source port.
        SctpSrc = 17 "sctp_src": u16;
        /// SCTP destination port.
        SctpDst = 18 "sctp_dst": u16;
        /// Sender's protocol address in ARP.
        ArpSpa = 22 "arp_spa": [u8; 4];
        /// Target's protocol address in ARP.
        ArpTpa = 23 "arp_tpa": [u8; 4];
        /// Sender's hardware address in ARP.
        ArpSha = 24 "arp_sha": [u8; 6];
        /// Target's hardware address in ARP.
        ArpTha = 25 "arp_tha": [u8; 6];
        /// IPv6 source.
        Ipv6Src = 26 "ipv6_src": [u8; 16];
        /// IPv6 destination.
        Ipv6Dst = 27 "ipv6_dst": [u8; 16];
        /// IPv6 flow label, 20 bits.
        Ipv6Flabel = 28 "ipv6_label": u32;
        /// Service instance of provider backbone bridging, 24 bits.
        PbbIsid = 37 "pbb_isid": [u8; 3];
        /// Metadata of a logical port, such as a tunnel's key.
        TunnelId = 38 "tun_id": u64;
        /// Which IPv6 extension headers are there
        /// ([`ipv6_exthdr`](crate::constants::ipv6_exthdr)).
        Ipv6Exthdr = 39 "ipv6_exthdr": u16;
    }
}

/// At most 16 bytes as a number.
fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
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
                if value_len(*field).is_some() && !is_maskable(*field) =>
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
