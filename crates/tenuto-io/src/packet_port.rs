//! Ports on AF_PACKET: any interface of the kernel, needing CAP_NET_RAW only.
//!
//! What such a socket does that a switch must not suffer from, and what is done about it: it hears
//! its own transmissions (ignored), waits in a queue discipline (bypassed), loses the outer VLAN
//! tag to metadata (put back), and shares its frames with the host's own stack (leave the port
//! without addresses and with IPv6 disabled, see [`crate::links`]).

use crate::clock::StampClock;
use crate::port::check_frame;
use crate::sys::burst::{HEADROOM_BYTES, Message, ReceiveBurst, SendBurst};
use crate::sys::socket;
use crate::{BURST_FRAMES, Capabilities, FRAME_BYTES_LIMIT, FlushReport, Port};
use control::Ancillary;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use tenuto_units::Instant;

mod control;

/// Memory asked for per port: some thousand frames, so that a stall of the host of several
/// milliseconds is observed as lateness and not as loss.
const RECEIVE_BUFFER_BYTES: libc::c_int = 8 << 20;

/// What a [`PacketPort`] has dropped, each since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounters {
    /// Frames that found the receive buffer full.
    pub overflowed: u64,
    /// Received frames longer than a slot.
    pub truncated: u64,
    /// Frames that the device did not take.
    pub refused: u64,
    /// How often the interface was found down while receiving.
    pub link_downs: u64,
    /// How often CLOCK_REALTIME was set, so that a burst was stamped on being fetched.
    pub clock_steps: u64,
}

/// A port on an interface of the present network namespace.
pub struct PacketPort {
    socket: OwnedFd,
    receive: ReceiveBurst,
    send: SendBurst,
    stamps: StampClock,
    counters: PacketCounters,
}

impl PacketPort {
    /// Opens the interface `name`, in promiscuous mode, hearing what others send only.
    ///
    /// # Errors
    ///
    /// When the interface does not exist, or CAP_NET_RAW in its network namespace is missing; the
    /// message names the interface and the failed step.
    pub fn open(name: &str) -> io::Result<Self> {
        let step = |what: &'static str| {
            move |error: io::Error| {
                io::Error::new(error.kind(), format!("interface {name}: {what}: {error}"))
            }
        };
        let c_name = CString::new(name).map_err(io::Error::other).map_err(step("find it"))?;
        let interface = socket::interface_index(&c_name).map_err(step("find it"))?;
        let fd = socket::packet_socket().map_err(step("open a packet socket (CAP_NET_RAW)"))?;
        let packet = |option, value| socket::set_int(fd.as_fd(), libc::SOL_PACKET, option, value);
        packet(libc::PACKET_IGNORE_OUTGOING, 1).map_err(step("ignore own frames (Linux 4.20)"))?;
        packet(libc::PACKET_QDISC_BYPASS, 1).map_err(step("bypass the queue discipline"))?;
        packet(libc::PACKET_AUXDATA, 1).map_err(step("ask for VLAN tags"))?;
        let plain = |option, value| socket::set_int(fd.as_fd(), libc::SOL_SOCKET, option, value);
        plain(libc::SO_TIMESTAMPNS, 1).map_err(step("ask for stamps"))?;
        // Beyond net.core.rmem_max only with CAP_NET_ADMIN; less room is no error, see
        // `receive_buffer_bytes`.
        plain(libc::SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES)
            .or_else(|_| plain(libc::SO_RCVBUF, RECEIVE_BUFFER_BYTES))
            .map_err(step("enlarge the receive buffer"))?;
        socket::join_promiscuous(fd.as_fd(), interface).map_err(step("enter promiscuous mode"))?;
        // Bound last: no frame is received with some of the options missing.
        socket::bind_packet(fd.as_fd(), interface).map_err(step("bind"))?;
        Ok(Self {
            socket: fd,
            receive: ReceiveBurst::new(),
            send: SendBurst::new(),
            stamps: StampClock::default(),
            counters: PacketCounters::default(),
        })
    }

    /// The receive buffer in bytes, as the kernel accounts it (roughly 1 kB above each frame).
    ///
    /// # Errors
    ///
    /// Those of the kernel.
    pub fn receive_buffer_bytes(&self) -> io::Result<usize> {
        let bytes = socket::int_option(self.socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF)?;
        usize::try_from(bytes).map_err(io::Error::other)
    }

    /// What was dropped so far.
    ///
    /// # Errors
    ///
    /// Those of the kernel, whose own count is read.
    pub fn counters(&mut self) -> io::Result<PacketCounters> {
        self.counters.overflowed += socket::take_drops(self.socket.as_fd())?;
        self.counters.clock_steps = self.stamps.steps();
        Ok(self.counters)
    }

    /// One call of the kernel: how many messages came.
    fn fetch(&mut self, count: usize) -> io::Result<usize> {
        loop {
            match self.receive.receive(self.socket.as_fd(), count) {
                Ok(received) => return Ok(received),
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::EAGAIN) => return Ok(0),
                    // Reported once when the link goes down; the socket hears again once it is up,
                    // unless the interface was removed.
                    Some(libc::ENETDOWN) if socket::is_bound(self.socket.as_fd())? => {
                        self.counters.link_downs += 1;
                        return Ok(0);
                    }
                    _ => return Err(error),
                },
            }
        }
    }
}

