//! A tenant's controller that wants out of its slice, behind the proxy: every kind of message, and what each could do to
//! others.

use crate::slice_proxy::{A, B, PLENTY, Proxied, SECOND, error_of, first};
use crate::slices::frame;
use crate::support::general::{any, entry, group_of, meter_of, to_controller};
use crate::support::output;
use proptest::prelude::*;
use tenuto_dataplane::switch::{MessageBudget, ProxyEffects, ProxyEvent};
use tenuto_openflow::constants::{flow_flag, group, meter, multipart_flag, port, table};
use tenuto_openflow::*;
use tenuto_units::Span;

fn asked(body: RequestBody) -> Body {
    Body::MultipartRequest(MultipartRequest::new(body))
}

fn refused(proxied: &mut Proxied, body: Body) -> Option<ErrorCode> {
    error_of(&proxied.ask(A, body))
}

/// A frame with two tags that ends with its mark.
fn twice_tagged(outer: u16, inner: u16) -> Vec<u8> {
    let mut bytes = frame(Some(inner), b"TWIN");
    bytes.splice(12..12, [&[0x81, 0][..], &outer.to_be_bytes()].concat());
    bytes
}

/// Tables 0 to 3 of A are 1 to 4 of the switch, those of B 5 to 8.
#[test]
fn tables_of_others_are_neither_summed_nor_emptied() {
    let mut proxied = Proxied::new(PLENTY);
    assert_eq!(proxied.ask(B, Body::FlowMod(any(1, vec![output(3)]))), []);
    let before = proxied.entries();
    for table_id in [4, 5, 200, 254] {
        let wanted = FlowStatsRequest { table_id, ..FlowStatsRequest::ALL };
        for body in [RequestBody::Aggregate(wanted.clone()), RequestBody::Flow(wanted)] {
            let code = refused(&mut proxied, asked(body));
            assert_eq!(code, Some(BadRequest::BadTableId.into()), "{table_id}");
        }
        for command in [
            FlowModCommand::Add,
            FlowModCommand::Modify,
            FlowModCommand::Delete,
            FlowModCommand::DeleteStrict,
        ] {
            let body = Body::FlowMod(FlowMod::new(command, table_id));
            let code = refused(&mut proxied, body);
            assert_eq!(code, Some(FlowModFailed::BadTableId.into()), "{table_id} {command:?}");
        }
    }
    let beyond = FlowMod { instructions: vec![Instruction::GotoTable(4)], ..any(1, vec![]) };
    let code = refused(&mut proxied, Body::FlowMod(beyond));
    assert_eq!(code, Some(BadInstruction::BadTableId.into()));
    assert_eq!(proxied.entries(), before);
}

