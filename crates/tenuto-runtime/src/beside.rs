//! Threads beside the data path: they share neither its processor nor its scheduling.

use std::io;
use std::sync::OnceLock;
use std::thread::{Builder, JoinHandle};
use tenuto_io::realtime;

/// Where threads may run, as it was before the data path took its processor.
static PROCESSORS: OnceLock<Vec<usize>> = OnceLock::new();

/// Notes where threads may run; to be called before the data path is pinned.
pub(crate) fn remember_processors() {
    PROCESSORS.get_or_init(|| realtime::allowed_processors().unwrap_or_default());
}

/// Starts a thread.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().name(name.into()).spawn(move || {
        if let Some(processors) = PROCESSORS.get() {
            // At worst it is slow, as it would have been.
            let _ = realtime::pin_to(processors);
        }
        work()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_starts_free_ones() {
        let free = realtime::allowed_processors().expect("readable");
        remember_processors();
        realtime::pin_to(&free[..1]).expect("one of the allowed");
        let work = || realtime::allowed_processors().expect("readable");
        let seen = spawn("test", work).expect("room for a thread").join().expect("no panic");
        assert_eq!(seen, free);
    }
}
