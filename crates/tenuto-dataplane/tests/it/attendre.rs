//! Attendre in the switch: buffers, message sets, commands (\[Attendre\] Figs. 5 to 7; docs/theory/attendre.md).

use support::attendre::{
    attendre, bench, command, forward, limited, nth, set, set_empty, set_flow_mod, switched_on, v,
};
use support::general::{any, config, to_controller};
use support::{Bench, activate, apply, frame, meter, mode_config, output, shadow, to_flow};
use tenuto_dataplane::DropReason;
use tenuto_dataplane::switch::{GeneralConfig, SwitchConfig};
use tenuto_openflow::constants::{NO_BUFFER, port};
use tenuto_openflow::*;
use tenuto_units::Span;

use crate::support;

#[test]
fn one_packet_in_for_a_flow_and_all_in_order_behind_its_first_packet() {
    let mut bench = bench();
    let (number, packet_in) = bench.miss(1, &nth(1, 0));
    assert_ne!(packet_in.buffer_id, NO_BUFFER);
    for n in 1..3 {
        bench.receive(1, &nth(1, n));
    }
    // Another flow is asked for on its own.
    let (other, _) = bench.miss(1, &nth(2, 0));
    assert!(other > number && bench.asked().is_empty());
    assert_eq!(bench.left(), []);
    let (_, buffers) = bench.buffers();
    let sizes: Vec<(u64, u32, u16)> =
        buffers.iter().map(|b| (b.number, b.frames, b.priority)).collect();
    assert_eq!(sizes, [(number, 2, u16::MAX), (other, 0, u16::MAX)]);

    let entry = forward(0, 1, vec![Instruction::GotoTable(1)]);
    let named = FlowMod { buffer_id: packet_in.buffer_id, ..entry };
    bench.install([set_flow_mod(set(1, 2, number), named)]);
    assert_eq!(bench.left(), [], "the set is not complete");
    bench.install([set_flow_mod(set(1, 2, number), forward(1, 1, vec![apply(vec![output(2)])]))]);
    assert_eq!(bench.left(), [0, 1, 2].map(|n| (2, Some((1, n)))));
    bench.receive(1, &nth(1, 3));
    assert_eq!(bench.left(), [(2, Some((1, 3)))]);
    let (totals, buffers) = bench.buffers();
    assert_eq!((totals.buffered, totals.released, totals.completed), (3, 3, 1));
    assert_eq!(buffers.len(), 1, "that of the other flow");
    assert!(bench.drops().is_empty());
}

#[test]
fn an_empty_set_ends_the_wait_and_what_waits_asks_again() {
    let mut bench = bench();
    let (number, _) = bench.miss(1, &nth(1, 0));
    bench.receive(1, &nth(1, 1));
    bench.receive(1, &nth(1, 2));
    bench.install_quietly(set_empty(set(1, 0, number)));
    // The first of those that waited asks, the other goes on waiting.
    let again = bench.asked();
    assert_eq!((again.len(), bench.switch.buffered()), (1, (1, 1)));
    assert!(again[0].0 > number);
    let drop_all = forward(0, 1, vec![]);
    bench.install([set_flow_mod(set(2, 1, again[0].0), drop_all)]);
    assert_eq!((bench.drops(), bench.switch.buffered()), (vec![DropReason::NoOutput], (0, 0)));
}

#[test]
fn a_packet_out_of_the_set_is_ahead_of_what_waits() {
    let mut bench = bench();
    let (number, packet_in) = bench.miss(1, &nth(1, 0));
    bench.receive(1, &nth(1, 1));
    let packet_out = PacketOut {
        buffer_id: packet_in.buffer_id,
        in_port: 1,
        actions: vec![output(port::TABLE)],
        data: vec![],
    };
    let two = set(1, 2, number);
    // Through the tables before the entry is there: it waits, but ahead of the others.
    bench.install([attendre(AttendreMessage::SetPacketOut { set: two, packet_out })]);
    bench.receive(1, &nth(1, 2));
    bench.install([set_flow_mod(two, forward(0, 1, vec![apply(vec![output(2)])]))]);
    assert_eq!(bench.left(), [0, 1, 2].map(|n| (2, Some((1, n)))));
}

