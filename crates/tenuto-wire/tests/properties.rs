//! Decoders are total on any bytes; what is written is read back.

pub mod fuzz_bodies;

use proptest::collection::vec;
use proptest::prelude::*;
use tenuto_units::Instant;
use tenuto_wire::afdx::{Network, Source, VlId, sequence_number};
use tenuto_wire::attendre::{COMMAND_LEN_MAX, CommandFrame, CommandRepr, MATCH_BYTES_MAX};
use tenuto_wire::build::UDP_PAYLOAD_LEN_MAX;
use tenuto_wire::shim::{
    MessagePart, PAYLOAD_BYTES_MAX, SHIM_BYTES, frames_of_message, payload_bytes_of_frame,
};
use tenuto_wire::signal::SIGNAL_FRAME_LEN;
use tenuto_wire::{
    EthernetFrame, FRAME_LEN_MAX, FlowKey, Ipv4Packet, LinkKey, MacAddress, Ports, ShimRepr,
    SignalFrame, SignalKind, SignalRepr, Stamp, UdpFrame, UdpPacket, frame_bytes,
};

fn any_address() -> impl Strategy<Value = MacAddress> {
    any::<[u8; 6]>().prop_map(MacAddress)
}

prop_compose! {
    fn any_frame()(
        eth_dst in any_address(),
        eth_src in any_address(),
        ips in any::<[[u8; 4]; 2]>(),
        ports in any::<[u16; 2]>(),
        dscp in 0..64_u8,
        payload_len in 0..=UDP_PAYLOAD_LEN_MAX,
    ) -> UdpFrame {
        let ([ip_src, ip_dst], [udp_src, udp_dst]) = (ips, ports);
        UdpFrame { eth_dst, eth_src, ip_src, ip_dst, udp_src, udp_dst, dscp, payload_len }
    }
}

prop_compose! {
    fn any_signal()(
        kind in proptest::sample::select(SignalKind::ALL.to_vec()),
        levels in any::<[u8; 2]>(),
        hops: u16,
        numbers in any::<[u64; 5]>(),
    ) -> SignalRepr {
        let [level, from_level] = levels;
        let [generation, epoch, origin, nonce, sequence] = numbers;
        SignalRepr { kind, level, from_level, hops, generation, epoch, origin, nonce, sequence }
    }
}

fn built(frame: &UdpFrame, fill: u8) -> (Vec<u8>, std::ops::Range<usize>) {
    let mut buffer = vec![0xee; FRAME_LEN_MAX];
    let written = frame.emit(&mut buffer).expect("a valid frame fits the largest buffer");
    buffer.truncate(written.len);
    buffer[written.payload.clone()].fill(fill);
    (buffer, written.payload)
}

prop_compose! {
    /// Short IPv4 frames whose lengths, options, fragments and ends are right about half the time:
    /// bytes of chance hardly ever get past the first checks.
    fn nearly_right_frame()(
        tagged: bool,
        ihl in 4..8_u8,
        total_len in 16..48_u8,
        udp_len in 6..32_u8,
        fragment in proptest::sample::select(vec![[0x40, 0], [0, 0], [0x20, 0], [0, 1], [1, 0]]),
        protocol in proptest::sample::select(vec![17, 17, 6, 1]),
        mut bytes in vec(any::<u8>(), 90),
        len in 12..90_usize,
    ) -> Vec<u8> {
        let ip = if tagged { 18 } else { 14 };
        bytes[12..14].copy_from_slice(&[0x81, 0x00]);
        bytes[ip - 2..ip].copy_from_slice(&[0x08, 0x00]);
        bytes[ip] = 0x40 | ihl;
        bytes[ip + 2..ip + 4].copy_from_slice(&[0, total_len]);
        bytes[ip + 6..ip + 8].copy_from_slice(&fragment);
        bytes[ip + 9] = protocol;
        let udp = ip + usize::from(ihl) * 4;
        bytes[udp + 4..udp + 6].copy_from_slice(&[0, udp_len]);
        bytes.truncate(len);
        bytes
    }
}

prop_compose! {
    /// A signal with one header byte replaced.
    fn nearly_right_signal()(
        signal in any_signal(),
        at in 12..22_usize,
        value in 0..10_u8,
        len in 70..90_usize,
    ) -> Vec<u8> {
        let mut bytes = vec![0; 90];
        signal.emit(MacAddress::default(), &LinkKey::new([0xa5; 16]), &mut bytes);
        bytes[at] = value;
        bytes.truncate(len);
        bytes
    }
}

