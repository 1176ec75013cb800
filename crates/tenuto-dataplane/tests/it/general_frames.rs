//! Frames through a general switch: packet-in and -out, buffers, groups, time-outs, TTLs, counters.

use support::general::{any, bench, entry, group_of, to_controller};
use support::{Bench, add, apply, frame, output};
use tenuto_dataplane::TimerId;
use tenuto_openflow::constants::{NO_BUFFER, flow_flag, group as group_id, port, port_config};
use tenuto_openflow::*;
use tenuto_units::Span;

use crate::support;

fn packet_in(bench: &mut Bench) -> PacketIn {
    match bench.heard(0).as_slice() {
        [Body::PacketIn(packet_in)] => packet_in.clone(),
        other => panic!("{other:?}"),
    }
}

fn packet_out(buffer_id: u32, in_port: u32, actions: Vec<Action>, data: Vec<u8>) -> Body {
    Body::PacketOut(PacketOut { buffer_id, in_port, actions, data })
}

#[test]
fn a_buffered_packet_goes_on_once_by_packet_out_or_flow_mod() {
    let mut bench = bench();
    bench.install([Body::FlowMod(FlowMod { cookie: 7, ..any(0, vec![to_controller(20)]) })]);
    bench.receive(1, &frame(1, 100));
    let first = packet_in(&mut bench);
    assert_eq!((first.reason, first.table_id, first.cookie), (PacketInReason::NoMatch, 0, 7));
    assert_eq!((first.total_len, first.data.as_slice()), (100, &frame(1, 100)[..20]));
    assert_eq!(first.match_, Match::from(vec![Oxm::InPort(1)]));
    assert_ne!(first.buffer_id, NO_BUFFER);
    bench.receive(2, &frame(2, 100));
    let second = packet_in(&mut bench);
    bench.receive(2, &frame(3, 100));
    let third = packet_in(&mut bench);
    assert_eq!((third.buffer_id, third.data.len()), (NO_BUFFER, 100), "two at most; then whole");
    bench.install([packet_out(first.buffer_id, 1, vec![output(4)], vec![])]);
    assert_eq!(bench.drain_flows(), [(4, 1)]);
    bench.refused(packet_out(first.buffer_id, 1, vec![output(4)], vec![]), BadRequest::BufferEmpty);
    let entry = FlowMod { buffer_id: second.buffer_id, ..any(1, vec![output(3)]) };
    bench.install([Body::FlowMod(entry)]);
    assert_eq!(bench.drain_flows(), [(3, 2)]);
    assert!(bench.is_idle());
}

#[test]
fn a_packet_out_goes_through_actions_or_tables() {
    let mut bench = bench();
    bench.install([Body::FlowMod(any(1, vec![output(3)]))]);
    let out = |bench: &mut Bench, in_port, actions| {
        bench.install([packet_out(NO_BUFFER, in_port, actions, frame(1, 60))]);
        let mut ports: Vec<u32> = bench.drain().into_iter().map(|(port, _)| port).collect();
        ports.sort_unstable();
        ports
    };
    assert_eq!(out(&mut bench, port::CONTROLLER, vec![output(1), output(2)]), [1, 2]);
    assert_eq!(out(&mut bench, port::CONTROLLER, vec![output(port::TABLE)]), [3]);
    assert_eq!(out(&mut bench, port::CONTROLLER, vec![output(4), output(port::TABLE)]), [3, 4]);
    assert_eq!(
        out(&mut bench, 3, vec![output(port::TABLE)]),
        [0; 0],
        "not back to where it entered"
    );
    assert_eq!(out(&mut bench, 3, vec![output(port::IN_PORT)]), [3]);
    assert_eq!(out(&mut bench, 2, vec![output(port::FLOOD)]), [1, 3, 4]);
    assert_eq!(out(&mut bench, 2, vec![]), [0; 0]);
    assert_eq!(out(&mut bench, 2, vec![output(port::NORMAL)]), [1, 3, 4], "nothing is learned yet");
}

