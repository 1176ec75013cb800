//! One transition system of cores, links, hosts and faults; drivers `clockwork` (virtual time) and
//! `explore` (every interleaving), and the ledger that judges any run.

mod assemble;
mod ledger;

pub use assemble::{link_key, switch_config};
pub use ledger::{
    CopyRow, EventRow, FlowRow, Ledger, LedgerSettings, ModeChangeRow, Observation, PolicedRow,
    PortObservation, ProgressRow, RunDocument, StallRow, SwitchSwap, TermRow, Violation,
};
