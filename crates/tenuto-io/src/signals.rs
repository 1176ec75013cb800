//! Signals as a descriptor, to be waited on beside frames and timers.

use crate::sys::task;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::process::Command;

/// The signals that a node or the lab's supervisor reacts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM: a polite end.
    Terminate,
    /// SIGHUP: the terminal is gone.
    HangUp,
    /// SIGCHLD: a child ended, stopped or went on.
    Child,
    /// SIGUSR1.
    User1,
    /// SIGUSR2.
    User2,
    /// SIGWINCH: the terminal has another size.
    WindowChange,
}

impl Signal {
    const ALL: [Self; 7] = [
        Self::Interrupt,
        Self::Terminate,
        Self::HangUp,
        Self::Child,
        Self::User1,
        Self::User2,
        Self::WindowChange,
    ];

    /// The kernel's number.
    pub const fn number(self) -> i32 {
        match self {
            Self::Interrupt => libc::SIGINT,
            Self::Terminate => libc::SIGTERM,
            Self::HangUp => libc::SIGHUP,
            Self::Child => libc::SIGCHLD,
            Self::User1 => libc::SIGUSR1,
            Self::User2 => libc::SIGUSR2,
            Self::WindowChange => libc::SIGWINCH,
        }
    }

    /// Sends this signal to the process `pid` of the present pid namespace.
    ///
    /// # Errors
    ///
    /// When there is no such process, or it belongs to somebody else.
    pub fn send(self, pid: u32) -> io::Result<()> {
        let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
        // Zero would be the sender's whole process group.
        if pid == 0 {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        task::send_signal(pid, self.number())
    }
}

/// Makes `command` start with no signal blocked, so that it can be interrupted and ended as usual.
///
/// The functions of [`crate::namespaces`] do so themselves.
pub fn unblock_in(command: &mut Command) {
    task::unblock_before_exec(command);
}

/// A descriptor that is readable while one of its signals is pending.
///
/// The signals stay blocked in the thread that made it, and in threads started later; make it
/// before any other thread, or they are delivered there in the old way. Programs that are started
/// inherit the blocked signals too: see [`unblock_in`].
pub struct SignalFd {
    file: File,
}

/// `struct signalfd_siginfo` of <linux/signalfd.h>: 128 bytes, the signal's number first.
const RECORD_BYTES: usize = 128;

impl SignalFd {
    /// Blocks `signals` in this thread and reads them from now on.
    ///
    /// # Errors
    ///
    /// When the process has no descriptors left.
    pub fn new(signals: &[Signal]) -> io::Result<Self> {
        let numbers: Vec<_> = signals.iter().map(|signal| signal.number()).collect();
        Ok(Self { file: File::from(task::signal_descriptor(&numbers)?) })
    }

    /// The next pending signal; never blocks. Several of one kind may have become one.
    ///
    /// # Errors
    ///
    /// Those of the kernel.
    pub fn next_pending(&mut self) -> io::Result<Option<Signal>> {
        let mut record = [0; RECORD_BYTES];
        match self.file.read_exact(&mut record) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        }
        let number = i32::from_ne_bytes(*record.first_chunk().expect("128 bytes"));
        Ok(Signal::ALL.into_iter().find(|signal| signal.number() == number))
    }
}

impl AsRawFd for SignalFd {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}
