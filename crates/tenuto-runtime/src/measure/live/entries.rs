//! What a switch is told of virtual links, over OpenFlow; and the frames that take them.

use tenuto_openflow::constants::{meter_flag, port};
use tenuto_openflow::{
    Action, Body, Experimenter, FlowMod, FlowModCommand, Instruction, Match, MeterBand, MeterMod,
    MeterModCommand, ModesMessage, MonitorCommand, MonitorContract, MonitorKind, MonitorMod, Oxm,
};
use tenuto_wire::{MacAddress, UdpFrame};

/// Frames enter and leave by these.
pub(super) const ENTRY: u32 = 1;
pub(super) const EXIT: u32 = 2;
/// Of the aircraft of Deterministic OpenFlow, Table I.
pub(super) const LINKS: u32 = 649;
/// The four last bytes of a destination are the number of the virtual link.
pub(super) const LINK_AT: usize = 2;
/// 100 Gbit/s and 10 Mbit: more than is ever sent.
const METER_WIDE: (u32, u32) = (100_000_000, 10_000);
const QUEUES: u32 = 4;
const FCS_BYTES: usize = 4;
/// No destination of a virtual link, or a bridge that learns it would drop that link's frames.
const SOURCE: [u8; 6] = [0x02, 1, 0, 0, 0, 1];

/// How the frames of a virtual link are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Matched in three tables, watched, metered, queued.
    Judged,
    /// Matched in three tables and queued.
    Matched,
    /// Matched in one table and sent.
    Forwarded,
    /// Matched in one table, metered and sent.
    Metered,
}

fn address(link: u32) -> [u8; 6] {
    let [a, b, c, d] = link.to_be_bytes();
    [0x02, 0, a, b, c, d]
}

/// A frame of virtual link 0, `bytes` long with FCS, and where its payload begins.
pub(super) fn frame(bytes: usize) -> (Vec<u8>, usize) {
    let udp = UdpFrame {
        eth_dst: MacAddress(address(0)),
        eth_src: MacAddress(SOURCE),
        ip_src: [10, 0, 0, 1],
        ip_dst: [10, 1, 0, 1],
        udp_src: 20_000,
        udp_dst: 20_000,
        dscp: 0,
        payload_len: bytes.saturating_sub(FCS_BYTES + 42),
    };
    let mut buffer = vec![0; 1_600];
    let written = udp.emit(&mut buffer).expect("the buffer has room");
    let start = written.payload.start;
    buffer.truncate(written.len);
    (buffer, start)
}

/// The frame of another virtual link.
pub(super) fn frame_of(link: u32, bytes: usize) -> Vec<u8> {
    let (mut frame, _) = frame(bytes);
    frame[..6].copy_from_slice(&address(link));
    frame
}

/// A virtual link that is metered at such a rate, kbit/s, with such a burst, kbit, or not at all,
/// and sent by the highest queue.
pub(super) fn policed(link: u32, meter_kbit: Option<(u32, u32)>) -> Vec<Body> {
    let id = link + 1;
    let send = vec![Action::SetQueue(0), Action::Output { port: EXIT, max_len: 0 }];
    let mut instructions = vec![Instruction::ApplyActions(send)];
    let mut bodies = Vec::new();
    if let Some(meter_kbit) = meter_kbit {
        instructions.insert(0, Instruction::Meter(id));
        bodies.push(meter(id, meter_kbit));
    }
    bodies.push(Body::FlowMod(FlowMod {
        cookie: u64::from(id),
        priority: 10,
        match_: Match::from(vec![Oxm::EthDst { value: address(link), mask: None }]),
        instructions,
        ..FlowMod::new(FlowModCommand::Add, 0)
    }));
    bodies
}

/// Everything that a switch is told of one virtual link.
pub(super) fn virtual_link(link: u32, treatment: Treatment) -> Vec<Body> {
    let id = link + 1;
    let entry = |table: u8, instructions| {
        Body::FlowMod(FlowMod {
            cookie: u64::from(id),
            priority: 10,
            match_: Match::from(vec![Oxm::EthDst { value: address(link), mask: None }]),
            instructions,
            ..FlowMod::new(FlowModCommand::Add, table)
        })
    };
    let output = Action::Output { port: EXIT, max_len: 0 };
    let queue_and_send = vec![Action::SetQueue(link % QUEUES), output.clone()];
    let send = |actions| Instruction::ApplyActions(actions);
    match treatment {
        Treatment::Judged => vec![
            meter(id, METER_WIDE),
            monitor(id),
            entry(0, vec![send(vec![Action::Monitor(id)]), Instruction::GotoTable(1)]),
            entry(1, vec![Instruction::Meter(id), Instruction::GotoTable(2)]),
            entry(2, vec![send(queue_and_send)]),
        ],
        Treatment::Matched => vec![
            entry(0, vec![Instruction::GotoTable(1)]),
            entry(1, vec![Instruction::GotoTable(2)]),
            entry(2, vec![send(queue_and_send)]),
        ],
        Treatment::Forwarded => vec![entry(0, vec![send(vec![output])])],
        Treatment::Metered => {
            vec![meter(id, METER_WIDE), entry(0, vec![Instruction::Meter(id), send(vec![output])])]
        }
    }
}

fn meter(id: u32, (rate, burst_size): (u32, u32)) -> Body {
    Body::MeterMod(MeterMod {
        command: MeterModCommand::Add,
        flags: meter_flag::KBPS | meter_flag::BURST,
        meter_id: id,
        bands: vec![MeterBand::Drop { rate, burst_size }],
    })
}

/// Every frame is judged by its arrival; none is ever early.
fn monitor(id: u32) -> Body {
    let contract =
        |level: u8| MonitorContract { level, bytes_max: 2_000, period_ns: 0, jitter_ns: 0 };
    Body::Experimenter(Experimenter::Modes(ModesMessage::MonitorMod(MonitorMod {
        command: MonitorCommand::Add,
        monitor_id: id,
        kind: MonitorKind::Frame,
        contracts: vec![contract(0), contract(1)],
    })))
}

/// What frames without an entry of their own are for: an output to a reserved port.
pub(super) fn everything_to(reserved: u32) -> Body {
    let max_len = if reserved == port::CONTROLLER { 128 } else { 0 };
    Body::FlowMod(FlowMod {
        instructions: vec![Instruction::ApplyActions(vec![Action::Output {
            port: reserved,
            max_len,
        }])],
        ..FlowMod::new(FlowModCommand::Add, 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenuto_openflow::Message;

    #[test]
    fn a_frame_has_the_size_and_room_for_a_mark() {
        for bytes in [64, 1_500] {
            let (frame, payload) = frame(bytes);
            assert_eq!(frame.len() + FCS_BYTES, bytes);
            assert!(payload + 16 <= frame.len() && frame[..6] == address(0));
        }
    }

    #[test]
    fn every_message_is_read_as_it_is_written() {
        use Treatment::{Forwarded, Judged, Matched, Metered};
        for treatment in [Judged, Matched, Forwarded, Metered] {
            for body in virtual_link(7, treatment) {
                let message = Message { xid: 3, body };
                assert_eq!(Message::parse(&message.to_bytes()).as_ref(), Ok(&message));
            }
        }
    }
}
