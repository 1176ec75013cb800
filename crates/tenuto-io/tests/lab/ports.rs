//! What every kind of port promises, held against all of them.

use crate::in_lab::{Arrivals, PATIENCE, fetch, in_lab, name, receive, veth};
use std::io;
use std::process::Command;
use tenuto_io::links::IpBatch;
use tenuto_io::{
    BURST_FRAMES, FlushReport, HostStack, LinkState, MemoryPort, MonotonicClock, PacketPort, Port,
    PortKind, PortOpener, PortSettings, PortStatistics, XdpMode,
};
use tenuto_units::Span;

/// Half of what reading two clocks can be apart when the thread is interrupted in between.
const CLOCK_TOLERANCE: Span = Span::from_us(50);

/// A frame from and to made-up addresses, of an EtherType for experiments.
pub(crate) fn frame(bytes: usize, tag: u8) -> Vec<u8> {
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

pub(crate) fn send(port: &mut dyn Port, frame: &[u8]) -> FlushReport {
    assert!(port.send(frame).expect("a good frame"));
    port.flush().expect("the interface is there")
}

pub(crate) fn frames(arrivals: Arrivals) -> Vec<Vec<u8>> {
    arrivals.into_iter().map(|(_, frame)| frame).collect()
}

/// Two ports that are joined, and what they are made of.
struct Joined {
    kind: &'static str,
    /// Of the kind.
    a: Box<dyn Port>,
    /// Of the kind, but for a TAP interface: the kernel's side of it.
    b: Box<dyn Port>,
    /// The interfaces, `b` last; none in memory, one twice for TAP.
    links: Vec<&'static str>,
}

fn settings(kind: PortKind, xdp_modes: &[XdpMode]) -> PortSettings {
    let xdp_modes = xdp_modes.to_vec();
    // Not asked for here, since some users of namespaces may not.
    let host_stack = HostStack::Share;
    PortSettings { kind: Some(kind), xdp_modes, host_stack, ..PortSettings::default() }
}

fn opened(kind: PortKind, modes: &[XdpMode]) -> io::Result<(Box<dyn Port>, Box<dyn Port>)> {
    let mut opener = PortOpener::new(settings(kind, modes), 2);
    Ok((opener.open("a")?.port, opener.open("b")?.port))
}

/// Runs `body` over each kind of port, in one lab.
fn each_kind(test: &str, body: impl Fn(Joined)) {
    let cases: [(&'static str, PortKind, &[XdpMode]); 6] = [
        ("memory", PortKind::Memory, &[]),
        ("packet", PortKind::Packet, &[]),
        ("packet-ring", PortKind::PacketRing, &[]),
        ("xdp", PortKind::Xdp, &XdpMode::ALL),
        ("xdp generic", PortKind::Xdp, &[XdpMode::Generic]),
        ("tap", PortKind::Tap, &[]),
    ];
    in_lab(test, || {
        for (kind, which, modes) in cases {
            let links = match which {
                PortKind::Memory => vec![],
                PortKind::Tap => vec!["a", "a"],
                _ => {
                    veth("a", "b");
                    vec!["a", "b"]
                }
            };
            let ends = match which {
                PortKind::Memory => MemoryPort::pair(4_096)
                    .map(|(a, b)| -> (Box<dyn Port>, Box<dyn Port>) { (Box::new(a), Box::new(b)) }),
                PortKind::Tap => tap_ends(),
                _ => opened(which, modes),
            };
            match ends {
                Ok((a, b)) => body(Joined { kind, a, b, links: links.clone() }),
                Err(error) if is_forbidden(&error) => println!("SKIPPED {test}, {kind}: {error}"),
                Err(error) => panic!("{kind}: {error}"),
            }
            if which != PortKind::Memory {
                // Gone already where the body has removed it, or it was the port's own.
                let _ = IpBatch::new().delete(&name("a")).run();
            }
            println!("{kind}: done");
        }
    });
}

fn tap_ends() -> io::Result<(Box<dyn Port>, Box<dyn Port>)> {
    let program = PortOpener::new(settings(PortKind::Tap, &[]), 1).open("a")?.port;
    Ok((program, Box::new(PacketPort::open("a")?)))
}

/// Without rights in the machine's own user namespace, or without the TUN device.
fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound)
}

