//! Interfaces of the kernel, through the ioctls of any socket.

use super::check;
use std::ffi::CStr;
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, BorrowedFd};

/// A request about the interface `name`, which must be shorter than IFNAMSIZ.
pub(super) fn request(name: &CStr) -> io::Result<libc::ifreq> {
    // SAFETY: all-zero is a valid ifreq. Needed: its union has no constructor.
    let mut request: libc::ifreq = unsafe { zeroed() };
    let bytes = name.to_bytes();
    if bytes.len() >= request.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (target, source) in request.ifr_name.iter_mut().zip(bytes) {
        *target = libc::c_char::from_ne_bytes([*source]);
    }
    Ok(request)
}

/// Carries out a request that reads and writes the ifreq only.
fn ask(socket: BorrowedFd<'_>, what: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: `request` is a live ifreq with a terminated name; the callers below pass commands
    // that touch nothing but it. Needed: std has no ioctl.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), what, std::ptr::from_mut(request)) })?;
    Ok(())
}

/// Index of the interface `name`.
pub(crate) fn index(socket: BorrowedFd<'_>, name: &CStr) -> io::Result<u32> {
    let mut request = request(name)?;
    ask(socket, libc::SIOCGIFINDEX, &mut request)?;
    // SAFETY: SIOCGIFINDEX has filled this field in. Needed: it is one of a union.
    let index = unsafe { request.ifr_ifru.ifru_ifindex };
    u32::try_from(index).map_err(io::Error::other)
}

/// Largest payload of a frame, without header and tags.
pub(crate) fn mtu_bytes(socket: BorrowedFd<'_>, name: &CStr) -> io::Result<usize> {
    let mut request = request(name)?;
    ask(socket, libc::SIOCGIFMTU, &mut request)?;
    // SAFETY: SIOCGIFMTU has filled this field in. Needed: it is one of a union.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    usize::try_from(mtu).map_err(io::Error::other)
}

/// `IFF_...` of the interface.
pub(crate) fn flags(socket: BorrowedFd<'_>, name: &CStr) -> io::Result<libc::c_int> {
    let mut request = request(name)?;
    ask(socket, libc::SIOCGIFFLAGS, &mut request)?;
    // SAFETY: SIOCGIFFLAGS has filled this field in. Needed: it is one of a union.
    Ok(libc::c_int::from(unsafe { request.ifr_ifru.ifru_flags }))
}

/// Switches the interface on.
pub(crate) fn set_up(socket: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    const UP: libc::c_short = 1;
    let mut request = request(name)?;
    ask(socket, libc::SIOCGIFFLAGS, &mut request)?;
    // SAFETY: SIOCGIFFLAGS has filled this field in. Needed: it is one of a union.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    request.ifr_ifru.ifru_flags = flags | UP;
    ask(socket, libc::SIOCSIFFLAGS, &mut request)
}
