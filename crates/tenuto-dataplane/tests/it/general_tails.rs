//! Frames that tracks lead to several ports, through groups and through changes fare as frames that walk
//! do, whatever changes in between.
//!
//! The twin compares entry after entry: it has no tracks, and takes its frames one by one.

use proptest::prelude::*;
use support::Bench;
use support::general::{config, group_of, meter_of};
use tenuto_dataplane::Frames;
use tenuto_dataplane::switch::{Burst, ClassifierKind, SwitchConfig};
use tenuto_openflow::constants::{controller_max_len, port, port_config};
use tenuto_openflow::*;
use tenuto_units::Span;

use crate::support;

#[derive(Clone, Copy, Debug)]
struct Sent {
    from: u32,
    flow: u8,
    tag: Option<u8>,
    ttl: u8,
    len: usize,
}

#[derive(Clone, Debug)]
enum Step {
    Frame(Sent),
    Change(Box<FlowMod>),
    Group(Box<Body>),
    Link(u32, bool),
    Port(u32, u32),
    Meter(u32, bool),
    WaitMs(u64),
}

fn to(flow: u8) -> Oxm {
    Oxm::EthDst { value: [3, 0, 0, 0, 0, flow], mask: None }
}

fn from(host: u8) -> Oxm {
    Oxm::EthSrc { value: [2, 0, 0, 0, 0, host], mask: None }
}

/// What the entries of a switch compare.
#[derive(Clone, Copy, Debug)]
enum Style {
    /// Anything.
    Wide,
    /// First what came, then what others have written: a track may lead where its first entry does not tell.
    Written,
    /// First what came, then nothing.
    Bare,
}

/// What an entry compares: what came, what others have written, and nothing.
fn matching(kind: u8, flow: u8, other: u8) -> Match {
    let metadata = Oxm::Metadata { value: other.into(), mask: Some(3) };
    let tunnel = Oxm::TunnelId { value: other.into(), mask: None };
    let ip = [Oxm::EthType(0x0800), Oxm::IpProto(17)];
    Match::from(match kind {
        0..=2 => [vec![to(flow)], ip.to_vec()].concat(),
        3 => vec![Oxm::InPort(other.into()), to(flow)],
        4 => vec![to(flow)],
        5 => vec![to(flow), metadata],
        6 => vec![metadata],
        7 => vec![tunnel],
        8 => vec![from(other)],
        9 => [ip.to_vec(), vec![Oxm::Ipv4Dst { value: [10, 0, 1, other], mask: None }]].concat(),
        _ => vec![],
    })
}

fn send(port: u32) -> Action {
    Action::Output { port, max_len: controller_max_len::NO_BUFFER }
}

fn action() -> impl Strategy<Value = Action> {
    let (number, small) = (1u32..5, 1u8..4);
    let queue = (0u32..4).prop_map(Action::SetQueue);
    let output = number.clone().prop_map(send);
    let reserved = prop::sample::select(&[port::IN_PORT, port::FLOOD, port::ALL, port::NORMAL][..])
        .prop_map(send);
    let change = (0u8..14, small).prop_map(|(kind, value)| match kind {
        0 => Action::SetField(to(value)),
        1 => Action::SetField(from(value)),
        2 => Action::SetField(Oxm::TunnelId { value: value.into(), mask: None }),
        3 => Action::SetField(Oxm::Ipv4Dst { value: [10, 0, 1, value], mask: None }),
        4 => Action::SetField(Oxm::UdpDst { value: 20_000 + u16::from(value), mask: None }),
        5 => Action::SetField(Oxm::VlanVid { value: 0x1000 | u16::from(value), mask: None }),
        6 | 7 => Action::DecNwTtl,
        8 => Action::SetNwTtl(value),
        9 => Action::PushVlan(0x8100),
        10 => Action::PopVlan,
        11 => Action::PushMpls(0x8847),
        12 => Action::DecMplsTtl,
        _ => Action::PopMpls(0x0800),
    });
    prop_oneof![
        3 => queue,
        9 => output,
        1 => reserved,
        6 => change,
        4 => number.prop_map(Action::Group),
        1 => Just(send(port::CONTROLLER)),
    ]
}

