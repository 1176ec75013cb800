//! The two classifiers agree, and the clever one costs masks, not entries.

use proptest::prelude::*;
use tenuto_dataplane::switch::{
    Behaviour, ClassifierKind, Entry, HashKey, PacketKey, Pattern, Table,
};
use tenuto_openflow::{Match, Oxm};
use tenuto_wire::FlowKey;

use crate::support;

/// Few values and masks, so that patterns overlap and share masks.
fn oxms() -> impl Strategy<Value = Vec<Oxm>> {
    let metadata = (0u64..4, prop_oneof![Just(3u64), Just(1), Just(2), Just(0)])
        .prop_map(|(value, mask)| Oxm::Metadata { value: value & mask, mask: Some(mask) });
    let dst = (0u8..3, prop_oneof![Just(0xffu8), Just(1), Just(2)]).prop_map(|(last, mask)| {
        let value = [3, 0, 0, 0, 0, last & mask];
        Oxm::EthDst { value, mask: Some([0xff, 0xff, 0xff, 0xff, 0xff, mask]) }
    });
    let ip = (0u8..3, any::<bool>()).prop_map(|(flow, exact)| match exact {
        true => vec![
            Oxm::EthType(0x0800),
            Oxm::IpProto(17),
            Oxm::Ipv4Dst { value: [10, 0, 1, flow], mask: None },
            Oxm::UdpDst { value: 20_000 + u16::from(flow), mask: None },
        ],
        false => vec![
            Oxm::EthType(0x0800),
            Oxm::Ipv4Dst { value: [10, 0, 1, 0], mask: Some([255, 255, 255, 0]) },
        ],
    });
    let port = (1u32..4).prop_map(Oxm::InPort);
    use prop::option::of;
    (of(port), of(metadata), of(dst), of(ip)).prop_map(|(port, metadata, dst, ip)| {
        let ip = ip.into_iter().flatten();
        port.into_iter().chain(metadata).chain(dst).chain(ip).collect()
    })
}

fn table(kind: ClassifierKind, matches: &[(Vec<Oxm>, u16)]) -> Table {
    let mut entries: Vec<Entry> = Vec::new();
    for (oxms, precedence) in matches {
        let matching = Match::from(oxms.clone());
        let pattern = Pattern::from_match(&matching).expect("prerequisites are given");
        if entries.iter().any(|e| e.pattern == pattern && e.precedence == *precedence) {
            continue;
        }
        entries.push(Entry {
            version: None,
            pattern,
            precedence: *precedence,
            cookie: entries.len() as u64,
            flags: 0,
            idle_timeout: 0,
            hard_timeout: 0,
            behaviour: Behaviour::default(),
            matching,
            instructions: Vec::new(),
        });
    }
    entries.sort_by_key(|e| (std::cmp::Reverse(e.precedence), e.pattern));
    let mut table = Table::new(kind, HashKey::fixed());
    table.set_entries(entries);
    table
}

fn key(flow: u8, port: u32, metadata: u64) -> PacketKey {
    let flow = FlowKey::extract(&support::frame(flow, 100)).expect("a frame");
    let mut key = PacketKey::of(&flow, port);
    key.set_metadata(metadata, u64::MAX);
    key
}

proptest! {
    #[test]
    fn both_classifiers_find_the_same_entry(
        matches in prop::collection::vec((oxms(), 0u16..3), 0..60),
        keys in prop::collection::vec((0u8..4, 1u32..5, 0u64..5), 1..40),
    ) {
        let by_mask = table(ClassifierKind::ByMask, &matches);
        let linear = table(ClassifierKind::Linear, &matches);
        let masks: std::collections::BTreeSet<_> =
            by_mask.entries().iter().map(|e| e.pattern.mask).collect();
        for (flow, port, metadata) in keys {
            let key = key(flow, port, metadata);
            let (found, probes) = by_mask.look_up(&key);
            let (expected, compared) = linear.look_up(&key);
            prop_assert_eq!(found, expected);
            prop_assert!(probes as usize <= masks.len());
            let all = linear.entries().len();
            prop_assert_eq!(compared as usize, expected.map_or(all, |slot| slot as usize + 1));
        }
    }

    #[test]
    fn within_and_overlap_are_what_frames_say(a in oxms(), b in oxms()) {
        let [a, b] = [a, b].map(|o| Pattern::from_match(&Match::from(o)).expect("valid"));
        for flow in 0..4 {
            for port in 1..5 {
                for metadata in 0..4 {
                    let key = key(flow, port, metadata);
                    if a.is_within(&b) && a.matches(&key) {
                        prop_assert!(b.matches(&key));
                    }
                    if a.matches(&key) && b.matches(&key) {
                        prop_assert!(a.overlaps(&b) && b.overlaps(&a));
                    }
                }
            }
        }
    }
}

#[test]
fn the_cost_is_in_masks_not_entries() {
    let exact = |n: u8| (vec![Oxm::EthDst { value: [3, 0, 0, 0, 0, n], mask: None }], 5);
    let mut matches: Vec<_> = (0..200).map(exact).collect();
    matches.push((vec![Oxm::InPort(1)], 4));
    matches.push((Vec::new(), 0));
    let by_mask = table(ClassifierKind::ByMask, &matches);
    assert_eq!(by_mask.look_up(&key(199, 1, 0)), (Some(199), 1), "nothing better can follow");
    assert_eq!(by_mask.look_up(&key(250, 1, 0)), (Some(200), 2));
    assert_eq!(by_mask.look_up(&key(250, 2, 0)), (Some(201), 3));
    assert_eq!(table(ClassifierKind::Linear, &matches).look_up(&key(250, 2, 0)), (Some(201), 202));
}
