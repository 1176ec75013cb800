//! What flow-mods and their kin do to the tables, and what wrong ones are answered.

use support::{Bench, add, apply, flow_mod, frame, group, meter, modes, output, sent_to, shadow};
use tenuto_openflow::constants::{flow_flag, group as group_id, meter as meter_id, table};
use tenuto_openflow::{
    Action, BadAction, BadInstruction, BadMatch, BadRequest, Body, EXPERIMENTER_ID, Experimenter,
    FlowMod, FlowModCommand as C, FlowModFailed, FlowStatsRequest, GroupModCommand as G,
    GroupModFailed, GroupType, Hello, HelloFailed, Instruction, Match, Message, MeterBand,
    MeterModCommand as M, MeterModFailed, ModesMessage, MonitorCommand, MonitorKind, MonitorMod,
    MultipartRequest, Oxm, ReplyBody, RequestBody,
};

use crate::support;

fn matching(oxms: Vec<Oxm>) -> Body {
    Body::FlowMod(FlowMod { match_: Match::from(oxms), ..FlowMod::new(C::Add, 0) })
}

fn cookies(bench: &Bench) -> Vec<u64> {
    bench.entries().into_iter().map(|(.., cookie)| cookie).collect()
}

/// Flows 1 to 3 to ports 1 to 3, and 4 to group 1, in table 0; 5 in table 2.
fn filled() -> Bench {
    let mut bench = Bench::new();
    bench.install([
        group(G::Add, 1, vec![vec![output(1)], vec![output(2)]]),
        add(0, 1, vec![sent_to(0, 1)]),
        add(0, 2, vec![sent_to(0, 2)]),
        add(0, 3, vec![Instruction::WriteActions(vec![output(3)])]),
        add(0, 4, vec![apply(vec![Action::Group(1)])]),
        add(2, 5, vec![sent_to(0, 1)]),
    ]);
    assert_eq!(cookies(&bench), [1, 2, 3, 4, 5]);
    bench
}

#[test]
fn an_equal_match_and_precedence_is_replaced() {
    let mut bench = filled();
    bench.receive(3, &frame(1, 100));
    bench.install([add(0, 1, vec![sent_to(0, 2)])]);
    assert_eq!(cookies(&bench), [1, 2, 3, 4, 5]);
    assert_eq!(bench.entry_counters(), [((0, 0, 1), (1, 104))], "counters are copied over");
    bench.receive(3, &frame(1, 100));
    assert_eq!(bench.drain_flows(), [(1, 1), (2, 1)]);
    let reset = FlowMod { flags: flow_flag::RESET_COUNTS, ..flow_mod(0, 1, vec![]) };
    bench.install([Body::FlowMod(reset)]);
    assert_eq!(bench.entry_counters(), []);
    let other = FlowMod { priority: 1, cookie: 9, ..flow_mod(0, 1, vec![]) };
    bench.install([Body::FlowMod(other)]);
    assert_eq!(cookies(&bench), [1, 2, 3, 4, 9, 5], "another precedence is another entry");
}

#[test]
fn modify_changes_behaviour_and_keeps_cookie_and_counters() {
    let mut bench = filled();
    bench.receive(3, &frame(1, 100));
    let change = |command, cookie, cookie_mask| {
        let mut change = flow_mod(0, 1, vec![sent_to(0, 2)]);
        (change.command, change.cookie, change.cookie_mask) = (command, cookie, cookie_mask);
        Body::FlowMod(change)
    };
    bench.install([change(C::ModifyStrict, 2, u64::MAX)]);
    bench.receive(3, &frame(1, 100));
    bench.install([change(C::ModifyStrict, 1, u64::MAX)]);
    bench.receive(3, &frame(1, 100));
    assert_eq!(bench.drain_flows(), [(1, 1), (2, 1), (1, 1)]);
    assert_eq!(bench.entry_counters(), [((0, 0, 1), (3, 312))]);
    let all = FlowMod { instructions: vec![sent_to(0, 4)], ..FlowMod::new(C::Modify, 0) };
    bench.install([Body::FlowMod(all.clone()), change(C::ModifyStrict, 0, 0)]);
    for flow in 1..=4 {
        bench.receive(3, &frame(flow, 100));
    }
    assert_eq!(bench.drain_flows(), [(2, 1), (4, 2), (4, 3), (4, 4)]);
    let none = FlowMod { command: C::Modify, ..flow_mod(0, 77, vec![sent_to(0, 4)]) };
    bench.install([Body::FlowMod(none)]);
    assert_eq!(cookies(&bench), [1, 2, 3, 4, 5], "a modify that matches none adds none");
    let reset = FlowMod { flags: flow_flag::RESET_COUNTS, ..all };
    bench.install([Body::FlowMod(reset)]);
    assert_eq!(bench.entry_counters(), []);
}

