//! What decoding leaves open about a match: values in range, bits within masks, no field twice,
//! prerequisites met (OpenFlow 1.3.5, sections 7.2.3.6 to 7.2.3.8).

use crate::constants::{ethertype, ip_proto, vlan};
use crate::error::{BadMatch, ErrorCode};
use crate::oxm::{Match, Oxm};

const ICMPV6_NEIGHBOUR_SOLICITATION: u8 = 135;
const ICMPV6_NEIGHBOUR_ADVERTISEMENT: u8 = 136;

impl Match {
    /// Whether this match is one that OpenFlow 1.3 allows.
    ///
    /// # Errors
    /// In this order: an unknown field or a mask where none may be, a value out of range, a field
    /// given twice, bits of the value outside its mask, a prerequisite that does not precede it.
    pub fn check(&self) -> Result<(), ErrorCode> {
        // The basic class has 40 fields, so a word of bits holds what was given.
        let mut given = 0_u64;
        for oxm in &self.oxms {
            if let Some(refusal) = oxm.refusal() {
                return Err(refusal);
            }
            if !oxm.is_in_range() {
                return Err(BadMatch::BadValue.into());
            }
            let bit = oxm.number().map_or(0, |number| 1 << number);
            if given & bit != 0 {
                return Err(BadMatch::DupField.into());
            }
            given |= bit;
            if !oxm.is_within_mask() {
                return Err(BadMatch::BadWildcards.into());
            }
        }
        // What a field needs is to precede it (section 7.2.3.6).
        let met = (0..).zip(&self.oxms).all(|(before, oxm)| is_met(&self.oxms[..before], oxm));
        if met { Ok(()) } else { Err(BadMatch::BadPrereq.into()) }
    }

    /// Whether what a field needs beside it is among the conditions (section 7.2.3.8, table 12).
    pub fn meets_prerequisite(&self, oxm: &Oxm) -> bool {
        is_met(&self.oxms, oxm)
    }
}

/// Whether what a field needs is among `given`.
fn is_met(given: &[Oxm], oxm: &Oxm) -> bool {
    use Oxm as O;
    let eth = |wanted: &[u16]| {
        given.iter().any(|o| matches!(o, O::EthType(found) if wanted.contains(found)))
    };
    let ip = |wanted: u8| given.iter().any(|o| matches!(o, O::IpProto(p) if *p == wanted));
    let icmpv6 = |wanted: &[u8]| {
        given.iter().any(|o| matches!(o, O::Icmpv6Type(found) if wanted.contains(found)))
    };
    match oxm {
        O::InPhyPort(_) => given.iter().any(|o| matches!(o, O::InPort(_))),
        O::VlanPcp(_) => given
            .iter()
            .any(|o| matches!(o, O::VlanVid { value, .. } if value & vlan::PRESENT != 0)),
        O::IpDscp(_) | O::IpEcn(_) | O::IpProto(_) => eth(&[ethertype::IPV4, ethertype::IPV6]),
        O::Ipv4Src { .. } | O::Ipv4Dst { .. } => eth(&[ethertype::IPV4]),
        O::TcpSrc { .. } | O::TcpDst { .. } => ip(ip_proto::TCP),
        O::UdpSrc { .. } | O::UdpDst { .. } => ip(ip_proto::UDP),
        O::SctpSrc { .. } | O::SctpDst { .. } => ip(ip_proto::SCTP),
        O::Icmpv4Type(_) | O::Icmpv4Code(_) => ip(ip_proto::ICMP),
        O::Icmpv6Type(_) | O::Icmpv6Code(_) => ip(ip_proto::ICMPV6),
        O::ArpOp(_) | O::ArpSpa { .. } | O::ArpTpa { .. } | O::ArpSha { .. } | O::ArpTha { .. } => {
            eth(&[ethertype::ARP])
        }
        O::Ipv6Src { .. } | O::Ipv6Dst { .. } | O::Ipv6Flabel { .. } | O::Ipv6Exthdr { .. } => {
            eth(&[ethertype::IPV6])
        }
        O::Ipv6NdTarget(_) => {
            icmpv6(&[ICMPV6_NEIGHBOUR_SOLICITATION, ICMPV6_NEIGHBOUR_ADVERTISEMENT])
        }
        O::Ipv6NdSll(_) => icmpv6(&[ICMPV6_NEIGHBOUR_SOLICITATION]),
        O::Ipv6NdTll(_) => icmpv6(&[ICMPV6_NEIGHBOUR_ADVERTISEMENT]),
        O::MplsLabel(_) | O::MplsTc(_) | O::MplsBos(_) => {
            eth(&[ethertype::MPLS, ethertype::MPLS_MULTICAST])
        }
        O::PbbIsid { .. } => eth(&[ethertype::PBB]),
        _ => true,
    }
}

