//! Ports whose device is served by another thread: receiving and sending, which are calls of the
//! kernel, are done there; what becomes of frames is decided here.
//!
//! ```text
//! device ═ RelayEnd ── lane of frames ─► RelayPort ═ who decides
//!        (its thread) ◄─ lane of frames ──
//! ```
//!
//! A lane is a bounded ring with one producer and one consumer. Frames are copied once at each end,
//! and nothing is allocated for them. When the lane from the device is full, frames wait in the
//! device's own ring, which counts what it loses. The lane to the device is behind the scheduler, so
//! it holds one burst, and whoever decides asks for its room ([`Port::room`]) and keeps what finds
//! none by priority; frames that are sent all the same are refused.

use crate::interface::Interface;
use crate::{
    BURST_FRAMES, Capabilities, FlushReport, Lent, LinkState, MonotonicClock, Port, PortStatistics,
    frame_fit::check_frame,
};
use bell::Bell;
use lane::{LaneEntry, LaneExit, lane};
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};
use tenuto_units::Instant;

mod bell;
mod end;
mod lane;

pub use end::{RelayEnd, serve_relays};

/// Frames that the lane from the device holds: a few bursts, so that they stay in the caches of both
/// threads.
const INCOMING_FRAMES: usize = 128;
/// Frames in the lane to the device, those that are just being sent among them: no frame of the
/// highest priority waits for more than one burst behind the scheduler (theory T4).
const OUTGOING_FRAMES: usize = BURST_FRAMES;
/// Why ports are lost whose thread is gone.
const ABANDONED: &str = "the thread that served it has ended";

/// What both ends know.
struct Shared {
    /// Wakes who decides.
    here: Bell,
    /// Wakes who serves the device.
    there: Bell,
    /// The link and the books are to be looked at.
    is_asked: AtomicBool,
    /// The port is dropped.
    is_closed: AtomicBool,
    is_lost: AtomicBool,
    /// The thread that served the device has ended.
    is_abandoned: AtomicBool,
    /// The lane to the port is full, and who fills it may sleep.
    is_room_wanted: AtomicBool,
    /// The same of the lane to the device.
    is_way_wanted: AtomicBool,
    /// Frames that the device refused and that are not told yet.
    refused: AtomicU64,
    /// Devices that change hands, and what is told of them.
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    why_lost: Option<(io::ErrorKind, String)>,
    /// As they were when they were looked at.
    statistics: PortStatistics,
    lost: Option<Device>,
    next: Option<Next>,
}

type Device = Box<dyn Port + Send>;

/// A device in place of one that was lost.
struct Next {
    device: Device,
    /// Frames that were handed over before: they were for the earlier one.
    stale: u64,
}

