//! Entering namespaces between fork and exec.
//!
//! Everything called after a fork here is async-signal-safe: no allocation, no locks, no
//! formatting; all strings are made before. The forks are raw `clone` calls, because the child
//! never runs anything but system calls and an exec, and handlers of the C library for forks may
//! take locks that another thread held.

use super::{check, task};
use std::ffi::{CStr, CString};
use std::io::{self, Read};
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The step of entering that failed; its number crosses the pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Step {
    UserNamespace = 1,
    UserMaps,
    Namespaces,
    JoinNamespaces,
    JoinNode,
    ParentDeath,
    Fork,
    PrivateMounts,
    MountProc,
    MountTmpfs,
    Identity,
    ControlGroup,
}

impl Step {
    const ALL: [Self; 12] = [
        Self::UserNamespace,
        Self::UserMaps,
        Self::Namespaces,
        Self::JoinNamespaces,
        Self::JoinNode,
        Self::ParentDeath,
        Self::Fork,
        Self::PrivateMounts,
        Self::MountProc,
        Self::MountTmpfs,
        Self::Identity,
        Self::ControlGroup,
    ];

    fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|step| *step as u8 == number)
    }
}

/// A failed step and the kernel's reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) step: Step,
    pub(crate) errno: i32,
}

impl Failure {
    pub(super) fn at(step: Step) -> impl Fn(io::Error) -> Self {
        move |error| Self { step, errno: error.raw_os_error().unwrap_or(libc::EIO) }
    }
}

/// How a forked child gets to where its program runs.
pub(crate) enum Entry {
    /// New namespaces, in which it is process 1.
    Create(Create),
    /// The namespaces of a sandbox, in which it is process 1.
    Enclose(super::sandbox::Enclosure),
    /// The namespaces of another process.
    Join(Join),
    /// A network namespace of its own, nothing else; no second process.
    NewNet,
    /// The network namespace behind a descriptor, nothing else; no second process.
    JoinNet(OwnedFd),
}

pub(crate) struct Create {
    /// Contents of uid_map and gid_map, when a user namespace is wanted.
    pub(crate) maps: Option<(Vec<u8>, Vec<u8>)>,
    /// CLONE_NEW... flags beside CLONE_NEWUSER.
    pub(crate) flags: libc::c_int,
    /// A directory to put an empty file system on.
    pub(crate) tmpfs: Option<CString>,
}

pub(crate) struct Join {
    pub(crate) process: OwnedFd,
    /// CLONE_NEW... flags of the namespaces to join.
    pub(crate) flags: libc::c_int,
    /// Path, inside the joined mount namespace, of a further network namespace.
    pub(crate) node_net: Option<CString>,
    /// Where to go afterwards, if it exists there: joining a mount namespace leads to its root.
    pub(crate) directory: Option<CString>,
}

/// Makes `command` enter before its program runs; a failure is also written to `report`.
pub(crate) fn enter_before_exec(command: &mut Command, entry: Entry, report: OwnedFd) {
    let parent = parent_id();
    let hook = move || {
        let entered = entry.enter(parent).map_err(|failure| {
            write_failure(report.as_raw_fd(), failure);
            io::Error::from_raw_os_error(failure.errno)
        });
        task::unblock_all_signals();
        entered
    };
    // SAFETY: the hook, and all it calls, is async-signal-safe as the module says. Needed: joining
    // namespaces must happen in the child, before the program, and std offers only this place.
    unsafe { command.pre_exec(hook) };
}

/// Tries an entry in a child that then ends; nothing of this process changes.
pub(crate) fn try_entry(entry: &Entry) -> io::Result<Result<(), Failure>> {
    let (mut reader, writer) = io::pipe()?;
    let parent = parent_id();
    let child = raw_fork()?;
    if child == 0 {
        let failed = entry.enter(parent).map_err(|f| write_failure(writer.as_raw_fd(), f)).is_err();
        exit_now(libc::c_int::from(failed));
    }
    drop(writer);
    let status = wait_for(child)?;
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    match (read_failure(&bytes), status) {
        (Some(failure), _) => Ok(Err(failure)),
        (None, 0) => Ok(Ok(())),
        (None, status) => Err(io::Error::other(format!("the probing child ended with {status}"))),
    }
}

