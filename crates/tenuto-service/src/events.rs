//! What happened lately, for those who listen.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Mutex;
use tokio::sync::watch;

/// Events that are kept for listeners who are behind.
const KEPT_MAX: usize = 1_024;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Event {
    /// Number, from 1, since the service was started.
    pub number: u64,
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// Kind: `accepted`, `refused`, `installed`, `certified`, `alarm`, `switch`, `mode`, `undone`.
    pub kind: String,
    /// What, in a sentence.
    pub text: String,
    /// The decision that it belongs to.
    pub decision: Option<u64>,
}

/// The latest events. Nobody waits for a listener: who is too far behind misses some.
#[derive(Debug)]
pub(crate) struct Events {
    kept: Mutex<(u64, VecDeque<Event>)>,
    latest: watch::Sender<u64>,
}

impl Events {
    pub(crate) fn new() -> Self {
        Self { kept: Mutex::new((0, VecDeque::new())), latest: watch::Sender::new(0) }
    }

    /// Tells of something.
    pub(crate) fn tell(&self, at_ms: u64, kind: &str, decision: Option<u64>, text: String) {
        let number = {
            let mut kept = self.kept.lock().expect("nobody panics with it");
            kept.0 += 1;
            let number = kept.0;
            kept.1.push_back(Event { number, at_ms, kind: kind.to_owned(), text, decision });
            if kept.1.len() > KEPT_MAX {
                kept.1.pop_front();
            }
            number
        };
        self.latest.send_replace(number);
    }

    /// Events behind a number, the oldest first.
    pub(crate) fn after(&self, number: u64) -> Vec<Event> {
        let kept = self.kept.lock().expect("nobody panics with it");
        kept.1.iter().filter(|event| event.number > number).cloned().collect()
    }

    /// Tells the number of the latest event whenever there is another one.
    pub(crate) fn listen(&self) -> watch::Receiver<u64> {
        self.latest.subscribe()
    }
}