#[test]
fn deletion_by_match_cookie_port_group_and_table() {
    let delete = |f: &dyn Fn(&mut FlowMod)| {
        let mut bench = filled();
        let mut delete = FlowMod::new(C::Delete, table::ALL);
        f(&mut delete);
        bench.install([Body::FlowMod(delete)]);
        cookies(&bench)
    };
    assert_eq!(delete(&|_| {}), [0; 0]);
    assert_eq!(delete(&|d| d.table_id = 0), [5]);
    assert_eq!(delete(&|d| d.match_ = support::to_flow(2)), [1, 3, 4, 5]);
    assert_eq!(delete(&|d| d.out_port = 1), [2, 3, 4]);
    assert_eq!(delete(&|d| d.out_port = 3), [1, 2, 4, 5], "of the action set too");
    assert_eq!(delete(&|d| d.out_group = 1), [1, 2, 3, 5]);
    assert_eq!(delete(&|d| (d.out_port, d.out_group) = (1, 1)), [1, 2, 3, 4, 5]);
    assert_eq!(delete(&|d| (d.cookie, d.cookie_mask) = (1, 1)), [2, 4]);
    assert_eq!(delete(&|d| (d.cookie, d.cookie_mask) = (1, 0)), [0; 0]);
    let strict = |priority| {
        move |d: &mut FlowMod| {
            *d = FlowMod { command: C::DeleteStrict, priority, ..flow_mod(0, 1, vec![]) };
        }
    };
    assert_eq!(delete(&strict(0x8000)), [2, 3, 4, 5]);
    assert_eq!(delete(&strict(0x8001)), [1, 2, 3, 4, 5]);
    assert_eq!(delete(&|d| d.command = C::DeleteStrict), [1, 2, 3, 4, 5], "not the same match");
}

#[test]
fn a_full_table_takes_replacements_only() {
    let mut bench = Bench::new();
    bench.install((0..64).map(|flow| add(flow % 3, flow, vec![])));
    bench.refused(add(0, 70, vec![]), FlowModFailed::TableFull);
    bench.install([add(0, 0, vec![sent_to(0, 1)])]);
    bench.install([Body::FlowMod(FlowMod { command: C::Delete, ..flow_mod(0, 0, vec![]) })]);
    bench.install([add(0, 70, vec![])]);
    assert_eq!(bench.switch.tables().entries(), 64);
}

