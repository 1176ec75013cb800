//! Processor time of a process or of this thread, as the scheduler counts it (proc(5), `schedstat`).

use std::fs;

/// Of all threads of a process that still run, ns; `None` where the kernel does not say.
pub(super) fn of_process(id: u32) -> Option<u64> {
    let threads = fs::read_dir(format!("/proc/{id}/task")).ok()?;
    let of_thread = |thread: fs::DirEntry| ns(&thread.path().join("schedstat").to_string_lossy());
    threads.filter_map(Result::ok).map(of_thread).sum()
}

/// Of the thread that asks, ns.
pub(super) fn of_this_thread() -> Option<u64> {
    ns("/proc/thread-self/schedstat")
}

fn ns(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.split_whitespace().next()?.parse().ok()
}
