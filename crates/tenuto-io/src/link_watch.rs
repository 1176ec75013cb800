//! News of interfaces: when to ask ports for their state again.

use crate::sys::socket;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

/// A descriptor that is readable after any interface of its network namespace has changed: went up
/// or down, got another MTU, was removed. Which one it was is asked of the ports
/// ([`crate::Port::link`]).
///
/// A thread that sleeps needs it: not every kind of port wakes its thread up when its interface
/// goes.
pub struct LinkWatch {
    socket: OwnedFd,
}

impl LinkWatch {
    /// Watches the present network namespace.
    ///
    /// # Errors
    ///
    /// When the process has no descriptors left.
    pub fn new() -> io::Result<Self> {
        Ok(Self { socket: socket::link_news_socket()? })
    }

    /// Whether anything has changed since the last call.
    ///
    /// # Errors
    ///
    /// Those of the kernel; none are known.
    pub fn take_news(&mut self) -> io::Result<bool> {
        let mut changed = false;
        while socket::discard_message(self.socket.as_fd())? {
            changed = true;
        }
        Ok(changed)
    }
}

impl AsRawFd for LinkWatch {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}