#[test]
fn wrong_tables_flags_and_time_outs_are_refused() {
    let mut bench = filled();
    bench.refused(add(3, 1, vec![]), FlowModFailed::BadTableId);
    bench.refused(add(table::ALL, 1, vec![]), FlowModFailed::BadTableId);
    bench.refused(Body::FlowMod(FlowMod::new(C::Delete, 3)), FlowModFailed::BadTableId);
    let with = |f: &dyn Fn(&mut FlowMod)| {
        let mut changed = flow_mod(0, 9, vec![]);
        f(&mut changed);
        Body::FlowMod(changed)
    };
    bench.refused(with(&|m| m.idle_timeout = 1), FlowModFailed::BadTimeout);
    bench.refused(with(&|m| m.hard_timeout = 1), FlowModFailed::BadTimeout);
    bench.refused(with(&|m| m.flags = flow_flag::SEND_FLOW_REM), FlowModFailed::BadFlags);
    bench.refused(with(&|m| m.flags = 1 << 15), FlowModFailed::BadFlags);
    let overlap = |m: &mut FlowMod| {
        m.flags = flow_flag::CHECK_OVERLAP;
        m.match_ = Match::from(vec![Oxm::InPort(1)]);
    };
    bench.refused(with(&overlap), FlowModFailed::Overlap);
    bench.install([with(&|m| {
        overlap(m);
        m.priority = 1;
    })]);
    bench.install([with(&|m| m.flags = flow_flag::CHECK_OVERLAP)]);
    bench.refused(shadow(1, 1, 1, vec![]), FlowModFailed::BadTableId);
    bench.install([support::mode_config(2, &[2])]);
    bench.install([shadow(1, 1, 1, vec![])]);
    bench.refused(shadow(1, 0, 1, vec![]), FlowModFailed::BadTableId);
    bench.refused(shadow(2, 1, 1, vec![]), FlowModFailed::BadTableId);
}

#[test]
fn bad_matches_are_refused_by_their_code() {
    let mut bench = filled();
    let ip = |mask| Oxm::Ipv4Dst { value: [0; 4], mask };
    let vid = |value| Oxm::VlanVid { value, mask: None };
    let udp = [Oxm::EthType(0x0800), Oxm::IpProto(17)];
    for (oxms, code) in [
        (vec![ip(None)], BadMatch::BadPrereq),
        (vec![Oxm::EthType(0x86dd), ip(None)], BadMatch::BadPrereq),
        (vec![Oxm::EthType(0x0800), Oxm::UdpDst { value: 1, mask: None }], BadMatch::BadPrereq),
        ([&udp[..], &[Oxm::TcpDst { value: 1, mask: None }]].concat(), BadMatch::BadPrereq),
        (vec![Oxm::IpDscp(1)], BadMatch::BadPrereq),
        (vec![Oxm::VlanPcp(1)], BadMatch::BadPrereq),
        (vec![vid(0), Oxm::VlanPcp(1)], BadMatch::BadPrereq),
        (vec![Oxm::InPort(1), Oxm::InPort(1)], BadMatch::DupField),
        (
            [
                &udp[..],
                &[Oxm::UdpDst { value: 1, mask: None }, Oxm::UdpDst { value: 2, mask: None }],
            ]
            .concat(),
            BadMatch::DupField,
        ),
        (vec![Oxm::EthType(0x0800), ip(Some([0; 4])), ip(Some([0; 4]))], BadMatch::DupField),
        (vec![Oxm::Metadata { value: 4, mask: Some(3) }], BadMatch::BadWildcards),
        (vec![vid(0x2000)], BadMatch::BadValue),
        (vec![vid(0x1001), Oxm::VlanPcp(8)], BadMatch::BadValue),
        (vec![Oxm::EthType(0x0800), Oxm::IpDscp(64)], BadMatch::BadValue),
        (
            vec![Oxm::Unknown { class: 0x8000, field: 40, has_mask: false, payload: vec![0; 4] }],
            BadMatch::BadField,
        ),
        (
            // Known, but none that a planned switch looks at.
            vec![Oxm::EthType(0x86dd), Oxm::Ipv6Exthdr { value: 1, mask: None }],
            BadMatch::BadField,
        ),
        (
            vec![Oxm::Unknown { class: 0x8000, field: 5, has_mask: true, payload: vec![0; 4] }],
            BadMatch::BadMask,
        ),
    ] {
        bench.refused(matching(oxms), code);
    }
    bench.install([
        matching([&udp[..], &[Oxm::UdpDst { value: 1, mask: None }, ip(Some([0; 4]))]].concat()),
        matching(vec![vid(0x1001), Oxm::VlanPcp(7)]),
    ]);
}

