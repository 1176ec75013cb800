//! What would fit: changes to a refused description, each planned itself before it is offered.
//!
//! A change is offered if nothing is refused any more and the caller's checker accepts the changed
//! plan; where no such change is found, if it takes this refusal away and leaves fewer, which its
//! text then says. It is planned as whoever makes it would plan it: with priorities as they are
//! (`--set`), and, where those follow from periods, with those that follow from the changed ones (an
//! edited file).
//!
//! Sums of hops are tried first: a change that holds by them holds with bounds of whole paths too,
//! which are never larger. Whole paths are tried for milder changes as long as the work that is
//! left allows. Work is counted in analysed hops, never in time: the same description always gives
//! the same lines.

mod change;
mod changes;
mod devices;
mod work;

use crate::options::{Options, Priorities, Progress, WholePaths};
use crate::passes::fitting::plan_fitting;
use crate::routes::Effort;
use change::Change;
use changes::{
    above, dropping, faster, free_routes, further_apart, later, over_links, periods, quieter,
    sizes, sizes_together,
};
use devices::{fewer_classes, knowing_modes, no_link_lost, quicker, wider, with_links};
use std::collections::BTreeMap;
use tenuto_bounds::InTurn;
use tenuto_model::{Flow, Network, Plan, Refusal, Transition};
use work::{Depth, Work};

/// Re-plans per refused network.
const REPLANS_MAX: usize = 160;
/// Flows that shrink together: the largest ones at the refused place.
const TOGETHER: [usize; 3] = [2, 4, 8];
/// What a line ends with whose change leaves other refusals.
const STAYS_REFUSED: &str = " (something else stays refused)";

/// Who is told and asked while changes are looked for.
pub struct Watch<'a> {
    /// Whether the independent checker accepts a sealed plan; a change whose plan it does not
    /// accept is not offered.
    pub confirm: &'a dyn Fn(&Plan) -> bool,
    /// Told of every re-plan as it begins.
    pub progress: &'a mut dyn FnMut(Progress),
    /// Told of every change as it is found: the index of its refusal, and its text.
    pub found: &'a mut dyn FnMut(usize, &str),
}

/// How a search for changes ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchEnd {
    /// Every kind of change that is known was tried.
    Complete,
    /// There was no work left: further changes may hold.
    Limited,
}

/// Adds to every refusal the changes that hold.
pub(crate) fn suggest(plan: &mut Plan, options: &Options, watch: &mut Watch<'_>) -> SearchEnd {
    let refusals = plan.refusals.clone();
    let work = Work::of(plan);
    let mut search =
        Search { plan, options, watch, refusals: &refusals, work, done: 0, known: BTreeMap::new() };
    let count = refusals.len();
    let of = |search: &mut Search<'_, '_>, index| {
        search.work.share(count - index);
        search.for_refusal(index)
    };
    let found: Vec<Vec<String>> = (0..count).map(|index| of(&mut search, index)).collect();
    let end = search.end();
    for (refusal, lines) in plan.refusals.iter_mut().zip(found) {
        refusal.would_fit.extend(lines);
    }
    end
}

struct Search<'a, 'w> {
    plan: &'a Plan,
    options: &'a Options,
    watch: &'a mut Watch<'w>,
    refusals: &'a [Refusal],
    work: Work,
    done: usize,
    /// What is left refused after a change that was tried before, by its text.
    known: BTreeMap<(String, Depth), Vec<Key>>,
}

/// Place and resource of a refusal.
type Key = (String, String);

/// A change of a list that holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// Its place in the list.
    index: usize,
    /// Whether nothing is refused with it.
    is_strict: bool,
}

fn key(refusal: &Refusal) -> Key {
    (refusal.place.clone(), refusal.resource.clone())
}

impl Search<'_, '_> {
    fn for_refusal(&mut self, index: usize) -> Vec<String> {
        let refusals = self.refusals;
        let refusal = &refusals[index];
        let mut lines = Vec::new();
        let is_part = |line: &String| line.ends_with(STAYS_REFUSED);
        for changes in self.changes(refusal) {
            lines.extend(self.offered(index, &changes));
        }
        if lines.iter().all(is_part) && ["rate", "deadline", "buffer"].contains(&&*refusal.resource)
        {
            lines.extend(self.together(index));
        }
        lines
    }

    /// The fewest of the largest flows at the refused place whose messages have to shrink.
    fn together(&mut self, index: usize) -> Option<String> {
        let largest = self.largest(&self.refusals[index]);
        let mut before = 0;
        for most in TOGETHER {
            let flows = &largest[..largest.len().min(most)];
            if flows.len() > before {
                let line = self.offered(index, &sizes_together(&self.plan.network, flows));
                if line.is_some() {
                    return line;
                }
            }
            before = flows.len();
        }
        None
    }