fn instructions(table: u8) -> impl Strategy<Value = Vec<Instruction>> {
    let actions = || prop::collection::vec(action(), 0..5);
    let parts = (0u8..16, 0u8..16, actions(), actions(), 0u64..4);
    parts.prop_map(move |(first, which, apply, write, metadata)| {
        let mut all = Vec::new();
        if first == 0 {
            all.push(Instruction::Meter(1));
        }
        if which & 1 == 0 || table == 3 {
            all.push(Instruction::ApplyActions(apply));
        }
        if first & 7 == 1 {
            all.push(Instruction::ClearActions);
        }
        if which & 2 == 2 {
            all.push(Instruction::WriteActions(write));
        }
        if first & 3 == 2 {
            all.push(Instruction::WriteMetadata { metadata, mask: 3 });
        }
        if table < 3 && which & 12 != 0 {
            all.push(Instruction::GotoTable(table + 1));
        }
        all
    })
}

fn kind(style: Style, table: u8, kind: u8) -> u8 {
    match (style, table) {
        // The first table tells frames apart by what they come with, mostly.
        (Style::Wide, 0) if kind > 5 => 0,
        (Style::Wide, _) => kind,
        (_, 0) => 4,
        (Style::Written, _) => [4, 5, 6, 7, 10][usize::from(kind) % 5],
        (Style::Bare, _) => 10,
    }
}

fn change(style: Style) -> impl Strategy<Value = Step> {
    let command = prop_oneof![
        8 => Just(FlowModCommand::Add),
        1 => Just(FlowModCommand::Modify),
        1 => Just(FlowModCommand::ModifyStrict),
        1 => Just(FlowModCommand::DeleteStrict)
    ];
    let place = (0u8..4, 0u8..11, 1u8..4, 1u8..4, 0u16..3);
    let with = |place: (u8, u8, u8, u8, u16)| (Just(place), instructions(place.0));
    (command, place.prop_flat_map(with)).prop_map(move |(command, (place, instructions))| {
        let (table_id, drawn, flow, other, priority) = place;
        let kind = kind(style, table_id, drawn);
        Step::Change(Box::new(FlowMod {
            priority,
            cookie: u64::from(flow) * u64::from(table_id),
            match_: matching(kind, flow, other),
            instructions,
            ..FlowMod::new(command, table_id)
        }))
    })
}

fn changed_group() -> impl Strategy<Value = Step> {
    let command = prop_oneof![
        2 => Just(GroupModCommand::Add),
        6 => Just(GroupModCommand::Modify),
        1 => Just(GroupModCommand::Delete)
    ];
    let type_ = prop::sample::select(
        &[GroupType::All, GroupType::Indirect, GroupType::Select, GroupType::FastFailover][..],
    );
    let bucket = (prop::collection::vec(action(), 0..4), 0u16..3, 1u32..5);
    let buckets = prop::collection::vec(bucket, 0..4);
    (command, type_, 1u32..5, buckets).prop_map(|(command, type_, id, buckets)| {
        let bucket = |(actions, weight, watch_port): (Vec<Action>, u16, u32)| {
            let watches = type_ == GroupType::FastFailover || weight == 2;
            let watch_port = if watches { watch_port } else { port::ANY };
            let weight = if type_ == GroupType::Select { weight } else { 0 };
            Bucket { weight, watch_port, ..Bucket::new(actions) }
        };
        let mut buckets: Vec<Bucket> = buckets.into_iter().map(bucket).collect();
        if type_ == GroupType::Indirect {
            buckets.truncate(1);
        }
        Step::Group(Box::new(group_of(command, type_, id, buckets)))
    })
}

fn sent() -> impl Strategy<Value = Step> {
    let ttl = prop_oneof![1 => Just(1u8), 1 => Just(2), 3 => Just(64)];
    let len = prop_oneof![8 => 60usize..200, 1 => Just(1_514)];
    (1u32..5, 1u8..4, prop::option::weighted(0.3, 6u8..8), ttl, len)
        .prop_map(|(from, flow, tag, ttl, len)| Step::Frame(Sent { from, flow, tag, ttl, len }))
}

