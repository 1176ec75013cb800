//! Frames that follow a track fare as frames that walk every table do, whatever changes in between.
//!
//! The twin is a switch that compares entry after entry: it has no tracks. And a dry run walks.

use proptest::prelude::*;
use support::{
    Bench, activate, apply, config, flow_mod, group, message_frame, meter, mode_config, modes,
    monitor, output, to_flow,
};
use tenuto_dataplane::switch::{
    Burst, ClassifierKind, PortCounters, SwitchConfig, SwitchEvent, TraceStep,
};
use tenuto_dataplane::{Dropped, EgressStats, Frames, QueueCounters, Work};
use tenuto_openflow::{
    Action, Body, FlowMod, FlowModCommand as C, GroupModCommand as G, Instruction, Match,
    MeterModCommand as M, ModesMessage, MonitorKind, Oxm,
};
use tenuto_units::Span;

use crate::support;

#[derive(Clone, Debug)]
enum Step {
    /// Port, flow, message and length of a frame.
    Frame(u32, u8, u32, usize),
    /// Level and change.
    Change(u8, Box<FlowMod>),
    /// Bursts of meter 1.
    Meter(u32),
    /// What group 1 does.
    Group(u8),
    /// The link of a port, up or down.
    Link(u32, bool),
    /// The meter or the monitor of a number goes, and with it its entries, and comes back.
    Renew(u32, bool),
    WaitMs(u64),
}

/// Masks of which some are in others, and some are not.
fn matching(kind: u8, flow: u8, port: u32) -> Match {
    let in_port = Oxm::InPort(port);
    match kind {
        0 | 1 => to_flow(flow),
        2 => Match::from([vec![in_port], to_flow(flow).oxms].concat()),
        3 => Match::from(vec![in_port]),
        _ => Match::ANY,
    }
}

fn instructions(table: u8, way: u8, queue: u32, id: u32, out: u32) -> Vec<Instruction> {
    let sends = vec![Action::SetQueue(queue), output(out)];
    let watch = apply(vec![Action::Monitor(id)]);
    let mut done = match (table, way) {
        (_, 0) => vec![],
        (0, 1..=4) => vec![watch],
        (1, 1..=4) => vec![Instruction::Meter(id)],
        (2, 1..=4) => return vec![apply(sends)],
        (_, 5) => vec![Instruction::Meter(id), watch],
        (_, 6) => return vec![Instruction::Meter(id), apply(sends)],
        (_, 7) => vec![apply(sends)],
        (_, 8) => vec![Instruction::WriteActions(sends)],
        (_, 9) => vec![apply(vec![Action::SetQueue(queue), Action::Monitor(id)])],
        (_, 10) => vec![apply(vec![Action::Monitor(id), Action::SetQueue(queue)])],
        // At every port but this one, in queues of their own.
        (_, 11 | 12) => {
            let others = (1..5).filter(|port| *port != out);
            let copy = |port| [Action::SetQueue((queue + port) % 3), output(port)];
            vec![apply(others.flat_map(copy).collect())]
        }
        (_, 13) => vec![apply(vec![Action::Group(1)]), Instruction::WriteActions(sends)],
        _ => vec![apply(vec![Action::Group(1)])],
    };
    done.extend((table < 2).then_some(Instruction::GotoTable(table + 1)));
    done
}

fn change() -> impl Strategy<Value = Step> {
    let place = (0u8..2, 0u8..3, 0u8..5, 1u8..4, 1u32..3, 0u16..3);
    // Mostly what tracks are laid through.
    let way = prop_oneof![6 => 1u8..5, 4 => 0u8..15];
    let what = (way, 0u32..3, 1u32..3, 1u32..5);
    let command = prop_oneof![
        5 => Just(C::Add),
        1 => Just(C::Modify),
        1 => Just(C::ModifyStrict),
        1 => Just(C::Delete),
        2 => Just(C::DeleteStrict)
    ];
    (command, place, what).prop_map(|(command, place, (way, queue, id, out))| {
        let (level, table, kind, flow, port, priority) = place;
        // Shadows have no watching table.
        let level = if table == 0 { 0 } else { level };
        let flow_mod = FlowMod {
            command,
            priority,
            match_: matching(kind, flow, port),
            ..flow_mod(table, flow, instructions(table, way, queue, id, out))
        };
        Step::Change(level, Box::new(flow_mod))
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1u32..3, 1u8..4, 0u32..4, 72usize..1_400)
            .prop_map(|(port, flow, id, len)| Step::Frame(port, flow, id, len)),
        4 => change(),
        1 => (4u32..40).prop_map(Step::Meter),
        1 => (0u8..4).prop_map(Step::Group),
        1 => (1u32..5, any::<bool>()).prop_map(|(port, is_up)| Step::Link(port, is_up)),
        1 => (1u32..3, any::<bool>()).prop_map(|(id, is_meter)| Step::Renew(id, is_meter)),
        1 => (0u64..120).prop_map(Step::WaitMs),
    ]
}

