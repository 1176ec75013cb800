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
/// highest priority waits for more than one burst behind the scheduler (docs/theory/analysis.md,
/// "The network as servers").
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
            // Those of the lost one go with it.
            told.statistics = PortStatistics::default();
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
        self.incoming.give_back(count);
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

    fn mtu_bytes(&self) -> Option<usize> {
        Some(self.interface.mtu_bytes())
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
mod tests;
