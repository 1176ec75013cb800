//! Mounts, for a process that builds the file system of a sandbox.

use super::check;
use std::ffi::{CStr, CString};
use std::io;

/// `struct mount_attr` of <linux/mount.h>.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// `mount(2)`, with data if there is any.
pub(crate) fn mount(
    source: &CStr,
    target: &CStr,
    kind: &CStr,
    flags: libc::c_ulong,
    data: Option<&CStr>,
) -> io::Result<()> {
    let data = data.map_or(std::ptr::null(), |text| text.as_ptr().cast());
    let (source, target, kind) = (source.as_ptr(), target.as_ptr(), kind.as_ptr());
    // SAFETY: valid C strings; the data of the file systems mounted here is a C string or null.
    // Needed: std has no mounts.
    check(unsafe { libc::mount(source, target, kind, flags, data) })?;
    Ok(())
}

/// Sets attributes (`MOUNT_ATTR_...`) of a mount, and of all below it if `is_recursive`.
pub(crate) fn set_attributes(target: &CStr, set: u64, is_recursive: bool) -> io::Result<()> {
    let request = MountAttributes { set, clear: 0, propagation: 0, user_namespace: 0 };
    let flags = if is_recursive { libc::AT_RECURSIVE } else { 0 };
    let target = target.as_ptr();
    // SAFETY: a valid C string, and a live structure of the size that is passed, which the kernel only
    // reads. Needed: std has no mounts.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            target,
            flags,
            &raw const request,
            size_of::<MountAttributes>(),
        )
    };
    check(libc::c_int::try_from(result).unwrap_or(-1))?;
    Ok(())
}

/// Makes `root` the root of this mount namespace; the old one is seen at `old` from then on.
pub(crate) fn pivot_root(root: &CStr, old: &CStr) -> io::Result<()> {
    let (root, old) = (root.as_ptr(), old.as_ptr());
    // SAFETY: two valid C strings. Needed: std has no mounts.
    let result = unsafe { libc::syscall(libc::SYS_pivot_root, root, old) };
    check(libc::c_int::try_from(result).unwrap_or(-1))?;
    Ok(())
}

/// Takes a mount away as soon as nobody uses it.
pub(crate) fn detach(target: &CStr) -> io::Result<()> {
    // SAFETY: a valid C string. Needed: std has no mounts.
    check(unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) })?;
    Ok(())
}

/// A path, or a text, as the kernel takes it.
pub(crate) fn c_text(bytes: &[u8]) -> io::Result<CString> {
    Ok(CString::new(bytes)?)
}
