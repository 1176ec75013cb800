//! Broken variants of the mode protocol, for showing that exploration finds them.

/// A broken variant; with feature `mutants` only there is any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// The protocol as it is.
    #[default]
    None,
    /// Sources resume at the commit already, not after the last confirmation.
    #[cfg(feature = "mutants")]
    ResumeAtCommit,
    /// A vote survives a later violation: the voter does not raise above the proposal.
    #[cfg(feature = "mutants")]
    VoteSurvivesViolation,
    /// The leader commits without waiting for every vote.
    #[cfg(feature = "mutants")]
    CommitWithoutVotes,
    /// Signals are not flooded on.
    #[cfg(feature = "mutants")]
    NoForwarding,
    /// One copy of each signal, whatever is configured.
    #[cfg(feature = "mutants")]
    SingleCopy,
    /// Equal epochs are resolved by arrival, not by level.
    #[cfg(feature = "mutants")]
    LevelIgnored,
    /// A mode that a neighbour has not reported is not repeated.
    #[cfg(feature = "mutants")]
    RepeatsNever,
    /// It is repeated once, heard or not.
    #[cfg(feature = "mutants")]
    RepeatsOnce,
    /// What a neighbour repeats is not adopted.
    #[cfg(feature = "mutants")]
    IgnoresState,
    /// A neighbour is never told that its mode is known.
    #[cfg(feature = "mutants")]
    ReportsNothing,
    /// A switch that has started asks once only.
    #[cfg(feature = "mutants")]
    AsksOnce,
    /// A member that hears nothing of its leader after the commit waits for ever.
    #[cfg(feature = "mutants")]
    MemberWaits,
    /// A leader that misses confirmations repeats itself for ever.
    #[cfg(feature = "mutants")]
    LeaderWaits,
    /// A raise to less than what is in force lowers.
    #[cfg(feature = "mutants")]
    RaiseLowers,
    /// The first confirmation counts for all.
    #[cfg(feature = "mutants")]
    FirstConfirmation,
    /// Whoever asks between commit and resume is answered with the lower mode.
    #[cfg(feature = "mutants")]
    AnswersCommitted,
    /// A member votes whatever it has seen.
    #[cfg(feature = "mutants")]
    VotesUnquiet,
}

/// Whether an agent is this broken variant: never without the feature.
macro_rules! is_mutant {
    ($agent:expr, $variant:ident) => {{
        #[cfg(feature = "mutants")]
        let found = $agent.mutant == $crate::switch::mode::Mutant::$variant;
        #[cfg(not(feature = "mutants"))]
        let found = false;
        found
    }};
}
pub(super) use is_mutant;
