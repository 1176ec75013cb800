//! Packet sockets, event counters, and their options.

use super::{check, own, socklen_of};
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// A raw packet socket that receives nothing until it is bound.
pub(crate) fn packet_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers are passed. Needed: std has no AF_PACKET.
    own(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })
}

/// Binds a packet socket to every frame of one interface.
pub(crate) fn bind_packet(socket: BorrowedFd<'_>, interface: u32) -> io::Result<()> {
    // SAFETY: all-zero is a valid sockaddr_ll. Needed: its padding has no constructor.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = u16::try_from(libc::AF_PACKET).expect("17");
    address.sll_protocol = u16::try_from(libc::ETH_P_ALL).expect("3").to_be();
    address.sll_ifindex = libc::c_int::try_from(interface).map_err(io::Error::other)?;
    let length = socklen_of::<libc::sockaddr_ll>();
    // SAFETY: `address` is a live sockaddr_ll of `length` bytes. Needed: std binds no AF_PACKET.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    Ok(())
}

/// Whether the interface that a packet socket was bound to still exists.
pub(crate) fn is_bound(socket: BorrowedFd<'_>) -> io::Result<bool> {
    // SAFETY: all-zero is a valid sockaddr_ll. Needed: its padding has no constructor.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    let mut length = socklen_of::<libc::sockaddr_ll>();
    let target = (&raw mut address).cast();
    // SAFETY: `address` has `length` writable bytes. Needed: std knows no AF_PACKET addresses.
    check(unsafe { libc::getsockname(socket.as_raw_fd(), target, &raw mut length) })?;
    Ok(address.sll_ifindex > 0)
}

/// Makes the device pass frames of other addresses too, for as long as the socket lives.
pub(crate) fn join_promiscuous(socket: BorrowedFd<'_>, interface: u32) -> io::Result<()> {
    let request = libc::packet_mreq {
        mr_ifindex: libc::c_int::try_from(interface).map_err(io::Error::other)?,
        mr_type: libc::c_ushort::try_from(libc::PACKET_MR_PROMISC).expect("1"),
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set_option(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
}

/// Sets an integer option.
pub(crate) fn set_int(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    set_option(socket, level, name, &value)
}

/// Sets an option whose value is an integer, or one of the kernel's structures.
pub(crate) fn set_option<T: Copy>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let value: *const T = value;
    // SAFETY: `value` points to `socklen_of::<T>()` readable bytes. Needed: std has no setsockopt.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, value.cast(), socklen_of::<T>())
    };
    check(result)?;
    Ok(())
}

pub(super) fn get_option<T: Copy>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    mut value: T,
) -> io::Result<T> {
    let mut length = socklen_of::<T>();
    // SAFETY: `value` has `length` writable bytes; the callers pass integers and structures of
    // integers, of which every bit pattern is valid. Needed: std has no getsockopt.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut length)
    };
    check(result)?;
    Ok(value)
}

/// Reads an integer option.
pub(crate) fn int_option(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
) -> io::Result<libc::c_int> {
    get_option(socket, level, name, 0)
}

/// The error that waits at the socket; reading it takes it away.
pub(crate) fn take_error(socket: BorrowedFd<'_>) -> io::Result<Option<io::Error>> {
    let code = int_option(socket, libc::SOL_SOCKET, libc::SO_ERROR)?;
    Ok((code != 0).then(|| io::Error::from_raw_os_error(code)))
}

/// Frames that the socket had no room for since the last call of this or [`take_arrivals`].
pub(crate) fn take_drops(socket: BorrowedFd<'_>) -> io::Result<u64> {
    take_statistics(socket).map(|statistics| u64::from(statistics.tp_drops))
}

/// Frames that came, with room or without, since the last call of this or [`take_drops`].
pub(crate) fn take_arrivals(socket: BorrowedFd<'_>) -> io::Result<u64> {
    take_statistics(socket).map(|statistics| u64::from(statistics.tp_packets))
}

fn take_statistics(socket: BorrowedFd<'_>) -> io::Result<libc::tpacket_stats> {
    let none = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    get_option(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, none)
}

/// Words for the ancillary data of a connection: one stamp, with room to spare.
const CONTROL_WORDS: usize = 8;

/// Reads what a connection has, with its ancillary data.
pub(crate) fn receive_stamped(
    socket: BorrowedFd<'_>,
    room: &mut [u8],
) -> io::Result<(usize, Vec<u8>)> {
    let mut control = [0_u64; CONTROL_WORDS];
    let mut part = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    // SAFETY: null pointers and zero lengths are valid for every field. Needed: its padding has no constructor.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    message.msg_controllen = size_of_val(&control);
    // SAFETY: `message` points to one live vector, which covers `room`, and to a control area of the length told; none of
    // them is borrowed otherwise meanwhile. Needed: std has no recvmsg.
    let read = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
    let count = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;
    let bytes = control.iter().flat_map(|word| word.to_ne_bytes());
    Ok((count, bytes.take(message.msg_controllen).collect()))
}

/// A counter that is readable while it is above zero.
pub(crate) fn event_counter() -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed. Needed: std has no eventfd.
    own(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })
}

/// A socket that hears of every change to an interface of the present network namespace.
pub(crate) fn link_news_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers are passed. Needed: std has no AF_NETLINK.
    let socket = own(unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) })?;
    // SAFETY: all-zero is a valid sockaddr_nl. Needed: its padding has no constructor.
    let mut address: libc::sockaddr_nl = unsafe { zeroed() };
    address.nl_family = u16::try_from(libc::AF_NETLINK).expect("16");
    address.nl_groups = u32::try_from(libc::RTMGRP_LINK).expect("1");
    let (fd, length) = (socket.as_raw_fd(), socklen_of::<libc::sockaddr_nl>());
    // SAFETY: `address` is a live sockaddr_nl of `length` bytes. Needed: as above.
    check(unsafe { libc::bind(fd, (&raw const address).cast(), length) })?;
    Ok(socket)
}

/// A socket to the kernel's tables of links, addresses and routes; its answers end a wait.
pub(crate) fn route_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers are passed. Needed: std has no netlink.
    own(unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) })
}

/// A socket that asks the kernel about other sockets of the present network namespace; never waits.
pub(crate) fn diagnosis_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers are passed. Needed: std has no AF_NETLINK.
    own(unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_SOCK_DIAG) })
}

/// Takes one message off a socket without looking at it; `false` when there is none.
pub(crate) fn discard_message(socket: BorrowedFd<'_>) -> io::Result<bool> {
    let (mut byte, flags) = (0_u8, libc::MSG_DONTWAIT);
    let room = (&raw mut byte).cast();
    // SAFETY: `byte` is one writable byte. Needed: std reads no AF_NETLINK.
    let read = unsafe { libc::recv(socket.as_raw_fd(), room, 1, flags) };
    if read >= 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EAGAIN) => Ok(false),
        // Messages were lost: there was one.
        Some(libc::ENOBUFS | libc::EINTR) => Ok(true),
        _ => Err(error),
    }
}

/// Any socket of the present network namespace, for asking about its interfaces.
pub(crate) fn control_socket() -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed. Needed: std binds its sockets.
    own(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })
}
