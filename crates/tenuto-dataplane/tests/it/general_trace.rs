//! A dry run does what a real one does, and leaves no trace; tools beside controllers; packet-ins
//! that are limited port by port.

use support::general::{any, bench, config, entry, group_of, to_controller};
use support::{Bench, add, apply, frame, meter, output};
use tenuto_dataplane::switch::{ConnectionId, FailMode, GeneralConfig, SwitchConfig, TraceStep};
use tenuto_openflow::*;
use tenuto_units::Span;

use crate::support;

/// What a trace says leaves: ports and frames.
fn leaving(steps: &[TraceStep]) -> Vec<(u32, Vec<u8>)> {
    let outputs = steps.iter().filter_map(|step| match step {
        TraceStep::Output { port, frame, .. } => Some((*port, frame.clone())),
        _ => None,
    });
    outputs.collect()
}

#[test]
fn a_dry_run_is_the_real_one_and_changes_nothing() {
    let mut bench = bench();
    let rewrite = Action::SetField(Oxm::EthSrc { value: [2, 0, 0, 0, 0, 77], mask: None });
    let bucket = |actions: Vec<Action>| Bucket::new(actions);
    let buckets = vec![bucket(vec![rewrite, output(2)]), bucket(vec![output(3)])];
    bench.install([
        meter(MeterModCommand::Add, 1, 1_000, 100),
        group_of(GroupModCommand::Add, GroupType::All, 5, buckets),
        add(0, 1, vec![Instruction::Meter(1), Instruction::GotoTable(4)]),
        add(4, 1, vec![apply(vec![Action::PushVlan(0x8100), Action::Group(5)])]),
        entry(vec![Oxm::InPort(3)], vec![to_controller(64)]),
    ]);
    let bytes = frame(1, 200);
    let key = bench.key();
    let counters = bench.entry_counters();
    let steps = bench.switch.trace(bench.now, 1, &bytes);
    assert_eq!((bench.key(), bench.entry_counters()), (key, counters), "nothing has changed");
    let tables: Vec<_> = steps
        .iter()
        .filter_map(|step| match step {
            TraceStep::Table { table, entry, .. } => Some((*table, entry.is_some())),
            _ => None,
        })
        .collect();
    assert_eq!(tables, [(0, true), (4, true)]);
    assert!(steps.contains(&TraceStep::Meter { id: 1, passes: true }));
    assert!(steps.contains(&TraceStep::Bucket { group: 5, bucket: 1 }));
    bench.receive(1, &bytes);
    let real = bench.drain();
    assert_eq!(leaving(&steps), real);
    assert_eq!(real.len(), 2);

    let steps = bench.switch.trace(bench.now, 3, &frame(9, 100));
    assert!(matches!(steps.last(), Some(TraceStep::Controller { max_len: 64, .. })), "{steps:?}");
    assert!(bench.messages().is_empty(), "no controller hears of a dry run");
    assert_eq!(bench.switch.packet_ins_unheard(), 0, "nor does a dry run count");
    let steps = bench.switch.trace(bench.now, 2, &frame(9, 100));
    let [TraceStep::Table { entry: None, .. }, TraceStep::Dropped(_)] = &steps[..] else {
        panic!("{steps:?}")
    };
}

fn limited(packet_ins_per_s: u32) -> Bench {
    let planned = config();
    let general = planned
        .general
        .clone()
        .map(|general| GeneralConfig { packet_ins_per_s: Some(packet_ins_per_s), ..general });
    Bench::with(SwitchConfig { general, ..planned })
}

#[test]
fn a_port_has_its_own_share_of_packet_ins() {
    let mut bench = limited(100);
    bench.install([Body::FlowMod(any(0, vec![to_controller(0xffff)]))]);
    for _ in 0..50 {
        bench.receive(1, &frame(1, 100));
    }
    bench.receive(2, &frame(1, 100));
    // A tenth of a second at once, and the other port as if nothing had been.
    assert_eq!(bench.messages().len(), 11);
    assert_eq!(bench.switch.packet_ins_limited(), 40);
    bench.wait(Span::from_ms(20));
    for _ in 0..50 {
        bench.receive(1, &frame(1, 100));
    }
    assert_eq!(bench.messages().len(), 2);
}

#[test]
fn a_tool_hears_what_it_asks_for_and_is_no_controller() {
    let planned = config();
    let general = planned
        .general
        .clone()
        .map(|general| GeneralConfig { fail_mode: FailMode::Standalone, ..general });
    let mut bench = Bench::with(SwitchConfig { general, ..planned });
    bench.install([Body::FlowMod(any(0, vec![to_controller(0xffff)]))]);
    bench.switch.serve(ConnectionId(7), &mut bench.fx).expect("there is room");
    assert_eq!(bench.heard(7).len(), 1, "a hello");
    bench.receive(1, &frame(1, 100));
    assert_eq!((bench.heard(7).len(), bench.heard(0).len()), (0, 1));
    bench.ask_on(7, Body::SetConfig(SwitchConfigMsg { flags: 0, miss_send_len: 128 }));
    bench.receive(1, &frame(1, 100));
    assert_eq!((bench.heard(7).len(), bench.heard(0).len()), (1, 1));
    assert!(!bench.switch.is_standalone());
    bench.switch.disconnected();
    assert!(bench.switch.is_standalone(), "a tool does not keep it from its fail mode");
}

#[test]
fn packet_ins_that_nobody_wants_are_counted() {
    let mut bench = Bench::with(config());
    bench.install([Body::FlowMod(any(0, vec![to_controller(0xffff)]))]);
    bench.receive(1, &frame(1, 100));
    assert_eq!((bench.messages().len(), bench.switch.packet_ins_unheard()), (1, 0));
    bench.switch.disconnected();
    bench.receive(1, &frame(1, 100));
    assert_eq!((bench.messages().len(), bench.switch.packet_ins_unheard()), (0, 1));
}