fn step(style: Style) -> impl Strategy<Value = Step> {
    let config = prop::sample::select(&[0, port_config::NO_FWD, port_config::PORT_DOWN][..]);
    prop_oneof![
        24 => sent(),
        6 => change(style),
        3 => changed_group(),
        2 => (1u32..5, any::<bool>()).prop_map(|(number, is_up)| Step::Link(number, is_up)),
        1 => (1u32..5, config).prop_map(|(number, config)| Step::Port(number, config)),
        1 => (1u32..50, any::<bool>()).prop_map(|(rate, remarks)| Step::Meter(rate, remarks)),
        2 => (0u64..500).prop_map(Step::WaitMs),
    ]
}

fn bytes_of(sent: Sent) -> Vec<u8> {
    let mut bytes = support::frame(sent.flow, sent.len);
    bytes[14 + 8] = sent.ttl;
    if let Some(tag) = sent.tag {
        bytes.truncate(1_510);
        bytes.splice(12..12, [0x81, 0, 0, tag]);
    }
    bytes
}

/// Groups of every type, and entries that use them, several ports, changes and action sets.
fn begin(classifier: ClassifierKind, style: Style) -> Bench {
    let mut bench =
        Bench::with(SwitchConfig { classifier, groups_max: 8, entries_max: 200, ..config() });
    let tagged = vec![Action::PushVlan(0x8100), Action::SetQueue(1), send(2)];
    let watching =
        |number| Bucket { watch_port: number, ..Bucket::new(vec![Action::DecNwTtl, send(number)]) };
    let weighed = |weight, number| Bucket { weight, ..Bucket::new(vec![send(number)]) };
    let add = GroupModCommand::Add;
    let routed = vec![Action::SetField(to(9)), Action::DecNwTtl, send(2), send(4)];
    bench.install([
        meter_of(MeterModCommand::Add, 1, 20, false),
        group_of(add, GroupType::Indirect, 1, vec![Bucket::new(vec![send(3)])]),
        group_of(add, GroupType::Select, 2, vec![weighed(1, 2), weighed(2, 3), weighed(3, 4)]),
        group_of(add, GroupType::FastFailover, 3, vec![watching(2), watching(3)]),
        group_of(
            add,
            GroupType::All,
            4,
            vec![
                Bucket::new(tagged),
                Bucket::new(vec![Action::SetField(from(1)), Action::Group(2)]),
                Bucket::new(vec![send(4)]),
            ],
        ),
    ]);
    let wants = AsyncConfig { packet_in_mask: [0b111, 0], ..AsyncConfig::default() };
    bench.install([Body::SetAsync(wants)]);
    let entry = |table, drawn, flow, instructions| {
        let match_ = matching(kind(style, table, drawn), flow, 1);
        let cookie = u64::from(flow);
        Body::FlowMod(FlowMod {
            match_,
            instructions,
            cookie,
            ..FlowMod::new(FlowModCommand::Add, table)
        })
    };
    let (apply, write) = (Instruction::ApplyActions, Instruction::WriteActions);
    bench.install([
        entry(0, 0, 1, vec![apply(vec![Action::Group(4), send(2)])]),
        entry(
            0,
            0,
            2,
            vec![
                write(vec![Action::SetQueue(2), Action::DecNwTtl, Action::Group(3)]),
                Instruction::WriteMetadata { metadata: 1, mask: 3 },
                Instruction::GotoTable(1),
            ],
        ),
        entry(0, 0, 3, vec![Instruction::Meter(1), apply(routed)]),
        entry(1, 6, 2, vec![apply(vec![send(4)])]),
    ]);
    bench
}

