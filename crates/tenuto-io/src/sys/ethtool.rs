//! Offloads of a network device, through the ethtool ioctl.

use super::check;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `struct ethtool_value` of <linux/ethtool.h>.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Sets or gets one value of the device `name`, which must be shorter than IFNAMSIZ.
pub(crate) fn value(
    socket: BorrowedFd<'_>,
    name: &CStr,
    command: u32,
    data: u32,
) -> io::Result<u32> {
    let mut value = EthtoolValue { command, data };
    let mut request = super::interface::request(name)?;
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: `request` is a live ifreq with a terminated name, whose data points to a live
    // ethtool_value, which is what the commands used here read and write. Needed: std has no ioctl.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) })?;
    Ok(value.data)
}
