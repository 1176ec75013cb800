//! Writes the seeds that are made from values, not by hand.

use std::path::{Path, PathBuf};
use tenuto_openflow::constants::meter_flag;
use tenuto_openflow::{
    Action, Body, Bucket, ExactDrop, Experimenter, FlowMod, FlowModCommand, FlowStatsRequest,
    GroupMod, GroupModCommand, GroupType, Hello, Instruction, Match, Message, MeterBand, MeterMod,
    MeterModCommand, ModeConfig, ModesMessage, MonitorCommand, MonitorContract, MonitorKind,
    MonitorMod, MultipartRequest, Oxm, QueueShare, QueuesMessage, RequestBody,
    SlicesMessage,
};
use tenuto_wire::signal::SIGNAL_FRAME_LEN;
use tenuto_wire::{LinkKey, MacAddress, ShimRepr, SignalKind, SignalRepr, Stamp, UdpFrame};

const GENERATION: u64 = 7;

fn seed(target: &str, name: &str, bytes: &[u8]) {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    std::fs::write(folder.join(name), bytes).expect("the corpus is there");
}

fn stream(bodies: &[Body]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (xid, body) in (1..).zip(bodies) {
        Message::new(xid, body.clone()).emit(&mut bytes);
    }
    bytes
}

const fn modes(message: ModesMessage) -> Body {
    Body::Experimenter(Experimenter::Modes(message))
}

fn flow_mod(table: u8, flow: u8, instructions: Vec<Instruction>) -> FlowMod {
    FlowMod {
        cookie: u64::from(flow),
        match_: Match::from(vec![Oxm::EthDst { value: [3, 0, 0, 0, 0, flow], mask: None }]),
        instructions,
        ..FlowMod::new(FlowModCommand::Add, table)
    }
}

/// Two levels; flow 1 monitored and metered, to a group; flow 2 in level 0 only.
fn tables() -> Vec<Body> {
    let output = |queue, port| vec![Action::SetQueue(queue), Action::Output { port, max_len: 0 }];
    let apply = Instruction::ApplyActions;
    let contract =
        |level, period_ns| MonitorContract { level, bytes_max: 3_000, period_ns, jitter_ns: 1_000 };
    let goto = Instruction::GotoTable;
    vec![
        Body::Hello(Hello::default()),
        Body::MeterMod(MeterMod {
            command: MeterModCommand::Add,
            flags: meter_flag::KBPS | meter_flag::BURST,
            meter_id: 1,
            bands: vec![ExactDrop { rate_bps: 8_000_001, burst_bytes: 2_501 }.into()],
        }),
        Body::GroupMod(GroupMod {
            command: GroupModCommand::Add,
            type_: GroupType::All,
            group_id: 1,
            buckets: vec![Bucket::new(output(1, 2)), Bucket::new(output(2, 3))],
        }),
        modes(ModesMessage::MonitorMod(MonitorMod {
            command: MonitorCommand::Add,
            monitor_id: 1,
            kind: MonitorKind::Message,
            contracts: vec![contract(0, 100_000_000), contract(1, 1_000_000)],
        })),
        modes(ModesMessage::ModeConfig(ModeConfig {
            generation: GENERATION,
            levels: 2,
            quiet_ns: 5_000_000,
            signal_copies: 2,
            dwell_ns: 0,
            members: vec![2, 3],
        })),
        Body::FlowMod(flow_mod(0, 1, vec![apply(vec![Action::Monitor(1)]), goto(1)])),
        Body::FlowMod(flow_mod(0, 2, vec![goto(1)])),
        Body::FlowMod(flow_mod(1, 1, vec![Instruction::Meter(1), goto(2)])),
        Body::FlowMod(flow_mod(1, 2, vec![goto(2)])),
        Body::FlowMod(flow_mod(2, 1, vec![apply(vec![Action::Group(1)])])),
        Body::FlowMod(flow_mod(2, 2, vec![Instruction::WriteActions(output(3, 3))])),
        shadow(flow_mod(1, 1, vec![Instruction::Meter(1), goto(2)])),
        shadow(flow_mod(2, 1, vec![apply(vec![Action::Group(1)])])),
        modes(ModesMessage::ModeActivate { generation: GENERATION, epoch: 1, level: 0 }),
        Body::BarrierRequest,
    ]
}

const fn shadow(flow_mod: FlowMod) -> Body {
    modes(ModesMessage::ShadowFlowMod { level: 1, flow_mod })
}

