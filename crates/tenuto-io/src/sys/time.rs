//! Clocks and waiting.

use std::io;

const NS_PER_S: u64 = 1_000_000_000;

/// Nanoseconds of a kernel time, zero for one before the epoch.
pub(crate) fn timespec_ns(time: libc::timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * NS_PER_S + u64::try_from(time.tv_nsec).unwrap_or(0)
}

fn timespec_of(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: libc::time_t::try_from(ns / NS_PER_S).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::try_from(ns % NS_PER_S).expect("below 1e9"),
    }
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = timespec_of(0);
    // SAFETY: `time` is a valid timespec for the kernel to write. Needed: std's `Instant` hides
    // the nanoseconds since the clock's epoch, which processes of one machine share.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    assert_eq!(result, 0, "the clocks that are read here exist on every Linux");
    timespec_ns(time)
}

/// A clock that need not exist, in nanoseconds.
pub(crate) fn clock_of(clock: libc::clockid_t) -> io::Result<u64> {
    let mut time = timespec_of(0);
    // SAFETY: `time` is a valid timespec for the kernel to write. Needed: std reads no such clocks.
    super::check(unsafe { libc::clock_gettime(clock, &raw mut time) })?;
    Ok(timespec_ns(time))
}

/// CLOCK_MONOTONIC in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// CLOCK_REALTIME in nanoseconds.
pub(crate) fn realtime_ns() -> u64 {
    clock_ns(libc::CLOCK_REALTIME)
}

/// Processor time of the calling thread in nanoseconds.
pub(crate) fn thread_processor_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// `ppoll` without a signal mask; `None` waits without end.
pub(crate) fn ppoll(fds: &mut [libc::pollfd], timeout_ns: Option<u64>) -> io::Result<usize> {
    let timeout = timeout_ns.map(timespec_of);
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let count = libc::nfds_t::try_from(fds.len()).expect("descriptors are counted in an int");
    // SAFETY: `fds` is a valid slice of `count` entries, `timeout` null or a live timespec, the
    // mask null. Needed: std has no poll.
    let ready = unsafe { libc::ppoll(fds.as_mut_ptr(), count, timeout, std::ptr::null()) };
    super::check(ready).map(|ready| usize::try_from(ready).expect("check() left no negatives"))
}
