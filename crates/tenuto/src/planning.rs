//! From a network or a plan file to a plan that was checked.

use crate::args::{Method, Planning, Ranking};
use crate::certified::Certification;
use crate::failure::Failure;
use crate::load::{self, Input};
use crate::progress::Progress;
use crate::side_by_side::SideBySide;
use crate::{output, settings};
use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant};
use tenuto_model::{ForwardingModel, Network, Plan};
use tenuto_planner::{Curves, Options, SearchEnd, Watch};

/// A sealed plan and what the checker says of it.
#[derive(Debug)]
pub(crate) struct Planned {
    /// The plan.
    pub(crate) plan: Plan,
    /// The checker's word.
    pub(crate) certification: Certification,
    /// How long planning took; `None` for a plan from a file.
    pub(crate) took: Option<Duration>,
    /// What it was planned with; `None` for a plan from a file.
    pub(crate) options: Option<Options>,
}

/// What a plan amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    /// Every promise holds.
    Guaranteed,
    /// Every bound holds for typical times of its devices, not for worst ones.
    Modelled,
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
            Self::Modelled => "modelled",
            Self::Refused => "refused",
            Self::Comparison => "comparison",
        }
    }

    /// Whether a run of it can be judged: what is refused, or no bound of frames, cannot.
    pub(crate) const fn can_run(self) -> bool {
        matches!(self, Self::Guaranteed | Self::Modelled)
    }
}

impl Planned {
    /// What the plan amounts to.
    pub(crate) fn promise(&self) -> Promise {
        match (self.plan.feasible, self.plan.refusals.as_slice()) {
            (true, _) if self.plan.modelled => Promise::Modelled,
            (true, _) => Promise::Guaranteed,
            (false, [_, ..]) => Promise::Refused,
            (false, []) => Promise::Comparison,
        }
    }

