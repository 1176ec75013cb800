//! A TCP connection whose received bytes are stamped by the kernel.

use crate::MonotonicClock;
use crate::clock::StampClock;
use crate::packet_port::Ancillary;
use crate::sys::socket;
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use tenuto_units::Instant;

/// A connection that never waits for reading. The kernel begins to stamp a moment after it was asked; until then it is the
/// reading that is stamped.
#[derive(Debug)]
pub struct StampedStream {
    stream: TcpStream,
    stamps: StampClock,
}

impl StampedStream {
    /// Takes a connection over.
    ///
    /// # Errors
    ///
    /// Those of the kernel.
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        socket::set_int(stream.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        Ok(Self { stream, stamps: StampClock::default() })
    }

    /// Reads what is there: how many bytes, and when the last of them came; `None` when none are, zero at the end.
    ///
    /// # Errors
    ///
    /// When the connection broke.
    pub fn read(&mut self, room: &mut [u8]) -> io::Result<Option<(usize, Instant)>> {
        let (count, stamp_ns) = loop {
            match socket::receive_stamped(self.stream.as_fd(), room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                done => {
                    let (count, control) = done?;
                    break (count, Ancillary::parse(&control).stamp_realtime_ns);
                }
            }
        };
        self.stamps.look();
        Ok(Some((count, self.stamps.arrival(stamp_ns))))
    }

    /// Writes all of it, and tells when the first byte was handed over.
    ///
    /// # Errors
    ///
    /// When the connection broke, or the other end has taken nothing for so long.
    pub fn write(&mut self, bytes: &[u8], until: Instant) -> io::Result<Instant> {
        let at = MonotonicClock::now();
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.make_room(until)?,
                Err(error) => return Err(error),
            }
        }
        Ok(at)
    }

    fn make_room(&self, until: Instant) -> io::Result<()> {
        let mut poll = crate::PollSet::new();
        poll.add(self.poll_fd(), crate::Interest::Write);
        match poll.wait(Some(until))? {
            0 => Err(io::ErrorKind::TimedOut.into()),
            _ => Ok(()),
        }
    }

    /// The descriptor to wait on.
    pub fn poll_fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }
}
