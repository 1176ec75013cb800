//! The MC-SDN message shim, between UDP and the payload.
//!
//! It says which message a frame belongs to. Its size field is a *claim*: monitors count the
//! bytes that really arrive per message id (docs/theory/modes.md, "Order of things at the
//! first switch: monitor, then meter"), which [`MessagePart::locate`] gives.

use crate::build::UDP_PAYLOAD_START;
use crate::bytes::be_u32;
use crate::error::WireError;
use crate::ethernet::{EtherType, EthernetFrame, FCS_LEN, FRAME_LEN_MAX};
use crate::ipv4::{IpProtocol, Ipv4Packet};
use crate::udp::{HEADER_LEN as UDP_LEN, UdpPacket};
use std::fmt;
use std::ops::Range;
use tenuto_units::{WIRE_OVERHEAD_BYTES, wire_bits};

/// The shim header.
pub const SHIM_BYTES: usize = 12;
/// The most payload of one frame of a message, shim excluded: what fills a largest frame.
pub const PAYLOAD_BYTES_MAX: u32 = 1460;
/// What a frame of a message costs on the wire beyond its payload: preamble and gap 20,
/// Ethernet 14, FCS 4, IPv4 20, UDP 8, shim 12.
const WIRE_OVERHEAD_PER_FRAME_BYTES: u32 = 78;

const WHAT: &str = "message shim";
/// Bytes of a frame in front of a message's payload.
const PAYLOAD_START: usize = UDP_PAYLOAD_START + SHIM_BYTES;
const _: () = assert!(PAYLOAD_START + PAYLOAD_BYTES_MAX as usize == FRAME_LEN_MAX);
const _: () = assert!(
    PAYLOAD_START + FCS_LEN + WIRE_OVERHEAD_BYTES as usize
        == WIRE_OVERHEAD_PER_FRAME_BYTES as usize
);

mod field {
    use std::ops::Range;

    pub(super) const MESSAGE_ID: Range<usize> = 0..4;
    pub(super) const MESSAGE_BYTES: Range<usize> = 4..8;
    pub(super) const SEQUENCE: Range<usize> = 8..12;
}

/// Which part of which message a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShimRepr {
    /// Number of the message within its flow.
    pub message_id: u32,
    /// Size that the sender claims for the whole message, headers excluded.
    pub message_bytes: u32,
    /// Number of this frame in the message, from 0.
    pub sequence: u32,
}

impl ShimRepr {
    /// Reads the shim at the start of `udp_payload`.
    pub fn parse(udp_payload: &[u8]) -> Result<Self, WireError> {
        WireError::check_len(WHAT, SHIM_BYTES, udp_payload.len())?;
        Ok(Self {
            message_id: be_u32(udp_payload, field::MESSAGE_ID),
            message_bytes: be_u32(udp_payload, field::MESSAGE_BYTES),
            sequence: be_u32(udp_payload, field::SEQUENCE),
        })
    }

    /// Writes the shim at the start of `udp_payload`; the message's bytes follow it.
    ///
    /// # Panics
    /// If `udp_payload` is shorter than [`SHIM_BYTES`].
    pub fn emit(&self, udp_payload: &mut [u8]) {
        udp_payload[field::MESSAGE_ID].copy_from_slice(&self.message_id.to_be_bytes());
        udp_payload[field::MESSAGE_BYTES].copy_from_slice(&self.message_bytes.to_be_bytes());
        udp_payload[field::SEQUENCE].copy_from_slice(&self.sequence.to_be_bytes());
    }
}

impl fmt::Display for ShimRepr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message_id, message_bytes, sequence } = self;
        write!(f, "message {message_id}, frame {sequence}, {message_bytes} B claimed")
    }
}

/// The part of a message that one frame carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessagePart {
    /// The shim.
    pub shim: ShimRepr,
    /// The message's bytes in the frame: UDP length less UDP header and shim, padding excluded.
    pub payload: Range<usize>,
}

