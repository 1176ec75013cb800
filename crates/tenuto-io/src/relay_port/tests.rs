//! A relay before ports in memory, served by threads of the tests.

use super::end::SENT_AT_ONCE;
use super::*;
use crate::{Interest, Look, MemoryPort, MonotonicClock, Pending, PollSet, PortWait, WaitPolicy};
use std::thread::JoinHandle;
use tenuto_units::Span;

const FRAMES: u32 = 2_000;
/// Frames that a lane to a device takes beside those that are just being sent: who hears a frame may do
/// so before its memory is back in the lane.
const UNDER_WAY: usize = OUTGOING_FRAMES - SENT_AT_ONCE;

/// A relay in front of one end of a pair in memory, its thread, and the other end.
fn relayed(policy: WaitPolicy) -> (RelayPort, JoinHandle<io::Result<()>>, MemoryPort) {
    let (device, other) = MemoryPort::pair(64).expect("descriptors");
    // Of memory there is no interface to be asked for its link.
    let (port, end) = RelayPort::before(Box::new(device), "lo").expect("descriptors");
    let work = move || serve_relays(vec![end], PortWait::new(policy));
    (port, std::thread::spawn(work), other)
}

fn numbered(number: u32) -> Vec<u8> {
    let mut frame = vec![7; 60 + usize::try_from(number % 1_400).expect("small")];
    frame[..4].copy_from_slice(&number.to_be_bytes());
    frame
}

/// Sends frames by `from` and receives them at `to`, with what `rest` waits by in between.
fn pass(from: &mut dyn Port, to: &mut dyn Port, rest: &mut dyn FnMut(&dyn Port)) {
    let (mut sent, mut heard) = (0, 0);
    let end = MonotonicClock::now() + Span::from_s(60);
    while heard < FRAMES {
        while sent < FRAMES && ((sent - heard) as usize) < UNDER_WAY {
            assert!(from.send(&numbered(sent)).expect("a good frame"));
            sent += 1;
        }
        let report = from.flush().expect("both ends are there");
        assert_eq!(report.refused, 0);
        to.receive(64, &mut |_, frame| {
            assert!(frame == numbered(heard), "in order and whole: {heard}");
            heard += 1;
        })
        .expect("both ends are there");
        if heard < sent {
            rest(to);
        }
        assert!(MonotonicClock::now() < end, "{heard} of {sent}");
    }
}

#[test]
fn frames_cross_both_ways_whatever_the_threads_do_meanwhile() {
    for policy in WaitPolicy::ALL {
        let (mut port, thread, mut other) = relayed(policy);
        // Who sleeps is woken: a lost wake-up would last for ever.
        pass(&mut other, &mut port, &mut sleep_until_something_waits);
        pass(&mut port, &mut other, &mut |_| std::thread::yield_now());
        let end = MonotonicClock::now() + Span::from_s(60);
        let books = loop {
            let books = port.statistics().expect("readable");
            if books.sent == u64::from(FRAMES) || MonotonicClock::now() > end {
                break books;
            }
            std::thread::yield_now();
        };
        let all = u64::from(FRAMES);
        let expected = PortStatistics { received: all, sent: all, ..Default::default() };
        assert_eq!(books, expected, "{policy:?}");
        drop(port);
        thread.join().expect("no panic").expect("it ends with its port");
    }
}

/// Who fills a lane sleeps while it is full, though the device has more, and is woken for the rest.
#[test]
fn a_lane_that_was_full_goes_on() {
    let (device, mut other) = MemoryPort::pair(1_000).expect("descriptors");
    let (mut port, end) = RelayPort::before(Box::new(device), "lo").expect("descriptors");
    let work = || serve_relays(vec![end], PortWait::new(WaitPolicy::Block));
    let thread = std::thread::spawn(work);
    for round in 0..20 {
        for number in 0..800 {
            if !other.send(&numbered(number)).expect("a good frame") {
                other.flush().expect("there");
                assert!(other.send(&numbered(number)).expect("a good frame"));
            }
        }
        other.flush().expect("there");
        // Only once it is full is anything taken.
        let end = MonotonicClock::now() + Span::from_s(60);
        while port.incoming.waiting() < INCOMING_FRAMES {
            assert!(MonotonicClock::now() < end, "round {round}");
            std::thread::yield_now();
        }
        let mut heard = 0;
        while heard < 800 {
            port.receive(64, &mut |_, frame| {
                assert!(frame == numbered(heard), "{heard}");
                heard += 1;
            })
            .expect("there");
            assert!(MonotonicClock::now() < end, "round {round}: {heard}");
        }
    }
    drop(port);
    thread.join().expect("no panic").expect("it ends with its port");
}

