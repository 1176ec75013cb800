//! What would fit: changes to a refused description, each planned itself before it is offered.
//!
//! A change is offered if nothing is refused any more; where no such change is found, if it takes
//! this refusal away and leaves fewer, which its text then says. It is planned as whoever makes it
//! would plan it: with priorities as they are (`--set`), and, where those follow from periods, with
//! those that follow from the changed ones (an edited file).

mod changes;
mod devices;

use crate::fitting::plan_fitting;
use crate::routing::Effort;
use crate::{InTurn, Options, Priorities, Progress, WholePaths};
use changes::{above, dropping, faster, further_apart, later, over_links, periods, quieter, sizes};
use devices::{fewer_classes, knowing_modes, no_link_lost, wider, with_links};
use std::collections::BTreeMap;
use tenuto_model::{Flow, Network, Plan, Refusal, Transition};

/// Beyond this many flows a re-plan is no longer a matter of milliseconds.
const FLOWS_MAX: usize = 200;
/// Re-plans per refused network.
const REPLANS_MAX: usize = 120;
const NS_PER_MS: u64 = 1_000_000;

/// Adds to every refusal the changes that hold.
pub(crate) fn suggest(plan: &mut Plan, options: &Options, progress: &mut dyn FnMut(Progress)) {
    if plan.network.flows.len() > FLOWS_MAX {
        return;
    }
    let refusals = plan.refusals.clone();
    let mut search =
        Search { plan, options, progress, refusals: &refusals, done: 0, known: BTreeMap::new() };
    let found: Vec<Vec<String>> =
        (0..refusals.len()).map(|index| search.for_refusal(index)).collect();
    for (refusal, lines) in plan.refusals.iter_mut().zip(found) {
        refusal.would_fit.extend(lines);
    }
}

struct Search<'a> {
    plan: &'a Plan,
    options: &'a Options,
    progress: &'a mut dyn FnMut(Progress),
    refusals: &'a [Refusal],
    done: usize,
    /// What is left refused after a change that was tried before, by its text.
    known: BTreeMap<String, Vec<Key>>,
}

/// Place and resource of a refusal.
type Key = (String, String);

/// One change: its words, and what it makes of the network.
type Change = (String, Network);

fn key(refusal: &Refusal) -> Key {
    (refusal.place.clone(), refusal.resource.clone())
}

impl Search<'_> {
    fn for_refusal(&mut self, index: usize) -> Vec<String> {
        let refusals = self.refusals;
        let refusal = &refusals[index];
        let all = self.changes(refusal);
        all.iter().filter_map(|changes| self.best(refusal, changes)).collect()
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
            "route" => vec![over_links(network, refusal)],
            "meter_burst" => of_flow(heaviest(network, &refusal.flows)),
            "entries" | "meters" | "groups" => vec![wider(plan, refusal)],
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
                let largest = self.largest(refusal);
                let mut all = of_flow(largest);
                let is_late = refusal.resource == "deadline";
                all.extend(largest.filter(|_| is_late).map(|it| above(network, refusal, it)));
                let mut ports = plan.port_rows.iter().map(|row| &row.port);
                let port = ports.find(|port| network.port_label(port) == refusal.place);
                all.extend(port.map(|port| faster(network, port)));
                if is_late {
                    all.push(later(plan, refusal));
                }
                if refusal.resource == "buffer" {
                    all.push(wider(plan, refusal));
                }
                all
            }
        }
    }

    /// The flow with the highest rate at the refused port.
    fn largest(&self, refusal: &Refusal) -> Option<usize> {
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
        in_mode.max_by_key(|(_, flow)| rate(flow, low)).map(|(index, _)| index)
    }

    /// The mildest change that holds, by bisection over changes ordered from the mildest on.
    fn best(&mut self, refusal: &Refusal, changes: &[Change]) -> Option<String> {
        let last = changes.last()?;
        let is_strict = self.left(last)?.is_empty();
        if !is_strict && !self.holds(refusal, last, false) {
            return None;
        }
        let (mut low, mut high) = (0, changes.len() - 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.holds(refusal, &changes[middle], is_strict) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        let rest = if is_strict { "" } else { " (something else stays refused)" };
        Some(format!("{}{rest}", changes[high].0))
    }

    fn holds(&mut self, refusal: &Refusal, change: &Change, is_strict: bool) -> bool {
        let (gone, before) = (key(refusal), self.refusals.len());
        self.left(change).is_some_and(|left| {
            left.is_empty() || (!is_strict && left.len() < before && !left.contains(&gone))
        })
    }

    /// What is still refused after a change; `None` once there were too many re-plans.
    fn left(&mut self, change: &Change) -> Option<Vec<Key>> {
        if let Some(known) = self.known.get(&change.0) {
            return Some(known.clone());
        }
        if self.done >= REPLANS_MAX {
            return None;
        }
        (self.progress)(Progress::Trying { done: self.done });
        self.done += 1;
        // What holds with the smallest programs holds with larger ones.
        let quick = |search| WholePaths { is_thorough: false, ..search };
        let options = Options { whole_paths: self.options.whole_paths.map(quick), ..*self.options };
        let mut left: Vec<Key> = Vec::new();
        for network in self.as_planned(&change.1) {
            let plan = plan_fitting(&network, (&options, &InTurn), Effort::Brief, &mut |_| ());
            left.extend(plan.refusals.iter().map(key));
        }
        left.sort_unstable();
        left.dedup();
        self.known.insert(change.0.clone(), left.clone());
        Some(left)
    }
}

impl Search<'_> {
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
    bits * u128::from(NS_PER_MS) / u128::from(contract.period_ns.max(1))
}

/// The flow with the highest rate in any mode, of those that are named, or of all.
fn heaviest(network: &Network, names: &[String]) -> Option<usize> {
    let all = network.flows.iter().enumerate();
    let meant = all.filter(|(_, flow)| names.is_empty() || names.contains(&flow.name));
    meant.max_by_key(|(_, flow)| rate(flow, u8::MAX)).map(|(index, _)| index)
}
