//! What the verdict rests on, and its sentence.

use super::{StallRow, VerdictReason, Violation};
use std::collections::BTreeMap;
use std::fmt::Write;
use tenuto_model::{Plan, Verdict};
use tenuto_units::counted;

/// Rows and deaths that a sentence names one by one.
const NAMED_MAX: usize = 3;

/// What the verdict rests on.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// The plan is refused: nothing was promised, so nothing that is seen violates it.
    pub(super) is_comparison: bool,
    /// Messages received, late ones of misbehaving hosts left out.
    pub(super) within: u64,
    /// Messages received in rows that have no bound.
    pub(super) without_bound: u64,
    /// Messages lost, those of misbehaving hosts left out.
    pub(super) lost: u64,
    /// Messages of misbehaving hosts that were lost or late.
    pub(super) excused: u64,
    /// Messages that broke a promise, by kind; more than the violations that are kept as evidence.
    pub(super) broken: BTreeMap<&'static str, u64>,
    /// Messages, by kind, whose promise did not hold any more, since something was gone.
    pub(super) explained: BTreeMap<&'static str, u64>,
    /// Messages above a bound or missing that a stall touched.
    pub(super) undecided: u64,
    /// Mode changes, and what was expected of them, that a stall touched.
    pub(super) undecided_changes: u64,
    /// The longest stall that left something undecided.
    pub(super) stall: Option<StallRow>,
    /// Messages after their deadline, within bound and allowance.
    pub(super) late: u64,
    /// Kept as evidence.
    pub(super) violations: Vec<Violation>,
    /// What speaks for a word other than kept.
    pub(super) reasons: Vec<VerdictReason>,
    /// How the run was shorter than its scenario, in words; empty if it was not.
    pub(super) shortened: String,
}

impl Sums {
    pub(super) fn of(plan: &Plan) -> Self {
        Self { is_comparison: !plan.feasible, ..Self::default() }
    }

    pub(super) fn undecided_by(&mut self, stall: &StallRow) {
        if self.stall.as_ref().is_none_or(|s| s.length_ns < stall.length_ns) {
            self.stall = Some(stall.clone());
        }
    }

    /// Keeps evidence. What a death explains, or was never promised, speaks for no word of its own.
    pub(super) fn violated(&mut self, violation: Violation, is_explained: bool) {
        let is_explained = is_explained || self.is_comparison;
        if !is_explained {
            self.reason(Verdict::Violated, violation.who(), violation.what(), violation.when_ns());
        }
        self.violations.push(Violation { is_explained, ..violation });
    }

    pub(super) fn reason(
        &mut self,
        verdict: Verdict,
        who: impl Into<String>,
        what: impl Into<String>,
        at_ns: Option<u64>,
    ) {
        let (who, what) = (who.into(), what.into());
        self.reasons.push(VerdictReason { verdict, who, what, at_ns });
    }

    /// One reason for everything that stalls left open.
    pub(super) fn conclude_undecided(&mut self) {
        if self.undecided + self.undecided_changes == 0 {
            return;
        }
        let what = self.open_words();
        let stall = self.stall.as_ref();
        let who = stall.map_or_else(|| "this machine".to_owned(), |stall| stall.node.clone());
        let at_ns = stall.map(|stall| stall.at_ns);
        self.reason(Verdict::Undecided, who, what, at_ns);
    }

    pub(super) fn sentence(&self, verdict: Verdict) -> String {
        let words = match verdict {
            Verdict::Kept => self.counts(),
            Verdict::Comparison => self.compared(),
            Verdict::Modelled => {
                format!("{}; {}", self.counts(), self.named(Verdict::Modelled))
            }
            Verdict::Undecided => self.undecided(),
            Verdict::Violated => self.violated_words(),
            Verdict::Broken => format!("{}; {}", self.named(verdict), self.since_a_death()),
            Verdict::Stopped => self.counts(),
            Verdict::Late => format!(
                "{} after the deadline, none above bound and allowance: {}; {}",
                messages(self.late),
                self.named(verdict),
                self.counts()
            ),
            Verdict::NothingObserved => format!("{}; {}", self.named(verdict), self.counts()),
        };
        format!("{}: {words}{}.", verdict.headline(), self.shortened)
    }