/// Ids whose place would be that of another slice, or beyond all numbers.
#[test]
fn groups_meters_and_ports_of_others_are_not_named() {
    let mut proxied = Proxied::new(PLENTY);
    let bucket = Bucket {
        weight: 0,
        watch_port: port::ANY,
        watch_group: group::ANY,
        actions: vec![output(3)],
    };
    let add = group_of(GroupModCommand::Add, GroupType::Indirect, 1, vec![bucket.clone()]);
    assert_eq!(proxied.ask(B, add), []);
    assert_eq!(proxied.ask(B, meter_of(MeterModCommand::Add, 1, 10, false)), []);
    for id in [1 << 24 | 1, (1 << 24) * 254, group::ALL, u32::MAX - 1] {
        let mut filter = FlowMod::new(FlowModCommand::Delete, table::ALL);
        filter.out_group = id;
        assert!(refused(&mut proxied, Body::FlowMod(filter)).is_some(), "{id:#x}");
        let wanted = FlowStatsRequest { out_group: id, ..FlowStatsRequest::ALL };
        assert!(refused(&mut proxied, asked(RequestBody::Aggregate(wanted))).is_some());
        assert!(refused(&mut proxied, Body::FlowMod(any(1, vec![Action::Group(id)]))).is_some());
        let watching = Bucket { watch_group: id, actions: vec![output(1)], ..bucket.clone() };
        let type_ = GroupType::FastFailover;
        let body = group_of(GroupModCommand::Add, type_, 2, vec![watching]);
        assert!(refused(&mut proxied, body).is_some());
        if id != group::ALL {
            assert!(refused(&mut proxied, asked(RequestBody::Group { group_id: id })).is_some());
            let body = group_of(GroupModCommand::Delete, GroupType::All, id, vec![]);
            assert!(refused(&mut proxied, body).is_some());
        }
    }
    for id in [1_025, u32::MAX - 1, u32::MAX - 2] {
        assert!(refused(&mut proxied, asked(RequestBody::Meter { meter_id: id })).is_some());
        assert!(refused(&mut proxied, meter_of(MeterModCommand::Delete, id, 1, false)).is_some());
        let metered = FlowMod { instructions: vec![Instruction::Meter(id)], ..any(1, vec![]) };
        assert!(refused(&mut proxied, Body::FlowMod(metered)).is_some());
    }
    // A bucket that is live while a port of another is: that port would be seen.
    let watching = Bucket { watch_port: 3, actions: vec![output(1)], ..bucket.clone() };
    let body = group_of(GroupModCommand::Add, GroupType::FastFailover, 2, vec![watching]);
    assert!(refused(&mut proxied, body).is_some());
    let body = group_of(GroupModCommand::Add, GroupType::Indirect, 2, vec![bucket]);
    assert!(refused(&mut proxied, body).is_some(), "a bucket out of a port of another");
    assert!(refused(&mut proxied, asked(RequestBody::PortStats { port_no: 3 })).is_some());
    let queues = RequestBody::Queue { port_no: 4, queue_id: 0 };
    assert!(refused(&mut proxied, asked(queues)).is_some());
    // Of all, it is told its own: none.
    let all = group_of(GroupModCommand::Delete, GroupType::All, group::ALL, vec![]);
    assert_eq!(proxied.ask(A, all), []);
    assert_eq!(proxied.ask(A, meter_of(MeterModCommand::Delete, meter::ALL, 1, false)), []);
    let told = proxied.ask(A, asked(RequestBody::Group { group_id: group::ALL }));
    assert!(
        matches!(&told[..], [Body::MultipartReply(MultipartReply { body: ReplyBody::Group(all), .. })]
        if all.is_empty()),
        "{told:?}"
    );
    let told = proxied.ask(B, asked(RequestBody::Group { group_id: 1 }));
    assert!(
        matches!(&told[..], [Body::MultipartReply(MultipartReply { body: ReplyBody::Group(all), .. })]
        if all.len() == 1),
        "what the other has is there still: {told:?}"
    );
    let told = proxied.ask(B, asked(RequestBody::Meter { meter_id: 1 }));
    assert!(
        matches!(&told[..], [Body::MultipartReply(MultipartReply { body: ReplyBody::Meter(all), .. })]
        if all.len() == 1),
        "{told:?}"
    );
}

/// A has frames without a tag and those of VLAN 10, B those of 20 at a port that both have. What A takes off must not be what
/// hides B's VLAN.
#[test]
fn a_second_tag_does_not_smuggle_a_frame_into_a_vlan_of_others() {
    let mut proxied = Proxied::new(PLENTY);
    assert_eq!(proxied.ask(A, entry(vec![Oxm::InPort(1)], vec![output(2)])), []);
    assert_eq!(proxied.enter(1, &frame(Some(10), b"GOOD")).len(), 1);
    // As it came it is A's by its first tag, and nothing takes that tag away.
    assert_eq!(proxied.enter(1, &twice_tagged(10, 20)), [(2, twice_tagged(10, 20))]);
    assert_eq!(proxied.enter(1, &twice_tagged(0, 20)), [], "a host would go by the second");
    let vlan = Oxm::VlanVid { value: 0x1000, mask: Some(0x1000) };
    let zero = Action::SetField(Oxm::VlanVid { value: 0x1000, mask: None });
    for change in [Action::PopVlan, zero] {
        let body = entry(vec![vlan.clone()], vec![change, output(2)]);
        assert_eq!(refused(&mut proxied, body), Some(BadAction::Eperm.into()));
    }
    // B has no frames without a tag: those with two tags are its own by the first, and keep it.
    assert_eq!(proxied.ask(B, Body::FlowMod(any(1, vec![output(3)]))), []);
    assert_eq!(proxied.enter(2, &twice_tagged(20, 10)).len(), 1);
    let pop = Body::FlowMod(any(2, vec![Action::PopVlan, output(3)]));
    assert_eq!(error_of(&proxied.ask(B, pop)), Some(BadAction::Eperm.into()));
}

