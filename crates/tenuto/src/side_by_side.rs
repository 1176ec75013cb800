//! Tasks of an analysis on as many threads as there are cores.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use tenuto_bounds::Executor;

/// One thread per core; each takes the next task when it is done with one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SideBySide;

impl Executor for SideBySide {
    fn run(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let next = AtomicUsize::new(0);
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= tasks {
                    return;
                }
                task(index);
            }
        };
        thread::scope(|scope| {
            for _ in 1..cores.min(tasks) {
                scope.spawn(work);
            }
            work();
        });
    }
}
