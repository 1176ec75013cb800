//! What an analysis of a server graph says of one flow and target.

use std::fmt;
use tenuto_units::Picos;

/// A way to bound an end-to-end delay. Names are those of the literature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// Total flow analysis: a sum of delays per server, shaped by lines where they are known.
    Tfa,
    /// Separated flow analysis: residual service of every server, then one deviation.
    Sfa,
    /// Pay multiplexing only once, servers that serve in any order.
    Pmoo,
    /// Tandem matching analysis: the best cuts of a path, servers that serve in any order.
    Tma,
    /// Least upper delay bound of FIFO tandems by nested residual services.
    Ludb,
    /// Polynomial linear program of FIFO networks.
    Plp,
    /// Exponential linear program of FIFO networks: exact on small ones.
    Elp,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tfa => "tfa",
            Self::Sfa => "sfa",
            Self::Pmoo => "pmoo",
            Self::Tma => "tma",
            Self::Ludb => "ludb",
            Self::Plp => "plp",
            Self::Elp => "elp",
        })
    }
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
}
