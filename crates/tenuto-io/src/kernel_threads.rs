//! Threads of the kernel: which there are, where they run and how, and what they have used.

use crate::sys::task;
use std::{fs, io};
use tenuto_units::Span;

/// A thread of the kernel that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelThread {
    pid: u32,
    name: String,
}

/// How a thread of the kernel is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelSchedule {
    /// With others, by a nice value from -20 to 19.
    Nice(i8),
    /// Before others, under SCHED_FIFO at 1 to 99.
    Fifo(u8),
}

/// The parent of all threads of the kernel.
const PARENT: &str = "PPid:\t2";

impl KernelThread {
    /// Those whose names begin so. In a pid namespace of one's own none is seen.
    pub fn named(prefix: &str) -> Vec<Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(|pid| Self::of(pid, prefix)).collect()
    }

    fn of(pid: u32, prefix: &str) -> Option<Self> {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned();
        if !name.starts_with(prefix) {
            return None;
        }
        // Any program may call itself so.
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        status.lines().any(|line| line == PARENT).then_some(Self { pid, name })
    }

    /// Its name, as `ps` shows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs it on one processor only.
    ///
    /// # Errors
    ///
    /// Those of the kernel: without CAP_SYS_NICE, or when the thread has ended.
    pub fn pin_to(&self, processor: u32) -> io::Result<()> {
        let processor = usize::try_from(processor).map_err(io::Error::other)?;
        task::set_affinity(self.number()?, &[processor]).map_err(|error| self.told(&error))
    }

    /// Schedules it.
    ///
    /// # Errors
    ///
    /// As [`Self::pin_to`].
    pub fn schedule(&self, how: KernelSchedule) -> io::Result<()> {
        let number = self.number()?;
        let done = match how {
            KernelSchedule::Fifo(level) => task::schedule_fifo(number, libc::c_int::from(level)),
            KernelSchedule::Nice(nice) => task::schedule_other(number)
                .and_then(|()| task::set_nice(number, libc::c_int::from(nice))),
        };
        done.map_err(|error| self.told(&error))
    }

    /// Processor time that it has used; `None` once it has ended.
    pub fn processor_time(&self) -> Option<Span> {
        let text = fs::read_to_string(format!("/proc/{}/schedstat", self.pid)).ok()?;
        text.split_whitespace().next()?.parse().ok().map(Span::from_ns)
    }

    fn number(&self) -> io::Result<libc::pid_t> {
        libc::pid_t::try_from(self.pid).map_err(io::Error::other)
    }

    fn told(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("thread {}: {error}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_no_threads_of_the_kernel() {
        // This one is called as the test is, and is a child of something else.
        let name = fs::read_to_string("/proc/self/comm").expect("proc");
        assert_eq!(KernelThread::of(std::process::id(), name.trim()), None);
        for thread in KernelThread::named("ksoftirqd/") {
            assert!(thread.name().starts_with("ksoftirqd/"));
            assert!(thread.processor_time().is_some());
        }
    }
}