pub(super) fn write_failure(report: RawFd, failure: Failure) {
    let [a, b, c, d] = failure.errno.to_ne_bytes();
    let bytes = [failure.step as u8, a, b, c, d];
    // SAFETY: `bytes` is a live buffer of that length. Needed: std's write is not specified to be
    // async-signal-safe. A failed write loses the explanation only.
    unsafe { libc::write(report, bytes.as_ptr().cast(), bytes.len()) };
}

/// What [`enter_before_exec`] wrote to its report, if anything.
pub(crate) fn read_failure(bytes: &[u8]) -> Option<Failure> {
    let [step, errno @ ..] = *bytes.first_chunk::<5>()?;
    Some(Failure { step: Step::from_number(step)?, errno: i32::from_ne_bytes(errno) })
}

impl Entry {
    /// Enters; async-signal-safe. For all but the simple entries the caller goes on as a *child*
    /// of itself, while the caller proper waits for it and never returns.
    fn enter(&self, parent: libc::pid_t) -> Result<(), Failure> {
        match self {
            Self::NewNet => unshare(libc::CLONE_NEWNET).map_err(Failure::at(Step::Namespaces)),
            Self::JoinNet(fd) => set_namespace(fd.as_raw_fd(), libc::CLONE_NEWNET)
                .map_err(Failure::at(Step::JoinNode)),
            Self::Enclose(enclosure) => enclosure.enter(parent),
            Self::Create(create) => {
                create.unshare()?;
                continue_in_child(parent)?;
                create.mount()
            }
            Self::Join(join) => {
                join.set_namespaces()?;
                continue_in_child(parent)
            }
        }
    }
}

impl Create {
    fn unshare(&self) -> Result<(), Failure> {
        if let Some((user_map, group_map)) = &self.maps {
            unshare(libc::CLONE_NEWUSER).map_err(Failure::at(Step::UserNamespace))?;
            // The kernel wants setgroups denied before an unprivileged gid_map.
            write_file(c"/proc/self/setgroups", b"deny")
                .and_then(|()| write_file(c"/proc/self/uid_map", user_map))
                .and_then(|()| write_file(c"/proc/self/gid_map", group_map))
                .map_err(Failure::at(Step::UserMaps))?;
        }
        unshare(self.flags).map_err(Failure::at(Step::Namespaces))
    }

    fn mount(&self) -> Result<(), Failure> {
        let quiet = libc::MS_NOSUID | libc::MS_NODEV;
        mount(c"none", c"/", c"none", libc::MS_REC | libc::MS_PRIVATE)
            .map_err(Failure::at(Step::PrivateMounts))?;
        mount(c"proc", c"/proc", c"proc", quiet | libc::MS_NOEXEC)
            .map_err(Failure::at(Step::MountProc))?;
        let Some(directory) = &self.tmpfs else { return Ok(()) };
        mount(c"tmpfs", directory, c"tmpfs", quiet).map_err(Failure::at(Step::MountTmpfs))
    }
}

impl Join {
    fn set_namespaces(&self) -> Result<(), Failure> {
        // One call for all: the kernel takes the user namespace first, which allows the others.
        set_namespace(self.process.as_raw_fd(), self.flags)
            .map_err(Failure::at(Step::JoinNamespaces))?;
        if let Some(path) = &self.node_net {
            open_file(path, libc::O_RDONLY)
                .and_then(|fd| set_namespace(fd.as_raw_fd(), libc::CLONE_NEWNET))
                .map_err(Failure::at(Step::JoinNode))?;
        }
        if let Some(directory) = &self.directory {
            // SAFETY: `directory` is a valid C string. Needed: std's may allocate. A directory
            // that is not there is no error: the program then starts at the root.
            unsafe { libc::chdir(directory.as_ptr()) };
        }
        Ok(())
    }
}