#[test]
fn fields_that_say_where_a_frame_is_are_not_set() {
    let mut proxied = Proxied::new(PLENTY);
    let oxms = [
        Oxm::InPort(3),
        Oxm::VlanVid { value: 20, mask: None },
        Oxm::VlanVid { value: 0x1014, mask: None },
        // Without the bit that a tag is there: a switch might take the tag away.
        Oxm::VlanVid { value: 10, mask: None },
        Oxm::VlanVid { value: 0x100a, mask: Some(0x1fff) },
    ];
    for oxm in oxms {
        let vlan = Oxm::VlanVid { value: 0x100a, mask: None };
        let body = entry(vec![vlan], vec![Action::SetField(oxm.clone()), output(port::IN_PORT)]);
        assert!(refused(&mut proxied, body).is_some(), "{oxm:?}");
    }
}

/// A list of floods is as many outputs as there are ports: what no message holds is refused, and the next one arrives
/// whole.
#[test]
fn floods_that_no_message_holds_are_refused() {
    let mut proxied = Proxied::new(MessageBudget { ..PLENTY });
    let before = proxied.entries();
    let many = vec![output(port::FLOOD); 3_000];
    let code = refused(&mut proxied, Body::FlowMod(any(1, many.clone())));
    assert_eq!(code, Some(BadAction::TooMany.into()));
    let bucket =
        Bucket { weight: 0, watch_port: port::ANY, watch_group: group::ANY, actions: many };
    let body = group_of(GroupModCommand::Add, GroupType::All, 1, vec![bucket]);
    assert_eq!(refused(&mut proxied, body), Some(BadAction::TooMany.into()));
    assert_eq!(proxied.ask(A, Body::FlowMod(any(1, vec![output(port::FLOOD)]))), []);
    assert_eq!(proxied.entries(), before + 1);
}

#[test]
fn what_is_not_carried_to_the_switch_is_refused() {
    let mut proxied = Proxied::new(PLENTY);
    let parts = MultipartRequest {
        flags: multipart_flag::MORE,
        body: RequestBody::Flow(FlowStatsRequest::ALL),
    };
    let code = refused(&mut proxied, Body::MultipartRequest(parts));
    assert_eq!(code, Some(BadRequest::MultipartBufferOverflow.into()));
    let stats =
        asked(RequestBody::Experimenter { experimenter: 0x2320, exp_type: 1, data: vec![0; 8] });
    assert!(refused(&mut proxied, stats).is_some());
    let slices = Body::Experimenter(Experimenter::Modes(ModesMessage::ModeStatusRequest));
    assert_eq!(refused(&mut proxied, slices), Some(BadRequest::BadExperimenter.into()));
    let table = Body::TableMod(TableMod { table_id: 0xff, config: 3 });
    proxied.ask(A, table);
    // Frames that a switch keeps are not to be had by their numbers.
    for buffer_id in [0, 1, 77] {
        let body = Body::FlowMod(FlowMod { buffer_id, ..any(1, vec![output(2)]) });
        assert_eq!(refused(&mut proxied, body), Some(BadRequest::BufferUnknown.into()));
        let body = Body::PacketOut(PacketOut {
            buffer_id,
            in_port: 1,
            actions: vec![output(2)],
            data: Vec::new(),
        });
        assert_eq!(refused(&mut proxied, body), Some(BadRequest::BufferUnknown.into()));
    }
}

/// Counters of a port that both have would tell of the other's frames; its queues are the operator's.
#[test]
fn counters_and_queues_of_shared_ports_are_not_told() {
    let mut proxied = Proxied::new(PLENTY);
    assert_eq!(proxied.ask(B, Body::FlowMod(any(1, vec![output(3)]))), []);
    proxied.enter(2, &frame(Some(20), b"BBBB"));
    let told = proxied.ask(A, asked(RequestBody::PortStats { port_no: port::ANY }));
    let [Body::MultipartReply(MultipartReply { body: ReplyBody::PortStats(all), .. })] = &told[..]
    else {
        panic!("{told:?}")
    };
    let counted: Vec<(u32, u64)> = all.iter().map(|it| (it.port_no, it.rx_packets)).collect();
    assert_eq!(counted, [(1, 0), (2, u64::MAX)]);
    let told = proxied.ask(A, asked(RequestBody::Queue { port_no: port::ANY, queue_id: u32::MAX }));
    for body in told {
        let Body::MultipartReply(MultipartReply { body: ReplyBody::Queue(all), .. }) = body else {
            panic!("{body:?}")
        };
        assert!(all.iter().all(|it| it.port_no == 1), "{all:?}");
    }
    let code = refused(&mut proxied, entry(vec![], vec![Action::SetQueue(0), output(2)]));
    assert_eq!(code, Some(BadAction::Eperm.into()));
}

