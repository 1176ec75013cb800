//! Ports on AF_PACKET whose received frames are looked up in a ring shared with the kernel.
//!
//! The default: it needs CAP_NET_RAW only, works on every interface, and a spinning thread finds a
//! frame without a call of the kernel. Sending is the same as that of [`crate::PacketPort`].

use crate::clock::StampClock;
use crate::frame_fit::{Fit, check_frame, fit};
use crate::host_stack::HostBarrier;
use crate::packet_socket::{PacketSocket, VlanTag, step, whole_frame};
use crate::sys::ring::{HEADROOM_BYTES, ReceiveRing};
use crate::{
    BURST_FRAMES, Capabilities, FRAME_BYTES_LIMIT, FlushReport, LinkState, Port, PortKind,
    PortStatistics,
};
use std::io;
use std::os::fd::RawFd;
use tenuto_units::Instant;

/// A port on an interface of the present network namespace.
pub struct RingPort {
    // Before the socket, whose memory it maps.
    ring: ReceiveRing,
    socket: PacketSocket,
    stamps: StampClock,
    barrier: Option<HostBarrier>,
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
        Ok(Self { ring, socket, stamps: StampClock::default(), barrier: None })
    }

    /// Keeps the frames from the kernel's own stack for as long as the port lives.
    pub(crate) fn set_barrier(&mut self, barrier: Option<HostBarrier>) {
        self.barrier = barrier;
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
    fn receive(
        &mut self,
        budget: usize,
        sink: &mut dyn FnMut(Instant, &[u8]),
    ) -> io::Result<usize> {
        let Self { ring, socket, stamps, .. } = self;
        let mtu_bytes = socket.interface.mtu_bytes();
        let (mut delivered, mut seen) = (0, 0);
        while delivered < budget {
            // Frames may have come since the last look at the clocks.
            let look = seen % BURST_FRAMES == 0;
            let Some(frame) = ring.frame() else { break };
            if look {
                stamps.look();
            }
            seen += 1;
            let arrival = stamps.arrival(Some(frame.stamp_realtime_ns));
            let is_cut = frame.frame_bytes > frame.slot.len() - HEADROOM_BYTES;
            let vlan = VlanTag::reported(frame.status, frame.vlan.0, frame.vlan.1);
            let books = &mut socket.statistics;
            if frame.status & libc::TP_STATUS_CSUMNOTREADY != 0 {
                books.checksums_missing += 1;
            }
            let whole = whole_frame(frame.slot, vlan);
            if books.admit(if is_cut { Fit::Oversized } else { fit(whole, mtu_bytes) }) {
                sink(arrival, whole);
                delivered += 1;
            }
            ring.release();
        }
        match seen {
            0 => socket.idle()?,
            _ => socket.busy(),
        }
        Ok(delivered)
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

    fn statistics(&mut self) -> io::Result<PortStatistics> {
        self.socket.statistics(self.stamps.steps())
    }

    fn link(&mut self) -> io::Result<LinkState> {
        self.socket.link()
    }
}
