//! Work that may be done side by side, by whoever owns threads.

use std::fmt;
use std::sync::OnceLock;

/// Carries out tasks that do not depend on each other, in any order, several at a time if it can.
/// Answers never depend on how many at a time.
pub trait Executor: Sync + fmt::Debug {
    /// Calls `task` once with every number below `tasks`, and returns when all have returned.
    fn run(&self, tasks: usize, task: &(dyn Fn(usize) + Sync));
}

/// One task after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct InTurn;

impl Executor for InTurn {
    fn run(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        (0..tasks).for_each(task);
    }
}

/// The answers of all tasks, in order; `None` for one that was never run.
pub(crate) fn gather<T: Send + Sync>(
    executor: &dyn Executor,
    tasks: usize,
    task: impl Fn(usize) -> T + Sync,
) -> Vec<Option<T>> {
    let answers: Vec<OnceLock<T>> = (0..tasks).map(|_| OnceLock::new()).collect();
    executor.run(tasks, &|index| {
        answers[index].get_or_init(|| task(index));
    });
    answers.into_iter().map(OnceLock::into_inner).collect()
}
