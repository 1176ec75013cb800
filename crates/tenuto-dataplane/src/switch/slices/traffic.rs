//! Whose a frame is: the ports, VLANs and addresses of a slice.
//!
//! One judgement is made of a frame that enters and of one that is about to leave, so that no entry, group or
//! packet-out of a tenant has to be trusted. Slices at one port never claim the same frame
//! ([`SliceTraffic::overlaps`]).

use std::fmt;
use tenuto_openflow::constants::ethertype;

/// VLAN identifiers of IEEE 802.1Q.
const VLANS: usize = 4_096;
/// The bits of a tag that name its VLAN.
const VLAN_MASK: u16 = 0xfff;
/// Tags that are passed over; frames with more are nobody's.
const TAGS_MAX: usize = 8;

/// What a slice may receive and send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceTraffic {
    ports: Vec<u32>,
    vlans: Option<Box<VlanSet>>,
    networks: Vec<Ipv4Network>,
}

/// A set of VLANs; 0 stands for frames without a tag, or with one that only has a priority.
#[derive(Clone, PartialEq, Eq)]
pub struct VlanSet([u64; VLANS / 64]);

/// IPv4 addresses with a common prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Network {
    address: u32,
    mask: u32,
}

impl SliceTraffic {
    /// Traffic at these ports: of the VLANs, if there are any, and between the addresses, if there are any.
    pub fn new(mut ports: Vec<u32>, vlans: Option<VlanSet>, networks: Vec<Ipv4Network>) -> Self {
        ports.sort_unstable();
        ports.dedup();
        Self { ports, vlans: vlans.map(Box::new), networks }
    }

    /// The ports, ascending.
    pub fn ports(&self) -> &[u32] {
        &self.ports
    }

    /// Whether a port is one of them.
    pub fn has_port(&self, port: u32) -> bool {
        self.ports.binary_search(&port).is_ok()
    }

    /// Its VLANs; `None` for all.
    pub(super) fn vlans(&self) -> Option<&VlanSet> {
        self.vlans.as_deref()
    }

    /// Its networks, as addresses and masks; none for all addresses.
    pub(super) fn networks(&self) -> impl Iterator<Item = ([u8; 4], [u8; 4])> {
        self.networks.iter().map(|it| (it.address.to_be_bytes(), it.mask.to_be_bytes()))
    }

    /// Whether frames of a VLAN may be its own; 0: frames without a tag.
    pub fn has_vlan(&self, vlan: u16) -> bool {
        self.vlans.as_ref().is_none_or(|vlans| vlans.has(vlan))
    }

    /// Whether an IPv4 address may stand where the other end of its traffic stands: its own, or one that
    /// reaches many.
    pub fn has_peer(&self, address: u32) -> bool {
        self.has_address(address) || is_for_many(address)
    }

    /// Whether an IPv4 address is its own.
    pub fn has_address(&self, address: u32) -> bool {
        self.networks.is_empty() || self.networks.iter().any(|it| it.has(address))
    }

    /// Whether frames of other protocols than IPv4 and ARP are no one's, as only these have its addresses.
    pub fn is_by_address(&self) -> bool {
        !self.networks.is_empty()
    }

    /// Whether any address with these bits may stand there.
    pub(super) fn may_have(&self, value: u32, mask: u32, is_peer: bool) -> bool {
        let meets = |it: &Ipv4Network| (it.address ^ value) & it.mask & mask == 0;
        // Multicast addresses begin with 1110; the broadcast address has every bit.
        let for_many = (value ^ 0xe000_0000) & 0xf000_0000 & mask == 0 || !value & mask == 0;
        self.networks.is_empty() || self.networks.iter().any(meets) || is_peer && for_many
    }

    /// Whether a frame at a port is its own.
    pub fn claims(&self, port: u32, frame: &[u8]) -> bool {
        if !self.has_port(port) {
            return false;
        }
        if self.vlans.is_none() && self.networks.is_empty() {
            return true;
        }
        let Some((vlan, network)) = headers(frame) else { return false };
        self.has_vlan(vlan) && self.has_addresses(network, frame)
    }

    fn has_addresses(&self, network: Network, frame: &[u8]) -> bool {
        if self.networks.is_empty() {
            return true;
        }
        match network {
            Network::V4(at) => {
                self.has_address(long(frame, at + 12)) && self.has_peer(long(frame, at + 16))
            }
            // A probe (RFC 5227) has no sender yet: its target tells whose it is.
            Network::Arp(at) if is_ipv4_arp(frame, at) => {
                let (sender, target) = (long(frame, at + 14), long(frame, at + 24));
                (sender == 0 || self.has_address(sender)) && self.has_address(target)
            }
            Network::Arp(_) | Network::Other => false,
        }
    }