/// A group sends to so many ports.
fn multicast(command: G, copies: u8) -> Body {
    let copy = |place: u8| vec![Action::SetQueue(place.into()), output(4 - u32::from(place))];
    group(command, 1, (0..copies).map(copy).collect())
}

/// Three flows on tracks from the start, in two levels of a mode that a busy flow leaves.
fn base(classifier: ClassifierKind) -> Bench {
    let mut bench = Bench::with(SwitchConfig { classifier, ..config() });
    bench.install([
        meter(M::Add, 1, 1_000, 20),
        meter(M::Add, 2, 1_000_000, 20_000),
        multicast(G::Add, 2),
        monitor(MonitorKind::Message, 1, &[(2_000, 20), (9_000, 2)]),
        monitor(MonitorKind::Frame, 2, &[]),
        mode_config(2, &[2]),
    ]);
    for flow in 1..4 {
        for (level, table) in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2)] {
            let id = 1 + u32::from(flow) % 2;
            // One link to one port, one to several in a row, and one to those of a group.
            let way = if table == 2 { [1, 11, 14][usize::from(flow) - 1] } else { 1 };
            let instructions = instructions(table, way, u32::from(level), id, 3 + u32::from(level));
            // The first table asks for more than the others, of two flows: a change of a later entry
            // concerns tracks of patterns that are not its own.
            let kind = if table == 0 && flow > 1 { 2 } else { 0 };
            let match_ = matching(kind, flow, 1);
            let flow_mod = FlowMod { match_, ..flow_mod(table, flow, instructions) };
            change_tables(&mut bench, level, &flow_mod);
        }
    }
    bench.ask(activate(1, 0));
    bench
}

fn change_tables(bench: &mut Bench, level: u8, flow_mod: &FlowMod) -> usize {
    let flow_mod = flow_mod.clone();
    let body = match level {
        0 => Body::FlowMod(flow_mod),
        level => modes(ModesMessage::ShadowFlowMod { level, flow_mod }),
    };
    // An entry may be refused, as the policing table is full of surprises: by both or by none.
    bench.ask(body).len()
}

type Seen = (Vec<(u32, Vec<u8>)>, Vec<Dropped>, Vec<SwitchEvent>, [u32; 5]);

fn take(bench: &mut Bench, step: &Step) -> Seen {
    let mut work = [0; 5];
    let mut sent = Vec::new();
    match step {
        Step::Frame(port, flow, id, len) => {
            let bytes = message_frame(*flow, *id, *len);
            let walked = bench.switch.trace(bench.now, *port, &bytes);
            let done = bench.receive(*port, &bytes);
            let count = |is: fn(&TraceStep) -> bool| walked.iter().map(|s| u32::from(is(s))).sum();
            let tables: u32 = count(|step| matches!(step, TraceStep::Table { .. }));
            let actions: u32 = count(|step| matches!(step, TraceStep::Action(_)));
            assert_eq!((done.lookups, done.actions), (tables, actions), "{walked:?}");
            work = [done.lookups, done.actions, done.bytes, done.monitors, done.control_messages];
        }
        Step::Change(level, flow_mod) => {
            work[0] = u32::try_from(change_tables(bench, *level, flow_mod)).expect("few");
        }
        Step::Meter(kbit) => drop(bench.ask(meter(M::Modify, 1, 1_000, *kbit))),
        Step::Group(copies) => drop(bench.ask(multicast(G::Modify, *copies))),
        Step::Link(port, is_up) => bench.switch.set_link(*port, *is_up, &mut bench.fx),
        Step::Renew(id, true) => {
            for (place, command) in [M::Delete, M::Add].into_iter().enumerate() {
                let answers = bench.ask(meter(command, *id, 1_000, 20));
                work[place] = u32::try_from(answers.len()).expect("few");
            }
        }
        // One that is there is replaced, and its entries stay.
        Step::Renew(id, false) => {
            let renewed = monitor(MonitorKind::Message, *id, &[(2_000, 20), (9_000, 2)]);
            work[0] = u32::try_from(bench.ask(renewed).len()).expect("few");
        }
        Step::WaitMs(ms) => sent = bench.run_to(bench.now + Span::from_ms(*ms)),
    }
    let drops = std::mem::take(&mut bench.fx.drops);
    bench.fx.control.clear();
    (sent, drops, bench.events(), work)
}

