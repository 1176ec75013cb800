//! Frames over a veth pair.

use crate::in_lab::{fetch, in_lab, name, receive, veth_ports};
use std::io;
use tenuto_io::links::IpBatch;
use tenuto_io::{BURST_FRAMES, FlushReport, MonotonicClock, PacketPort, Port};
use tenuto_units::Span;

/// Half of what reading two clocks can be apart when the thread is interrupted in between.
const CLOCK_TOLERANCE: Span = Span::from_us(50);

/// A frame from and to made-up addresses, of an EtherType for experiments.
fn frame(bytes: usize, tag: u8) -> Vec<u8> {
    let mut frame = vec![0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2, 0x88, 0xb5];
    frame.extend((frame.len()..bytes).map(|i| u8::try_from(i % 251).expect("small") ^ tag));
    frame
}

fn tagged(bytes: usize, protocol: u16, control: u16) -> Vec<u8> {
    let mut frame = frame(bytes - 4, 0);
    let [a, b] = protocol.to_be_bytes();
    let [c, d] = control.to_be_bytes();
    frame.splice(12..12, [a, b, c, d]);
    frame
}

fn send(port: &mut PacketPort, frame: &[u8]) -> FlushReport {
    assert!(port.send(frame).expect("a good frame"));
    port.flush().expect("the interface is there")
}

#[test]
fn frames_of_every_size_cross_whole_and_stamped_in_order() {
    in_lab("packet_port::frames_of_every_size_cross_whole_and_stamped_in_order", || {
        let (mut a, mut b) = veth_ports();
        println!("receive buffer: {} B", b.receive_buffer_bytes().expect("readable"));
        let sent: Vec<_> = (60..=1_514).map(|bytes| frame(bytes, 0x5a)).collect();
        let mut received = Vec::new();
        for burst in sent.chunks(BURST_FRAMES) {
            let before = MonotonicClock::now();
            for frame in burst {
                assert!(a.send(frame).expect("a good frame"));
            }
            let report = a.flush().expect("up");
            assert_eq!(report, FlushReport { sent: burst.len(), refused: 0 });
            let arrivals = receive(&mut b, burst.len());
            let after = MonotonicClock::now();
            for (arrival, _) in &arrivals {
                assert!(*arrival + CLOCK_TOLERANCE >= before && *arrival <= after);
            }
            received.extend(arrivals);
        }
        assert!(received.is_sorted_by_key(|(arrival, _)| *arrival));
        let frames: Vec<_> = received.into_iter().map(|(_, frame)| frame).collect();
        assert!(frames == sent, "the same frames in the same order");
        let mut own = Vec::new();
        fetch(&mut a, &mut own);
        assert_eq!(own, [], "own transmissions are not heard");
        assert_eq!(b.counters().expect("readable"), Default::default());
    });
}

#[test]
fn vlan_tags_are_kept() {
    in_lab("packet_port::vlan_tags_are_kept", || {
        let (mut a, mut b) = veth_ports();
        let mut double = tagged(100, 0x8100, 7);
        double.splice(12..12, [0x88, 0xa8, 0x20, 0x05]);
        let frames = [
            tagged(64, 0x8100, 0x6000 | 5),
            tagged(64, 0x8100, 0xe000),
            tagged(1_518, 0x8100, 0x0fff),
            tagged(64, 0x88a8, 0x0001),
            double,
            frame(60, 0),
        ];
        for frame in &frames {
            assert_eq!(send(&mut a, frame), FlushReport { sent: 1, refused: 0 });
        }
        let received = receive(&mut b, frames.len());
        assert_eq!(received.into_iter().map(|(_, frame)| frame).collect::<Vec<_>>(), frames);
    });
}

#[test]
fn a_burst_and_a_budget_are_kept() {
    in_lab("packet_port::a_burst_and_a_budget_are_kept", || {
        let (mut a, mut b) = veth_ports();
        for _ in 0..BURST_FRAMES {
            assert!(a.send(&frame(60, 0)).expect("a good frame"));
        }
        assert!(!a.send(&frame(60, 0)).expect("a good frame"), "the burst is full");
        assert_eq!(a.flush().expect("up"), FlushReport { sent: BURST_FRAMES, refused: 0 });
        assert_eq!(a.flush().expect("up"), FlushReport::default(), "nothing is left");
        assert_eq!(b.receive(5, &mut |_, _| ()).expect("up"), 5);
        assert_eq!(b.receive(100, &mut |_, _| ()).expect("up"), BURST_FRAMES - 5);
        assert_eq!(b.receive(100, &mut |_, _| ()).expect("up"), 0, "and it never blocks");
        let error = a.send(&[0; 4_000]).expect_err("too long for any port");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    });
}

#[test]
fn what_a_device_refuses_is_counted_and_the_rest_passes() {
    in_lab("packet_port::what_a_device_refuses_is_counted_and_the_rest_passes", || {
        let (mut a, mut b) = veth_ports();
        for bytes in [60, 1_600, 61] {
            assert!(a.send(&frame(bytes, 0)).expect("a good frame"));
        }
        assert_eq!(a.flush().expect("up"), FlushReport { sent: 2, refused: 1 }, "beyond the MTU");
        assert_eq!(receive(&mut b, 2).len(), 2);

        // The other end goes down: no carrier.
        IpBatch::new().down(&name("b")).run().expect("root");
        assert_eq!(send(&mut a, &frame(60, 0)).refused, 1);
        // This end goes down too, and both come back.
        IpBatch::new().down(&name("a")).run().expect("root");
        assert_eq!(send(&mut a, &frame(60, 0)).refused, 1);
        assert_eq!(b.receive(10, &mut |_, _| ()).expect("down is no error"), 0);
        IpBatch::new().up(&name("a")).up(&name("b")).run().expect("root");
        assert_eq!(send(&mut a, &frame(60, 7)).sent, 1);
        assert_eq!(receive(&mut b, 1)[0].1, frame(60, 7));
        assert_eq!(a.counters().expect("readable").refused, 3);
        assert_eq!(b.counters().expect("readable").link_downs, 1);

        // A removed interface is an error, and no hang.
        IpBatch::new().delete(&name("a")).run().expect("root");
        assert!(a.send(&frame(60, 0)).expect("a good frame"));
        a.flush().expect_err("the interface is gone");
        b.receive(10, &mut |_, _| ()).expect_err("and so is its other end");
    });
}

#[test]
fn frames_that_find_no_room_are_counted() {
    in_lab("packet_port::frames_that_find_no_room_are_counted", || {
        let (mut a, mut b) = veth_ports();
        let long = frame(1_514, 0);
        let mut sent = 0;
        let start = MonotonicClock::now();
        for _ in 0..500 {
            while a.send(&long).expect("a good frame") {}
            sent += u64::try_from(a.flush().expect("up").sent).expect("few");
        }
        let per_frame = MonotonicClock::now().since(start).as_ns() / sent.max(1);
        let mut waiting = Vec::new();
        loop {
            let before = waiting.len();
            fetch(&mut b, &mut waiting);
            if waiting.len() == before {
                break;
            }
        }
        let overflowed = b.counters().expect("readable").overflowed;
        println!("{sent} sent at {per_frame} ns each, {} had room", waiting.len());
        assert!(overflowed > 0);
        assert_eq!(overflowed + waiting.len() as u64, sent);
    });
}
