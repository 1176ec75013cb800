//! Ports on AF_XDP: frames are taken before the kernel's own stack sees them, into memory that the
//! port shares with its device.
//!
//! One queue of the interface is served. Three ways, tried in this order: the driver writes into
//! our memory (*zero copy*), the driver's hook with a copy, the hook behind the driver with a copy.
//! The program at the hook is removed by the kernel when the port, or its process, is gone.

use crate::frame_fit::{Fit, check_frame, fit};
use crate::interface::Interface;
use crate::offloads::OffloadsOff;
use crate::sys::xdp::{self, Descriptor, FRAME_BYTES_MAX, Rings};
use crate::{
    BURST_FRAMES, Capabilities, FlushReport, Lent, LinkState, MonotonicClock, Offer, Port,
    PortKind, PortStatistics,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use tenuto_units::Instant;

mod memory;
mod open;

pub use memory::XdpMemory;

/// Chunks at hand at a port, at most; half of them go to the pool, and come from it, at a time.
const AT_HAND: usize = 128;
/// Entries of the receive and the fill ring, and chunks that the kernel has for receiving, at most.
const RECEIVE_FRAMES: u32 = 2_048;
/// Entries of the transmit ring. Shallow: what waits in it is behind the scheduler.
const TRANSMIT_FRAMES: u32 = 64;
/// Entries of the completion ring. A device takes no frame for which it has no place there, and we take
/// them back when we send: after the last burst for a while there must be places for all that it holds.
const COMPLETION_FRAMES: u32 = 2_048;
/// Frames that a device keeps after they were sent, until much of its own ring is full.
const KEPT_FRAMES: usize = 1_024;
/// Calls of the kernel for one burst, at most; 32 frames each.
const KICKS_PER_FLUSH: usize = 64;
/// Frames that one call looks at, at most: a flood of unfit ones does not keep it.
const SEEN_MAX: usize = 2 * BURST_FRAMES;
/// So many calls without frames pass between two looks at the interface.
const IDLE_CALLS_PER_LOOK: u32 = 64;

/// How frames come and go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum XdpMode {
    /// The device itself reads and writes our memory.
    NativeZeroCopy,
    /// The driver's hook, and a copy.
    NativeCopy,
    /// The hook behind every driver, on the kernel's buffers, and a copy.
    Generic,
}

impl XdpMode {
    /// All of them, best first.
    pub const ALL: [Self; 3] = [Self::NativeZeroCopy, Self::NativeCopy, Self::Generic];

    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NativeZeroCopy => "native zero-copy",
            Self::NativeCopy => "native copy",
            Self::Generic => "generic",
        }
    }
}

/// A port on an interface of the present network namespace.
pub struct XdpPort {
    hook: Option<OwnedFd>,
    /// `Some` until dropped.
    socket: Option<Arc<OwnedFd>>,
    rings: Rings,
    memory: Arc<XdpMemory>,
    interface: Interface,
    mode: XdpMode,
    /// Free chunks at hand.
    at_hand: Vec<u32>,
    /// Chunks that the kernel has for receiving.
    with_kernel: Vec<bool>,
    with_kernel_count: usize,
    /// How often a chunk is being sent here.
    sending: Vec<u8>,
    burst_count: usize,
    burst_refused: usize,
    /// The last frame that was offered found no room: the next one goes first and alone, as it costs a
    /// call of the kernel to take each of those back that are not taken.
    is_full: bool,
    latest: Instant,
    statistics: PortStatistics,
    idle_calls: u32,
    refusals: Vec<String>,
    /// Has the interface pass on what is addressed to others too; the kernel ends it with us.
    _promiscuous: OwnedFd,
    offloads: Option<OffloadsOff>,
}

impl XdpPort {
    /// Opens the interface `name` in the best of `modes` that it allows, with the memory of other
    /// ports if that is given, has room and can be shared; else with memory of its own.
    ///
    /// # Errors
    ///
    /// When the interface does not exist or has several receive queues, its MTU is above what a
    /// chunk holds, or no way is possible; the message names the step and reason of each.
    pub fn open(
        name: &str,
        modes: &[XdpMode],
        memory: Option<&Arc<XdpMemory>>,
    ) -> io::Result<Self> {
        open::open(name, modes, memory)
    }

