//! An interface as its port sees it: index, MTU, state.

use crate::LinkState;
use crate::sys::{ethtool, interface as sys, socket};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// `ETHTOOL_GLINK`.
const GET_LINK: u32 = 0x0a;

/// An interface of the network namespace in which it was found.
pub(crate) struct Interface {
    name: CString,
    index: u32,
    mtu_bytes: usize,
    /// Keeps asking in that namespace, wherever the port's thread is.
    any: OwnedFd,
}

impl Interface {
    /// Finds it by name.
    pub(crate) fn find(name: &str) -> io::Result<Self> {
        let c_name = CString::new(name).map_err(io::Error::other)?;
        let any = socket::control_socket()?;
        let index = sys::index(any.as_fd(), &c_name)?;
        let mtu_bytes = sys::mtu_bytes(any.as_fd(), &c_name)?;
        Ok(Self { name: c_name, index, mtu_bytes, any })
    }

    pub(crate) const fn index(&self) -> u32 {
        self.index
    }

    /// As it was when the interface was found, or asked for its state the last time.
    pub(crate) const fn mtu_bytes(&self) -> usize {
        self.mtu_bytes
    }

    /// Asks for state and MTU.
    pub(crate) fn refresh(&mut self) -> io::Result<LinkState> {
        match self.ask() {
            // A later interface may have got the name.
            Ok((index, _, _)) if index != self.index => Ok(LinkState::Gone),
            Ok((_, flags, mtu_bytes)) => {
                self.mtu_bytes = mtu_bytes;
                let is_running = flags & libc::IFF_RUNNING != 0;
                // The flag follows the carrier with a delay of up to a second.
                let has_carrier = ethtool::value(self.any.as_fd(), &self.name, GET_LINK, 0)
                    .map_or(is_running, |link| link != 0);
                Ok(match (flags & libc::IFF_UP != 0, has_carrier) {
                    (false, _) => LinkState::Down,
                    (true, false) => LinkState::NoCarrier,
                    (true, true) => LinkState::Up,
                })
            }
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(LinkState::Gone),
            Err(error) => Err(error),
        }
    }

    fn ask(&self) -> io::Result<(u32, libc::c_int, usize)> {
        let any = self.any.as_fd();
        let index = sys::index(any, &self.name)?;
        Ok((index, sys::flags(any, &self.name)?, sys::mtu_bytes(any, &self.name)?))
    }

    /// Switches it on.
    pub(crate) fn set_up(&self) -> io::Result<()> {
        sys::set_up(self.any.as_fd(), &self.name)
    }

    /// The error of a port whose interface was removed.
    pub(crate) fn gone(&self) -> io::Error {
        let name = self.name.to_string_lossy();
        io::Error::new(io::ErrorKind::NotFound, format!("interface {name} was removed"))
    }

    /// Frames that the kernel had for this interface and dropped, since it was made.
    pub(crate) fn transmit_drops(&self) -> u64 {
        // Not through sysfs, which shows the namespace it was mounted in.
        let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
        drops_of(&table, &self.name.to_string_lossy()).unwrap_or(0)
    }
}

/// The twelfth number of an interface's line: `name: 8 of receiving, then bytes packets errs drop`.
fn drops_of(table: &str, name: &str) -> Option<u64> {
    const DROP: usize = 11;
    let mut lines = table.lines().filter_map(|line| line.trim().split_once(':'));
    let (_, numbers) = lines.find(|(found, _)| *found == name)?;
    numbers.split_ascii_whitespace().nth(DROP)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_found_by_name_and_column() {
        let table = "Inter-|   Receive  |  Transmit\n face |bytes packets|bytes packets\n    \
            lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n  t-1:1 2 3 4 5 6 7 8 9 10 11 99 13 14 15 16";
        assert_eq!(drops_of(table, "t-1"), Some(99));
        assert_eq!(drops_of(table, "lo"), Some(12));
        assert_eq!(drops_of(table, "none"), None);
        assert_eq!(drops_of("lo: 1 2", "lo"), None);
    }

    #[test]
    fn the_loopback_interface_has_a_state() {
        let mut lo = Interface::find("lo").expect("every namespace has one");
        assert!(lo.mtu_bytes() > 0 && lo.index() > 0);
        assert_ne!(lo.refresh().expect("readable"), LinkState::Gone);
        assert_eq!(lo.transmit_drops(), 0);
    }
}
