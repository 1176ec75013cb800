//! Routing, analyses, modes and deployment: from a network to a plan.
//!
//! [`plan`] computes exactly what `docs/theory/analysis.md` defines, in integers, and claims one
//! delay per port, class, mode and raise; the independent checker re-computes every inequality
//! from the description alone. It never fails: what cannot be guaranteed is a refusal that names
//! the place, the resource, the amount, and changes that were planned themselves and hold.
//!
//! This crate opens no file, owns no clock and knows nothing of OpenFlow.

mod advice;
mod analysis;
pub mod comparison;
mod input;
pub mod loko;
mod modes;
mod options;
mod output;
mod passes;
mod refused;
mod routes;

#[cfg(test)]
mod tests;

pub use advice::explain::{
    ExplainedHop, ExplainedRow, Explanation, FartherLine, Interferer, Tightening, explain,
};
pub use advice::explain_loss::ExplainedLoss;
pub use advice::explain_route::ExplainedRoute;
pub use advice::would_fit::{SearchEnd, Watch};
pub use options::{Curves, Options, Priorities, Progress, WholePaths};
pub use tenuto_bounds::{Executor, InTurn};

use advice::would_fit;
use output::assumptions;
use passes::{fitting, priorities};
use tenuto_model::{Network, Plan, Ranked};

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
            routes::Effort::Full,
            progress,
        ),
    };
    if is_rate_monotonic {
        plan.ranked = Ranked::RateMonotonic;
    }
    plan.assumptions = assumptions::of(&plan);
    plan.seal();
    if options.would_fit && !plan.refusals.is_empty() {
        let mut watch = Watch { confirm: &|_| true, progress, found: &mut |_, _| () };
        suggest(&mut plan, options, &mut watch);
    }
    plan
}

/// Adds to every refusal of a plan the changes that hold, each planned itself and accepted by the
/// checker that `watch` brings, and seals the plan again. How far that is looked for is limited by
/// counts of what is analysed, so that the same plan always gets the same lines.
///
/// `options` are those that the plan was made with.
pub fn suggest(plan: &mut Plan, options: &Options, watch: &mut Watch<'_>) -> SearchEnd {
    let end = would_fit::suggest(plan, options, watch);
    plan.seal();
    end
}
