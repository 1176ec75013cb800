//! A general switch and its controllers: roles, auxiliary connections, what each hears, ports,
//! features, and every limit with its answer.

use support::general::{any, bench, config, entry, group_of, to_controller};
use support::{Bench, add, apply, frame, output};
use tenuto_dataplane::switch::{ConnectionId, ConnectionRefused, FailMode, SwitchConfig};
use tenuto_openflow::constants::{
    NO_BUFFER, config_flag, flow_flag, group as group_id, meter as meter_id, meter_flag, port,
    port_config, port_state,
};
use tenuto_openflow::*;
use tenuto_units::Span;

use crate::support;

fn role(role: ControllerRole, generation_id: u64) -> Body {
    Body::RoleRequest(Role { role, generation_id })
}

fn granted(answers: &[Body]) -> Option<Role> {
    match answers {
        [Body::RoleReply(role)] => Some(*role),
        _ => None,
    }
}

#[test]
fn a_new_master_makes_the_old_one_a_slave_and_old_generations_are_stale() {
    let mut bench = bench();
    (1..3).for_each(|id| bench.connect(id));
    let all_ones = Role { role: ControllerRole::Equal, generation_id: u64::MAX };
    assert_eq!(granted(&bench.ask_on(0, role(ControllerRole::NoChange, 9))), Some(all_ones));
    // Numbers may wrap: the newest is the one ahead.
    let first = u64::MAX;
    assert!(granted(&bench.ask_on(0, role(ControllerRole::Master, first))).is_some());
    assert!(granted(&bench.ask_on(1, role(ControllerRole::Master, 3))).is_some());
    bench.refused_on(0, role(ControllerRole::Master, first), RoleRequestFailed::Stale);
    bench.refused_on(0, role(ControllerRole::Slave, 2), RoleRequestFailed::Stale);
    let roles: Vec<_> = bench.switch.connections().map(|(id, role)| (id.0, role)).collect();
    let (slave, master) = (ControllerRole::Slave, ControllerRole::Master);
    assert_eq!(roles, [(0, slave), (1, master), (2, ControllerRole::Equal)]);
    let asked = bench.ask_on(0, role(ControllerRole::NoChange, 0));
    assert_eq!(granted(&asked), Some(Role { role: slave, generation_id: 3 }));
    // Losing the connection forgets the role, but not the generation.
    assert_eq!(bench.switch.disconnected_from(ConnectionId(1)), []);
    bench.connect(1);
    bench.refused_on(1, role(ControllerRole::Master, 2), RoleRequestFailed::Stale);
    assert!(granted(&bench.ask_on(1, role(ControllerRole::Equal, 0))).is_some());
}

#[test]
fn a_slave_reads_and_changes_nothing() {
    let mut bench = bench();
    bench.ask_on(0, role(ControllerRole::Slave, 1));
    let before = bench.entries();
    let packet_out = PacketOut {
        buffer_id: NO_BUFFER,
        in_port: port::CONTROLLER,
        actions: vec![output(1)],
        data: frame(1, 60),
    };
    let port_mod = PortMod { port_no: 1, hw_addr: [0; 6], config: 0, mask: 0, advertise: 0 };
    let mut features = match bench.reply(RequestBody::TableFeatures(vec![])) {
        ReplyBody::TableFeatures(list) => list,
        other => panic!("{other:?}"),
    };
    features.truncate(1);
    let set = MultipartRequest::new(RequestBody::TableFeatures(features));
    for body in [
        Body::FlowMod(any(1, vec![])),
        support::group(GroupModCommand::Add, 1, vec![]),
        support::meter(MeterModCommand::Add, 1, 1, 1),
        Body::PacketOut(packet_out),
        Body::PortMod(port_mod),
        Body::TableMod(TableMod { table_id: 0, config: 0 }),
        Body::MultipartRequest(set),
        support::activate(1, 0),
        support::mode_config(2, &[2]),
    ] {
        bench.refused_on(0, body, BadRequest::IsSlave);
    }
    assert_eq!(bench.entries(), before);
    assert!(matches!(bench.ask_on(0, Body::BarrierRequest)[..], [Body::BarrierReply]));
    assert!(matches!(bench.reply(RequestBody::Table), ReplyBody::Table(_)));
    // By default a slave hears of ports and of nothing else.
    bench.switch.set_link(2, false, &mut bench.fx);
    assert!(matches!(bench.heard(0)[..], [Body::PortStatus(_)]));
}

