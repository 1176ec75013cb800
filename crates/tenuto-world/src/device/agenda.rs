//! What is to happen in a device, in order of time and then of cause.

use std::collections::BTreeMap;
use tenuto_units::Instant;

#[derive(Clone, Debug)]
pub(super) struct Agenda<T> {
    steps: BTreeMap<(Instant, u64), T>,
    order: u64,
}

impl<T> Agenda<T> {
    pub(super) const fn new() -> Self {
        Self { steps: BTreeMap::new(), order: 0 }
    }

    pub(super) fn push(&mut self, at: Instant, step: T) {
        self.order += 1;
        self.steps.insert((at, self.order), step);
    }

    pub(super) fn next_at(&self) -> Option<Instant> {
        self.steps.keys().next().map(|(at, _)| *at)
    }

    pub(super) fn pop(&mut self) -> Option<(Instant, T)> {
        self.steps.pop_first().map(|((at, _), step)| (at, step))
    }
}