    /// Whether some frame could be that of both.
    pub fn overlaps(&self, other: &Self) -> bool {
        let vlans = match (&self.vlans, &other.vlans) {
            (Some(a), Some(b)) => a.meets(b),
            _ => true,
        };
        let networks = self.networks.is_empty()
            || other.networks.is_empty()
            || self.networks.iter().any(|a| other.networks.iter().any(|b| a.meets(*b)));
        vlans && networks && self.ports.iter().any(|port| other.has_port(*port))
    }
}

/// What addresses stand in a frame, and where their header begins.
#[derive(Clone, Copy)]
enum Network {
    V4(usize),
    Arp(usize),
    Other,
}

/// The outermost VLAN of a frame, 0 without one, and what is behind its tags; `None` behind too many of them.
///
/// A tag with a priority only is as none: hosts take it away, and go by the one behind it.
fn headers(frame: &[u8]) -> Option<(u16, Network)> {
    let (mut at, mut vlan, mut tags) = (12, 0, 0);
    while matches!(short(frame, at), ethertype::VLAN | ethertype::SERVICE_VLAN)
        && frame.len() >= at + 6
    {
        if tags == TAGS_MAX {
            return None;
        }
        if vlan == 0 {
            vlan = short(frame, at + 2) & VLAN_MASK;
        }
        (at, tags) = (at + 4, tags + 1);
    }
    let behind = at + 2;
    let network = match short(frame, at) {
        ethertype::IPV4 if frame.len() >= behind + 20 => Network::V4(behind),
        ethertype::ARP if frame.len() >= behind + 28 => Network::Arp(behind),
        _ => Network::Other,
    };
    Some((vlan, network))
}

fn short(frame: &[u8], at: usize) -> u16 {
    frame.get(at..at + 2).map_or(0, |b| u16::from(b[0]) << 8 | u16::from(b[1]))
}

fn long(frame: &[u8], at: usize) -> u32 {
    u32::from(short(frame, at)) << 16 | u32::from(short(frame, at + 2))
}

/// Whether ARP asks for IPv4 addresses of Ethernet.
fn is_ipv4_arp(frame: &[u8], at: usize) -> bool {
    frame.get(at..at + 6) == Some(&[0, 1, 8, 0, 6, 4][..])
}

/// Multicast, or the broadcast of the local network.
const fn is_for_many(address: u32) -> bool {
    address >> 28 == 0xe || address == u32::MAX
}

impl VlanSet {
    /// No VLAN.
    pub const fn new() -> Self {
        Self([0; VLANS / 64])
    }

    /// Adds a VLAN, up to 4094, or 0 for frames without one; other numbers are none.
    pub fn add(&mut self, vlan: u16) {
        if vlan < VLAN_MASK {
            self.0[usize::from(vlan / 64)] |= 1 << (vlan % 64);
        }
    }

    /// Whether a VLAN is in it.
    pub fn has(&self, vlan: u16) -> bool {
        self.0.get(usize::from(vlan / 64)).is_some_and(|bits| bits & 1 << (vlan % 64) != 0)
    }

    fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }
}

impl Default for VlanSet {
    fn default() -> Self {
        Self::new()
    }
}

impl FromIterator<u16> for VlanSet {
    fn from_iter<T: IntoIterator<Item = u16>>(vlans: T) -> Self {
        let mut set = Self::new();
        vlans.into_iter().for_each(|vlan| set.add(vlan));
        set
    }
}

impl fmt::Debug for VlanSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries((0..VLAN_MASK).filter(|vlan| self.has(*vlan))).finish()
    }
}

impl Ipv4Network {
    /// The addresses that share the first `bits` bits with this one; 32 at most.
    pub fn new(address: u32, bits: u8) -> Self {
        let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
        Self { address: address & mask, mask }
    }

    const fn has(self, address: u32) -> bool {
        (address ^ self.address) & self.mask == 0
    }

