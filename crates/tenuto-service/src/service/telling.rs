//! What the writer and the switches tell: events, alarms, and how far the set in force has come.

use super::{Inner, now_ms};
use crate::alarm::Alarm;

/// Alarms that are kept, the latest ones.
const ALARMS_MAX: usize = 256;

impl Inner {
    /// The checker's word on the set of a decision.
    pub(crate) fn certified(&self, decision: u64, findings: Vec<String>) {
        if findings.is_empty() {
            self.show(|view| {
                view.certified = Some(view.certified.unwrap_or(0).max(decision));
                view.stopped = None;
            });
            self.lower("not-certified");
            return self.tell("certified", Some(decision), "the checker accepts the set".into());
        }
        let first = findings.first().cloned().unwrap_or_default();
        let text = format!("the checker does not accept decision {decision}: {first}");
        self.show(|view| view.stopped = Some(text.clone()));
        self.raise("not-certified", "", text);
    }

    pub(crate) fn tell(&self, kind: &str, decision: Option<u64>, text: String) {
        self.events.tell(now_ms(), kind, decision, text);
    }

    /// Somebody has to look at something.
    pub(crate) fn raise(&self, kind: &str, place: &str, text: String) {
        let at_ms = now_ms();
        self.show(|view| {
            let known = view.alarms.iter_mut().find(|it| it.kind == kind && it.place == place);
            if let Some(alarm) = known {
                (alarm.text, alarm.at_ms, alarm.is_raised) = (text.clone(), at_ms, true);
                alarm.count += 1;
                return;
            }
            let (kind, place) = (kind.to_owned(), place.to_owned());
            let text = text.clone();
            view.alarms.push(Alarm { kind, place, text, at_ms, count: 1, is_raised: true });
            if view.alarms.len() > ALARMS_MAX {
                view.alarms.remove(0);
            }
        });
        self.tell("alarm", None, text);
    }

    /// Every switch has the plan of a decision.
    pub(crate) fn installed(&self, decision: u64) {
        self.show(|view| view.installed = Some(decision));
        self.tell("installed", Some(decision), "every switch has the set, read back".into());
    }

    /// What the alarm of a kind told of one place is over.
    pub(crate) fn lower_at(&self, kind: &str, place: &str) {
        self.show(|view| {
            let alarms = view.alarms.iter_mut();
            let mine = alarms.filter(|it| it.kind == kind && it.place == place);
            mine.for_each(|it| it.is_raised = false);
        });
    }

    /// What alarms of a kind told of is over.
    pub(crate) fn lower(&self, kind: &str) {
        self.show(|view| {
            view.alarms.iter_mut().filter(|it| it.kind == kind).for_each(|it| it.is_raised = false);
        });
    }
}