#[test]
fn instructions_and_actions_are_refused_by_their_code() {
    let mut bench = filled();
    let mut refused = |i: Vec<Instruction>, code: tenuto_openflow::ErrorCode| {
        bench.refused(add(1, 9, i), code);
    };
    refused(vec![Instruction::GotoTable(1)], BadInstruction::BadTableId.into());
    refused(vec![Instruction::GotoTable(3)], BadInstruction::BadTableId.into());
    refused(vec![Instruction::Meter(1)], MeterModFailed::UnknownMeter.into());
    let twice = vec![Instruction::ClearActions, Instruction::ClearActions];
    refused(twice, BadInstruction::UnsupInst.into());
    for (action, code) in [
        (output(5), BadAction::BadOutPort),
        (output(0xffff_fffd), BadAction::BadOutPort),
        (Action::SetQueue(4), BadAction::BadQueue),
        (Action::Group(2), BadAction::BadOutGroup),
        (Action::Monitor(1), BadAction::BadArgument),
        (Action::PopVlan, BadAction::BadType),
        (
            Action::Experimenter { experimenter: EXPERIMENTER_ID, data: vec![0; 8] },
            BadAction::BadExpType,
        ),
        (Action::Experimenter { experimenter: 1, data: vec![0; 8] }, BadAction::BadExperimenter),
    ] {
        refused(vec![apply(vec![action.clone()])], code.into());
        refused(vec![Instruction::WriteActions(vec![action])], code.into());
    }
    refused(vec![apply(vec![output(1); 1_001])], BadAction::TooMany.into());
}

#[test]
fn meters_groups_and_monitors_are_refused_by_their_code() {
    let mut bench = filled();
    bench.refused(meter(M::Modify, 1, 1, 1), MeterModFailed::UnknownMeter);
    bench.refused(meter(M::Add, 0, 1, 1), MeterModFailed::InvalidMeter);
    bench.refused(meter(M::Add, 17, 1, 1), MeterModFailed::OutOfMeters);
    bench.refused(meter(M::Modify, 17, 1, 1), MeterModFailed::UnknownMeter);
    bench.refused(meter(M::Modify, 0, 1, 1), MeterModFailed::InvalidMeter);
    bench.refused(meter(M::Add, meter_id::ALL, 1, 1), MeterModFailed::InvalidMeter);
    bench.refused(meter(M::Add, 1, 1, 0), MeterModFailed::BadBurst);
    bench.install([meter(M::Add, 16, 1, 1)]);
    bench.refused(meter(M::Add, 16, 1, 1), MeterModFailed::MeterExists);
    let Body::MeterMod(good) = meter(M::Add, 1, 1, 1) else { unreachable!() };
    let mut wrong = |f: &dyn Fn(&mut tenuto_openflow::MeterMod), code| {
        let mut changed = good.clone();
        f(&mut changed);
        bench.refused(Body::MeterMod(changed), code);
    };
    wrong(&|m| m.flags = 2, MeterModFailed::BadFlags);
    wrong(&|m| m.bands.clear(), MeterModFailed::OutOfBands);
    let remark = MeterBand::DscpRemark { rate: 1, burst_size: 1, prec_level: 1 };
    wrong(&|m| m.bands = vec![remark.clone()], MeterModFailed::BadBand);

    bench.refused(group(G::Modify, 2, vec![]), GroupModFailed::UnknownGroup);
    bench.refused(group(G::Add, 1, vec![]), GroupModFailed::GroupExists);
    bench.refused(group(G::Add, group_id::ALL, vec![]), GroupModFailed::InvalidGroup);
    let chained = vec![vec![Action::Group(1)]];
    bench.refused(group(G::Add, 2, chained), GroupModFailed::ChainingUnsupported);
    bench.refused(group(G::Add, 2, vec![vec![output(9)]]), BadAction::BadOutPort);
    bench.refused(group(G::Add, 2, vec![vec![]; 1_001]), GroupModFailed::OutOfBuckets);
    bench.refused(group(G::Add, 2, vec![vec![output(1); 600]; 2]), BadAction::TooMany);
    for (type_, code) in [
        (GroupType::Select, GroupModFailed::BadType),
        (GroupType::Indirect, GroupModFailed::InvalidGroup),
    ] {
        let Body::GroupMod(mut wrong) = group(G::Add, 2, vec![vec![], vec![]]) else {
            unreachable!()
        };
        wrong.type_ = type_;
        bench.refused(Body::GroupMod(wrong), code);
    }
    bench.install((2..5).map(|id| group(G::Add, id, vec![])));
    bench.refused(group(G::Add, 5, vec![]), GroupModFailed::OutOfGroups);

    bench.refused(support::monitor(MonitorKind::Frame, 0, &[]), BadRequest::BadLen);
    bench.refused(support::monitor(MonitorKind::Frame, 17, &[]), BadRequest::BadLen);
    bench.refused(support::monitor(MonitorKind::Frame, 1, &[(1, 1); 9]), BadRequest::BadLen);
    bench.refused(support::mode_config(0, &[]), BadRequest::BadLen);
    bench.refused(support::mode_config(9, &[]), BadRequest::BadLen);
    let crowd: Vec<u64> = (0..65).collect();
    bench.refused(support::mode_config(2, &crowd), BadRequest::BadLen);
    bench.refused(support::activate(1, 0), BadRequest::BadType);
}

