//! Entering the namespaces of a sandbox between fork and exec; async-signal-safe, as
//! [`super::namespaces`] says.
//!
//! The process that the hook runs in stays outside as the guardian. It keeps its rights, so that it
//! can map a user who is not the caller and put the sandbox into control groups; neither is possible
//! from inside. Its child is process 1 of the new namespaces, and waits until both are done:
//!
//! ```text
//! supervisor ── guardian ═╪═ process 1, which becomes `command`
//!                outside  │  inside
//! ```

use super::namespaces::{
    Failure, Step, close, exit_now, guard, raw_clone, read_failure, write_failure, write_file,
};
use super::{check, task};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::RawFd;

/// How a sandbox is entered.
pub(crate) struct Enclosure {
    /// Contents of uid_map and gid_map.
    pub(crate) maps: (Vec<u8>, Vec<u8>),
    /// Paths of the files of control groups that take the id of a process.
    pub(crate) groups: Vec<CString>,
    /// Whether supplementary groups can be given up; a user namespace may forbid that.
    pub(crate) drops_groups: bool,
    /// A descriptor that stays open when the command begins.
    pub(crate) inherited: Option<RawFd>,
}

const NAMESPACES: libc::c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS;

impl Enclosure {
    /// Enters; returns inside, as process 1. The caller becomes the guardian.
    pub(crate) fn enter(&self, parent: libc::pid_t) -> Result<(), Failure> {
        let death = Failure::at(Step::ParentDeath);
        die_with_parent().map_err(&death)?;
        // SAFETY: takes no argument and cannot fail. Needed: std's may not be async-signal-safe.
        if unsafe { libc::getppid() } != parent {
            exit_now(1);
        }
        let fork = Failure::at(Step::Fork);
        let (go, life) = (pipe().map_err(&fork)?, pipe().map_err(&fork)?);
        task::block_all_signals();
        let child = raw_clone(NAMESPACES).map_err(Failure::at(Step::Namespaces))?;
        if child != 0 {
            close(go[0]);
            let prepared = self.prepare(child);
            // A child that learns nothing ends.
            match prepared {
                Ok(()) => write_go(go[1]),
                Err(failure) => write_failure(go[1], failure),
            }
            close(go[1]);
            guard(child, life[1]);
        }
        close(go[1]);
        close(life[1]);
        wait_for_go(go[0])?;
        become_root(self.drops_groups).map_err(Failure::at(Step::Identity))?;
        // After the change of user, which clears it.
        die_with_parent().map_err(&death)?;
        let mut seen = [libc::pollfd { fd: life[0], events: 0, revents: 0 }];
        if super::time::ppoll(&mut seen, Some(0)).map_err(&death)? != 0 {
            exit_now(1);
        }
        close(life[0]);
        self.inherited.map_or(Ok(()), stays_open).map_err(Failure::at(Step::Identity))?;
        task::unblock_all_signals();
        Ok(())
    }

    /// What only the guardian may do for its child.
    fn prepare(&self, child: libc::pid_t) -> Result<(), Failure> {
        let digits = Digits::of(child);
        for group in &self.groups {
            write_file(group, digits.bytes()).map_err(Failure::at(Step::ControlGroup))?;
        }
        let maps = Failure::at(Step::UserMaps);
        let mut path = [0; 40];
        let (users, groups) = &self.maps;
        write_file(path_of(&mut path, &digits, b"/uid_map\0"), users).map_err(&maps)?;
        write_file(path_of(&mut path, &digits, b"/gid_map\0"), groups).map_err(&maps)
    }
}

/// `/proc/ID/NAME` without allocation; `name` ends in a zero.
fn path_of<'a>(buffer: &'a mut [u8; 40], digits: &Digits, name: &[u8]) -> &'a CStr {
    let parts = [b"/proc/".as_slice(), digits.bytes(), name];
    let bytes = parts.into_iter().flatten().copied();
    buffer.iter_mut().zip(bytes).for_each(|(target, byte)| *target = byte);
    CStr::from_bytes_until_nul(buffer).unwrap_or(c"/proc/none")
}

/// A process id in decimal digits.
struct Digits {
    buffer: [u8; 10],
    start: usize,
}

impl Digits {
    fn of(pid: libc::pid_t) -> Self {
        let (mut rest, mut digits) = (pid.unsigned_abs(), Self { buffer: [b'0'; 10], start: 10 });
        while digits.start > 0 && (rest > 0 || digits.start == 10) {
            digits.start -= 1;
            digits.buffer[digits.start] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            rest /= 10;
        }
        digits
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..]
    }
}

/// Five zeros: no step has the number 0.
fn write_go(to: RawFd) {
    let bytes = [0_u8; 5];
    // SAFETY: `bytes` is a live buffer of that length. Needed: std's write is not specified to be
    // async-signal-safe. A child that learns nothing ends.
    unsafe { libc::write(to, bytes.as_ptr().cast(), bytes.len()) };
}

fn wait_for_go(from: RawFd) -> Result<(), Failure> {
    let mut bytes = [0; 5];
    // SAFETY: `bytes` has room for that length. Needed: std's read is not specified to be
    // async-signal-safe. A pipe gives these few bytes at once or none.
    let read = unsafe { libc::read(from, bytes.as_mut_ptr().cast(), bytes.len()) };
    close(from);
    if read != 5 {
        exit_now(1);
    }
    match read_failure(&bytes) {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

/// User and group 0 of the new user namespace, no other groups.
fn become_root(drops_groups: bool) -> io::Result<()> {
    // By system calls: those of the C library would tell other threads, which a forked child lacks.
    if drops_groups {
        let none = std::ptr::null::<libc::gid_t>();
        // SAFETY: no groups, hence no pointer is read. Needed: std has no such call.
        let result = unsafe { libc::syscall(libc::SYS_setgroups, 0, none) };
        check(libc::c_int::try_from(result).unwrap_or(-1))?;
    }
    // SAFETY: no pointers are passed. Needed: std has no such call.
    let result = unsafe { libc::syscall(libc::SYS_setresgid, 0, 0, 0) };
    check(libc::c_int::try_from(result).unwrap_or(-1))?;
    // SAFETY: no pointers are passed. Needed: std has no such call.
    let result = unsafe { libc::syscall(libc::SYS_setresuid, 0, 0, 0) };
    check(libc::c_int::try_from(result).unwrap_or(-1))?;
    Ok(())
}

/// Keeps a descriptor open when a program begins.
fn stays_open(fd: RawFd) -> io::Result<()> {
    // SAFETY: F_SETFD takes a number and touches no memory. Needed: std has no such call.
    check(unsafe { libc::fcntl(fd, libc::F_SETFD, 0) }).map(drop)
}

fn die_with_parent() -> io::Result<()> {
    task::prctl(libc::PR_SET_PDEATHSIG, libc::c_ulong::try_from(libc::SIGKILL).unwrap_or(9))
}

fn pipe() -> io::Result<[RawFd; 2]> {
    let mut ends = [-1; 2];
    // SAFETY: `ends` has room for two descriptors. Needed: std's pipe is not specified to be
    // async-signal-safe.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    Ok(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_become_paths() {
        for (pid, path) in [(1, c"/proc/1/uid_map"), (i32::MAX, c"/proc/2147483647/uid_map")] {
            assert_eq!(path_of(&mut [0; 40], &Digits::of(pid), b"/uid_map\0"), path);
        }
        assert_eq!(Digits::of(0).bytes(), b"0");
    }
}
