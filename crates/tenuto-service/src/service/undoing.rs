//! Going back to an earlier set, because a switch refused what came since.

use super::{Inner, Writer, now_ms};
use crate::answer::Denied;
use crate::log::{Decision, Entry};
use crate::view::View;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Ranges of decisions that were undone and are remembered.
const UNDONE_MAX: usize = 1_024;

impl Inner {
    /// Goes back to the set of `base`: a switch refused what came since. Nothing of that is in force any more. Whether the log took it.
    pub(crate) fn undo(&self, base: &View, why: &str) -> bool {
        let mut writer = self.writer();
        let number = self.view().decision + 1;
        let entry = Entry::Accepted(Decision {
            who: "switches".to_owned(),
            at_ms: now_ms(),
            changes: Vec::new(),
            plan_hash: base.plan.plan_hash.clone(),
            key: None,
            took_us: 0,
            undoes_to: Some(base.decision),
            file: None,
        });
        if let Err(not_stored) = writer.log.append(&entry) {
            if self.check_leads_still(&not_stored).is_err() {
                // Whoever leads by now finds out for itself.
                return false;
            }
            self.raise("not-stored", "", not_stored.clone());
            self.show(|view| view.stopped = Some(not_stored));
            return false;
        }
        self.remember_undone(&mut writer, base.decision + 1..=number - 1, why);
        self.show(|view| {
            view.decision = number;
            view.network = Arc::clone(&base.network);
            view.plan = Arc::clone(&base.plan);
        });
        self.metrics.undone();
        self.raise("change-undone", "", why.to_owned());
        self.tell("undone", Some(number), why.to_owned());
        self.decided.send_replace(number);
        self.bell.ring();
        true
    }

    /// What was answered of these decisions is not so any more.
    pub(super) fn remember_undone(
        &self,
        writer: &mut Writer,
        range: RangeInclusive<u64>,
        why: &str,
    ) {
        for (_, answer) in writer.keys.values_mut() {
            if answer.as_ref().is_ok_and(|it| range.contains(&it.decision)) {
                *answer = Err(Denied::SwitchRefused(why.to_owned()));
            }
        }
        let mut undone = self.undone.lock().expect("nobody panics with it");
        undone.push_back((range, why.to_owned()));
        if undone.len() > UNDONE_MAX {
            undone.pop_front();
        }
    }

    /// Why a decision was undone, if that was written down.
    pub(crate) fn undone_because(&self, decision: u64) -> Option<String> {
        let undone = self.undone.lock().expect("nobody panics with it");
        let found = undone.iter().find(|(range, _)| range.contains(&decision));
        found.map(|(_, why)| why.clone())
    }
}