#[test]
fn connections_are_counted_and_auxiliary_ones_go_with_their_main_one() {
    let mut bench = bench();
    let refused = Err(ConnectionRefused);
    let fx = &mut bench.fx;
    let (main, other) = (ConnectionId::FIRST, ConnectionId(9));
    assert_eq!(bench.switch.connected_to(ConnectionId(1), Some((other, 1)), fx), refused);
    assert_eq!(bench.switch.connected_to(ConnectionId(1), Some((main, 0)), fx), refused);
    assert_eq!(bench.switch.connected_to(main, None, fx), refused, "it is there already");
    assert_eq!(bench.switch.connected_to(ConnectionId(1), Some((main, 7)), fx), Ok(()));
    assert_eq!(bench.switch.connected_to(ConnectionId(2), None, fx), Ok(()));
    assert_eq!(bench.switch.connected_to(ConnectionId(3), None, fx), Ok(()));
    assert_eq!(bench.switch.connected_to(ConnectionId(4), None, fx), refused, "four at most");
    (1..4).for_each(|id| drop(bench.heard(id)));
    let number = |answers: &[Body]| match answers {
        [Body::FeaturesReply(features)] => Some(features.auxiliary_id),
        _ => None,
    };
    assert_eq!(number(&bench.ask_on(1, Body::FeaturesRequest)), Some(7));
    assert_eq!(number(&bench.ask_on(0, Body::FeaturesRequest)), Some(0));
    // Its role is that of the controller.
    bench.ask_on(1, role(ControllerRole::Slave, 1));
    bench.refused_on(0, Body::FlowMod(any(1, vec![])), BadRequest::IsSlave);
    bench.ask_on(0, role(ControllerRole::Equal, 1));
    assert!(bench.ask_on(1, Body::FlowMod(any(1, vec![]))).is_empty());
    // Asynchronous messages come over the main connection alone.
    bench.switch.set_link(2, false, &mut bench.fx);
    assert_eq!([0, 1, 2].map(|id| bench.heard(id).len()), [1, 0, 1]);
    assert_eq!(bench.switch.disconnected_from(main), [ConnectionId(1)]);
    assert_eq!(bench.switch.connections().count(), 2);
    let alive = bench.switch.control(bench.now, &[], &mut bench.frames, &mut bench.fx);
    assert!(!alive, "there is no such connection");
}

#[test]
fn each_controller_hears_what_it_asked_for() {
    let mut bench = bench();
    bench.connect(1);
    let quiet = AsyncConfig {
        packet_in_mask: [0; 2],
        port_status_mask: [0b001, 0],
        flow_removed_mask: [0b0100, 0],
    };
    assert_eq!(
        bench.ask_on(1, Body::GetAsyncRequest),
        [Body::GetAsyncReply(AsyncConfig::default())]
    );
    assert!(bench.ask_on(1, Body::SetAsync(quiet)).is_empty());
    assert_eq!(bench.ask_on(1, Body::GetAsyncRequest), [Body::GetAsyncReply(quiet)]);
    let flags = flow_flag::SEND_FLOW_REM;
    bench.install([
        Body::FlowMod(FlowMod { flags, ..any(0, vec![to_controller(0xffff)]) }),
        Body::FlowMod(FlowMod { flags, hard_timeout: 1, ..any(5, vec![to_controller(0xffff)]) }),
    ]);
    bench.receive(1, &frame(1, 60));
    bench.switch.set_link(2, false, &mut bench.fx);
    let now = bench.now;
    bench.run_to(now + Span::from_s(1));
    assert_eq!(bench.heard(1), []);
    let heard = bench.heard(0);
    let [Body::PacketIn(packet_in), Body::PortStatus(status), Body::FlowRemoved(removed)] =
        &heard[..]
    else {
        panic!("{heard:?}")
    };
    assert_eq!(packet_in.reason, PacketInReason::Action);
    assert_eq!((status.reason, status.port.state), (PortReason::Modify, port_state::LINK_DOWN));
    assert_eq!((removed.reason, removed.priority), (FlowRemovedReason::HardTimeout, 5));
    // Connection 1 wants to hear of deletions only.
    let delete = FlowMod { command: FlowModCommand::Delete, ..any(0, vec![]) };
    let [told, too] = [bench.ask_on(0, Body::FlowMod(delete)), bench.heard(1)];
    assert!(matches!(&told[..], [Body::FlowRemoved(r)] if r.reason == FlowRemovedReason::Delete));
    assert_eq!(told, too);
}

