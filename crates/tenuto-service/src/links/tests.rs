use super::*;
use crate::decide::Planning;
use tenuto_model::{MemorySources, read_network};
use tenuto_openflow::{Match, PacketInReason};

const FILE: &str = "tenuto: 1
name: row
hosts: {h1: {}, h2: {}}
switches: {sw1: {profile: tenuto, dpid: 1}, sw2: {profile: tenuto, dpid: 2}, sw3: {profile: tenuto, dpid: 3}}
defaults: {link: {rate: 100 Mbit/s}}
other_traffic: {priority: 5, rate: 64 kbit/s, frame: 128 B}
links: [{ends: [h1, sw1]}, {ends: [sw1, sw2]}, {ends: [sw2, sw3]}, {ends: [sw3, h2]}]
flows:
  FIRST: {source: h1, targets: [h2], message: 10 kB, period: 10 ms, priority: 1}
";

fn plan(file: &str) -> Plan {
    let sources = MemorySources::new().with("row.yaml", file);
    Planning::default().plan(&read_network(&sources, "row.yaml").expect("read").0)
}

fn watch() -> LinkWatch {
    LinkWatch::new(&plan(FILE), 5, [7; 32]).expect("other traffic is carried")
}

fn packet_in(port: u32, data: Vec<u8>) -> PacketIn {
    PacketIn {
        buffer_id: u32::MAX,
        total_len: 64,
        reason: PacketInReason::Action,
        table_id: 0,
        cookie: 0,
        match_: Match::from(vec![Oxm::InPort(port)]),
        data,
    }
}

/// The far end of each port where cables lie as they should.
fn cables() -> BTreeMap<End, End> {
    let links = [((1, 2), (2, 1)), ((2, 2), (3, 1))];
    links.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect()
}

/// A round over these cables.
fn round(watch: &mut LinkWatch, cables: &BTreeMap<End, End>) -> Vec<Finding> {
    let (frames, mut findings) = watch.begin_round(|_| true);
    for (from, frame) in frames {
        if let Some((dpid, port)) = cables.get(&from) {
            findings.extend(watch.heard(*dpid, &packet_in(*port, frame)));
        }
    }
    findings
}

#[test]
fn what_lies_as_described_is_no_alarm() {
    let (mut watch, cables) = (watch(), cables());
    for _ in 0..10 {
        assert_eq!(round(&mut watch, &cables), []);
    }
}

#[test]
fn swapped_cables_are_told_with_what_was_expected_and_are_over_when_mended() {
    let mut watch = watch();
    // The first two switches are linked by the wrong port of the second one.
    let wrong: BTreeMap<End, End> = [((1, 2), (2, 2)), ((2, 2), (1, 2))].into();
    let mut findings = Vec::new();
    (0..5).for_each(|_| findings.extend(round(&mut watch, &wrong)));
    let raised = |kind: &str, place: &str| {
        findings.iter().find_map(|it| match it {
            Finding::Raise(own, at, text) if *own == kind && at == place => Some(text.clone()),
            _ => None,
        })
    };
    let text = raised(UNDESCRIBED, "sw2:2").expect("a link that nobody described");
    assert_eq!(text, "sw2:2 hears sw1:2; the file has sw3:1 at sw2:2 and sw2:1 at sw1:2");
    for place in ["sw1:2", "sw2:1", "sw2:2", "sw3:1"] {
        assert!(raised(MISSING, place).is_some(), "{place}: {findings:?}");
    }
    assert_eq!(findings.len(), 6, "each is told once: {findings:?}");
    let mut over = Vec::new();
    (0..6).for_each(|_| over.extend(round(&mut watch, &cables())));
    assert!(over.iter().all(|it| matches!(it, Finding::Lower(..))), "{over:?}");
    assert_eq!(over.len(), 6);
}

#[test]
fn a_link_of_a_switch_that_is_not_there_is_not_missing() {
    let mut watch = watch();
    for _ in 0..10 {
        assert_eq!(watch.begin_round(|dpid| dpid == 1).1, []);
    }
    assert_eq!(watch.begin_round(|_| true).1, []);
}

#[test]
fn one_that_pretends_to_be_a_switch_is_a_stranger_and_so_is_an_old_frame() {
    let mut watch = watch();
    let (frames, _) = watch.begin_round(|_| true);
    let old = frames.iter().find(|(end, _)| *end == (2, 1)).expect("a frame").1.clone();
    watch.begin_round(|_| true);
    watch.begin_round(|_| true);
    let found = watch.heard(1, &packet_in(2, old)).expect("an old frame makes no link");
    let Finding::Raise(kind, place, text) = found else { panic!("{found:?}") };
    assert_eq!((kind, place.as_str()), (STRANGER, "sw1:2"));
    assert!(text.contains("pretends to be sw2:1") && text.contains("the file has sw2:1"), "{text}");
}

#[test]
fn a_station_that_is_not_the_host_of_its_port_is_told_by_its_address() {
    let mut watch = watch();
    watch.begin_round(|_| true);
    let network = plan(FILE).network;
    let arp = |source: [u8; 6]| {
        let mut data = vec![0xff; 6];
        data.extend(source);
        data.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
        data.extend(source);
        data.extend([10, 0, 0, 77, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1]);
        data
    };
    let own = Addressing::new(&network).host_mac(0, None);
    assert_eq!(watch.heard(1, &packet_in(1, arp(own))), None, "the host that belongs there");
    let found = watch.heard(1, &packet_in(1, arp([2, 0, 0, 0, 0, 0x99])));
    let Some(Finding::Raise(STRANGER, place, text)) = found else { panic!("{found:?}") };
    assert_eq!(place, "sw1:1");
    for part in ["02:00:00:00:00:99", "10.0.0.77", "h1", &mac_text(&own)] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(watch.heard(1, &packet_in(1, arp([2, 0, 0, 0, 0, 0x99]))), None, "told once");
}

#[test]
fn a_port_that_nobody_described_is_told_while_it_is_up() {
    let mut watch = watch();
    assert_eq!(watch.port_is(1, 9, false), None);
    let Some(Finding::Raise(PORT_UP, place, _)) = watch.port_is(1, 9, true) else { panic!("up") };
    assert_eq!((place.as_str(), watch.port_is(1, 1, true)), ("sw1:9", None));
    assert_eq!(watch.port_is(1, 9, false), Some(Finding::Lower(PORT_UP, place)));
}

/// The class of the frames is below every flow, a frame of it counts in the bound of every flow, and ours is not longer.
#[test]
fn frames_of_lldp_are_what_bounds_hold_already() {
    let carried = plan(FILE);
    let bound = |plan: &Plan| plan.flows[0].delay_bound_ps.expect("guaranteed") / 1_000;
    let dropped =
        plan(&FILE.replace("other_traffic: {priority: 5, rate: 64 kbit/s, frame: 128 B}\n", ""));
    // A frame of 128 B takes 11.84 us at 100 Mbit/s; the switches of the way have three ports.
    let more_ns = bound(&carried) - bound(&dropped);
    assert!(more_ns >= 3 * 11_840, "each port charges for a frame below: {more_ns}");
    assert!(FRAME_BYTES <= 128);
    assert_eq!(watch().queue(), 5);
    for entry in &carried.switches[0].entries {
        let is_lldp = entry.matching.eth_type == Some(LLDP_ETHER_TYPE);
        assert!(!is_lldp, "no frame of a flow meets what is shown");
    }
    let why = LinkWatch::new(&dropped, 5, [7; 32]).expect_err("no room");
    assert!(why.contains("other_traffic: {priority"), "{why}");
}
