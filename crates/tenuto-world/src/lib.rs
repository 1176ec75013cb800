//! One transition system of cores, links, hosts and faults; drivers `clockwork` (virtual time) and
//! `explore` (every interleaving), the ledger that judges any run, and races in records of runs.

pub mod applied;
mod assemble;
pub mod campaign;
pub mod clockwork;
pub mod device;
pub mod explore;
pub mod fault_model;
mod ledger;
mod left_behind;
pub mod profiling;
pub mod races;

pub use assemble::{host_config, link_key, mode_settings, switch_config};
pub use ledger::{
    ControlStep, CopyRow, DelayBucket, DelayPoint, Ending, EventRow, Facts, FlowRow, FramesAt,
    HopBucket, HopDelayRow, HopRow, Ledger, LedgerSettings, MachineRow, ModeChangeRow, Observation,
    PROGRAM_MESSAGES, Played, PolicedRow, PortObservation, ProgressRow, Release, Replay,
    RunDocument, StallRow, SwitchSwap, TermRow, UnobservedRow, VerdictReason, Violation,
};
pub use left_behind::LeftBehind;