/// Who sends no more than there is room for loses nothing, never has more than a burst behind it, and
/// is woken whenever there is room again.
#[test]
fn who_waits_for_room_is_woken() {
    for policy in WaitPolicy::ALL {
        let (device, mut other) = MemoryPort::pair(FRAMES as usize).expect("descriptors");
        let (mut port, end) = RelayPort::before(Box::new(device), "lo").expect("descriptors");
        let work = move || serve_relays(vec![end], PortWait::new(policy));
        let thread = std::thread::spawn(work);
        let mut sent = 0;
        while sent < FRAMES {
            let room = port.room().expect("it says");
            assert!(room <= OUTGOING_FRAMES);
            if room == 0 {
                let began = MonotonicClock::now();
                sleep_until_something_waits(&port);
                port.lend(9, &mut |_| panic!("nothing is sent back")).expect("there");
                assert!(MonotonicClock::now().since(began) < Span::from_s(50), "it was woken");
                continue;
            }
            let until = FRAMES.min(sent + u32::try_from(room).expect("a burst"));
            let frames: Vec<Vec<u8>> = (sent..until).map(numbered).collect();
            let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
            let report = port.transmit(&frames).expect("there");
            assert_eq!(report, FlushReport { sent: frames.len(), refused: 0 });
            sent = until;
        }
        drop(port);
        thread.join().expect("no panic").expect("it ends with its port");
        let mut heard = 0;
        other
            .receive(FRAMES as usize, &mut |_, frame| {
                assert!(frame == numbered(heard), "in order and whole: {heard}");
                heard += 1;
            })
            .expect("there");
        // Its end leaves what was under way then.
        assert!(sent - heard <= u32::try_from(OUTGOING_FRAMES).expect("small"), "{heard}");
    }
}

/// One thread serves both devices, and nobody takes what comes from the first.
#[test]
fn a_flood_at_one_port_takes_no_room_of_another() {
    let ports = || {
        let (device, other) = MemoryPort::pair(FRAMES as usize).expect("descriptors");
        let (port, end) = RelayPort::before(Box::new(device), "lo").expect("descriptors");
        (port, end, other)
    };
    let (flooded, first, mut flood) = ports();
    let (mut port, second, mut other) = ports();
    for number in 0..FRAMES {
        flood.transmit(&[&numbered(number)]).expect("there");
    }
    let work = || serve_relays(vec![first, second], PortWait::new(WaitPolicy::Block));
    let thread = std::thread::spawn(work);
    let end = MonotonicClock::now() + Span::from_s(60);
    while flooded.incoming.waiting() < INCOMING_FRAMES {
        assert!(MonotonicClock::now() < end);
        std::thread::yield_now();
    }
    pass(&mut other, &mut port, &mut sleep_until_something_waits);
    assert_eq!(flooded.incoming.waiting(), INCOMING_FRAMES);
    drop((flooded, port));
    thread.join().expect("no panic").expect("it ends with its ports");
}

#[test]
fn a_full_lane_refuses_and_a_full_burst_wants_a_flush() {
    let (device, _other) = MemoryPort::pair(4).expect("descriptors");
    // Nobody serves it.
    let (mut port, _end) = RelayPort::before(Box::new(device), "lo").expect("descriptors");
    assert_eq!(port.room(), Some(OUTGOING_FRAMES));
    let mut counts = (0, 0);
    for _ in 0..6 {
        for _ in 0..BURST_FRAMES {
            assert!(port.send(&numbered(0)).expect("a good frame"));
        }
        assert!(!port.send(&numbered(0)).expect("a good frame"), "the burst is full");
        let report = port.flush().expect("there");
        counts = (counts.0 + report.sent, counts.1 + report.refused);
    }
    assert_eq!(counts, (OUTGOING_FRAMES, 6 * BURST_FRAMES - OUTGOING_FRAMES));
    assert_eq!((port.room(), port.is_held()), (Some(0), true));
    assert_eq!(port.send(&[0; 13]).expect_err("unfit").kind(), io::ErrorKind::InvalidInput);
    assert_eq!((port.pending(), port.pending_at_rest()), (Some(false), Some(false)));
}

/// A port in memory that lends in its own way.
struct Odd {
    port: MemoryPort,
    lend: fn(&mut MemoryPort, usize) -> io::Result<usize>,
}

impl Odd {
    /// Its interface is found lost when it is looked at.
    fn lost(port: MemoryPort) -> Device {
        let lend = |_: &mut MemoryPort, _| {
            Err(io::Error::new(io::ErrorKind::NotFound, "interface eth9 was removed"))
        };
        Box::new(Self { port, lend })
    }

    /// It panics with the first frame.
    fn fragile(port: MemoryPort) -> Device {
        let lend = |port: &mut MemoryPort, budget| port.lend(budget, &mut |_| panic!("on purpose"));
        Box::new(Self { port, lend })
    }
}

impl Port for Odd {
    fn lend(&mut self, budget: usize, _: &mut dyn FnMut(Lent<'_>)) -> io::Result<usize> {
        (self.lend)(&mut self.port, budget)
    }
    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        self.port.send(frame)
    }
    fn flush(&mut self) -> io::Result<FlushReport> {
        self.port.flush()
    }
    fn poll_fd(&self) -> Option<RawFd> {
        self.port.poll_fd()
    }
    fn capabilities(&self) -> Capabilities {
        self.port.capabilities()
    }
    fn statistics(&mut self) -> io::Result<PortStatistics> {
        self.port.statistics()
    }
    fn link(&mut self) -> io::Result<LinkState> {
        self.port.link()
    }
}

