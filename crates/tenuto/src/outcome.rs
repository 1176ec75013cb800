//! How a verb ended, as its exit code says it.

use std::process::ExitCode;
use tenuto_world::explore::Verdict;

/// The exit codes of every verb; 130 is left to an interrupted run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Guaranteed, kept, consistent: 0.
    Good,
    /// Refused, violated, a counterexample: 1.
    Bad,
    /// Bad input or usage: 2.
    BadInput,
    /// Not decidable here: 3.
    Undecidable,
    /// Stopped by Ctrl-C, cleanly: 130.
    Interrupted,
}

impl Outcome {
    /// The exit code.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::Bad => 1,
            Self::BadInput => 2,
            Self::Undecidable => 3,
            Self::Interrupted => 130,
        }
    }
}

impl From<Verdict> for Outcome {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Holds => Self::Good,
            Verdict::Bounded => Self::Undecidable,
            Verdict::Violated => Self::Bad,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(outcome.code())
    }
}
