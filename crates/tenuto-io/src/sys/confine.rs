//! What a process gives up for good, and the rest of what the first process of a sandbox needs.

use super::{check, task};
use std::io;

/// `_LINUX_CAPABILITY_VERSION_3` and its structures of <linux/capability.h>.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    process: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilityWords {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// `SECBIT_NOROOT`, `SECBIT_NO_SETUID_FIXUP`, `SECBIT_NO_CAP_AMBIENT_RAISE`, each with its lock.
const SECURE_BITS: libc::c_ulong = 0b1100_1111;

/// Gives every capability up, also for programs that are run later: user 0 is one like any other.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    let none: libc::c_ulong = 0;
    let clear = libc::c_ulong::try_from(libc::PR_CAP_AMBIENT_CLEAR_ALL).unwrap_or(4);
    task::prctl(libc::PR_CAP_AMBIENT, clear)?;
    task::prctl(libc::PR_SET_SECUREBITS, SECURE_BITS)?;
    let mut capability = none;
    // The kernel says EINVAL behind the last one that it knows.
    while task::prctl(libc::PR_CAPBSET_READ, capability).is_ok() {
        task::prctl(libc::PR_CAPBSET_DROP, capability)?;
        capability += 1;
    }
    let header = CapabilityHeader { version: CAPABILITY_VERSION, process: 0 };
    let words = [CapabilityWords::default(); 2];
    // SAFETY: a live header of version 3 and the two structures that it asks for. Needed: std has no
    // capabilities.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, words.as_ptr()) };
    check(libc::c_int::try_from(result).unwrap_or(-1))?;
    Ok(())
}

/// No program that is run from now on has more rights than this process.
pub(crate) fn no_new_privileges() -> io::Result<()> {
    task::prctl(libc::PR_SET_NO_NEW_PRIVS, 1)
}

/// Nobody reads the memory of this process, and it leaves no core file.
pub(crate) fn not_dumpable() -> io::Result<()> {
    task::prctl(libc::PR_SET_DUMPABLE, 0)
}

/// A limit of this process and those that it starts.
pub(crate) fn set_limit(resource: libc::__rlimit_resource_t, most: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: `limit` is live. Needed: std has no limits.
    check(unsafe { libc::setrlimit(resource, &raw const limit) })?;
    Ok(())
}

/// Names the present UTS namespace.
pub(crate) fn set_host_name(name: &[u8]) -> io::Result<()> {
    // SAFETY: `name` is a live buffer of that length. Needed: std only reads the name.
    check(unsafe { libc::sethostname(name.as_ptr().cast(), name.len()) })?;
    Ok(())
}

/// A child of this process that has ended, with its status as a shell has it; `None` if none has so far.
///
/// # Errors
///
/// ECHILD when there is no child at all.
pub(crate) fn reap() -> io::Result<Option<(libc::pid_t, libc::c_int)>> {
    let mut status = 0;
    // SAFETY: `status` is a live int. Needed: std waits for children by their handle only, and the first
    // process of a pid namespace inherits others.
    let pid = check(unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) })?;
    Ok((pid != 0).then(|| (pid, super::namespaces::shell_status(status))))
}
