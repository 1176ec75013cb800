//! The verdict and its sentence.

use super::{StallRow, Violation};
use std::collections::BTreeMap;
use std::fmt::Write;
use tenuto_model::Verdict;

/// What the verdict rests on.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// Messages received, late ones of misbehaving hosts left out.
    pub(super) within: u64,
    /// Messages lost, those of misbehaving hosts left out.
    pub(super) lost: u64,
    /// Messages of misbehaving hosts that were lost or late.
    pub(super) excused: u64,
    /// Messages that broke a promise, by kind; more than the violations that are kept as evidence.
    pub(super) broken: BTreeMap<&'static str, u64>,
    /// Messages above a bound or missing that a stall touched.
    pub(super) undecided: u64,
    /// Mode changes, and what was expected of them, that a stall touched.
    pub(super) undecided_changes: u64,
    /// The longest stall that left something undecided.
    pub(super) stall: Option<StallRow>,
    /// Kept as evidence.
    pub(super) violations: Vec<Violation>,
}

impl Sums {
    pub(super) fn undecided_by(&mut self, stall: &StallRow) {
        if self.stall.as_ref().is_none_or(|s| s.length_ns < stall.length_ns) {
            self.stall = Some(stall.clone());
        }
    }

    pub(super) const fn verdict(&self) -> Verdict {
        match (self.violations.is_empty(), self.undecided + self.undecided_changes) {
            (false, _) => Verdict::Broken,
            (true, 0) => Verdict::Kept,
            (true, _) => Verdict::Undecided,
        }
    }

    pub(super) fn sentence(&self, verdict: Verdict) -> String {
        match verdict {
            Verdict::Kept => self.kept(),
            Verdict::Undecided => self.undecided(),
            Verdict::Broken => self.broken(),
        }
    }

    fn kept(&self) -> String {
        let (within, lost) = (self.within, self.lost);
        let own = match self.excused {
            0 => String::new(),
            n => format!(" ({n} of misbehaving hosts lost or late, not counted)"),
        };
        format!("KEPT: {within} of {within} messages within bound, {lost} lost{own}.")
    }

    fn undecided(&self) -> String {
        let mut out = String::from("UNDECIDED: ");
        if self.undecided > 0 {
            let _ = write!(out, "{} above bound or missing", messages(self.undecided));
        }
        if self.undecided_changes > 0 {
            let joined = if self.undecided > 0 { " and " } else { "" };
            let changes = match self.undecided_changes {
                1 => "1 mode change".to_owned(),
                n => format!("{n} mode changes"),
            };
            let _ = write!(out, "{joined}{changes} not as planned");
        }
        if let Some(stall) = &self.stall {
            let (ms, at) = (millis(stall.length_ns), seconds(stall.at_ns));
            let _ = write!(out, " while this machine stalled {ms:.1} ms at {at:.3} s");
            let _ = write!(out, " ({})", stall.node);
        }
        let (within, lost) = (self.within, self.lost);
        let _ = write!(out, "; {within} others within bound, {lost} lost.");
        out
    }

    fn broken(&self) -> String {
        let messages: u64 = self.broken.values().sum();
        let others = self.violations.iter().filter(|v| v.flow.is_none()).count() as u64;
        let kinds = self.broken.iter().map(|(kind, count)| format!("{count} {kind}"));
        let kinds: Vec<String> = kinds.collect();
        let of = match kinds.len() {
            0 => String::new(),
            _ => format!(" ({})", kinds.join(", ")),
        };
        let first = self.violations.first().map_or(String::new(), |v| {
            let flow = v.flow.as_deref().map_or(String::new(), |flow| format!(" of {flow}"));
            let at = seconds(v.at_ns);
            format!("; first {}{flow} at {at:.3} s: {}", v.kind.replace('_', " "), v.note)
        });
        let count = match messages + others {
            1 => "1 violation".to_owned(),
            n => format!("{n} violations"),
        };
        let undecided = match self.undecided {
            0 => String::new(),
            n => format!("; {} undecided", self::messages(n)),
        };
        format!("BROKEN: {count}{of}{first}; {} within bound{undecided}.", self.within)
    }
}

fn messages(n: u64) -> String {
    if n == 1 { "1 message".into() } else { format!("{n} messages") }
}

#[allow(clippy::cast_precision_loss)] // for a sentence
pub(super) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[allow(clippy::cast_precision_loss)] // for a sentence
fn millis(ns: u64) -> f64 {
    ns as f64 / 1e6
}
