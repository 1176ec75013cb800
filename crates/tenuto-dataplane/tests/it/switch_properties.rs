//! Apply, revert, compare; any bytes; equal state identity, equal behaviour.

use proptest::prelude::*;
use support::{
    Bench, activate, apply, flow_mod, group, message_frame, meter, mode_config, modes, monitor,
    output, signal, with_modes,
};
use tenuto_openflow::constants::table;
use tenuto_openflow::{
    Action, Body, FlowMod, FlowModCommand as C, GroupModCommand as G, Instruction, Match,
    MeterModCommand as M, ModesMessage, MonitorCommand, MonitorKind, MonitorMod, Oxm,
};
use tenuto_units::Span;
use tenuto_wire::{SignalKind, SignalRepr};

use crate::support;

/// One entry: (level, table, flow, precedence, queue, how it sends).
type Row = (u8, u8, u8, u16, u32, u8);

fn row() -> impl Strategy<Value = Row> {
    (0u8..2, 0u8..3, 0u8..8, 0u16..3, 0u32..4, 0u8..5)
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec(row(), 0..24).prop_map(|mut rows| {
        // Shadows have no watching table; one entry per place.
        rows.retain(|row| row.0 == 0 || row.1 > 0);
        rows.sort_by_key(|row| (row.0, row.1, row.2, row.3));
        rows.dedup_by_key(|row| (row.0, row.1, row.2, row.3));
        rows
    })
}

fn entry(command: C, &(level, table, flow, priority, queue, way): &Row) -> Body {
    let next = (table < 2).then_some(Instruction::GotoTable(table + 1));
    let sends = vec![Action::SetQueue(queue), output(3)];
    let mut instructions = match way {
        0 => vec![],
        1 => vec![Instruction::Meter(1), apply(sends)],
        2 => vec![apply(vec![Action::Group(1)])],
        3 => vec![Instruction::WriteActions(sends)],
        _ => vec![apply(vec![Action::Monitor(1)])],
    };
    instructions.extend(next);
    let flow_mod = FlowMod {
        command,
        priority,
        // Flows 6 and 7 have several cookies, as rows of different masks do.
        match_: match flow {
            6 => Match::from(vec![Oxm::InPort(1)]),
            7 => Match::ANY,
            _ => support::to_flow(flow),
        },
        ..flow_mod(table, flow, instructions)
    };
    match level {
        0 => Body::FlowMod(flow_mod),
        level => modes(ModesMessage::ShadowFlowMod { level, flow_mod }),
    }
}

fn base() -> Bench {
    let mut bench = Bench::new();
    bench.install([
        meter(M::Add, 1, 1_000, 20),
        group(G::Add, 1, vec![vec![output(3)], vec![output(4)]]),
        monitor(MonitorKind::Message, 1, &[(3_000, 10), (9_000, 2)]),
        mode_config(2, &[1, 2]),
    ]);
    bench.ask(activate(1, 0));
    bench
}