prop_compose! {
    /// A command with one header byte replaced, and perhaps cut.
    fn nearly_right_command()(
        matching in vec(any::<u8>(), 0..40),
        sequence: u64,
        at in 12..22_usize,
        value in 0..40_u8,
        cut in 0..3_usize,
    ) -> Vec<u8> {
        let mut bytes = vec![0; COMMAND_LEN_MAX];
        let command = CommandRepr { sequence, matching: &matching, ..CommandRepr::default() };
        let key = LinkKey::new([0xa5; 16]);
        let len = command.emit(MacAddress::default(), &key, &mut bytes).expect("short");
        bytes[at] = value;
        bytes.truncate(len - cut);
        bytes
    }
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        fuzz_bodies::frame(&bytes);
        fuzz_bodies::shim_header(&bytes);
        fuzz_bodies::stamp(&bytes);
        let _ = Ipv4Packet::new_checked(&bytes);
        let _ = UdpPacket::new_checked(&bytes);
    }

    #[test]
    fn nearly_right_bytes_are_decoded_or_refused(
        frame in nearly_right_frame(),
        signal in nearly_right_signal(),
        command in nearly_right_command(),
    ) {
        fuzz_bodies::frame(&frame);
        fuzz_bodies::frame(&command);
        fuzz_bodies::frame(&signal);
    }

    #[test]
    fn a_built_frame_is_read_back(frame in any_frame()) {
        let (bytes, payload) = built(&frame, 0xab);
        prop_assert_eq!(bytes.len(), frame.frame_len());
        prop_assert_eq!(frame_bytes(bytes.len()), frame_bytes(42 + frame.payload_len));
        let key = FlowKey::extract(&bytes).expect("a frame");
        prop_assert_eq!((key.eth_dst, key.eth_src), (frame.eth_dst, frame.eth_src));
        let ip_fields = (frame.ip_src, frame.ip_dst, frame.dscp);
        prop_assert_eq!(key.ip.map(|ip| (ip.src, ip.dst, ip.dscp)), Some(ip_fields));
        prop_assert_eq!(key.l4, Some(Ports { src: frame.udp_src, dst: frame.udp_dst }));
        let ethernet = EthernetFrame::new_checked(&bytes).expect("a frame");
        let ip = Ipv4Packet::new_checked(ethernet.payload()).expect("a packet");
        prop_assert!(ip.is_checksum_valid());
        let udp = UdpPacket::new_checked(ip.payload()).expect("a datagram");
        prop_assert!(udp.is_checksum_valid(ip.src(), ip.dst()));
        prop_assert_eq!(udp.payload(), &bytes[payload.clone()]);
        // Without payload the last byte that IPv4 counts is the UDP header's.
        let last = if payload.is_empty() { bytes[41] } else { 0xab };
        prop_assert_eq!(sequence_number(&bytes).map(|number| number.as_byte()), Some(last));
    }

    #[test]
    fn a_shim_and_its_payload_are_found(frame in any_frame(), ids in any::<[u32; 3]>()) {
        let frame = UdpFrame { payload_len: frame.payload_len.max(SHIM_BYTES), ..frame };
        let (mut bytes, payload) = built(&frame, 0);
        let [message_id, message_bytes, sequence] = ids;
        let shim = ShimRepr { message_id, message_bytes, sequence };
        shim.emit(&mut bytes[payload.clone()]);
        let part = MessagePart { shim, payload: payload.start + SHIM_BYTES..payload.end };
        prop_assert_eq!(MessagePart::locate(&bytes), Some(part));
    }

    #[test]
    fn the_frames_of_a_message_carry_it_whole(bytes in 0..3_000_000_u32) {
        let frames = frames_of_message(bytes);
        let parts = (0..frames).map(|n| payload_bytes_of_frame(bytes, n).expect("within"));
        prop_assert!(parts.clone().all(|part| part <= PAYLOAD_BYTES_MAX));
        prop_assert_eq!(parts.sum::<u32>(), bytes);
    }

    #[test]
    fn a_stamp_is_read_back(release: u64, flow: u16, message_id: u32, room in 16..64_usize) {
        let stamp = Stamp { release: Instant::from_ns(release), flow, message_id };
        let mut payload = vec![0; room];
        prop_assert!(stamp.emit(&mut payload));
        prop_assert_eq!(Stamp::parse(&payload), Some(stamp));
    }

    #[test]
    fn a_signal_is_read_back_and_verified(
        signal in any_signal(),
        src in any_address(),
        keys in any::<[[u8; 16]; 2]>(),
    ) {
        let [key, other] = keys.map(LinkKey::new);
        let mut bytes = [0; SIGNAL_FRAME_LEN + 4];
        prop_assert_eq!(signal.emit(src, &key, &mut bytes), SIGNAL_FRAME_LEN);
        let frame = SignalFrame::parse(&bytes).expect("as written");
        prop_assert_eq!((frame.repr(), frame.src()), (signal, src));
        prop_assert!(frame.verify(&key));
        prop_assert_eq!(frame.verify(&other), key == other);
    }

    #[test]
    fn a_command_is_read_back_and_verified(
        matching in vec(any::<u8>(), 0..=MATCH_BYTES_MAX),
        (table, priority, messages) in any::<(u8, u16, u16)>(),
        (generation, counter, sequence) in any::<(u64, u64, u64)>(),
        src in any_address(),
        keys in any::<[[u8; 16]; 2]>(),
    ) {
        let [key, other] = keys.map(LinkKey::new);
        let matching = &matching;
        let command =
            CommandRepr { table, priority, messages, generation, counter, sequence, matching };
        let mut bytes = [0; COMMAND_LEN_MAX];
        let len = command.emit(src, &key, &mut bytes).expect("it fits");
        prop_assert_eq!(len, command.frame_len());
        let frame = CommandFrame::parse(&bytes[..len]).expect("as written");
        prop_assert_eq!((frame.repr(), frame.src()), (command, src));
        prop_assert!(frame.verify(&key));
        prop_assert_eq!(frame.verify(&other), key == other);
    }

    #[test]
    fn addresses_are_read_back(address in any_address(), host: u16, vl: u16) {
        prop_assert_eq!(address.to_string().parse(), Ok(address));
        prop_assert_eq!(VlId::from_address(VlId(vl).address()), Some(VlId(vl)));
        for network in [Network::A, Network::B] {
            let source = Source { host, network };
            prop_assert_eq!(Source::from_address(source.address()), Some(source));
        }
        prop_assert!(VlId(vl).address().is_multicast());
    }

    #[test]
    fn any_text_is_an_address_or_refused(text in "[0-9a-f:+ ]{0,20}") {
        if let Ok(address) = text.parse::<MacAddress>() {
            prop_assert_eq!(&address.to_string(), &text);
        }
        let _ = text.parse::<LinkKey>();
    }
}