    const fn meets(self, other: Self) -> bool {
        (self.address ^ other.address) & self.mask & other.mask == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of IPv4 between two addresses, in a VLAN if it is not 0.
    fn ipv4(vlan: u16, from: u32, to: u32) -> Vec<u8> {
        let mut frame = vec![2; 12];
        if vlan != 0 {
            frame.extend([0x81, 0]);
            frame.extend((0xe000 | vlan).to_be_bytes());
        }
        frame.extend([8, 0, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0]);
        frame.extend(from.to_be_bytes());
        frame.extend(to.to_be_bytes());
        frame.extend([0; 20]);
        frame
    }

    fn arp(from: u32, to: u32) -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 2, 2, 2, 2, 2]);
        frame.extend(from.to_be_bytes());
        frame.extend([0; 6]);
        frame.extend(to.to_be_bytes());
        frame
    }

    const A: u32 = 0x0a01_0001;
    const B: u32 = 0x0a02_0001;

    #[test]
    fn a_vlan_is_the_outermost() {
        let traffic = SliceTraffic::new(vec![2, 1], Some([0, 10].into_iter().collect()), vec![]);
        assert!(traffic.claims(1, &ipv4(10, A, B)) && traffic.claims(2, &ipv4(0, A, B)));
        assert!(!traffic.claims(3, &ipv4(10, A, B)), "another port");
        assert!(!traffic.claims(1, &ipv4(11, A, B)), "another VLAN");
        let mut priority = ipv4(10, A, B);
        priority[14..16].copy_from_slice(&[0xe0, 0]);
        assert!(traffic.claims(1, &priority), "a tag with a priority only");
        let mut in_service = ipv4(10, A, B);
        in_service.splice(12..12, [0x88, 0xa8, 0, 99]);
        assert!(!traffic.claims(1, &in_service), "99 is outside of 10");
        assert!(traffic.claims(1, &[]), "no header, no tag");
        for inner in [10, 11] {
            let mut twice = ipv4(inner, A, B);
            twice.splice(12..12, [0x81, 0, 0xe0, 0]);
            assert_eq!(traffic.claims(1, &twice), inner == 10, "a host goes by the tag behind it");
        }
        let mut many = ipv4(0, A, B);
        many.splice(12..12, [0x81, 0, 0xe0, 0].repeat(9));
        assert!(!traffic.claims(1, &many), "nobody looks behind so many tags");
    }

    #[test]
    fn both_ends_are_its_own_or_the_frame_is_for_many() {
        let traffic = SliceTraffic::new(vec![1], None, vec![Ipv4Network::new(0x0a01_0000, 16)]);
        let own = A + 7;
        assert!(traffic.claims(1, &ipv4(0, A, own)) && traffic.claims(1, &ipv4(5, A, own)));
        assert!(
            traffic.claims(1, &ipv4(0, A, 0xe000_0001)) && traffic.claims(1, &ipv4(0, A, u32::MAX))
        );
        assert!(!traffic.claims(1, &ipv4(0, A, B)) && !traffic.claims(1, &ipv4(0, B, A)));
        assert!(traffic.claims(1, &arp(A, own)) && traffic.claims(1, &arp(0, own)));
        assert!(!traffic.claims(1, &arp(A, B)) && !traffic.claims(1, &arp(B, A)));
        let mut other = ipv4(0, A, own);
        other[12..14].copy_from_slice(&[0x86, 0xdd]);
        assert!(!traffic.claims(1, &other), "IPv6 has none of its addresses");
        assert!(!traffic.claims(1, &ipv4(0, A, own)[..30]), "cut off");
    }

    #[test]
    fn slices_meet_where_a_frame_could_be_of_both() {
        let of = |ports: &[u32], vlans: &[u16], networks: &[(u32, u8)]| {
            let vlans = (!vlans.is_empty()).then(|| vlans.iter().copied().collect());
            let networks = networks.iter().map(|&(it, bits)| Ipv4Network::new(it, bits)).collect();
            SliceTraffic::new(ports.to_vec(), vlans, networks)
        };
        let all = of(&[1, 2], &[], &[]);
        assert!(all.overlaps(&of(&[2], &[7], &[(A, 8)])) && !all.overlaps(&of(&[3], &[], &[])));
        assert!(!of(&[1], &[1, 2], &[]).overlaps(&of(&[1], &[3], &[])));
        assert!(of(&[1], &[1, 2], &[]).overlaps(&of(&[1], &[2], &[])));
        assert!(!of(&[1], &[], &[(A, 16)]).overlaps(&of(&[1], &[], &[(B, 16)])));
        assert!(of(&[1], &[], &[(A, 16)]).overlaps(&of(&[1], &[], &[(B, 8)])));
        assert!(of(&[1], &[], &[(A, 0)]).overlaps(&of(&[1], &[], &[(B, 32)])), "0 bits are all");
    }
}