#[test]
fn ports_are_configured_described_and_told_of() {
    let mut bench = bench();
    bench.install([Body::FlowMod(any(1, vec![Action::Output { port: port::ALL, max_len: 0 }]))]);
    let describe = |bench: &mut Bench| match bench.reply(RequestBody::PortDescription) {
        ReplyBody::PortDescription(ports) => ports,
        other => panic!("{other:?}"),
    };
    let ports = describe(&mut bench);
    assert_eq!(ports[0].name.as_str(), Some("left"));
    assert_eq!((ports[1].name.as_str(), ports[1].state), (Some("p2"), port_state::LIVE));
    let mut addresses: Vec<_> = ports.iter().map(|port| port.hw_addr).collect();
    addresses.dedup();
    assert_eq!(addresses.len(), 4, "every port has its own address");
    let port_mod = |port: &Port, bits| PortMod {
        port_no: port.port_no,
        hw_addr: port.hw_addr,
        config: bits,
        mask: bits | port_config::PORT_DOWN,
        advertise: 0,
    };
    assert_eq!(bench.ports_of(1, &frame(1, 60)), [2, 3, 4]);
    let changed = bench.ask_on(0, Body::PortMod(port_mod(&ports[1], port_config::NO_FWD)));
    assert!(matches!(&changed[..], [Body::PortStatus(s)] if s.port.config == port_config::NO_FWD));
    assert_eq!(bench.ports_of(1, &frame(1, 60)), [3, 4]);
    bench.ask_on(0, Body::PortMod(port_mod(&ports[2], port_config::PORT_DOWN)));
    assert_eq!(bench.ports_of(1, &frame(1, 60)), [4]);
    assert_eq!(bench.ports_of(3, &frame(1, 60)), [0; 0], "nothing enters there either");
    bench.ask_on(0, Body::PortMod(port_mod(&ports[0], port_config::NO_RECV)));
    assert_eq!(bench.ports_of(1, &frame(1, 60)), [0; 0]);
    assert_eq!(bench.ports_of(4, &frame(1, 60)), [1]);
    let ReplyBody::PortStats(stats) = bench.reply(RequestBody::PortStats { port_no: 3 }) else {
        panic!("a reply to another request")
    };
    assert_eq!((stats[0].tx_packets, stats[0].tx_dropped), (2, 2));

    let right = port_mod(&ports[3], 0);
    for (wrong, code) in [
        (PortMod { port_no: 9, ..right }, PortModFailed::BadPort),
        (PortMod { hw_addr: [0; 6], ..right }, PortModFailed::BadHwAddr),
        (PortMod { mask: 1 << 1, ..right }, PortModFailed::BadConfig),
        (PortMod { advertise: 1, ..right }, PortModFailed::BadAdvertise),
    ] {
        bench.refused(Body::PortMod(wrong), code);
    }
}

