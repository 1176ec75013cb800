//! A sandbox seen from outside through /proc, where control groups do not count.

use std::fs;
use std::path::Path;

/// The processes of a pid namespace, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) threads: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) cpu_ns: u64,
}

/// The kernel's unit of times in /proc (USER_HZ is 100 on every architecture that there is).
const TICK_NS: u64 = 10_000_000;

/// Adds up the processes in the pid namespace of the process `first`, but for itself.
pub(crate) fn look(first: u32) -> Option<Seen> {
    let namespace = |pid: u32| fs::read_link(format!("/proc/{pid}/ns/pid_for_children")).ok();
    let wanted = namespace(first)?;
    let mut seen = Seen::default();
    let entries = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    for pid in pids.filter(|pid| *pid != first) {
        if namespace(pid).as_ref() == Some(&wanted) && !is_guardian(pid, first) {
            add(&mut seen, pid);
        }
    }
    Some(seen)
}

/// Whether `pid` is the parent of `first`: a guardian waits outside.
fn is_guardian(pid: u32, first: u32) -> bool {
    crate::process::parent_of(first) == Some(pid)
}

fn add(seen: &mut Seen, pid: u32) {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    seen.threads += field(&status, "Threads:").unwrap_or(0);
    seen.memory_bytes += field(&status, "VmRSS:").unwrap_or(0) * 1_024;
    seen.cpu_ns += ticks(Path::new(&format!("/proc/{pid}/stat"))).unwrap_or(0) * TICK_NS;
}

fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Time in user mode and in the kernel: the 14th and 15th field, counted behind the name.
fn ticks(stat: &Path) -> Option<u64> {
    let text = fs::read_to_string(stat).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let (user, kernel): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    user.checked_add(kernel)
}
