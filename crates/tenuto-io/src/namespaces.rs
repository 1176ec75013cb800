//! Namespaces of the lab, so that the kernel cleans up after any death.
//!
//! `tenuto up` starts its supervisor with [`spawn_in_new_namespaces`]: as process 1 of a pid
//! namespace, with its own mounts and network, and its own user namespace when not root. Between
//! the two stays a *guardian*, the [`Child`] that is returned: it passes signals on, ends with the
//! supervisor's status, and takes everything with it when it is killed:
//!
//! ```text
//! tenuto up ── guardian ═╪═ supervisor (1) ── node (2)   each in its own network namespace
//!                        │                 └─ node (3)
//!              outside   │  inside
//! ```
//!
//! Each dies with its parent (PR_SET_PDEATHSIG), and with process 1 the kernel kills all inside.
//! The supervisor must handle SIGTERM and SIGINT: for process 1 of a namespace the kernel does not
//! apply the default of ending it. All programs start with no signal blocked, whatever the caller
//! has blocked for its [`crate::signals::SignalFd`]. `tenuto exec` enters through [`spawn_inside`].

use crate::sys::namespaces::{self as sys, Create, Entry, Failure, Join, Step};
use crate::sys::sandbox::Enclosure;
use crate::sys::task;
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

mod error;
mod rights;

pub use error::{EntryStep, SpawnError};
pub use rights::{NamespaceRefusal, Rights, namespace_rights};

/// What the lab's namespaces consist of; mount, pid, network, IPC and host name always.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabNamespaces {
    /// Also a user namespace, in which the present user is root and no other user exists: needed
    /// when not root.
    pub user: bool,
    /// An existing directory on which an empty file system is put, seen inside only.
    pub tmpfs: Option<PathBuf>,
}

impl LabNamespaces {
    fn entry(&self) -> io::Result<Entry> {
        let (user, group) = task::effective_ids();
        let map = |outside: u32| format!("0 {outside} 1\n").into_bytes();
        Ok(Entry::Create(Create {
            maps: self.user.then(|| (map(user), map(group))),
            flags: libc::CLONE_NEWNS
                | libc::CLONE_NEWPID
                | libc::CLONE_NEWNET
                | libc::CLONE_NEWIPC
                | libc::CLONE_NEWUTS,
            tmpfs: self.tmpfs.as_deref().map(c_path).transpose()?,
        }))
    }
}

/// Starts `command` as process 1 of new namespaces; returns its guardian.
///
/// Waiting for the guardian gives the exit status of the command (128 + n if signal n ended it),
/// and killing it kills all inside. Both also die with the calling *thread*: call it from one that
/// lives as long as the lab.
///
/// # Errors
///
/// Names the step that the kernel refused, or that the program could not be started.
pub fn spawn_in_new_namespaces(
    command: Command,
    namespaces: &LabNamespaces,
) -> Result<Child, SpawnError> {
    spawn(command, namespaces.entry().map_err(SpawnError::Prepare)?)
}

/// How a sandbox is entered: always user, mount, pid, network, IPC and host name namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxEntry {
    /// User and group outside that user 0 inside is; other users do not exist inside.
    pub user: u32,
    /// The group, likewise.
    pub group: u32,
    /// Control groups that it starts in: the files that take the id of a process.
    pub control_groups: Vec<PathBuf>,
    /// A descriptor that the command has too, under the same number; the others close.
    pub inherited: Option<RawFd>,
}

/// Starts `command` as process 1 of a sandbox's namespaces, as user 0 of them; returns its guardian,
/// as [`spawn_in_new_namespaces`] does. The guardian stays outside with the caller's rights; `command`
/// has only what it brings inside. The mounts are those of the caller until the command changes them.
///
/// # Errors
///
/// As [`spawn_in_new_namespaces`]; only root (of a user namespace that knows this user) may map
/// another user than itself.
pub fn spawn_in_sandbox(command: Command, entry: &SandboxEntry) -> Result<Child, SpawnError> {
    let map = |outside: u32| format!("0 {outside} 1\n").into_bytes();
    let groups = entry.control_groups.iter().map(|path| c_path(path)).collect::<io::Result<_>>();
    let groups = groups.map_err(SpawnError::Prepare)?;
    let maps = (map(entry.user), map(entry.group));
    let allowed = fs::read_to_string("/proc/self/setgroups").unwrap_or_default();
    let drops_groups = allowed.trim() != "deny";
    spawn(
        command,
        Entry::Enclose(Enclosure { maps, groups, drops_groups, inherited: entry.inherited }),
    )
}

/// Starts `command` in a network namespace of its own, otherwise as usual: a node of the lab.
///
/// The namespace exists when this returns, so that links can be moved into it by the child's id.
///
/// # Errors
///
/// As [`spawn_in_new_namespaces`]; CAP_SYS_ADMIN is needed, which process 1 of the lab has.
pub fn spawn_in_new_netns(command: Command) -> Result<Child, SpawnError> {
    spawn(command, Entry::NewNet)
}

