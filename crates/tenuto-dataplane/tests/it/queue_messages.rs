//! Levels, weights and what queues have seen, over the control channel.

use support::{Bench, add, apply, frame, general, output, sent_to};
use tenuto_dataplane::FramePool;
use tenuto_dataplane::switch::{GeneralConfig, SwitchConfig};
use tenuto_openflow::constants::{port, queue};
use tenuto_openflow::{
    Action, Body, Experimenter, Oxm, QueueDetail, QueueOpFailed, QueueShare, QueuesMessage,
    ReplyBody, RequestBody,
};
use tenuto_units::Span;

use crate::support;

const fn ours(message: QueuesMessage) -> Body {
    Body::Experimenter(Experimenter::Queues(message))
}

fn queue_mod(port: u32, shares: &[(u32, u8, u8)]) -> Body {
    let share = |&(queue, level, weight): &(u32, u8, u8)| QueueShare { queue, level, weight };
    ours(QueuesMessage::QueueMod { port, shares: shares.iter().map(share).collect() })
}

fn details(bench: &mut Bench, port: u32, queue: u32) -> Vec<QueueDetail> {
    let answers = bench.ask(ours(QueuesMessage::DetailRequest { port, queue }));
    let queues = answers.into_iter().map(|message| match message.body {
        Body::Experimenter(Experimenter::Queues(QueuesMessage::DetailReply { queues, .. })) => {
            queues
        }
        other => panic!("{other:?}"),
    });
    queues.flatten().collect()
}

/// Frames of flow 1 through queue 1, of flow 2 through queue 2, all out of port 2.
fn two_queues(bench: &mut Bench) {
    bench.install([
        add(0, 1, vec![sent_to(1, 2)]),
        add(0, 2, vec![apply(vec![Action::SetQueue(2), output(2)])]),
    ]);
}

#[test]
fn queues_share_a_level_by_weight_after_a_queue_mod() {
    let mut bench = general::bench();
    two_queues(&mut bench);
    let order = |bench: &mut Bench| {
        // Four of each; the first is committed before any other has come.
        for flow in [1, 2, 1, 2, 1, 2, 1, 2] {
            bench.receive(1, &frame(flow, 700));
        }
        bench.drain_flows().into_iter().map(|(_, flow)| flow).collect::<Vec<u8>>()
    };
    assert_eq!(order(&mut bench), [1, 1, 1, 1, 2, 2, 2, 2]);
    bench.install([queue_mod(2, &[(1, 1, 1), (2, 1, 1)])]);
    // The first was alone, which ended its grant. A grant is worth the largest frame: two of these.
    assert_eq!(order(&mut bench), [1, 2, 2, 1, 1, 2, 2, 1]);
    let answers = bench.ask(Body::QueueGetConfigRequest { port: 2 });
    let shown = answers[0].to_string();
    assert!(shown.contains("queue=1 level=1 weight=1; queue=2 level=1 weight=1"), "{shown}");
    bench.install([queue_mod(port::ANY, &[(2, 2, 1)])]);
    assert_eq!(order(&mut bench), [1, 1, 1, 1, 2, 2, 2, 2]);
    let shown = bench.ask(Body::QueueGetConfigRequest { port: 2 })[0].to_string();
    assert!(!shown.contains("level="), "strict again: {shown}");
}

#[test]
fn what_cannot_be_is_refused_whole() {
    let mut bench = general::bench();
    for (body, code) in [
        (queue_mod(99, &[(0, 0, 1)]), QueueOpFailed::BadPort),
        (queue_mod(2, &[(1, 0, 1), (4, 0, 1)]), QueueOpFailed::BadQueue),
        (queue_mod(2, &[(1, 0, 1), (2, 4, 1)]), QueueOpFailed::Eperm),
        (queue_mod(2, &[(1, 0, 1), (2, 0, 0)]), QueueOpFailed::Eperm),
        (
            ours(QueuesMessage::DetailRequest { port: 99, queue: queue::ALL }),
            QueueOpFailed::BadPort,
        ),
        (ours(QueuesMessage::DetailRequest { port: 2, queue: 4 }), QueueOpFailed::BadQueue),
    ] {
        bench.refused(body, code);
    }
    let levels = details(&mut bench, 2, queue::ALL).into_iter().map(|it| it.share.level);
    assert_eq!(levels.collect::<Vec<_>>(), [0, 1, 2, 3], "nothing of it was done");
}

#[test]
fn a_planned_switch_stays_with_what_was_analysed() {
    let mut bench = Bench::new();
    bench.refused(queue_mod(2, &[(1, 0, 1)]), QueueOpFailed::Eperm);
    assert_eq!(details(&mut bench, 2, 1)[0].share, QueueShare { queue: 1, level: 1, weight: 1 });
}