#[test]
fn frames_of_every_size_cross_whole_and_stamped_in_order() {
    each_kind("ports::frames_of_every_size_cross_whole_and_stamped_in_order", |joined| {
        let Joined { kind, mut a, mut b, .. } = joined;
        let sent: Vec<_> = (14..=1_514).map(|bytes| frame(bytes, 0x5a)).collect();
        for turn in 0..2 {
            let mut received = Vec::new();
            for burst in sent.chunks(BURST_FRAMES) {
                let before = MonotonicClock::now();
                for frame in burst {
                    assert!(a.send(frame).expect("a good frame"));
                }
                let report = a.flush().expect("up");
                assert_eq!(report, FlushReport { sent: burst.len(), refused: 0 }, "{kind}");
                let arrivals = receive(&mut *b, burst.len());
                let after = MonotonicClock::now();
                for (arrival, _) in &arrivals {
                    assert!(*arrival + CLOCK_TOLERANCE >= before && *arrival <= after, "{kind}");
                }
                received.extend(arrivals);
            }
            assert!(received.is_sorted_by_key(|(arrival, _)| *arrival), "{kind}");
            assert!(frames(received) == sent, "{kind}, {turn}: the same frames in the same order");
            let mut own = Vec::new();
            fetch(&mut *a, &mut own);
            assert_eq!(own, [], "{kind}: own transmissions are not heard");
            let count = sent.len() as u64;
            let only = |sent, received| PortStatistics { sent, received, ..Default::default() };
            let (first, second) = if turn == 0 { (count, 0) } else { (count, count) };
            assert_eq!(a.statistics().expect("readable"), only(first, second), "{kind}");
            assert_eq!(b.statistics().expect("readable"), only(second, first), "{kind}");
            std::mem::swap(&mut a, &mut b);
        }
    });
}

#[test]
fn vlan_tags_are_kept() {
    each_kind("ports::vlan_tags_are_kept", |Joined { kind, mut a, mut b, .. }| {
        let mut double = tagged(100, 0x8100, 7);
        double.splice(12..12, [0x88, 0xa8, 0x20, 0x05]);
        let sent = [
            tagged(64, 0x8100, 0x6000 | 5),
            tagged(64, 0x8100, 0xe000),
            tagged(1_518, 0x8100, 0x0fff),
            tagged(64, 0x88a8, 0x0001),
            double,
            frame(60, 0),
        ];
        for _ in 0..2 {
            for frame in &sent {
                let report = send(&mut *a, frame);
                assert_eq!(report, FlushReport { sent: 1, refused: 0 }, "{kind}");
            }
            assert_eq!(frames(receive(&mut *b, sent.len())), sent, "{kind}");
            std::mem::swap(&mut a, &mut b);
        }
    });
}

#[test]
fn a_burst_and_a_budget_are_kept() {
    each_kind("ports::a_burst_and_a_budget_are_kept", |Joined { kind, mut a, mut b, .. }| {
        assert_eq!(a.capabilities().burst_frames, BURST_FRAMES);
        for tag in 0..BURST_FRAMES {
            assert!(a.send(&frame(60, u8::try_from(tag).expect("32"))).expect("a good frame"));
        }
        assert!(!a.send(&frame(60, 0)).expect("a good frame"), "{kind}: the burst is full");
        assert_ne!(b.pending(), Some(true), "{kind}: nothing crosses before the flush");
        let report = a.flush().expect("up");
        assert_eq!(report, FlushReport { sent: BURST_FRAMES, refused: 0 }, "{kind}");
        assert_eq!(a.flush().expect("up"), FlushReport::default(), "{kind}: nothing is left");
        let mut first = Vec::new();
        let mut sink = |_, frame: &[u8]| first.push(frame.to_vec());
        assert_eq!(b.receive(5, &mut sink).expect("up"), 5, "{kind}");
        let expected: Vec<_> = (0..5).map(|tag| frame(60, tag)).collect();
        assert_eq!(first, expected, "{kind}");
        assert_ne!(b.pending(), Some(false), "{kind}");
        assert_eq!(b.receive(100, &mut |_, _| ()).expect("up"), BURST_FRAMES - 5, "{kind}");
        assert_eq!(b.receive(100, &mut |_, _| ()).expect("up"), 0, "{kind}: it never blocks");
        assert_eq!(b.pending().is_some(), b.capabilities().peekable, "{kind}");
        assert_ne!(b.pending(), Some(true), "{kind}");
        for bytes in [0, 13, a.capabilities().frame_bytes_limit + 1, 65_536] {
            let error = a.send(&vec![0; bytes]).expect_err("fits no port");
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{kind}");
        }
    });
}

