//! The kernel's own stack, which sees the frames of an interface beside a packet socket.

use crate::sys::bpf;
use std::io;
use std::os::fd::OwnedFd;

/// Who else gets the frames of a port on AF_PACKET.
///
/// A packet socket gets copies. Left alone, the kernel also answers: it replies to ARP and pings for
/// any address of the machine, speaks IPv6 on the link, and forwards if it is a router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostStack {
    /// Nobody: a program at the interface's ingress drops what the packet sockets have seen.
    #[default]
    KeepOut,
    /// The kernel as well: for an interface without addresses and with IPv6 disabled (see
    /// [`crate::links::disable_ipv6_on`]), or where it shall take part.
    Share,
}

/// Drops what an interface receives behind its packet sockets, until it is dropped itself.
///
/// The kernel removes it with the process, however that ends.
pub struct HostBarrier {
    _link: OwnedFd,
}

impl HostBarrier {
    /// Sets it up at the interface of that index.
    ///
    /// # Errors
    ///
    /// Where the process lacks CAP_BPF and CAP_NET_ADMIN outside of any user namespace, and before
    /// Linux 6.6.
    pub fn new(interface_index: u32) -> io::Result<Self> {
        Ok(Self { _link: bpf::attach_drop(interface_index)? })
    }
}
