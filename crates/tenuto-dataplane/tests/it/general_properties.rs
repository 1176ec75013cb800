//! A general switch under anything: frames, bytes on the channel, entries; twins that must agree;
//! checksums that must stay right.

use proptest::collection::vec;
use proptest::prelude::*;
use support::general::{any as any_frame, bench, config, entry, group_of, to_controller};
use support::{Bench, add, apply, output};
use tenuto_dataplane::switch::{ClassifierKind, SwitchConfig};
use tenuto_openflow::constants::port;
use tenuto_openflow::*;
use tenuto_units::Span;
use tenuto_wire::checksum::internet_checksum;

use crate::support;

/// What a frame carries, before its tags.
#[derive(Clone, Copy, Debug)]
struct Packet {
    v6: bool,
    proto: u8,
    addresses: [u8; 2],
    ports: [u16; 2],
    payload: u8,
}

fn packet() -> impl Strategy<Value = Packet> {
    let proto = prop::sample::select(&[1_u8, 6, 17, 58, 132, 89][..]);
    (any::<bool>(), proto, any::<[u8; 2]>(), any::<[u16; 2]>(), any::<u8>()).prop_map(
        |(v6, proto, addresses, ports, payload)| Packet { v6, proto, addresses, ports, payload },
    )
}

const ETHERNET: usize = 14;

fn header_len(v6: bool) -> usize {
    if v6 { 40 } else { 20 }
}

/// Where the checksum of a transport header stands.
fn checksum_at(proto: u8) -> Option<usize> {
    match proto {
        6 => Some(16),
        17 => Some(6),
        1 | 58 => Some(2),
        _ => None,
    }
}

/// Addresses, length and protocol, as the transport counts them; nothing for ICMP.
fn pseudo_header(ip: &[u8], v6: bool, proto: u8, len: usize) -> Vec<u8> {
    if proto == 1 {
        return Vec::new();
    }
    let addresses = if v6 { &ip[8..40] } else { &ip[12..20] };
    let len = u16::try_from(len).expect("short").to_be_bytes();
    [addresses, &[0, proto], &len].concat()
}

fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