#[test]
fn unknown_messages_are_refused_by_their_code() {
    let mut bench = Bench::new();
    let unknown = |experimenter| {
        Body::Experimenter(Experimenter::Unknown { experimenter, exp_type: 99, data: vec![] })
    };
    bench.refused(unknown(EXPERIMENTER_ID), BadRequest::BadExpType);
    bench.refused(unknown(1), BadRequest::BadExperimenter);
    bench.refused(Body::GetAsyncRequest, BadRequest::BadType);
    bench.refused(Body::Unknown { type_: 30, body: vec![] }, BadRequest::BadType);
    let request = FlowStatsRequest { table_id: 9, ..FlowStatsRequest::ALL };
    let body = RequestBody::Flow(request);
    let request = Body::MultipartRequest(MultipartRequest { flags: 0, body });
    bench.refused(request, BadRequest::BadTableId);
}

#[test]
fn a_hello_of_other_versions_ends_the_session() {
    let mut bench = filled();
    let before = bench.entries();
    let hello = Hello { version: 1, ..Hello::default() };
    let mut hello = Message::new(5, Body::Hello(hello)).to_bytes();
    hello.truncate(8);
    hello[3] = 8;
    let alive = bench.switch.control(bench.now, &hello, &mut bench.frames, &mut bench.fx);
    assert!(!alive);
    let answers = bench.messages();
    let [Message { body: Body::Error(error), .. }] = answers.as_slice() else {
        panic!("{answers:?}")
    };
    let incompatible = tenuto_openflow::ErrorCode::from(HelloFailed::Incompatible);
    assert_eq!((error.type_, error.code), (incompatible.type_(), incompatible.code()));
    assert_eq!(bench.entries(), before);
}

#[test]
fn deleting_meters_groups_and_monitors_takes_their_entries_along() {
    let mut bench = filled();
    bench.install([
        meter(M::Add, 1, 1, 1),
        meter(M::Add, 2, 1, 1),
        support::monitor(MonitorKind::Frame, 3, &[(1, 1)]),
        add(0, 6, vec![Instruction::Meter(1)]),
        add(1, 7, vec![Instruction::Meter(2)]),
        add(0, 8, vec![apply(vec![Action::Monitor(3)])]),
        meter(M::Delete, 1, 0, 0),
    ]);
    assert_eq!(cookies(&bench), [1, 2, 3, 4, 8, 7, 5]);
    let Body::MeterMod(mut all) = meter(M::Delete, meter_id::ALL, 0, 0) else { unreachable!() };
    all.bands.clear();
    bench.install([Body::MeterMod(all), group(G::Delete, group_id::ALL, vec![])]);
    assert_eq!(cookies(&bench), [1, 2, 3, 8, 5]);
    assert_eq!(bench.switch.meters().count(), 0);
    bench.install([
        group(G::Add, 1, vec![]),
        modes(ModesMessage::MonitorMod(MonitorMod {
            command: MonitorCommand::Delete,
            monitor_id: 3,
            kind: MonitorKind::Frame,
            contracts: vec![],
        })),
    ]);
    assert_eq!(cookies(&bench), [1, 2, 3, 5]);
}

