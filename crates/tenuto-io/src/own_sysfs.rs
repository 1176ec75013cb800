//! Settings of devices in another network namespace: sysfs shows the one in which it was mounted.

use crate::sys::{mounts, namespaces};
use std::io;

/// Runs `work` in a thread that sees the devices of the present network namespace at /sys/class/net, by a
/// mount of its own that nobody else sees and that goes with the thread.
///
/// # Errors
///
/// When CAP_SYS_ADMIN is missing, or a user namespace may not mount it.
pub(crate) fn with_own_sysfs<T: Send>(
    work: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let enter = || -> io::Result<()> {
        namespaces::unshare(libc::CLONE_NEWNS)?;
        let private = libc::MS_REC | libc::MS_PRIVATE;
        mounts::mount(c"none", c"/", c"none", private, None)?;
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        mounts::mount(c"sysfs", c"/sys", c"sysfs", flags, None)
    };
    let run = || {
        let said = |error: io::Error| io::Error::new(error.kind(), format!("a sysfs: {error}"));
        enter().map_err(said).and_then(|()| work())
    };
    std::thread::scope(|scope| scope.spawn(run).join())
        .map_err(|_| io::Error::other("the thread that writes settings panicked"))?
}
