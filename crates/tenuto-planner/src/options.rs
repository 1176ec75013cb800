//! How to plan, and what is said of it meanwhile.

use tenuto_model::ForwardingModel;

/// How to plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The forwarding model of the bounds; only store-and-forward is valid for frames.
    pub model: ForwardingModel,
    /// Take frames below 64 B as stated instead of padded: for published figures only.
    pub as_stated: bool,
    /// Let input lines shape what they carry; without, bounds are those of plain total flow
    /// analysis.
    pub line_shaping: bool,
    /// How far to look for bounds of whole paths that are less than the sums of their hops; `None`
    /// is total flow analysis alone.
    pub whole_paths: Option<WholePaths>,
    /// What counts of flows that come in whole messages.
    pub curves: Curves,
    /// How flows get their scheduling classes.
    pub priorities: Priorities,
    /// Look for changes that would make a refused network fit; each is planned itself. No checker
    /// is asked: [`crate::suggest`] asks one.
    pub would_fit: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            model: ForwardingModel::StoreAndForward,
            as_stated: false,
            line_shaping: true,
            whole_paths: None,
            curves: Curves::Buckets,
            priorities: Priorities::Given,
            would_fit: true,
        }
    }
}

/// What counts of flows that come in whole messages, a period apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curves {
    /// Token buckets, as if messages trickled in between.
    Buckets,
    /// Whole messages, wherever hosts are trusted or a monitor enforces them.
    Staircases,
    /// Whole messages where buckets alone do not keep every promise, and those do more.
    Auto,
}

/// What the planner has just begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Routing every flow.
    Routing,
    /// Looking for routes that keep every promise.
    TryingRoutes {
        /// How many choices were analysed before.
        done: usize,
    },
    /// Looking for ways around a link, in case it is lost.
    Losing {
        /// Links done.
        done: usize,
        /// Of how many.
        total: usize,
    },
    /// Computing delays of one mode or raise.
    Analysing(tenuto_model::Transition),
    /// Bounding whole paths, one target after the other.
    WholePaths {
        /// Targets done.
        done: usize,
        /// Of how many.
        total: usize,
    },
    /// Compiling what every node is told.
    Deploying,
    /// Looking for priorities that hold.
    Ranking {
        /// Analyses done before.
        done: usize,
    },
    /// Re-planning with a change that might fit.
    Trying {
        /// How many re-plans were done before.
        done: usize,
    },
}

/// How far to look for bounds of whole paths; in sizes, so that the answer is always the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholePaths {
    /// Egress ports that one linear program may look at.
    pub servers_max: usize,
    /// Whether to try larger programs after the polynomial one.
    pub is_thorough: bool,
    /// Inequalities that all programs of a class together may have; with more than two modes their
    /// raises share that of three analyses.
    pub rows_total_max: usize,
}

impl Default for WholePaths {
    fn default() -> Self {
        Self { servers_max: 12, is_thorough: false, rows_total_max: 1_000_000 }
    }
}

/// How flows get their scheduling classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priorities {
    /// As the description has them; a flow without one has its rate-monotonic class already.
    #[default]
    Given,
    /// The shorter the period in a flow's highest mode, the higher, whatever the description says.
    RateMonotonic,
    /// Audsley's assignment, whatever the description says.
    Audsley,
}