/// What the switch tells unasked goes to those who want it, and only to them.
#[test]
fn each_controller_of_a_slice_hears_what_it_wants() {
    let mut proxied = Proxied::new(PLENTY);
    let mut out = ProxyEffects::default();
    assert!(proxied.proxy.connected(SECOND, &mut out));
    proxied.settle(out);
    proxied.second.clear();
    let second = |proxied: &mut Proxied, body: Body| {
        let mut out = ProxyEffects::default();
        let bytes = Message::new(8, body).to_bytes();
        assert!(proxied.proxy.from_controller(SECOND, proxied.now, &bytes, &mut out));
        proxied.settle(out);
        let mut framer = Framer::new();
        framer.push(&std::mem::take(&mut proxied.second)).expect("short");
        std::iter::from_fn(|| framer.next()).map(|it| it.expect("whole").body).collect::<Vec<_>>()
    };
    let role = |role| Body::RoleRequest(Role { role, generation_id: 1 });
    assert!(matches!(proxied.ask(A, role(ControllerRole::Master))[..], [Body::RoleReply(_)]));
    let told = second(&mut proxied, role(ControllerRole::Slave));
    assert!(matches!(told[..], [Body::RoleReply(Role { role: ControllerRole::Slave, .. })]));
    assert!(proxied.bodies(B).is_empty(), "roles are those of one slice");
    let ask = any(0, vec![to_controller(64)]);
    let told = second(&mut proxied, Body::FlowMod(ask.clone()));
    assert_eq!(error_of(&told), Some(BadRequest::IsSlave.into()));
    assert_eq!(proxied.ask(A, Body::FlowMod(ask)), []);
    let before = proxied.entries();
    proxied.enter(1, &frame(None, b"AAAA"));
    assert!(matches!(proxied.bodies(A)[..], [Body::PacketIn(_)]));
    assert!(proxied.second.is_empty(), "a slave hears of no frames");
    // An answer is for who has asked, whatever the id.
    let told = second(&mut proxied, asked(RequestBody::Flow(FlowStatsRequest::ALL)));
    assert!(!told.is_empty() && told.iter().all(|it| matches!(it, Body::MultipartReply(_))));
    assert!(proxied.bodies(A).is_empty());
    // The second takes over.
    let take = Body::RoleRequest(Role { role: ControllerRole::Master, generation_id: 2 });
    assert!(matches!(second(&mut proxied, take)[..], [Body::RoleReply(_)]));
    let code = refused(&mut proxied, Body::FlowMod(any(3, vec![output(2)])));
    assert_eq!(code, Some(BadRequest::IsSlave.into()));
    assert_eq!(proxied.entries(), before);
    // Ends of entries: not wanted by the set of a controller.
    let short =
        FlowMod { hard_timeout: 1, flags: flow_flag::SEND_FLOW_REM, ..any(4, vec![output(2)]) };
    let nothing = Body::SetAsync(AsyncConfig {
        packet_in_mask: [0, 0],
        port_status_mask: [0, 0],
        flow_removed_mask: [0, 0],
    });
    assert_eq!(second(&mut proxied, Body::FlowMod(short)), []);
    assert_eq!(second(&mut proxied, nothing), []);
    proxied.now += Span::from_s(2);
    proxied.leaving();
    assert!(proxied.second.is_empty(), "it has said so");
    assert!(proxied.bodies(A).is_empty(), "a slave is not told");
    proxied.enter(1, &frame(None, b"AAAA"));
    assert!(proxied.second.is_empty() && proxied.bodies(A).is_empty());
}

