//! Questions as bytes, and what answers them.
//!
//! At a million a second neither is built nor read as a value: a question is a message that was built once, with the
//! fields that differ written over.

use tenuto_openflow::constants::OFP_HEADER_LEN;
use tenuto_openflow::{Body, Match, Message, Oxm, PacketIn, PacketInReason};

/// Where fields of a packet-in are (OpenFlow 1.3.5, section 7.4.1) with a match of the ingress port alone.
const BUFFER_AT: usize = 8;
const PORT_AT: usize = 32;
const DESTINATION_AT: usize = 42;
const SOURCE_AT: usize = 48;
/// Bytes of the frames, without FCS: the least of Ethernet.
const FRAME_BYTES: u16 = 60;

/// Where a packet-out and a flow-mod name the buffer (sections 7.3.7 and 7.3.4.1).
const PACKET_OUT_BUFFER_AT: usize = 8;
const FLOW_MOD_BUFFER_AT: usize = 32;
const PACKET_OUT: u8 = 13;
const FLOW_MOD: u8 = 14;

/// An address of a host: the `host`-th of a switch.
pub(super) const fn address(switch: u32, host: u32) -> [u8; 6] {
    let [a, b, c, d] = (switch << 8 | host & 0xff).to_be_bytes();
    [2, 0x0f, a, b, c, d]
}

/// A packet-in with the fields that differ left open.
#[derive(Clone, Debug)]
pub(super) struct Question {
    bytes: Vec<u8>,
}

impl Question {
    pub(super) fn new() -> Self {
        let mut data = vec![0; usize::from(FRAME_BYTES)];
        // IPv4 with UDP inside; no application here looks further than that.
        data[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
        let packet_in = PacketIn {
            buffer_id: 0,
            total_len: FRAME_BYTES,
            reason: PacketInReason::NoMatch,
            table_id: 0,
            cookie: 0,
            match_: Match::from(vec![Oxm::InPort(0)]),
            data,
        };
        Self { bytes: Message::new(0, Body::PacketIn(packet_in)).to_bytes() }
    }

    /// Appends one: a packet in a buffer, from a host (which is at the port of its number) to an address.
    pub(super) fn ask(
        &mut self,
        out: &mut Vec<u8>,
        buffer: u32,
        (from, port): ([u8; 6], u32),
        to: [u8; 6],
    ) {
        self.bytes[BUFFER_AT..][..4].copy_from_slice(&buffer.to_be_bytes());
        self.bytes[PORT_AT..][..4].copy_from_slice(&port.to_be_bytes());
        self.bytes[DESTINATION_AT..][..6].copy_from_slice(&to);
        self.bytes[SOURCE_AT..][..6].copy_from_slice(&from);
        out.extend_from_slice(&self.bytes);
    }
}

/// What a controller says, as far as the load goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said<'a> {
    /// What to do with the packet of a buffer.
    Answer(u32),
    /// Anything else: a whole message.
    Other(&'a [u8]),
}

/// The first message of the bytes, and how long it is; `None` if it is not whole. A length below that of a header is an error.
pub(super) fn first(bytes: &[u8]) -> Option<Result<(Said<'_>, usize), ()>> {
    let header = bytes.first_chunk::<OFP_HEADER_LEN>()?;
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if length < OFP_HEADER_LEN {
        return Some(Err(()));
    }
    let message = bytes.get(..length)?;
    let buffer_at = match header[1] {
        PACKET_OUT => Some(PACKET_OUT_BUFFER_AT),
        FLOW_MOD => Some(FLOW_MOD_BUFFER_AT),
        _ => None,
    };
    let buffer = buffer_at.and_then(|at| message.get(at..)?.first_chunk::<4>().copied());
    let said = buffer.map_or(Said::Other(message), |it| Said::Answer(u32::from_be_bytes(it)));
    Some(Ok((said, length)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenuto_openflow::{FlowMod, FlowModCommand, PacketOut};

    /// Read back by the codec, which knows nothing of places.
    #[test]
    fn a_question_is_a_packet_in_with_these_fields() {
        let mut bytes = Vec::new();
        let (from, to) = (address(3, 7), address(3, 9));
        Question::new().ask(&mut bytes, 77, (from, 7), to);
        let message = Message::parse(&bytes).expect("a packet-in");
        let Body::PacketIn(it) = message.body else { panic!("{message:?}") };
        assert_eq!((it.buffer_id, it.match_.oxms), (77, vec![Oxm::InPort(7)]));
        assert_eq!((&it.data[..6], &it.data[6..12], it.data.len()), (&to[..], &from[..], 60));
        assert_ne!(address(1, 2), address(2, 1));
    }

    #[test]
    fn answers_are_found_by_their_buffers_however_bytes_are_cut() {
        let flow_mod = FlowMod { buffer_id: 5, ..FlowMod::new(FlowModCommand::Add, 0) };
        let packet_out =
            PacketOut { buffer_id: 6, in_port: 1, actions: Vec::new(), data: Vec::new() };
        let mut bytes = Message::new(1, Body::FlowMod(flow_mod)).to_bytes();
        let second = bytes.len();
        bytes.extend(Message::new(2, Body::PacketOut(packet_out)).to_bytes());
        let third = bytes.len();
        bytes.extend(Message::new(3, Body::BarrierRequest).to_bytes());
        assert_eq!(first(&bytes), Some(Ok((Said::Answer(5), second))));
        assert_eq!(first(&bytes[second..]), Some(Ok((Said::Answer(6), third - second))));
        assert_eq!(first(&bytes[third..]), Some(Ok((Said::Other(&bytes[third..]), 8))));
        (0..second).for_each(|cut| assert_eq!(first(&bytes[..cut]), None, "{cut}"));
        assert_eq!(first(&[4, 13, 0, 7, 0, 0, 0, 0]), Some(Err(())));
        // A flow-mod that ends before its buffer is no answer, and no reason to fail.
        assert!(matches!(first(&[4, 14, 0, 8, 0, 0, 0, 0]), Some(Ok((Said::Other(_), 8)))));
    }
}
