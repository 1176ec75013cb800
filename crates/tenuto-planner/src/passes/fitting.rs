//! Buckets or whole messages: whichever keeps more promises.

use crate::options::{Curves, Options, Progress};
use crate::passes::planned::plan_once;
use crate::routes::Effort;
use tenuto_bounds::Executor;
use tenuto_model::{Network, Plan};

/// The plan with the curves that were asked for; left to the planner, buckets unless whole
/// messages refuse less.
pub(crate) fn plan_fitting(
    network: &Network,
    (options, executor): (&Options, &dyn Executor),
    effort: Effort,
    progress: &mut dyn FnMut(Progress),
) -> Plan {
    if options.curves != Curves::Auto {
        return plan_once(network, (options, executor), effort, progress);
    }
    let plan = plan_once(
        network,
        (&Options { curves: Curves::Buckets, ..*options }, executor),
        effort,
        progress,
    );
    if !has_late(&plan) {
        return plan;
    }
    let stepped = Options { curves: Curves::Staircases, ..*options };
    let stepped = plan_once(network, (&stepped, executor), effort, progress);
    if stepped.refusals.len() < plan.refusals.len() { stepped } else { plan }
}

/// Whether tighter curves could help: something is late or does not fit, nothing is overloaded.
fn has_late(plan: &Plan) -> bool {
    let is = |resources: &[&str]| {
        plan.refusals.iter().any(|refusal| resources.contains(&refusal.resource.as_str()))
    };
    is(&["deadline", "buffer", "skew", "quiet"]) && !is(&["rate", "route"])
}
