//! The checker beside the decisions: always asked about the latest set, never in anybody's way.

use crate::service::Inner;
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::thread;

/// Tells the thread that there is a set to look at, or that all is over.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    state: Mutex<(bool, bool)>,
    rung: Condvar,
}

impl Bell {
    /// There is a set to look at.
    pub(crate) fn ring(&self) {
        self.state.lock().expect("nobody panics with it").0 = true;
        self.rung.notify_one();
    }

    /// There will be none any more.
    pub(crate) fn end(&self) {
        self.state.lock().expect("nobody panics with it").1 = true;
        self.rung.notify_one();
    }

    /// Waits for a set; `false` at the end.
    fn wait(&self) -> bool {
        let state = self.state.lock().expect("nobody panics with it");
        let mut state = self
            .rung
            .wait_while(state, |(is_rung, is_over)| !*is_rung && !*is_over)
            .expect("nobody panics with it");
        state.0 = false;
        !state.1
    }
}

/// Starts the thread. While it looks at a set others may come; it goes on with the latest of them.
pub(crate) fn start(bell: Arc<Bell>, inner: Weak<Inner>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        while bell.wait() {
            let Some(inner) = inner.upgrade() else { return };
            let view = inner.view();
            let found = (inner.checker)(&view.plan);
            inner.certified(view.decision, found);
        }
    })
}
