//! Streams that were written and not decided on yet, and what was told of those that were.

use super::address::StreamKey;
use super::error::Error;
use crate::events::Events;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// Streams that wait at once.
const PLANNED_MAX: usize = 10_000;
/// Failures that are remembered for the status of streams.
const STREAM_BYTES_MAX: usize = 64 << 10;

/// A stream that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    /// As it was written.
    pub(super) body: Value,
    /// Code and text of the last computation, if that failed.
    pub(super) failure: Option<(u8, String)>,
}

/// Streams that wait. Nothing is promised to them, so they are in no log: a restart forgets them.
#[derive(Debug)]
pub(crate) struct PlannedStreams {
    all: Mutex<BTreeMap<StreamKey, Planned>>,
    pub(super) notifications: Events,
}

impl PlannedStreams {
    pub(crate) fn new() -> Self {
        Self { all: Mutex::default(), notifications: Events::new() }
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<StreamKey, Planned>> {
        self.all.lock().expect("nobody panics with it")
    }

    /// Puts one; whether it is new.
    pub(super) fn put(&self, key: StreamKey, body: Value) -> Result<bool, Error> {
        if body.to_string().len() > STREAM_BYTES_MAX {
            return Err(Error::too_much("a stream has at most 64 KiB"));
        }
        let mut all = self.all();
        if all.len() >= PLANNED_MAX && !all.contains_key(&key) {
            return Err(Error::too_much(format!(
                "{PLANNED_MAX} streams wait already: have them computed, or delete some"
            )));
        }
        Ok(all.insert(key, Planned { body, failure: None }).is_none())
    }

    pub(super) fn get(&self, key: &StreamKey) -> Option<Planned> {
        self.all().get(key).cloned()
    }

    pub(super) fn take(&self, key: &StreamKey) -> Option<Planned> {
        self.all().remove(key)
    }

    /// Notes why one could not be configured.
    pub(super) fn failed(&self, key: &StreamKey, failure: (u8, String)) {
        if let Some(it) = self.all().get_mut(key) {
            it.failure = Some(failure);
        }
    }

    /// All of them, in order.
    pub(super) fn list(&self) -> Vec<(StreamKey, Planned)> {
        self.all().iter().map(|(key, it)| (key.clone(), it.clone())).collect()
    }
}