/// Answers count as bytes of who has asked: one who asks for much waits.
#[test]
fn answers_of_the_switch_are_of_the_budget() {
    let mut proxied = Proxied::new(MessageBudget { bytes: 1_000_000, ..PLENTY });
    for priority in 1..=8 {
        assert_eq!(proxied.ask(A, Body::FlowMod(any(priority, vec![output(2)]))), []);
    }
    let stats = asked(RequestBody::Flow(FlowStatsRequest::ALL));
    let bytes = Message::new(1, stats.clone()).to_bytes();
    let mut count = 0;
    while proxied.proxy.message_at(A, proxied.now, &bytes) <= proxied.now {
        proxied.ask(A, stats.clone());
        count += 1;
        assert!(count < 500, "800 bytes for each of 56 are never too many");
    }
    assert!(count > 50, "{count}");
    assert!(proxied.proxy.message_at(B, proxied.now, &bytes) <= proxied.now);
}

/// A switch that does not answer for long: who has sent much waits, and nobody's question is forgotten.
#[test]
fn a_late_switch_answers_each_in_the_end() {
    let mut proxied = Proxied::new(PLENTY);
    let bytes = Message::new(42, asked(RequestBody::Table)).to_bytes();
    let mut out = ProxyEffects::default();
    assert!(proxied.proxy.from_controller(first(B), proxied.now, &bytes, &mut out));
    let change = Message::new(7, Body::FlowMod(FlowMod::new(FlowModCommand::Delete, 0))).to_bytes();
    let mut sent = 0;
    while proxied.proxy.message_at(A, proxied.now, &change) <= proxied.now {
        assert!(proxied.proxy.from_controller(first(A), proxied.now, &change, &mut out));
        sent += 1;
        assert!(sent <= 20_000, "it never waits");
    }
    assert_eq!(sent, 1_024);
    assert!(proxied.proxy.message_at(B, proxied.now, &bytes) <= proxied.now);
    proxied.settle(out);
    assert!(matches!(proxied.bodies(B)[..], [Body::MultipartReply(_)]));
    assert!(proxied.proxy.message_at(A, proxied.now, &change) <= proxied.now, "it has caught up");
}

/// Numbers around which mistakes are made.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![
        0_u32..8,
        Just(1 << 24),
        Just((1 << 24) + 1),
        (2_u32..5).prop_map(|n| n << 24),
        1_020_u32..1_030,
        2_040_u32..2_055,
        0xffff_ff00_u32..=0xffff_ffff,
        any_u32(),
    ]
}

fn any_u32() -> impl Strategy<Value = u32> {
    proptest::num::u32::ANY
}

fn small_table() -> impl Strategy<Value = u8> {
    prop_oneof![0_u8..10, Just(0xff), proptest::num::u8::ANY]
}

fn oxm() -> impl Strategy<Value = Oxm> {
    prop_oneof![
        number().prop_map(Oxm::InPort),
        (proptest::num::u16::ANY, proptest::option::of(proptest::num::u16::ANY))
            .prop_map(|(value, mask)| Oxm::VlanVid { value: value & 0x1fff, mask }),
        Just(Oxm::VlanVid { value: 0x100a, mask: None }),
        Just(Oxm::EthType(0x0800)),
        Just(Oxm::EthType(0x8100)),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => number().prop_map(|port| Action::Output { port, max_len: 64 }),
        1 => number().prop_map(Action::Group),
        1 => number().prop_map(Action::SetQueue),
        1 => Just(Action::PopVlan),
        1 => Just(Action::PushVlan(0x8100)),
        1 => Just(Action::PopMpls(0x8100)),
        1 => Just(Action::PopPbb),
        2 => oxm().prop_map(Action::SetField),
    ]
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    proptest::collection::vec(action(), 0..4)
}

fn instruction() -> impl Strategy<Value = Instruction> {
    prop_oneof![
        small_table().prop_map(Instruction::GotoTable),
        number().prop_map(Instruction::Meter),
        actions().prop_map(Instruction::ApplyActions),
        actions().prop_map(Instruction::WriteActions),
        Just(Instruction::ClearActions),
    ]
}