#[test]
fn what_it_can_do_is_told_and_more_is_refused() {
    let mut bench = bench();
    let answers = bench.ask_on(0, Body::FeaturesRequest);
    let [Body::FeaturesReply(features)] = answers[..] else { panic!("{answers:?}") };
    assert_eq!((features.n_tables, features.n_buffers, features.auxiliary_id), (64, 2, 0));
    assert_eq!(features.capabilities, 0b100_1111, "flows, tables, ports, groups, queues");
    let ReplyBody::TableFeatures(tables) = bench.reply(RequestBody::TableFeatures(vec![])) else {
        panic!("a reply to another request")
    };
    assert!(!tables.is_empty());
    let first = &tables[0];
    let fields = first.properties.iter().find_map(|property| match property {
        TableProperty::Match(fields) => Some(fields.len()),
        _ => None,
    });
    assert_eq!((first.table_id, fields), (0, Some(40)));
    let ask = |tables: Vec<TableFeatures>| {
        Body::MultipartRequest(MultipartRequest::new(RequestBody::TableFeatures(tables)))
    };
    let with = |property: TableProperty| TableFeatures {
        properties: vec![property],
        name: FixedText::new("acl"),
        metadata_match: 0,
        metadata_write: 1,
        config: 3,
        max_entries: 1,
        ..first.clone()
    };
    let fields = |fields: &[Oxm]| fields.iter().filter_map(OxmId::of).collect::<Vec<_>>();
    let (dst, proto) = (Oxm::EthDst { value: [0; 6], mask: Some([0; 6]) }, Oxm::IpProto(0));
    // The others stay in the pipeline; of them nothing is asked.
    let others: Vec<_> =
        tables[1..].iter().map(|it| TableFeatures { properties: vec![], ..it.clone() }).collect();
    // Each table can do more than is asked for, which is what a controller is promised.
    for less in [
        first.clone(),
        with(TableProperty::Match(fields(&[dst.clone(), Oxm::InPort(0)]))),
        with(TableProperty::Wildcards(fields(std::slice::from_ref(&dst)))),
        with(TableProperty::NextTables { miss: true, tables: vec![1, 63] }),
        with(TableProperty::Instructions { miss: true, ids: vec![FeatureId::new(1)] }),
        with(TableProperty::ApplyActions { miss: false, ids: vec![] }),
        with(TableProperty::ApplySetField { miss: false, ids: fields(&[Oxm::VlanPcp(0)]) }),
    ] {
        let answers = bench.ask_on(0, ask([vec![less], others.clone()].concat()));
        let Body::MultipartReply(reply) = &answers[0] else { panic!("{answers:?}") };
        let ReplyBody::TableFeatures(tables) = &reply.body else { panic!("{reply:?}") };
        assert_eq!(&tables[0], first, "it stays as it is");
    }
    let more = TableFeatures { max_entries: u32::MAX, ..first.clone() };
    let masked = OxmId { has_mask: true, payload_len: 2, ..fields(&[proto])[0] };
    for (more, code) in [
        (vec![TableFeatures { table_id: 64, ..first.clone() }], TableFeaturesFailed::BadTable),
        (vec![first.clone(), first.clone()], TableFeaturesFailed::BadTable),
        (vec![more], TableFeaturesFailed::Eperm),
        (vec![with(TableProperty::Match(vec![masked]))], TableFeaturesFailed::BadArgument),
        (
            vec![with(TableProperty::NextTables { miss: false, tables: vec![0] })],
            TableFeaturesFailed::BadArgument,
        ),
        (
            vec![with(TableProperty::WriteActions { miss: false, ids: vec![FeatureId::new(99)] })],
            TableFeaturesFailed::BadArgument,
        ),
        (
            vec![with(TableProperty::WriteSetField { miss: false, ids: fields(&[dst]) })],
            TableFeaturesFailed::BadArgument,
        ),
        (
            vec![with(TableProperty::Unknown { type_: 99, data: vec![] })],
            TableFeaturesFailed::BadType,
        ),
    ] {
        bench.refused(ask(more), code);
    }
    bench.refused(Body::TableMod(TableMod { table_id: 64, config: 0 }), TableModFailed::BadTable);
    bench.refused(Body::TableMod(TableMod { table_id: 0, config: 4 }), TableModFailed::BadConfig);
    bench.install([Body::TableMod(TableMod { table_id: 0xff, config: 3 })]);
    let more = Body::MultipartRequest(MultipartRequest { flags: 1, body: RequestBody::Table });
    bench.refused(more, BadRequest::MultipartBufferOverflow);
    let multipart = |body| Body::MultipartRequest(MultipartRequest::new(body));
    let experimenter = RequestBody::Experimenter { experimenter: 1, exp_type: 1, data: vec![] };
    bench.refused(multipart(experimenter), BadRequest::BadExperimenter);
    let unknown = RequestBody::Unknown { type_: 99, data: vec![] };
    bench.refused(multipart(unknown), BadRequest::BadMultipart);
    bench.refused(multipart(RequestBody::PortStats { port_no: 9 }), BadRequest::BadPort);
    for (port_no, code) in [(1, QueueOpFailed::BadQueue), (9, QueueOpFailed::BadPort)] {
        bench.refused(multipart(RequestBody::Queue { port_no, queue_id: 4 }), code);
    }
    bench.refused(Body::QueueGetConfigRequest { port: 9 }, QueueOpFailed::BadPort);
    let ReplyBody::Desc(desc) = bench.reply(RequestBody::Desc) else { panic!("another reply") };
    assert_eq!(desc.dp_desc.as_str(), Some("on the bench"));
    let ReplyBody::GroupFeatures(groups) = bench.reply(RequestBody::GroupFeatures) else {
        panic!("another reply")
    };
    assert_eq!((groups.types, groups.max_groups), (15, [4; 4]));
    let ReplyBody::MeterFeatures(meters) = bench.reply(RequestBody::MeterFeatures) else {
        panic!("another reply")
    };
    assert_eq!((meters.max_meter, meters.max_bands, meters.band_types), (16, 3, 0b110));
}

#[test]
fn queues_are_listed_and_counted() {
    let mut bench = bench();
    let answers = bench.ask_on(0, Body::QueueGetConfigRequest { port: port::ANY });
    let [Body::QueueGetConfigReply(config)] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!((config.queues.len(), config.queues[5].port), (16, 2));
    bench.install([add(0, 1, vec![apply(vec![Action::SetQueue(2), output(3)])])]);
    for _ in 0..10 {
        bench.receive(1, &frame(1, 1_514));
    }
    bench.drain();
    let ReplyBody::Queue(queues) = bench.reply(RequestBody::Queue { port_no: 3, queue_id: 2 })
    else {
        panic!("another reply")
    };
    assert_eq!((queues[0].tx_packets, queues[0].tx_bytes, queues[0].tx_errors), (8, 8 * 1_518, 2));
}