#[test]
fn without_an_answer_what_waits_asks_again_in_order() {
    let mut bench = bench();
    let (number, _) = bench.miss(1, &nth(1, 0));
    for n in 1..4 {
        bench.receive(1, &nth(1, n));
    }
    assert!(bench.drops().is_empty());
    bench.wait(Span::from_ms(99));
    let end = bench.now;
    bench.run_to(end);
    assert!(bench.asked().is_empty());
    let end = bench.now + Span::from_ms(1);
    bench.run_to(end);
    let again = bench.asked();
    assert_eq!((again.len(), again[0].1.total_len, bench.switch.buffered()), (1, 101, (1, 2)));
    // A late answer to the first question says nothing about the second.
    bench.install([set_empty(set(1, 0, number))]);
    assert_eq!(bench.switch.buffered(), (1, 2));
    let named =
        FlowMod { buffer_id: again[0].1.buffer_id, ..forward(0, 1, vec![apply(vec![output(2)])]) };
    bench.install([set_flow_mod(set(2, 1, again[0].0), named)]);
    assert_eq!(bench.left(), [1, 2, 3].map(|n| (2, Some((1, n)))));
    assert_eq!(bench.buffers().0.timed_out, 1);
}

#[test]
fn full_buffers_drop_the_newest_and_count_it() {
    let mut bench = bench();
    let (first, _) = bench.miss(1, &nth(1, 0));
    for n in 1..6 {
        bench.receive(1, &nth(1, n));
    }
    assert_eq!(bench.drops(), [DropReason::BufferFull; 2]);
    // Beyond so many buffers, packet-ins are plain.
    for flow in 2..5 {
        bench.miss(1, &nth(flow, 0));
    }
    bench.receive(1, &nth(5, 0));
    assert!(matches!(bench.heard(0)[..], [Body::PacketIn(_)]));
    // Beyond so many frames in all of them, the newest goes, whatever its buffer.
    for flow in [2, 3, 4] {
        bench.receive(1, &nth(flow, 1));
    }
    assert!(bench.drops().is_empty());
    bench.receive(1, &nth(2, 2));
    assert_eq!(bench.drops(), [DropReason::BufferFull]);
    assert_eq!(bench.buffers().0.overflowed, 3);
    bench.install([set_flow_mod(set(1, 1, first), forward(0, 1, vec![apply(vec![output(2)])]))]);
    assert_eq!(bench.left(), [1, 2, 3].map(|n| (2, Some((1, n)))));
}

#[test]
fn a_controller_that_does_not_know_it_sees_plain_openflow() {
    let mut bench = Bench::with(limited());
    bench.install([Body::FlowMod(any(0, vec![to_controller(20)]))]);
    for n in 0..2 {
        bench.receive(1, &nth(1, n));
        assert!(matches!(bench.heard(0)[..], [Body::PacketIn(_)]));
    }
    // Commands of neighbours change nothing: nobody here would complete their sets.
    bench.command(1, 1, 1);
    assert_eq!(bench.switch.buffered(), (0, 0));
    // Off again is plain again.
    let off = AttendreConfig { is_on: false, meter_id: 0, timeout_ns: 0 };
    bench.install([switched_on(0), attendre(AttendreMessage::Config(off))]);
    bench.receive(1, &nth(1, 2));
    assert!(matches!(bench.heard(0)[..], [Body::PacketIn(_)]));
    // A switch that does not offer it says so.
    let without = config().general.map(|g| GeneralConfig { attendre: None, ..g });
    let mut bench = Bench::with(SwitchConfig { general: without, ..config() });
    bench.refused(switched_on(0), BadRequest::BadExpType);
    let mut bench = Bench::new();
    bench.refused(switched_on(0), BadRequest::BadExpType);
}

fn encap(flow: u8, counter: u64) -> Action {
    Action::Encap(Encap {
        port: 3,
        version: v(counter),
        messages: 1,
        table_id: 0,
        priority: 9,
        match_: to_flow(flow),
    })
}

