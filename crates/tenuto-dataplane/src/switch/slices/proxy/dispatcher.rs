//! The entries of table 0: whose a frame is that enters, in matches of OpenFlow.
//!
//! They say what [`SliceTraffic::claims`] says of a frame, but that a switch does not tell what is behind the first tag.
//! Behind two no address is found. A tag of a priority only makes a frame nobody's where there are VLANs: the tag behind
//! it, by which a host goes, may be another's.

use super::super::traffic::SliceTraffic;
use super::places::Places;
use tenuto_openflow::constants::ethertype;
use tenuto_openflow::{FlowMod, FlowModCommand, Instruction, Match, Oxm};

/// Cookie of entries that are the proxy's own.
pub(super) const COOKIE: u64 = 0x7465_6e75_746f_0001;
/// Above whatever else is in table 0.
const PRIORITY: u16 = 0xfff0;
/// The flag of a match on VLANs that a tag is there (`OFPVID_PRESENT`).
const VLAN_PRESENT: u16 = 0x1000;
/// Multicast addresses (RFC 5771).
const MULTICAST: ([u8; 4], [u8; 4]) = ([224, 0, 0, 0], [240, 0, 0, 0]);
const BROADCAST: [u8; 4] = [255; 4];

/// Entries of one slice at most.
pub(super) const ENTRIES_MAX: usize = 4_096;

/// Entries that lead frames of a slice to its tables; `None` for more than [`ENTRIES_MAX`].
pub(super) fn entries(traffic: &SliceTraffic, places: Places) -> Option<Vec<FlowMod>> {
    let (vlans, addresses) = (vlans(traffic), addresses(traffic));
    if traffic.ports().len().saturating_mul(vlans.len()).saturating_mul(addresses.len())
        > ENTRIES_MAX
    {
        return None;
    }
    let mut all = Vec::new();
    for port in traffic.ports() {
        for vlan in &vlans {
            for address in &addresses {
                let first = [Oxm::InPort(*port)].into_iter();
                let oxms: Vec<Oxm> = first.chain(vlan.clone()).chain(address.clone()).collect();
                all.push(FlowMod {
                    cookie: COOKIE,
                    priority: PRIORITY,
                    match_: Match::from(oxms),
                    instructions: vec![Instruction::GotoTable(places.first_table)],
                    ..FlowMod::new(FlowModCommand::Add, 0)
                });
            }
        }
    }
    Some(all)
}

/// Conditions on the tag, one of which holds.
fn vlans(traffic: &SliceTraffic) -> Vec<Vec<Oxm>> {
    let Some(set) = traffic.vlans() else { return vec![Vec::new()] };
    let mut all = Vec::new();
    if set.has(0) {
        all.push(vec![Oxm::VlanVid { value: 0, mask: None }]);
    }
    for vlan in (1..0xfff).filter(|vlan| set.has(*vlan)) {
        all.push(vec![Oxm::VlanVid { value: VLAN_PRESENT | vlan, mask: None }]);
    }
    all
}

/// Conditions on addresses, one of which holds.
fn addresses(traffic: &SliceTraffic) -> Vec<Vec<Oxm>> {
    let own: Vec<([u8; 4], [u8; 4])> = traffic.networks().collect();
    if own.is_empty() {
        return vec![Vec::new()];
    }
    let full = [255; 4];
    let masked = |(value, mask): ([u8; 4], [u8; 4])| (value, (mask != full).then_some(mask));
    let mut all = Vec::new();
    for from in &own {
        let (from, from_mask) = masked(*from);
        for to in own.iter().copied().chain([MULTICAST, (BROADCAST, full)]) {
            let (to, to_mask) = masked(to);
            all.push(vec![
                Oxm::EthType(ethertype::IPV4),
                Oxm::Ipv4Src { value: from, mask: from_mask },
                Oxm::Ipv4Dst { value: to, mask: to_mask },
            ]);
        }
    }
    for target in &own {
        let (target, target_mask) = masked(*target);
        for sender in own.iter().copied().chain([([0; 4], full)]) {
            let (sender, sender_mask) = masked(sender);
            all.push(vec![
                Oxm::EthType(ethertype::ARP),
                Oxm::ArpSpa { value: sender, mask: sender_mask },
                Oxm::ArpTpa { value: target, mask: target_mask },
            ]);
        }
    }
    all
}