    /// The mildest change that holds, as it is offered.
    fn offered(&mut self, index: usize, changes: &[Change]) -> Option<String> {
        let refusals = self.refusals;
        let refusal = &refusals[index];
        let held = self.best(refusal, changes)?;
        let change = &changes[held.index];
        if held.is_strict && !self.is_confirmed(change) {
            return None;
        }
        let rest = if held.is_strict { "" } else { STAYS_REFUSED };
        let line = format!("{}{rest}", change.text);
        (self.watch.found)(index, &line);
        Some(line)
    }

    /// Kinds of changes that may take a refusal away, each from the mildest on.
    fn changes(&self, refusal: &Refusal) -> Vec<Vec<Change>> {
        let (plan, network) = (self.plan, &self.plan.network);
        let of_flow = |flow: Option<usize>| -> Vec<Vec<Change>> {
            flow.map_or_else(Vec::new, |it| vec![sizes(network, it), periods(network, it)])
        };
        match refusal.resource.as_str() {
            "other_traffic" => vec![dropping(network)],
            "quiet" => vec![quieter(network, refusal)],
            "skew" => vec![further_apart(network, refusal)],
            "route" => vec![over_links(network, refusal), free_routes(network, refusal)],
            "meter_burst" => of_flow(heaviest(network, &refusal.flows)),
            "entries" | "meters" | "groups" => vec![wider(plan, refusal)],
            // Of any device: nothing but fewer targets fits.
            "outputs" => Vec::new(),
            "queues" => vec![fewer_classes(network), wider(plan, refusal)],
            "priorities" => {
                let mut all = of_flow(heaviest(network, &refusal.flows));
                all.push(later(plan, refusal));
                all
            }
            "backup" => {
                let mut all = of_flow(heaviest(network, &refusal.flows));
                all.extend([later(plan, refusal), no_link_lost(network)]);
                all
            }
            "modes" => {
                let mut all = vec![knowing_modes(network, refusal), with_links(network)];
                if all.iter().all(Vec::is_empty) {
                    all = of_flow(heaviest(network, &[]));
                }
                all
            }
            _ => {
                let largest = self.largest(refusal).first().copied();
                let mut all = of_flow(largest);
                let is_late = refusal.resource == "deadline";
                all.extend(largest.filter(|_| is_late).map(|it| above(network, refusal, it)));
                let mut ports = plan.port_rows.iter().map(|row| &row.port);
                let port = ports.find(|port| network.port_label(port) == refusal.place);
                all.extend(port.map(|port| faster(network, port)));
                if is_late {
                    all.extend([quicker(plan, refusal), later(plan, refusal)]);
                }
                if refusal.resource == "buffer" {
                    all.push(wider(plan, refusal));
                }
                all
            }
        }
    }

    /// The flows at the refused port, the highest rate first.
    fn largest(&self, refusal: &Refusal) -> Vec<usize> {
        let network = &self.plan.network;
        let passes = |flow: &Flow| {
            let routes = self.plan.routes.iter().filter(|route| route.flow == flow.name);
            let mut ports = routes.flat_map(|r| r.paths.iter().flat_map(|path| &path.ports));
            ports
                .any(|port| port.node == refusal.place || network.port_label(port) == refusal.place)
        };
        let low = match refusal.mode {
            Some(Transition::Raise { from, .. }) => from,
            Some(mode) => mode.level_after(),
            None => 0,
        };
        let here = network.flows.iter().enumerate().filter(|(_, flow)| passes(flow));
        let in_mode = here.filter(|(_, flow)| flow.level >= usize::from(low));
        let mut rates: Vec<_> = in_mode.map(|(index, flow)| (rate(flow, low), index)).collect();
        rates.sort_unstable_by(|a, b| b.cmp(a));
        rates.into_iter().map(|(_, index)| index).collect()
    }

    /// The mildest change that holds: by sums of hops, then, milder perhaps, by whole paths.
    fn best(&mut self, refusal: &Refusal, changes: &[Change]) -> Option<Held> {
        let by_hops = self.mildest(refusal, changes, None, Depth::Hops);
        if self.options.whole_paths.is_none() || !self.work.allows(Depth::Paths) {
            return by_hops;
        }
        let strict = by_hops.filter(|held| held.is_strict);
        self.mildest(refusal, changes, strict, Depth::Paths).or(by_hops)
    }