impl Oxm {
    /// Whether the value fits the bits that the field has. A mask may have more: they mean nothing.
    pub const fn is_in_range(&self) -> bool {
        match self {
            Self::VlanVid { value, .. } => *value <= 0x1fff,
            Self::VlanPcp(value) | Self::MplsTc(value) => *value < 8,
            Self::IpDscp(value) => *value < 64,
            Self::IpEcn(value) => *value < 4,
            Self::Ipv6Flabel { value, .. } | Self::MplsLabel(value) => *value <= 0xf_ffff,
            Self::MplsBos(value) => *value < 2,
            Self::Ipv6Exthdr { value, .. } => *value <= 0x1ff,
            _ => true,
        }
    }

    /// Whether the value has no bit that the mask leaves out.
    pub fn is_within_mask(&self) -> bool {
        let masked = self.value_bits().zip(self.mask_bits());
        masked.is_none_or(|(value, mask)| value & !mask == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(oxms: &[Oxm]) -> Result<(), ErrorCode> {
        Match::from(oxms.to_vec()).check()
    }

    #[test]
    fn neighbour_discovery_needs_three_layers() {
        let (eth, icmp) = (Oxm::EthType(0x86dd), Oxm::IpProto(58));
        let sll = Oxm::Ipv6NdSll([1; 6]);
        let all = [eth.clone(), icmp.clone(), Oxm::Icmpv6Type(135), sll.clone()];
        assert_eq!(check(&all), Ok(()));
        let refused = Err(BadMatch::BadPrereq.into());
        assert_eq!(check(&[eth.clone(), icmp.clone(), Oxm::Icmpv6Type(136), sll]), refused);
        assert_eq!(check(&[eth.clone(), Oxm::Icmpv6Type(135)]), refused);
        assert_eq!(check(&[icmp, eth]), refused, "what it needs comes behind it");
    }

    #[test]
    fn a_priority_needs_some_tag() {
        let some = Oxm::VlanVid { value: 0x1000, mask: Some(0x1000) };
        assert_eq!(check(&[some, Oxm::VlanPcp(3)]), Ok(()));
        let none = Oxm::VlanVid { value: 0, mask: None };
        assert_eq!(check(&[none, Oxm::VlanPcp(3)]), Err(BadMatch::BadPrereq.into()));
    }

    #[test]
    fn values_keep_to_their_bits_and_masks() {
        let eth = Oxm::EthType(0x8847);
        assert_eq!(check(&[eth.clone(), Oxm::MplsBos(2)]), Err(BadMatch::BadValue.into()));
        let isid = Oxm::PbbIsid { value: [0, 0, 3], mask: Some([0xff, 0xff, 1]) };
        assert_eq!(check(&[Oxm::EthType(0x88e7), isid]), Err(BadMatch::BadWildcards.into()));
        assert_eq!(check(&[eth.clone(), eth]), Err(BadMatch::DupField.into()));
    }

    #[test]
    fn ports_have_masks_as_addresses_do() {
        let port = |value, mask| {
            let port = Oxm::SctpSrc { value, mask: Some(mask) };
            check(&[Oxm::EthType(0x86dd), Oxm::IpProto(132), port])
        };
        assert_eq!(port(0x10, 0xfff0), Ok(()));
        assert_eq!(port(0x11, 0xfff0), Err(BadMatch::BadWildcards.into()));
        assert_eq!(port(0, 0), Ok(()));
    }
}