/// Forks: the child returns, this process stays behind as its guardian (see [`guard`]).
///
/// A process enters a new pid namespace by its children only. The child dies with the guardian,
/// and the guardian with the process that started it.
fn continue_in_child(parent: libc::pid_t) -> Result<(), Failure> {
    let death = Failure::at(Step::ParentDeath);
    let kill = libc::c_ulong::try_from(libc::SIGKILL).unwrap_or(9);
    // After joining a user namespace, which clears it.
    task::prctl(libc::PR_SET_PDEATHSIG, kill).map_err(&death)?;
    // SAFETY: takes no argument and cannot fail. Needed: std's may not be async-signal-safe.
    if unsafe { libc::getppid() } != parent {
        exit_now(1);
    }
    let mut life = [-1; 2];
    // SAFETY: `life` has room for two descriptors. Needed: std's pipe is not specified to be
    // async-signal-safe.
    check(unsafe { libc::pipe2(life.as_mut_ptr(), libc::O_CLOEXEC) })
        .map_err(Failure::at(Step::Fork))?;
    task::block_all_signals();
    let child = raw_fork().map_err(Failure::at(Step::Fork))?;
    if child != 0 {
        guard(child, life[1]);
    }
    task::prctl(libc::PR_SET_PDEATHSIG, kill).map_err(&death)?;
    close(life[1]);
    // A guardian that died before the line above closed the other end: nobody would kill us.
    let mut seen = [libc::pollfd { fd: life[0], events: 0, revents: 0 }];
    if super::time::ppoll(&mut seen, Some(0)).map_err(&death)? != 0 {
        exit_now(1);
    }
    close(life[0]);
    task::unblock_all_signals();
    Ok(())
}

/// Waits for `child` and ends as it does; passes on every signal that a process has sent.
///
/// Signals of the terminal go to the whole group, the child included, so they are not passed on.
/// Keeps no descriptor but `life`, so that pipes of the child close with it.
pub(super) fn guard(child: libc::pid_t, life: RawFd) -> ! {
    let life = libc::c_uint::try_from(life).unwrap_or(0);
    if life > 0 {
        close_range(0, life - 1);
    }
    close_range(life + 1, libc::c_uint::MAX);
    // Only a name: a failure does not matter.
    let _ = task::set_name(c"tenuto-guard");
    loop {
        let (signal, sent_by_process) = wait_signal();
        if signal == libc::SIGCHLD {
            if let Some(status) = ended(child) {
                exit_now(status);
            }
        } else if sent_by_process {
            // A child that ended meanwhile is found by its SIGCHLD.
            let _ = task::send_signal(child, signal);
        }
    }
}

/// Exit status of `child` if it has ended: as a shell reports it, 128 + n for signal n.
fn ended(child: libc::pid_t) -> Option<libc::c_int> {
    let mut status = 0;
    // SAFETY: `status` is a live int. Needed: the child is not of std's making.
    let found = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
    (found == child).then(|| shell_status(status))
}

pub(super) fn shell_status(status: libc::c_int) -> libc::c_int {
    if libc::WIFSIGNALED(status) { 128 + libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) }
}

