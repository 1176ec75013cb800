//! Frames of a general switch that follow tracks, in bursts, fare as frames that walk do, whatever changes
//! in between.
//!
//! The twin compares entry after entry: it has no tracks, and takes its frames one by one.

use proptest::prelude::*;
use support::Bench;
use support::general::{config, meter_of};
use tenuto_dataplane::Frames;
use tenuto_dataplane::switch::{Burst, ClassifierKind, SwitchConfig};
use tenuto_openflow::constants::{config_flag, flow_flag, port, port_config};
use tenuto_openflow::*;
use tenuto_units::Span;

use crate::support;

#[derive(Clone, Debug)]
enum Step {
    /// Port, flow, tag and length.
    Frame(u32, u8, Option<u8>, usize),
    Change(Box<FlowMod>),
    Meter(u32, bool),
    Port(u32, u32),
    Fragments(bool),
    WaitMs(u64),
}

fn matching(kind: u8, flow: u8, from: u32) -> Match {
    let to = Oxm::EthDst { value: [3, 0, 0, 0, 0, flow], mask: None };
    let vlan = Oxm::VlanVid { value: 0x1000 | 7, mask: None };
    let ip = vec![Oxm::EthType(0x0800), Oxm::IpProto(17), Oxm::UdpDst { value: 5_000, mask: None }];
    Match::from(match kind {
        0..=2 => vec![to],
        3 => vec![Oxm::InPort(from), to],
        4 => vec![vlan, to],
        5 => [vec![to], ip].concat(),
        6 => vec![vlan],
        _ => vec![],
    })
}

fn instructions(way: u8, table: u8, queue: u32, out: u32) -> Vec<Instruction> {
    use Instruction::{ApplyActions, GotoTable, Meter, WriteActions};
    let send = |port| Action::Output { port, max_len: 64 };
    let next = GotoTable(table + 1);
    match way {
        0..=3 => vec![ApplyActions(vec![Action::SetQueue(queue), send(out)])],
        4 | 5 => vec![Meter(1), ApplyActions(vec![send(out)])],
        6 | 7 if table < 2 => vec![next],
        8 if table < 2 => vec![Meter(2), next],
        9 if table < 2 => vec![WriteActions(vec![send(out)]), next],
        10 => vec![ApplyActions(vec![send(2), send(3)])],
        11 => vec![ApplyActions(vec![Action::PushVlan(0x8100), send(out)])],
        12 => vec![ApplyActions(vec![send(port::CONTROLLER)])],
        13 => vec![ApplyActions(vec![send(port::IN_PORT)])],
        _ => vec![],
    }
}