/// Starts `command` in the network namespace of the process `pid`, otherwise as usual.
///
/// # Errors
///
/// As [`spawn_in_new_netns`], and when there is no such process.
pub fn spawn_in_netns_of(command: Command, pid: u32) -> Result<Child, SpawnError> {
    let namespace = netns_of(pid).map_err(SpawnError::Prepare)?;
    spawn(command, Entry::JoinNet(namespace))
}

/// Starts `command` in the lab from outside of it: in all namespaces of its `supervisor` (a pid as
/// seen here, see [`supervisor_of`]), and in the network namespace of `node` (a pid as seen in the
/// lab) if given. Returns a guardian, as [`spawn_in_new_namespaces`] does.
///
/// It stays in the present directory if that exists inside, and starts at the root otherwise.
///
/// # Errors
///
/// As [`spawn_in_new_namespaces`]; only root and the user who started the lab may enter.
pub fn spawn_inside(
    command: Command,
    supervisor: u32,
    node: Option<u32>,
) -> Result<Child, SpawnError> {
    let entry = join_entry(supervisor, node).map_err(SpawnError::Prepare)?;
    spawn(command, entry)
}

fn join_entry(supervisor: u32, node: Option<u32>) -> io::Result<Entry> {
    let process = sys::open_process(supervisor)?;
    let mut flags = libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS;
    let identity = |path: String| fs::metadata(path).map(|m| (m.dev(), m.ino()));
    // Joining the user namespace one is in is an error.
    if identity(format!("/proc/{supervisor}/ns/user"))? != identity("/proc/self/ns/user".into())? {
        flags |= libc::CLONE_NEWUSER;
    }
    let node_net = node.map(|pid| CString::new(format!("/proc/{pid}/ns/net")));
    let directory = std::env::current_dir().and_then(|path| c_path(&path)).ok();
    Ok(Entry::Join(Join { process, flags, node_net: node_net.transpose()?, directory }))
}

/// The supervisor that a guardian waits for, as a pid seen here.
///
/// # Errors
///
/// [`io::ErrorKind::NotFound`] when the guardian is gone or has no child.
pub fn supervisor_of(guardian: u32) -> io::Result<u32> {
    let wanted = format!("PPid:\t{guardian}");
    let processes = fs::read_dir("/proc")?.filter_map(Result::ok);
    let numbered = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_child = |pid: &u32| {
        fs::read_to_string(format!("/proc/{pid}/status"))
            .is_ok_and(|status| status.lines().any(|line| line == wanted))
    };
    numbered.into_iter().find(is_child).ok_or_else(|| {
        let text = format!("no process is the child of {guardian}: the lab is not running");
        io::Error::new(io::ErrorKind::NotFound, text)
    })
}

/// Runs `work` with this thread in the network namespace of the process `pid`.
///
/// Sockets and ports opened in it stay in that namespace. The thread is back when this returns.
///
/// # Errors
///
/// When there is no such process, or CAP_SYS_ADMIN over its network namespace is missing.
pub fn within_netns<T>(pid: u32, work: impl FnOnce() -> T) -> io::Result<T> {
    struct Return(OwnedFd);
    impl Drop for Return {
        fn drop(&mut self) {
            // Going on in a wrong namespace would touch the wrong network.
            sys::set_namespace(self.0.as_raw_fd(), libc::CLONE_NEWNET)
                .expect("a thread may return to the network namespace it came from");
        }
    }
    let there = netns_of(pid)?;
    let back = Return(File::open("/proc/thread-self/ns/net")?.into());
    sys::set_namespace(there.as_raw_fd(), libc::CLONE_NEWNET)?;
    let result = work();
    drop(back);
    Ok(result)
}

fn netns_of(pid: u32) -> io::Result<OwnedFd> {
    let path = format!("/proc/{pid}/ns/net");
    let open = File::open(&path);
    Ok(open.map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))?.into())
}

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

fn spawn(mut command: Command, entry: Entry) -> Result<Child, SpawnError> {
    let (mut reader, writer) = io::pipe().map_err(SpawnError::Prepare)?;
    sys::enter_before_exec(&mut command, entry, writer.into());
    let spawned = command.spawn();
    let program = PathBuf::from(command.get_program());
    // Closes the writing end, so that reading below ends.
    drop(command);
    let error = match spawned {
        Ok(child) => return Ok(child),
        Err(error) => error,
    };
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).map_err(SpawnError::Prepare)?;
    Err(match sys::read_failure(&bytes) {
        Some(failure) => SpawnError::from(failure),
        None => SpawnError::Program { program, error },
    })
}
