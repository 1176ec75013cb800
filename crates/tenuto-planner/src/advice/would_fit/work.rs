//! How much a search may analyse, counted by what re-plans say that they begin.

use crate::input::transitions::transitions;
use crate::options::Progress;
use tenuto_model::Plan;

/// Hops that one search may analyse, over all re-plans, modes and raises.
const HOPS_MAX: u64 = 400_000;
/// What checking a plan costs, in analyses of the whole.
const CHECKING: u64 = 4;

/// How a change is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Depth {
    /// By sums of hops.
    Hops,
    /// With bounds of whole paths, by the smallest programs.
    Paths,
    /// As the network itself was planned.
    Full,
}

/// What is left of a search's work.
#[derive(Debug)]
pub(super) struct Work {
    left: u64,
    /// Below this, what is left belongs to refusals that come later.
    kept: u64,
    /// Hops of all ways.
    hops: u64,
    /// Modes and raises.
    mode_inputs: u64,
    /// Bounds that whole paths are looked at for.
    bounds: u64,
    was_refused: bool,
}

impl Work {
    /// All of it, for a network as large as this plan's.
    pub(super) fn of(plan: &Plan) -> Self {
        let ways = plan.routes.iter().flat_map(|route| &route.paths);
        let hops = ways.map(|way| way.ports.len()).sum::<usize>().max(1);
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        Self {
            left: HOPS_MAX,
            kept: 0,
            hops: count(hops),
            mode_inputs: count(transitions(&plan.network).len().max(1)),
            bounds: count(plan.flows.len()),
            was_refused: false,
        }
    }

    /// Keeps an equal share for each of the refusals that come later.
    pub(super) fn share(&mut self, refusals: usize) {
        let refusals = u64::try_from(refusals.max(1)).unwrap_or(u64::MAX);
        self.kept = self.left - self.left / refusals;
    }

    /// Whether one more re-plan can be afforded; the first few are, whatever the size.
    pub(super) const fn allows(&self, depth: Depth) -> bool {
        let analysed = self.hops.saturating_mul(self.mode_inputs);
        let needed = match depth {
            Depth::Hops => analysed,
            Depth::Paths | Depth::Full => {
                analysed.saturating_add(self.hops.saturating_mul(self.bounds))
            }
        };
        self.left.saturating_sub(self.kept) >= needed
    }

    /// Takes off what a re-plan begins.
    pub(super) fn spend(&mut self, step: Progress) {
        let hops = match step {
            Progress::Analysing(_) | Progress::WholePaths { .. } => self.hops,
            Progress::TryingRoutes { .. } | Progress::Losing { .. } => {
                self.hops.saturating_mul(self.mode_inputs)
            }
            _ => 0,
        };
        self.left = self.left.saturating_sub(hops);
    }

    /// Takes off what the checker does with a plan.
    pub(super) fn spend_checking(&mut self) {
        let hops = self.hops.saturating_mul(self.mode_inputs).saturating_mul(CHECKING);
        self.left = self.left.saturating_sub(hops);
    }

    /// Remembers that something was not tried.
    pub(super) const fn refuse(&mut self) {
        self.was_refused = true;
    }

    /// Whether something was not tried.
    pub(super) const fn was_refused(&self) -> bool {
        self.was_refused
    }
}
