//! Links of the lab: made by the `ip` program, many commands in one call. Those of tenants, who start
//! and end often, are made through the kernel directly ([`LinkChanger`]).
//!
//! Making links is not the hot path; `ip` (iproute2) is on every system that has namespaces, and
//! its messages are known. Only offloads, which `ip` cannot switch, go through the kernel directly.

use crate::own_sysfs::with_own_sysfs;
use crate::sys::{ethtool, socket};
use std::ffi::CString;
use std::os::fd::AsFd;
use std::{fs, io};

mod batch;
mod kernel;
mod tap;

pub use batch::{IpBatch, IpError};
pub use kernel::LinkChanger;
pub use tap::open_tap;

/// The name of an interface: 1 to 15 bytes, none of them white space, `/` or `:`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkName(String);

/// The kernel's IFNAMSIZ, without the final zero.
const NAME_BYTES_MAX: usize = 15;

impl LinkName {
    /// Checks a name as the kernel does, and that `ip` cannot take it for an option.
    ///
    /// # Errors
    ///
    /// [`IpError::Name`].
    pub fn new(name: &str) -> Result<Self, IpError> {
        let fits = (1..=NAME_BYTES_MAX).contains(&name.len());
        let plain = |byte: u8| byte.is_ascii_graphic() && !b"/:\"'\\#%".contains(&byte);
        let special = name == "." || name == ".." || name.starts_with('-');
        if fits && name.bytes().all(plain) && !special {
            return Ok(Self(name.to_owned()));
        }
        Err(IpError::Name(name.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for LinkName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// One end of a veth pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VethEnd {
    /// Name of the interface.
    pub name: LinkName,
    /// The process whose network namespace it goes to; `None` for that of `ip` itself.
    pub pid: Option<u32>,
    /// Hardware address; `None` for one that the kernel draws by lot.
    pub mac: Option<[u8; 6]>,
}

/// `ETHTOOL_S...` commands of <linux/ethtool.h>: receive and transmit checksums, TSO, GSO, GRO.
const OFFLOADS: [u32; 5] = [0x15, 0x17, 0x1f, 0x24, 0x2c];
/// `ETHTOOL_GFLAGS` and `ETHTOOL_SFLAGS`.
const FLAGS: (u32, u32) = (0x25, 0x26);
/// `ETH_FLAG_TXVLAN`, `ETH_FLAG_RXVLAN` and `ETH_FLAG_LRO`.
const FLAGS_OFF: u32 = 1 << 7 | 1 << 8 | 1 << 15;

/// Switches the offloads of an interface of the present network namespace off, so that every
/// frame is on the link as it was at the sender: whole, no longer than the MTU, checksums filled
/// in, VLAN tags in their place.
///
/// For a port, both ends of its link matter: what the other end leaves to its device arrives so.
/// An offload that the device does not know, or does not let go, is left alone.
///
/// # Errors
///
/// When there is no such interface, or CAP_NET_ADMIN is missing.
pub fn offloads_off(name: &LinkName) -> io::Result<()> {
    let any = socket::control_socket()?;
    let c_name = CString::new(name.as_str())?;
    let set = |command, value| match ethtool::value(any.as_fd(), &c_name, command, value) {
        Err(error) if error.raw_os_error() != Some(libc::EOPNOTSUPP) => {
            Err(io::Error::new(error.kind(), format!("offloads of {name}: {error}")))
        }
        result => Ok(result.ok()),
    };
    OFFLOADS.into_iter().try_for_each(|command| set(command, 0).map(|_| ()))?;
    let Some(flags) = set(FLAGS.0, 0)? else { return Ok(()) };
    set(FLAGS.1, flags & !FLAGS_OFF).map(|_| ())
}

/// `ETHTOOL_SGRO` and `ETHTOOL_STSO`.
const JOIN_SEGMENTS: u32 = 0x2c;
const CUT_SEGMENTS: u32 = 0x1f;

/// Has an interface of the present network namespace join what it receives of one connection (GRO), or not.
///
/// # Errors
///
/// When there is no such interface, CAP_NET_ADMIN is missing, or the device cannot.
pub fn set_gro(name: &LinkName, is_on: bool) -> io::Result<()> {
    set_offload(name, "GRO", JOIN_SEGMENTS, is_on)
}

/// Has an interface of the present network namespace take segments that are cut later (TSO), or not. What a
/// virtual Ethernet device takes so passes the polling of its other end by.
///
/// # Errors
///
/// As [`set_gro`].
pub fn set_tso(name: &LinkName, is_on: bool) -> io::Result<()> {
    set_offload(name, "TSO", CUT_SEGMENTS, is_on)
}

fn set_offload(name: &LinkName, what: &str, command: u32, is_on: bool) -> io::Result<()> {
    let any = socket::control_socket()?;
    let c_name = CString::new(name.as_str())?;
    let set = ethtool::value(any.as_fd(), &c_name, command, u32::from(is_on));
    set.map(drop)
        .map_err(|error| io::Error::new(error.kind(), format!("{what} of {name}: {error}")))
}

/// Has an interface of the present network namespace hand what it receives to another processor (RPS), as the
/// interrupts of a device would come there.
///
/// # Errors
///
/// When the setting may not be written, or the kernel has none.
pub fn receive_on(name: &LinkName, processor: u32) -> io::Result<()> {
    with_own_sysfs(|| {
        let path = format!("/sys/class/net/{name}/queues/rx-0/rps_cpus");
        // Words of 32 processors, the last one first.
        let zeros = ",00000000".repeat(usize::try_from(processor / 32).unwrap_or(0));
        let mask = format!("{:x}{zeros}", 1_u32 << (processor % 32));
        fs::write(&path, mask)
            .map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))
    })
}

/// `ETHTOOL_G...` commands of the same offloads, as the `ethtool` program calls them.
const OFFLOADS_READ: [(u32, &str); 5] =
    [(0x14, "rx"), (0x16, "tx"), (0x1e, "tso"), (0x23, "gso"), (0x2b, "gro")];

/// Offloads that are on at an interface of the present network namespace: of `rx`, `tx`, `tso`, `gso` and
/// `gro`.
///
/// # Errors
///
/// When there is no such interface.
pub fn offloads_on(name: &LinkName) -> io::Result<Vec<&'static str>> {
    let any = socket::control_socket()?;
    let c_name = CString::new(name.as_str())?;
    let mut on = Vec::new();
    for (command, offload) in OFFLOADS_READ {
        match ethtool::value(any.as_fd(), &c_name, command, 0) {
            Ok(0) => {}
            Ok(_) => on.push(offload),
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            Err(error) => return Err(io::Error::new(error.kind(), format!("{name}: {error}"))),
        }
    }
    Ok(on)
}

