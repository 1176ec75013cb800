//! Mounts of a sandbox's file system, made by its first process while it is root of its own mount
//! namespace.

use crate::sys::mounts as sys;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// An error that names what was mounted.
fn at<T>(what: &str, path: &Path, result: io::Result<T>) -> io::Result<T> {
    result.map_err(|error| {
        io::Error::new(error.kind(), format!("{what} {}: {error}", path.display()))
    })
}

fn c_path(path: &Path) -> io::Result<std::ffi::CString> {
    sys::c_text(path.as_os_str().as_bytes())
}

/// An empty file system in memory, of at most `bytes`, in which nothing is a device or gains rights.
///
/// # Errors
///
/// Names the place that the kernel refused.
pub fn mount_memory(target: &Path, bytes: u64, mode: u32) -> io::Result<()> {
    let data = sys::c_text(format!("size={bytes},mode={mode:o}").as_bytes())?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV;
    let mounted = sys::mount(c"tmpfs", &c_path(target)?, c"tmpfs", flags, Some(&data));
    at("mounting memory on", target, mounted)
}

/// The processes of the present pid namespace.
///
/// # Errors
///
/// As [`mount_memory`]: the kernel refuses it where the machine's own /proc is partly hidden.
pub fn mount_processes(target: &Path) -> io::Result<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    let mounted = sys::mount(c"proc", &c_path(target)?, c"proc", flags, None);
    at("mounting processes on", target, mounted)
}

/// What is at `source`, also seen at `target`, with all that is mounted below it.
///
/// # Errors
///
/// As [`mount_memory`].
pub fn mount_also(source: &Path, target: &Path) -> io::Result<()> {
    let flags = libc::MS_BIND | libc::MS_REC;
    let mounted = sys::mount(&c_path(source)?, &c_path(target)?, c"none", flags, None);
    at("mounting", source, mounted)
}

/// How a mount is restricted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountLimits {
    /// Nothing can be written, is a device, or gains rights.
    ReadOnly,
    /// Nothing is a device or gains rights.
    Data,
    /// Nothing gains rights or is run: for devices.
    Devices,
}

/// Restricts the mount at `target`, and all below it.
///
/// # Errors
///
/// As [`mount_memory`]; Linux 5.12 is needed.
pub fn limit_mount(target: &Path, limits: MountLimits) -> io::Result<()> {
    let set = match limits {
        MountLimits::ReadOnly => {
            libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV
        }
        MountLimits::Data => libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
        MountLimits::Devices => libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC,
    };
    at("restricting", target, sys::set_attributes(&c_path(target)?, set, true))
}

/// Makes the mount at `target` alone read-only, not what is mounted below it.
///
/// # Errors
///
/// As [`limit_mount`].
pub fn close_mount(target: &Path) -> io::Result<()> {
    at("closing", target, sys::set_attributes(&c_path(target)?, libc::MOUNT_ATTR_RDONLY, false))
}

/// Makes the mount at `root` the root of all; the old root is at `old`, a folder below it.
///
/// # Errors
///
/// As [`mount_memory`].
pub fn change_root(root: &Path, old: &Path) -> io::Result<()> {
    at("changing the root to", root, sys::pivot_root(&c_path(root)?, &c_path(old)?))?;
    std::env::set_current_dir("/")
}

/// Takes the mount at `target` away, with all below it.
///
/// # Errors
///
/// As [`mount_memory`].
pub fn unmount(target: &Path) -> io::Result<()> {
    at("unmounting", target, sys::detach(&c_path(target)?))
}
