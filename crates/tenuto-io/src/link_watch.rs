//! Whether the links of the present network namespace are up, as the kernel tells it (rtnetlink).

use crate::sys::socket;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};

/// What the kernel says of one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// The interface.
    pub name: String,
    /// Whether it is switched on and has a carrier; false when it is gone.
    pub is_up: bool,
}

/// A descriptor that is readable when a link has changed.
pub struct LinkWatch {
    socket: File,
}

/// One datagram of the kernel is at most so large (NLMSG_GOODSIZE is less).
const DATAGRAM_BYTES: usize = 64 * 1024;
const HEADER_BYTES: usize = 16;
/// `struct ifinfomsg`.
const LINK_BYTES: usize = 16;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const REQUEST_ALL: u16 = 0x301;

impl LinkWatch {
    /// Begins to watch; the first [`Self::changes`] tell every link.
    ///
    /// # Errors
    ///
    /// When the process has no descriptors left.
    pub fn open() -> io::Result<Self> {
        let mut watch = Self { socket: File::from(socket::link_news_socket()?) };
        watch.ask_for_all()?;
        Ok(watch)
    }

    fn ask_for_all(&mut self) -> io::Result<()> {
        let length = HEADER_BYTES + LINK_BYTES;
        let mut request = [0; HEADER_BYTES + LINK_BYTES];
        request[..4].copy_from_slice(&u32::try_from(length).expect("32").to_ne_bytes());
        request[4..6].copy_from_slice(&libc::RTM_GETLINK.to_ne_bytes());
        request[6..8].copy_from_slice(&REQUEST_ALL.to_ne_bytes());
        self.socket.write_all(&request)
    }

    /// What has changed since the last call; never blocks.
    ///
    /// # Errors
    ///
    /// Those of the kernel.
    pub fn changes(&mut self) -> io::Result<Vec<LinkState>> {
        let mut states = Vec::new();
        let mut datagram = vec![0; DATAGRAM_BYTES];
        loop {
            match self.socket.read(&mut datagram) {
                Ok(count) => read_messages(&datagram[..count], &mut states),
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::EAGAIN) => return Ok(states),
                    // News were lost: so all is asked for again.
                    Some(libc::ENOBUFS) => self.ask_for_all()?,
                    _ => return Err(error),
                },
            }
        }
    }
}

impl AsRawFd for LinkWatch {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_ne_bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_ne_bytes)
}

/// Netlink messages: length, type, and 10 bytes more of header each, aligned to 4.
fn read_messages(mut bytes: &[u8], states: &mut Vec<LinkState>) {
    while let (Some(length), Some(type_)) = (u32_at(bytes, 0), u16_at(bytes, 4)) {
        let Ok(length) = usize::try_from(length) else { return };
        let Some(body) = bytes.get(HEADER_BYTES..length) else { return };
        if type_ == libc::RTM_NEWLINK || type_ == libc::RTM_DELLINK {
            states.extend(read_link(body, type_ == libc::RTM_NEWLINK));
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
}

/// `struct ifinfomsg`, whose flags are at 8, and attributes: length, type and value each.
fn read_link(body: &[u8], exists: bool) -> Option<LinkState> {
    let flags = u32_at(body, 8)?;
    let is_on = |flag: libc::c_int| u32::try_from(flag).is_ok_and(|bit| flags & bit != 0);
    let is_up = exists && is_on(libc::IFF_UP) && is_on(libc::IFF_RUNNING);
    let mut attributes = body.get(LINK_BYTES..)?;
    while let (Some(length), Some(type_)) = (u16_at(attributes, 0), u16_at(attributes, 2)) {
        let value = attributes.get(4..usize::from(length))?;
        if type_ == libc::IFLA_IFNAME {
            let name = value.split(|&byte| byte == 0).next().unwrap_or_default();
            return Some(LinkState { name: String::from_utf8_lossy(name).into_owned(), is_up });
        }
        attributes = attributes.get(usize::from(length).next_multiple_of(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interest, PollSet};

    #[test]
    fn every_link_is_told_first() {
        let mut watch = LinkWatch::open().expect("netlink needs no rights");
        let mut poll = PollSet::new();
        poll.add(watch.as_raw_fd(), Interest::Read);
        let mut names = Vec::new();
        while !names.contains(&"lo".to_owned()) {
            poll.wait(None).expect("poll");
            names.extend(watch.changes().expect("netlink").into_iter().map(|link| link.name));
        }
    }

    #[test]
    fn cut_messages_tell_nothing_and_end() {
        let mut message = Vec::new();
        message.extend(44_u32.to_ne_bytes());
        message.extend(libc::RTM_NEWLINK.to_ne_bytes());
        message.extend([0; 10 + 8]);
        message.extend(0x41_u32.to_ne_bytes());
        message.extend([0; 4]);
        message.extend([9, 0]);
        message.extend(libc::IFLA_IFNAME.to_ne_bytes());
        message.extend(*b"eth1\0\0\0\0");
        let mut states = Vec::new();
        read_messages(&message, &mut states);
        assert_eq!(states, [LinkState { name: "eth1".into(), is_up: true }]);
        for cut in 0..message.len() {
            let mut states = Vec::new();
            read_messages(&message[..cut], &mut states);
            assert_eq!(states, [], "cut at {cut}");
        }
        read_messages(&[0; 64], &mut Vec::new());
    }
}