/// The bytes of a packet in a frame without tags, every checksum right.
fn build(packet: Packet) -> Vec<u8> {
    let Packet { v6, proto, addresses, ports, payload } = packet;
    let mut transport = vec![payload; 24 + usize::from(payload % 7)];
    transport[..2].copy_from_slice(&ports[0].to_be_bytes());
    transport[2..4].copy_from_slice(&ports[1].to_be_bytes());
    let len = u16::try_from(transport.len()).expect("short");
    let mut ip = match v6 {
        true => {
            let mut ip = vec![0x60, 0, 0, 0, 0, 0, proto, 64];
            ip[4..6].copy_from_slice(&len.to_be_bytes());
            ip.extend([addresses[0]; 16]);
            ip.extend([addresses[1]; 16]);
            ip
        }
        false => {
            let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, proto, 0, 0];
            ip[2..4].copy_from_slice(&(len + 20).to_be_bytes());
            ip.extend([addresses[0]; 4]);
            ip.extend([addresses[1]; 4]);
            let checksum = internet_checksum(&[&ip]);
            ip[10..12].copy_from_slice(&checksum.to_be_bytes());
            ip
        }
    };
    if let Some(at) = checksum_at(proto) {
        transport[at..at + 2].fill(0);
        let pseudo = pseudo_header(&ip, v6, proto, transport.len());
        let checksum = match internet_checksum(&[&pseudo, &transport]) {
            0 if proto == 17 => 0xffff,
            checksum => checksum,
        };
        transport[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
    if proto == 132 {
        transport[8..12].fill(0);
        let crc = crc32c(&transport).to_le_bytes();
        transport[8..12].copy_from_slice(&crc);
    }
    let eth_type = if v6 { [0x86, 0xdd] } else { [0x08, 0x00] };
    let mut frame = [[3, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 9]].concat();
    frame.extend(eth_type);
    frame.append(&mut ip);
    frame.append(&mut transport);
    frame
}

/// Whether every checksum of a frame without tags is right, by the protocol whose header is there.
fn is_right(frame: &[u8], v6: bool, proto: u8, proto_now: u8) -> Result<(), String> {
    let ip = &frame[ETHERNET..];
    let len = match v6 {
        true => 40 + usize::from(u16::from_be_bytes([ip[4], ip[5]])),
        false => usize::from(u16::from_be_bytes([ip[2], ip[3]])),
    };
    let (ip, transport) = ip[..len].split_at(header_len(v6));
    if !v6 && internet_checksum(&[ip]) != 0 {
        return Err("IPv4 header".into());
    }
    let is_foreign = proto == 1 && v6 || proto == 58 && !v6;
    if checksum_at(proto).is_some() && !is_foreign {
        let pseudo = pseudo_header(ip, v6, if proto == 1 { 1 } else { proto_now }, transport.len());
        if internet_checksum(&[&pseudo, transport]) != 0 {
            return Err(format!("protocol {proto}"));
        }
    }
    if proto == 132 {
        let mut zeroed = transport.to_vec();
        zeroed[8..12].fill(0);
        if crc32c(&zeroed).to_le_bytes() != transport[8..12] {
            return Err("SCTP".into());
        }
    }
    Ok(())
}

/// Fields to set that fit a packet, with what a match needs beside them.
fn settings(packet: Packet) -> Vec<Oxm> {
    let eth_type = Oxm::EthType(if packet.v6 { 0x86dd } else { 0x0800 });
    let mut fields = vec![eth_type, Oxm::IpProto(packet.proto)];
    let new = packet.payload.wrapping_add(77);
    let port = u16::from(new) << 8 | 5;
    fields.extend(match packet.v6 {
        true => [
            Oxm::Ipv6Src { value: [new; 16], mask: None },
            Oxm::Ipv6Dst { value: [!new; 16], mask: None },
        ],
        false => [
            Oxm::Ipv4Src { value: [new; 4], mask: None },
            Oxm::Ipv4Dst { value: [!new; 4], mask: None },
        ],
    });
    fields.extend([Oxm::IpDscp(new & 63), Oxm::IpEcn(new & 3)]);
    fields.extend(match packet.proto {
        6 => {
            vec![Oxm::TcpSrc { value: port, mask: None }, Oxm::TcpDst { value: !port, mask: None }]
        }
        17 => {
            vec![Oxm::UdpSrc { value: port, mask: None }, Oxm::UdpDst { value: !port, mask: None }]
        }
        132 => vec![
            Oxm::SctpSrc { value: port, mask: None },
            Oxm::SctpDst { value: !port, mask: None },
        ],
        1 if !packet.v6 => vec![Oxm::Icmpv4Type(new), Oxm::Icmpv4Code(!new)],
        58 if packet.v6 => vec![Oxm::Icmpv6Type(new | 1), Oxm::Icmpv6Code(!new)],
        _ => vec![],
    });
    fields
}

/// Few values of many fields, so that frames match and patterns overlap.
fn condition() -> impl Strategy<Value = Vec<Oxm>> {
    let two = || any::<bool>().prop_map(u8::from);
    let port_mask = || prop::sample::select(&[None, Some(1), Some(0xff00)][..]);
    prop_oneof![
        (1_u32..5).prop_map(|port| vec![Oxm::InPort(port)]),
        any::<bool>().prop_map(|v6| vec![Oxm::EthType(if v6 { 0x86dd } else { 0x0800 })]),
        (any::<bool>(), prop::sample::select(&[1_u8, 6, 17, 58, 132][..])).prop_map(
            |(v6, proto)| {
                vec![Oxm::EthType(if v6 { 0x86dd } else { 0x0800 }), Oxm::IpProto(proto)]
            }
        ),
        (two(), prop::sample::select(&[0xff_u8, 1][..])).prop_map(|(last, mask)| vec![
            Oxm::EthType(0x86dd),
            Oxm::Ipv6Src { value: [last & mask; 16], mask: Some([mask; 16]) },
        ]),
        (two(), prop::sample::select(&[0xff_u8, 1][..])).prop_map(|(last, mask)| vec![
            Oxm::EthType(0x0800),
            Oxm::Ipv4Dst { value: [last & mask; 4], mask: Some([mask; 4]) },
        ]),
        (two(), port_mask()).prop_map(|(port, mask)| vec![
            Oxm::EthType(0x0800),
            Oxm::IpProto(17),
            Oxm::UdpSrc { value: u16::from(port) & mask.unwrap_or(1), mask }
        ]),
        (two(), port_mask()).prop_map(|(port, mask)| vec![
            Oxm::EthType(0x86dd),
            Oxm::IpProto(6),
            Oxm::TcpDst { value: u16::from(port) & mask.unwrap_or(1), mask }
        ]),
        Just(vec![Oxm::VlanVid { value: 0x1000, mask: Some(0x1000) }]),
        Just(vec![]),
    ]
}

/// Entries of tables 0 to 2 with all kinds of actions.
fn busy() -> Bench {
    let mut bench = bench();
    let bucket = |weight, actions| Bucket { weight, ..Bucket::new(actions) };
    let watching = |to| Bucket { watch_port: to, ..bucket(0, vec![output(to)]) };
    let vlan = Action::SetField(Oxm::VlanVid { value: 0x1007, mask: None });
    let tagged = vec![Action::PushVlan(0x8100), vlan, output(3)];
    let bands = vec![
        MeterBand::DscpRemark { rate: 1, burst_size: 1, prec_level: 1 },
        MeterBand::Drop { rate: 100_000, burst_size: 100 },
    ];
    let flags = constants::meter_flag::KBPS | constants::meter_flag::BURST;
    let (command, meter_id) = (MeterModCommand::Add, 1);
    let goto = Instruction::GotoTable;
    let write = Instruction::WriteActions;
    let with = |table_id, priority, oxms: Vec<Oxm>, instructions| {
        let match_ = Match::from(oxms);
        Body::FlowMod(FlowMod { table_id, match_, instructions, ..any_frame(priority, vec![]) })
    };
    let group = |type_, id, buckets| group_of(GroupModCommand::Add, type_, id, buckets);
    bench.install([
        Body::MeterMod(MeterMod { command, flags, meter_id, bands }),
        group(GroupType::All, 1, vec![bucket(0, vec![output(2)]), bucket(0, tagged)]),
        group(
            GroupType::Select,
            2,
            vec![bucket(1, vec![Action::Group(1)]), bucket(2, vec![output(4)])],
        ),
        group(GroupType::FastFailover, 3, vec![watching(2), watching(3)]),
        with(
            0,
            9,
            vec![Oxm::EthType(0x8847)],
            vec![
                apply(vec![Action::CopyTtlIn, Action::DecMplsTtl, Action::PopMpls(0x0800)]),
                goto(1),
            ],
        ),
        with(0, 9, vec![Oxm::EthType(0x88e7)], vec![apply(vec![Action::PopPbb]), goto(1)]),
        with(
            0,
            9,
            vec![Oxm::EthType(0x0800)],
            vec![
                Instruction::Meter(1),
                apply(vec![Action::DecNwTtl, Action::SetField(Oxm::IpEcn(1)), Action::Group(2)]),
                write(vec![Action::PushMpls(0x8847), Action::CopyTtlOut, output(port::FLOOD)]),
                goto(1),
            ],
        ),
        with(
            0,
            9,
            vec![Oxm::EthType(0x86dd)],
            vec![
                apply(vec![Action::SetNwTtl(9), Action::PushPbb(0x88e7), output(port::IN_PORT)]),
                goto(2),
            ],
        ),
        with(0, 0, vec![], vec![apply(vec![output(port::NORMAL)]), goto(2)]),
        with(
            1,
            1,
            vec![],
            vec![
                write(vec![Action::PushVlan(0x88a8), Action::Group(3)]),
                Instruction::WriteMetadata { metadata: 1, mask: 1 },
                goto(2),
            ],
        ),
        with(
            2,
            1,
            vec![Oxm::Metadata { value: 1, mask: Some(1) }],
            vec![apply(vec![Action::PopVlan, to_controller(40)])],
        ),
        with(2, 0, vec![], vec![Instruction::ClearActions]),
    ]);
    bench
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn checksums_stay_right_under_every_change(packet in packet(), chosen in vec(any::<prop::sample::Index>(), 1..6), ttl in any::<bool>()) {
        let sent = build(packet);
        prop_assert_eq!(is_right(&sent, packet.v6, packet.proto, packet.proto), Ok(()));
        let all = settings(packet);
        let mut actions: Vec<Action> = chosen
            .iter()
            .map(|index| Action::SetField(all[2 + index.index(all.len() - 2)].clone()))
            .collect();
        actions.extend(ttl.then_some(Action::DecNwTtl));
        actions.push(output(3));
        let mut bench = bench();
        bench.install([entry(all[..2].to_vec(), actions.clone())]);
        bench.receive(1, &sent);
        let left = bench.drain();
        prop_assert_eq!(left.len(), 1);
        let frame = &left[0].1;
        prop_assert_eq!(frame.len(), sent.len());
        prop_assert_eq!(is_right(frame, packet.v6, packet.proto, packet.proto), Ok(()), "{:?}", actions);
        // What was set is matched where it arrives.
        let mut last: Vec<Oxm> = all[..2].to_vec();
        for action in actions.iter().rev() {
            if let Action::SetField(oxm) = action
                && !last.iter().any(|o| o.number() == oxm.number())
                && !(matches!(oxm, Oxm::Icmpv6Type(_)))
            {
                last.push(oxm.clone());
            }
        }
        let mut receiver = Bench::with(config());
        receiver.install([entry(last, vec![output(2)])]);
        prop_assert_eq!(receiver.ports_of(1, frame), [2]);
        // A wrong checksum stays as wrong as it was: not mended on the way.
        let mut damaged = sent.clone();
        let last_byte = damaged.len() - 1;
        damaged[last_byte] ^= 1;
        if checksum_at(packet.proto).is_some() && !(packet.proto == 1 && packet.v6 || packet.proto == 58 && !packet.v6) {
            bench.receive(1, &damaged);
            let left = bench.drain();
            prop_assert!(is_right(&left[0].1, packet.v6, packet.proto, packet.proto).is_err());
        }
    }

    #[test]
    fn what_is_pushed_and_popped_is_as_it_was(packet in packet(), tags in vec(0_u8..3, 1..6)) {
        let sent = build(packet);
        let eth_type = if packet.v6 { 0x86dd } else { 0x0800 };
        let (mut actions, mut pops, mut outer) = (Vec::new(), Vec::new(), eth_type);
        for tag in tags {
            let (push, pop, now) = match tag {
                0 => (Action::PushVlan(0x88a8), Action::PopVlan, 0x88a8),
                1 => (Action::PushMpls(0x8848), Action::PopMpls(outer), 0x8848),
                _ => (Action::PushPbb(0x88e7), Action::PopPbb, 0x88e7),
            };
            actions.push(push);
            pops.push(pop);
            outer = now;
        }
        pops.reverse();
        actions.append(&mut pops);
        actions.push(output(3));
        let mut bench = bench();
        bench.install([entry(vec![], actions)]);
        bench.receive(1, &sent);
        prop_assert_eq!(bench.drain(), [(3, sent)]);
    }

    #[test]
    fn both_classifiers_forward_alike(
        entries in vec((vec(condition(), 1..3), 0_u16..3, 0_u8..3, 2_u32..5), 0..30),
        packets in vec((packet(), 1_u32..5, any::<bool>()), 1..20),
    ) {
        let with = |classifier| Bench::with(SwitchConfig { classifier, ..config() });
        let mut twins = [ClassifierKind::ByMask, ClassifierKind::Linear].map(with);
        for bench in &mut twins {
            for (conditions, priority, table_id, to) in &entries {
                let mut oxms: Vec<Oxm> = Vec::new();
                for oxm in conditions.iter().flatten() {
                    if !oxms.iter().any(|o| o.number() == oxm.number()) {
                        oxms.push(oxm.clone());
                    }
                }
                let next = (*table_id < 2).then_some(Instruction::GotoTable(table_id + 1));
                let instructions =
                    [Some(apply(vec![output(*to)])), next].into_iter().flatten().collect();
                let match_ = Match::from(oxms);
                let flow_mod = FlowMod { table_id: *table_id, match_, instructions, ..any_frame(*priority, vec![]) };
                // Conditions may contradict each other: both refuse them then.
                bench.ask(Body::FlowMod(flow_mod));
            }
        }
        for (packet, from, tagged) in packets {
            let mut bytes = build(Packet {
                addresses: packet.addresses.map(|a| a & 1),
                ports: packet.ports.map(|p| p & 1),
                ..packet
            });
            if tagged {
                bytes.splice(12..12, [0x81, 0, 0, 7]);
            }
            let [clever, naive] = &mut twins;
            let (works, naives) = (clever.receive(from, &bytes), naive.receive(from, &bytes));
            prop_assert_eq!(works.lookups, naives.lookups);
            let masks: usize = (0..3).map(|id| clever.switch.tables().get(0, id).expect("there").table().masks()).sum();
            prop_assert!(works.probes as usize <= masks);
            prop_assert_eq!(clever.drain(), naive.drain());
            prop_assert_eq!(clever.drops(), naive.drops());
        }
        prop_assert_eq!(twins[0].entry_counters(), twins[1].entry_counters());
    }

    #[test]
    fn no_frame_does_harm_to_a_busy_switch(
        frames in vec((1_u32..6, vec(any::<u8>(), 0..120), packet(), 0_u8..8), 1..40),
    ) {
        let mut bench = busy();
        for (from, noise, packet, kind) in frames {
            let mut bytes = build(packet);
            match kind {
                0 => bytes.clone_from(&noise),
                1 => bytes.truncate(noise.len()),
                2 => {
                    for (place, byte) in noise.iter().enumerate().skip(12) {
                        if let Some(at) = bytes.get_mut(place) {
                            *at ^= byte & 0x11;
                        }
                    }
                }
                3 => drop(bytes.splice(12..12, [0x81, 0, 0, 7])),
                4 => drop(bytes.splice(12..14, [0x88, 0x47, 0, 1, 0x01, 64])),
                5 => drop(bytes.splice(12..12, [&[0x88, 0xe7, 0, 0, 0, 9], &noise[..noise.len().min(12)]].concat())),
                _ => {}
            }
            bench.receive(from, &bytes);
            bench.wait(Span::from_us(50));
        }
        bench.drain();
        prop_assert!(bench.is_idle());
        bench.messages();
    }

    #[test]
    fn no_bytes_on_the_channel_of_a_general_switch_do_harm(
        bytes in vec(any::<u8>(), 0..300),
        types in vec((0_u8..32, 0_usize..60), 0..12),
    ) {
        let mut bench = busy();
        let mut stream = Vec::new();
        let mut at = bytes.iter().cycle();
        for (type_, len) in types {
            stream.extend([4, type_, 0, u8::try_from(8 + len).expect("at most 68"), 0, 0, 0, 0]);
            stream.extend(at.by_ref().take(if bytes.is_empty() { 0 } else { len }));
        }
        let alive = bench.switch.control(bench.now, &stream, &mut bench.frames, &mut bench.fx);
        prop_assert!(bench.fx.control.len() < 1_000_000);
        if !alive {
            bench.switch.connected(&mut bench.fx);
        }
        bench.receive(1, &build(Packet { v6: false, proto: 6, addresses: [1, 2], ports: [1, 2], payload: 3 }));
        let now = bench.now;
        bench.run_to(now + Span::from_s(1));
    }
}

#[test]
fn an_entry_of_every_table_is_walked() {
    let mut bench = bench();
    bench.install((0..63).map(|table| add(table, 1, vec![Instruction::GotoTable(table + 1)])));
    bench.install([add(63, 1, vec![apply(vec![output(3)])])]);
    let work = bench.receive(1, &support::frame(1, 60));
    assert_eq!((work.lookups, bench.drain_flows()), (64, vec![(3, 1)]));
}
