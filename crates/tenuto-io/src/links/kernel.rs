//! Links, addresses and routes through messages of the kernel itself (rtnetlink(7)), for whoever
//! starts programs often: no other program is run for them.

use super::LinkName;
use crate::interface::Interface;
use crate::sys::socket;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;

/// `RTM_...` of <linux/rtnetlink.h>.
const NEW_LINK: u16 = 16;
const DELETE_LINK: u16 = 17;
const NEW_ADDRESS: u16 = 20;
const NEW_ROUTE: u16 = 24;
/// `NLM_F_REQUEST | NLM_F_ACK`, and `NLM_F_EXCL | NLM_F_CREATE`.
const REQUEST: u16 = 1 | 4;
const CREATE: u16 = 0x200 | 0x400;
/// `IFLA_...` of <linux/if_link.h>.
const LINK_NAME: u16 = 3;
const LINK_INFO: u16 = 18;
const LINK_NAMESPACE_PID: u16 = 19;
const INFO_KIND: u16 = 1;
const INFO_DATA: u16 = 2;
const VETH_PEER: u16 = 1;
/// `IFA_ADDRESS`, `IFA_LOCAL`, `RTA_GATEWAY` and `RTA_OIF`.
const ADDRESS_PEER: u16 = 1;
const ADDRESS_LOCAL: u16 = 2;
const ROUTE_GATEWAY: u16 = 5;
const ROUTE_INTERFACE: u16 = 4;
const HEADER_BYTES: usize = 16;
const ANSWER_BYTES: usize = 8_192;
/// `NLMSG_ERROR`: an acknowledgement too, with the error 0.
const ANSWER: u16 = 2;

/// Changes interfaces of the network namespace in which it was opened.
pub struct LinkChanger {
    kernel: File,
}

impl LinkChanger {
    /// Opens it in the present network namespace.
    ///
    /// # Errors
    ///
    /// When the process has no descriptors left.
    pub fn new() -> io::Result<Self> {
        Ok(Self { kernel: File::from(socket::route_socket()?) })
    }

    /// A veth pair: `name` here, `peer` in the network namespace of the process `pid`.
    ///
    /// # Errors
    ///
    /// Names what the kernel refused; [`io::ErrorKind::AlreadyExists`] for a name that is taken.
    pub fn add_veth(&mut self, name: &LinkName, peer: &LinkName, pid: u32) -> io::Result<()> {
        let mut peer_end = Message::link(0, 0);
        peer_end.text(LINK_NAME, peer.as_str());
        peer_end.number(LINK_NAMESPACE_PID, pid);
        let mut data = Message::default();
        data.attribute(VETH_PEER, &peer_end.0);
        let mut info = Message::default();
        info.text(INFO_KIND, "veth");
        info.attribute(INFO_DATA, &data.0);
        let mut message = Message::link(0, 0);
        message.text(LINK_NAME, name.as_str());
        message.attribute(LINK_INFO, &info.0);
        self.ask(NEW_LINK, CREATE, &message, || format!("adding the veth pair {name}"))
    }

    /// Switches an interface on.
    ///
    /// # Errors
    ///
    /// Names what the kernel refused, or that there is no such interface.
    pub fn set_up(&mut self, name: &LinkName) -> io::Result<()> {
        let message = Message::link(index(name)?, 1);
        self.ask(NEW_LINK, 0, &message, || format!("switching {name} on"))
    }

    /// Removes an interface; the other end of a veth pair goes with it.
    ///
    /// # Errors
    ///
    /// As [`Self::set_up`].
    pub fn remove(&mut self, name: &LinkName) -> io::Result<()> {
        let message = Message::link(index(name)?, 0);
        self.ask(DELETE_LINK, 0, &message, || format!("removing {name}"))
    }

    /// Gives an interface an address.
    ///
    /// # Errors
    ///
    /// As [`Self::set_up`].
    pub fn add_address(
        &mut self,
        name: &LinkName,
        address: Ipv4Addr,
        prefix_bits: u8,
    ) -> io::Result<()> {
        let family = u8::try_from(libc::AF_INET).expect("2");
        let mut message = Message(vec![family, prefix_bits, 0, 0]);
        message.0.extend(index(name)?.to_ne_bytes());
        message.attribute(ADDRESS_LOCAL, &address.octets());
        message.attribute(ADDRESS_PEER, &address.octets());
        self.ask(NEW_ADDRESS, CREATE, &message, || format!("giving {name} the address {address}"))
    }

