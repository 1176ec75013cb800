//! Frames through the tables: meters, groups, queues, metadata; all counters as a whole.

use support::{Bench, add, apply, flow_mod, frame, group, meter, output, sent_to};
use tenuto_dataplane::DropReason as R;
use tenuto_dataplane::EgressStats;
use tenuto_dataplane::switch::PortCounters;
use tenuto_openflow::{
    Action, Body, FlowMod, GroupModCommand as G, Instruction, Match, MeterModCommand as M, Oxm,
};
use tenuto_units::Span;

use crate::support;

#[test]
fn all_counters_of_a_run_through_three_tables() {
    let mut bench = Bench::new();
    bench.install([
        meter(M::Add, 1, 8_000, 8), // 1000 B of burst
        add(0, 1, vec![Instruction::GotoTable(1)]),
        add(1, 1, vec![Instruction::Meter(1), Instruction::GotoTable(2)]),
        add(2, 1, vec![sent_to(1, 3)]),
        add(0, 2, vec![]),
    ]);
    let work = bench.receive(1, &frame(1, 480)); // 484 with FCS, 504 on the wire
    assert_eq!((work.lookups, work.probes, work.actions, work.bytes), (3, 3, 2, 484));
    bench.receive(1, &frame(1, 480)); // over the burst by 8 B
    bench.receive(1, &frame(1, 472)); // fits to the byte
    bench.receive(1, &frame(2, 100)); // an entry without outputs
    bench.receive(1, &frame(3, 100)); // nobody's
    bench.receive(1, &[0; 13]);
    bench.receive(9, &frame(1, 100)); // no such port
    let unknown = [R::Policed, R::NoOutput, R::Unknown, R::Malformed, R::Unknown];
    assert_eq!(bench.drops(), unknown);
    assert_eq!(bench.drain_flows(), [(3, 1), (3, 1)]);

    let entries = [
        ((0, 0, 1), (3, 484 + 484 + 476)),
        ((0, 0, 2), (1, 104)),
        ((0, 1, 1), (3, 484 + 484 + 476)),
        ((0, 2, 1), (2, 484 + 476)),
    ];
    assert_eq!(bench.entry_counters(), entries);
    let meters: Vec<_> = bench.switch.meters().map(|(id, m)| (id, m.seen, m.dropped)).collect();
    let [(1, seen, dropped)] = meters.as_slice() else { panic!("{meters:?}") };
    assert_eq!((seen.frames, seen.bytes), (3, 484 + 484 + 476));
    assert_eq!((dropped.frames, dropped.bytes), (1, 484));
    let counters = PortCounters {
        received: 6,
        received_bytes: 484 + 484 + 476 + 104 + 104 + 64,
        policed: 1,
        unknown: 2,
        malformed: 1,
        ..PortCounters::default()
    };
    let sent = EgressStats {
        frames: 2,
        bytes: 484 + 476,
        backlog_bits_max: (504 + 496) * 8,
        ..EgressStats::default()
    };
    for (port, found, egress) in bench.switch.ports() {
        assert_eq!(*found, if port == 1 { counters } else { PortCounters::default() });
        assert_eq!(egress.stats(), if port == 3 { sent } else { EgressStats::default() });
        assert_eq!(egress.backlog_bits(), 0);
    }
}

#[test]
fn firing_all_ports_hands_over_what_firing_each_does() {
    let mut one_by_one = Bench::new();
    let to_each = (2..=4_u8).map(|n| add(0, n, vec![sent_to(u32::from(n) % 2, n.into())]));
    one_by_one.install(to_each);
    for round in 0..30_u8 {
        one_by_one.receive(1, &frame(2 + round % 3, 100 + usize::from(round)));
    }
    let mut at_once = one_by_one.clone();
    // In the middle of the backlog, at its end, and with nothing left.
    let mut left = 0;
    for us in [2, 5, 400, 1] {
        let end = one_by_one.now + Span::from_us(us);
        let mut expected = one_by_one.run_to(end);
        at_once.switch.fire_due(end, &mut at_once.frames, &mut at_once.fx);
        at_once.now = end;
        let found = at_once.take_transmits();
        left += found.len();
        // Both orders keep each port's own.
        expected.sort_by_key(|(port, _)| *port);
        assert_eq!(found, expected);
    }
    assert_eq!(left, 30);
}