fn wait_for(child: libc::pid_t) -> io::Result<libc::c_int> {
    loop {
        let mut status = 0;
        // SAFETY: `status` is a live int. Needed: the child is not of std's making.
        match check(unsafe { libc::waitpid(child, &raw mut status, 0) }) {
            Ok(_) => return Ok(shell_status(status)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Waits for any signal; also tells whether a process sent it (and not the kernel).
fn wait_signal() -> (libc::c_int, bool) {
    let all = task::every_signal();
    // SAFETY: all-zero is a valid siginfo_t. Needed: it has no constructor.
    let mut info: libc::siginfo_t = unsafe { zeroed() };
    // SAFETY: `all` and `info` are live. Needed: std has no signals.
    let signal = unsafe { libc::sigwaitinfo(&raw const all, &raw mut info) };
    (signal, signal > 0 && info.si_code <= 0)
}

/// A fork without the C library's handlers; the child may only make system calls and exec.
fn raw_fork() -> io::Result<libc::pid_t> {
    raw_clone(0)
}

/// As [`raw_fork`], the child in new namespaces (CLONE_NEW... flags).
pub(super) fn raw_clone(namespaces: libc::c_int) -> io::Result<libc::pid_t> {
    let none: libc::c_long = 0;
    let flags = libc::c_long::from(libc::SIGCHLD | namespaces);
    // SAFETY: without CLONE_VM the child has its own copy of the memory, stack included, and
    // without other flags no pointer is used. Needed: see the module.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) };
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(libc::pid_t::try_from(child).unwrap_or(libc::pid_t::MAX))
}

pub(super) fn exit_now(status: libc::c_int) -> ! {
    // SAFETY: ends this process at once, as is right in a forked child. Needed: std's exit runs
    // handlers that belong to the parent.
    unsafe { libc::_exit(status) }
}

/// The id of this process, as its children see their parent.
fn parent_id() -> libc::pid_t {
    libc::pid_t::try_from(std::process::id()).expect("a pid is a pid_t")
}

pub(crate) fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: no pointers are passed. Needed: std has no namespaces.
    check(unsafe { libc::unshare(flags) })?;
    Ok(())
}

/// Moves the calling thread into namespaces given by a descriptor.
pub(crate) fn set_namespace(fd: RawFd, flags: libc::c_int) -> io::Result<()> {
    // SAFETY: no pointers are passed. Needed: std has no namespaces.
    check(unsafe { libc::setns(fd, flags) })?;
    Ok(())
}

/// A descriptor for a process, which stays valid should its id be given to another.
pub(crate) fn open_process(pid: u32) -> io::Result<OwnedFd> {
    let none: libc::c_uint = 0;
    // SAFETY: no pointers are passed. Needed: std opens descriptors of its own children only.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, libc::c_ulong::from(pid), none) };
    super::own(RawFd::try_from(fd).map_err(io::Error::other)?)
}

fn mount(source: &CStr, target: &CStr, kind: &CStr, flags: libc::c_ulong) -> io::Result<()> {
    let data = std::ptr::null();
    let (source, target, kind) = (source.as_ptr(), target.as_ptr(), kind.as_ptr());
    // SAFETY: three valid C strings and no data. Needed: std has no mounts.
    check(unsafe { libc::mount(source, target, kind, flags, data) })?;
    Ok(())
}

pub(super) fn open_file(path: &CStr, flags: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: `path` is a valid C string. Needed: std's open may allocate.
    let fd = check(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) })?;
    // SAFETY: freshly opened and owned by nobody else. Needed: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(super) fn write_file(path: &CStr, contents: &[u8]) -> io::Result<()> {
    let file = open_file(path, libc::O_WRONLY)?;
    // SAFETY: `contents` is a live buffer of that length. Needed: std's write is not specified to
    // be async-signal-safe.
    let written =
        unsafe { libc::write(file.as_raw_fd(), contents.as_ptr().cast(), contents.len()) };
    if written < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

pub(super) fn close(fd: RawFd) {
    // SAFETY: the callers own the descriptor and do not use it again. Needed: it has no owner
    // type, as it must not be closed in the other process.
    unsafe { libc::close(fd) };
}

fn close_range(first: libc::c_uint, last: libc::c_uint) {
    let none: libc::c_uint = 0;
    // SAFETY: the guardian uses no descriptor of that range again. Needed: std does not know them.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, none) };
}
