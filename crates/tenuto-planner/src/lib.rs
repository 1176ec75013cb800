//! Routing, analyses, modes and deployment: from a network to a plan.
//!
//! [`plan`] computes exactly what `docs/theory/analysis.md` defines, in integers, and claims one
//! delay per port, class, mode and raise; the independent checker re-computes every inequality
//! from the description alone. It never fails: what cannot be guaranteed is a refusal that names
//! the place, the resource, the amount, and changes that were planned themselves and hold.
//!
//! This crate opens no file, owns no clock and knows nothing of OpenFlow.

mod analysis;
mod assumptions;
mod backup;
pub mod comparison;
mod deployment;
mod drain;
mod end_to_end;
mod entries;
mod envelope;
mod explain;
mod explain_loss;
mod explain_route;
mod farther;
mod fitting;
mod fixed_point;
pub mod loko;
mod mesh;
mod meters;
mod mode_change;
mod other_traffic;
mod outlook;
mod port;
mod priorities;
mod processor;
mod refusal;
mod routing;
mod rows;
mod scene;
mod settling;
mod topology;
mod would_fit;

#[cfg(test)]
mod tests;

pub use end_to_end::Search as WholePaths;
pub use explain::{
    ExplainedHop, ExplainedRow, Explanation, FartherLine, Interferer, Tightening, explain,
};
pub use explain_loss::ExplainedLoss;
pub use explain_route::ExplainedRoute;
pub use priorities::Priorities;
pub use tenuto_bounds::{Executor, InTurn};
use tenuto_model::{ForwardingModel, Network, Plan, Ranked};

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
    /// Look for changes that would make a refused network fit; each is planned itself.
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

/// The plan of a network. What cannot be guaranteed is in its refusals.
pub fn plan(network: &Network, options: &Options) -> Plan {
    plan_on(network, options, &InTurn, &mut |_| ())
}

/// As [`plan`], telling `progress` of every step as it begins, linear programs side by side as far as
/// `executor` does that.
pub fn plan_on(
    network: &Network,
    options: &Options,
    executor: &dyn Executor,
    progress: &mut dyn FnMut(Progress),
) -> Plan {
    let is_rate_monotonic = options.priorities == Priorities::RateMonotonic;
    let ranked = is_rate_monotonic.then(|| priorities::rate_monotonic(network));
    let mut plan = match options.priorities {
        Priorities::Audsley => priorities::audsley(network, (options, executor), &mut |done| {
            progress(Progress::Ranking { done })
        }),
        _ => fitting::plan_fitting(
            ranked.as_ref().unwrap_or(network),
            (options, executor),
            routing::Effort::Full,
            progress,
        ),
    };
    if is_rate_monotonic {
        plan.ranked = Ranked::RateMonotonic;
    }
    plan.assumptions = assumptions::of(&plan);
    if options.would_fit && !plan.refusals.is_empty() {
        would_fit::suggest(&mut plan, options, progress);
    }
    plan.seal();
    plan
}