#[test]
fn meters_judge_by_arrival_exactly() {
    let mut bench = Bench::new();
    bench.install([
        meter(M::Add, 1, 8, 1), // 1 B a millisecond, 125 B of burst
        add(0, 1, vec![Instruction::Meter(1), apply(vec![output(3)])]),
    ]);
    let start = bench.now;
    // 101 B in memory are 125 B on the wire, as are tokens; the processor is a second late.
    bench.wait(Span::from_s(1));
    for (arrival_ns, passes) in [
        (0, true),
        (124_999_999, false),
        (125_000_000, true),
        (249_999_999, false),
        (250_000_000, true),
        (250_000_000, false),
    ] {
        bench.receive_late(start + Span::from_ns(arrival_ns), 1, &frame(1, 101));
        assert_eq!(bench.drops().is_empty(), passes, "{arrival_ns}");
    }
    bench.drain();
}

#[test]
fn short_frames_count_as_padded() {
    let mut bench = Bench::new();
    let any = FlowMod::new(tenuto_openflow::FlowModCommand::Add, 0);
    bench.install([Body::FlowMod(FlowMod { instructions: vec![sent_to(0, 3)], ..any })]);
    bench.receive(1, &frame(1, 72)[..20]);
    assert_eq!(bench.drain().len(), 1);
    let (_, _, egress) = bench.switch.ports().nth(2).expect("port 3");
    assert_eq!((egress.stats().bytes, egress.stats().backlog_bits_max), (64, 84 * 8));
}

#[test]
fn a_group_sends_to_all_but_the_port_of_entry_each_in_its_queue() {
    let mut bench = Bench::new();
    let to = |port: u32, queue| vec![Action::SetQueue(queue), output(port)];
    let buckets = vec![to(2, 0), to(3, 3), to(4, 1), to(1, 0)];
    bench.install([
        group(G::Add, 1, buckets),
        add(0, 1, vec![apply(vec![Action::SetQueue(2), Action::Group(1), output(3)])]),
    ]);
    bench.receive(1, &frame(1, 100));
    // Port 3 commits the copy of the group at once; the second one follows.
    assert_eq!(bench.frames.in_use(), 1, "copies share one frame");
    let mut queued = Vec::new();
    for (port, _, egress) in bench.switch.ports() {
        egress.for_each_frame(|queue, frame| queued.push((port, queue, frame.cookie)));
    }
    assert_eq!(queued, [(2, None, 1), (3, Some(2), 1), (3, None, 1), (4, None, 1)]);
    assert_eq!(bench.drain_flows(), [(2, 1), (3, 1), (4, 1), (3, 1)]);
    assert!(bench.drops().is_empty());
    bench.install([add(0, 2, vec![apply(vec![output(1)])])]);
    bench.receive(1, &frame(2, 100));
    assert_eq!(bench.drops(), [R::NoOutput], "back to its port is nowhere");
    assert_eq!(bench.drain(), []);
}

#[test]
fn the_action_set_is_executed_at_the_end() {
    let mut bench = Bench::new();
    let write = |actions| Instruction::WriteActions(actions);
    bench.install([
        group(G::Add, 1, vec![vec![output(3)]]),
        // Overwritten: the last output wins.
        add(0, 1, vec![write(vec![output(2)]), Instruction::GotoTable(1)]),
        add(1, 1, vec![write(vec![output(3)])]),
        // Cleared.
        add(0, 2, vec![write(vec![output(2)]), Instruction::GotoTable(1)]),
        add(1, 2, vec![Instruction::ClearActions]),
        // Cleared, then written anew, in the same entry.
        add(0, 3, vec![write(vec![output(2)]), Instruction::GotoTable(1)]),
        add(1, 3, vec![Instruction::ClearActions, write(vec![output(4)])]),
        // A group goes before an output; what is applied is sent beside the set.
        add(0, 4, vec![apply(vec![output(4)]), write(vec![output(2), Action::Group(1)])]),
        // Lost at a miss in the next table.
        add(0, 5, vec![write(vec![output(2)]), Instruction::GotoTable(1)]),
    ]);
    for (flow, ports) in [(1, vec![3]), (2, vec![]), (3, vec![4]), (4, vec![3, 4]), (5, vec![])] {
        bench.receive(1, &frame(flow, 100));
        let mut sent: Vec<u32> = bench.drain().into_iter().map(|(port, _)| port).collect();
        sent.sort_unstable();
        assert_eq!(sent, ports, "flow {flow}");
    }
    assert_eq!(bench.drops(), [R::NoOutput, R::Unknown]);
}

