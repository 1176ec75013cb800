//! What would fit: changes to a refused description, each planned itself before it is offered.
//!
//! A change is offered if nothing is refused any more; where no such change is found, if it takes
//! this refusal away and leaves fewer, which its text then says. It is planned as whoever makes it
//! would plan it: with priorities as they are (`--set`), and, where those follow from periods, with
//! those that follow from the changed ones (an edited file).

use crate::fitting::plan_fitting;
use crate::refusal::{kilobytes, milliseconds};
use crate::routing::Effort;
use crate::{InTurn, Options, Priorities, Progress, WholePaths};
use std::collections::{BTreeMap, BTreeSet};
use tenuto_model::{Apart, Flow, Network, OtherTraffic, Plan, Refusal, Size, Transition};

/// Beyond this many flows a re-plan is no longer a matter of milliseconds.
const FLOWS_MAX: usize = 200;
/// Re-plans per refused network.
const REPLANS_MAX: usize = 120;
const GIGABIT_BPS: u64 = 1_000_000_000;
const NS_PER_MS: u64 = 1_000_000;
/// What every message has room for, bytes.
const STAMP_BYTES: u32 = 16;
/// Times are told in microseconds.
const NS_PER_US: u64 = 1_000;
/// The longest BAG of a virtual link.
const BAG_MAX_NS: u64 = 128 * NS_PER_MS;

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
        let network = &self.plan.network;
        let simple = match refusal.resource.as_str() {
            "rate" | "deadline" | "buffer" | "processor" => None,
            "other_traffic" => Some(dropping(network)),
            "quiet" => Some(quieter(network, refusal)),
            "skew" => Some(further_apart(network, refusal)),
            "route" => Some(over_links(network, refusal)),
            _ => return Vec::new(),
        };
        if let Some(changes) = simple {
            return self.best(refusal, &changes).into_iter().collect();
        }
        let mut lines = Vec::new();
        if let Some(flow) = self.largest(refusal) {
            lines.extend(self.best(refusal, &sizes(network, flow)));
            lines.extend(self.best(refusal, &periods(network, flow)));
            if refusal.resource == "deadline" {
                lines.extend(self.best(refusal, &above(network, refusal, flow)));
            }
        }
        let port = self.plan.port_rows.iter().map(|row| &row.port);
        let port = port.into_iter().find(|port| network.port_label(port) == refusal.place).cloned();
        lines.extend(port.and_then(|port| self.best(refusal, &faster(network, &port))));
        if refusal.resource == "deadline" {
            lines.extend(self.best(refusal, &later(self.plan, refusal)));
        }
        lines
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
        let rate = |flow: &Flow| {
            let contract = flow.contract(usize::from(low)).unwrap_or_else(|| flow.highest());
            let bits = u128::from(contract.size.frames(false).message_wire_bits);
            bits * u128::from(NS_PER_MS) / u128::from(contract.period_ns.max(1))
        };
        in_mode.max_by_key(|(_, flow)| rate(flow)).map(|(index, _)| index)
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

fn changed(network: &Network, flow: usize, change: impl FnOnce(&mut Flow)) -> Network {
    let mut network = network.clone();
    change(&mut network.flows[flow]);
    network
}

/// 1, 2 or 5 times a power of ten, not above `value`.
fn nice(value: u64) -> u64 {
    let mut power = 1;
    while power <= value / 10 {
        power *= 10;
    }
    [5, 2].into_iter().map(|n| n * power).find(|&n| n <= value).unwrap_or(power)
}

const fn bytes(size: Size) -> (&'static str, u32, u32) {
    match size {
        Size::MessageBytes(bytes) => ("message", bytes, STAMP_BYTES),
        Size::PayloadBytes(bytes) => ("payload", bytes, 18),
        Size::FrameBytes(bytes) => ("frame", bytes, 64),
    }
}

/// Smaller messages in steps of about 1 %, down to a twentieth.
fn sizes(network: &Network, flow: usize) -> Vec<Change> {
    let it = &network.flows[flow];
    let Some(largest) = it.contracts.iter().map(|c| c.size).max_by_key(|s| bytes(*s).1) else {
        return Vec::new();
    };
    let (word, now, least) = bytes(largest);
    let step = u32::try_from(nice(u64::from(now) / 100).max(1)).unwrap_or(1);
    let steps = (now.saturating_sub(1) / step).min(1_000);
    let values = (1..=steps).rev().map(|n| n * step).filter(|&v| v >= least && v >= now / 20);
    let change = |most: u32| {
        let capped = |flow: &mut Flow| {
            for contract in &mut flow.contracts {
                contract.size = match contract.size {
                    Size::MessageBytes(own) => Size::MessageBytes(own.min(most)),
                    Size::PayloadBytes(own) => Size::PayloadBytes(own.min(most)),
                    Size::FrameBytes(own) => Size::FrameBytes(own.min(most)),
                };
                let largest = contract.size.frames(false).frame_bytes_max;
                contract.frame_bytes_min = contract.frame_bytes_min.map(|own| own.min(largest));
            }
        };
        (format!("{} {word} <= {}", it.name, kilobytes(most)), changed(network, flow, capped))
    };
    values.map(change).collect()
}