    /// How frames come and go.
    pub const fn mode(&self) -> XdpMode {
        self.mode
    }

    /// Why better ways were not taken, each with the step that failed; none if the first one was.
    pub fn refusals(&self) -> &[String] {
        &self.refusals
    }

    /// Whether this port and another one pass frames on without a copy.
    pub fn shares_memory_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.memory, &other.memory)
    }

    /// Keeps the offloads of its interface off for as long as it lives.
    pub(crate) fn keep_off(&mut self, offloads: Option<OffloadsOff>) {
        self.offloads = offloads;
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_ref().expect("there until dropped").as_fd()
    }

    /// Gives the kernel free chunks to receive into.
    ///
    /// No more than a full ring has place for: a device that has a ring of its own, or frames that
    /// nobody fetches, would else take what the ports beside it need.
    fn refill(&mut self) {
        let room = usize::try_from(self.rings.fill.room()).expect("small");
        let mut room = room.min(RECEIVE_FRAMES as usize - self.with_kernel_count);
        if room == 0 {
            return;
        }
        while room > 0 {
            if self.at_hand.len() <= AT_HAND / 2 {
                self.memory.take(&mut self.at_hand, AT_HAND / 2);
            }
            // Some are kept for sending.
            if self.at_hand.len() <= AT_HAND / 4 {
                break;
            }
            let chunk = self.at_hand.pop().expect("some are at hand");
            self.with_kernel[index(chunk)] = true;
            self.with_kernel_count += 1;
            self.rings.fill.push(xdp::start_of(chunk));
            room -= 1;
        }
        self.rings.fill.publish();
    }

    /// Has a device go on that found no chunk to receive into and waits to be told of new ones: it
    /// may have said so just after it was looked at.
    fn wake_receiver(&self) {
        if self.rings.fill.wants_wakeup() {
            xdp::wake_receiver(self.fd());
        }
    }

    /// One holder less of a chunk.
    fn let_go(&mut self, chunk: u32) {
        if self.memory.let_go(chunk) {
            self.at_hand.push(chunk);
            if self.at_hand.len() >= AT_HAND {
                self.memory.give(&mut self.at_hand, AT_HAND / 2);
            }
        }
    }

    /// Takes back what was sent.
    fn reap(&mut self) {
        let mut found = false;
        while let Some(offset) = self.rings.completion.pop() {
            found = true;
            self.sent(xdp::chunk_at(offset));
        }
        if found {
            self.rings.completion.release();
        }
    }

    fn sent(&mut self, chunk: u32) {
        let Some(sending) = self.sending.get_mut(index(chunk)) else { return };
        if *sending > 0 {
            *sending -= 1;
            self.let_go(chunk);
        }
    }

    /// Where `frame` lies, or was copied to; `None` when no chunk is free.
    fn place(&mut self, frame: &[u8]) -> Option<Descriptor> {
        if let Some(offset) = self.memory.frames.offset_of(frame) {
            let chunk = xdp::chunk_at(offset);
            if self.sending[index(chunk)] < u8::MAX && self.memory.hold(chunk) {
                self.sending[index(chunk)] += 1;
                return Some(Descriptor::at(offset, frame.len()));
            }
        }
        if self.at_hand.is_empty() {
            self.memory.take(&mut self.at_hand, AT_HAND / 2);
        }
        let chunk = self.at_hand.pop()?;
        self.memory.hold(chunk);
        self.sending[index(chunk)] += 1;
        Some(self.memory.frames.fill(chunk, frame))
    }

    /// Has the kernel take what is in the transmit ring; how many frames it dropped.
    fn kick(&mut self) -> io::Result<usize> {
        match self.mode {
            XdpMode::NativeZeroCopy => self.kick_device(),
            XdpMode::NativeCopy | XdpMode::Generic => self.kick_kernel(),
        }
    }

    /// In copy mode frames leave inside our calls, or never.
    fn kick_kernel(&mut self) -> io::Result<usize> {
        let mut refused = 0;
        for _ in 0..KICKS_PER_FLUSH {
            if self.rings.transmit.waiting() == 0 {
                break;
            }
            let Err(error) = xdp::kick(self.fd()) else {
                self.reap();
                continue;
            };
            match error.raw_os_error() {
                // More than fits into one call, or the device is slow: once more.
                Some(libc::EAGAIN | libc::EINTR) => {}
                // One frame was taken and dropped.
                Some(libc::EBUSY) => refused += 1,
                Some(libc::ENETDOWN | libc::ENOBUFS | libc::ENOMEM) => break,
                _ => return Err(self.give_up(error)),
            }
            self.reap();
        }
        Ok(refused + self.spoil())
    }

    /// The same of the last `pushed` frames, until the device has no room for one; how many left.
    fn offer_kernel(&mut self, pushed: usize) -> io::Result<Leaving> {
        let (mut dropped, mut is_down, mut has_reaped) = (0, false, false);
        for _ in 0..KICKS_PER_FLUSH {
            let waiting = self.rings.transmit.waiting();
            if waiting == 0 {
                break;
            }
            let Err(error) = xdp::kick(self.fd()) else {
                self.reap();
                continue;
            };
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // More than fits into one call; or the device is full, or the completion ring was.
                Some(libc::EAGAIN) if self.rings.transmit.waiting() < waiting => {}
                Some(libc::EAGAIN) if !has_reaped => has_reaped = true,
                Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) => break,
                // One frame was taken and dropped: it is still where it was offered from.
                Some(libc::EBUSY) => {
                    dropped = 1;
                    break;
                }
                Some(libc::ENETDOWN) => {
                    is_down = true;
                    break;
                }
                _ => return Err(self.give_up(error)),
            }
            self.reap();
        }
        self.reap();
        let sent = pushed.saturating_sub(self.spoil() + dropped);
        Ok(Leaving { sent, withdrawn: 0, is_down })
    }

    /// Sends the frames at the beginning that it has room for and the MTU allows.
    fn offer_run(&mut self, run: &[&[u8]]) -> io::Result<Leaving> {
        if self.rings.transmit.room() == 0 {
            self.pass_over();
            self.reap();
        }
        let room = usize::try_from(self.rings.transmit.room()).expect("small");
        let most = if self.is_full { 1 } else { BURST_FRAMES };
        let mut pushed = 0;
        for frame in run.iter().take(room.min(most)) {
            let Some(descriptor) = self.place(frame) else { break };
            self.rings.transmit.push(descriptor);
            pushed += 1;
        }
        if pushed == 0 {
            // Those of whom it was not told yet take the places.
            self.kick()?;
            self.reap();
            return Ok(Leaving { sent: 0, withdrawn: 0, is_down: false });
        }
        self.rings.transmit.publish();
        if self.mode != XdpMode::NativeZeroCopy {
            return self.offer_kernel(pushed);
        }
        let withdrawn = self.kick_device()?;
        self.reap();
        let sent = pushed.saturating_sub(withdrawn);
        let withdrawn = withdrawn.saturating_sub(pushed);
        Ok(Leaving { sent, withdrawn, is_down: withdrawn > 0 || sent < pushed })
    }

    /// In zero-copy mode the device takes frames when it can. It is told as long as that helps: one
    /// call may get it past no more than one descriptor that was spoilt.
    fn kick_device(&mut self) -> io::Result<usize> {
        let mut waiting = self.rings.transmit.waiting();
        while waiting > 0 && self.rings.transmit.wants_wakeup() {
            if let Err(error) = xdp::kick(self.fd()) {
                return match error.raw_os_error() {
                    // Whoever waits for the port asks it once more.
                    Some(
                        libc::EAGAIN | libc::EINTR | libc::EBUSY | libc::ENOBUFS | libc::ENOMEM,
                    ) => Ok(0),
                    Some(libc::ENETDOWN) => Ok(self.withdraw()),
                    _ => Err(self.give_up(error)),
                };
            }
            let left = self.rings.transmit.waiting();
            if left >= waiting {
                break;
            }
            waiting = left;
        }
        Ok(0)
    }

    /// Has what was spoilt, and fills the ring, passed over by a device that is on again.
    fn pass_over(&self) {
        let mut waiting = self.rings.transmit.waiting();
        while xdp::kick(self.fd()).is_ok() && self.rings.transmit.waiting() < waiting {
            waiting = self.rings.transmit.waiting();
        }
    }

    /// The port is of no use any more.
    fn give_up(&mut self, error: io::Error) -> io::Error {
        self.spoil();
        match error.raw_os_error() {
            Some(libc::ENXIO | libc::ENODEV) => self.interface.gone(),
            _ => error,
        }
    }

    /// Takes back what the kernel did not take; how many frames that were.
    fn spoil(&mut self) -> usize {
        let (left, count) = self.spoilt();
        left[..count].iter().for_each(|&chunk| self.sent(chunk));
        count
    }

    /// The same from a device that was switched off, and would send them once it is on again.
    fn withdraw(&mut self) -> usize {
        let (left, count) = self.spoilt();
        // If it was switched on meanwhile, it may have read them before: their chunks stay with it
        // until it has sent them.
        let is_off = xdp::kick(self.fd()).is_err_and(|e| e.raw_os_error() == Some(libc::ENETDOWN));
        if is_off {
            left[..count].iter().for_each(|&chunk| self.sent(chunk));
        }
        count
    }

    /// Makes the kernel skip what it has not taken; the chunks, and how many they are.
    fn spoilt(&mut self) -> ([u32; TRANSMIT_FRAMES as usize], usize) {
        let mut left = [0; TRANSMIT_FRAMES as usize];
        let mut count = 0;
        self.rings.transmit.spoil(|descriptor| {
            if !descriptor.is_senseless() && count < left.len() {
                left[count] = descriptor.chunk();
                count += 1;
            }
        });
        (left, count)
    }

    /// After a call without frames: looks for a lost interface now and then.
    fn idle(&mut self) -> io::Result<()> {
        let look = self.idle_calls.is_multiple_of(IDLE_CALLS_PER_LOOK);
        self.idle_calls = self.idle_calls.wrapping_add(1);
        if look {
            self.wake_receiver();
            if self.interface.refresh()? == LinkState::Gone {
                return Err(self.interface.gone());
            }
        }
        Ok(())
    }
}

