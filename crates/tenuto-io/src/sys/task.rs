//! Properties of the calling thread and process: signals, scheduling, memory.

use super::{check, own};
use std::ffi::CStr;
use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// `prctl` with one integer argument; async-signal-safe.
pub(crate) fn prctl(option: libc::c_int, value: libc::c_ulong) -> io::Result<()> {
    let none: libc::c_ulong = 0;
    // SAFETY: the callers pass options whose argument is an integer. Needed: std has no prctl.
    check(unsafe { libc::prctl(option, value, none, none, none) })?;
    Ok(())
}

/// Names the calling thread, as `ps` and `top` show it; async-signal-safe.
pub(crate) fn set_name(name: &CStr) -> io::Result<()> {
    // SAFETY: PR_SET_NAME reads a terminated string, of which it keeps 15 bytes. Needed: as above.
    check(unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) })?;
    Ok(())
}

/// The timer slack of the calling thread.
pub(crate) fn timer_slack_ns() -> io::Result<libc::c_int> {
    // SAFETY: PR_GET_TIMERSLACK takes no argument. Needed: as above.
    check(unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) })
}

/// The calling thread, where a thread is asked for.
pub(crate) const THIS_THREAD: libc::pid_t = 0;

/// SCHED_FIFO for a thread; the threads that it starts are scheduled as usual.
pub(crate) fn schedule_fifo(thread: libc::pid_t, priority: libc::c_int) -> io::Result<()> {
    schedule(thread, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, priority)
}

/// The usual scheduling for a thread.
pub(crate) fn schedule_other(thread: libc::pid_t) -> io::Result<()> {
    schedule(thread, libc::SCHED_OTHER, 0)
}

/// The nice value of a thread that is scheduled as usual.
pub(crate) fn set_nice(thread: libc::pid_t, nice: libc::c_int) -> io::Result<()> {
    let thread = libc::id_t::try_from(thread).map_err(io::Error::other)?;
    // SAFETY: no pointers are passed. Needed: std schedules nothing.
    check(unsafe { libc::setpriority(libc::PRIO_PROCESS, thread, nice) })?;
    Ok(())
}

fn schedule(thread: libc::pid_t, how: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: `parameters` is a live sched_param. Needed: std schedules nothing.
    check(unsafe { libc::sched_setscheduler(thread, how, &raw const parameters) })?;
    Ok(())
}

/// Keeps present and future pages of the process in memory.
pub(crate) fn lock_memory() -> io::Result<()> {
    // SAFETY: no pointers are passed. Needed: std has no mlockall.
    check(unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) })?;
    Ok(())
}

/// No lists of unjoined pieces, and nothing given back to the kernel.
pub(crate) fn steady_allocation() {
    #[cfg(target_env = "gnu")]
    for (setting, value) in [(libc::M_MXFAST, 0), (libc::M_TRIM_THRESHOLD, libc::c_int::MAX)] {
        // SAFETY: no pointers are passed, and mallopt may be called at any time. Needed: std has no
        // settings of the allocator. It refuses only what it does not know, and changes nothing then.
        unsafe { libc::mallopt(setting, value) };
    }
}

/// Lets the kernel do with the pages of the process as it likes again.
pub(crate) fn unlock_memory() -> io::Result<()> {
    // SAFETY: no pointers are passed. Needed: std has no munlockall.
    check(unsafe { libc::munlockall() })?;
    Ok(())
}

/// Runs a thread on the processors of `set` only.
pub(crate) fn set_affinity(thread: libc::pid_t, set: &[usize]) -> io::Result<()> {
    // SAFETY: all-zero is an empty cpu_set_t. Needed: it has no constructor.
    let mut mask: libc::cpu_set_t = unsafe { zeroed() };
    for &processor in set {
        if processor >= libc::CPU_SETSIZE as usize {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        // SAFETY: `processor` is within the mask. Needed: the mask's words are private to libc.
        unsafe { libc::CPU_SET(processor, &mut mask) };
    }
    let bytes = size_of::<libc::cpu_set_t>();
    // SAFETY: `mask` is a live cpu_set_t of that size. Needed: std has no affinity.
    check(unsafe { libc::sched_setaffinity(thread, bytes, &raw const mask) })?;
    Ok(())
}

/// The processors that the calling thread may run on.
pub(crate) fn affinity() -> io::Result<Vec<usize>> {
    // SAFETY: all-zero is an empty cpu_set_t. Needed: it has no constructor.
    let mut mask: libc::cpu_set_t = unsafe { zeroed() };
    // SAFETY: `mask` is a live cpu_set_t of that size. Needed: std tells the number only.
    check(unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut mask) })?;
    // SAFETY: the processors asked for are within the mask. Needed: as above.
    let allowed = |&processor: &usize| unsafe { libc::CPU_ISSET(processor, &mask) };
    Ok((0..libc::CPU_SETSIZE as usize).filter(allowed).collect())
}

/// The effective user and group of the process.
pub(crate) fn effective_ids() -> (libc::uid_t, libc::gid_t) {
    // SAFETY: takes no argument and cannot fail. Needed: std does not tell.
    let user = unsafe { libc::geteuid() };
    // SAFETY: takes no argument and cannot fail. Needed: std does not tell.
    let group = unsafe { libc::getegid() };
    (user, group)
}

/// A set of the given signals.
fn signal_set(signals: &[libc::c_int]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises the set. Needed: a sigset_t has no other constructor.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: initialised by the call above. Needed: as above.
    let mut set = unsafe { set.assume_init() };
    for &signal in signals {
        // SAFETY: `set` is a live set; an invalid number is refused. Needed: as above.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    set
}

/// Blocks the signals in the calling thread and makes a descriptor that reads them.
pub(crate) fn signal_descriptor(signals: &[libc::c_int]) -> io::Result<OwnedFd> {
    let set = signal_set(signals);
    // SAFETY: `set` is a live set, the old one is not asked for. Needed: std has no signal masks.
    let result =
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
    if result != 0 {
        return Err(io::Error::from_raw_os_error(result));
    }
    // SAFETY: `set` is a live set. Needed: std has no signalfd.
    own(unsafe { libc::signalfd(-1, &raw const set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC) })
}

/// All signals; async-signal-safe, as are the two below.
pub(crate) fn every_signal() -> libc::sigset_t {
    let mut set = signal_set(&[]);
    // SAFETY: `set` is a live set. Needed: a sigset_t has no other constructor.
    unsafe { libc::sigfillset(&raw mut set) };
    set
}

/// Blocks every signal that can be blocked, in a process with a single thread.
pub(crate) fn block_all_signals() {
    set_signal_mask(&every_signal());
}

/// Blocks no signal any more, in a process with a single thread.
pub(crate) fn unblock_all_signals() {
    set_signal_mask(&signal_set(&[]));
}

fn set_signal_mask(mask: &libc::sigset_t) {
    // SAFETY: `mask` is live, the old one is not asked for. Needed: std has no signal masks.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) };
}

/// Makes `command` start with no signal blocked.
pub(crate) fn unblock_before_exec(command: &mut Command) {
    let hook = || {
        unblock_all_signals();
        Ok(())
    };
    // SAFETY: the hook makes one system call and is async-signal-safe. Needed: std passes the mask
    // of the parent on, and offers only this place to change it.
    unsafe { command.pre_exec(hook) };
}

/// Sends a signal to a process.
pub(crate) fn send_signal(pid: libc::pid_t, signal: libc::c_int) -> io::Result<()> {
    // SAFETY: no pointers are passed. Needed: std's kill() sends SIGKILL only.
    check(unsafe { libc::kill(pid, signal) })?;
    Ok(())
}