#[test]
fn the_configuration_is_kept_and_checked() {
    let mut bench = bench();
    let config = |flags, miss_send_len| SwitchConfigMsg { flags, miss_send_len };
    assert_eq!(bench.ask_on(0, Body::GetConfigRequest), [Body::GetConfigReply(config(0, 128))]);
    bench.install([Body::SetConfig(config(config_flag::FRAG_DROP, 64))]);
    assert_eq!(bench.ask_on(0, Body::GetConfigRequest), [Body::GetConfigReply(config(1, 64))]);
    bench.refused(
        Body::SetConfig(config(config_flag::FRAG_REASM, 64)),
        SwitchConfigFailed::BadFlags,
    );
    bench.install([Body::FlowMod(any(1, vec![output(3)]))]);
    let mut fragment = frame(1, 100);
    fragment[20] |= 0x20; // more fragments
    assert_eq!(bench.ports_of(1, &fragment), [0; 0]);
    assert_eq!(bench.ports_of(1, &frame(1, 100)), [3]);
}

#[test]
fn meters_and_groups_have_limits() {
    let mut bench = bench();
    let meter = |flags, bands| {
        Body::MeterMod(MeterMod { command: MeterModCommand::Add, flags, meter_id: 1, bands })
    };
    let drop = MeterBand::Drop { rate: 1, burst_size: 0 };
    let remark = |prec_level| MeterBand::DscpRemark { rate: 1, burst_size: 1, prec_level };
    let of_kbit = |burst_size| MeterBand::Drop { rate: 1, burst_size };
    let exact = |burst_bytes| MeterBand::from(ExactDrop { rate_bps: 1, burst_bytes });
    let other = MeterBand::Unknown { type_: 9, rate: 1, burst_size: 1, data: vec![0; 4] };
    for (body, code) in [
        (meter(meter_flag::KBPS | meter_flag::PKTPS, vec![]), MeterModFailed::BadFlags),
        (meter(1 << 4 | meter_flag::KBPS, vec![]), MeterModFailed::BadFlags),
        (meter(meter_flag::KBPS, vec![drop.clone(); 4]), MeterModFailed::OutOfBands),
        (meter(meter_flag::KBPS, vec![remark(0)]), MeterModFailed::BadBandValue),
        (meter(meter_flag::KBPS, vec![remark(3)]), MeterModFailed::BadBandValue),
        (meter(meter_flag::KBPS, vec![other]), MeterModFailed::BadBand),
        (meter(meter_flag::PKTPS, vec![exact(1_519)]), MeterModFailed::BadFlags),
        (meter(meter_flag::KBPS, vec![drop.clone(), exact(0)]), MeterModFailed::BadBurst),
        (meter(meter_flag::KBPS, vec![exact(2_305_843_010)]), MeterModFailed::BadBurst),
        (meter(meter_flag::BURST, vec![of_kbit(18_446_745)]), MeterModFailed::BadBurst),
    ] {
        bench.refused(body, code);
    }
    let delete =
        || MeterMod { command: MeterModCommand::Delete, flags: 0, meter_id: 1, bands: vec![] };
    // Nobody looks at a burst without its flag, and packets are no bits.
    for (flags, bands) in [
        (meter_flag::KBPS, vec![of_kbit(u32::MAX), exact(2_305_843_009)]),
        (meter_flag::PKTPS | meter_flag::BURST, vec![of_kbit(u32::MAX)]),
        (meter_flag::PKTPS, vec![drop.clone(), remark(2)]),
    ] {
        bench.install([meter(flags, bands), Body::MeterMod(delete())]);
    }
    // kbit/s where no unit is named: a frame of 125 bytes counts a kbit at 1 kbit/s.
    let no_unit = meter(meter_flag::BURST, vec![MeterBand::Drop { rate: 1, burst_size: 1 }]);
    bench.install([no_unit]);
    bench.install([add(0, 1, vec![Instruction::Meter(1), apply(vec![output(2)])])]);
    let extra = config().meter_extra_bytes;
    let of_a_kbit = frame(1, 125 - usize::try_from(extra).expect("a few bytes"));
    assert_eq!(bench.ports_of(1, &of_a_kbit), [2]);
    assert_eq!(bench.ports_of(1, &of_a_kbit), [0; 0], "the bucket was of one kbit");
    bench.wait(Span::from_s(1));
    assert_eq!(bench.ports_of(1, &of_a_kbit), [2]);

    let bucket = |weight, watch_port, watch_group, actions| Bucket {
        weight,
        watch_port,
        watch_group,
        actions,
    };
    let plain = |actions| Bucket::new(actions);
    let add = |type_, id, buckets| group_of(GroupModCommand::Add, type_, id, buckets);
    let (select, failover) = (GroupType::Select, GroupType::FastFailover);
    let unknown = bucket(1, 9, group_id::ANY, vec![]);
    bench.refused(add(select, 1, vec![unknown]), GroupModFailed::BadWatch);
    bench.refused(add(failover, 1, vec![plain(vec![output(1)])]), GroupModFailed::BadWatch);
    let nowhere = bucket(0, 9, group_id::ANY, vec![]);
    bench.refused(add(failover, 1, vec![nowhere]), GroupModFailed::BadWatch);
    let nobody = bucket(0, port::ANY, 9, vec![]);
    bench.refused(add(failover, 1, vec![nobody]), GroupModFailed::BadWatch);
    bench.refused(add(GroupType::Unknown(9), 1, vec![]), GroupModFailed::BadType);
    bench.refused(
        add(GroupType::All, 1, vec![plain(vec![Action::Group(2)])]),
        BadAction::BadOutGroup,
    );
    let itself = vec![plain(vec![Action::Group(1)])];
    bench.refused(add(GroupType::All, 1, itself), GroupModFailed::Loop);
    bench.install([
        add(GroupType::All, 1, vec![plain(vec![output(1)])]),
        add(GroupType::All, 2, vec![plain(vec![Action::Group(1)])]),
    ]);
    let turned = vec![plain(vec![Action::Group(2)])];
    bench.refused(
        group_of(GroupModCommand::Modify, GroupType::All, 1, turned),
        GroupModFailed::Loop,
    );
    bench.refused(
        group_of(GroupModCommand::Delete, GroupType::All, 1, vec![]),
        GroupModFailed::ChainedGroup,
    );
    bench.install([
        group_of(GroupModCommand::Delete, GroupType::All, 2, vec![]),
        group_of(GroupModCommand::Delete, GroupType::All, 1, vec![]),
    ]);
    // One group after the other, each handing on to the one before.
    let mut many = tenuto_dataplane::switch::SwitchConfig { groups_max: 20, ..config() };
    // Not ended by its copies before it is by its actions.
    many.general.as_mut().expect("a general switch").copies_max = u32::MAX;
    let mut bench = Bench::with(many);
    bench.install([add(GroupType::Indirect, 1, vec![plain(vec![output(2)])])]);
    let chain = |id| add(GroupType::Indirect, id, vec![plain(vec![Action::Group(id - 1)])]);
    bench.install((2..9).map(chain));
    bench.refused(chain(9), GroupModFailed::ChainingUnsupported);
    bench.install([Body::FlowMod(any(1, vec![Action::Group(8)]))]);
    assert_eq!(bench.ports_of(1, &frame(1, 60)), [2], "through eight groups");
    // Chains multiply: a hundred times a hundred buckets is more than a frame may cost.
    let fan = |id, n| add(GroupType::All, id, vec![plain(vec![Action::Group(id - 1)]); n]);
    bench.install([add(GroupType::All, 10, vec![plain(vec![output(2)]); 100]), fan(11, 40)]);
    bench.refused(fan(12, 100), GroupModFailed::OutOfBuckets);
    // And so do lists of groups: a frame ends where it has cost enough.
    let actions = vec![Action::Group(11); 1_000];
    bench.install([Body::FlowMod(FlowMod { priority: 2, ..any(2, actions) })]);
    let work = bench.receive(1, &frame(1, 60));
    assert!((60_000..80_000).contains(&work.actions), "{work:?}");
    bench.drain();
    assert!(bench.is_idle());
}