fn change() -> impl Strategy<Value = Step> {
    let command = prop_oneof![
        6 => Just(FlowModCommand::Add),
        1 => Just(FlowModCommand::Modify),
        1 => Just(FlowModCommand::DeleteStrict),
        1 => Just(FlowModCommand::Delete)
    ];
    let place = (0u8..3, 0u8..8, 1u8..4, 1u32..3, 0u16..3);
    let flags =
        prop_oneof![3 => Just(flow_flag::SEND_FLOW_REM), 1 => Just(flow_flag::RESET_COUNTS)];
    let what = (0u8..15, 0u32..3, 1u32..5, 0u16..3, 0u16..3, flags);
    (command, place, what).prop_map(|(command, place, what)| {
        let (table_id, kind, flow, from, priority) = place;
        let (way, queue, out, idle_timeout, hard_timeout, flags) = what;
        Step::Change(Box::new(FlowMod {
            priority,
            cookie: u64::from(flow) * u64::from(table_id),
            idle_timeout,
            hard_timeout,
            flags,
            match_: matching(kind, flow, from),
            instructions: instructions(way, table_id, queue, out),
            ..FlowMod::new(command, table_id)
        }))
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        16 => (1u32..4, 1u8..4, prop::option::of(6u8..8), 60usize..200)
            .prop_map(|(from, flow, tag, len)| Step::Frame(from, flow, tag, len)),
        6 => change(),
        1 => (1u32..50, any::<bool>()).prop_map(|(rate, remarks)| Step::Meter(rate, remarks)),
        1 => (1u32..4, prop::sample::select(
            &[0, port_config::NO_FWD, port_config::NO_RECV, port_config::PORT_DOWN][..]
        )).prop_map(|(number, config)| Step::Port(number, config)),
        1 => any::<bool>().prop_map(Step::Fragments),
        2 => (0u64..1_500).prop_map(Step::WaitMs),
    ]
}

fn bytes_of(flow: u8, tag: Option<u8>, len: usize) -> Vec<u8> {
    let mut bytes = support::frame(flow, len);
    if let Some(tag) = tag {
        bytes.splice(12..12, [0x81, 0, 0, tag]);
    }
    bytes
}

fn begin(classifier: ClassifierKind) -> Bench {
    let mut bench = Bench::with(SwitchConfig { classifier, ..config() });
    bench.install([1, 2].map(|id| meter_of(MeterModCommand::Add, id, 20, false)));
    for flow in 1..4 {
        let match_ = matching(0, flow, 1);
        let instructions = instructions(flow, 0, 1, 1 + u32::from(flow));
        let cookie = u64::from(flow);
        let idle_timeout = 1;
        let entry = FlowMod::new(FlowModCommand::Add, 0);
        bench.install([Body::FlowMod(FlowMod {
            match_,
            instructions,
            cookie,
            idle_timeout,
            ..entry
        })]);
    }
    bench
}

fn carry_out(bench: &mut Bench, step: &Step) -> Vec<Body> {
    let body = match step.clone() {
        Step::Frame(..) => return Vec::new(),
        Step::Change(flow_mod) => Body::FlowMod(*flow_mod),
        Step::Meter(rate, remarks) => meter_of(MeterModCommand::Modify, 1, rate, remarks),
        Step::Port(port_no, config) => {
            let mask = port_config::NO_FWD | port_config::NO_RECV | port_config::PORT_DOWN;
            bench.port_mod(port_no, config, mask)
        }
        Step::Fragments(drops) => {
            let flags = if drops { config_flag::FRAG_DROP } else { 0 };
            Body::SetConfig(SwitchConfigMsg { flags, miss_send_len: 64 })
        }
        Step::WaitMs(ms) => {
            bench.fire_to(bench.now + Span::from_ms(ms));
            return bench.heard(0);
        }
    };
    bench.ask_on(0, body)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_burst_on_tracks_does_what_the_walk_does(
        bursts in prop::collection::vec(prop::collection::vec(step(), 1..40), 1..5),
    ) {
        let (mut quick, mut twin) = (begin(ClassifierKind::ByMask), begin(ClassifierKind::Linear));
        for steps in &bursts {
            let (mut burst, arrival) = (Burst::new(), quick.now);
            for step in steps {
                if let Step::Frame(from, flow, tag, len) = *step {
                    let frame = quick.frames.insert(&bytes_of(flow, tag, len)).expect("the pool is large");
                    burst.push(from, arrival, frame);
                }
            }
            for step in steps {
                if let Step::Frame(from, flow, tag, len) = *step {
                    let Bench { switch, frames, fx, now, .. } = &mut quick;
                    let work = switch.receive_next(*now, &mut burst, frames, fx).expect("there is one");
                    let other = twin.receive_late(arrival, from, &bytes_of(flow, tag, len));
                    prop_assert_eq!((work.lookups, work.actions, work.bytes), (other.lookups, other.actions, other.bytes));
                }
                prop_assert_eq!(carry_out(&mut quick, step), carry_out(&mut twin, step));
                prop_assert_eq!(quick.what_left(), twin.what_left(), "{:?}", step);
                prop_assert_eq!(quick.switch.next_deadline(), twin.switch.next_deadline());
            }
            prop_assert_eq!(quick.counted(), twin.counted());
        }
        prop_assert_eq!(quick.key(), twin.key());
    }
}
