//! The books of one row: what became of the messages that it judges.

use super::{AtTarget, COPIES_MAX, DelayPoint};
use std::collections::BTreeMap;
use tenuto_model::Transition;

/// The books of one row.
pub(super) struct Book {
    pub(super) row: Transition,
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) lost: u64,
    pub(super) policed: u64,
    pub(super) out_of_mode: u64,
    pub(super) in_flight: u64,
    pub(super) undecided: u64,
    /// After the deadline, within the bound.
    pub(super) late: u64,
    pub(super) delays: Vec<u64>,
    pub(super) points: Vec<DelayPoint>,
    pub(super) skew_ns_max: Option<u64>,
    pub(super) copies: [CopyCount; COPIES_MAX],
    /// Broken promises by kind, those that a death explains apart.
    pub(super) faults: BTreeMap<(&'static str, bool), usize>,
}

impl Book {
    pub(super) const fn new(row: Transition) -> Self {
        Self {
            row,
            sent: 0,
            received: 0,
            lost: 0,
            policed: 0,
            out_of_mode: 0,
            in_flight: 0,
            undecided: 0,
            late: 0,
            delays: Vec::new(),
            points: Vec::new(),
            skew_ns_max: None,
            copies: [CopyCount { received: 0, lost: 0, delay_ns_max: None }; COPIES_MAX],
            faults: BTreeMap::new(),
        }
    }

    /// Counts the copies of a message; a missing one is lost if it can no longer come.
    pub(super) fn note_copies(&mut self, found: &AtTarget, is_over: bool) {
        for (count, seen) in self.copies.iter_mut().zip(found.copies) {
            count.received += u64::from(seen.is_some());
            count.lost += u64::from(seen.is_none() && is_over);
            count.delay_ns_max = count.delay_ns_max.max(seen);
        }
    }
}

/// The copies of a row's messages over one network.
#[derive(Clone, Copy)]
pub(super) struct CopyCount {
    pub(super) received: u64,
    pub(super) lost: u64,
    pub(super) delay_ns_max: Option<u64>,
}