#[test]
fn actions_are_refused_by_their_code() {
    let mut bench = bench();
    let ip = || vec![Oxm::EthType(0x0800)];
    let set = |oxm| vec![Action::SetField(oxm)];
    let dst = |mask| Oxm::Ipv4Dst { value: [10, 0, 0, 1], mask };
    let tagged = || Oxm::VlanVid { value: 0x1000, mask: Some(0x1000) };
    for (oxms, actions, code) in [
        (vec![], vec![output(port::TABLE)], BadAction::BadOutPort),
        (vec![], vec![output(port::LOCAL)], BadAction::BadOutPort),
        (vec![], vec![output(port::ANY)], BadAction::BadOutPort),
        (vec![], vec![output(0)], BadAction::BadOutPort),
        (vec![], vec![Action::PushVlan(0x0800)], BadAction::BadArgument),
        (vec![], vec![Action::PushMpls(0x8100)], BadAction::BadArgument),
        (vec![], vec![Action::PushPbb(0x8100)], BadAction::BadArgument),
        (vec![], set(Oxm::InPort(1)), BadAction::BadSetType),
        (vec![], set(Oxm::Metadata { value: 1, mask: None }), BadAction::BadSetType),
        (ip(), set(dst(Some([255; 4]))), BadAction::BadSetArgument),
        (ip(), set(Oxm::IpDscp(64)), BadAction::BadSetArgument),
        (vec![], set(dst(None)), BadAction::MatchInconsistent),
        (ip(), set(Oxm::TcpDst { value: 1, mask: None }), BadAction::MatchInconsistent),
        (ip(), set(Oxm::VlanPcp(1)), BadAction::MatchInconsistent),
        (vec![tagged()], set(Oxm::VlanVid { value: 5, mask: None }), BadAction::BadSetArgument),
        (vec![tagged()], set(Oxm::VlanVid { value: 0, mask: None }), BadAction::BadSetArgument),
        (
            ip(),
            vec![Action::PushMpls(0x8847), Action::SetField(dst(None))],
            BadAction::MatchInconsistent,
        ),
        (vec![], vec![Action::Unknown { type_: 99, data: vec![0; 4] }], BadAction::BadType),
    ] {
        bench.refused(entry(oxms, actions), code);
    }
    bench.install([
        entry(ip(), vec![Action::PushVlan(0x8100), Action::SetField(Oxm::VlanPcp(1))]),
        entry(ip(), vec![Action::PushMpls(0x8847), Action::SetField(Oxm::MplsLabel(7))]),
        entry(vec![], vec![Action::PopPbb, Action::SetField(dst(None))]),
    ]);
    // The action set finds the frame as the entry's own actions have left it.
    let both = |apply, write| {
        let instructions = vec![Instruction::WriteActions(write), Instruction::ApplyActions(apply)];
        Body::FlowMod(FlowMod { match_: Match::from(ip()), instructions, ..any(100, vec![]) })
    };
    bench.install([both(vec![Action::PushVlan(0x8100)], set(Oxm::VlanPcp(1)))]);
    // In the order of the set, not of writing: the tag is there when its field is set.
    let tag = [set(Oxm::PbbIsid { value: [0, 0, 5], mask: None }), vec![Action::PushPbb(0x88e7)]]
        .concat();
    bench.refused(entry(ip(), tag.clone()), BadAction::MatchInconsistent);
    bench.install([both(vec![], tag)]);
    let hidden = both(vec![Action::PushMpls(0x8847)], set(dst(None)));
    bench.refused(hidden, BadAction::MatchInconsistent);
    let packet_out =
        |in_port, actions, data| PacketOut { buffer_id: NO_BUFFER, in_port, actions, data };
    for (wrong, code) in [
        (packet_out(9, vec![], frame(1, 60)), ErrorCode::from(BadRequest::BadPort)),
        (packet_out(1, vec![], vec![0; 13]), BadRequest::BadPacket.into()),
        (packet_out(1, vec![output(9)], frame(1, 60)), BadAction::BadOutPort.into()),
        (
            PacketOut { buffer_id: 5, ..packet_out(1, vec![], vec![]) },
            BadRequest::BufferUnknown.into(),
        ),
    ] {
        bench.refused(Body::PacketOut(wrong), code);
    }
    bench.refused(
        Body::FlowMod(FlowMod { buffer_id: 5, ..any(1, vec![]) }),
        BadRequest::BufferUnknown,
    );
}