proptest! {
    // Histories that end in other states are many; the more of them, the better.
    #![proptest_config(ProptestConfig { max_global_rejects: 50_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_changed_and_changed_back_is_the_same(first in rows(), second in rows()) {
        let mut bench = base();
        let empty = bench.key();
        bench.install(first.iter().map(|row| entry(C::Add, row)));
        let (before, entries) = (bench.key(), bench.entries());
        // There: what goes, what changes, what comes.
        let at = |row: &Row| (row.0, row.1, row.2, row.3);
        for (from, to) in [(&first, &second), (&second, &first)] {
            let gone = from.iter().filter(|row| !to.iter().any(|other| at(other) == at(row)));
            bench.install(gone.map(|row| entry(C::DeleteStrict, row)));
            let new = to.iter().filter(|row| !from.contains(row));
            bench.install(new.map(|row| entry(C::Add, row)));
            bench.install([
                meter(M::Add, 9, 1, 1),
                group(G::Add, 2, vec![]),
                monitor(MonitorKind::Frame, 5, &[]),
                meter(M::Delete, 9, 0, 0),
                group(G::Delete, 2, vec![]),
                modes(ModesMessage::MonitorMod(MonitorMod {
                    command: MonitorCommand::Delete,
                    monitor_id: 5,
                    kind: MonitorKind::Frame,
                    contracts: vec![],
                })),
            ]);
        }
        prop_assert_eq!(bench.entries(), entries);
        prop_assert_eq!(bench.key(), before);
        // In any order of installation.
        let mut other = base();
        other.install(first.iter().rev().map(|row| entry(C::Add, row)));
        prop_assert_eq!(other.key(), before);
        let all = FlowMod::new(C::Delete, table::ALL);
        let shadows = ModesMessage::ShadowFlowMod { level: 1, flow_mod: all.clone() };
        bench.install([Body::FlowMod(all), modes(shadows)]);
        prop_assert_eq!(bench.key(), empty);
        prop_assert_eq!(bench.switch.tables().entries(), 0);
    }

    #[test]
    fn equal_keys_behave_alike(
        first in prop::collection::vec(step(), 1..10),
        idle_ms in 0u64..400,
        then in prop::collection::vec(step(), 0..24),
    ) {
        // Two histories that end in the same state: one saw traffic and changes, and had time to
        // forget them; the other one did not.
        let mut busy = with_modes();
        let mut calm = busy.clone();
        for step in &first {
            take(&mut busy, step);
            busy.fx.control.clear();
        }
        busy.take_transmits();
        busy.drain();
        busy.install((0..3).map(|table| {
            Body::FlowMod(FlowMod { command: C::Delete, ..flow_mod(table, 5, vec![]) })
        }));
        busy.wait(Span::from_ms(idle_ms));
        calm.now = busy.now;
        calm.sequence = busy.sequence;
        for bench in [&mut busy, &mut calm] {
            bench.receive(1, &message_frame(1, 99, 100));
            bench.drain();
            bench.fx.clear();
        }
        prop_assume!(busy.key() == calm.key());
        for step in &then {
            take(&mut busy, step);
            take(&mut calm, step);
            prop_assert_eq!(data(&mut busy), data(&mut calm));
            prop_assert_eq!(&busy.fx.drops, &calm.fx.drops);
            prop_assert_eq!(&busy.fx.control, &calm.fx.control);
            prop_assert_eq!(&busy.fx.events, &calm.fx.events);
            prop_assert_eq!(busy.key(), calm.key());
            busy.fx.clear();
            calm.fx.clear();
        }
    }

    #[test]
    fn no_bytes_on_the_channel_do_harm(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        types in prop::collection::vec(0u8..32, 0..8),
        cuts in prop::collection::vec(1usize..40, 0..20),
    ) {
        let mut bench = with_modes();
        let (before, entries) = (bench.key(), bench.entries());
        // Well-framed messages with bodies of chance, malformed for the most part.
        let mut stream = Vec::new();
        for (at, type_) in types.iter().enumerate() {
            let body = &bytes[(at * 40).min(bytes.len())..(at * 40 + 40).min(bytes.len())];
            let len = u8::try_from(8 + body.len()).expect("at most 48");
            stream.extend([4, *type_, 0, len, 0, 0, 0, 0]);
            stream.extend(body);
        }
        stream.extend(&bytes);
        let mut rest = stream.as_slice();
        for cut in cuts.iter().chain([&usize::MAX]) {
            let (part, after) = rest.split_at((*cut).min(rest.len()));
            rest = after;
            if !bench.switch.control(bench.now, part, &mut bench.frames, &mut bench.fx) {
                break;
            }
        }
        prop_assert!(bench.fx.control.len() < 40_000);
        // What is malformed changes nothing; a random message that is well-formed and installs
        // something is not found in these few bytes.
        let fresh = bench.entries();
        prop_assert_eq!(fresh, entries);
        bench.switch.disconnected();
        bench.switch.connected(&mut bench.fx);
        prop_assert_eq!(bench.key(), before);
        prop_assert_eq!(bench.frames.in_use(), 0);
    }

    #[test]
    fn no_frame_does_harm(
        frames in prop::collection::vec((1u32..6, prop::collection::vec(any::<u8>(), 0..200), 0u8..4), 1..40),
    ) {
        let mut bench = with_modes();
        let before = bench.key();
        for (port, mut bytes, kind) in frames {
            match kind {
                0 if bytes.len() > 14 => bytes[12..14].copy_from_slice(&[0x0f, 0x00]),
                1 if bytes.len() > 14 => bytes[12..14].copy_from_slice(&[0x08, 0x00]),
                2 => {
                    let mut signal = support::signal_bytes(3, signal(SignalKind::Raise, 9, 1));
                    let at = bytes.first().map_or(6, |b| 6 + usize::from(*b) % 72);
                    signal[at] ^= 1 << (bytes.len() % 8);
                    bytes = signal;
                }
                _ => {}
            }
            bench.receive(port, &bytes);
        }
        // Random addresses are no flow's.
        prop_assert_eq!(bench.drain().len(), 0);
        prop_assert_eq!(bench.key(), before);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Frame(u8, u32, usize),
    Signal(SignalKind, u64, u8),
    Install(Row),
    Undo(Row),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1u8..4, 0u32..3, 72usize..1_400).prop_map(|(f, id, len)| Step::Frame(f, id, len)),
        1 => (prop::sample::select(&SignalKind::ALL[..]), 0u64..4, 0u8..2)
            .prop_map(|(kind, epoch, level)| Step::Signal(kind, epoch, level)),
        1 => row().prop_map(|row| Step::Undo((0, row.1, 5, row.3, row.4, 0))),
        1 => row().prop_map(|row| Step::Install((0, row.1, 5, row.3, row.4, 0))),
        2 => (0u64..250_000).prop_map(Step::Wait),
    ]
}