fn questions() -> Vec<Body> {
    let request = |body| Body::MultipartRequest(MultipartRequest { flags: 0, body });
    let delete = FlowMod::new(FlowModCommand::Delete, 0xff);
    vec![
        Body::FeaturesRequest,
        request(RequestBody::Flow(FlowStatsRequest::ALL)),
        request(RequestBody::GroupDesc),
        modes(ModesMessage::ModeStatusRequest),
        modes(ModesMessage::MonitorStatsRequest),
        modes(ModesMessage::ShadowStatsRequest { level: 1 }),
        Body::EchoRequest(vec![1, 2, 3]),
        Body::FlowMod(delete),
    ]
}

fn frame(flow: u8, message_id: u32, payload_len: usize) -> Vec<u8> {
    let udp = UdpFrame {
        eth_dst: MacAddress([3, 0, 0, 0, 0, flow]),
        eth_src: MacAddress([2, 0, 0, 0, 0, 9]),
        ip_src: [10, 0, 0, 1],
        ip_dst: [10, 0, 1, flow],
        udp_src: 1,
        udp_dst: 2,
        dscp: 0,
        payload_len,
    };
    let mut buffer = vec![0; 1_514];
    let written = udp.emit(&mut buffer).expect("fits");
    let payload = &mut buffer[written.payload];
    ShimRepr { message_id, message_bytes: 9, sequence: 0 }.emit(payload);
    let stamp = Stamp { release: tenuto_units::Instant::ZERO, flow: flow.into(), message_id };
    assert!(stamp.emit(&mut payload[12..]));
    buffer.truncate(written.len);
    buffer
}

fn signal(kind: SignalKind, epoch: u64, level: u8, sequence: u64) -> Vec<u8> {
    let (from_level, hops, generation, origin, nonce) = (0, 0, GENERATION, 3, sequence);
    let signal =
        SignalRepr { kind, level, from_level, hops, generation, epoch, origin, nonce, sequence };
    let mut bytes = vec![0; SIGNAL_FRAME_LEN];
    signal.emit(MacAddress([2, 0, 0, 0, 0, 3]), &LinkKey::new([3; 16]), &mut bytes);
    bytes
}

