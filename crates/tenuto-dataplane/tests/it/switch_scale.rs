//! A hundred thousand entries: what a look-up costs does not grow with them, nor does a change.

use support::general::config;
use support::{Bench, apply, output};
use tenuto_dataplane::switch::SwitchConfig;
use tenuto_openflow::*;

use crate::support;

const ENTRIES: u32 = 100_000;
/// Prefix lengths of the destination: as many masks.
const PREFIXES: [u32; 16] = [32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17];

/// Entry `n`: a prefix of one of the lengths; the longer the better.
fn route(n: u32) -> FlowMod {
    let len = PREFIXES[n as usize % PREFIXES.len()];
    let mask = u32::MAX << (32 - len);
    let value = n.wrapping_mul(0x9e37_79b1) & mask;
    let dst = Oxm::Ipv4Dst { value: value.to_be_bytes(), mask: Some(mask.to_be_bytes()) };
    FlowMod {
        cookie: u64::from(n) + 1,
        priority: u16::try_from(len).expect("at most 32"),
        match_: Match::from(vec![Oxm::EthType(0x0800), dst]),
        instructions: vec![apply(vec![output(3)])],
        ..FlowMod::new(FlowModCommand::Add, 0)
    }
}

fn filled(entries: u32) -> Bench {
    let mut bench = Bench::with(SwitchConfig { entries_max: 200_000, ..config() });
    let mut bytes = Vec::new();
    for n in 0..entries {
        Message::new(1, Body::FlowMod(route(n))).emit(&mut bytes);
    }
    assert_eq!(bench.control(&bytes), []);
    bench
}

#[test]
fn the_worst_look_up_costs_a_probe_for_each_mask() {
    let mut bench = filled(ENTRIES);
    let table = bench.switch.tables().get(0, 0).expect("there").table();
    assert_eq!(table.masks(), PREFIXES.len());
    let entries = table.entries().len();
    assert_eq!(entries, ENTRIES as usize);
    let mut worst = 0;
    let mut frame = support::frame(1, 100);
    for n in 0..10_000_u32 {
        frame[30..34].copy_from_slice(&n.wrapping_mul(0x85eb_ca6b).to_be_bytes());
        let work = bench.receive(1, &frame);
        assert_eq!(work.lookups, 1);
        worst = worst.max(work.probes);
        bench.drain();
        bench.fx.clear();
    }
    println!("{entries} entries, {} masks, worst look-up {worst} probes", PREFIXES.len());
    assert_eq!(worst as usize, PREFIXES.len(), "a miss asks every mask, and no more");
    // One entry more and one less, each in effect at its barrier.
    for n in 0..100 {
        let n = ENTRIES + n;
        frame[30..34].copy_from_slice(&n.to_be_bytes());
        let exact = Oxm::Ipv4Dst { value: n.to_be_bytes(), mask: None };
        let flow_mod = |command| FlowMod {
            command,
            priority: 99,
            match_: Match::from(vec![Oxm::EthType(0x0800), exact.clone()]),
            instructions: vec![apply(vec![output(4)])],
            ..FlowMod::new(FlowModCommand::Add, 0)
        };
        bench.install([Body::FlowMod(flow_mod(FlowModCommand::Add))]);
        assert_eq!(bench.ports_of(1, &frame), [4]);
        bench.install([Body::FlowMod(flow_mod(FlowModCommand::DeleteStrict))]);
        assert_ne!(bench.ports_of(1, &frame), [4]);
    }
}
