//! A switch that keeps packets for message sets, in whatever order things come.

use crate::switch::Bench;
use tenuto_dataplane::switch::{AttendreLimits, GeneralConfig};
use tenuto_openflow::constants::port;
use tenuto_openflow::{
    Action, AttendreConfig, AttendreMessage, Body, Encap, Experimenter, FlowMod, FlowModCommand,
    Instruction, Match, Message, MessageSet, Oxm, Version,
};
use tenuto_units::Span;
use tenuto_wire::attendre::COMMAND_LEN_MAX;
use tenuto_wire::{CommandRepr, LinkKey, MacAddress};

const LIMITS: AttendreLimits = AttendreLimits {
    buffers_max: 3,
    frames_each: 2,
    frames_max: 4,
    sets_max: 3,
    timeout: Span::from_ms(20),
};

const fn attendre(message: AttendreMessage) -> Body {
    Body::Experimenter(Experimenter::Attendre(message))
}

fn to_flow(flow: u8) -> Match {
    Match::from(vec![Oxm::EthDst { value: [3, 0, 0, 0, 0, flow], mask: None }])
}

/// Five bytes are one thing that happens: a frame, a command of the neighbour, a message of a set,
/// an entry that keeps or tells the next switch to keep, time.
pub fn switch_attendre(bytes: &[u8]) {
    let config = GeneralConfig { attendre: Some(LIMITS), buffers_max: 2, ..Default::default() };
    let mut bench = Bench::with(3, Some(config));
    let on = AttendreConfig { is_on: true, meter_id: 0, timeout_ns: 0 };
    let ask = Action::Output { port: port::CONTROLLER, max_len: 32 };
    let miss = FlowMod {
        priority: 0,
        instructions: vec![Instruction::ApplyActions(vec![ask])],
        ..FlowMod::new(FlowModCommand::Add, 0)
    };
    bench.tell(attendre(AttendreMessage::Config(on)));
    bench.tell(Body::FlowMod(miss));
    for (sequence, thing) in (1_u64..).zip(bytes.chunks_exact(5)) {
        let [kind, flow, counter, messages, more] = [0, 1, 2, 3, 4].map(|place| thing[place]);
        let (flow, table) = (flow % 5, more % 3);
        let version = Version { generation: 1, counter: u64::from(counter % 8) };
        let messages = u16::from(messages % 4);
        let set = MessageSet { version, messages, answers: u64::from(more >> 3) };
        let entry = |actions| FlowMod {
            match_: to_flow(flow),
            instructions: vec![Instruction::ApplyActions(actions)],
            buffer_id: if more & 4 == 0 { u32::MAX } else { u32::from(more >> 3) },
            ..FlowMod::new(FlowModCommand::Add, table)
        };
        let output = |port| Action::Output { port, max_len: 0 };
        match kind % 8 {
            0 | 1 => {
                let mut frame = [0; 80];
                frame[..6].copy_from_slice(&[3, 0, 0, 0, 0, flow]);
                bench.receive(1 + u32::from(more) % 3, &frame);
            }
            2 => {
                let matching = to_flow(flow).to_oxm_bytes();
                let command = CommandRepr {
                    table: more % 4,
                    priority: 0x8000,
                    messages,
                    generation: version.generation,
                    counter: version.counter,
                    sequence: if more & 0x80 == 0 { sequence } else { counter.into() },
                    matching: &matching,
                };
                let mut frame = [0; COMMAND_LEN_MAX];
                let key = LinkKey::new([if more & 0x40 == 0 { 3 } else { 4 }; 16]);
                let len = command.emit(MacAddress([2; 6]), &key, &mut frame).expect("it fits");
                bench.receive(3, &frame[..len]);
            }
            3 => bench.tell(attendre(AttendreMessage::SetFlowMod {
                set,
                flow_mod: entry(vec![output(1 + u32::from(counter) % 3)]),
            })),
            4 => bench.tell(attendre(AttendreMessage::SetEmpty(set))),
            5 => {
                let encap = Action::Encap(Encap {
                    port: 3,
                    version,
                    messages,
                    table_id: table,
                    priority: 1,
                    match_: to_flow(flow),
                });
                let flow_mod = entry(vec![encap, output(3)]);
                bench.tell(attendre(AttendreMessage::SetFlowMod { set, flow_mod }));
            }
            6 => {
                let keep = Action::Buffer { version, messages };
                bench.tell(Body::FlowMod(entry(vec![keep, output(2)])));
            }
            _ => bench.run(Span::from_ms(u64::from(more))),
        }
        bench.tell(attendre(AttendreMessage::BuffersRequest));
        let (buffers, frames) = bench.switch.buffered();
        assert!(buffers <= 3, "{buffers} buffers");
        // What comes back from the controller is let in beside: four for each buffer.
        assert!(frames <= 4 + 3 * 4, "{frames} frames");
        bench.run(Span::from_us(100));
        bench.fx.clear();
    }
    // Nothing waits for ever.
    bench.run(Span::from_s(1));
    bench.run(Span::from_s(1));
    bench.finish();
}

impl Bench {
    fn tell(&mut self, body: Body) {
        let bytes = Message::new(1, body).to_bytes();
        assert!(self.switch.control(self.now, &bytes, &mut self.frames, &mut self.fx));
    }
}