fn flow_mod() -> impl Strategy<Value = Body> {
    let command = prop_oneof![
        4 => Just(FlowModCommand::Add),
        1 => Just(FlowModCommand::Modify),
        1 => Just(FlowModCommand::Delete),
        1 => Just(FlowModCommand::DeleteStrict),
    ];
    let numbers = (number(), number(), number());
    let parts =
        (proptest::collection::vec(oxm(), 0..2), proptest::collection::vec(instruction(), 0..3));
    (command, small_table(), 0_u16..4, numbers, 0_u16..32, parts).prop_map(
        |(
            command,
            table_id,
            priority,
            (out_port, out_group, buffer),
            flags,
            (oxms, instructions),
        )| {
            Body::FlowMod(FlowMod {
                priority,
                match_: Match::from(oxms),
                instructions,
                flags,
                out_port: if out_port % 2 == 0 { port::ANY } else { out_port },
                out_group: if out_group % 3 != 0 { group::ANY } else { out_group },
                buffer_id: if buffer % 5 != 0 { u32::MAX } else { buffer },
                ..FlowMod::new(command, table_id)
            })
        },
    )
}

fn object() -> impl Strategy<Value = Body> {
    let bucket = (number(), number(), actions()).prop_map(|(port, id, actions)| Bucket {
        weight: 1,
        watch_port: if port % 2 == 0 { port::ANY } else { port },
        watch_group: if id % 2 == 0 { group::ANY } else { id },
        actions,
    });
    let type_ = prop_oneof![
        Just(GroupType::All),
        Just(GroupType::Select),
        Just(GroupType::Indirect),
        Just(GroupType::FastFailover)
    ];
    let command = prop_oneof![
        Just(GroupModCommand::Add),
        Just(GroupModCommand::Modify),
        Just(GroupModCommand::Delete)
    ];
    let groups = (command, type_, number(), proptest::collection::vec(bucket, 0..3));
    let command = prop_oneof![
        Just(MeterModCommand::Add),
        Just(MeterModCommand::Modify),
        Just(MeterModCommand::Delete)
    ];
    prop_oneof![
        groups.prop_map(|(command, type_, id, buckets)| group_of(command, type_, id, buckets)),
        (command, number()).prop_map(|(command, id)| meter_of(command, id, 100, false)),
    ]
}

fn request() -> impl Strategy<Value = Body> {
    let flow = |(table_id, out_group): (u8, u32)| FlowStatsRequest {
        table_id,
        out_group: if out_group % 3 != 0 { group::ANY } else { out_group },
        ..FlowStatsRequest::ALL
    };
    let body = prop_oneof![
        (small_table(), number()).prop_map(move |it| RequestBody::Flow(flow(it))),
        (small_table(), number()).prop_map(move |it| RequestBody::Aggregate(flow(it))),
        number().prop_map(|port_no| RequestBody::PortStats { port_no }),
        (number(), number())
            .prop_map(|(port_no, queue_id)| RequestBody::Queue { port_no, queue_id }),
        number().prop_map(|group_id| RequestBody::Group { group_id }),
        number().prop_map(|meter_id| RequestBody::Meter { meter_id }),
        number().prop_map(|meter_id| RequestBody::MeterConfig { meter_id }),
        Just(RequestBody::Table),
        Just(RequestBody::GroupDesc),
        Just(RequestBody::PortDescription),
        Just(RequestBody::TableFeatures(Vec::new())),
    ];
    (body, 0_u16..2)
        .prop_map(|(body, flags)| Body::MultipartRequest(MultipartRequest { flags, body }))
}

fn other() -> impl Strategy<Value = Body> {
    let packet_out = (number(), number(), actions(), proptest::option::of(0_u16..40)).prop_map(
        |(buffer, in_port, actions, vlan)| {
            Body::PacketOut(PacketOut {
                buffer_id: if buffer % 4 == 0 { buffer } else { u32::MAX },
                in_port,
                actions,
                data: vlan.map_or_else(Vec::new, |vlan| frame(Some(vlan), b"OUT!")),
            })
        },
    );
    let port_mod = number().prop_map(|port_no| {
        Body::PortMod(PortMod { port_no, hw_addr: [2; 6], config: 1, mask: 1, advertise: 0 })
    });
    prop_oneof![
        4 => packet_out,
        1 => port_mod,
        1 => small_table().prop_map(|table_id| Body::TableMod(TableMod { table_id, config: 3 })),
        1 => number().prop_map(|port| Body::QueueGetConfigRequest { port }),
        1 => (0_u16..0xffff).prop_map(|miss_send_len| Body::SetConfig(SwitchConfigMsg { flags: 0, miss_send_len })),
        1 => number().prop_map(|n| Body::RoleRequest(Role { role: ControllerRole::Master, generation_id: n.into() })),
        1 => Just(Body::BarrierRequest),
        1 => Just(Body::FeaturesRequest),
        1 => Just(Body::GetAsyncRequest),
        1 => Just(Body::BarrierReply),
        1 => Just(Body::EchoRequest(vec![1, 2, 3])),
    ]
}