    /// Bisection over changes ordered from the mildest on, below one that is known to hold.
    fn mildest(
        &mut self,
        refusal: &Refusal,
        changes: &[Change],
        known: Option<Held>,
        depth: Depth,
    ) -> Option<Held> {
        let last = changes.last()?;
        let Held { index: mut high, is_strict } = match known {
            Some(held) => held,
            None => {
                let is_strict = self.left(last, depth)?.is_empty();
                if !is_strict && !self.holds(refusal, last, (false, depth)) {
                    return None;
                }
                Held { index: changes.len() - 1, is_strict }
            }
        };
        let mut low = 0;
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.holds(refusal, &changes[middle], (is_strict, depth)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(Held { index: high, is_strict })
    }

    fn holds(
        &mut self,
        refusal: &Refusal,
        change: &Change,
        (is_strict, depth): (bool, Depth),
    ) -> bool {
        let (gone, before) = (key(refusal), self.refusals.len());
        self.left(change, depth).is_some_and(|left| {
            left.is_empty() || (!is_strict && left.len() < before && !left.contains(&gone))
        })
    }

    /// What is still refused after a change; `None` once there were too many re-plans.
    fn left(&mut self, change: &Change, depth: Depth) -> Option<Vec<Key>> {
        let name = (change.text.clone(), depth);
        if let Some(known) = self.known.get(&name) {
            return Some(known.clone());
        }
        let mut left: Vec<Key> = Vec::new();
        for network in self.as_planned(&change.of(&self.plan.network)) {
            left.extend(self.replanned(&network, depth)?.refusals.iter().map(key));
        }
        left.sort_unstable();
        left.dedup();
        self.known.insert(name, left.clone());
        Some(left)
    }

    /// Whether nothing is refused with a change, and the checker accepts its plans: as the network
    /// was planned, or by sums of hops, which are what counts where whole paths are not accepted.
    fn is_confirmed(&mut self, change: &Change) -> bool {
        let networks = self.as_planned(&change.of(&self.plan.network));
        networks.iter().all(|network| {
            let has_paths = self.options.whole_paths.is_some() && self.work.allows(Depth::Full);
            (has_paths && self.is_accepted(network, Depth::Full))
                || self.is_accepted(network, Depth::Hops)
        })
    }

    fn is_accepted(&mut self, network: &Network, depth: Depth) -> bool {
        let Some(mut plan) = self.replanned(network, depth) else { return false };
        if !plan.refusals.is_empty() {
            return false;
        }
        self.work.spend_checking();
        plan.seal();
        (self.watch.confirm)(&plan)
    }

    /// A network planned again; `None` once there were too many re-plans.
    fn replanned(&mut self, network: &Network, depth: Depth) -> Option<Plan> {
        if self.done >= REPLANS_MAX || !self.work.allows(depth) {
            self.work.refuse();
            return None;
        }
        (self.watch.progress)(Progress::Trying { done: self.done });
        self.done += 1;
        // What holds with the smallest programs holds with larger ones.
        let whole_paths = match (depth, self.options.whole_paths) {
            (Depth::Full, search) => search,
            (Depth::Paths, Some(search)) => Some(WholePaths { is_thorough: false, ..search }),
            _ => None,
        };
        let options = Options { whole_paths, would_fit: false, ..*self.options };
        let effort = if depth == Depth::Full { Effort::Full } else { Effort::Brief };
        let work = &mut self.work;
        let spend = &mut |step| work.spend(step);
        let mut plan = plan_fitting(network, (&options, &InTurn), effort, spend);
        plan.assumptions = crate::output::assumptions::of(&plan);
        Some(plan)
    }

    /// How the search ended.
    const fn end(&self) -> SearchEnd {
        if self.work.was_refused() { SearchEnd::Limited } else { SearchEnd::Complete }
    }
}

impl Search<'_, '_> {
    /// A changed network with the priorities that it may be planned with.
    fn as_planned(&self, changed: &Network) -> Vec<Network> {
        let by_period = |network: &Network| {
            let mut ranked = network.clone();
            ranked.rank_by_period(|_| true);
            ranked
        };
        if self.options.priorities == Priorities::RateMonotonic {
            return vec![by_period(changed)];
        }
        let keeps_periods = self.plan.network.flows.iter().zip(&changed.flows).all(|(a, b)| {
            a.contracts.iter().map(|c| c.period_ns).eq(b.contracts.iter().map(|c| c.period_ns))
        });
        let mut all = vec![changed.clone()];
        if !keeps_periods && by_period(&self.plan.network) == self.plan.network {
            all.push(by_period(changed));
            all.dedup();
        }
        all
    }
}

/// Bits per millisecond in a mode, or in the highest of a flow.
fn rate(flow: &Flow, mode: u8) -> u128 {
    let contract = flow.contract(usize::from(mode)).unwrap_or_else(|| flow.highest());
    let bits = u128::from(contract.size.frames(false).message_wire_bits);
    bits * 1_000_000 / u128::from(contract.period_ns.max(1))
}

/// The flow with the highest rate in any mode, of those that are named, or of all.
fn heaviest(network: &Network, names: &[String]) -> Option<usize> {
    let all = network.flows.iter().enumerate();
    let meant = all.filter(|(_, flow)| names.is_empty() || names.contains(&flow.name));
    meant.max_by_key(|(_, flow)| rate(flow, u8::MAX)).map(|(index, _)| index)
}
