//! From a network or a plan file to a plan that was checked.

use crate::args::{Method, Planning};
use crate::certified::Certification;
use crate::failure::Failure;
use crate::load::{self, Input};
use crate::progress::Progress;
use crate::{output, settings};
use std::path::Path;
use std::time::{Duration, Instant};
use tenuto_model::{ForwardingModel, Network, Plan};
use tenuto_planner::Options;

/// A sealed plan and what the checker says of it.
#[derive(Debug)]
pub(crate) struct Planned {
    /// The plan.
    pub(crate) plan: Plan,
    /// The checker's word.
    pub(crate) certification: Certification,
    /// How long planning took; `None` for a plan from a file.
    pub(crate) took: Option<Duration>,
}

/// What a plan amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    /// Every promise holds.
    Guaranteed,
    /// Something is scarce.
    Refused,
    /// Bounds that are not for frames on a wire: nothing is promised.
    Comparison,
}

impl Promise {
    /// As documents say it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Guaranteed => "guaranteed",
            Self::Refused => "refused",
            Self::Comparison => "comparison",
        }
    }
}

impl Planned {
    /// What the plan amounts to.
    pub(crate) fn promise(&self) -> Promise {
        match (self.plan.feasible, self.plan.refusals.as_slice()) {
            (true, _) => Promise::Guaranteed,
            (false, [_, ..]) => Promise::Refused,
            (false, []) => Promise::Comparison,
        }
    }

    /// Refuses a plan that the checker rejects, unless it was refused before that.
    fn relied_on(self) -> Result<Self, Failure> {
        match &self.certification {
            Certification::Rejected(findings) if self.promise() != Promise::Refused => {
                Err(Failure::not_certified(findings))
            }
            _ => Ok(self),
        }
    }
}

/// Bounds of whole paths that are looked for without being asked.
const WHOLE_PATHS_MAX: usize = 64;

/// How far to look for bounds of whole paths.
pub(crate) fn whole_paths(method: Method, network: &Network) -> Option<tenuto_planner::WholePaths> {
    let copies = |flow: &tenuto_model::Flow| flow.targets.len() * flow.copies.len().max(1);
    let modes = |flow: &tenuto_model::Flow| flow.level + 1;
    let bounds: usize = network.flows.iter().map(|flow| copies(flow) * modes(flow)).sum();
    match method {
        Method::Tfa | Method::Silo | Method::Qjump => None,
        Method::Auto if bounds > WHOLE_PATHS_MAX => None,
        Method::Auto | Method::Plp => Some(tenuto_planner::WholePaths::default()),
        Method::Elp | Method::Best => {
            let wide = tenuto_planner::WholePaths::default();
            Some(tenuto_planner::WholePaths { is_thorough: true, ..wide })
        }
    }
}

/// What a network is planned with where nothing else is asked: every verb promises the same.
pub(crate) fn usual_options(network: &Network) -> Options {
    Options { whole_paths: whole_paths(Method::Auto, network), ..Options::default() }
}

/// Plans, seals and checks. Should the checker not accept what was found of whole paths, sums of
/// hops are claimed instead, and that is said.
pub(crate) fn planned(network: &Network, options: &Options) -> Result<Planned, Failure> {
    let planned = planned_once(network, options);
    match &planned.certification {
        Certification::Rejected(findings) if options.whole_paths.is_some() => {
            let first = findings.first().map_or("", String::as_str);
            output::complain(&format!(
                "warning: bounds of whole paths were not accepted, sums of hops are used ({first})"
            ));
            planned_once(network, &Options { whole_paths: None, ..*options }).relied_on()
        }
        _ => planned.relied_on(),
    }
}

fn planned_once(network: &Network, options: &Options) -> Planned {
    let started = Instant::now();
    let mut progress = Progress::new();
    let modes = &network.modes;
    let mut plan = tenuto_planner::plan_with_progress(network, options, &mut |step| {
        progress.say(|| told(step, modes));
    });
    plan.seal();
    let took = started.elapsed();
    progress.say(|| "checking the plan".into());
    let certification = Certification::of(&plan);
    drop(progress);
    Planned { plan, certification, took: Some(took) }
}

fn told(step: tenuto_planner::Progress, modes: &[String]) -> String {
    match step {
        tenuto_planner::Progress::Routing => "routing".into(),
        tenuto_planner::Progress::Analysing(mode) => format!("analysing {}", mode.label(modes)),
        tenuto_planner::Progress::WholePaths { done, total } => {
            format!("bounding whole paths: {done} of {total}")
        }
        tenuto_planner::Progress::Deploying => "compiling what the nodes are told".into(),
        tenuto_planner::Progress::Trying { done } => {
            format!("looking for what would fit: {done} plans tried")
        }
    }
}

/// A plan for what runs: of a network, or from a file; checked either way.
pub(crate) fn of_input(path: &Path, planning: &Planning) -> Result<Planned, Failure> {
    of_input_slowed(path, planning, 1)
}

/// As [`of_input`], of the network run `slow` times slower.
pub(crate) fn of_input_slowed(
    path: &Path,
    planning: &Planning,
    slow: u64,
) -> Result<Planned, Failure> {
    let planned = match load::input(path)? {
        Input::Network(network) => {
            let mut network = settings::apply(*network, &planning.set)?;
            if slow > 1 {
                network = tenuto_runtime::slowed(&network, slow).map_err(|error| {
                    let hint = "name another factor";
                    Failure::input(format!("--slow {slow}: {error}"), None, Some(hint))
                })?;
            }
            planned(&network, &usual_options(&network))?
        }
        Input::Plan(plan) => {
            if slow > 1 || !planning.set.is_empty() {
                let hint = "--set and --slow are for a network, which is then planned";
                let shown = path.display().to_string();
                return Err(Failure::input("a plan has its values", Some(&shown), Some(hint)));
            }
            let certification = Certification::of(&plan);
            Planned { plan: *plan, certification, took: None }.relied_on()?
        }
    };
    if planned.plan.model == ForwardingModel::Fluid || planned.promise() == Promise::Comparison {
        let hint = "plan without --model fluid and --as-stated";
        let shown = path.display().to_string();
        return Err(Failure::input("this plan is for comparison only", Some(&shown), Some(hint)));
    }
    Ok(planned)
}
