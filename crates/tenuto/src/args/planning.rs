//! How a network is planned: what every verb that plans takes, and the methods of `plan`.

use clap::{Args as Flags, ValueEnum};
use tenuto_model::ForwardingModel;

/// How to plan; the same for every verb that plans a network.
#[derive(Clone, Debug, Default, Flags)]
pub(crate) struct Planning {
    /// Plan with another value, such as flows.CAM.period=16ms, flows.CAM.period.HI=16ms or
    /// links.sw1-sw2.rate=1Gbit/s; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Who comes before whom: as the file says, by period, or whatever Audsley's assignment finds
    #[arg(long, value_name = "ORDER", default_value = "given")]
    pub(crate) priorities: Ranking,
    /// What counts of messages: token buckets around them, or whole messages as they come
    #[arg(long, default_value = "auto")]
    pub(crate) curves: Curves,
}

/// Who comes before whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ranking {
    /// The priorities of the file; a flow without one ranks by its period
    #[default]
    Given,
    /// The shorter the period, the higher, whatever the file says
    RateMonotonic,
    /// The lowest to whoever keeps its deadlines there, and so on upwards
    Audsley,
}

impl From<Ranking> for tenuto_planner::Priorities {
    fn from(ranking: Ranking) -> Self {
        match ranking {
            Ranking::Given => Self::Given,
            Ranking::RateMonotonic => Self::RateMonotonic,
            Ranking::Audsley => Self::Audsley,
        }
    }
}

/// What counts of messages.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Curves {
    /// Buckets; whole messages where those keep more promises
    #[default]
    Auto,
    /// Token buckets only
    Buckets,
    /// Whole messages wherever hosts are trusted or a monitor watches
    Staircases,
}

impl From<Curves> for tenuto_planner::Curves {
    fn from(curves: Curves) -> Self {
        match curves {
            Curves::Auto => Self::Auto,
            Curves::Buckets => Self::Buckets,
            Curves::Staircases => Self::Staircases,
        }
    }
}

/// How bounds are computed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Method {
    /// The least of all within an effort: `best` for server graphs and small networks, `plp` for
    /// large ones
    Auto,
    /// Total flow analysis: sums of delays per hop
    Tfa,
    /// Pay multiplexing only once, whatever the order of service (server graphs)
    Pmoo,
    /// The optimum whatever the order of service: never looser than pmoo (server graphs)
    Blind,
    /// Tandem matching analysis: `blind` holds every choice that it makes (server graphs)
    Tma,
    /// Polynomial linear programs over whole paths too
    Plp,
    /// Larger linear programs too, as far as they stay small
    Elp,
    /// Separated flow analysis: a name for `best`, it is not computed by itself
    Sfa,
    /// Least upper delay bounds: a name for `best`, they are not computed by themselves
    Ludb,
    /// The least of all of them, per flow
    Best,
    /// What Silo would promise; for comparison only, not valid where ports share a processor
    Silo,
    /// What `QJump` would promise; for comparison only, not valid where ports share a processor
    Qjump,
}

impl Method {
    /// Whose promises are shown instead of ours.
    pub(crate) const fn peer(self) -> Option<crate::compared::Peer> {
        match self {
            Self::Silo => Some(crate::compared::Peer::Silo),
            Self::Qjump => Some(crate::compared::Peer::Qjump),
            _ => None,
        }
    }
}

impl From<Method> for tenuto_bounds::Effort {
    fn from(method: Method) -> Self {
        match method {
            // Promises of others are shown before any effort is made.
            Method::Tfa | Method::Silo | Method::Qjump => Self::Tfa,
            Method::Pmoo => Self::Pmoo,
            Method::Blind | Method::Tma => Self::Blind,
            Method::Plp => Self::Plp,
            Method::Auto | Method::Elp | Method::Sfa | Method::Ludb | Method::Best => Self::Tight,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Model {
    /// Whole frames are received before they are sent on
    StoreAndForward,
    /// Bits flow through; not valid for frames
    Fluid,
}

impl From<Model> for ForwardingModel {
    fn from(model: Model) -> Self {
        match model {
            Model::StoreAndForward => Self::StoreAndForward,
            Model::Fluid => Self::Fluid,
        }
    }
}