fn carry_out(bench: &mut Bench, step: &Step) -> Vec<Body> {
    let body = match step.clone() {
        Step::Frame(..) => return Vec::new(),
        Step::Change(flow_mod) => Body::FlowMod(*flow_mod),
        Step::Group(group_mod) => *group_mod,
        Step::Meter(rate, remarks) => meter_of(MeterModCommand::Modify, 1, rate, remarks),
        Step::Link(number, is_up) => {
            bench.switch.set_link(number, is_up, &mut bench.fx);
            return bench.heard(0);
        }
        Step::Port(port_no, config) => {
            let mask = port_config::NO_FWD | port_config::PORT_DOWN;
            bench.port_mod(port_no, config, mask)
        }
        Step::WaitMs(ms) => {
            bench.fire_to(bench.now + Span::from_ms(ms));
            return bench.heard(0);
        }
    };
    bench.ask_on(0, body)
}

fn bursts() -> impl Strategy<Value = (Style, Vec<Vec<Step>>)> {
    let style = prop::sample::select(&[Style::Wide, Style::Written, Style::Bare][..]);
    let steps = |style| prop::collection::vec(prop::collection::vec(step(style), 1..60), 1..4);
    style.prop_flat_map(move |style| (Just(style), steps(style)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_end_of_a_track_does_what_the_walk_does((style, bursts) in bursts()) {
        let mut quick = begin(ClassifierKind::ByMask, style);
        let mut twin = begin(ClassifierKind::Linear, style);
        for steps in &bursts {
            let (mut burst, arrival) = (Burst::new(), quick.now);
            for step in steps {
                if let Step::Frame(sent) = *step {
                    let frame = quick.frames.insert(&bytes_of(sent)).expect("the pool is large");
                    burst.push(sent.from, arrival, frame);
                }
            }
            for step in steps {
                if let Step::Frame(sent) = *step {
                    let Bench { switch, frames, fx, now, .. } = &mut quick;
                    let work = switch.receive_next(*now, &mut burst, frames, fx).expect("there is one");
                    let other = twin.receive_late(arrival, sent.from, &bytes_of(sent));
                    prop_assert_eq!((work.lookups, work.actions, work.bytes), (other.lookups, other.actions, other.bytes), "{:?}", sent);
                }
                prop_assert_eq!(carry_out(&mut quick, step), carry_out(&mut twin, step));
                prop_assert_eq!(quick.what_left(), twin.what_left(), "{:?}", step);
            }
            prop_assert_eq!(quick.counted(), twin.counted());
        }
        prop_assert_eq!(quick.key(), twin.key());
        prop_assert_eq!(quick.frames.in_use(), twin.frames.in_use());
    }
}

/// Entries may tell frames apart by what others have written: a change of one is in effect for all frames
/// that come to it, whichever entry they matched first.
#[test]
fn entries_behind_what_is_written_are_followed_as_they_change() {
    let metadata = Instruction::WriteMetadata { metadata: 1, mask: 3 };
    let renamed = Instruction::ApplyActions(vec![Action::SetField(to(9))]);
    let ways = [(metadata, matching(6, 0, 1)), (renamed, matching(4, 9, 0))];
    for (written, match_) in ways {
        let mut bench = Bench::with(config());
        let entry = |table, match_, instructions| {
            Body::FlowMod(FlowMod {
                match_,
                instructions,
                ..FlowMod::new(FlowModCommand::Add, table)
            })
        };
        let sends = |port| vec![Instruction::ApplyActions(vec![send(port)])];
        // What comes is not looked for any more where it is renamed.
        bench.install([1, 2].map(|flow| entry(1, matching(4, flow, 0), sends(4))));
        bench.install([1, 2].map(|flow| {
            let first = vec![written.clone(), Instruction::GotoTable(1)];
            entry(0, matching(4, flow, 0), first)
        }));
        let priority = 1 + u16::MAX / 2;
        for port in [2, 3, 2] {
            let Body::FlowMod(last) = entry(1, match_.clone(), sends(port)) else { unreachable!() };
            bench.install([Body::FlowMod(FlowMod { priority, ..last })]);
            for flow in [1, 2, 1, 2] {
                let left = bench.ports_of(1, &support::frame(flow, 100));
                assert_eq!(left, [port], "{written:?}, flow {flow}");
            }
        }
    }
}