#[test]
fn what_was_installed_is_read_back_whatever_its_size_and_mode() {
    let mut bench = support::with_modes();
    let huge =
        vec![apply(vec![output(1); 1_000]), Instruction::WriteActions(vec![output(1); 1_000])];
    let buckets = vec![vec![output(1)]; 1_000];
    bench.install([add(2, 9, huge.clone()), shadow(1, 2, 9, huge), group(G::Add, 1, buckets)]);
    let flows = |bench: &mut Bench, request: FlowStatsRequest| {
        let body = RequestBody::Flow(request);
        let request = Body::MultipartRequest(MultipartRequest { flags: 0, body });
        let mut cookies = Vec::new();
        for message in bench.ask(request) {
            let Body::MultipartReply(reply) = message.body else { panic!("{:?}", message.body) };
            let ReplyBody::Flow(flows) = reply.body else { panic!("{:?}", reply.body) };
            cookies.extend(flows.iter().map(|f| (f.table_id, f.cookie)));
        }
        cookies
    };
    let all = [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2), (2, 9)];
    assert_eq!(flows(&mut bench, FlowStatsRequest::ALL), all);
    bench.ask(support::activate(9, 1));
    bench.messages();
    assert_eq!(flows(&mut bench, FlowStatsRequest::ALL), all, "level 0, whatever is in force");
    let of_port = FlowStatsRequest { out_port: 1, ..FlowStatsRequest::ALL };
    assert_eq!(flows(&mut bench, of_port), [(2, 9)]);
    let shadows = bench.ask(modes(ModesMessage::ShadowStatsRequest { level: 1 }));
    assert!(!shadows.is_empty());
    let body = RequestBody::GroupDesc;
    let groups = bench.ask(Body::MultipartRequest(MultipartRequest { flags: 0, body }));
    assert_eq!(groups.len(), 1);
}

#[test]
fn more_bytes_than_a_framer_holds_are_read_at_once() {
    let mut bench = Bench::new();
    let mut bytes = Vec::new();
    for flow in 0..3_000u32 {
        let flow = u8::try_from(flow % 60).expect("small");
        Message::new(1, add(0, flow, vec![sent_to(0, 1)])).emit(&mut bytes);
    }
    assert!(bytes.len() > 200_000);
    assert_eq!(bench.control(&bytes), []);
    assert_eq!(bench.entries().len(), 60);
}

#[test]
fn a_barrier_reply_means_in_effect() {
    let mut bench = Bench::new();
    for port in [1, 2, 1] {
        let mut bytes = Message::new(1, add(0, 1, vec![sent_to(0, port)])).to_bytes();
        Message::new(2, Body::BarrierRequest).emit(&mut bytes);
        assert_eq!(bench.control(&bytes), [Message::new(2, Body::BarrierReply)]);
        bench.receive(3, &frame(1, 60));
        assert_eq!(bench.drain_flows(), [(port, 1)]);
    }
}

#[test]
fn a_lost_session_keeps_everything() {
    let mut bench = support::with_modes();
    bench.receive(1, &frame(2, 100));
    let (entries, mode) = (bench.entries(), bench.switch.mode());
    bench.switch.disconnected();
    assert_eq!((bench.entries(), bench.switch.mode()), (entries.clone(), mode));
    bench.receive(1, &frame(2, 100));
    bench.receive(1, &frame(99, 100));
    assert_eq!(bench.drain_flows(), [(3, 2), (3, 2)]);
    assert_eq!(bench.drops(), [tenuto_dataplane::DropReason::Unknown]);
    let alive = bench.switch.control(bench.now, &[4], &mut bench.frames, &mut bench.fx);
    assert!(!alive, "there is no session");
    bench.switch.connected(&mut bench.fx);
    assert_eq!(bench.entries(), entries);
}
