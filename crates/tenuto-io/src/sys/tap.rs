//! TAP interfaces: /dev/net/tun of <linux/if_tun.h>.

use super::{check, interface};
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Makes `tun`, freshly opened, the TAP interface `name`: an existing one that no program holds, or
/// a new one, which goes when `tun` is closed.
pub(crate) fn attach(tun: &File, name: &CStr) -> io::Result<()> {
    make(tun, name, libc::IFF_TAP | libc::IFF_NO_PI)
}

/// As [`attach`], for an emulator: frames have a header in front that tells of checksums and segments (virtio).
pub(crate) fn attach_with_headers(tun: &File, name: &CStr) -> io::Result<()> {
    make(tun, name, libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR)
}

fn make(tun: &File, name: &CStr, flags: libc::c_int) -> io::Result<()> {
    let mut request = interface::request(name)?;
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(flags).expect("below 2^15");
    // SAFETY: `request` is a live ifreq with a terminated name, which is what TUNSETIFF reads and
    // writes. Needed: std has no ioctl.
    check(unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
    Ok(())
}