    /// Looks for what would fit, of a network that was refused: every change was planned and
    /// accepted by the checker. `found` is told of each with the index of its refusal.
    pub(crate) fn look_for_changes(&mut self, found: &mut dyn FnMut(usize, &str)) -> SearchEnd {
        let Some(options) = self.options.filter(|_| !self.plan.refusals.is_empty()) else {
            return SearchEnd::Complete;
        };
        let progress = RefCell::new(Progress::new());
        let modes = self.plan.network.modes.clone();
        let confirm = |plan: &Plan| Certification::of(plan).allows_bounds();
        let mut say = |step| progress.borrow_mut().say(|| told(step, &modes));
        let mut found = |index: usize, line: &str| {
            progress.borrow_mut().wipe();
            found(index, line);
        };
        let mut watch = Watch { confirm: &confirm, progress: &mut say, found: &mut found };
        let end = tenuto_planner::suggest(&mut self.plan, &options, &mut watch);
        drop(progress);
        self.certification = Certification::of(&self.plan);
        end
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

/// Bounds of a network that is small enough for larger programs without being asked.
const BOUNDS_SMALL: usize = 64;
/// Inequalities of all programs together that are solved without being asked: about two seconds
/// in polynomial programs, as larger ones take longer per inequality.
const ROWS_MAX: usize = 1_000_000;
const ROWS_LARGER_MAX: usize = 50_000;
/// Ports of one program where larger ones are solved at all: what ends them is their inequalities.
const SERVERS_LARGER_MAX: usize = 64;

/// How far to look for bounds of whole paths.
pub(crate) fn whole_paths(method: Method, network: &Network) -> Option<tenuto_planner::WholePaths> {
    let copies = |flow: &tenuto_model::Flow| flow.targets.len() * flow.copies.len().max(1);
    let modes = |flow: &tenuto_model::Flow| flow.level + 1;
    let bounds: usize = network.flows.iter().map(|flow| copies(flow) * modes(flow)).sum();
    let wide = tenuto_planner::WholePaths::default();
    let larger = |rows_total_max| {
        let servers_max = SERVERS_LARGER_MAX;
        Some(tenuto_planner::WholePaths { servers_max, is_thorough: true, rows_total_max })
    };
    match method {
        // Classes of a network are served in order: what holds in any order gives less there.
        Method::Tfa | Method::Silo | Method::Qjump | Method::Pmoo | Method::Blind | Method::Tma => {
            None
        }
        Method::Auto if bounds <= BOUNDS_SMALL => larger(ROWS_LARGER_MAX),
        Method::Auto => Some(tenuto_planner::WholePaths { rows_total_max: ROWS_MAX, ..wide }),
        Method::Plp => Some(wide),
        Method::Elp | Method::Sfa | Method::Ludb | Method::Best => larger(wide.rows_total_max),
    }
}

/// What a network is planned with where nothing else is asked: every verb promises the same.
pub(crate) fn usual_options(network: &Network) -> Options {
    let whole_paths = whole_paths(Method::Auto, network);
    Options { whole_paths, curves: Curves::Auto, ..Options::default() }
}

/// `usual_options` with what the command line says of priorities and curves.
pub(crate) fn options(network: &Network, planning: &Planning) -> Options {
    let (priorities, curves) = (planning.priorities.into(), planning.curves.into());
    Options { priorities, curves, ..usual_options(network) }
}

/// Plans, seals and checks; of a refused network, what would fit is in the plan.
pub(crate) fn planned(network: &Network, options: &Options) -> Result<Planned, Failure> {
    let mut planned = judged(network, options)?;
    if options.would_fit {
        planned.look_for_changes(&mut |_, _| ());
    }
    Ok(planned)
}

/// Plans, seals and checks, and looks for no change that would fit. Should the checker not accept what was found of whole paths, sums of
/// hops are claimed instead, and that is said.
pub(crate) fn judged(network: &Network, options: &Options) -> Result<Planned, Failure> {
    let options = &Options { would_fit: false, ..*options };
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
    let mut plan = tenuto_planner::plan_on(network, options, &SideBySide, &mut |step| {
        progress.say(|| told(step, modes));
    });
    plan.seal();
    let took = started.elapsed();
    progress.say(|| "checking the plan".into());
    let certification = Certification::of(&plan);
    drop(progress);
    Planned { plan, certification, took: Some(took), options: Some(*options) }
}

fn told(step: tenuto_planner::Progress, modes: &[String]) -> String {
    match step {
        tenuto_planner::Progress::Routing => "routing".into(),
        tenuto_planner::Progress::TryingRoutes { done } => {
            format!("looking for other routes: {done} choices analysed")
        }
        tenuto_planner::Progress::Losing { done, total } => {
            format!("looking for ways around lost links: {done} of {total}")
        }
        tenuto_planner::Progress::Analysing(mode) => format!("analysing {}", mode.label(modes)),
        tenuto_planner::Progress::WholePaths { done, total } => {
            format!("bounding whole paths: {done} of {total}")
        }
        tenuto_planner::Progress::Ranking { done } => {
            format!("looking for priorities that hold: {done} analyses")
        }
        tenuto_planner::Progress::Deploying => "compiling what the nodes are told".into(),
        tenuto_planner::Progress::Trying { done } => {
            format!("looking for what would fit: {} tried", crate::format::counted(done, "plan"))
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
            planned(&network, &options(&network, planning))?
        }
        Input::Plan(plan) => {
            let is_ranked = planning.priorities != Ranking::Given;
            if slow > 1 || !planning.set.is_empty() || is_ranked {
                let hint =
                    "--set, --priorities and --slow are for a network, which is then planned";
                let shown = path.display().to_string();
                return Err(Failure::input("a plan has its values", Some(&shown), Some(hint)));
            }
            let certification = Certification::of(&plan);
            Planned { plan: *plan, certification, took: None, options: None }.relied_on()?
        }
    };
    if planned.plan.model == ForwardingModel::Fluid || planned.promise() == Promise::Comparison {
        let hint = "plan without --model fluid and --as-stated";
        let shown = path.display().to_string();
        return Err(Failure::input("this plan is for comparison only", Some(&shown), Some(hint)));
    }
    Ok(planned)
}