impl MessagePart {
    /// Reads the part of a message in `frame`, an Ethernet frame with a whole UDP datagram.
    ///
    /// A shim has no mark of its own, so any UDP datagram of 20 bytes or more gives a part: the
    /// caller asks only for flows that carry shims. Fragments, and frames cut short, give none.
    pub fn locate(frame: &[u8]) -> Option<Self> {
        let ethernet = EthernetFrame::new_checked(frame).ok()?;
        if ethernet.ether_type() != EtherType::IPV4 {
            return None;
        }
        let ip = Ipv4Packet::new_checked(ethernet.payload()).ok()?;
        if ip.protocol() != IpProtocol::UDP || ip.is_fragment() {
            return None;
        }
        let udp = UdpPacket::new_checked(ip.payload()).ok()?;
        let shim = ShimRepr::parse(udp.payload()).ok()?;
        let start = ethernet.header_len() + ip.header_len() + UDP_LEN;
        Some(Self { shim, payload: start + SHIM_BYTES..start + udp.payload().len() })
    }
}

/// The message that a frame carries a part of: what [`MessagePart::locate`] finds, for those who
/// ask this of every frame and nothing else.
#[inline]
pub fn message_id(frame: &[u8]) -> Option<u32> {
    let be16 = |high: u8, low: u8| usize::from(u16::from_be_bytes([high, low]));
    let (header, mut ip) = frame.split_first_chunk::<14>()?;
    let mut ether_type = be16(header[12], header[13]);
    if ether_type == usize::from(EtherType::VLAN.0)
        && let Some(([_, _, high, low], behind)) = ip.split_first_chunk()
    {
        ether_type = be16(*high, *low);
        ip = behind;
    }
    let [version, _, t, u, _, _, f, o, _, proto, ..] = *ip.first_chunk::<20>()?;
    let header_len = usize::from(version & 0x0f) * 4;
    let total_len = be16(t, u);
    let is_whole_udp = ether_type == usize::from(EtherType::IPV4.0)
        && version >> 4 == 4
        && header_len >= 20
        && proto == IpProtocol::UDP.0
        && be16(f, o) & 0x3fff == 0;
    if !is_whole_udp {
        return None;
    }
    // A header that is longer than the packet leaves no payload, and so no datagram.
    let [_, _, _, _, high, low, _, _, a, b, c, d, ..] =
        *ip.get(header_len..)?.first_chunk::<{ UDP_LEN + SHIM_BYTES }>()?;
    let datagram_len = be16(high, low);
    let payload_len = total_len.min(ip.len()).checked_sub(header_len)?;
    (UDP_LEN + SHIM_BYTES..=payload_len)
        .contains(&datagram_len)
        .then(|| u32::from_be_bytes([a, b, c, d]))
}

/// Frames that a message of `message_bytes` takes; an empty message still takes one.
pub const fn frames_of_message(message_bytes: u32) -> u32 {
    if message_bytes == 0 { 1 } else { message_bytes.div_ceil(PAYLOAD_BYTES_MAX) }
}

/// Payload of frame `sequence` of a message: full frames, then the rest; `None` behind the last.
pub fn payload_bytes_of_frame(message_bytes: u32, sequence: u32) -> Option<u32> {
    if sequence >= frames_of_message(message_bytes) {
        return None;
    }
    // In range: sequence · 1460 is below the size of the message.
    Some((message_bytes - sequence * PAYLOAD_BYTES_MAX).min(PAYLOAD_BYTES_MAX))
}

/// Bits on the wire of a whole message: all its frames, headers, padding and gaps counted.
pub fn message_wire_bits(message_bytes: u32) -> u64 {
    let last = frames_of_message(message_bytes) - 1;
    let rest = message_bytes - last * PAYLOAD_BYTES_MAX;
    u64::from(last) * frame_wire_bits(PAYLOAD_BYTES_MAX) + frame_wire_bits(rest)
}

