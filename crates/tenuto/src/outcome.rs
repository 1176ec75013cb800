//! How a verb ended, as its exit code says it.

use std::process::ExitCode;
use tenuto_model::Verdict as RunVerdict;
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

/// The exit code of each word (docs/reference/cli.md, "The verdict of a run").
impl From<RunVerdict> for Outcome {
    fn from(verdict: RunVerdict) -> Self {
        match verdict {
            RunVerdict::Kept => Self::Good,
            RunVerdict::Violated | RunVerdict::Broken => Self::Bad,
            RunVerdict::Stopped => Self::Interrupted,
            RunVerdict::Undecided
            | RunVerdict::Late
            | RunVerdict::NothingObserved
            | RunVerdict::Modelled
            | RunVerdict::Comparison => Self::Undecidable,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(outcome.code())
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, RunVerdict};

    /// The table of the reference has every word with its JSON value and exit code, and no other.
    #[test]
    fn the_reference_has_every_verdict_with_its_exit_code() {
        let page = include_str!("../../../docs/reference/cli.md");
        let start = page.find("## The verdict of a run").expect("the section");
        let section = &page[start + 3..];
        let section = &section[..section.find("\n## ").unwrap_or(section.len())];
        let cells = |line: &str| -> Vec<String> {
            line.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
        };
        let section = section.find("\n| word ").map(|at| &section[at + 1..]).expect("the table");
        let section = &section[..section.find("\n\n").unwrap_or(section.len())];
        let rows: Vec<Vec<String>> =
            section.lines().filter(|line| line.starts_with("| ")).skip(1).map(cells).collect();
        let told: Vec<_> = rows.iter().map(|row| [&row[1], &row[2], &row[3]]).collect();
        assert_eq!(told.len(), RunVerdict::ALL.len(), "{told:?}");
        for (row, verdict) in told.iter().zip(RunVerdict::ALL) {
            let code = Outcome::from(verdict).code().to_string();
            assert_eq!(*row, [verdict.headline(), verdict.word(), &code], "in order of precedence");
            let json = serde_json::to_string(&verdict).expect("a word");
            assert_eq!(json, format!("\"{}\"", verdict.word()));
        }
    }
}
