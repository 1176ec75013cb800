//! Another process as what is measured: stopped between windows, so that it disturbs nobody.

use super::{PRIORITY, Subject};
use crate::sys::task;
use std::io;
use tenuto_units::Span;

/// Which threads of a process forward frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarding {
    /// Those whose names begin so.
    Named(&'static str),
    /// The first thread, whatever the program is called, and those whose names begin so.
    FirstAndNamed(&'static str),
    /// None is put before others: all run as they are scheduled anyway.
    AsUsual,
}

impl Forwarding {
    fn has(self, pid: libc::pid_t, thread: libc::pid_t, name: &str) -> bool {
        match self {
            Self::AsUsual => false,
            Self::Named(prefix) => name.starts_with(prefix),
            Self::FirstAndNamed(prefix) => thread == pid || name.starts_with(prefix),
        }
    }
}

/// A process that forwards frames.
///
/// In a window its threads run on one processor, those that forward under SCHED_FIFO. Its threads
/// are looked up at the beginning of each window. Dropping this lets the process go on.
#[derive(Debug)]
pub struct ProcessSubject {
    pid: libc::pid_t,
    processor: Option<usize>,
    forwarding: Forwarding,
    /// Threads whose names begin so run on a processor of their own.
    beside: Option<(&'static str, usize)>,
    before: Span,
}

impl ProcessSubject {
    /// Stops the process `pid` until its first window.
    ///
    /// # Errors
    ///
    /// When there is no such process, or it belongs to somebody else.
    pub fn stop(pid: u32, processor: Option<usize>, forwarding: Forwarding) -> io::Result<Self> {
        let pid = libc::pid_t::try_from(pid).ok().filter(|&pid| pid > 1);
        let pid = pid.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let stopped = Self { pid, processor, forwarding, beside: None, before: Span::ZERO };
        stopped.rest()?;
        Ok(stopped)
    }

    /// Those of its threads whose names begin with `name` run on another processor in windows.
    pub fn put_beside(&mut self, name: &'static str, processor: usize) {
        self.beside = Some((name, processor));
    }

    /// Lets the process run between windows too, until the next one has ended.
    ///
    /// # Errors
    ///
    /// When it is gone.
    pub fn go_on(&self) -> io::Result<()> {
        task::send_signal(self.pid, libc::SIGCONT)
    }

    /// Stops it again.
    ///
    /// # Errors
    ///
    /// When it is gone.
    pub fn rest(&self) -> io::Result<()> {
        task::send_signal(self.pid, libc::SIGSTOP)
    }

    /// Its threads: number, whether they forward, and on which processor.
    fn threads(&self) -> io::Result<Vec<(libc::pid_t, bool, Option<usize>)>> {
        let mut threads = Vec::new();
        for entry in std::fs::read_dir(format!("/proc/{}/task", self.pid))? {
            let entry = entry?;
            let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
            let Some(number) = number else { continue };
            // A thread may end meanwhile.
            let name = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            let own = self.beside.filter(|(prefix, _)| name.starts_with(prefix));
            let processor = own.map(|(_, processor)| processor).or(self.processor);
            threads.push((number, self.forwarding.has(self.pid, number, &name), processor));
        }
        Ok(threads)
    }

    /// Processor time of all threads that are there.
    fn processor_time(&self) -> io::Result<Span> {
        let mut sum_ns = 0_u64;
        for (thread, ..) in self.threads()? {
            let path = format!("/proc/{}/task/{thread}/schedstat", self.pid);
            let text = std::fs::read_to_string(path).unwrap_or_default();
            let ns = text.split_whitespace().next().and_then(|ns| ns.parse::<u64>().ok());
            sum_ns = sum_ns.saturating_add(ns.unwrap_or(0));
        }
        Ok(Span::from_ns(sum_ns))
    }
}

impl Subject for ProcessSubject {
    fn begin(&mut self) -> io::Result<()> {
        for (thread, forwards, processor) in self.threads()? {
            if let Some(processor) = processor {
                // A thread that has ended, or may not be moved, is measured as it is.
                let _ = task::set_affinity(thread, &[processor]);
            }
            if forwards {
                let _ = task::schedule_fifo(thread, libc::c_int::from(PRIORITY));
            }
        }
        self.go_on()?;
        // It wakes up, and looks once at all that happened while it was stopped.
        super::pause(super::DRAIN)?;
        self.before = self.processor_time()?;
        Ok(())
    }

    fn end(&mut self) -> io::Result<Span> {
        let after = self.processor_time()?;
        self.rest()?;
        for (thread, forwards, _) in self.threads()? {
            if forwards {
                let _ = task::schedule_other(thread);
            }
        }
        Ok(after - self.before)
    }
}

impl Drop for ProcessSubject {
    fn drop(&mut self) {
        // A stopped process would not hear that it is to end.
        let _ = self.go_on();
    }
}