    /// The first reasons for a word.
    fn named(&self, verdict: Verdict) -> String {
        let all: Vec<_> = self.reasons.iter().filter(|it| it.verdict == verdict).collect();
        let named = |it: &&VerdictReason| match it.at_ns {
            Some(at) => format!("{} {} at {:.3} s", it.who, it.what, seconds(at)),
            None => format!("{} {}", it.who, it.what),
        };
        let mut words: Vec<String> = all.iter().take(NAMED_MAX).map(named).collect();
        if all.len() > NAMED_MAX {
            words.push(format!("{} more", all.len() - NAMED_MAX));
        }
        words.join(", ")
    }

    /// Messages within bound and lost, those of misbehaving hosts apart.
    fn counts(&self) -> String {
        let (within, lost) = (self.within, self.lost);
        let own = match self.excused {
            0 => String::new(),
            n => format!(" ({n} of misbehaving hosts lost or late, not counted)"),
        };
        let of = messages(self.judged());
        format!("{within} of {of} within bound{}, {lost} lost{own}", self.unbounded())
    }

    /// `, 3 without a bound`; empty where every row has one.
    fn unbounded(&self) -> String {
        match self.without_bound {
            0 => String::new(),
            n => format!(", {n} without a bound"),
        }
    }

    /// What became of a network to which nothing was promised.
    fn compared(&self) -> String {
        let kinds = self.explained.iter().filter(|(kind, _)| **kind != "loss");
        let above: Vec<String> = kinds.map(|(kind, n)| format!("{n} {kind}")).collect();
        let above = match above.as_slice() {
            [] => String::new(),
            all => format!(", not within: {}", all.join(", ")),
        };
        let late = match self.late {
            0 => String::new(),
            n => format!("; {} after the deadline", messages(n)),
        };
        format!("{}; {}{above}{late}", self.named(Verdict::Comparison), self.counts())
    }

    /// Messages that were counted: within bound, above it, without one, lost, or turned away against contract.
    fn judged(&self) -> u64 {
        let missed = self.broken.values().chain(self.explained.values());
        self.within + self.without_bound + missed.sum::<u64>()
    }

    fn since_a_death(&self) -> String {
        let since: u64 = self.broken.values().chain(self.explained.values()).sum();
        let of = messages(self.judged());
        format!("{} of {of} within bound, {since} lost or late", self.within)
    }

    fn open_words(&self) -> String {
        let mut out = String::new();
        if self.undecided > 0 {
            let _ = write!(out, "{} above bound or missing", messages(self.undecided));
        }
        if self.undecided_changes > 0 {
            let joined = if self.undecided > 0 { " and " } else { "" };
            let changes = counted(self.undecided_changes, "mode change");
            let _ = write!(out, "{joined}{changes} not as planned");
        }
        if let Some(stall) = &self.stall {
            let (ms, at) = (millis(stall.length_ns), seconds(stall.at_ns));
            let _ = write!(out, " while this machine stalled {ms:.1} ms at {at:.3} s");
            let _ = write!(out, " ({})", stall.node);
        }
        out
    }

    fn undecided(&self) -> String {
        let open = match self.undecided + self.undecided_changes {
            0 => self.named(Verdict::Undecided),
            _ => self.open_words(),
        };
        format!(
            "{open}; {} others within bound{}, {} lost",
            self.within,
            self.unbounded(),
            self.lost
        )
    }

    fn violated_words(&self) -> String {
        let messages: u64 = self.broken.values().sum();
        let own = || self.violations.iter().filter(|violation| !violation.is_explained);
        let others = own().filter(|violation| violation.flow.is_none()).count() as u64;
        let kinds = self.broken.iter().map(|(kind, count)| format!("{count} {kind}"));
        let kinds: Vec<String> = kinds.collect();
        let of = match kinds.len() {
            0 => String::new(),
            _ => format!(" ({})", kinds.join(", ")),
        };
        let first = own().next().map_or(String::new(), |v| format!("; first: {v}"));
        let count = counted(messages + others, "violation");
        let undecided = match self.undecided {
            0 => String::new(),
            n => format!("; {} undecided", self::messages(n)),
        };
        let explained = match self.explained.values().sum() {
            0 => String::new(),
            n => format!("; {} outside the fault model", self::messages(n)),
        };
        format!(
            "{count}{of}{first}; {} within bound{}{undecided}{explained}",
            self.within,
            self.unbounded()
        )
    }
}

fn messages(n: u64) -> String {
    counted(n, "message")
}

#[allow(clippy::cast_precision_loss)] // for a sentence
pub(super) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[allow(clippy::cast_precision_loss)] // for a sentence
fn millis(ns: u64) -> f64 {
    ns as f64 / 1e6
}
