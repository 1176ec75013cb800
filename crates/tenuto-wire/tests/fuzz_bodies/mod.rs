//! What a fuzzer feeds bytes to; the properties in `properties.rs` run the same bodies.
//!
//! Each takes any bytes and panics only if a promise of the crate is broken.

use tenuto_wire::afdx::{sequence_number, set_sequence_number};
use tenuto_wire::attendre::{COMMAND_LEN_MAX, CommandFrame};
use tenuto_wire::shim::{MessagePart, SHIM_BYTES};
use tenuto_wire::signal::SIGNAL_FRAME_LEN;
use tenuto_wire::stamp::STAMP_BYTES;
use tenuto_wire::{
    EthernetFrame, FlowKey, Ipv4Packet, LinkKey, Ports, ShimRepr, SignalFrame, Stamp, UdpPacket,
};

/// Every decoder of whole frames: none panics, and they agree with one another.
pub fn frame(bytes: &[u8]) {
    flow_key(bytes);
    shim_in_frame(bytes);
    afdx_sequence(bytes);
    mode_signal(bytes);
    attendre_command(bytes);
}

/// The key says of a frame what the views say, and what a reader with bare offsets finds.
pub fn flow_key(bytes: &[u8]) {
    let Some(key) = FlowKey::extract(bytes) else {
        assert!(bytes.len() < 14);
        return;
    };
    assert!(!key.to_string().is_empty());
    let frame = EthernetFrame::new_checked(bytes).expect("a key was extracted");
    assert_eq!((key.eth_dst, key.eth_src), (frame.dst(), frame.src()));
    assert_eq!((key.eth_type, key.vlan), (frame.ether_type(), frame.vlan()));
    assert_eq!(frame.header_len() + frame.payload().len(), bytes.len());
    let ip = naive_ip_header(bytes);
    assert_eq!(key.ip.map(|ip| (ip.src, ip.dst)), ip.map(|(at, _)| naive_addresses(&bytes[at..])));
    assert_eq!(key.l4, ip.and_then(|(at, end)| naive_ports(&bytes[at..], end - at)));
    if let Ok(packet) = Ipv4Packet::new_checked(frame.payload()) {
        ipv4_payload(&packet);
    }
}

/// Where the IPv4 header of a frame begins and ends, if it is whole and its lengths make sense.
fn naive_ip_header(bytes: &[u8]) -> Option<(usize, usize)> {
    let at = if bytes.len() >= 18 && bytes[12..14] == [0x81, 0x00] { 18 } else { 14 };
    let first = *bytes.get(at)?;
    let end = at + usize::from(first % 16) * 4;
    let right = bytes[at - 2..at] == [0x08, 0x00] && (0x45..=0x4f).contains(&first);
    let total = bytes.get(at + 2..at + 4)?;
    let total = usize::from(total[0]) * 256 + usize::from(total[1]);
    (right && end <= bytes.len() && total >= end - at).then_some((at, end))
}

fn naive_addresses(ip: &[u8]) -> ([u8; 4], [u8; 4]) {
    ([ip[12], ip[13], ip[14], ip[15]], [ip[16], ip[17], ip[18], ip[19]])
}

fn naive_ports(ip: &[u8], at: usize) -> Option<Ports> {
    let total = usize::from(ip[2]) * 256 + usize::from(ip[3]);
    let later_fragment = ip[6] & 0x1f != 0 || ip[7] != 0;
    if ![6, 17].contains(&ip[9]) || later_fragment || total.min(ip.len()) < at + 4 {
        return None;
    }
    let number = |at: usize| u16::from(ip[at]) * 256 + u16::from(ip[at + 1]);
    Some(Ports { src: number(at), dst: number(at + 2) })
}

fn ipv4_payload(packet: &Ipv4Packet<&[u8]>) {
    let _ = packet.is_checksum_valid();
    assert_eq!(
        packet.is_truncated(),
        packet.header_len() + packet.payload().len() < packet.total_len()
    );
    if let Ok(udp) = UdpPacket::new_checked(packet.payload()) {
        let _ = udp.is_checksum_valid(packet.src(), packet.dst());
        assert_eq!(udp.payload().len() + 8, udp.length());
    }
}

/// A part of a message lies inside its frame, right behind its shim.
pub fn shim_in_frame(bytes: &[u8]) {
    if let Some(part) = MessagePart::locate(bytes) {
        assert!(part.payload.start <= part.payload.end && part.payload.end <= bytes.len());
        let shim = &bytes[part.payload.start - SHIM_BYTES..part.payload.start];
        assert_eq!(ShimRepr::parse(shim), Ok(part.shim));
        shim_header(shim);
    }
}

/// What a shim says is written back as the same bytes.
pub fn shim_header(bytes: &[u8]) {
    let Ok(shim) = ShimRepr::parse(bytes) else { return };
    let mut again = [0; SHIM_BYTES];
    shim.emit(&mut again);
    assert_eq!(again, bytes[..SHIM_BYTES]);
    assert!(!shim.to_string().is_empty());
}

/// What a stamp says is written back as the same bytes.
pub fn stamp(bytes: &[u8]) {
    let Some(stamp) = Stamp::parse(bytes) else { return };
    let mut again = [0; STAMP_BYTES];
    assert!(stamp.emit(&mut again));
    assert_eq!(again, bytes[..STAMP_BYTES]);
    assert!(!stamp.to_string().is_empty());
}

/// Setting the sequence number changes it and nothing else.
pub fn afdx_sequence(bytes: &[u8]) {
    let mut frame = bytes.to_vec();
    let Some(number) = sequence_number(bytes) else {
        assert!(!set_sequence_number(&mut frame, tenuto_wire::afdx::SequenceNumber::RESET));
        assert_eq!(frame, bytes);
        return;
    };
    assert!(set_sequence_number(&mut frame, number.next()));
    assert_eq!(sequence_number(&frame), Some(number.next()));
    assert_eq!(frame.iter().zip(bytes).filter(|(a, b)| a != b).count(), 1);
}

/// A signal that is well formed is written back as the same bytes, but for destination and tag;
/// bytes of chance never carry a right tag.
pub fn mode_signal(bytes: &[u8]) {
    let Ok(signal) = SignalFrame::parse(bytes) else { return };
    let key = LinkKey::new([0xa5; 16]);
    let mut again = [0; SIGNAL_FRAME_LEN];
    assert_eq!(signal.repr().emit(signal.src(), &key, &mut again), SIGNAL_FRAME_LEN);
    assert_eq!(again[6..62], bytes[6..62]);
    assert_eq!(signal.verify(&key), again[62..] == bytes[62..SIGNAL_FRAME_LEN]);
    assert!(!signal.to_string().is_empty());
}

/// The same of an Attendre command.
pub fn attendre_command(bytes: &[u8]) {
    let Ok(command) = CommandFrame::parse(bytes) else { return };
    let key = LinkKey::new([0xa5; 16]);
    let mut again = [0; COMMAND_LEN_MAX];
    let written = command.repr().emit(command.src(), &key, &mut again);
    assert_eq!(written, Ok(bytes.len()));
    let tag = bytes.len() - 16;
    assert_eq!(again[6..tag], bytes[6..tag]);
    assert_eq!(command.verify(&key), again[tag..bytes.len()] == bytes[tag..]);
    assert!(!command.repr().to_string().is_empty());
}