#[test]
fn metadata_is_written_under_its_mask_and_matched() {
    let mut bench = Bench::new();
    let metadata = |metadata, mask| Instruction::WriteMetadata { metadata, mask };
    let matched = |value, mask, port| {
        Body::FlowMod(FlowMod {
            match_: Match::from(vec![Oxm::Metadata { value, mask }]),
            ..flow_mod(2, 0, vec![apply(vec![output(port)])])
        })
    };
    bench.install([
        add(0, 1, vec![metadata(0xff, 0xf0), Instruction::GotoTable(1)]),
        add(1, 1, vec![metadata(0x0a, 0x0f), Instruction::GotoTable(2)]),
        matched(0xfa, None, 2),
        matched(0x50, Some(0xf0), 3),
        add(0, 2, vec![metadata(0x5c, u64::MAX), Instruction::GotoTable(2)]),
    ]);
    bench.receive(1, &frame(1, 100));
    bench.receive(1, &frame(2, 100));
    assert_eq!(bench.drain_flows(), [(2, 1), (3, 2)]);
}

#[test]
fn a_full_buffer_is_counted_where_the_frame_came_in() {
    let mut bench = Bench::new();
    bench.install([add(0, 1, vec![sent_to(0, 3)])]);
    for _ in 0..10 {
        bench.receive(1, &frame(1, 1_514));
    }
    assert_eq!(bench.drops(), [R::BufferFull; 2]);
    let (_, counters, _) = bench.switch.ports().next().expect("port 1");
    assert_eq!((counters.received, counters.buffer_full), (10, 2));
    assert_eq!(bench.drain().len(), 8);
}

#[test]
fn a_modified_group_moves_frames_at_the_next_swap() {
    let mut bench = support::with_modes();
    let to = |queue| vec![vec![Action::SetQueue(queue), output(3)]];
    bench.install([
        group(G::Add, 1, to(3)),
        add(2, 1, vec![apply(vec![Action::Group(1)])]),
        support::shadow(1, 2, 1, vec![apply(vec![Action::Group(1)])]),
        group(G::Modify, 1, to(0)),
    ]);
    assert_eq!(bench.switch.place(0, 1), Some(Some(0)));
    assert_eq!(bench.switch.place(1, 1), Some(Some(0)));
}

#[test]
fn an_idle_line_starts_afresh_and_a_busy_one_carries_remainders() {
    let mut config = support::config();
    config.ports[2].egress.rate = tenuto_units::Rate::from_bps(300_000_000).expect("not zero");
    let mut bench = Bench::with(config);
    bench.install([add(0, 1, vec![sent_to(0, 3)])]);
    let departures = |bench: &mut Bench, frames: usize| {
        let start = bench.now;
        for _ in 0..frames {
            bench.receive(1, &frame(1, 73));
        }
        let mut at = Vec::new();
        while let Some((timer, due)) = bench.switch.next_deadline() {
            bench.now = due;
            bench.switch.fire(timer, due, &mut bench.frames, &mut bench.fx);
            at.push(due.since(start).as_ns());
            bench.take_transmits();
        }
        at
    };
    // 73 B in memory are 97 B of wire, 2586 2/3 ns, rounded up where a frame leaves.
    assert_eq!(departures(&mut bench, 3), [2_587, 5_174, 7_760]);
    bench.wait(Span::from_s(5));
    assert_eq!(departures(&mut bench, 1), [2_587]);
}
