//! What an analysis of a server graph is asked, and what it says of each flow and target.

use crate::proof::Proofs;
use serde::{Deserialize, Serialize};
use std::fmt;
use tenuto_units::Picos;

/// A way to bound an end-to-end delay. Names are those of the literature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Total flow analysis: a sum of delays per server, shaped by lines where they are known.
    Tfa,
    /// Pay multiplexing only once, servers that serve in any order.
    Pmoo,
    /// Linear program of servers that serve in any order: exact on tandems.
    Blind,
    /// Polynomial linear program of FIFO networks.
    Plp,
    /// Polynomial program with further dates: between polynomial and exponential.
    #[serde(rename = "plp+")]
    PlpMore,
    /// Exponential linear program of FIFO networks: exact on small ones.
    Elp,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tfa => "tfa",
            Self::Pmoo => "pmoo",
            Self::Blind => "blind",
            Self::Plp => "plp",
            Self::PlpMore => "plp+",
            Self::Elp => "elp",
        })
    }
}

/// How far the search for tighter bounds goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// Total flow analysis only: milliseconds.
    Tfa,
    /// Pay multiplexing only once too, whatever the order of service: thousands of bounds in
    /// seconds.
    Pmoo,
    /// The optimum over service dates instead: as cheap, never looser.
    Blind,
    /// FIFO linear programs of polynomial size too.
    Plp,
    /// Also programs with more dates, up to the limits of [`Options`].
    #[default]
    Tight,
}

/// What an analysis is asked. The same graph and options give the same answer: budgets are
/// counted in sizes and iterations, never in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether lines bound what leaves a server together; `false` treats them as unknown.
    pub line_shaping: bool,
    /// How far the search goes.
    pub effort: Effort,
    /// Servers that a tree of a linear program may have, copies counted; branches beyond enter
    /// with the bursts that total flow analysis gives.
    pub tree_servers_max: usize,
    /// Dates that a linear program may have over all servers of its tree.
    pub dates_max: usize,
    /// Inequalities that one linear program may have.
    pub rows_max: usize,
    /// Inequalities that all linear programs together may have; where many targets share them,
    /// each gets less than `rows_max`.
    pub rows_total_max: usize,
    /// Servers that a tree may have whose program has few dates and looks at all servers in front
    /// of a way; 0: no such programs. For graphs in order of arrival and without cycles.
    pub whole_servers_max: usize,
    /// Inequalities that all programs of such trees together may have.
    pub whole_rows_total_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            line_shaping: true,
            effort: Effort::default(),
            tree_servers_max: 64,
            dates_max: 1_000,
            rows_max: 30_000,
            rows_total_max: 1_000_000,
            whole_servers_max: 512,
            whole_rows_total_max: 3_000_000,
        }
    }
}

/// How far an analysis has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is at work.
    pub method: Method,
    /// Programs or targets done.
    pub done: usize,
    /// Of how many.
    pub total: usize,
}

/// The bound of one flow and target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetBound {
    /// Index of the flow.
    pub flow: usize,
    /// Index of the target in the flow.
    pub target: usize,
    /// From the source to the target, constants included; `None`: no bound.
    pub delay: Option<Picos>,
    /// The method that gave the least.
    pub method: Method,
    /// What total flow analysis alone gives.
    pub tfa: Option<Picos>,
}

/// The answer: a bound for every flow and target, and the proofs of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Analysis {
    /// What is wrong with the graph, in words; nothing has a bound then.
    pub faults: Vec<String>,
    /// By flow, then target.
    pub bounds: Vec<TargetBound>,
    /// What the checker needs to believe them.
    pub proofs: Proofs,
}