/// Longer periods in steps of about 1 %, up to ten times; BAGs by doubling.
fn periods(network: &Network, flow: usize) -> Vec<Change> {
    let it = &network.flows[flow];
    let Some(now) = it.contracts.iter().map(|c| c.period_ns).min() else { return Vec::new() };
    let values: Vec<u64> = if it.vl.is_some() {
        let doubled = std::iter::successors(Some(now * 2), |ns| Some(ns * 2));
        doubled.take_while(|&ns| ns <= BAG_MAX_NS).collect()
    } else {
        let step = if now >= 100 * NS_PER_MS { nice(now / 100) } else { nice(now / 20) };
        let step = step.max(if now >= NS_PER_MS { NS_PER_MS } else { NS_PER_US });
        let first = now / step + 1;
        (first..first + 400).map(|n| n * step).take_while(|&ns| ns <= now * 10).collect()
    };
    let change = |least: u64| {
        let stretched = |flow: &mut Flow| {
            for contract in &mut flow.contracts {
                contract.period_ns = contract.period_ns.max(least);
            }
        };
        let text = format!("{} period >= {}", it.name, milliseconds(least));
        (text, changed(network, flow, stretched))
    };
    values.into_iter().map(change).collect()
}

/// The late flow's scheduling class and the largest flow's, exchanged.
fn above(network: &Network, refusal: &Refusal, largest: usize) -> Vec<Change> {
    let late = refusal.flows.first();
    let Some(late) = late.and_then(|n| network.flows.iter().position(|f| f.name == *n)) else {
        return Vec::new();
    };
    let (low, high) = (network.flows[late].highest(), network.flows[largest].highest());
    if late == largest || high.priority >= low.priority {
        return Vec::new();
    }
    let mut network = network.clone();
    let (priority_late, priority_large) = (high.priority, low.priority);
    network.flows[late].contracts.iter_mut().for_each(|c| c.priority = priority_late);
    network.flows[largest].contracts.iter_mut().for_each(|c| c.priority = priority_large);
    let (late, large) = (&network.flows[late].name, &network.flows[largest].name);
    let text = format!(
        "{late} above {large} (priorities {priority_late} and {priority_large}, all others as planned)"
    );
    vec![(text, network)]
}

/// The refused link at 1 Gbit/s.
fn faster(network: &Network, port: &tenuto_model::Port) -> Vec<Change> {
    let mut network = network.clone();
    let is_end = |end: &tenuto_model::LinkEnd| end.node == port.node && end.port == port.port;
    let at = network.links.iter().position(|link| is_end(&link.a) || is_end(&link.b));
    let Some(at) = at.filter(|at| network.links[*at].rate_bps < GIGABIT_BPS) else {
        return Vec::new();
    };
    let nodes =
        |link: &tenuto_model::Link| BTreeSet::from([link.a.node.clone(), link.b.node.clone()]);
    let beside = network.links.iter().filter(|it| nodes(it) == nodes(&network.links[at])).count();
    let link = &mut network.links[at];
    link.rate_bps = GIGABIT_BPS;
    let (a, b) = (&link.a, &link.b);
    let text = match beside {
        1 => format!("link {} - {} at 1 Gbit/s", a.node, b.node),
        _ => format!("link {}:{} - {}:{} at 1 Gbit/s", a.node, a.port, b.node, b.port),
    };
    vec![(text, network)]
}

/// Nothing but flows.
fn dropping(network: &Network) -> Vec<Change> {
    let dropped = Network { other_traffic: OtherTraffic::Drop, ..network.clone() };
    vec![("other_traffic: drop".to_owned(), dropped)]
}

/// The least safe quiet window.
fn quieter(network: &Network, refusal: &Refusal) -> Vec<Change> {
    let Some(needed) = refusal.needed else { return Vec::new() };
    let ms = needed.div_ceil(NS_PER_MS);
    let mut network = network.clone();
    network.mode_return.quiet_ns = Some(ms * NS_PER_MS);
    vec![(format!("quiet >= {ms} ms"), network)]
}

/// Copies as far apart as they may arrive.
fn further_apart(network: &Network, refusal: &Refusal) -> Vec<Change> {
    let (Some(needed), [name]) = (refusal.needed, refusal.flows.as_slice()) else {
        return Vec::new();
    };
    let ms = needed.div_ceil(NS_PER_MS);
    let mut network = network.clone();
    let flow = network.flows.iter_mut().find(|flow| flow.name == *name);
    flow.into_iter().for_each(|flow| flow.skew_max_ns = Some(ms * NS_PER_MS));
    vec![(format!("{name} skew_max >= {ms} ms"), network)]
}

/// Copies that may cross the same switches.
fn over_links(network: &Network, refusal: &Refusal) -> Vec<Change> {
    let is_it = |flow: &&mut Flow| {
        refusal.flows.contains(&flow.name) && !flow.copies.is_empty() && flow.apart.is_usual()
    };
    let mut changed = network.clone();
    let flow = changed.flows.iter_mut().find(is_it).filter(|_| network.networks.is_empty());
    let Some(flow) = flow else { return Vec::new() };
    flow.apart = Apart::Links;
    vec![(format!("{} copies: link-disjoint", flow.name), changed)]
}

/// Deadlines of the late flows at their bounds, to the next 10 µs.
fn later(plan: &Plan, refusal: &Refusal) -> Vec<Change> {
    const STEP_NS: u64 = 10_000;
    if refusal.flows.len() > 3 {
        return Vec::new();
    }
    let mut network = plan.network.clone();
    let mut texts = Vec::new();
    for name in &refusal.flows {
        let rows = plan.flows.iter().filter(|row| row.flow == *name);
        let Some(bound) = rows.filter_map(|row| row.delay_bound_ps).max() else {
            return Vec::new();
        };
        let least = bound.div_ceil(STEP_NS * 1_000) * STEP_NS;
        let Some(flow) = network.flows.iter_mut().find(|flow| flow.name == *name) else { continue };
        for deadline in flow.targets.iter_mut().flat_map(|t| &mut t.deadline_ns) {
            *deadline = least.max(*deadline);
        }
        texts.push(format!("{name} deadline >= {}", milliseconds(least)));
    }
    vec![(texts.join(" and "), network)]
}