#[test]
fn a_packet_in_has_what_the_pipeline_wrote() {
    let mut bench = bench();
    let tunnel = Oxm::TunnelId { value: 9, mask: None };
    bench.install([
        Body::FlowMod(FlowMod {
            instructions: vec![
                Instruction::WriteMetadata { metadata: 5, mask: 0xf },
                apply(vec![Action::SetField(tunnel.clone()), Action::PushVlan(0x8100)]),
                Instruction::GotoTable(63),
            ],
            ..any(1, vec![])
        }),
        Body::FlowMod(FlowMod { table_id: 63, cookie: 3, ..any(1, vec![to_controller(0xffff)]) }),
    ]);
    bench.receive(2, &frame(1, 60));
    let heard = packet_in(&mut bench);
    assert_eq!((heard.table_id, heard.cookie, heard.reason), (63, 3, PacketInReason::Action));
    let metadata = Oxm::Metadata { value: 5, mask: None };
    assert_eq!(heard.match_, Match::from(vec![Oxm::InPort(2), metadata, tunnel]));
    assert_eq!((heard.data.len(), &heard.data[12..14]), (76, &[0x81, 0x00][..]));
}

/// Section 7.2.1: the bit is about table misses. A spanning tree keeps a port's other frames from the
/// controller and hears its bridge messages.
#[test]
fn a_port_without_packet_ins_still_gives_the_controller_what_an_entry_sends_it() {
    let mut bench = bench();
    let ipv4 = vec![Oxm::EthType(0x0800)];
    let to_controller = || vec![to_controller(0xffff)];
    bench.install([
        Body::FlowMod(FlowMod { cookie: 1, ..any(0, to_controller()) }),
        entry(ipv4, to_controller()),
    ]);
    let no_packet_in = port_config::NO_PACKET_IN;
    let quiet = bench.port_mod(1, no_packet_in, no_packet_in);
    bench.ask_on(0, quiet);
    let mut other = frame(1, 60);
    other[12..14].copy_from_slice(&[0x88, 0xb5]);
    bench.receive(1, &other);
    assert_eq!(bench.heard(0), []);
    bench.receive(1, &frame(1, 60));
    assert_eq!(packet_in(&mut bench).reason, PacketInReason::Action);
    bench.receive(2, &other);
    assert_eq!(packet_in(&mut bench).reason, PacketInReason::NoMatch, "another port");
}

/// Section 7.4.1: where no single entry can be told, as in a bucket or in the action set, it is -1.
#[test]
fn the_cookie_of_a_packet_in_is_that_of_the_entry_whose_own_action_it_is() {
    let mut bench = bench();
    let to_controller = || to_controller(0xffff);
    let flow = |table_id, instructions| {
        Body::FlowMod(FlowMod { table_id, cookie: 7, instructions, ..any(1, vec![]) })
    };
    let write = |action| Instruction::WriteActions(vec![action]);
    let bucket = Bucket::new(vec![to_controller()]);
    let add = GroupModCommand::Add;
    let wants = AsyncConfig { packet_in_mask: [0b111, 0], ..AsyncConfig::default() };
    bench.install([Body::SetAsync(wants), group_of(add, GroupType::All, 1, vec![bucket])]);
    let mut dying = frame(1, 100);
    dying[22] = 1;
    for (instructions, cookie) in [
        (vec![apply(vec![to_controller()])], 7),
        (vec![write(to_controller())], u64::MAX),
        (vec![apply(vec![Action::Group(1)])], u64::MAX),
        (vec![write(Action::Group(1))], u64::MAX),
        (vec![apply(vec![Action::Group(1), to_controller()])], 7),
        (vec![apply(vec![Action::DecNwTtl, output(3)])], 7),
        (vec![write(Action::DecNwTtl), apply(vec![output(3)])], u64::MAX),
    ] {
        bench.install([flow(0, instructions.clone())]);
        for way in ["looked up", "followed"] {
            bench.receive(1, &dying);
            let told: Vec<_> = bench.heard(0);
            let Some(Body::PacketIn(last)) = told.last() else { panic!("{told:?}") };
            assert_eq!(last.cookie, cookie, "{way}: {instructions:?}");
        }
    }
    let data = frame(1, 60);
    let back = packet_out(NO_BUFFER, port::CONTROLLER, vec![to_controller()], data);
    let heard = bench.ask_on(0, back);
    assert!(matches!(&heard[..], [Body::PacketIn(it)] if it.cookie == u64::MAX), "{heard:?}");
}