/// Keeps the kernel from speaking IPv6 on all interfaces of the present network namespace, also on
/// later ones. A kernel without IPv6 is fine.
///
/// # Errors
///
/// When the setting may not be written.
pub fn disable_ipv6() -> io::Result<()> {
    ["all", "default"].into_iter().try_for_each(|conf| write_ipv6_setting(conf, "1"))
}

/// Keeps the kernel from speaking IPv6 on one interface of the present network namespace.
///
/// # Errors
///
/// When the setting may not be written.
pub fn disable_ipv6_on(name: &LinkName) -> io::Result<()> {
    write_ipv6_setting(name.as_str(), "1")
}

fn write_ipv6_setting(conf: &str, value: &str) -> io::Result<()> {
    let path = format!("/proc/sys/net/ipv6/conf/{conf}/disable_ipv6");
    match fs::write(&path, value) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(io::Error::new(error.kind(), format!("{path}: {error}"))),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_as_the_kernel_does() {
        for good in ["a", "s1-p12", "fifteen-bytes-x", "br.100", "x@y"] {
            assert_eq!(LinkName::new(good).expect("good").as_str(), good);
        }
        for bad in ["", "sixteen-bytes-xx", "a b", "a/b", "a:b", ".", "..", "-h", "é", "a\n"] {
            assert!(LinkName::new(bad).is_err(), "{bad:?}");
        }
    }
}