#[test]
fn a_command_travels_directly_ahead_of_the_first_packet_only() {
    let mut bench = bench();
    let (number, packet_in) = bench.miss(1, &nth(1, 0));
    bench.receive(1, &nth(1, 1));
    let actions = vec![Action::SetQueue(2), encap(1, 1), output(3), output(2)];
    let named = FlowMod {
        buffer_id: packet_in.buffer_id,
        ..forward(0, 1, vec![Instruction::ApplyActions(actions)])
    };
    bench.install([set_flow_mod(set(1, 1, number), named)]);
    let left = bench.left();
    let through = |port| left.iter().filter(move |(p, _)| *p == port).map(|(_, n)| *n);
    let expected = [None, Some((1, 0)), Some((1, 1))];
    assert_eq!(through(3).collect::<Vec<_>>(), expected);
    assert_eq!(through(2).collect::<Vec<_>>(), expected[1..]);
    assert_eq!(bench.buffers().0.commands_sent, 1);
    // The entry reads back as what it does now.
    let stats = bench.reply(RequestBody::Flow(FlowStatsRequest {
        table_id: 0,
        out_port: port::ANY,
        out_group: tenuto_openflow::constants::group::ANY,
        cookie: 1,
        cookie_mask: u64::MAX,
        match_: Match::ANY,
    }));
    let ReplyBody::Flow(stats) = stats else { panic!("{stats:?}") };
    let rest = Instruction::ApplyActions(vec![Action::SetQueue(2), output(3), output(2)]);
    assert_eq!(stats[0].instructions, [rest]);
    // The same from an action set, and from a packet-out.
    let written = Instruction::WriteActions(vec![encap(2, 2), output(3)]);
    bench.install([Body::FlowMod(forward(0, 2, vec![written]))]);
    bench.receive(1, &nth(2, 0));
    bench.receive(1, &nth(2, 1));
    assert_eq!(bench.left(), [(3, None), (3, Some((2, 0))), (3, Some((2, 1)))]);
    let packet_out = PacketOut {
        buffer_id: NO_BUFFER,
        in_port: 1,
        actions: vec![encap(4, 3), output(3)],
        data: nth(4, 0),
    };
    bench.install([Body::PacketOut(packet_out)]);
    assert_eq!(bench.left(), [(3, None), (3, Some((4, 0)))]);
}

#[test]
fn a_command_goes_by_its_packet_and_never_alone() {
    let mut bench = bench();
    bench.install([
        meter(MeterModCommand::Add, 1, 1, 1),
        Body::FlowMod(forward(
            0,
            1,
            vec![Instruction::Meter(1), apply(vec![encap(1, 1), output(3)])],
        )),
    ]);
    // What the meter drops takes no command along; the first packet that passes does.
    bench.receive(1, &frame(1, 1_000));
    assert_eq!(bench.drops(), [DropReason::Policed]);
    bench.receive(1, &nth(1, 1));
    assert_eq!(bench.left(), [(3, None), (3, Some((1, 1)))]);
    // A queue with room for the packet alone: plain OpenFlow results at the next switch.
    bench.install([Body::FlowMod(forward(0, 2, vec![apply(vec![output(3)])]))]);
    // 8 x 1424 B of 12304 B; then 874 B, and the command would take 98 B more.
    for _ in 0..8 {
        bench.receive(1, &frame(2, 1_400));
    }
    bench.install([Body::FlowMod(forward(0, 1, vec![apply(vec![encap(1, 2), output(3)])]))]);
    bench.wait(Span::from_s(10));
    bench.receive(1, &frame(1, 850));
    assert!(bench.drops().is_empty());
    let left = bench.left();
    assert!(left.iter().all(|(_, frame)| frame.is_some()), "{left:?}");
    assert_eq!(bench.buffers().0.commands_sent, 1);
}

#[test]
fn at_the_next_switch_packets_wait_for_the_set() {
    let mut bench = bench();
    bench.command(1, 2, 1);
    for n in 0..3 {
        bench.receive(3, &nth(1, n));
    }
    assert!(bench.asked().is_empty());
    let (_, buffers) = bench.buffers();
    assert_eq!((buffers[0].version, buffers[0].messages), (v(1), (2, 0)));
    assert_eq!((buffers[0].priority, buffers[0].match_.clone()), (0x8000, to_flow(1)));
    bench.install([
        set_flow_mod(set(1, 2, 0), forward(0, 1, vec![Instruction::GotoTable(1)])),
        set_flow_mod(set(1, 2, 0), forward(1, 1, vec![apply(vec![output(2)])])),
    ]);
    assert_eq!(bench.left(), [0, 1, 2].map(|n| (2, Some((1, n)))));
    // A command that comes after its set says nothing new, and neither does its replay.
    bench.command(1, 2, 1);
    assert_eq!(bench.switch.buffered(), (0, 0));
    bench.receive(3, &nth(1, 3));
    assert_eq!(bench.left(), [(2, Some((1, 3)))]);
}

