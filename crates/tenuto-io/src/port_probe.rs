//! Which kinds of ports this process can have here, found out without touching any interface.

use crate::PortKind;
use crate::sys::{bpf, ring::ReceiveRing, socket, xdp};
use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsFd;

/// Tries what a port of this kind needs of the kernel and of the process.
///
/// What an interface's driver can do is known only when a port is opened on it.
///
/// # Errors
///
/// The kernel's reason why there is no such port.
pub fn probe_port(kind: PortKind) -> io::Result<()> {
    match kind {
        PortKind::Memory => socket::event_counter().map(drop),
        PortKind::Packet => socket::packet_socket().map(drop),
        PortKind::PacketRing => {
            let unbound = socket::packet_socket()?;
            ReceiveRing::new(unbound.as_fd(), 1, 60).map(drop)
        }
        PortKind::Xdp => {
            let map = bpf::SocketMap::new(1)?;
            bpf::probe_xdp(&map)?;
            let memory = xdp::FrameMemory::new(8)?;
            xdp::open(Some(&memory), &xdp::RingSizes { receive: 8, transmit: 8, completion: 8 })
                .map(drop)
        }
        PortKind::Tap => OpenOptions::new().read(true).write(true).open("/dev/net/tun").map(drop),
    }
}

/// Tries whether the kernel's own stack can be kept out of what ports on AF_PACKET receive (see
/// [`crate::HostStack`]).
///
/// # Errors
///
/// The kernel's reason why not.
pub fn probe_host_barrier() -> io::Result<()> {
    bpf::probe_drop()
}
