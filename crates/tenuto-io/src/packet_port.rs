//! Ports on AF_PACKET: any interface of the kernel, needing CAP_NET_RAW only; a burst of frames per
//! call of the kernel. Its memory is the kernel's buffer, charged only while frames wait.

use crate::clock::StampClock;
use crate::frame_fit::{Fit, check_frame, fit};
use crate::host_stack::HostBarrier;
use crate::offloads::OffloadsOff;
use crate::packet_socket::{PacketSocket, make_whole, step};
use crate::sys::burst::ReceiveBurst;
use crate::sys::socket;
use crate::{
    BURST_FRAMES, Capabilities, FRAME_BYTES_LIMIT, FlushReport, Lent, LinkState, Offer, Port,
    PortKind, PortStatistics,
};
pub(crate) use control::Ancillary;
use std::io;
use std::os::fd::RawFd;
use tenuto_units::Instant;

mod control;

/// Memory asked for per port: some thousand frames, so that a stall of the host of several
/// milliseconds is observed as lateness and not as loss.
const RECEIVE_BUFFER_BYTES: libc::c_int = 8 << 20;

/// A port on an interface of the present network namespace.
pub struct PacketPort {
    socket: PacketSocket,
    receive: ReceiveBurst,
    stamps: StampClock,
    barrier: Option<HostBarrier>,
    offloads: Option<OffloadsOff>,
}

impl PacketPort {
    /// Opens the interface `name`, in promiscuous mode, hearing what others send only.
    ///
    /// # Errors
    ///
    /// When the interface does not exist, or CAP_NET_RAW in its network namespace is missing; the
    /// message names the interface and the failed step.
    pub fn open(name: &str) -> io::Result<Self> {
        let step = |what| step(name, what);
        let port = PacketSocket::open(name)?;
        socket::set_int(port.fd(), libc::SOL_PACKET, libc::PACKET_AUXDATA, 1)
            .map_err(step("ask for VLAN tags"))?;
        let plain = |option, value| socket::set_int(port.fd(), libc::SOL_SOCKET, option, value);
        // Beyond net.core.rmem_max only with CAP_NET_ADMIN; less room is no error, see
        // `receive_buffer_bytes`.
        plain(libc::SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES)
            .or_else(|_| plain(libc::SO_RCVBUF, RECEIVE_BUFFER_BYTES))
            .map_err(step("enlarge the receive buffer"))?;
        port.bind(name)?;
        Ok(Self {
            socket: port,
            receive: ReceiveBurst::new(),
            stamps: StampClock::default(),
            barrier: None,
            offloads: None,
        })
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

    /// The receive buffer in bytes, as the kernel accounts it (roughly 1 kB above each frame).
    ///
    /// # Errors
    ///
    /// Those of the kernel.
    pub fn receive_buffer_bytes(&self) -> io::Result<usize> {
        let bytes = socket::int_option(self.socket.fd(), libc::SOL_SOCKET, libc::SO_RCVBUF)?;
        usize::try_from(bytes).map_err(io::Error::other)
    }

    /// One call of the kernel: how many messages came.
    fn fetch(&mut self, count: usize) -> io::Result<usize> {
        loop {
            match self.receive.receive(self.socket.fd(), count) {
                Ok(received) => return Ok(received),
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::EAGAIN) => return Ok(0),
                    _ => {
                        self.socket.forgive(error)?;
                        return Ok(0);
                    }
                },
            }
        }
    }
}

impl Port for PacketPort {
    fn lend(&mut self, budget: usize, take: &mut dyn FnMut(Lent<'_>)) -> io::Result<usize> {
        let mtu_bytes = self.socket.interface.mtu_bytes();
        let fetched = self.fetch(budget.min(BURST_FRAMES))?;
        if fetched == 0 {
            return Ok(0);
        }
        self.stamps.look();
        let mut arrivals = [Instant::ZERO; BURST_FRAMES];
        let mut places = [(0, 0, 0); BURST_FRAMES];
        let mut count = 0;
        for i in 0..fetched {
            let message = self.receive.message(i);
            let ancillary = Ancillary::parse(message.control);
            let arrival = self.stamps.arrival(ancillary.stamp_realtime_ns);
            let books = &mut self.socket.statistics;
            books.checksums_missing += u64::from(ancillary.checksum_missing);
            let start = make_whole(message.slot, ancillary.vlan);
            let frame = &message.slot[start..];
            let fit = if message.truncated { Fit::Oversized } else { fit(frame, mtu_bytes) };
            if books.admit(fit) {
                arrivals[count] = arrival;
                places[count] = (i, start, frame.len());
                count += 1;
            }
        }
        if count > 0 {
            let mut frames: [&[u8]; BURST_FRAMES] = [&[]; BURST_FRAMES];
            for (target, &(i, start, bytes)) in frames.iter_mut().zip(&places[..count]) {
                *target = self.receive.bytes(i, start, bytes);
            }
            let fetched = self.stamps.looked_at();
            take(Lent { fetched, arrivals: &arrivals[..count], frames: &frames[..count] });
        }
        Ok(count)
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
            kind: PortKind::Packet,
            kernel_stamps: true,
            pollable: true,
            peekable: false,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opening_an_unknown_interface_names_it() {
        let error = PacketPort::open("no-such-port").err().expect("does not exist");
        assert!(error.to_string().contains("no-such-port"), "{error}");
    }
}
