//! What a thread can ask of the kernel for being served in time, and what it was refused.
//!
//! All of it concerns the calling thread, memory locking the whole process. Nothing here is needed
//! for correctness: `doctor` says which of it works, and the bounds' host allowance shows the rest.

use crate::sys::{task, time};
use std::ffi::CString;
use std::{fmt, io};
use tenuto_units::Span;

/// Why a request was not granted.
#[derive(Debug)]
pub enum Refusal {
    /// The process may not; `remedy` says what would allow it.
    NotPermitted {
        /// What to do.
        remedy: &'static str,
    },
    /// The kernel has another reason.
    Failed(io::Error),
}

impl Refusal {
    fn new(error: io::Error, remedy: &'static str) -> Self {
        match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES | libc::ENOMEM) => Self::NotPermitted { remedy },
            _ => Self::Failed(error),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPermitted { remedy } => write!(f, "not permitted: {remedy}"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}

/// Lets the kernel delay timers of this thread by at most `slack`, at least 1 ns (usual: 50 us).
///
/// # Errors
///
/// Those of `prctl`; none are known for a valid slack.
pub fn set_timer_slack(slack: Span) -> io::Result<()> {
    // Zero would mean the default.
    task::prctl(libc::PR_SET_TIMERSLACK, slack.as_ns().max(1))
}

/// The timer slack of this thread.
///
/// # Errors
///
/// Those of `prctl`; none are known.
pub fn timer_slack() -> io::Result<Span> {
    Ok(Span::from_ns(u64::try_from(task::timer_slack_ns()?).unwrap_or(0)))
}

/// Runs this thread under SCHED_FIFO at `priority`, 1 to 99; threads that it starts are as usual.
///
/// A thread that spins so is stopped for the rest of each second after [`fifo_budget`] if others
/// want its processor; see [`crate::PortWait::resting_within`].
///
/// # Errors
///
/// Where the process may not, with what would allow it; inside a user namespace it never may.
pub fn try_fifo(priority: u8) -> Result<(), Refusal> {
    const REMEDY: &str = "run with CAP_SYS_NICE (setcap cap_sys_nice+ep PROGRAM), or raise \
        RLIMIT_RTPRIO (ulimit -r 50); in a version 1 cpu cgroup also write its share to \
        cpu.rt_runtime_us (a new one has 0)";
    task::schedule_fifo(task::THIS_THREAD, libc::c_int::from(priority))
        .map_err(|error| Refusal::new(error, REMEDY))
}

/// Keeps all present and future memory of the process resident.
///
/// # Errors
///
/// Where the process may not, with what would allow it.
pub fn try_lock_memory() -> Result<(), Refusal> {
    const REMEDY: &str = "run with CAP_IPC_LOCK (setcap cap_ipc_lock+ep PROGRAM), or raise \
        RLIMIT_MEMLOCK (ulimit -l unlimited)";
    task::lock_memory().map_err(|error| Refusal::new(error, REMEDY))
}

/// Takes [`try_lock_memory`] back.
///
/// # Errors
///
/// Those of the kernel; none are known.
pub fn unlock_memory() -> io::Result<()> {
    task::unlock_memory()
}

/// Has the allocator of the process do its work at once and keep what it has: glibc otherwise lets
/// small free pieces gather and joins a hundred thousand of them in one call (5 ms), and gives large
/// ones back to the kernel while somebody waits. Other allocators are left as they are.
pub fn steady_allocation() {
    task::steady_allocation();
}

/// How much of each period real-time threads may run; `None` when they are not limited.
///
/// # Errors
///
/// When the sysctls are missing or unreadable.
pub fn fifo_budget() -> io::Result<Option<(Span, Span)>> {
    let read = |name: &str| -> io::Result<i64> {
        let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}"))?;
        text.trim().parse().map_err(io::Error::other)
    };
    let (runtime, period) = (read("sched_rt_runtime_us")?, read("sched_rt_period_us")?);
    let span = |us: i64| u64::try_from(us).ok().map(Span::from_us);
    Ok(span(runtime).zip(span(period)).filter(|(runtime, period)| runtime < period))
}

/// Leaves SCHED_FIFO: this thread is scheduled like any other again.
///
/// # Errors
///
/// Those of the kernel; none are known.
pub fn leave_fifo() -> io::Result<()> {
    task::schedule_other(task::THIS_THREAD)
}

/// Processor time that this thread has used so far.
pub fn thread_processor_time() -> Span {
    Span::from_ns(time::thread_processor_ns())
}

/// The processors that this thread may run on.
///
/// # Errors
///
/// Those of `sched_getaffinity`; none are known up to 1024 processors.
pub fn allowed_processors() -> io::Result<Vec<usize>> {
    task::affinity()
}

/// Runs this thread on the given processors only.
///
/// # Errors
///
/// When none of them exists or is allowed.
pub fn pin_to(processors: &[usize]) -> io::Result<()> {
    task::set_affinity(task::THIS_THREAD, processors)
}

/// Names this thread in `ps` and `top`; the kernel keeps 15 bytes.
///
/// # Errors
///
/// When the name contains a zero byte.
pub fn set_thread_name(name: &str) -> io::Result<()> {
    task::set_name(&CString::new(name)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timer_slack_is_kept_per_thread() {
        set_timer_slack(Span::ZERO).expect("allowed to all");
        assert_eq!(timer_slack().expect("readable"), Span::from_ns(1));
    }

    #[test]
    fn a_thread_can_be_pinned_to_one_of_its_processors() {
        let allowed = allowed_processors().expect("readable");
        pin_to(&allowed[..1]).expect("one of the allowed");
        assert_eq!(allowed_processors().expect("readable"), allowed[..1]);
        assert!(pin_to(&[]).is_err());
    }

    #[test]
    fn a_refusal_says_what_would_help() {
        match try_fifo(1) {
            Ok(()) => println!("SCHED_FIFO is allowed here"),
            Err(Refusal::NotPermitted { remedy }) => assert!(remedy.contains("CAP_SYS_NICE")),
            Err(Refusal::Failed(error)) => panic!("unexpected: {error}"),
        }
        assert!(matches!(try_fifo(200), Err(Refusal::Failed(_) | Refusal::NotPermitted { .. })));
        assert!(fifo_budget().expect("sysctls").is_none_or(|(run, period)| run < period));
    }

    #[test]
    fn threads_have_names() {
        set_thread_name("tenuto-test").expect("no zero byte");
        let name = std::fs::read_to_string("/proc/thread-self/comm").expect("proc");
        assert_eq!(name.trim(), "tenuto-test");
    }
}