fn take(bench: &mut Bench, step: &Step) {
    match *step {
        Step::Frame(flow, id, len) => drop(bench.receive(1, &message_frame(flow, id, len))),
        Step::Signal(kind, epoch, level) => bench.signal(3, signal(kind, epoch, level)),
        Step::Install(row) => bench.install([entry(C::Add, &row)]),
        Step::Undo(row) => bench.install([entry(C::DeleteStrict, &row)]),
        Step::Wait(us) => {
            let end = bench.now + Span::from_us(us);
            while let Some((timer, at)) = bench.switch.next_deadline().filter(|(_, at)| *at <= end)
            {
                bench.now = bench.now.max(at);
                bench.switch.fire(timer, bench.now, &mut bench.frames, &mut bench.fx);
            }
            bench.now = end;
        }
    }
}

/// What left, signals without sequence number and tag.
fn data(bench: &mut Bench) -> Vec<(u32, Result<SignalRepr, Vec<u8>>)> {
    let sent = bench.take_transmits().into_iter();
    let read = |bytes: Vec<u8>| match tenuto_wire::SignalFrame::parse(&bytes) {
        Ok(signal) => Ok(SignalRepr { sequence: 0, ..signal.repr() }),
        Err(_) => Err(bytes),
    };
    sent.map(|(port, bytes)| (port, read(bytes))).collect()
}

#[test]
fn a_meter_or_monitor_far_out_takes_no_more_than_its_limit() {
    let mut bench = Bench::new();
    let before = bench.key();
    for id in [17, 1_000_000, u32::MAX - 1] {
        bench.ask(meter(M::Add, id, 1, 1));
        bench.ask(monitor(MonitorKind::Frame, id, &[]));
    }
    assert_eq!(bench.key(), before);
    bench.install([meter(M::Add, 16, 1, 1), monitor(MonitorKind::Frame, 16, &[])]);
    assert_eq!((bench.switch.meters().count(), bench.switch.monitors().count()), (1, 1));
}