/// A label in front of a VLAN tag is the last of its stack, whatever is behind the tag (section 5.12).
#[test]
fn a_label_pushed_in_front_of_a_tag_is_the_bottom_of_its_stack() {
    let mut bench = bench();
    let label = |label| Action::SetField(Oxm::MplsLabel(label));
    let push = Action::PushMpls(0x8847);
    let plain = vec![push.clone(), label(7), push.clone(), label(8), output(2)];
    let tagged = vec![push.clone(), label(7), Action::PushVlan(0x8100), push, label(8), output(3)];
    bench.install([entry(vec![], [plain, tagged].concat())]);
    bench.receive(1, &frame(1, 100));
    let sent = bench.drain();
    let [(2, two), (3, four)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!((two[16] & 1, two[20] & 1), (0, 1), "a label follows the first");
    // Addresses, type, label, what is left of the tag, and the type behind it.
    assert_eq!(
        (&four[12..14], four[16] & 1, &four[20..22]),
        (&[0x88, 0x47][..], 1, &[0x88, 0x47][..])
    );
}

/// The backbone VLAN tag is popped by itself (section 7.2.5).
#[test]
fn a_popped_service_tag_leaves_the_tag_in_front_of_it() {
    let customer = frame(1, 60);
    let mut bench = bench();
    let tag = [0x88, 0xa8, 0x60, 0x05];
    let service_tag = [0x88, 0xe7, 0, 1, 2, 3];
    let backbone = [[2, 0, 0, 0, 0, 8], [2, 0, 0, 0, 0, 9]].concat();
    let sent = [&backbone[..], &tag, &service_tag, &customer].concat();
    bench.install([entry(vec![Oxm::EthType(0x88e7)], vec![Action::PopPbb, output(2)])]);
    bench.receive(1, &sent);
    let tagged = [&customer[..12], &tag, &customer[12..]].concat();
    assert_eq!(bench.drain(), [(2, tagged)]);
}

/// A packet that was damaged on its way stays so: who receives it must not take it for a whole one.
#[test]
fn the_checksum_of_a_damaged_sctp_packet_stays_wrong() {
    let mut bench = bench();
    let set = Action::SetField(Oxm::SctpDst { value: 9, mask: None });
    let sctp = vec![Oxm::EthType(0x0800), Oxm::IpProto(132)];
    bench.install([entry(sctp, vec![set, output(2)])]);
    let mut changed = |damage: u8| {
        let mut bytes = frame(1, 60);
        (bytes[17], bytes[23]) = (20 + 16, 132);
        bytes[34..60].fill(0);
        // CRC32c of sixteen zeros.
        bytes[42..46].copy_from_slice(&0x4270_9aea_u32.to_le_bytes());
        bytes[46] = damage;
        bench.receive(1, &bytes);
        let (_, sent) = bench.drain().remove(0);
        assert_eq!(sent[36..38], [0, 9]);
        sent[42..46].to_vec()
    };
    let whole = changed(0);
    assert_eq!(changed(1), whole, "the damage is not in the checksum");
}

/// While a routing header has segments left, the transport's checksum covers the last of them and not
/// the address in the fixed header ([RFC 8200], section 8.1).
#[test]
fn the_next_stop_of_a_routed_packet_is_not_in_its_checksum() {
    let mut bench = bench();
    let set = Action::SetField(Oxm::Ipv6Dst { value: [9; 16], mask: None });
    bench.install([entry(vec![Oxm::EthType(0x86dd)], vec![set, output(2)])]);
    let checksum_of = |bench: &mut Bench, segments_left| {
        let mut bytes = vec![0; 14 + 40 + 8 + 8];
        bytes[12..14].copy_from_slice(&[0x86, 0xdd]);
        (bytes[14], bytes[19], bytes[20]) = (0x60, 16, 43);
        (bytes[54], bytes[57]) = (17, segments_left);
        bytes[67..70].copy_from_slice(&[8, 0x12, 0x34]);
        bench.receive(1, &bytes);
        let (_, sent) = bench.drain().remove(0);
        assert_eq!(sent[38..54], [9; 16]);
        [sent[68], sent[69]]
    };
    assert_eq!(checksum_of(&mut bench, 1), [0x12, 0x34]);
    assert_ne!(checksum_of(&mut bench, 0), [0x12, 0x34]);
}

#[test]
fn a_time_to_live_that_ends_is_told_if_asked_and_goes_no_further() {
    let mut bench = bench();
    let actions = vec![Action::DecNwTtl, output(3)];
    bench.install([entry(vec![Oxm::EthType(0x0800)], actions)]);
    let mut dying = frame(1, 100);
    dying[22] = 1;
    assert_eq!(bench.ports_of(1, &dying), [0; 0]);
    assert_eq!(bench.heard(0), []);
    let wants = AsyncConfig { packet_in_mask: [0b111, 0], ..AsyncConfig::default() };
    bench.install([Body::SetAsync(wants)]);
    assert_eq!(bench.ports_of(1, &dying), [0; 0]);
    let told = packet_in(&mut bench);
    assert_eq!((told.reason, told.data[22]), (PacketInReason::InvalidTtl, 1));
    dying[22] = 2;
    bench.receive(1, &dying);
    assert_eq!(bench.drain()[0].1[22], 1);
}

#[test]
fn entries_go_by_their_time_outs_and_say_so() {
    let mut bench = bench();
    let flags = flow_flag::SEND_FLOW_REM;
    let with = |cookie, idle_timeout, hard_timeout| {
        let flow_mod = support::flow_mod(0, u8::try_from(cookie).expect("small"), vec![]);
        Body::FlowMod(FlowMod { cookie, idle_timeout, hard_timeout, flags, ..flow_mod })
    };
    bench.install([with(1, 2, 0), with(2, 0, 3), with(3, 2, 5), with(4, 9, 0)]);
    bench.install([Body::FlowMod(FlowMod { flags: 0, hard_timeout: 1, ..any(0, vec![]) })]);
    assert_eq!(bench.switch.next_deadline().map(|(timer, _)| timer), Some(TimerId::FlowExpiry));
    let start = bench.now;
    let mut gone = Vec::new();
    for half_seconds in 0..20 {
        let now = start + Span::from_ms(500 * half_seconds);
        bench.run_to(now);
        for heard in bench.heard(0) {
            let Body::FlowRemoved(removed) = heard else { panic!("{heard:?}") };
            let at = f64::from(removed.duration_sec) + f64::from(removed.duration_nsec) / 1e9;
            gone.push((removed.cookie, removed.reason, at, removed.packet_count));
        }
        // Entry 3 is in use all the time, entry 1 for half a second.
        bench.receive(1, &frame(3, 60));
        if half_seconds < 2 {
            bench.receive(1, &frame(1, 60));
        }
    }
    use FlowRemovedReason::{HardTimeout, IdleTimeout};
    let expected = [
        (1, IdleTimeout, 2.5, 2),
        (2, HardTimeout, 3.0, 0),
        (3, HardTimeout, 5.0, 10),
        (4, IdleTimeout, 9.0, 0),
    ];
    assert_eq!(gone, expected);
    assert_eq!((bench.switch.tables().entries(), bench.switch.next_deadline()), (0, None));
    // A replaced entry lives by its new time-out, a deleted one by none.
    bench.install([with(1, 0, 1), with(1, 0, 5), with(2, 0, 1)]);
    let delete = FlowMod { command: FlowModCommand::Delete, ..support::flow_mod(0, 2, vec![]) };
    assert_eq!(bench.ask_on(0, Body::FlowMod(delete)).len(), 1, "its deletion is told");
    let now = bench.now;
    bench.run_to(now + Span::from_ms(4_900));
    assert_eq!(bench.switch.tables().entries(), 1);
    bench.run_to(now + Span::from_s(5));
    assert_eq!(bench.switch.tables().entries(), 0);
}

#[test]
fn a_level_that_goes_takes_its_time_outs_along() {
    let mut bench = bench();
    let flow_mod = FlowMod { hard_timeout: 1, ..support::flow_mod(1, 1, vec![]) };
    let shadow = support::modes(ModesMessage::ShadowFlowMod { level: 1, flow_mod });
    bench.install([support::mode_config(2, &[2]), shadow]);
    bench.install([support::mode_config(1, &[2]), support::mode_config(2, &[2])]);
    bench.wait(Span::from_s(2));
    let now = bench.now;
    bench.switch.fire(TimerId::FlowExpiry, now, &mut bench.frames, &mut bench.fx);
    assert_eq!(bench.switch.tables().entries(), 0);
}

#[test]
fn fast_failover_follows_links_and_groups() {
    let mut bench = bench();
    let bucket = |watch_port, watch_group, to| Bucket {
        weight: 0,
        watch_port,
        watch_group,
        actions: vec![output(to)],
    };
    let failover = GroupType::FastFailover;
    bench.install([
        group_of(GroupModCommand::Add, failover, 1, vec![bucket(2, group_id::ANY, 2)]),
        group_of(
            GroupModCommand::Add,
            failover,
            2,
            vec![bucket(port::ANY, 1, 2), bucket(3, group_id::ANY, 3), bucket(4, group_id::ANY, 4)],
        ),
        Body::FlowMod(any(1, vec![Action::Group(2)])),
    ]);
    assert_eq!(bench.ports_of(1, &frame(1, 60)), [2]);
    for (number, is_up, expected) in [
        (2, false, vec![3]),
        (3, false, vec![4]),
        (4, false, vec![]),
        (3, true, vec![3]),
        (2, true, vec![2]),
    ] {
        bench.switch.set_link(number, is_up, &mut bench.fx);
        assert_eq!(bench.ports_of(1, &frame(1, 60)), expected, "link {number} {is_up}");
    }
    let ReplyBody::Group(groups) = bench.reply_of_groups() else { panic!("another reply") };
    let counted: Vec<u64> = groups[1].buckets.iter().map(|b| b.packet_count).collect();
    assert_eq!((groups[1].packet_count, counted, groups[1].ref_count), (5, vec![2, 2, 1], 1));
}

impl Bench {
    fn reply_of_groups(&mut self) -> ReplyBody {
        self.heard(0);
        self.reply(RequestBody::Group { group_id: group_id::ALL })
    }
}

#[test]
fn select_keeps_a_flow_on_its_bucket_and_shares_by_weight() {
    let mut bench = bench();
    let bucket = |weight, to| Bucket { weight, ..Bucket::new(vec![output(to)]) };
    bench.install([
        group_of(GroupModCommand::Add, GroupType::Select, 1, vec![bucket(1, 2), bucket(3, 3)]),
        Body::FlowMod(any(1, vec![Action::Group(1)])),
    ]);
    let mut shares = [0_u32; 5];
    for flow in 0..=255_u8 {
        for address in 0..8 {
            let mut bytes = frame(flow, 60);
            bytes[11] = address;
            let ports = bench.ports_of(1, &bytes);
            assert_eq!(bench.ports_of(4, &bytes), ports, "wherever it enters");
            shares[ports[0] as usize] += 1;
        }
    }
    // 2048 flows by 1 to 3: 512 expected, standard deviation 20.
    assert!((412..612).contains(&shares[2]), "{shares:?}");
    assert_eq!(shares[2] + shares[3], 2_048);
}

#[test]
fn buckets_change_frames_of_their_own() {
    let mut bench = bench();
    let vlan = |vid: u16| Action::SetField(Oxm::VlanVid { value: 0x1000 | vid, mask: None });
    let tagged = |vid, to| vec![output(to), vlan(vid), Action::PushVlan(0x8100)];
    bench.install([
        group_of(
            GroupModCommand::Add,
            GroupType::All,
            1,
            vec![
                Bucket::new(tagged(7, 2)),
                Bucket::new(vec![output(3)]),
                Bucket::new(tagged(9, 4)),
            ],
        ),
        entry(vec![Oxm::EthType(0x0800)], vec![Action::DecNwTtl, Action::Group(1), output(2)]),
    ]);
    let sent = frame(1, 100);
    bench.receive(1, &sent);
    let mut left = bench.drain();
    left.sort_by_key(|(port, bytes)| (*port, bytes.len()));
    let vid = |bytes: &[u8]| match &bytes[12..14] {
        [0x81, 0x00] => Some(u16::from_be_bytes([bytes[14], bytes[15]])),
        _ => None,
    };
    let seen: Vec<_> = left.iter().map(|(port, b)| (*port, b.len(), vid(b))).collect();
    // Actions of a bucket are a set: the tag is pushed before its id is set and before the output.
    assert_eq!(seen, [(2, 100, None), (2, 104, Some(7)), (3, 100, None), (4, 104, Some(9))]);
    assert!(left.iter().all(|(_, b)| b[b.len() - 78] == sent[22] - 1), "decremented in all");
    assert!(bench.is_idle());
}

#[test]
fn the_action_set_changes_the_frame_in_the_order_of_the_specification() {
    let mut bench = bench();
    let write = Instruction::WriteActions;
    let label = Action::SetField(Oxm::MplsLabel(77));
    bench.install([
        Body::FlowMod(FlowMod {
            match_: Match::from(vec![Oxm::EthType(0x0800)]),
            instructions: vec![
                write(vec![output(2), Action::PushMpls(0x8847), Action::DecNwTtl]),
                Instruction::GotoTable(1),
            ],
            ..any(1, vec![])
        }),
        Body::FlowMod(FlowMod {
            table_id: 1,
            instructions: vec![
                write(vec![output(3), Action::PushVlan(0x8100)]),
                Instruction::GotoTable(2),
            ],
            ..any(1, vec![])
        }),
        Body::FlowMod(FlowMod {
            table_id: 2,
            match_: Match::from(vec![Oxm::EthType(0x8847)]),
            instructions: vec![write(vec![label])],
            ..any(2, vec![])
        }),
        Body::FlowMod(FlowMod { table_id: 2, instructions: vec![], ..any(1, vec![]) }),
    ]);
    bench.receive(1, &frame(1, 100));
    let left = bench.drain();
    let [(3, bytes)] = left.as_slice() else { panic!("{left:?}") };
    // The label before the tag, as labels are pushed first: the tag is the outermost. The TTL is
    // decremented after the pushes, when the IP header is behind a label: it stays.
    assert_eq!(
        (bytes.len(), &bytes[12..14], &bytes[16..18]),
        (108, &[0x81, 0][..], &[0x88, 0x47][..])
    );
    assert_eq!(bytes[30], frame(1, 100)[22]);
}

#[test]
fn a_frame_that_grows_too_long_is_dropped() {
    let mut bench = bench();
    let pushes = |n| vec![Action::PushVlan(0x88a8); n];
    bench.install([
        add(0, 1, vec![apply([pushes(1), vec![output(3)]].concat())]),
        add(0, 2, vec![apply([pushes(2), vec![output(3)]].concat())]),
        add(0, 3, vec![apply([pushes(40), vec![Action::PopVlan; 39], vec![output(3)]].concat())]),
    ]);
    assert_eq!(bench.ports_of(1, &frame(1, 1_514)), [3]);
    bench.receive(1, &frame(2, 1_514));
    assert_eq!(bench.drops(), [tenuto_dataplane::DropReason::Malformed]);
    bench.receive(1, &frame(3, 1_000));
    let left = bench.drain();
    assert!(left.len() == 1 && left[0].1.len() > 1_000, "what does not fit is not pushed");
    assert!(bench.is_idle());
}

#[test]
fn a_frame_that_grows_too_short_is_padded_with_zeros() {
    let mut bench = bench();
    bench.install([Body::FlowMod(any(1, vec![Action::PopVlan, output(2)]))]);
    // What was in the buffer before is not what pads.
    for len in [1_400, 60] {
        let mut tagged = frame(1, len);
        tagged.truncate(len);
        tagged[12..14].copy_from_slice(&[0x81, 0]);
        tagged[20..].fill(0xff);
        bench.receive(1, &tagged);
        let sent = bench.drain().remove(0).1;
        assert_eq!(sent.len(), (len - 4).max(60));
        let (head, rest) = sent.split_at(len - 4);
        assert!(head[16..].iter().all(|&byte| byte == 0xff));
        assert_eq!(rest, &vec![0; rest.len()]);
    }
}

#[test]
fn counters_add_up() {
    let mut bench = bench();
    bench.install([
        support::meter(MeterModCommand::Add, 1, 8, 8),
        add(0, 1, vec![Instruction::Meter(1), Instruction::GotoTable(5)]),
        Body::FlowMod(FlowMod { table_id: 5, cookie: 9, ..any(1, vec![output(2), output(3)]) }),
    ]);
    for _ in 0..12 {
        bench.receive(1, &frame(1, 300));
    }
    bench.receive(1, &frame(2, 300));
    let left = bench.drain().len();
    let tables = bench.switch.tables();
    let [first, fifth] = [0, 5].map(|id| tables.get(0, id).expect("there").lookups());
    let (_, meter) = bench.switch.meters().next().expect("there is one");
    assert_eq!((first, meter.seen.frames), ((13, 12), 12));
    assert_eq!(fifth, (12 - meter.dropped.frames, 12 - meter.dropped.frames));
    assert_eq!(left as u64, 2 * fifth.0);
    assert!(meter.dropped.frames > 0);
    let ReplyBody::Aggregate(sum) = bench.reply(RequestBody::Aggregate(FlowStatsRequest::ALL))
    else {
        panic!("another reply")
    };
    assert_eq!((sum.flow_count, sum.packet_count), (2, 12 + fifth.0));
    let ReplyBody::PortStats(ports) = bench.reply(RequestBody::PortStats { port_no: port::ANY })
    else {
        panic!("another reply")
    };
    let sent: u64 = ports.iter().map(|p| p.tx_packets).sum();
    assert_eq!((ports[0].rx_packets, sent), (13, left as u64));
    assert_eq!((ports[0].rx_dropped, ports[0].rx_errors), (0, 0), "each is in one counter");
}

/// What an IEEE 802.3 frame has behind its length: sub-network access protocol of this EtherType.
fn snap(ether_type: u16) -> Vec<u8> {
    [&[0xaa, 0xaa, 3, 0, 0, 0][..], &ether_type.to_be_bytes()].concat()
}

/// The same frame as IEEE 802.3 has it, perhaps with a tag in front: a length in place of the type.
fn with_length(tag: &[u8], behind: &[u8]) -> Vec<u8> {
    let whole = frame(1, 60);
    let payload = [behind, &whole[14..]].concat();
    let length = u16::try_from(payload.len()).expect("short").to_be_bytes();
    [&whole[..12], tag, &length, &payload].concat()
}

#[test]
fn a_frame_with_a_length_has_the_type_of_its_snap_header_or_none() {
    let mut bench = bench();
    let ipv4 = Oxm::EthType(0x0800);
    bench.install([
        entry(vec![ipv4.clone(), Oxm::IpProto(17)], vec![Action::SetNwTtl(9), output(2)]),
        entry(vec![Oxm::EthType(0x05ff)], vec![output(3)]),
    ]);
    for tag in [&[][..], &[0x81, 0, 0, 5]] {
        let packet = with_length(tag, &snap(0x0800));
        bench.receive(1, &packet);
        let mut expected = packet.clone();
        let at = 14 + tag.len() + 8;
        let before = u16::from_be_bytes([packet[at + 10], packet[at + 11]]);
        expected[at + 8] = 9;
        bench.run_to(bench.now + Span::from_s(1)).into_iter().for_each(|(port, mut found)| {
            let after = u16::from_be_bytes([found[at + 10], found[at + 11]]);
            assert_ne!(before, after, "the checksum follows");
            found[at + 10..at + 12].copy_from_slice(&packet[at + 10..at + 12]);
            assert_eq!((port, found), (2, expected.clone()));
        });
        for other in [
            vec![0x42, 0x42, 3],                      // spanning tree
            vec![0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0], // another organisation's protocol
            snap(0x05ff),                             // no EtherType there either
            vec![0xaa, 0xab, 3, 0, 0, 0, 8, 0],       // another service access point
        ] {
            assert_eq!(bench.ports_of(1, &with_length(tag, &other)), [3], "{other:02x?}");
        }
        // Cut off, it has none.
        let cut = &packet[..14 + tag.len() + 7];
        assert_eq!(bench.ports_of(1, cut), [3]);
    }
}