/// What became of frames that were put into the transmit ring.
struct Leaving {
    sent: usize,
    /// Earlier ones that were told as sent, and are not.
    withdrawn: usize,
    /// Those that are not sent are lost, as they would be on a wire.
    is_down: bool,
}

fn index(chunk: u32) -> usize {
    usize::try_from(chunk).expect("a small number")
}

impl Port for XdpPort {
    fn lend(&mut self, budget: usize, take: &mut dyn FnMut(Lent<'_>)) -> io::Result<usize> {
        if !self.rings.receive.has_entry() {
            self.idle()?;
            return Ok(0);
        }
        self.idle_calls = 0;
        let mtu_bytes = self.interface.mtu_bytes();
        let most = budget.min(BURST_FRAMES);
        let (mut count, mut seen) = (0, 0);
        let mut frames: [&[u8]; BURST_FRAMES] = [&[]; BURST_FRAMES];
        let mut held = [0; SEEN_MAX];
        // The chunks are held, so that what is lent stays as it is; the memory outlives the port.
        let memory = Arc::clone(&self.memory);
        while count < most && seen < SEEN_MAX {
            let Some(descriptor) = self.rings.receive.pop() else { break };
            memory.frames.prefetch(descriptor);
            let chunk = descriptor.chunk();
            let Some(with_kernel) = self.with_kernel.get_mut(index(chunk)) else { continue };
            self.with_kernel_count -= usize::from(std::mem::take(with_kernel));
            memory.hold(chunk);
            held[seen] = chunk;
            seen += 1;
            let frame = memory.frames.frame(descriptor);
            if self.statistics.admit(fit(frame, mtu_bytes)) {
                frames[count] = frame;
                count += 1;
            }
        }
        if count > 0 {
            // Read here, as a reading of the clock waits for all reads of memory before it.
            self.latest = self.latest.max(MonotonicClock::now());
            let arrivals = [self.latest; BURST_FRAMES];
            let fetched = self.latest;
            take(Lent { fetched, arrivals: &arrivals[..count], frames: &frames[..count] });
        }
        held[..seen].iter().for_each(|&chunk| self.let_go(chunk));
        self.rings.receive.release();
        self.refill();
        self.wake_receiver();
        Ok(count)
    }

    fn pending(&self) -> Option<bool> {
        Some(self.rings.receive.has_entry())
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        check_frame(frame, FRAME_BYTES_MAX)?;
        if self.burst_count == BURST_FRAMES {
            return Ok(false);
        }
        self.burst_count += 1;
        // The kernel would take a frame beyond the MTU, and the other end drop it uncounted.
        let fits = fit(frame, self.interface.mtu_bytes()) == Fit::Fits;
        if fits && self.rings.transmit.room() == 0 {
            self.pass_over();
            self.reap();
        }
        match fits && self.rings.transmit.room() > 0 {
            true => match self.place(frame) {
                Some(descriptor) => self.rings.transmit.push(descriptor),
                None => self.burst_refused += 1,
            },
            false => self.burst_refused += 1,
        }
        Ok(true)
    }

    fn flush(&mut self) -> io::Result<FlushReport> {
        let count = std::mem::take(&mut self.burst_count);
        let mut refused = std::mem::take(&mut self.burst_refused);
        if count > refused {
            self.rings.transmit.publish();
            refused += self.kick()?;
        }
        self.reap();
        // Some were told as sent before, and a device that was switched off had not taken them.
        let earlier = refused.saturating_sub(count);
        let report = FlushReport { sent: count.saturating_sub(refused), refused };
        self.statistics.sent = (self.statistics.sent + report.sent as u64) - earlier as u64;
        self.statistics.refused += report.refused as u64;
        Ok(report)
    }

    fn offer(&mut self, frames: &[&[u8]]) -> io::Result<Offer> {
        let mut report = FlushReport::default();
        let (mut next, mut earlier) = (0, 0);
        while next < frames.len() {
            let rest = &frames[next..];
            let mtu_bytes = self.interface.mtu_bytes();
            let does_fit = |it: &&&[u8]| {
                check_frame(it, FRAME_BYTES_MAX).is_ok() && fit(it, mtu_bytes) == Fit::Fits
            };
            let count = rest.iter().take(BURST_FRAMES).take_while(does_fit).count();
            if count == 0 {
                report.refused += 1;
                next += 1;
                continue;
            }
            let Leaving { sent, withdrawn, is_down } = self.offer_run(&rest[..count])?;
            report.sent += sent;
            earlier += withdrawn;
            next += sent;
            if is_down {
                report.refused += frames.len() - next;
                next = frames.len();
                break;
            }
            self.is_full = if self.is_full { sent == 0 } else { sent < count };
            if sent == 0 {
                break;
            }
        }
        self.statistics.sent = (self.statistics.sent + report.sent as u64) - earlier as u64;
        report.refused += earlier;
        self.statistics.refused += report.refused as u64;
        Ok(Offer { report, left: frames.len() - next })
    }

    fn poll_fd(&self) -> Option<RawFd> {
        Some(self.fd().as_raw_fd())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            kind: PortKind::Xdp,
            kernel_stamps: false,
            pollable: true,
            peekable: true,
            zero_copy: self.mode == XdpMode::NativeZeroCopy,
            exclusive: true,
            burst_frames: BURST_FRAMES,
            frame_bytes_limit: FRAME_BYTES_MAX,
        }
    }