/// More than any ring, buffer or queue holds.
const FLOOD: usize = 40_000;

/// Frames that came, by all that a port counts of them.
fn arrived(books: PortStatistics) -> u64 {
    books.received + books.overflowed + books.oversized + books.runts
}

#[test]
fn every_frame_is_in_one_counter() {
    each_kind("ports::every_frame_is_in_one_counter", |joined| {
        let Joined { kind, mut a, mut b, links } = joined;
        // The program's side of a TAP interface receives, the kernel's side sends.
        if kind == "tap" {
            std::mem::swap(&mut a, &mut b);
        }
        let (short, long) = (frame(60, 1), frame(1_600, 2));
        let mut report = FlushReport::default();
        // Longer than the receiver's MTU, which it has not looked at again.
        if own_mtu(kind) {
            for link in &links {
                let mtu = ["link", "set", "dev", link, "mtu", "9000"];
                assert!(Command::new("ip").args(mtu).status().expect("iproute2").success());
            }
            report += a.transmit(&[&long[..]; 3]).expect("up");
            assert_eq!(report.sent, 3, "{kind}");
        }
        // A full queue of these tells who sends, and counts as well. Of a burst the first that finds it full
        // is offered twice, as the kernel says only how many it took: they come one by one.
        let tells = matches!(kind, "memory" | "tap");
        let burst: Vec<&[u8]> = vec![&short; if tells { 1 } else { BURST_FRAMES }];
        for _ in 0..FLOOD / burst.len() {
            report += a.transmit(&burst).expect("up");
        }
        let own = a.statistics().expect("readable");
        assert_eq!((own.sent, own.refused), (report.sent as u64, report.refused as u64), "{kind}");
        let offered = (report.sent + if tells { report.refused } else { 0 }) as u64;
        let deadline = MonotonicClock::now() + PATIENCE;
        let books = loop {
            let mut seen = Vec::new();
            fetch(&mut *b, &mut seen);
            let books = b.statistics().expect("readable");
            if (seen.is_empty() && arrived(books) >= offered) || MonotonicClock::now() > deadline {
                break books;
            }
        };
        println!("{kind}: {report:?}, {books:?}");
        assert_eq!(arrived(books), offered, "{kind}: {report:?}, {books:?}");
        assert_eq!(books.oversized, if own_mtu(kind) { 3 } else { 0 }, "{kind}");
        let overruns = !kind.starts_with("xdp");
        assert!(books.overflowed > 0 || !overruns, "{kind}: there was no room for all");
    });
}

/// Whether a test may send frames longer than the receiver's MTU on ports of this kind.
fn own_mtu(kind: &str) -> bool {
    matches!(kind, "packet" | "packet-ring" | "tap")
}

#[test]
fn a_burst_is_lent_as_a_whole_and_sent_from_where_it_lies() {
    each_kind("ports::a_burst_is_lent_as_a_whole_and_sent_from_where_it_lies", |joined| {
        let Joined { kind, mut a, mut b, links } = joined;
        // A second pair, whose first end sends what the other port lends.
        if !links.is_empty() {
            veth("c", "d");
        }
        let (mut c, mut d): (Box<dyn Port>, Box<dyn Port>) = match links.is_empty() {
            true => {
                let (c, d) = MemoryPort::pair(4_096).expect("descriptors");
                (Box::new(c), Box::new(d))
            }
            false => (
                Box::new(PacketPort::open("c").expect("root")),
                Box::new(PacketPort::open("d").expect("root")),
            ),
        };
        let mut sent: Vec<_> = (0..20).map(|tag| frame(60 + 70 * usize::from(tag), tag)).collect();
        sent[3] = tagged(300, 0x8100, 0x2007);
        let (short, long) = (vec![0; 13], vec![0; 70_000]);
        for turn in 0..3 {
            let mut wanted: Vec<&[u8]> = sent.iter().map(Vec::as_slice).collect();
            wanted.insert(5, &short);
            wanted.push(&long);
            let report = a.transmit(&wanted).expect("up");
            assert_eq!(report, FlushReport { sent: 20, refused: 2 }, "{kind}: two fit no port");
            let (mut lent, mut calls) = (0, 0);
            let deadline = MonotonicClock::now() + PATIENCE;
            while lent < sent.len() {
                lent += b
                    .lend(BURST_FRAMES, &mut |burst| {
                        calls += 1;
                        assert_eq!(burst.frames.len(), burst.arrivals.len());
                        assert!(burst.arrivals.is_sorted(), "{kind}");
                        let report = c.transmit(burst.frames).expect("up");
                        assert_eq!(report.sent, burst.frames.len(), "{kind}");
                    })
                    .expect("up");
                assert!(MonotonicClock::now() < deadline, "{kind}: {lent}");
            }
            assert!(calls < sent.len(), "{kind}: bursts, not frames");
            assert_eq!(b.lend(7, &mut |_| panic!("{kind}: nothing waits")).expect("up"), 0);
            assert!(frames(receive(&mut *d, sent.len())) == sent, "{kind}, turn {turn}");
        }
        drop((c, d));
        if !links.is_empty() {
            IpBatch::new().delete(&name("c")).run().expect("root");
        }
    });
}