impl Shared {
    fn told<T>(&self, with: impl FnOnce(&mut Told) -> T) -> T {
        // What is behind the lock is whole between any two statements.
        with(&mut self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The end of who decides: a port like any other.
pub struct RelayPort {
    shared: Arc<Shared>,
    incoming: LaneExit,
    outgoing: LaneEntry,
    capabilities: Capabilities,
    interface: Interface,
    burst_refused: usize,
    /// What is left of the room that was told last; `None` if nobody asks.
    room_left: Option<usize>,
}

impl RelayPort {
    /// Puts lanes in front of `port`, which is on the interface `name`; the other end is to be
    /// served by a thread ([`serve_relays`]).
    ///
    /// # Errors
    ///
    /// When there is no such interface, or the process has no descriptors left.
    pub fn before(port: Device, name: &str) -> io::Result<(Self, RelayEnd)> {
        let shared = Arc::new(Shared {
            here: Bell::new()?,
            there: Bell::new()?,
            is_asked: AtomicBool::new(true),
            is_closed: AtomicBool::new(false),
            is_lost: AtomicBool::new(false),
            is_abandoned: AtomicBool::new(false),
            is_room_wanted: AtomicBool::new(false),
            is_way_wanted: AtomicBool::new(false),
            refused: AtomicU64::new(0),
            told: Mutex::default(),
        });
        let (to_us, incoming) = lane(INCOMING_FRAMES);
        let (outgoing, from_us) = lane(OUTGOING_FRAMES);
        let capabilities = relayed(&*port);
        let interface = Interface::find(name)?;
        let end = RelayEnd::new(port, Arc::clone(&shared), to_us, from_us);
        let (burst_refused, room_left) = (0, None);
        let port =
            Self { shared, incoming, outgoing, capabilities, interface, burst_refused, room_left };
        Ok((port, end))
    }

    /// Puts `port`, which is on the interface `name`, in the place of a device whose loss was told; gives
    /// the lost one, which the kernel takes its time to close. Frames that were for that one are refused.
    ///
    /// # Errors
    ///
    /// When there is no such interface any more, or nobody to serve it.
    pub fn renew(&mut self, port: Device, name: &str) -> io::Result<Option<Device>> {
        if self.shared.is_abandoned.load(Ordering::Acquire) {
            return Err(io::Error::other(ABANDONED));
        }
        self.interface = Interface::find(name)?;
        self.capabilities = relayed(&*port);
        let next = Next { device: port, stale: self.outgoing.handed_over() };
        let lost = self.shared.told(|told| {
            (told.next, told.why_lost) = (Some(next), None);
            // Before the other thread can find the next one lost too.
            self.shared.is_lost.store(false, Ordering::Release);
            told.lost.take()
        });
        self.ask();
        Ok(lost)
    }

    /// Whether the interface was removed, though its loss may not be told yet.
    ///
    /// # Errors
    ///
    /// Those of the kernel.
    pub fn is_gone(&mut self) -> io::Result<bool> {
        Ok(self.interface.refresh()? == LinkState::Gone)
    }

    /// Frames that the device refused, or was lost with, and that no flush has told.
    pub fn take_refused(&mut self) -> usize {
        let refused = self.shared.refused.swap(0, Ordering::Relaxed);
        usize::try_from(refused).unwrap_or(usize::MAX)
    }

    /// Whether nothing is left of the room that was told last, so that frames may wait for more.
    pub fn is_held(&self) -> bool {
        self.room_left == Some(0)
    }

    fn ask(&self) {
        self.shared.is_asked.store(true, Ordering::Release);
        self.shared.there.ring();
    }

    fn check(&self) -> io::Result<()> {
        if !self.shared.is_lost.load(Ordering::Acquire) {
            return Ok(());
        }
        let why = self.shared.told(|told| told.why_lost.clone());
        why.map_or(Ok(()), |(kind, text)| Err(io::Error::new(kind, text)))
    }
}

impl Port for RelayPort {
    fn lend(&mut self, budget: usize, take: &mut dyn FnMut(Lent<'_>)) -> io::Result<usize> {
        self.shared.here.hush();
        let count = self.incoming.take(budget.min(BURST_FRAMES));
        if count == 0 {
            self.check()?;
            return Ok(0);
        }
        let mut arrivals = [Instant::ZERO; BURST_FRAMES];
        let mut frames: [&[u8]; BURST_FRAMES] = [&[]; BURST_FRAMES];
        for (place, parcel) in self.incoming.taken().iter().enumerate() {
            (arrivals[place], frames[place]) = (parcel.arrival(), parcel.frame());
        }
        let fetched = MonotonicClock::now();
        take(Lent { fetched, arrivals: &arrivals[..count], frames: &frames[..count] });
        self.incoming.give_back();
        // As the bell: of the two threads at least one sees what the other did before.
        fence(Ordering::SeqCst);
        if self.shared.is_room_wanted.load(Ordering::Relaxed) {
            self.shared.is_room_wanted.store(false, Ordering::Relaxed);
            self.shared.there.ring();
        }
        Ok(count)
    }

    fn pending(&self) -> Option<bool> {
        let has_news = self.incoming.has_frame() || self.shared.is_lost.load(Ordering::Relaxed);
        Some(has_news || (self.is_held() && self.outgoing.room() > 0))
    }

    fn room(&mut self) -> Option<usize> {
        self.room_left = Some(self.outgoing.room());
        self.room_left
    }

    fn pending_at_rest(&self) -> Option<bool> {
        if self.is_held() {
            self.shared.is_way_wanted.store(true, Ordering::Relaxed);
        }
        self.shared.here.expect();
        self.pending()
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        // One that does not fit has used its room, too.
        self.room_left = self.room_left.map(|left| left.saturating_sub(1));
        check_frame(frame, self.capabilities.frame_bytes_limit)?;
        if self.outgoing.waiting() + self.burst_refused == BURST_FRAMES {
            return Ok(false);
        }
        if !self.outgoing.put(Instant::ZERO, frame) {
            self.burst_refused += 1;
        }
        Ok(true)
    }

    fn flush(&mut self) -> io::Result<FlushReport> {
        let lane_refused = std::mem::take(&mut self.burst_refused);
        if let Err(error) = self.check() {
            self.outgoing.take_back();
            return Err(error);
        }
        let sent = self.outgoing.hand_over();
        if sent > 0 {
            self.shared.there.ring();
        }
        Ok(FlushReport { sent, refused: lane_refused + self.take_refused() })
    }

    fn poll_fd(&self) -> Option<RawFd> {
        Some(self.shared.here.fd())
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// As they were a moment ago; asking has them looked at again.
    fn statistics(&mut self) -> io::Result<PortStatistics> {
        self.ask();
        Ok(self.shared.told(|told| told.statistics))
    }

    fn link(&mut self) -> io::Result<LinkState> {
        // The port behind takes note of a changed MTU, and of its loss, which is told when all that it
        // has received is taken.
        self.ask();
        let state = self.interface.refresh()?;
        Ok(if state == LinkState::Gone { LinkState::Down } else { state })
    }
}

/// What a port can do with lanes before it: arrivals are its own, and whether frames wait is always
/// known.
fn relayed(port: &dyn Port) -> Capabilities {
    Capabilities { peekable: true, zero_copy: false, ..port.capabilities() }
}

impl Drop for RelayPort {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::Release);
        self.shared.there.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Interest, Look, MemoryPort, MonotonicClock, Pending, PollSet, PortWait, WaitPolicy,
    };
    use std::thread::JoinHandle;
    use tenuto_units::Span;

    const FRAMES: u32 = 2_000;

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
            // Never more under way than every place holds.
            while sent < FRAMES && sent < heard + 20 {
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

    /// Looks at a port that is lost.
    struct Lost(MemoryPort);

    impl Port for Lost {
        fn lend(&mut self, _: usize, _: &mut dyn FnMut(Lent<'_>)) -> io::Result<usize> {
            Err(io::Error::new(io::ErrorKind::NotFound, "interface eth9 was removed"))
        }
        fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
            self.0.send(frame)
        }
        fn flush(&mut self) -> io::Result<FlushReport> {
            self.0.flush()
        }
        fn poll_fd(&self) -> Option<RawFd> {
            self.0.poll_fd()
        }
        fn capabilities(&self) -> Capabilities {
            self.0.capabilities()
        }
        fn statistics(&mut self) -> io::Result<PortStatistics> {
            self.0.statistics()
        }
        fn link(&mut self) -> io::Result<LinkState> {
            self.0.link()
        }
    }

    #[test]
    fn the_loss_of_a_device_is_told_and_ends_nothing_else() {
        let (device, mut other) = MemoryPort::pair(4).expect("descriptors");
        let (mut port, end) = RelayPort::before(Box::new(Lost(device)), "lo").expect("descriptors");
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

    /// Panics with the first frame.
    struct Fragile(MemoryPort);

    impl Port for Fragile {
        fn lend(&mut self, budget: usize, _: &mut dyn FnMut(Lent<'_>)) -> io::Result<usize> {
            self.0.lend(budget, &mut |_| panic!("on purpose"))
        }
        fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
            self.0.send(frame)
        }
        fn flush(&mut self) -> io::Result<FlushReport> {
            self.0.flush()
        }
        fn poll_fd(&self) -> Option<RawFd> {
            self.0.poll_fd()
        }
        fn capabilities(&self) -> Capabilities {
            self.0.capabilities()
        }
        fn statistics(&mut self) -> io::Result<PortStatistics> {
            self.0.statistics()
        }
        fn link(&mut self) -> io::Result<LinkState> {
            self.0.link()
        }
    }

    /// All ports of a thread that has ended are lost, and say so: they do not stand still for ever.
    #[test]
    fn a_thread_that_panics_takes_its_ports_out_of_service() {
        let (device, mut other) = MemoryPort::pair(4).expect("descriptors");
        let (mut broken, first) =
            RelayPort::before(Box::new(Fragile(device)), "lo").expect("descriptors");
        let (device, _peer) = MemoryPort::pair(4).expect("descriptors");
        let (mut innocent, second) =
            RelayPort::before(Box::new(device), "lo").expect("descriptors");
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
            let (mut port, end) =
                RelayPort::before(Box::new(Lost(device)), "lo").expect("descriptors");
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
                let next: Device =
                    if is_lost_too { Box::new(Lost(device)) } else { Box::new(device) };
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
}