    fn mtu_bytes(&self) -> Option<usize> {
        Some(self.interface.mtu_bytes())
    }

    fn statistics(&mut self) -> io::Result<PortStatistics> {
        self.statistics.overflowed = xdp::overflows(self.fd())?;
        Ok(self.statistics)
    }

    fn link(&mut self) -> io::Result<LinkState> {
        self.interface.refresh()
    }
}

impl Drop for XdpPort {
    fn drop(&mut self) {
        // First nothing comes any more, then the socket goes, and only then its chunks are free.
        drop(self.hook.take());
        let memory = Arc::clone(&self.memory);
        let mut sockets = memory.sockets();
        drop(self.socket.take());
        sockets.retain(|socket| socket.strong_count() > 0);
        // A device that used our memory itself may do so for a while; its chunks stay with it.
        if self.mode == XdpMode::NativeZeroCopy {
            return;
        }
        for (chunk, with_kernel) in (0_u32..).zip(&self.with_kernel) {
            if *with_kernel {
                self.at_hand.push(chunk);
            }
        }
        for (chunk, sending) in (0_u32..).zip(&self.sending) {
            for _ in 0..*sending {
                if self.memory.let_go(chunk) {
                    self.at_hand.push(chunk);
                }
            }
        }
        self.memory.give(&mut self.at_hand, usize::MAX);
    }
}