    /// Sends what has no route of its own by way of `gateway`.
    ///
    /// # Errors
    ///
    /// As [`Self::set_up`].
    pub fn add_default_route(&mut self, name: &LinkName, gateway: Ipv4Addr) -> io::Result<()> {
        const MAIN_TABLE: u8 = 254;
        const PROTOCOL_BOOT: u8 = 3;
        const UNICAST: u8 = 1;
        let family = u8::try_from(libc::AF_INET).expect("2");
        let mut message = Message(vec![family, 0, 0, 0, MAIN_TABLE, PROTOCOL_BOOT, 0, UNICAST]);
        message.0.extend([0; 4]);
        message.attribute(ROUTE_GATEWAY, &gateway.octets());
        message.number(ROUTE_INTERFACE, index(name)?);
        self.ask(NEW_ROUTE, CREATE, &message, || format!("a route by way of {gateway}"))
    }

    fn ask(
        &mut self,
        kind: u16,
        flags: u16,
        body: &Message,
        what: impl Fn() -> String,
    ) -> io::Result<()> {
        let length = u32::try_from(HEADER_BYTES + body.0.len()).map_err(io::Error::other)?;
        let mut request = length.to_ne_bytes().to_vec();
        request.extend(kind.to_ne_bytes());
        request.extend((REQUEST | flags).to_ne_bytes());
        request.extend([0; 8]);
        request.extend(&body.0);
        self.kernel.write_all(&request)?;
        let mut answer = [0; ANSWER_BYTES];
        let bytes = self.kernel.read(&mut answer)?;
        verdict(&answer[..bytes])
            .map_err(|error| io::Error::new(error.kind(), format!("{} failed: {error}", what())))
    }
}

/// What an acknowledgement says: `struct nlmsghdr`, then the negative error number.
fn verdict(answer: &[u8]) -> io::Result<()> {
    let kind = answer.get(4..6).and_then(|bytes| Some(u16::from_ne_bytes(*bytes.first_chunk()?)));
    let error = answer.get(HEADER_BYTES..).and_then(|rest| rest.first_chunk());
    match (kind, error.map(|bytes| i32::from_ne_bytes(*bytes))) {
        (Some(ANSWER), Some(0)) => Ok(()),
        (Some(ANSWER), Some(error)) => Err(io::Error::from_raw_os_error(-error)),
        _ => Err(io::Error::other("the kernel gave no acknowledgement")),
    }
}

fn index(name: &LinkName) -> io::Result<u32> {
    let found = Interface::find(name.as_str());
    Ok(found.map_err(|e| io::Error::new(e.kind(), format!("interface {name}: {e}")))?.index())
}

/// A message, or a part of one, as it is put together.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    /// `struct ifinfomsg`: one interface, and which of its flags change to which.
    fn link(index: u32, flags: u32) -> Self {
        let mut bytes = vec![0; 4];
        for word in [index, flags, flags] {
            bytes.extend(word.to_ne_bytes());
        }
        Self(bytes)
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        const HEAD_BYTES: usize = 4;
        let length = u16::try_from(HEAD_BYTES + value.len()).expect("attributes are short");
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    fn text(&mut self, kind: u16, value: &str) {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.attribute(kind, &bytes);
    }

    fn number(&mut self, kind: u16, value: u32) {
        self.attribute(kind, &value.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_aligned() {
        let mut message = Message::default();
        message.text(3, "ab");
        message.number(19, 7);
        let mut expected = vec![7, 0, 3, 0, b'a', b'b', 0, 0, 8, 0, 19, 0];
        expected.extend(7_u32.to_ne_bytes());
        assert_eq!(message.0, expected, "little endian");
    }

    #[test]
    fn answers_are_read() {
        let answer = |kind: u16, error: i32| {
            let mut bytes = vec![0; 4];
            bytes.extend(kind.to_ne_bytes());
            bytes.resize(HEADER_BYTES, 0);
            bytes.extend(error.to_ne_bytes());
            verdict(&bytes)
        };
        assert!(answer(ANSWER, 0).is_ok());
        let exists = answer(ANSWER, -libc::EEXIST).expect_err("refused");
        assert_eq!(exists.kind(), io::ErrorKind::AlreadyExists);
        assert!(answer(16, 0).is_err() && verdict(&[]).is_err());
    }
}
