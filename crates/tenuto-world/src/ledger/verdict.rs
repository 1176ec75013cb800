//! The verdict: what is known of a run, and the one word that follows from it.

use super::{Replay, RunDocument, VerdictReason};
use tenuto_model::Verdict;

/// What decides the verdict of a run. Each fact speaks for one word; a run of which none is true is
/// kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // independent facts, tested in every combination
pub struct Facts {
    /// The plan is refused: nothing was promised.
    pub is_comparison: bool,
    /// A bound or a promise was exceeded, or a message lost, and no death explains it.
    pub is_violated: bool,
    /// A node or a program died, or did not answer at the end, beyond what is tolerated.
    pub is_broken: bool,
    /// The user ended the run.
    pub is_stopped: bool,
    /// Something is open because this machine did not serve a node on its way.
    pub is_undecided: bool,
    /// A message came after its deadline, but within bound and host allowance.
    pub is_late: bool,
    /// Of a flow that the scenario sends nothing was observed.
    pub is_unobserved: bool,
    /// The plan rests on typical times.
    pub is_modelled: bool,
}

impl Facts {
    /// The facts that reasons speak for.
    pub fn of(reasons: &[VerdictReason]) -> Self {
        let has = |word: Verdict| reasons.iter().any(|reason| reason.verdict == word);
        Self {
            is_comparison: has(Verdict::Comparison),
            is_violated: has(Verdict::Violated),
            is_broken: has(Verdict::Broken),
            is_stopped: has(Verdict::Stopped),
            is_undecided: has(Verdict::Undecided),
            is_late: has(Verdict::Late),
            is_unobserved: has(Verdict::NothingObserved),
            is_modelled: has(Verdict::Modelled),
        }
    }

    /// The verdict: of the words that facts speak for, the first in order of precedence.
    ///
    /// Where nothing was promised nothing is judged. A violation that no death explains stands whatever else happened. Outside the fault model
    /// nothing is promised, so a death explains what was lost since. What the user and the machine
    /// did comes before what was not seen because of it.
    pub const fn verdict(self) -> Verdict {
        if self.is_comparison {
            Verdict::Comparison
        } else if self.is_violated {
            Verdict::Violated
        } else if self.is_broken {
            Verdict::Broken
        } else if self.is_stopped {
            Verdict::Stopped
        } else if self.is_undecided {
            Verdict::Undecided
        } else if self.is_late {
            Verdict::Late
        } else if self.is_unobserved {
            Verdict::NothingObserved
        } else if self.is_modelled {
            Verdict::Modelled
        } else {
            Verdict::Kept
        }
    }
}

impl RunDocument {
    /// Takes in what the releases of a live run showed when they were repeated in virtual time: a
    /// bound that breaks there breaks the run.
    pub fn join_replay(&mut self, again: &Self) {
        if Facts::of(&again.verdict_reasons).is_violated {
            self.verdict_reasons.push(VerdictReason {
                verdict: Verdict::Violated,
                who: "the replay".into(),
                what: again.summary.clone(),
                at_ns: None,
            });
            self.summary = format!("VIOLATED in the replay: {}", again.summary);
        }
        self.verdict = Facts::of(&self.verdict_reasons).verdict();
        self.replay = Some(Replay {
            verdict: again.verdict,
            received: again.flows.iter().map(|row| row.received).sum(),
            violations: again.violations.clone(),
        });
    }
}