fn frame_wire_bits(payload_bytes: u32) -> u64 {
    wire_bits(payload_bytes + WIRE_OVERHEAD_PER_FRAME_BYTES - WIRE_OVERHEAD_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::UdpFrame;
    use crate::ethernet::MacAddress;

    const SHIM: ShimRepr =
        ShimRepr { message_id: 0x0102_0304, message_bytes: 300_000, sequence: 205 };
    const BYTES: [u8; 12] = [1, 2, 3, 4, 0x00, 0x04, 0x93, 0xe0, 0, 0, 0, 205];

    #[test]
    fn a_shim_is_twelve_bytes_big_endian() {
        let mut bytes = [0; 12];
        SHIM.emit(&mut bytes);
        assert_eq!(bytes, BYTES);
        assert_eq!(ShimRepr::parse(&BYTES), Ok(SHIM));
        assert_eq!(SHIM.to_string(), "message 16909060, frame 205, 300000 B claimed");
        assert_eq!(
            ShimRepr::parse(&BYTES[..11]),
            Err(WireError::Truncated { what: "message shim", needed: 12, found: 11 })
        );
    }

    #[test]
    fn messages_are_cut_into_frames_of_1460_bytes() {
        for (bytes, frames, last) in
            [(0, 1, 0), (1, 1, 1), (1460, 1, 1460), (1461, 2, 1), (300_000, 206, 700)]
        {
            assert_eq!(frames_of_message(bytes), frames);
            assert_eq!(payload_bytes_of_frame(bytes, frames - 1), Some(last));
            assert_eq!(payload_bytes_of_frame(bytes, frames), None);
        }
        assert_eq!(payload_bytes_of_frame(u32::MAX, u32::MAX), None);
    }

    #[test]
    fn a_message_costs_78_bytes_a_frame_on_the_wire() {
        assert_eq!(message_wire_bits(300_000), (300_000 + 206 * 78) * 8);
        // A payload of one byte is padded: 84 bytes of wire.
        assert_eq!(message_wire_bits(1), 84 * 8);
        assert_eq!(message_wire_bits(1461), (1538 + 84) * 8);
    }

    #[test]
    fn the_message_alone_is_that_of_the_part() {
        let mut frame = [0; 70];
        let ip =
            [0x46, 0, 0, 44, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 0, 0, 0];
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        frame[14..38].copy_from_slice(&ip);
        frame[42..44].copy_from_slice(&[0, 20]);
        frame[46..58].copy_from_slice(&BYTES);
        assert_eq!(message_id(&frame), Some(SHIM.message_id));
        let tagged = [&frame[..12], &[0x81, 0, 0, 5], &frame[12..]].concat();
        for frame in [&frame[..], &tagged] {
            let agrees = |frame: &[u8]| {
                let part = MessagePart::locate(frame).map(|part| part.shim.message_id);
                assert_eq!(message_id(frame), part, "{frame:02x?}");
            };
            (0..=frame.len()).for_each(|len| agrees(&frame[..len]));
            for at in 12..frame.len() {
                for value in 0..=u8::MAX {
                    let mut frame = frame.to_vec();
                    frame[at] = value;
                    agrees(&frame);
                    agrees(&frame[..60]);
                }
            }
        }
    }

    #[test]
    fn a_part_counts_the_bytes_that_are_there_not_the_padding() {
        let frame = UdpFrame {
            eth_dst: MacAddress::default(),
            eth_src: MacAddress::default(),
            ip_src: [10, 0, 0, 1],
            ip_dst: [10, 0, 0, 2],
            udp_src: 1,
            udp_dst: 2,
            dscp: 0,
            payload_len: SHIM_BYTES + 3,
        };
        let mut buffer = [0; 64];
        let written = frame.emit(&mut buffer).expect("fits");
        SHIM.emit(&mut buffer[written.payload]);
        let part = MessagePart { shim: SHIM, payload: 54..57 };
        assert_eq!(MessagePart::locate(&buffer[..written.len]), Some(part));
        assert_eq!(MessagePart::locate(&buffer[..56]), None);
        buffer[20] = 0x20; // more fragments
        assert_eq!(MessagePart::locate(&buffer), None);
    }
}