#[test]
fn what_a_device_refuses_is_counted_and_the_rest_passes() {
    each_kind("ports::what_a_device_refuses_is_counted_and_the_rest_passes", |joined| {
        let Joined { kind, mut a, mut b, links } = joined;
        if links.is_empty() {
            return;
        }
        for bytes in [60, 1_600, 61] {
            assert!(a.send(&frame(bytes, 0)).expect("a good frame"));
        }
        let report = a.flush().expect("up");
        assert_eq!(report, FlushReport { sent: 2, refused: 1 }, "{kind}: beyond the MTU");
        assert_eq!(receive(&mut *b, 2).len(), 2, "{kind}");
        assert_eq!(a.link().expect("readable"), LinkState::Up, "{kind}");

        let is_pair = links[0] != links[1];
        if is_pair {
            // The other end goes down: no carrier.
            IpBatch::new().down(&name("b")).run().expect("root");
            assert_eq!(a.link().expect("readable"), LinkState::NoCarrier, "{kind}");
            assert_eq!(send(&mut *a, &frame(60, 0)).refused, 1, "{kind}");
        }
        // This end goes down too, and both come back.
        IpBatch::new().down(&name("a")).run().expect("root");
        assert_eq!(a.link().expect("readable"), LinkState::Down, "{kind}");
        for _ in 0..3 {
            assert_eq!(send(&mut *a, &frame(60, 0)).refused, 1, "{kind}");
        }
        for _ in 0..200 {
            assert_eq!(b.receive(10, &mut |_, _| ()).expect("down is no error"), 0, "{kind}");
        }
        links.iter().for_each(|link| {
            IpBatch::new().up(&name(link)).run().expect("root");
        });
        assert_eq!(a.link().expect("readable"), LinkState::Up, "{kind}");
        assert_eq!(send(&mut *a, &frame(60, 7)).sent, 1, "{kind}");
        assert_eq!(frames(receive(&mut *b, 1)), [frame(60, 7)], "{kind}: nothing old comes late");
        let refused = if is_pair { 5 } else { 4 };
        assert_eq!(a.statistics().expect("readable").refused, refused, "{kind}");
        if kind.starts_with("packet") {
            assert_eq!(b.statistics().expect("readable").link_downs, 1, "{kind}");
        }
    });
}

#[test]
fn a_removed_interface_is_an_error_and_no_hang() {
    each_kind("ports::a_removed_interface_is_an_error_and_no_hang", |joined| {
        let Joined { kind, mut a, mut b, links } = joined;
        if links.is_empty() {
            return;
        }
        send(&mut *a, &frame(60, 0));
        receive(&mut *b, 1);
        IpBatch::new().delete(&name("a")).run().expect("root");
        for port in [&mut a, &mut b] {
            let lost = (0..100).find_map(|_| port.receive(10, &mut |_, _| ()).err());
            let lost = lost.unwrap_or_else(|| panic!("{kind}: the loss is told"));
            assert!(lost.to_string().contains("was removed"), "{kind}: {lost}");
            assert_eq!(port.link().expect("a state"), LinkState::Gone, "{kind}");
            for _ in 0..3 {
                assert!(port.send(&frame(60, 0)).expect("a good frame"));
                let lost = port.flush().expect_err("the interface is gone");
                assert!(lost.to_string().contains("was removed"), "{kind}: {lost}");
            }
        }
        // A later interface of that name is another one.
        veth("a", "b");
        assert_eq!(a.link().expect("a state"), LinkState::Gone, "{kind}");
    });
}

