//! Ports and connections that stamp what passes.

use crate::in_lab::{PATIENCE, in_lab, veth};
use crate::ports::frame;
use std::net::{TcpListener, TcpStream};
use tenuto_io::links::IpBatch;
use tenuto_io::{
    Interest, LinkState, MonotonicClock, PollSet, StampedPort, StampedStream, device_clock_of,
    driver_of, stamps_departures,
};
use tenuto_units::{Instant, Span};

type Stamps = Vec<(Instant, Vec<u8>)>;

/// Waits until both have seen so many frames.
fn seen(from: &mut StampedPort, to: &mut StampedPort, count: usize) -> (Stamps, Stamps) {
    let (mut left, mut came) = (Vec::new(), Vec::new());
    let mut poll = PollSet::new();
    for port in [&*from, &*to] {
        poll.add(port.poll_fd(), Interest::Read);
    }
    let end = MonotonicClock::now() + PATIENCE;
    while left.len() < count || came.len() < count {
        assert!(MonotonicClock::now() < end, "{} left, {} came", left.len(), came.len());
        poll.wait(Some(MonotonicClock::now() + Span::from_ms(10))).expect("poll");
        from.departed(&mut |at, frame| left.push((at, frame.to_vec()))).expect("it is there");
        to.receive(&mut |at, frame| came.push((at, frame.to_vec()))).expect("it is there");
    }
    (left, came)
}

#[test]
fn what_leaves_and_what_comes_is_stamped_in_its_order() {
    in_lab("stamped::what_leaves_and_what_comes_is_stamped_in_its_order", || {
        veth("a", "b");
        let mut from = StampedPort::open("a", None).expect("root of the lab");
        let mut to = StampedPort::open("b", None).expect("root of the lab");
        assert_eq!(from.link().expect("it is there"), LinkState::Up);
        let frames: Vec<Vec<u8>> =
            (0..70).map(|tag| frame(60 + 20 * usize::from(tag), tag)).collect();
        let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        let before = MonotonicClock::now();
        let offer = from.offer(&frames).expect("it is there");
        assert_eq!((offer.report.sent, offer.left), (70, 0));
        let (left, came) = seen(&mut from, &mut to, 70);
        let after = MonotonicClock::now();
        for (nth, sent) in frames.iter().enumerate() {
            assert_eq!((&left[nth].1[..], &came[nth].1[..]), (*sent, *sent), "{nth}");
            // Both clocks are read one after the other, so each is right to a few microseconds at best.
            let slack = Span::from_us(50);
            assert!(left[nth].0 + slack >= before && left[nth].0 <= came[nth].0 + slack, "{nth}");
            assert!(came[nth].0 <= after, "{nth}");
        }
        assert_eq!((from.unstamped(), to.take_overflowed().expect("a socket")), (0, 0));
        // Such a pair has no clock of its own.
        assert_eq!(device_clock_of("a").expect("a socket"), None);
        assert!(stamps_departures("a").expect("a socket"), "or departures would be guessed");
        assert_eq!(driver_of("a").expect("a socket").as_deref(), Some("veth"));
        assert!(StampedPort::open("none", None).is_err());
    });
}

#[test]
fn bytes_of_a_connection_are_stamped_when_they_come_not_when_they_are_read() {
    in_lab(
        "stamped::bytes_of_a_connection_are_stamped_when_they_come_not_when_they_are_read",
        || {
            let lo = tenuto_io::links::LinkName::new("lo").expect("a good name");
            IpBatch::new().up(&lo).run().expect("root of the lab");
            let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
            let address = listener.local_addr().expect("bound");
            let far = TcpStream::connect(address).expect("it listens");
            let mut far = StampedStream::new(far).expect("TCP");
            let (near, _) = listener.accept().expect("a caller");
            let mut near = StampedStream::new(near).expect("TCP");
            let room = &mut [0; 64];
            assert_eq!(near.read(room).expect("open"), None);
            let end = MonotonicClock::now() + PATIENCE;
            // The kernel begins to stamp a moment after it was asked.
            let is_stamped = (0..200).any(|_| {
                let written = far.write(b"hello", end).expect("open");
                let sent = MonotonicClock::now();
                PollSet::new().wait(Some(sent + Span::from_ms(20))).expect("a deadline");
                let (count, at) = near.read(room).expect("open").expect("it is there");
                assert_eq!(&room[..count], b"hello");
                assert!(at + Span::from_us(50) >= written && at <= MonotonicClock::now());
                at < sent + Span::from_ms(19)
            });
            assert!(is_stamped, "never, in 200 times");
            drop(far);
            assert_eq!(near.read(room).expect("closed").map(|(count, _)| count), Some(0));
        },
    );
}
