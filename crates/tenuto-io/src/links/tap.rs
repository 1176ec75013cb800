//! TAP interfaces for machines: this host has the interface, an emulator the descriptor.

use super::LinkName;
use crate::sys::tap;
use std::ffi::CString;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;

/// Makes a TAP interface that is there as long as the descriptor. Its frames have the header of virtio in front.
///
/// # Errors
/// When there is no /dev/net/tun, CAP_NET_ADMIN is missing, or the name is taken.
pub fn open_tap(name: &LinkName) -> io::Result<OwnedFd> {
    const DEVICE: &str = "/dev/net/tun";
    let said = |what: &'static str| {
        move |error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"))
    };
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
    let device = options.open(DEVICE).map_err(said(DEVICE))?;
    let c_name = CString::new(name.as_str()).map_err(io::Error::other)?;
    tap::attach_with_headers(&device, &c_name).map_err(said("a TAP interface"))?;
    Ok(device.into())
}