#[test]
fn without_a_controller_it_keeps_its_entries_or_becomes_a_bridge() {
    for (mode, expected) in [(FailMode::Secure, vec![3]), (FailMode::Standalone, vec![2, 3, 4])] {
        let mut config = config();
        config.general.as_mut().expect("general").fail_mode = mode;
        let mut bench = Bench::with(config);
        bench.connect(1);
        bench.install([Body::FlowMod(any(1, vec![output(3)]))]);
        bench.ask_on(1, role(ControllerRole::Slave, 1));
        bench.switch.disconnected();
        assert_eq!(bench.ports_of(1, &frame(1, 60)), [3], "a slave is a controller as well");
        bench.switch.disconnected_from(ConnectionId(1));
        assert_eq!(bench.ports_of(1, &frame(1, 60)), expected);
        if mode == FailMode::Standalone {
            // The source of that frame was learned, so the way back is known.
            let mut back = frame(1, 60);
            let (there, from) = (back[..6].to_vec(), back[6..12].to_vec());
            back[..6].copy_from_slice(&from);
            back[6..12].copy_from_slice(&there);
            back[6] = 2; // no group address
            assert_eq!(bench.ports_of(2, &back), [1]);
        }
        bench.switch.connected(&mut bench.fx);
        assert_eq!(bench.ports_of(1, &frame(1, 60)), [3], "its entries are in force again");
        assert!(bench.is_idle());
    }
}