impl Port for PacketPort {
    fn receive(
        &mut self,
        budget: usize,
        sink: &mut dyn FnMut(Instant, &[u8]),
    ) -> io::Result<usize> {
        let mut delivered = 0;
        while delivered < budget {
            let wanted = (budget - delivered).min(BURST_FRAMES);
            let count = self.fetch(wanted)?;
            if count == 0 {
                break;
            }
            self.stamps.look();
            for i in 0..count {
                let message = self.receive.message(i);
                let ancillary = Ancillary::parse(message.control);
                let arrival = self.stamps.arrival(ancillary.stamp_realtime_ns);
                if message.truncated {
                    self.counters.truncated += 1;
                    continue;
                }
                sink(arrival, whole_frame(message, ancillary.vlan));
                delivered += 1;
            }
            if count < wanted {
                break;
            }
        }
        Ok(delivered)
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        check_frame(frame)?;
        Ok(self.send.push(frame))
    }

    fn flush(&mut self) -> io::Result<FlushReport> {
        let mut report = FlushReport::default();
        let count = self.send.count();
        let (mut next, mut old_news) = (0, false);
        while next < count {
            match self.send.send(self.socket.as_fd(), next..count) {
                Ok(sent) => {
                    report.sent += sent;
                    next += sent;
                }
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    // The socket may only now report that the link was down some time ago.
                    Some(libc::ENETDOWN) if !old_news => old_news = true,
                    // Full, out of memory, down, or longer than its MTU: the device's affair. The
                    // frame is lost, as it would be on a wire; the next one may pass.
                    Some(libc::EAGAIN | libc::ENOBUFS | libc::ENETDOWN | libc::EMSGSIZE) => {
                        report.refused += 1;
                        next += 1;
                    }
                    _ => {
                        self.send.clear();
                        return Err(error);
                    }
                },
            }
        }
        self.send.clear();
        self.counters.refused += report.refused as u64;
        Ok(report)
    }

    fn poll_fd(&self) -> Option<RawFd> {
        Some(self.socket.as_raw_fd())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            kernel_stamps: true,
            pollable: true,
            burst_frames: BURST_FRAMES,
            frame_bytes_limit: FRAME_BYTES_LIMIT,
        }
    }
}

/// The frame as it was on the wire: with its VLAN tag, if the kernel took one off.
fn whole_frame(message: Message<'_>, vlan: Option<control::VlanTag>) -> &[u8] {
    const ADDRESS_BYTES: usize = 12;
    let slot = message.slot;
    match vlan {
        Some(tag) if slot.len() >= HEADROOM_BYTES + ADDRESS_BYTES => {
            slot.copy_within(HEADROOM_BYTES..HEADROOM_BYTES + ADDRESS_BYTES, 0);
            slot[ADDRESS_BYTES..ADDRESS_BYTES + HEADROOM_BYTES].copy_from_slice(&tag.to_bytes());
            slot
        }
        _ => &slot[HEADROOM_BYTES..],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stripped_tag_is_put_back_behind_the_addresses() {
        let mut slot: Vec<u8> = (0..64).collect();
        let message = Message { slot: &mut slot, control: &[], truncated: false };
        let tag = control::VlanTag { protocol: 0x8100, control: 0x6005 };
        let frame = whole_frame(message, Some(tag));
        assert_eq!(frame.len(), 64);
        assert_eq!(frame[..12], (4..16).collect::<Vec<u8>>());
        assert_eq!(frame[12..16], [0x81, 0x00, 0x60, 0x05]);
        assert_eq!(frame[16..], (16..64).collect::<Vec<u8>>());
    }

    #[test]
    fn opening_an_unknown_interface_names_it() {
        let error = PacketPort::open("no-such-port").err().expect("does not exist");
        assert!(error.to_string().contains("no-such-port"), "{error}");
    }
}