#[test]
fn frames_that_find_no_room_are_counted() {
    each_kind(
        "ports::frames_that_find_no_room_are_counted",
        |Joined { kind, mut a, mut b, .. }| {
            let long = frame(1_514, 0);
            let (mut sent, mut refused) = (0, 0);
            let start = MonotonicClock::now();
            for _ in 0..500 {
                while a.send(&long).expect("a good frame") {}
                let report = a.flush().expect("up");
                sent += report.sent as u64;
                refused += report.refused as u64;
            }
            assert_eq!(sent + refused, 500 * BURST_FRAMES as u64, "{kind}");
            let per_frame = MonotonicClock::now().since(start).as_ns() / (sent + refused);
            let mut waiting = Vec::new();
            loop {
                let before = waiting.len();
                fetch(&mut *b, &mut waiting);
                if waiting.len() == before {
                    break;
                }
            }
            let waited = waiting.len() as u64;
            let overflowed = b.statistics().expect("readable").overflowed;
            println!(
                "{kind}: {sent} sent at {per_frame} ns each, {refused} refused, {waited} waited"
            );
            match kind {
                "memory" => assert_eq!((overflowed, sent), (refused, waited), "{kind}"),
                "packet" | "packet-ring" => {
                    assert!(overflowed > 0, "{kind}");
                    assert_eq!(overflowed + waited, sent, "{kind}");
                }
                // The other side of a TAP interface is a packet socket.
                "tap" => assert_eq!(overflowed + waited, sent, "{kind}"),
                // What finds no room in the ring of the veth driver is counted there only.
                _ => assert!(overflowed > 0 && overflowed + waited <= sent, "{kind}: {overflowed}"),
            }
            // And everything works afterwards.
            assert_eq!(send(&mut *a, &frame(60, 9)).sent, 1, "{kind}");
            assert_eq!(frames(receive(&mut *b, 1)), [frame(60, 9)], "{kind}");
        },
    );
}

#[test]
fn the_queue_of_a_tap_interface_overflows_into_the_books() {
    in_lab("ports::the_queue_of_a_tap_interface_overflows_into_the_books", || {
        let Ok((mut program, mut kernel)) = tap_ends() else {
            return println!("SKIPPED the_queue_of_a_tap_interface: no TUN device here");
        };
        let mut sent = 0;
        for _ in 0..100 {
            while kernel.send(&frame(60, 0)).expect("a good frame") {}
            sent += kernel.flush().expect("up").sent as u64;
        }
        let mut waiting = Vec::new();
        for _ in 0..10 {
            fetch(&mut *program, &mut waiting);
        }
        let books = program.statistics().expect("readable");
        println!("{sent} sent, {} waited, {} dropped", waiting.len(), books.overflowed);
        assert!(books.overflowed > 0, "a TAP interface keeps 1000 frames by default");
        assert!(books.received + books.overflowed >= sent, "{books:?}");
    });
}

#[test]
fn ports_are_closed_and_opened_again() {
    each_kind("ports::ports_are_closed_and_opened_again", |joined| {
        let Joined { kind, mut a, mut b, links } = joined;
        let which = a.capabilities().kind;
        if links.first() == links.last() {
            return;
        }
        let modes: &[XdpMode] = match kind {
            "xdp generic" => &[XdpMode::Generic],
            _ => &XdpMode::ALL,
        };
        for turn in 0..20 {
            assert_eq!(send(&mut *a, &frame(100, turn)).sent, 1, "{kind}, {turn}");
            assert_eq!(frames(receive(&mut *b, 1)), [frame(100, turn)], "{kind}");
            drop((a, b));
            (a, b) = opened(which, modes).unwrap_or_else(|error| panic!("{kind}: {error}"));
        }
    });
}

#[test]
fn no_frame_is_worth_an_allocation() {
    each_kind("ports::no_frame_is_worth_an_allocation", |Joined { kind, mut a, mut b, .. }| {
        let (short, long) = (frame(60, 1), frame(1_514, 2));
        let mut exchange = || {
            for frame in [&short, &long, &short, &short] {
                assert!(a.send(frame).expect("a good frame"));
            }
            assert_eq!(a.flush().expect("up").sent, 4);
            let deadline = MonotonicClock::now() + PATIENCE;
            let mut count = 0;
            while count < 4 {
                count += b.receive(32, &mut |_, _| ()).expect("up");
                assert!(MonotonicClock::now() < deadline, "{kind}: {count} of 4");
            }
            std::mem::swap(&mut a, &mut b);
        };
        exchange();
        let seen = allocation_counter::measure(|| (0..500).for_each(|_| exchange()));
        assert_eq!(seen.count_total, 0, "{kind}");
    });
}