/// What ports and their queues have counted.
fn ports(bench: &Bench) -> Vec<(PortCounters, EgressStats, Vec<QueueCounters>)> {
    let ports = bench.switch.ports();
    ports.map(|(_, it, egress)| (*it, egress.stats(), egress.queue_stats().to_vec())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_track_does_what_the_walk_does(steps in prop::collection::vec(step(), 1..80)) {
        let mut quick = base(ClassifierKind::ByMask);
        let mut twin = base(ClassifierKind::Linear);
        for step in &steps {
            prop_assert_eq!(take(&mut quick, step), take(&mut twin, step), "{:?}", step);
            prop_assert_eq!(quick.entries(), twin.entries());
            prop_assert_eq!(quick.entry_counters(), twin.entry_counters(), "{:?}", step);
            prop_assert_eq!(quick.switch.mode(), twin.switch.mode());
            prop_assert_eq!(ports(&quick), ports(&twin), "{:?}", step);
            prop_assert!(quick.switch.meters().eq(twin.switch.meters()), "{:?}", step);
            prop_assert!(quick.switch.monitors().eq(twin.switch.monitors()), "{:?}", step);
            prop_assert_eq!(quick.key(), twin.key());
        }
        let lookups = |bench: &Bench| -> Vec<(u64, u64)> {
            let tables = bench.switch.tables();
            let all = (0..2).flat_map(|level| (0..3).map(move |table| (level, table)));
            all.map(|(level, table)| tables.get(level, table).expect("there").lookups()).collect()
        };
        prop_assert_eq!(lookups(&quick), lookups(&twin));
    }
}

/// One frame after the other, but stored and looked up as one burst.
fn begin(bench: &mut Bench, steps: &[Step]) -> Burst {
    let mut burst = Burst::new();
    for step in steps {
        if let Step::Frame(port, flow, id, len) = step {
            let bytes = message_frame(*flow, *id, *len);
            let frame = bench.frames.insert(&bytes).expect("the pool is large");
            burst.push(*port, bench.now, frame);
        }
    }
    burst
}

fn take_next(bench: &mut Bench, burst: &mut Burst) -> Option<Work> {
    bench.switch.receive_next(bench.now, burst, &mut bench.frames, &mut bench.fx)
}

type Left = (Vec<(u32, Vec<u8>)>, Vec<Dropped>, Vec<SwitchEvent>);

fn what_left(bench: &mut Bench) -> Left {
    let mut sent = bench.take_transmits();
    // Ports do not wait for each other.
    sent.sort_by_key(|(port, _)| *port);
    (sent, std::mem::take(&mut bench.fx.drops), bench.events())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever changes while a burst is under way is in effect for its next frame.
    #[test]
    fn a_burst_does_what_its_frames_do_one_by_one(
        bursts in prop::collection::vec(prop::collection::vec(step(), 1..50), 1..5),
        is_linear: bool,
    ) {
        let mut quick = base(ClassifierKind::ByMask);
        let mut twin = base(if is_linear { ClassifierKind::Linear } else { ClassifierKind::ByMask });
        for steps in &bursts {
            let (mut burst, arrival) = (begin(&mut quick, steps), twin.now);
            for step in steps {
                match step {
                    Step::Frame(port, flow, id, len) => {
                        let work = take_next(&mut quick, &mut burst);
                        let mut one = twin.receive_late(arrival, *port, &message_frame(*flow, *id, *len));
                        if is_linear {
                            one.probes = work.map_or(0, |work| work.probes);
                        }
                        prop_assert_eq!(work, Some(one));
                    }
                    Step::WaitMs(ms) => {
                        quick.wait(Span::from_ms(*ms));
                        twin.wait(Span::from_ms(*ms));
                        quick.switch.fire_due(quick.now, &mut quick.frames, &mut quick.fx);
                        let Bench { switch, frames, fx, now, .. } = &mut twin;
                        while let Some((timer, _)) = switch.next_deadline().filter(|(_, at)| at <= now) {
                            switch.fire(timer, *now, frames, fx);
                        }
                    }
                    other => prop_assert_eq!(take(&mut quick, other), take(&mut twin, other)),
                }
                prop_assert_eq!(what_left(&mut quick), what_left(&mut twin), "{:?}", step);
                prop_assert_eq!(quick.entry_counters(), twin.entry_counters(), "{:?}", step);
                prop_assert_eq!(quick.switch.mode(), twin.switch.mode());
                prop_assert!(quick.switch.meters().eq(twin.switch.meters()), "{:?}", step);
                prop_assert!(quick.switch.monitors().eq(twin.switch.monitors()), "{:?}", step);
            }
            prop_assert_eq!(take_next(&mut quick, &mut burst), None);
            prop_assert_eq!(burst.next_arrival(), None);
        }
        prop_assert!(quick.switch.meters().eq(twin.switch.meters()));
        prop_assert!(quick.switch.monitors().eq(twin.switch.monitors()));
        prop_assert_eq!(quick.key(), twin.key());
        prop_assert_eq!(quick.frames.in_use(), twin.frames.in_use());
    }
}

/// The slot that was looked up may be another's when the frame's turn comes.
#[test]
fn a_frame_that_was_looked_up_goes_by_the_entries_of_its_turn() {
    let mut bench = base(ClassifierKind::ByMask);
    let steps = [1, 2, 3].map(|id| Step::Frame(1, 1, id, 100));
    let mut burst = begin(&mut bench, &steps);
    assert!(take_next(&mut bench, &mut burst).is_some_and(|work| work.lookups == 3));
    let entry = flow_mod(0, 1, instructions(0, 1, 0, 2, 3));
    bench.install([Body::FlowMod(FlowMod { command: C::DeleteStrict, ..entry.clone() })]);
    // Flow 9 takes the slot.
    bench.install([Body::FlowMod(flow_mod(0, 9, instructions(0, 7, 0, 2, 4)))]);
    assert!(take_next(&mut bench, &mut burst).is_some_and(|work| work.actions == 0));
    assert_eq!(bench.fx.drops.len(), 1, "nobody knows flow 1");
    bench.install([Body::FlowMod(entry)]);
    assert!(take_next(&mut bench, &mut burst).is_some_and(|work| work.lookups == 3));
    assert_eq!(take_next(&mut bench, &mut burst), None);
    assert_eq!(bench.fx.drops.len(), 1);
}

/// Probes are what a look-up costs in virtual time: a frame on a track is charged those of the walk.
#[test]
fn a_track_is_charged_for_the_probes_that_it_saves() {
    let mut bench = base(ClassifierKind::ByMask);
    let mut charged = |changes: &mut dyn FnMut(u8) -> FlowMod| {
        bench.install([1, 2].map(|table| Body::FlowMod(changes(table))));
        // Flow 1 has a monitor that never asks for another mode.
        let work = [1, 2, 3].map(|id| bench.receive(1, &message_frame(1, id, 100)));
        assert_eq!((work[0], work[1]), (work[1], work[2]));
        (work[0].lookups, work[0].probes)
    };
    // A mask that is asked first, finds nothing, and tells nothing that the first table does not.
    let dst = Oxm::EthDst { value: [5, 0, 0, 0, 0, 0], mask: Some([0xff, 0, 0, 0, 0, 0]) };
    let beside = |table| FlowMod {
        priority: u16::MAX,
        match_: Match::from(vec![dst.clone()]),
        ..flow_mod(table, 9, vec![])
    };
    // Two masks in the first table, of the same precedence.
    assert_eq!(charged(&mut |table| beside(table)), (3, 6));
    let gone = |table| FlowMod { command: C::DeleteStrict, ..beside(table) };
    assert_eq!(charged(&mut |table| gone(table)), (3, 4));
}

/// What entries do to a frame before a monitor, or behind it, is done in that order if the monitor changes the
/// mode, and stays done.
#[test]
fn what_happens_before_a_monitor_changes_the_mode_has_happened() {
    let (watch, send) = (Action::Monitor(1), apply(vec![output(3)]));
    let goto = Instruction::GotoTable(2);
    let then = |instruction| vec![instruction, goto.clone()];
    let queue = Action::SetQueue(2);
    let write = Instruction::WriteActions(vec![output(4)]);
    let at_the_end = apply(vec![queue.clone(), output(3), watch.clone()]);
    let ways = [
        (then(apply(vec![watch.clone(), queue.clone()])), vec![send.clone()]),
        (then(apply(vec![queue, watch.clone()])), vec![send.clone()]),
        (
            [vec![write, apply(vec![watch.clone()])], vec![goto.clone()]].concat(),
            vec![send.clone()],
        ),
        (then(apply(vec![output(4), watch])), vec![send]),
        // What is queued before is purged.
        (vec![goto], vec![at_the_end]),
    ];
    for (first, last) in ways {
        let counted = [ClassifierKind::ByMask, ClassifierKind::Linear].map(|classifier| {
            let mut bench = base(classifier);
            change_tables(&mut bench, 0, &flow_mod(0, 9, first.clone()));
            change_tables(&mut bench, 0, &flow_mod(2, 9, last.clone()));
            let above = if last.len() == 1 && first.len() == 1 { vec![] } else { last.clone() };
            change_tables(&mut bench, 1, &flow_mod(2, 9, above));
            // The second message comes too early for the lower level.
            for id in 0..3 {
                bench.receive(1, &message_frame(9, id, 100));
            }
            assert_eq!(bench.switch.mode().0, 1, "{first:?}");
            ports(&bench)
        });
        assert_eq!(counted[0], counted[1], "{first:?}");
    }
}