#[test]
fn the_loss_of_a_device_is_told_and_ends_nothing_else() {
    let (device, mut other) = MemoryPort::pair(4).expect("descriptors");
    let (mut port, end) = RelayPort::before(Odd::lost(device), "lo").expect("descriptors");
    let work = || serve_relays(vec![end], PortWait::new(WaitPolicy::Block));
    let thread = std::thread::spawn(work);
    assert!(other.send(&numbered(1)).expect("a good frame"));
    other.flush().expect("there");
    let mut set = PollSet::new();
    set.add(port.poll_fd().expect("pollable"), Interest::Read);
    let mut sleep = PortWait::new(WaitPolicy::Block);
    let waited =
        sleep.wait(&mut set, None, &mut |look: Look| Pending::of([&port as &dyn Port], look));
    waited.expect("poll");
    for _ in 0..2 {
        let told = port.lend(9, &mut |_| ()).expect_err("lost").to_string();
        assert!(told.contains("eth9 was removed"), "{told}");
    }
    assert!(port.send(&numbered(0)).expect("a good frame") && port.flush().is_err());
    drop(port);
    thread.join().expect("no panic").expect("it ends with its port");
}

/// All ports of a thread that has ended are lost, and say so: they do not stand still for ever.
#[test]
fn a_thread_that_panics_takes_its_ports_out_of_service() {
    let (device, mut other) = MemoryPort::pair(4).expect("descriptors");
    let (mut broken, first) = RelayPort::before(Odd::fragile(device), "lo").expect("descriptors");
    let (device, _peer) = MemoryPort::pair(4).expect("descriptors");
    let (mut innocent, second) = RelayPort::before(Box::new(device), "lo").expect("descriptors");
    let work = || serve_relays(vec![first, second], PortWait::new(WaitPolicy::Block));
    let thread = std::thread::spawn(work);
    assert!(other.send(&numbered(1)).expect("a good frame"));
    other.flush().expect("there");
    for port in [&mut broken, &mut innocent] {
        sleep_until_something_waits(port);
        let told = port.lend(9, &mut |_| ()).expect_err("lost").to_string();
        assert!(told.contains("has ended"), "{told}");
        assert!(port.transmit(&[&numbered(0)]).is_err());
        // Nobody would serve another one.
        let (device, _other) = MemoryPort::pair(4).expect("descriptors");
        assert!(port.renew(Box::new(device), "lo").is_err());
    }
    assert!(thread.join().is_err(), "a panic");
}

fn sleep_until_something_waits(port: &dyn Port) {
    let mut set = PollSet::new();
    set.add(port.poll_fd().expect("pollable"), Interest::Read);
    let mut pending = |look| Pending::of([port], look);
    let end = Some(MonotonicClock::now() + Span::from_s(60));
    PortWait::new(WaitPolicy::Block).wait(&mut set, end, &mut pending).expect("poll");
}

/// What was for a lost device is refused, and another one in its place carries all that comes later.
#[test]
fn another_device_takes_the_place_of_a_lost_one() {
    for policy in WaitPolicy::ALL {
        let (device, mut other) = MemoryPort::pair(4).expect("descriptors");
        let (mut port, end) = RelayPort::before(Odd::lost(device), "lo").expect("descriptors");
        // Handed over while nobody serves the device, which is lost before it has sent them.
        assert!(other.send(&numbered(1)).expect("a good frame"));
        other.flush().expect("there");
        let late: Vec<Vec<u8>> = (0..30).map(numbered).collect();
        let late: Vec<&[u8]> = late.iter().map(Vec::as_slice).collect();
        assert_eq!(port.transmit(&late).expect("there").sent, 30);
        let work = move || serve_relays(vec![end], PortWait::new(policy));
        let thread = std::thread::spawn(work);
        for round in 0..3 {
            sleep_until_something_waits(&port);
            port.lend(9, &mut |_| ()).expect_err("lost");
            assert!(port.transmit(&late[..3]).is_err(), "round {round}");
            let (device, mut other) = MemoryPort::pair(64).expect("descriptors");
            let is_lost_too = round < 2;
            let next: Device = if is_lost_too { Odd::lost(device) } else { Box::new(device) };
            assert!(port.renew(next, "lo").expect("there").is_some(), "the lost one");
            if is_lost_too {
                assert!(other.send(&numbered(1)).expect("a good frame"));
                other.flush().expect("there");
                continue;
            }
            pass(&mut other, &mut port, &mut |_| std::thread::yield_now());
            let refused = port.take_refused();
            // Four found room in the first device.
            assert!((26..=30).contains(&refused), "{refused}");
            pass(&mut port, &mut other, &mut |_| std::thread::yield_now());
            assert_eq!(port.take_refused(), 0);
        }
        drop(port);
        thread.join().expect("no panic").expect("it ends with its port");
    }
}
