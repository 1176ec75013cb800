//! Stamps of network devices: what they do, and their clocks.

use super::{check, time};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `SIOCSHWTSTAMP` and `SIOCGHWTSTAMP` of <linux/sockios.h>.
const SET: libc::c_ulong = 0x89b0;
const GET: libc::c_ulong = 0x89b1;

/// `struct hwtstamp_config` of <linux/net_tstamp.h>.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    flags: libc::c_int,
    tx_type: libc::c_int,
    rx_filter: libc::c_int,
}

impl Config {
    /// `HWTSTAMP_TX_ON` and `HWTSTAMP_FILTER_ALL`.
    pub(crate) const ALL: Self = Self { flags: 0, tx_type: 1, rx_filter: 1 };
}

fn ask(
    socket: BorrowedFd<'_>,
    name: &CStr,
    what: libc::c_ulong,
    mut config: Config,
) -> io::Result<Config> {
    let mut request = super::interface::request(name)?;
    request.ifr_ifru.ifru_data = (&raw mut config).cast();
    // SAFETY: `request` is a live ifreq with a terminated name, whose data points to a live hwtstamp_config, which is what
    // both commands read and write. Needed: std has no ioctl.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), what, &raw mut request) })?;
    Ok(config)
}

/// What the device `name`, which must be shorter than IFNAMSIZ, stamps at present.
pub(crate) fn config(socket: BorrowedFd<'_>, name: &CStr) -> io::Result<Config> {
    ask(socket, name, GET, Config::default())
}

/// Has it stamp so.
pub(crate) fn set_config(
    socket: BorrowedFd<'_>,
    name: &CStr,
    config: Config,
) -> io::Result<Config> {
    ask(socket, name, SET, config)
}

/// The time of the clock behind a descriptor of /dev/ptpN.
pub(crate) fn clock_ns(device: BorrowedFd<'_>) -> io::Result<u64> {
    // FD_TO_CLOCKID of the kernel's posix-timers.h.
    let clock = (!device.as_raw_fd() << 3) | 3;
    time::clock_of(clock)
}
