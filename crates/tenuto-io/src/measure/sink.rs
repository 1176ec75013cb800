//! Hears frames at the end of a way, without using the processor meanwhile.

use super::Load;
use super::generator::{MARK_BYTES, is_early, sent_at_ns};
use crate::packet_socket::{PacketSocket, VlanTag, make_whole, step};
use crate::sys::ring::ReceiveRing;
use crate::sys::socket;
use std::io;

/// Frames whose delay is kept.
const KEPT_FRAMES: usize = 1 << 14;
/// Where frames are only counted, the ring may be full from the start.
const COUNTED_FRAMES: usize = 32;
/// Beginning of a frame that is kept beyond its mark: two tags that were pushed on the way.
const EXTRA_BYTES: usize = 8;

pub(super) struct Sink {
    // Before the socket, whose memory it maps.
    ring: ReceiveRing,
    socket: PacketSocket,
    mark_at: usize,
}

impl Sink {
    pub(super) fn open(interface: &str, load: &Load) -> io::Result<Self> {
        let socket = PacketSocket::open(interface)?;
        let frames = if load.rate_pps.is_some() { KEPT_FRAMES } else { COUNTED_FRAMES };
        let bytes = load.mark_at + MARK_BYTES + EXTRA_BYTES;
        let ring = ReceiveRing::new(socket.fd(), frames, bytes)
            .map_err(step(interface, "make a receive ring"))?;
        socket.bind(interface)?;
        Ok(Self { ring, socket, mark_at: load.mark_at })
    }

    /// Forgets what came so far: it belongs to no window.
    pub(super) fn forget(&mut self) -> io::Result<()> {
        while self.ring.take().is_some() {
            self.ring.release();
        }
        socket::take_arrivals(self.socket.fd()).map(|_| ())
    }

    /// How many frames came, and the delays of those that were kept, shortest first. What was sent before
    /// the window is not among them, however late it is.
    pub(super) fn finish(&mut self) -> io::Result<(u64, Vec<u64>)> {
        let mut early = 0;
        let mut delays = Vec::with_capacity(self.ring.slots());
        while let Some(frame) = self.ring.take() {
            let arrived_ns = frame.stamp_realtime_ns;
            let vlan = VlanTag::reported(frame.status, frame.vlan.0, frame.vlan.1);
            let slot = self.ring.slot_mut(&frame);
            let start = make_whole(slot, vlan);
            if let Some(sent_ns) = sent_at_ns(&slot[start..], self.mark_at) {
                delays.push(arrived_ns.saturating_sub(sent_ns));
            }
            early += u64::from(is_early(&slot[start..], self.mark_at));
            self.ring.release();
        }
        delays.sort_unstable();
        Ok((socket::take_arrivals(self.socket.fd())?.saturating_sub(early), delays))
    }
}
