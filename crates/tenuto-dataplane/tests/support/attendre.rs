//! A switch that keeps packets on the bench: what its tests need.

use super::general::{any, config, to_controller};
use super::{Bench, KEYS, NEIGHBOUR, frame, to_flow};
use tenuto_dataplane::switch::{AttendreLimits, GeneralConfig, SwitchConfig};
use tenuto_openflow::*;
use tenuto_units::Span;
use tenuto_wire::{CommandFrame, CommandRepr};

pub(crate) const fn attendre(message: AttendreMessage) -> Body {
    Body::Experimenter(Experimenter::Attendre(message))
}

pub(crate) const fn v(counter: u64) -> Version {
    Version { generation: 1, counter }
}

pub(crate) const fn set(counter: u64, messages: u16, answers: u64) -> MessageSet {
    MessageSet { version: v(counter), messages, answers }
}

pub(crate) fn switched_on(meter_id: u32) -> Body {
    attendre(AttendreMessage::Config(AttendreConfig { is_on: true, meter_id, timeout_ns: 0 }))
}

pub(crate) fn limits() -> AttendreLimits {
    AttendreLimits {
        buffers_max: 4,
        frames_each: 3,
        frames_max: 6,
        sets_max: 4,
        timeout: Span::from_ms(100),
    }
}

pub(crate) fn limited() -> SwitchConfig {
    let general = config().general.map(|general| GeneralConfig {
        attendre: Some(limits()),
        buffers_max: 8,
        ..general
    });
    SwitchConfig { general, ..config() }
}

/// A switch whose table-miss entry asks the controller, which knows Attendre.
pub(crate) fn bench() -> Bench {
    let mut bench = Bench::with(limited());
    bench.install([switched_on(0), Body::FlowMod(any(0, vec![to_controller(20)]))]);
    bench
}

pub(crate) fn forward(table: u8, flow: u8, instructions: Vec<Instruction>) -> FlowMod {
    FlowMod { match_: to_flow(flow), ..super::flow_mod(table, flow, instructions) }
}

pub(crate) fn set_flow_mod(set: MessageSet, flow_mod: FlowMod) -> Body {
    attendre(AttendreMessage::SetFlowMod { set, flow_mod })
}

pub(crate) fn set_empty(set: MessageSet) -> Body {
    attendre(AttendreMessage::SetEmpty(set))
}

/// A frame of a flow that can be told from others of it by its length.
pub(crate) fn nth(flow: u8, n: usize) -> Vec<u8> {
    // The length is under the checksum of the IP header, and no match field.
    frame(flow, 100 + n)
}

impl Bench {
    /// The packet-ins since it was last asked, all of them numbered.
    pub(crate) fn asked(&mut self) -> Vec<(u64, PacketIn)> {
        let heard = self.heard(0).into_iter().map(|body| match body {
            Body::Experimenter(Experimenter::Attendre(AttendreMessage::PacketIn {
                number,
                packet_in,
            })) => (number, packet_in),
            other => panic!("{other:?}"),
        });
        heard.collect()
    }

    pub(crate) fn miss(&mut self, from: u32, bytes: &[u8]) -> (u64, PacketIn) {
        self.receive(from, bytes);
        let mut asked = self.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        asked.remove(0)
    }

    /// Ports, flows and numbers of frames that leave; `None` for commands.
    pub(crate) fn left(&mut self) -> Vec<(u32, Option<(u8, usize)>)> {
        let mut out = Vec::new();
        loop {
            let mut next = None;
            self.switch.for_each_deadline(|timer, at| {
                if matches!(timer, tenuto_dataplane::TimerId::PortReady(_)) {
                    next = next.or(Some((timer, at)));
                }
            });
            let Some((timer, at)) = next else { break };
            self.switch.fire(timer, at, &mut self.frames, &mut self.fx);
            for (port, bytes) in self.take_transmits() {
                let is_command = CommandFrame::parse(&bytes).is_ok();
                let number = || (bytes[5], bytes.len().wrapping_sub(100));
                out.push((port, (!is_command).then(number)));
            }
        }
        let (_, held) = self.switch.buffered();
        assert_eq!(self.frames.in_use(), held, "every handle is accounted for");
        out
    }

    pub(crate) fn buffers(&mut self) -> (BufferTotals, Vec<BufferStats>) {
        let request = attendre(AttendreMessage::BuffersRequest);
        match self.ask_on(0, request).remove(0) {
            Body::Experimenter(Experimenter::Attendre(AttendreMessage::BuffersReply {
                more: false,
                totals,
                buffers,
            })) => (totals, buffers),
            other => panic!("{other:?}"),
        }
    }

    /// A command from the neighbour behind trunk 3.
    pub(crate) fn command(&mut self, counter: u64, messages: u16, flow: u8) {
        self.sequence += 1;
        let bytes = command(self.sequence, counter, messages, flow);
        self.receive(3, &bytes);
    }
}

pub(crate) fn command(sequence: u64, counter: u64, messages: u16, flow: u8) -> Vec<u8> {
    let matching = to_flow(flow).to_oxm_bytes();
    let repr = CommandRepr {
        table: 0,
        priority: 0x8000,
        messages,
        generation: 1,
        counter,
        sequence,
        matching: &matching,
    };
    let mut bytes = vec![0; repr.frame_len()];
    repr.emit(NEIGHBOUR, &KEYS[0], &mut bytes).expect("it fits");
    bytes
}

impl Bench {
    /// Sends a message and leaves what it causes to be looked at.
    pub(crate) fn install_quietly(&mut self, body: Body) {
        let bytes = Message::new(77, body).to_bytes();
        assert!(self.switch.control(self.now, &bytes, &mut self.frames, &mut self.fx));
    }
}
