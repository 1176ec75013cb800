//! How a run ended, in one word.

use serde::{Deserialize, Serialize};

/// How a run ended: one word, alike in text, document, report and exit code.
///
/// The order is that of precedence: where facts speak for several words, the first is said
/// (docs/theory/observation.md, "The verdict").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The network is refused and ran all the same: nothing was promised, and nothing can be broken.
    Comparison,
    /// A bound or a promise was exceeded, or a message was lost, and no death explains it.
    Violated,
    /// A node or a program died, or never answered, beyond what the plan tolerates.
    Broken,
    /// The user ended the run before its end.
    Stopped,
    /// Something was above its bound or missing while this machine did not serve its way.
    Undecided,
    /// A message came after its deadline, but within bound and host allowance.
    Late,
    /// Of a flow that the scenario sends nothing was observed.
    NothingObserved,
    /// All would be kept, but the plan rests on typical times: nothing was promised.
    Modelled,
    /// Every flow that the scenario sends was observed, nothing above its bound, nothing lost.
    Kept,
}

impl Verdict {
    /// Every word, in order of precedence.
    pub const ALL: [Self; 9] = [
        Self::Comparison,
        Self::Violated,
        Self::Broken,
        Self::Stopped,
        Self::Undecided,
        Self::Late,
        Self::NothingObserved,
        Self::Modelled,
        Self::Kept,
    ];

    /// As documents have it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Comparison => "comparison",
            Self::Violated => "violated",
            Self::Broken => "broken",
            Self::Stopped => "stopped",
            Self::Undecided => "undecided",
            Self::Late => "late",
            Self::NothingObserved => "nothing_observed",
            Self::Modelled => "modelled",
            Self::Kept => "kept",
        }
    }

    /// As the last line and the report begin with it.
    pub const fn headline(self) -> &'static str {
        match self {
            Self::Comparison => "COMPARISON",
            Self::Violated => "VIOLATED",
            Self::Broken => "BROKEN",
            Self::Stopped => "STOPPED",
            Self::Undecided => "UNDECIDED",
            Self::Late => "LATE BY THIS MACHINE",
            Self::NothingObserved => "NOTHING OBSERVED",
            Self::Modelled => "MODELLED",
            Self::Kept => "KEPT",
        }
    }
}