/// Messages of A, some with bytes that were changed.
fn messages() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let body = prop_oneof![3 => flow_mod(), 2 => object(), 2 => request(), 2 => other()];
    let harm = proptest::option::weighted(0.2, (8_usize..120, proptest::num::u8::ANY));
    let message = (body, any_u32(), harm).prop_map(|(body, xid, harm)| {
        let mut bytes = Message::new(xid, body).to_bytes();
        if let Some((at, value)) = harm
            && let Some(byte) = bytes.get_mut(at)
        {
            *byte = value;
        }
        bytes
    });
    proptest::collection::vec(message, 1..40)
}

/// Frames that leave, with the port of each.
type Left = Vec<(u32, Vec<u8>)>;

/// What B has in the switch, and what comes of its frames.
fn seen_by_b(proxied: &mut Proxied) -> (Vec<Body>, Vec<Left>) {
    proxied.heard[B].clear();
    let requests = [
        asked(RequestBody::Flow(FlowStatsRequest::ALL)),
        asked(RequestBody::Group { group_id: group::ALL }),
        asked(RequestBody::Meter { meter_id: meter::ALL }),
        asked(RequestBody::PortDescription),
        asked(RequestBody::Table),
    ];
    let told = requests.into_iter().flat_map(|body| proxied.ask(B, body)).collect();
    let frames = [(2, 20), (3, 30)];
    let left = frames.map(|(port, vlan)| proxied.enter(port, &frame(Some(vlan), b"BBBB"))).to_vec();
    (told, left)
}

fn with_b() -> Proxied {
    let mut proxied = Proxied::new(PLENTY);
    let bucket = Bucket {
        weight: 0,
        watch_port: port::ANY,
        watch_group: group::ANY,
        actions: vec![output(3)],
    };
    let bodies = [
        group_of(GroupModCommand::Add, GroupType::Indirect, 1, vec![bucket]),
        meter_of(MeterModCommand::Add, 1, 1_000, false),
        entry(vec![Oxm::InPort(2)], vec![Action::Group(1)]),
        entry(vec![Oxm::InPort(3)], vec![output(2)]),
    ];
    for body in bodies {
        assert_eq!(proxied.ask(B, body), []);
    }
    proxied
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    /// Whatever A says, B has what it had, its frames go where they went, it hears nothing, and no frame of VLANs that are
    /// not A's leaves.
    #[test]
    fn nothing_of_a_slice_is_seen_or_changed_by_another(messages in messages()) {
        let mut alone = with_b();
        let mut proxied = with_b();
        for bytes in &messages {
            let mut out = ProxyEffects::default();
            proxied.proxy.from_controller(first(A), proxied.now, bytes, &mut out);
            proxied.settle(out);
        }
        prop_assert_eq!(std::mem::take(&mut proxied.heard[B]), Vec::<u8>::new());
        let mut left = proxied.leaving();
        for (port, bytes) in [(1, frame(None, b"AAAA")), (2, frame(Some(10), b"AAAA")),
            (1, twice_tagged(10, 20)), (1, twice_tagged(0, 30)), (2, twice_tagged(10, 30))] {
            left.extend(proxied.enter(port, &bytes));
        }
        for (port, bytes) in left {
            prop_assert!(port == 1 || port == 2, "a frame leaves by {}", port);
            prop_assert!(crate::slices::traffic_a().claims(port, &bytes), "{bytes:?} leaves by {}", port);
        }
        prop_assert_eq!(std::mem::take(&mut proxied.heard[B]), Vec::<u8>::new());
        alone.now = proxied.now;
        alone.switch.now = proxied.switch.now;
        let (told, frames) = seen_by_b(&mut proxied);
        let (wanted, wanted_frames) = seen_by_b(&mut alone);
        prop_assert_eq!(frames, wanted_frames);
        prop_assert_eq!(told, wanted);
        let foreign = proxied.events.iter().any(|it| matches!(it, ProxyEvent::Foreign { .. }));
        prop_assert!(!foreign);
    }
}
