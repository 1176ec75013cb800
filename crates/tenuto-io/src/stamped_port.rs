//! A port that stamps what leaves it and what comes to it at one place: in the kernel, directly above the device, or in
//! the device itself. For measuring; a switch uses the other ports.

use crate::clock::StampClock;
use crate::device_clock::{DeviceClock, StampingGuard};
use crate::packet_port::Ancillary;
use crate::packet_socket::{PacketSocket, make_whole, step};
use crate::sys::burst::{HEADROOM_BYTES, ReceiveBurst};
use crate::sys::socket;
use crate::{BURST_FRAMES, LinkState, Offer};
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;
use tenuto_units::Instant;

/// Room for some thousand frames, and as many stamps of frames that have left.
const BUFFER_BYTES: libc::c_int = 16 << 20;

/// A port on an interface, all of whose frames are stamped.
pub struct StampedPort {
    socket: PacketSocket,
    burst: ReceiveBurst,
    arrivals: StampClock,
    departures: StampClock,
    device: Option<Arc<DeviceClock>>,
    unstamped: u64,
    last_device_ns: u64,
    grain_ns: u64,
    _stamping: Option<StampingGuard>,
}

impl StampedPort {
    /// Opens the interface `name`; stamps are those of its device where its clock is given, and the kernel's otherwise.
    ///
    /// # Errors
    ///
    /// When the interface does not exist, CAP_NET_RAW is missing (for the device's stamps CAP_NET_ADMIN too), or the
    /// kernel stamps nothing; the message names the interface and the failed step.
    pub fn open(name: &str, device: Option<Arc<DeviceClock>>) -> io::Result<Self> {
        let step = |what| step(name, what);
        let stamping = match &device {
            Some(_) => Some(StampingGuard::start(name).map_err(step("have the device stamp"))?),
            None => None,
        };
        let it = PacketSocket::open(name)?;
        let set = |level, option, value| socket::set_int(it.fd(), level, option, value);
        set(libc::SOL_PACKET, libc::PACKET_AUXDATA, 1).map_err(step("ask for VLAN tags"))?;
        set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, BUFFER_BYTES)
            .or_else(|_| set(libc::SOL_SOCKET, libc::SO_RCVBUF, BUFFER_BYTES))
            .map_err(step("enlarge the receive buffer"))?;
        // One kind of stamp, or their messages would not fit together.
        set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 0).map_err(step("stamp otherwise"))?;
        set(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags(device.is_some()))
            .map_err(step("ask for stamps of both ways"))?;
        it.bind(name)?;
        Ok(Self {
            socket: it,
            burst: ReceiveBurst::new(),
            arrivals: StampClock::default(),
            departures: StampClock::default(),
            device,
            unstamped: 0,
            last_device_ns: 0,
            grain_ns: 0,
            _stamping: stamping,
        })
    }

    /// Hands frames to the device, up to the first that finds no room.
    ///
    /// # Errors
    ///
    /// When the interface was removed.
    pub fn offer(&mut self, frames: &[&[u8]]) -> io::Result<Offer> {
        self.socket.offer(frames)
    }

    /// Hands on every frame that has come, with when.
    ///
    /// # Errors
    ///
    /// When the interface was removed.
    pub fn receive(&mut self, sink: &mut dyn FnMut(Instant, &[u8])) -> io::Result<()> {
        while self.burst(false, sink)? == BURST_FRAMES {}
        Ok(())
    }

    /// Hands on every frame that has left, with when.
    ///
    /// # Errors
    ///
    /// When the interface was removed.
    pub fn departed(&mut self, sink: &mut dyn FnMut(Instant, &[u8])) -> io::Result<()> {
        while self.burst(true, sink)? == BURST_FRAMES {}
        Ok(())
    }

    fn burst(&mut self, is_sent: bool, sink: &mut dyn FnMut(Instant, &[u8])) -> io::Result<usize> {
        let count = self.fetch(is_sent)?;
        let clock = if is_sent { &mut self.departures } else { &mut self.arrivals };
        if count > 0 {
            clock.look();
        }
        for nth in 0..count {
            let message = self.burst.message(nth);
            let ancillary = Ancillary::parse(message.control);
            // What left is not cut: the kernel gives it back as it was handed over.
            let start =
                if is_sent { HEADROOM_BYTES } else { make_whole(message.slot, ancillary.vlan) };
            let at = match &self.device {
                None => clock.arrival(ancillary.stamp_realtime_ns),
                Some(device) => match ancillary.stamp_device_ns {
                    Some(ns) => {
                        let last = std::mem::replace(&mut self.last_device_ns, ns);
                        // The first one has none before it.
                        if last > 0 {
                            self.grain_ns = common_divisor(self.grain_ns, ns.abs_diff(last));
                        }
                        device.monotonic(ns)
                    }
                    None => {
                        self.unstamped += 1;
                        continue;
                    }
                },
            };
            if let Some(frame) = message.slot.get(start..) {
                sink(at, frame);
            }
        }
        Ok(count)
    }

    fn fetch(&mut self, is_sent: bool) -> io::Result<usize> {
        loop {
            let (fd, burst) = (self.socket.fd(), &mut self.burst);
            let done = match is_sent {
                true => burst.receive_sent(fd, BURST_FRAMES),
                false => burst.receive(fd, BURST_FRAMES),
            };
            match done {
                Ok(count) => return Ok(count),
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

    /// Frames that a device was to stamp and did not; they are not handed on.
    pub const fn unstamped(&self) -> u64 {
        self.unstamped
    }

    /// What all differences of the device's stamps are whole multiples of, nanoseconds; 0: too few of them.
    pub const fn grain_ns(&self) -> u64 {
        self.grain_ns
    }

    /// Frames that the socket had no room for since the last call.
    ///
    /// # Errors
    ///
    /// Those of the kernel.
    pub fn take_overflowed(&mut self) -> io::Result<u64> {
        socket::take_drops(self.socket.fd())
    }

    /// The descriptor to wait on: readable when frames have come; stamps of what left report as its error.
    pub fn poll_fd(&self) -> RawFd {
        self.socket.raw_fd()
    }

    /// Largest payload of a frame.
    pub const fn mtu_bytes(&self) -> usize {
        self.socket.interface.mtu_bytes()
    }

    /// Whether frames pass.
    ///
    /// # Errors
    ///
    /// Those of the kernel.
    pub fn link(&mut self) -> io::Result<LinkState> {
        self.socket.link()
    }
}

const fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// What is asked of the kernel.
const fn flags(by_device: bool) -> libc::c_int {
    let all = if by_device {
        libc::SOF_TIMESTAMPING_TX_HARDWARE
            | libc::SOF_TIMESTAMPING_RX_HARDWARE
            | libc::SOF_TIMESTAMPING_RAW_HARDWARE
    } else {
        libc::SOF_TIMESTAMPING_TX_SOFTWARE
            | libc::SOF_TIMESTAMPING_RX_SOFTWARE
            | libc::SOF_TIMESTAMPING_SOFTWARE
    };
    all as libc::c_int
}

#[cfg(test)]
mod tests {
    use super::common_divisor;

    #[test]
    fn a_clock_of_whole_steps_is_told_by_its_stamps() {
        let stamps = [0_u64, 80, 8_000, 8_024];
        let grain = stamps.windows(2).fold(0, |grain, it| common_divisor(grain, it[1] - it[0]));
        assert_eq!(grain, 8);
        assert_eq!((common_divisor(0, 0), common_divisor(0, 5)), (0, 5));
    }
}