#[test]
fn a_meter_limits_what_goes_to_the_controllers() {
    let mut bench = bench();
    let bands = vec![MeterBand::Drop { rate: 1, burst_size: 3 }];
    let (flags, command) = (meter_flag::PKTPS | meter_flag::BURST, MeterModCommand::Add);
    let meter_id = meter_id::CONTROLLER;
    bench.install([
        Body::MeterMod(MeterMod { command, flags, meter_id, bands: bands.clone() }),
        Body::FlowMod(any(0, vec![to_controller(0xffff)])),
    ]);
    (0..5).for_each(|_| {
        bench.receive(1, &frame(1, 60));
    });
    assert_eq!(bench.heard(0).len(), 3);
    bench.wait(Span::from_s(1));
    (0..2).for_each(|_| {
        bench.receive(1, &frame(1, 60));
    });
    assert_eq!(bench.heard(0).len(), 1);
    let ReplyBody::Meter(meters) = bench.reply(RequestBody::Meter { meter_id }) else {
        panic!("another reply")
    };
    assert_eq!((meters[0].packet_in_count, meters[0].bands[0].packet_band_count), (7, 3));
    bench.install([Body::MeterMod(MeterMod {
        command: MeterModCommand::Delete,
        flags,
        meter_id,
        bands,
    })]);
    (0..5).for_each(|_| {
        bench.receive(1, &frame(1, 60));
    });
    assert_eq!(bench.heard(0).len(), 5);
}

#[test]
fn a_meter_that_is_not_there_is_an_error_and_such_a_group_is_not() {
    let mut bench = bench();
    let limit = MeterMod {
        command: MeterModCommand::Add,
        flags: meter_flag::KBPS,
        meter_id: 2,
        bands: vec![MeterBand::Drop { rate: 1, burst_size: 0 }],
    };
    bench.install([Body::MeterMod(limit)]);
    let last = config().meters_max.try_into().expect("few meters");
    for meter_id in [0, 1, last, meter_id::MAX, meter_id::CONTROLLER] {
        for body in [RequestBody::Meter { meter_id }, RequestBody::MeterConfig { meter_id }] {
            let request = Body::MultipartRequest(MultipartRequest::new(body));
            bench.refused(request, MeterModFailed::UnknownMeter);
        }
    }
    for meter_id in [2, meter_id::ALL] {
        let reply = bench.reply(RequestBody::Meter { meter_id });
        assert!(matches!(&reply, ReplyBody::Meter(list) if list.len() == 1), "{reply:?}");
        let reply = bench.reply(RequestBody::MeterConfig { meter_id });
        assert!(matches!(&reply, ReplyBody::MeterConfig(list) if list.len() == 1), "{reply:?}");
    }
    for group_id in [1, group_id::ALL] {
        assert_eq!(bench.reply(RequestBody::Group { group_id }), ReplyBody::Group(vec![]));
    }
}

#[test]
fn only_selecting_groups_have_weights() {
    use GroupType as T;
    let mut bench = bench();
    let bucket = |weight| Bucket { weight, watch_port: 1, ..Bucket::new(vec![output(1)]) };
    let command = GroupModCommand::Add;
    for (id, type_) in [(1, T::All), (2, T::Indirect), (3, T::FastFailover)] {
        let weighed = group_of(command, type_, id, vec![bucket(1)]);
        bench.refused(weighed, GroupModFailed::InvalidGroup);
        bench.install([group_of(command, type_, id, vec![bucket(0)])]);
    }
    for weight in [0, 2] {
        let id = 5 + u32::from(weight);
        let buckets = vec![bucket(weight)];
        bench.install([group_of(command, T::Select, id, buckets)]);
        bench.install([group_of(GroupModCommand::Delete, T::Select, id, vec![])]);
    }
}

#[test]
fn a_packet_of_no_port_comes_from_the_controller() {
    let mut bench = bench();
    let met = entry(vec![Oxm::InPort(port::CONTROLLER)], vec![output(2)]);
    bench.install([met]);
    for in_port in [0, port::ANY, port::CONTROLLER] {
        let packet_out = |actions, data| {
            Body::PacketOut(PacketOut { buffer_id: NO_BUFFER, in_port, actions, data })
        };
        assert!(bench.ask_on(0, packet_out(vec![], vec![])).is_empty(), "nothing to do");
        assert!(bench.ask_on(0, packet_out(vec![output(port::TABLE)], frame(1, 60))).is_empty());
        assert_eq!(bench.drain_flows(), [(2, 1)]);
    }
}

/// Controllers tell switches and ports apart by these addresses: spanning trees take their bridges' order
/// from them, routers send from them.
#[test]
fn no_two_ports_of_a_controllers_switches_have_one_address() {
    let mut known = std::collections::BTreeSet::new();
    for datapath_id in [1, 2, 3, 4, 0x0100_0001, 0x0000_0200_0000_0001, 0x0100_0000_0000_0001] {
        let mut bench = Bench::with(SwitchConfig { datapath_id, ..config() });
        let described = bench.reply(RequestBody::PortDescription);
        let ReplyBody::PortDescription(ports) = described else { panic!("{described:?}") };
        for port in ports {
            assert_eq!(port.hw_addr[0] & 3, 2, "of one station, given locally");
            assert!(known.insert(port.hw_addr), "{datapath_id:#x}: {:02x?}", port.hw_addr);
        }
    }
}
