//! What the first process of a sandbox gives up before it runs a program that is not trusted.
//!
//! Everything here is for good and passes on to all programs that are started later. Call it in a
//! process with a single thread: each of these is a property of the calling thread.

use crate::sys::{confine as sys, namespaces};
use std::io;

/// Limits of processes that the kernel knows without control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Processes and threads of this user in this user namespace; the machine's root is exempt.
    Processes,
    /// Bytes of address space, per process.
    AddressSpace,
    /// Bytes of a core file.
    CoreFile,
    /// Open descriptors, per process.
    Descriptors,
    /// Bytes of locked memory, per process.
    LockedMemory,
}

/// Sets a limit for this process and all that it starts.
///
/// # Errors
///
/// When the present limit is lower and may not be raised.
pub fn set_limit(resource: Resource, most: u64) -> io::Result<()> {
    let number = match resource {
        Resource::Processes => libc::RLIMIT_NPROC,
        Resource::AddressSpace => libc::RLIMIT_AS,
        Resource::CoreFile => libc::RLIMIT_CORE,
        Resource::Descriptors => libc::RLIMIT_NOFILE,
        Resource::LockedMemory => libc::RLIMIT_MEMLOCK,
    };
    sys::set_limit(number, most)
}

/// Gives every capability up.
///
/// # Errors
///
/// When CAP_SETPCAP is missing already.
pub fn drop_capabilities() -> io::Result<()> {
    sys::drop_capabilities()
}

/// No program that is run from now on has more rights than this process.
///
/// # Errors
///
/// Those of the kernel.
pub fn no_new_privileges() -> io::Result<()> {
    sys::no_new_privileges()
}

/// Nobody reads the memory of this process, and it leaves no core file.
///
/// # Errors
///
/// Those of the kernel.
pub fn not_dumpable() -> io::Result<()> {
    sys::not_dumpable()
}

/// Names the host of the present UTS namespace.
///
/// # Errors
///
/// When CAP_SYS_ADMIN over the namespace is missing.
pub fn set_host_name(name: &str) -> io::Result<()> {
    sys::set_host_name(name.as_bytes())
}

/// From now on /proc and the like show the present control groups as the root of all.
///
/// # Errors
///
/// When CAP_SYS_ADMIN over the user namespace is missing, or the kernel has no such namespaces.
pub fn hide_outer_groups() -> io::Result<()> {
    namespaces::unshare(libc::CLONE_NEWCGROUP)
}

/// Moves into a user namespace inside the present one, in which the present user has the number
/// `inside`: what the outer one owns (mounts, interfaces, processes) is then out of reach for good.
///
/// # Errors
///
/// When there are threads, or the kernel allows no further user namespace.
pub fn enter_inner_user(inside: u32) -> io::Result<()> {
    let (user, group) = crate::sys::task::effective_ids();
    namespaces::unshare(libc::CLONE_NEWUSER)?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{inside} {user} 1\n"))?;
    std::fs::write("/proc/self/gid_map", format!("{inside} {group} 1\n"))
}

/// A child that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its id.
    pub pid: u32,
    /// Its status as a shell has it: 128 + n for signal n.
    pub status: u8,
}

/// A child of this process that has ended, if one has, whoever started it: process 1 of a pid
/// namespace has the orphans of all others.
///
/// # Errors
///
/// When there is no child at all.
pub fn reap() -> io::Result<Option<Ended>> {
    let ended = sys::reap()?;
    Ok(ended.map(|(pid, status)| Ended {
        pid: u32::try_from(pid).unwrap_or(0),
        status: u8::try_from(status).unwrap_or(u8::MAX),
    }))
}
