//! Ports on AF_PACKET whose received frames are looked up in a ring shared with the kernel.
//!
//! The default: it needs CAP_NET_RAW only, works on every interface, and a spinning thread finds a
//! frame without a call of the kernel. Sending is the same as that of [`crate::PacketPort`].

use crate::clock::StampClock;
use crate::frame_fit::{Fit, check_frame, fit};
use crate::host_stack::HostBarrier;
use crate::offloads::OffloadsOff;
use crate::packet_socket::{PacketSocket, VlanTag, make_whole, step};
use crate::sys::ring::{HEADROOM_BYTES, ReceiveRing, RingFrame};
use crate::{
    BURST_FRAMES, Capabilities, FRAME_BYTES_LIMIT, FlushReport, Lent, LinkState, Offer, Port,
    PortKind, PortStatistics,
};
use std::io;
use std::os::fd::RawFd;
use tenuto_units::Instant;

/// Slots that one call looks at, at most: a flood of unfit frames does not keep it.
const SEEN_MAX: usize = 2 * BURST_FRAMES;

/// What is lent: where the frames of a burst lie, and where in its slot each begins.
struct LentSlots {
    arrivals: [Instant; BURST_FRAMES],
    frames: [(RingFrame, usize); BURST_FRAMES],
}

/// A port on an interface of the present network namespace.
pub struct RingPort {
    // Before the socket, whose memory it maps.
    ring: ReceiveRing,
    socket: PacketSocket,
    stamps: StampClock,
    lent: Box<LentSlots>,
    barrier: Option<HostBarrier>,
    offloads: Option<OffloadsOff>,
}

impl RingPort {
    /// Opens the interface `name`, in promiscuous mode, hearing what others send only; at least
    /// `ring_frames` frames wait in its ring before one is lost, each in 2 kB.
    ///
    /// # Errors
    ///
    /// When the interface does not exist, CAP_NET_RAW in its network namespace is missing, or the
    /// kernel has no memory for the ring; the message names the interface and the failed step.
    pub fn open(name: &str, ring_frames: usize) -> io::Result<Self> {
        let socket = PacketSocket::open(name)?;
        // As much as the MTU allows, so that slots stay small, and never more than we carry.
        let wire_bytes = (socket.interface.mtu_bytes() + 22).min(FRAME_BYTES_LIMIT);
        let ring = ReceiveRing::new(socket.fd(), ring_frames, wire_bytes)
            .map_err(step(name, "make a receive ring"))?;
        socket.bind(name)?;
        let lent = LentSlots {
            arrivals: [Instant::ZERO; BURST_FRAMES],
            frames: [(RingFrame::default(), 0); BURST_FRAMES],
        };
        let (stamps, lent) = (StampClock::default(), Box::new(lent));
        Ok(Self { ring, socket, stamps, lent, barrier: None, offloads: None })
    }

    /// Keeps the frames from the kernel's own stack for as long as the port lives.
    pub(crate) fn set_barrier(&mut self, barrier: Option<HostBarrier>) {
        self.barrier = barrier;
    }

    /// Keeps the offloads of its interface off for as long as it lives.
    pub(crate) fn keep_off(&mut self, offloads: Option<OffloadsOff>) {
        self.offloads = offloads;
    }

    pub(crate) fn interface_index(&self) -> u32 {
        self.socket.interface.index()
    }

    /// Frames that the ring holds.
    pub const fn ring_frames(&self) -> usize {
        self.ring.slots()
    }
}

impl Port for RingPort {
    fn lend(&mut self, budget: usize, take: &mut dyn FnMut(Lent<'_>)) -> io::Result<usize> {
        let Self { ring, socket, stamps, lent, .. } = self;
        let mtu_bytes = socket.interface.mtu_bytes();
        let most = budget.min(BURST_FRAMES);
        let (mut count, mut seen) = (0, 0);
        while count < most && seen < SEEN_MAX {
            let Some(frame) = ring.take() else { break };
            if seen == 0 {
                stamps.look();
            }
            seen += 1;
            let is_cut = frame.frame_bytes > frame.slot_bytes() - HEADROOM_BYTES;
            let vlan = VlanTag::reported(frame.status, frame.vlan.0, frame.vlan.1);
            let books = &mut socket.statistics;
            if frame.status & libc::TP_STATUS_CSUMNOTREADY != 0 {
                books.checksums_missing += 1;
            }
            let slot = ring.slot_mut(&frame);
            let start = make_whole(slot, vlan);
            let fit = if is_cut { Fit::Oversized } else { fit(&slot[start..], mtu_bytes) };
            if books.admit(fit) {
                lent.arrivals[count] = stamps.arrival(Some(frame.stamp_realtime_ns));
                lent.frames[count] = (frame, start);
                count += 1;
            }
        }
        if seen == 0 {
            socket.idle()?;
            return Ok(0);
        }
        socket.busy();
        if count > 0 {
            let mut frames: [&[u8]; BURST_FRAMES] = [&[]; BURST_FRAMES];
            for (target, (frame, start)) in frames.iter_mut().zip(&lent.frames[..count]) {
                *target = &ring.slot(frame)[*start..];
            }
            let (fetched, arrivals) = (stamps.looked_at(), &lent.arrivals[..count]);
            take(Lent { fetched, arrivals, frames: &frames[..count] });
        }
        ring.release();
        Ok(count)
    }

    fn pending(&self) -> Option<bool> {
        Some(self.ring.has_frame())
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        check_frame(frame, FRAME_BYTES_LIMIT)?;
        Ok(self.socket.send.push(frame))
    }

    fn flush(&mut self) -> io::Result<FlushReport> {
        self.socket.flush()
    }

    fn transmit(&mut self, frames: &[&[u8]]) -> io::Result<FlushReport> {
        self.socket.transmit(frames)
    }

    fn offer(&mut self, frames: &[&[u8]]) -> io::Result<Offer> {
        self.socket.offer(frames)
    }

    fn poll_fd(&self) -> Option<RawFd> {
        Some(self.socket.raw_fd())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            kind: PortKind::PacketRing,
            kernel_stamps: true,
            pollable: true,
            peekable: true,
            zero_copy: false,
            exclusive: self.barrier.is_some(),
            burst_frames: BURST_FRAMES,
            frame_bytes_limit: FRAME_BYTES_LIMIT,
        }
    }

    fn mtu_bytes(&self) -> Option<usize> {
        Some(self.socket.interface.mtu_bytes())
    }

    fn statistics(&mut self) -> io::Result<PortStatistics> {
        self.socket.statistics(self.stamps.steps())
    }

    fn link(&mut self) -> io::Result<LinkState> {
        self.socket.link()
    }
}