#[test]
fn a_lost_set_is_plain_openflow_in_the_end() {
    let mut bench = bench();
    bench.command(1, 1, 1);
    bench.receive(3, &nth(1, 0));
    bench.receive(3, &nth(1, 1));
    let end = bench.now + Span::from_ms(100);
    bench.run_to(end);
    // The first asks; the second waits for the answer, in another buffer.
    let asked = bench.asked();
    assert_eq!((asked.len(), asked[0].1.total_len), (1, 100));
    assert_eq!(bench.switch.buffered(), (1, 1));
    assert!(bench.drops().is_empty());
}

#[test]
fn commands_that_nobody_may_send_are_counted_and_dropped() {
    let mut bench = bench();
    let good = command(5, 1, 1, 1);
    bench.receive(1, &good);
    let mut forged = good.clone();
    forged[15] = 1;
    bench.receive(3, &forged);
    bench.receive(4, &good);
    bench.receive(3, &good[..good.len() - 1]);
    let mut tagged = good.clone();
    tagged.splice(12..12, [0x81, 0, 0, 1]);
    bench.receive(3, &tagged);
    assert_eq!(bench.drops(), [DropReason::CommandRejected; 5]);
    assert_eq!(bench.switch.buffered(), (0, 0));
    bench.receive(3, &good);
    assert_eq!(bench.switch.buffered(), (1, 0));
    bench.receive(3, &good);
    bench.receive(3, &command(4, 2, 1, 2));
    assert_eq!(bench.drops(), [DropReason::CommandRejected], "the replay");
    let (totals, buffers) = bench.buffers();
    assert_eq!((totals.commands_accepted, totals.commands_rejected, buffers.len()), (2, 6, 2));
    let rejected: Vec<u64> = bench.switch.ports().map(|(_, c, _)| c.commands_rejected).collect();
    assert_eq!(rejected, [1, 0, 4, 1]);
    let errors = match bench.reply(RequestBody::PortStats { port_no: port::ANY }) {
        ReplyBody::PortStats(ports) => ports.iter().map(|port| port.rx_errors).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(errors, rejected, "and in OpenFlow's own counters");
}

#[test]
fn an_update_hides_the_entry_of_an_older_set_only() {
    let mut bench = bench();
    bench.install([set_flow_mod(set(5, 1, 0), forward(0, 1, vec![apply(vec![output(2)])]))]);
    // Older than the entry: ignored.
    bench.command(4, 1, 1);
    bench.receive(3, &nth(1, 0));
    assert_eq!(bench.left(), [(2, Some((1, 0)))]);
    // The same set would be complete; a later one hides the entry until it is.
    bench.command(6, 2, 1);
    bench.receive(3, &nth(1, 1));
    assert_eq!(bench.left(), []);
    bench.install([set_flow_mod(set(6, 2, 0), forward(0, 1, vec![apply(vec![output(4)])]))]);
    bench.receive(3, &nth(1, 2));
    assert_eq!(bench.left(), [], "the entry is there, the rest of the set is not");
    bench.install([set_empty(set(6, 2, 0))]);
    assert_eq!(bench.left(), [1, 2].map(|n| (4, Some((1, n)))));
    // Of two updates under way, what waits waits for the later one.
    bench.command(8, 1, 1);
    bench.receive(3, &nth(1, 3));
    bench.command(9, 1, 1);
    bench.install([set_flow_mod(set(8, 1, 0), forward(0, 1, vec![apply(vec![output(1)])]))]);
    assert_eq!(bench.left(), []);
    bench.install([set_flow_mod(set(9, 1, 0), forward(0, 1, vec![apply(vec![output(2)])]))]);
    assert_eq!(bench.left(), [(2, Some((1, 3)))]);
}

#[test]
fn an_entry_of_higher_precedence_keeps_its_packets() {
    let mut bench = bench();
    let above = FlowMod { priority: 0x8001, ..forward(0, 1, vec![apply(vec![output(2)])]) };
    bench.install([Body::FlowMod(above)]);
    bench.command(1, 1, 1);
    bench.receive(3, &nth(1, 0));
    assert_eq!(bench.left(), [(2, Some((1, 0)))]);
}

#[test]
fn a_packet_goes_on_in_the_table_where_it_waited_as_it_was() {
    let mut bench = bench();
    let first = vec![
        Instruction::WriteMetadata { metadata: 5, mask: 0xff },
        apply(vec![output(4), Action::PushVlan(0x8100)]),
        Instruction::WriteActions(vec![
            Action::SetQueue(1),
            Action::SetField(Oxm::EthSrc { value: [7; 6], mask: None }),
        ]),
        Instruction::GotoTable(2),
    ];
    let miss = FlowMod { table_id: 2, ..any(0, vec![to_controller(20)]) };
    bench.install([Body::FlowMod(forward(0, 1, first)), Body::FlowMod(miss)]);
    let (number, packet_in) = bench.miss(1, &nth(1, 0));
    assert_eq!(packet_in.table_id, 2);
    bench.receive(1, &nth(1, 1));
    assert_eq!(bench.left().len(), 2, "port 4 had its copies before");
    let metadata = Oxm::Metadata { value: 5, mask: None };
    let second = FlowMod {
        match_: Match::from(vec![metadata]),
        ..forward(2, 1, vec![Instruction::WriteActions(vec![output(2)])])
    };
    bench.install([set_flow_mod(set(1, 1, number), second)]);
    let sent = bench.drain();
    assert_eq!((sent.len(), sent[0].0), (1, 2));
    assert_eq!(&sent[0].1[6..16], &[7, 7, 7, 7, 7, 7, 0x81, 0, 0, 0]);
    assert_eq!(sent[0].1.len(), 105);
}

#[test]
fn a_released_backlog_is_paced_by_the_meter_of_its_class() {
    let mut bench = bench();
    // 128 B on the line each: 1 kbit at once, then one each 1.024 ms at 1 Mbit/s.
    bench.install([meter(MeterModCommand::Add, 1, 1_000, 2), switched_on(1)]);
    bench.command(1, 1, 1);
    for _ in 0..3 {
        bench.receive(3, &frame(1, 104));
    }
    let entry = forward(0, 1, vec![Instruction::Meter(1), apply(vec![output(2)])]);
    bench.install([set_flow_mod(set(1, 1, 0), entry)]);
    let (_, buffers) = bench.buffers();
    assert_eq!((buffers[0].phase, buffers[0].frames), (BufferPhase::Releasing, 2));
    assert_eq!(bench.left().len(), 1);
    // What comes meanwhile goes behind.
    bench.receive(3, &nth(1, 7));
    assert_eq!(bench.left(), []);
    let start = bench.now;
    let mut times = Vec::new();
    while let Some((_, at)) = bench.switch.next_deadline() {
        for (_, bytes) in bench.run_to(at) {
            times.push((bytes.len(), bench.now.since(start).as_ns() / 100_000));
        }
    }
    // 48 µs for the rest of its kbit, 10 µs on the line; then a frame's time at the rate each.
    assert_eq!(times, [(104, 0), (104, 10), (107, 21)]);
    assert!(bench.drops().is_empty(), "what is paced is not policed again");
}

#[test]
fn a_raise_purges_what_waits_at_lower_levels() {
    let mut bench = bench();
    bench.install([mode_config(2, &[2]), shadow(1, 2, 9, vec![apply(vec![output(2)])])]);
    bench.ask(activate(1, 0));
    bench.command(1, 1, 1);
    bench.receive(3, &nth(1, 0));
    assert_eq!((bench.switch.mode().0, bench.switch.buffered()), (0, (1, 1)));
    bench.ask(activate(2, 1));
    assert_eq!((bench.switch.mode().0, bench.switch.buffered()), (1, (0, 0)));
    assert_eq!(bench.drops(), [DropReason::Purged]);
    assert_eq!((bench.buffers().0.purged, bench.status().purged_frames), (1, 1));
}

#[test]
fn the_buffer_action_keeps_until_its_set_is_complete() {
    let mut bench = bench();
    let keep = |counter| Action::Buffer { version: v(counter), messages: 2 };
    bench.install([Body::FlowMod(forward(0, 1, vec![apply(vec![keep(1), output(4)])]))]);
    bench.receive(1, &nth(1, 0));
    assert_eq!(bench.left(), []);
    // One that only keeps leaves nothing behind.
    bench.install([Body::FlowMod(forward(0, 2, vec![apply(vec![keep(1)])]))]);
    bench.receive(1, &nth(2, 0));
    assert_eq!(bench.switch.buffered(), (2, 2));
    bench.install([
        set_empty(set(1, 2, 0)),
        set_flow_mod(set(1, 2, 0), forward(0, 2, vec![apply(vec![output(4)])])),
    ]);
    assert_eq!(bench.left(), [1, 2].map(|flow| (4, Some((flow, 0)))));
    // For a set that is complete it says nothing.
    bench.install([Body::FlowMod(forward(0, 3, vec![apply(vec![keep(1), output(4)])]))]);
    bench.receive(1, &nth(3, 0));
    assert_eq!(bench.left(), [(4, Some((3, 0)))]);
}

#[test]
fn what_cannot_be_is_refused() {
    let mut bench = bench();
    let with = |action: Action| Body::FlowMod(forward(0, 1, vec![apply(vec![action])]));
    let to = |port: u32, match_: Match| {
        let Action::Encap(encap) = encap(1, 1) else { unreachable!() };
        Action::Encap(Encap { port, match_, ..encap })
    };
    bench.refused(with(to(1, to_flow(1))), BadAction::BadArgument); // a host
    bench.refused(with(to(9, to_flow(1))), BadAction::BadOutPort);
    let no_prerequisite = Match::from(vec![Oxm::TcpDst { value: 1, mask: None }]);
    bench.refused(with(to(3, no_prerequisite)), BadMatch::BadPrereq);
    let keep = Action::Buffer { version: v(1), messages: 1 };
    let written = forward(0, 1, vec![Instruction::WriteActions(vec![keep.clone()])]);
    bench.refused(Body::FlowMod(written), BadAction::BadArgument);
    let bad_table = forward(64, 1, vec![apply(vec![keep.clone()])]);
    bench.refused(Body::FlowMod(bad_table), FlowModFailed::BadTableId);
    for action in [keep, encap(1, 1)] {
        let group = support::group(GroupModCommand::Add, 1, vec![vec![action]]);
        bench.refused(group, BadAction::BadArgument);
    }
    bench.refused(switched_on(7), MeterModFailed::UnknownMeter);
    let reply = AttendreMessage::PacketIn {
        number: 1,
        packet_in: PacketIn {
            buffer_id: 0,
            total_len: 0,
            reason: PacketInReason::NoMatch,
            table_id: 0,
            cookie: 0,
            match_: Match::ANY,
            data: vec![],
        },
    };
    bench.refused(attendre(reply), BadRequest::BadType);
    // A message that could not be carried out counts all the same: its set ends.
    bench.command(1, 1, 1);
    bench.receive(3, &nth(1, 0));
    let answers = bench.ask(set_flow_mod(set(1, 1, 0), forward(64, 1, vec![])));
    let is_error = |m: &Message| matches!(m.body, Body::Error(_));
    assert_eq!(answers.iter().filter(|m| is_error(m)).count(), 1, "{answers:?}");
    assert_eq!(bench.switch.buffered().1, 0, "it asks the controller now");
}

#[test]
fn sets_that_were_forgotten_count_as_complete() {
    let mut bench = bench();
    for counter in 1..=9 {
        bench.install([set_empty(set(counter, 0, 0))]);
    }
    bench.command(2, 1, 1);
    assert_eq!(bench.switch.buffered(), (0, 0));
    bench.command(10, 1, 1);
    assert_eq!(bench.switch.buffered(), (1, 0));
    // Too many sets that never end: the oldest is given up, and with it the wait.
    bench.receive(3, &nth(1, 0));
    for counter in 10..=14 {
        bench.install_quietly(set_empty(set(counter, 2, 0)));
    }
    assert_eq!(bench.asked().len(), 1);
}
