//! Offloads of a network device, through the ethtool ioctl.

use super::check;
use std::ffi::CStr;
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `struct ethtool_value` of <linux/ethtool.h>.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Sets one value of the device `name`, which must be shorter than IFNAMSIZ.
pub(crate) fn set_value(
    socket: BorrowedFd<'_>,
    name: &CStr,
    command: u32,
    data: u32,
) -> io::Result<()> {
    let mut value = EthtoolValue { command, data };
    // SAFETY: all-zero is a valid ifreq. Needed: its union has no constructor.
    let mut request: libc::ifreq = unsafe { zeroed() };
    let bytes = name.to_bytes();
    if bytes.len() >= request.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (target, source) in request.ifr_name.iter_mut().zip(bytes) {
        *target = libc::c_char::from_ne_bytes([*source]);
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: `request` is a live ifreq with a terminated name, whose data points to a live
    // ethtool_value, which is what the commands used here read and write. Needed: std has no ioctl.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) })?;
    Ok(())
}