/// Every family of messages, field and action that only a general switch takes.
fn everything() -> Vec<Body> {
    let output = |port| Action::Output { port, max_len: 64 };
    let apply = |actions| vec![Instruction::ApplyActions(actions)];
    let entry = |oxms: Vec<Oxm>, actions| {
        Body::FlowMod(FlowMod {
            match_: Match::from(oxms),
            instructions: apply(actions),
            idle_timeout: 2,
            flags: 1,
            ..FlowMod::new(FlowModCommand::Add, 0)
        })
    };
    let group = |type_, group_id, buckets| {
        Body::GroupMod(GroupMod { command: GroupModCommand::Add, type_, group_id, buckets })
    };
    let watching = Bucket { watch_port: 2, ..Bucket::new(vec![output(2)]) };
    let weighted =
        |to| Bucket { weight: 1, ..Bucket::new(vec![Action::PushVlan(0x8100), output(to)]) };
    let v6 = |last| [0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    let request = |body| Body::MultipartRequest(MultipartRequest { flags: 0, body });
    vec![
        Body::Hello(Hello::default()),
        Body::MeterMod(MeterMod {
            command: MeterModCommand::Add,
            flags: meter_flag::PKTPS,
            meter_id: 1,
            bands: vec![
                MeterBand::DscpRemark { rate: 1, burst_size: 0, prec_level: 1 },
                MeterBand::Drop { rate: 9, burst_size: 0 },
            ],
        }),
        group(GroupType::FastFailover, 1, vec![watching]),
        group(GroupType::Select, 2, vec![weighted(1), weighted(3)]),
        group(GroupType::Indirect, 3, vec![Bucket::new(vec![Action::Group(2)])]),
        entry(
            vec![Oxm::EthType(0x8847), Oxm::MplsLabel(7)],
            vec![
                Action::CopyTtlIn,
                Action::DecMplsTtl,
                Action::SetField(Oxm::MplsTc(3)),
                Action::PopMpls(0x0800),
                output(3),
            ],
        ),
        entry(
            vec![Oxm::EthType(0x88e7), Oxm::PbbIsid { value: [0, 0, 9], mask: None }],
            vec![Action::PopPbb, output(0xffff_fffb)],
        ),
        entry(
            vec![Oxm::EthType(0x0800), Oxm::IpProto(17)],
            vec![
                Action::DecNwTtl,
                Action::SetField(Oxm::UdpDst { value: 9, mask: None }),
                Action::PushMpls(0x8847),
                Action::CopyTtlOut,
                Action::PushPbb(0x88e7),
                Action::Group(3),
                output(0xffff_fffd),
            ],
        ),
        entry(
            vec![
                Oxm::EthType(0x86dd),
                Oxm::IpProto(58),
                Oxm::Ipv6Src { value: v6(1), mask: None },
                Oxm::Ipv6Exthdr { value: 0, mask: Some(0x40) },
                Oxm::Icmpv6Type(135),
                Oxm::Ipv6NdTarget(v6(2)),
            ],
            vec![Action::SetField(Oxm::Ipv6NdSll([2, 0, 0, 0, 0, 7])), Action::Group(1)],
        ),
        entry(vec![Oxm::EthType(0x0806), Oxm::ArpOp(1)], vec![output(0xffff_fffa)]),
        Body::PacketOut(tenuto_openflow::PacketOut {
            buffer_id: 0xffff_ffff,
            in_port: 1,
            actions: vec![Action::SetQueue(1), output(0xffff_fff9)],
            data: frame(1, 1, 60),
        }),
        Body::RoleRequest(tenuto_openflow::Role {
            role: tenuto_openflow::ControllerRole::Master,
            generation_id: 1,
        }),
        Body::SetAsync(tenuto_openflow::AsyncConfig::default()),
        Body::GetAsyncRequest,
        Body::QueueGetConfigRequest { port: 0xffff_ffff },
        Body::TableMod(tenuto_openflow::TableMod { table_id: 0, config: 3 }),
        request(RequestBody::TableFeatures(vec![])),
        request(RequestBody::GroupFeatures),
        request(RequestBody::MeterFeatures),
        request(RequestBody::Aggregate(FlowStatsRequest::ALL)),
        request(RequestBody::Queue { port_no: 1, queue_id: 0 }),
        request(RequestBody::Group { group_id: 3 }),
        Body::BarrierRequest,
    ]
}

/// Levels and weights of queues, frames through them, and what they have seen.
fn queues() -> Vec<Body> {
    let ours = |message| Body::Experimenter(Experimenter::Queues(message));
    let share = |queue, level, weight| QueueShare { queue, level, weight };
    let send = |queue| vec![Action::SetQueue(queue), Action::Output { port: 2, max_len: 0 }];
    let apply = |queue| vec![Instruction::ApplyActions(send(queue))];
    let port = 0xffff_ffff;
    vec![
        Body::Hello(Hello::default()),
        ours(QueuesMessage::QueueMod { port, shares: vec![share(1, 1, 1), share(2, 1, 3)] }),
        Body::FlowMod(flow_mod(0, 1, apply(1))),
        Body::FlowMod(flow_mod(0, 2, apply(2))),
        Body::QueueGetConfigRequest { port },
        ours(QueuesMessage::DetailRequest { port, queue: 0xffff_ffff }),
    ]
}

/// Length, kind, content: the life of a general switch.
/// An entry that floods every frame.
fn flood() -> Vec<u8> {
    let port = tenuto_openflow::constants::port::FLOOD;
    let instructions = vec![Instruction::ApplyActions(vec![Action::Output { port, max_len: 0 }])];
    let flow_mod = FlowMod { instructions, ..FlowMod::new(FlowModCommand::Add, 0) };
    stream(&[Body::Hello(Hello::default()), Body::FlowMod(flow_mod)])
}

/// A frame of a VLAN.
fn in_vlan(vlan: u8) -> Vec<u8> {
    seed("wire_frames", "state", &signal(SignalKind::State, 2, 1, 1));
    seed("wire_frames", "known", &signal(SignalKind::Known, 2, 1, 1));
    let mut tagged = frame(1, 7, 60);
    tagged.splice(12..12, [0x81, 0, 0, vlan]);
    tagged
}

fn life(events: &[(u8, Vec<u8>)]) -> Vec<u8> {
    arrivals(events)
}

/// Length, port, frame.
fn arrivals(frames: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (port, frame) in frames {
        bytes.extend(u16::try_from(frame.len()).expect("small").to_be_bytes());
        bytes.push(*port);
        bytes.extend(frame);
    }
    bytes
}

#[test]
#[ignore = "writes the seeds anew"]
fn write_the_seeds() {
    let (tables, questions) = (stream(&tables()), stream(&questions()));
    let all = [tables.clone(), questions.clone()].concat();
    seed("openflow_decode", "tables", &tables);
    seed("openflow_decode", "questions", &questions);
    seed("switch_control", "modes", &tables);
    seed("switch_control", "modes_and_questions", &all);
    seed("switch_control", "questions", &questions);

    let everything = stream(&everything());
    seed("openflow_decode", "everything", &everything);
    let mut label = frame(1, 7, 60);
    label.splice(12..14, [0x88, 0x47, 0, 0, 0x71, 64]);
    let events = [
        (0, everything.clone()),
        (0x13, frame(1, 7, 60)),
        (0x23, label),
        (0x25, Vec::new()),
        (0x80, questions.clone()),
        (0x13, frame(2, 7, 60)),
        (0xff, Vec::new()),
        (0x06, Vec::new()),
        (0x86, Vec::new()),
        (0x13, frame(1, 8, 60)),
    ];
    seed("switch_general", "everything", &life(&events));

    // Both slices flood what enters; then frames of each, and of nobody.
    let flood = flood();
    let events = [
        (0x10, flood.clone()),
        (0x20, flood),
        (0x12, frame(1, 7, 60)),
        (0x22, in_vlan(2)),
        (0x32, in_vlan(3)),
        (0x22, in_vlan(4)),
        (0x00, stream(&[Body::Experimenter(Experimenter::Slices(SlicesMessage::Request))])),
        (0xff, Vec::new()),
    ];
    seed("switch_slices", "floods", &life(&events));

    let queues = stream(&queues());
    seed("openflow_decode", "queues", &queues);
    seed("switch_control", "queues", &queues);
    let sent = (0..12).map(|id| (0x13, frame(1 + (id % 2) as u8, id, 60)));
    let mut events: Vec<(u8, Vec<u8>)> = vec![(0, queues.clone())];
    events.extend(sent);
    events.extend([(0x17, Vec::new()), (0, queues)]);
    seed("switch_general", "queues", &life(&events));

    seed("wire_frames", "message", &frame(1, 7, 60));
    seed("wire_frames", "raise", &signal(SignalKind::Raise, 2, 1, 1));
    seed("wire_frames", "state", &signal(SignalKind::State, 2, 1, 1));
    seed("wire_frames", "known", &signal(SignalKind::Known, 2, 1, 1));
    let mut tagged = frame(1, 7, 60);
    tagged.splice(12..12, [0x81, 0, 0, 1]);
    seed("wire_frames", "tagged", &tagged);

    let flows: Vec<_> = (0..6).map(|id| (1, frame(1 + (id % 3) as u8, id, 60))).collect();
    seed("switch_receive", "flows", &arrivals(&flows));
    let change = [
        (3, signal(SignalKind::Raise, 2, 1, 1)),
        (1, frame(1, 1, 60)),
        (1, frame(2, 1, 60)),
        (3, signal(SignalKind::Challenge, 0, 1, 2)),
        (3, signal(SignalKind::Vote, 3, 0, 3)),
        (3, signal(SignalKind::Confirm, 3, 0, 4)),
    ];
    seed("switch_receive", "raise_and_return", &arrivals(&change));

    // A mode that is told again, one that is owed back, and one that lags behind.
    let healing = [
        (3, signal(SignalKind::State, 2, 1, 1)),
        (3, signal(SignalKind::Known, 2, 1, 2)),
        (1, frame(1, 1, 60)),
        (3, signal(SignalKind::State, 1, 0, 3)),
        (3, signal(SignalKind::Known, 4, 0, 4)),
    ];
    seed("switch_receive", "healing", &arrivals(&healing));

    let text = include_str!("../../networks/line.yaml");
    let sources = tenuto_model::MemorySources::new().with("n.yaml", text);
    let (network, _) = tenuto_model::read_network(&sources, "n.yaml").expect("it is shipped");
    let options = tenuto_planner::Options { would_fit: false, ..Default::default() };
    let plan = tenuto_planner::plan(&network, &options).to_json();
    for target in ["plan_json", "certify_plan"] {
        seed(target, "line", plan.as_bytes());
    }
}