#[test]
fn depths_and_delays_are_told_per_queue() {
    let mut bench = general::bench();
    bench.switch.keep_delays();
    two_queues(&mut bench);
    for flow in [1, 1, 2, 2, 2] {
        bench.receive(1, &frame(flow, 976));
    }
    // 1000 bytes on the wire each: 80 us at 100 Mbit/s.
    let seen = details(&mut bench, 2, 2);
    assert_eq!((seen[0].frames, seen[0].frames_max, seen[0].wire_bytes), (3, 3, 3_000));
    assert!(seen[0].delays.is_empty(), "none has left");
    bench.drain();
    bench.wait(Span::from_ms(1));
    let seen = details(&mut bench, port::ANY, queue::ALL);
    assert_eq!(seen.len() % 4, 0, "every queue of every port");
    let of = |queue| seen.iter().find(|it| (it.port, it.share.queue) == (2, queue)).expect("told");
    assert_eq!((of(2).frames, of(2).frames_max, of(2).wire_bytes_max), (0, 3, 3_000));
    assert_eq!((of(1).delay_ns_max, of(2).delay_ns_max), (160_000, 400_000));
    // 240, 320 and 400 us: each in a range that is no wider than an eighth of it.
    let ranges: Vec<_> =
        of(2).delays.iter().map(|it| (it.from_ns, it.below_ns, it.frames)).collect();
    assert_eq!(ranges, [(229_376, 245_760, 1), (294_912, 327_680, 1), (393_216, 425_984, 1)]);
    let counted: u64 = seen.iter().flat_map(|it| &it.delays).map(|range| range.frames).sum();
    let stats = bench.reply(RequestBody::Queue { port_no: port::ANY, queue_id: queue::ALL });
    let ReplyBody::Queue(stats) = stats else { panic!("{stats:?}") };
    assert_eq!(counted, stats.iter().map(|it| it.tx_packets).sum::<u64>());
}

/// However many frames of a lower level come, they take no room from those that are served before them: on
/// tracks with one output and with several, and where frames are changed.
#[test]
fn a_flood_at_a_lower_level_costs_a_higher_one_nothing() {
    let changed = Action::SetField(Oxm::EthSrc { value: [2, 0, 0, 0, 0, 7], mask: None });
    let cases = [
        ("one output", vec![Action::SetQueue(0), output(2)]),
        ("several outputs", vec![Action::SetQueue(0), output(2), output(4)]),
        ("changed", vec![changed, Action::SetQueue(0), output(2)]),
    ];
    for (case, actions) in cases {
        let mut bench = general::bench();
        let flood = vec![Action::SetQueue(3), output(2), output(2)];
        bench.install([add(0, 1, vec![apply(actions)]), add(0, 2, vec![apply(flood)])]);
        let mut sent = Vec::new();
        for _ in 0..100 {
            for _ in 0..10 {
                bench.receive(1, &frame(2, 1_000));
            }
            bench.receive(3, &frame(1, 1_000));
            bench.wait(Span::from_us(85));
            sent.extend(bench.run_to(bench.now));
        }
        sent.extend(bench.drain());
        let at_two = |flow| sent.iter().filter(|(port, it)| (*port, it[5]) == (2, flow)).count();
        assert_eq!(at_two(1), 100, "{case}");
        // What is full goes on, too.
        assert!(at_two(2) > 5, "{case}");
        let dropped = std::mem::take(&mut bench.fx.drops);
        assert!(dropped.iter().all(|it| (it.cookie, it.frame_bytes) == (2, 1_004)), "{case}");
        assert_eq!(dropped.len() + at_two(2), 2_000, "{case}: each is told once");
        let reply = bench.reply(RequestBody::Queue { port_no: 2, queue_id: queue::ALL });
        let ReplyBody::Queue(stats) = reply else { panic!("{reply:?}") };
        let refused: Vec<u64> = stats.iter().map(|it| it.tx_errors).collect();
        assert_eq!(refused, [0, 0, 0, dropped.len() as u64], "{case}");
    }
}

/// Where buffers could hold more small frames than the store does, these fill them sooner: a flood at every
/// port leaves room for what arrives, and for a frame of a higher level at each of them.
#[test]
fn a_flood_of_small_frames_at_all_ports_leaves_room_in_the_store() {
    let SwitchConfig { general, .. } = general::config();
    let general = general.map(|it| GeneralConfig { frame_bits_least: 1_538 * 8, ..it });
    let mut bench = Bench::with(SwitchConfig { general, ..general::config() });
    // Three ports of eight such frames, and one in hand.
    bench.frames = FramePool::new(3 * 8 + 1);
    let flood = |port| vec![Action::SetQueue(3), output(port)];
    let entry = |(flow, actions)| add(0, flow, vec![apply(actions)]);
    let all = vec![Action::SetQueue(0), output(2), output(3), output(4)];
    bench.install([(1, all), (2, flood(2)), (3, flood(3)), (4, flood(4))].map(entry));
    for _ in 0..20 {
        // Finds room in the store, or the bench would say that there is none.
        for flow in [2, 3, 4] {
            bench.receive(1, &frame(flow, 60));
        }
    }
    assert_eq!(bench.frames.in_use(), 3 * 8);
    bench.receive(1, &frame(1, 60));
    let sent = bench.drain();
    let ports = |flow| sent.iter().filter(move |(_, it)| it[5] == flow).map(|(port, _)| *port);
    assert_eq!(ports(1).collect::<std::collections::BTreeSet<_>>().len(), 3);
    assert_eq!(ports(2).count(), 7, "the newest gave way");
}
