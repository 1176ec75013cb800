//! The calls of the kernel, made safe to use: the only unsafe code of the workspace.
//!
//! Everything here is unsafe for the same reason: the standard library has no safe form of the
//! call. Each block says what makes it sound; `Needed:` names the call that std lacks.
//!
//! Safe to call means: from anywhere in this crate. One duty is kept outside: who holds which chunk
//! of an [`xdp::FrameMemory`] is counted by `xdp_port`.

pub(crate) mod bpf;
pub(crate) mod burst;
pub(crate) mod confine;
pub(crate) mod ethtool;
pub(crate) mod hardware_stamps;
pub(crate) mod interface;
pub(crate) mod mapping;
pub(crate) mod mounts;
pub(crate) mod namespaces;
pub(crate) mod policer;
pub(crate) mod ring;
pub(crate) mod sandbox;
pub(crate) mod socket;
pub(crate) mod tap;
pub(crate) mod task;
pub(crate) mod time;
pub(crate) mod xdp;

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Turns the kernel's −1 into the error of this thread.
pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Takes ownership of a descriptor that the kernel has just made for us.
fn own(fd: RawFd) -> io::Result<OwnedFd> {
    let fd = check(fd)?;
    // SAFETY: every caller passes the fresh result of a call that makes a descriptor, which is
    // open and owned by nobody else. Needed: std makes no such descriptors itself.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Has the processor fetch the line of its cache that `at` lies in, and go on meanwhile; nothing where
/// that cannot be asked for.
#[inline]
fn prefetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which touches no memory that the program could see, at whatever address. Needed:
    // a plain read would make what follows wait for it.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// The size of `T` as the kernel's `socklen_t`.
fn socklen_of<T>() -> libc::socklen_t {
    libc::socklen_t::try_from(size_of::<T>()).expect("kernel structures are small")
}
