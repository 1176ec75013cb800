//! Keeping and releasing frames allocates nothing per frame, and so does forwarding while buffers
//! are open.

use support::general::{any, config, to_controller};
use support::{Bench, KEYS, NEIGHBOUR, apply, frame, output, to_flow};
use tenuto_dataplane::Frames;
use tenuto_openflow::*;
use tenuto_wire::CommandRepr;

mod support;

const EACH: usize = 30;

fn attendre(message: AttendreMessage) -> Vec<u8> {
    Message::new(1, Body::Experimenter(Experimenter::Attendre(message))).to_bytes()
}

fn drain(bench: &mut Bench) -> usize {
    let mut sent = 0;
    loop {
        let mut next = None;
        bench.switch.for_each_deadline(|timer, at| {
            if matches!(timer, tenuto_dataplane::TimerId::PortReady(_)) {
                next = next.or(Some((timer, at)));
            }
        });
        let Some((timer, at)) = next else { return sent };
        bench.now = bench.now.max(at);
        bench.switch.fire(timer, at, &mut bench.frames, &mut bench.fx);
        while let Some(transmit) = bench.fx.transmits.pop() {
            bench.frames.release(transmit.frame);
            sent += 1;
        }
    }
}

#[test]
fn keeping_and_releasing_allocate_nothing() {
    let mut config = config();
    for port in &mut config.ports {
        port.egress.buffer_bits = 1 << 20;
    }
    let mut bench = Bench::with(config);
    let on = AttendreConfig { is_on: true, meter_id: 0, timeout_ns: 1_000_000_000 };
    bench.control(&attendre(AttendreMessage::Config(on)));
    let to = |flow, port| FlowMod {
        match_: to_flow(flow),
        instructions: vec![
            Instruction::WriteActions(vec![Action::DecNwTtl]),
            Instruction::GotoTable(port),
        ],
        ..FlowMod::new(FlowModCommand::Add, 0)
    };
    let out = FlowMod { table_id: 2, ..any(1, vec![output(2)]) };
    bench.install([
        Body::FlowMod(any(0, vec![to_controller(20)])),
        Body::FlowMod(to(1, 1)),
        Body::FlowMod(to(2, 2)),
        Body::FlowMod(out),
    ]);
    let (waits, passes) = (frame(1, 100), frame(2, 100));
    let (mut kept, mut released, mut forwarded) = (0, 0, 0);
    for counter in 1..=20_u64 {
        // Table 1 waits for its entry; frames get there with changes in their action set.
        let matching = to_flow(1).to_oxm_bytes();
        let command = CommandRepr {
            table: 1,
            priority: 0x8000,
            messages: 1,
            generation: 1,
            counter,
            sequence: counter,
            matching: &matching,
        };
        let mut bytes = vec![0; command.frame_len()];
        command.emit(NEIGHBOUR, &KEYS[0], &mut bytes).expect("it fits");
        bench.receive(3, &bytes);
        let measured = allocation_counter::measure(|| {
            for _ in 0..EACH {
                bench.receive(3, &waits);
                bench.receive(3, &passes);
                forwarded += drain(&mut bench);
            }
        });
        kept += bench.switch.buffered().1;
        if counter > 2 {
            assert_eq!(measured.count_total, 0, "while frames are kept, round {counter}");
        }
        let set =
            MessageSet { version: Version { generation: 1, counter }, messages: 1, answers: 0 };
        // Taken apart beforehand, so that what is counted is the release.
        let flow_mod = FlowMod {
            match_: to_flow(1),
            instructions: vec![apply(vec![Action::SetQueue(1), output(2)])],
            ..FlowMod::new(FlowModCommand::Add, 1)
        };
        if counter == 1 {
            bench.install([Body::FlowMod(flow_mod)]);
        }
        let end = attendre(AttendreMessage::SetEmpty(set));
        let alone = attendre(AttendreMessage::SetEmpty(MessageSet {
            version: Version { generation: 2, counter },
            ..set
        }));
        let without = allocation_counter::measure(|| {
            bench.control(&alone);
        });
        let with = allocation_counter::measure(|| {
            bench.control(&end);
        });
        released += drain(&mut bench);
        if counter > 2 {
            // Thirty frames cost no more than none, but for a split node of the tree of sets.
            assert!(
                with.count_total <= without.count_total + 4,
                "{} against {} with nothing to release, round {counter}",
                with.count_total,
                without.count_total
            );
        }
    }
    assert_eq!((kept, released, forwarded), (20 * EACH, 20 * EACH, 20 * EACH));
}
