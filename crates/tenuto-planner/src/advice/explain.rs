//! Why a bound is what it is: hop by hop, who is in the way and what it costs, and what would help.

use crate::advice::explain_loss::{self, ExplainedLoss};
use crate::advice::explain_route::{self, ExplainedRoute};
use crate::analysis::context::Analysis;
use crate::analysis::hop_sum::sum_of_hops;
use crate::analysis::mode_result::ModeResult;
use crate::options::{Options, Progress};
use crate::passes::planned::{analysed, plan_once};
use crate::routes::{Effort, Routes};
use serde::Serialize;
use tenuto_bounds::InTurn;
use tenuto_calculus::{Bucket, SteppedGroup, div_up};
use tenuto_model::{Flow, FlowBound, Network, Plan, Port, Transition};
use tenuto_units::Picos;

/// Re-planning a network of more flows takes longer than a reader waits.
const FLOWS_MAX: usize = 2_000;

/// What one flow's bounds are made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// Flow name.
    pub flow: String,
    /// Its ways, and others that it could take.
    pub routes: Vec<ExplainedRoute>,
    /// Its rows, the least slack first.
    pub rows: Vec<ExplainedRow>,
    /// Its row with the least slack after the loss of each link that may be lost, the worst first.
    pub losses: Vec<ExplainedLoss>,
    /// Changes that were planned and make the first row's bound smaller, the best first.
    pub tightens: Vec<Tightening>,
}

/// One bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainedRow {
    /// Target host.
    pub target: String,
    /// Mode or change, as rows of a plan name it.
    pub mode: String,
    /// Redundant network, where there are several.
    pub network: Option<String>,
    /// The bound, picoseconds; `None` if there is none.
    pub delay_bound_ps: Option<u64>,
    /// What the hops add up to, picoseconds: more than the bound where the whole path has a proof.
    pub sum_of_hops_ps: Option<u64>,
    /// In a raise: when the last switch has swapped after the trigger, picoseconds. Until then flows
    /// that end are served.
    pub swapped_after_ps: Option<u64>,
    /// Deadline, nanoseconds.
    pub deadline_ns: u64,
    /// From the source's own port on.
    pub hops: Vec<ExplainedHop>,
}

/// One egress port on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainedHop {
    /// `sw1:3 > sw2`.
    pub place: String,
    /// Line rate, bit/s.
    pub rate_bps: u64,
    /// The flow's class there, 0 = highest.
    pub class: u8,
    /// Processing in front of the queue, picoseconds.
    pub latency_ps: u64,
    /// Waiting and sending, picoseconds; `None` without a bound.
    pub queueing_ps: Option<u64>,
    /// On the cable, picoseconds.
    pub propagation_ps: u64,
    /// What may come of the flow at once, bits on the wire.
    pub burst_bits: Option<u64>,
    /// What cannot be pre-empted, bits on the wire: one frame of a lower class, or what is below
    /// the scheduler.
    pub in_the_way_bits: u64,
    /// Mode signals that may come at once, bits on the wire.
    pub signals_bits: u64,
    /// The other flows that count here, those that cost most first.
    pub others: Vec<Interferer>,
    /// How much longer the flow would wait if slower lines farther back held nothing back,
    /// picoseconds.
    pub held_back_ps: u64,
    /// Those lines, what helps most first.
    pub held_back_by: Vec<FartherLine>,
}

/// A line that flows came over before a faster one brought them here: they come no closer together
/// than it has spread them, but for what the delays in between vary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FartherLine {
    /// `CAM > sw1`.
    pub line: String,
    /// Its rate, bit/s.
    pub rate_bps: u64,
    /// How many lines back it lies; 1 is the line that brings its flows to the switch.
    pub hops_back: usize,
    /// What it takes off the wait, picoseconds: by itself, or beside the others if that is more.
    pub saves_ps: u64,
}

/// Another flow at the same port, of the same class or one above.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interferer {
    /// Flow name.
    pub flow: String,
    /// Its class, 0 = highest.
    pub class: u8,
    /// What may come of it at once, bits on the wire.
    pub burst_bits: Option<u64>,
    /// Its rate, bit/s on the wire.
    pub rate_bps: u64,
    /// The line that it comes over, which spreads what comes at once; `None` from the source itself.
    pub over: Option<String>,
    /// Whether it is out of mode after the swap.
    pub is_ending: bool,
    /// How much less the flow would wait here if this one sent nothing, picoseconds.
    pub costs_ps: Option<u64>,
}

/// A change of the description, planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tightening {
    /// The change, in words.
    pub change: String,
    /// The bound that it gives the first row, picoseconds.
    pub delay_bound_ps: u64,
    /// Whether every promise of the network holds with it.
    pub feasible: bool,
}

impl Explanation {
    /// Whether every bound of the rows is a bound of the plan, and every bound of the plan is there.
    pub fn agrees_with(&self, plan: &Plan) -> bool {
        let is_told = |row: &&FlowBound| {
            row.flow == self.flow && !matches!(row.mode, Transition::Return { .. })
        };
        let mut claimed: Vec<_> = plan
            .flows
            .iter()
            .filter(is_told)
            .flat_map(|row| {
                let mode = row.mode.label(&plan.network.modes);
                let copies = row.copies.iter();
                copies.map(move |it| {
                    (row.target.clone(), mode.clone(), it.network.clone(), it.delay_bound_ps)
                })
            })
            .collect();
        let rows = self.rows.iter();
        let mut told: Vec<_> = rows
            .map(|row| {
                (row.target.clone(), row.mode.clone(), row.network.clone(), row.delay_bound_ps)
            })
            .collect();
        claimed.sort();
        told.sort();
        claimed == told
    }
}

/// Explains the bounds of a flow of a plan that was certified; `None` if it has no such flow.
///
/// `options` are those that the plan was made with. `confirm` is the independent checker: bounds of a
/// changed network are told only where it accepts the plan of that.
pub fn explain(
    plan: &Plan,
    options: &Options,
    flow: &str,
    confirm: &dyn Fn(&Plan) -> bool,
) -> Option<Explanation> {
    let network = &plan.network;
    let index = network.flows.iter().position(|f| f.name == flow)?;
    let look = |analysis: &Analysis<'_>, routes: &Routes| {
        let ways = explain_route::explained(analysis, routes, options, index);
        (ways, explained_rows(analysis, index))
    };
    let (routes, mut rows) = analysed(network, (options, &InTurn), &mut |_: Progress| (), look);
    rows.sort_by_key(|row| match row.delay_bound_ps {
        Some(ps) => i128::from(row.deadline_ns) * 1_000 - i128::from(ps),
        None => i128::MIN,
    });
    let tightens =
        rows.first().map_or_else(Vec::new, |row| tighten(network, (options, confirm), index, row));
    let losses = explain_loss::explained(plan, index);
    Some(Explanation { flow: flow.to_owned(), routes, rows, losses, tightens })
}

fn explained_rows(analysis: &Analysis<'_>, flow: usize) -> Vec<ExplainedRow> {
    let network = analysis.ports.topology.network;
    let name = &network.flows[flow].name;
    let mut rows = Vec::new();
    // A return has the bounds of the modes before and after it.
    let of_flow =
        |row: &&FlowBound| row.flow == *name && !matches!(row.mode, Transition::Return { .. });
    for row in analysis.rows.iter().filter(of_flow) {
        let Some(result) = analysis.result(row.mode) else { continue };
        let place = network.flows[flow].targets.iter().position(|t| t.host == row.target);
        for (tree, it) in analysis.trees.iter().enumerate().filter(|(_, tree)| tree.flow == flow) {
            let copy = it.copy.map(|copy| network.flows[flow].copies[copy].clone());
            let bound = row.copies.iter().find(|bound| bound.network == copy);
            let path = place.and_then(|place| it.paths.get(place)).into_iter().flatten();
            let swapped = match row.mode {
                Transition::Raise { from, to } => analysis.slowest_raise(from, to).map(picos),
                _ => None,
            };
            rows.push(ExplainedRow {
                sum_of_hops_ps: bound.and_then(|bound| sum_of_hops(&bound.hops)),
                swapped_after_ps: swapped,
                target: row.target.clone(),
                mode: row.mode.label(&network.modes),
                network: copy,
                delay_bound_ps: bound.and_then(|bound| bound.delay_bound_ps),
                deadline_ns: row.deadline_ns,
                hops: path.map(|&hop| explained_hop(analysis, result, tree, hop)).collect(),
            });
        }
    }
    rows
}

fn explained_hop(
    analysis: &Analysis<'_>,
    result: &ModeResult,
    tree: usize,
    hop: usize,
) -> ExplainedHop {
    let ports = &analysis.ports;
    let server = analysis.trees[tree].hops[hop].server;
    let egress = &ports.topology.servers[server];
    let share = &result.mode_input.shares[tree];
    let class = share.class_last();
    let queueing = result.solution.delay_of(server, &share.classes);
    let burst = result.solution.arriving.bursts[ports.port_graph.visit(tree, hop)];
    let bits = |ubit: i128| picos(div_up(ubit, tenuto_calculus::UBIT_PER_BIT));
    // Behind a processor without a bound there is none at the queue either.
    let line = analysis.trees[tree].hops[hop].parent;
    let line = line.map(|parent| analysis.trees[tree].hops[parent].server);
    let processing = line.and_then(|line| result.solution.processing[line]).map_or(0, |p| p.0);
    let (held_back_ps, held_back_by) = farther_lines(analysis, result, server, class);
    ExplainedHop {
        place: ports.topology.label(server),
        rate_bps: egress.rate_bps,
        class,
        latency_ps: picos(ports.topology.nodes[egress.node].latency_max_ps() + processing),
        queueing_ps: queueing.map(|d| picos(d.0)),
        propagation_ps: picos(egress.propagation_ps),
        burst_bits: burst.map(Bucket::burst_bits),
        in_the_way_bits: bits(ports.blocking(server, &result.mode_input, class)),
        signals_bits: if egress.is_trunk { bits(ports.signals.burst_ubit) } else { 0 },
        others: interferers(analysis, result, tree, server, class),
        held_back_ps,
        held_back_by,
    }
}

/// What lines farther back take off the delay of that class, and which do so.
fn farther_lines(
    analysis: &Analysis<'_>,
    result: &ModeResult,
    server: usize,
    class: u8,
) -> (u64, Vec<FartherLine>) {
    let ports = &analysis.ports;
    let (mode_input, arriving) = (&result.mode_input, &result.solution.arriving);
    let mut sets = Vec::new();
    let all = ports.groups(server, (mode_input, arriving), class, &mut sets).unwrap_or_default();
    let delay = |groups: &[SteppedGroup]| ports.delay_of(server, mode_input, class, groups);
    let less = |less: Option<Picos>, more: Option<Picos>| {
        less.zip(more).map_or(0, |(less, more)| picos(more.0 - less.0))
    };
    let mut none = all.clone();
    sets.iter().for_each(|&(place, _)| none[place].curves.line = None);
    let (with_all, with_none) = (delay(&all), delay(&none));
    let mut found = Vec::new();
    for (place, set) in sets {
        let (mut alone, mut without) = (none.clone(), all.clone());
        alone[place].curves.line = without[place].curves.line.take();
        let saves_ps = less(delay(&alone), with_none).max(less(with_all, delay(&without)));
        if saves_ps > 0 {
            found.push(FartherLine {
                line: ports.topology.label(set.line),
                rate_bps: ports.topology.servers[set.line].rate_bps,
                hops_back: set.ports + 1,
                saves_ps,
            });
        }
    }
    found.sort_by(|a, b| b.saves_ps.cmp(&a.saves_ps).then_with(|| a.line.cmp(&b.line)));
    (less(with_all, with_none), found)
}

fn interferers(
    analysis: &Analysis<'_>,
    result: &ModeResult,
    tree: usize,
    server: usize,
    class: u8,
) -> Vec<Interferer> {
    let ports = &analysis.ports;
    let network = ports.topology.network;
    let before = ports.delay(server, &result.mode_input, &result.solution.arriving, class);
    let mut arriving = result.solution.arriving.clone();
    let mut others = Vec::new();
    for group in &ports.port_graph.groups[server] {
        for &visit in &group.visits {
            let it = ports.port_graph.visits[visit];
            let share = &result.mode_input.shares[it.tree];
            let takes_part = share.frame_ubit(it.depth).is_some() && share.class_first() <= class;
            if it.tree == tree || !takes_part {
                continue;
            }
            let burst = arriving.bursts[visit].replace(Bucket::ZERO);
            let without = ports.delay(server, &result.mode_input, &arriving, class);
            arriving.bursts[visit] = burst;
            others.push(Interferer {
                flow: network.flows[analysis.trees[it.tree].flow].name.clone(),
                class: share.class_first(),
                burst_bits: burst.map(Bucket::burst_bits),
                rate_bps: burst.map_or(0, Bucket::rate_bps),
                over: group.line.map(|line| ports.topology.label(line)),
                is_ending: share.is_ending(it.depth),
                costs_ps: before.zip(without).map(|(all, less)| picos(all.0 - less.0)),
            });
        }
    }
    others.sort_by(|a, b| b.costs_ps.cmp(&a.costs_ps).then_with(|| a.flow.cmp(&b.flow)));
    others
}

/// Non-negative by construction; saturates.
fn picos(value: i128) -> u64 {
    u64::try_from(value.max(0)).unwrap_or(u64::MAX)
}

/// Changes that might help a row, each planned; those that do, the best first.
fn tighten(
    network: &Network,
    (options, confirm): (&Options, &dyn Fn(&Plan) -> bool),
    flow: usize,
    row: &ExplainedRow,
) -> Vec<Tightening> {
    if network.flows.len() > FLOWS_MAX {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (change, changed) in changes(network, flow, row) {
        let mut plan = plan_once(&changed, (options, &InTurn), Effort::Brief, &mut |_| ());
        plan.assumptions = crate::output::assumptions::of(&plan);
        plan.seal();
        let same = |it: &&FlowBound| {
            it.flow == network.flows[flow].name
                && it.target == row.target
                && it.mode.label(&network.modes) == row.mode
        };
        let copies = plan.flows.iter().find(same).map(|it| &it.copies);
        let copy = copies.and_then(|copies| copies.iter().find(|copy| copy.network == row.network));
        let bound = copy.and_then(|copy| copy.delay_bound_ps);
        if let Some(ps) = bound.filter(|ps| row.delay_bound_ps.is_none_or(|now| *ps < now))
            && confirm(&plan)
        {
            found.push(Tightening { change, delay_bound_ps: ps, feasible: plan.feasible });
        }
    }
    found.sort_by_key(|it| it.delay_bound_ps);
    found
}

fn changes(network: &Network, flow: usize, row: &ExplainedRow) -> Vec<(String, Network)> {
    let name = &network.flows[flow].name;
    let mut changes = Vec::new();
    let mut change = |words: String, edit: &mut dyn FnMut(&mut Network)| {
        let mut changed = network.clone();
        edit(&mut changed);
        changes.push((words, changed));
    };
    let class = network.flows[flow].highest().priority;
    if class > 0 {
        change(format!("{name} in class {} instead of {class}", class - 1), &mut |n| {
            n.flows[flow].contracts.iter_mut().for_each(|c| c.priority -= 1);
        });
    }
    if network.flows[flow].contracts.iter().any(|c| c.jitter_ns > 0) {
        change(format!("{name} without release jitter"), &mut |n| {
            n.flows[flow].contracts.iter_mut().for_each(|c| c.jitter_ns = 0);
        });
    }
    let slowest = row.hops.iter().max_by_key(|hop| hop.queueing_ps.unwrap_or(u64::MAX));
    if let Some(hop) = slowest {
        let link = network.links.iter().position(|link| {
            [(&link.a, &link.b), (&link.b, &link.a)].iter().any(|(near, _)| {
                let port = Port { node: near.node.clone(), port: near.port };
                network.port_label(&port) == hop.place
            })
        });
        if let Some(link) = link {
            let rate = tenuto_model::quantity::format_rate(hop.rate_bps * 10);
            change(format!("{} at {rate}", hop.place), &mut |n| n.links[link].rate_bps *= 10);
        }
    }
    let dearest = dearest(row);
    let other = dearest.and_then(|name| network.flows.iter().position(|f| f.name == name));
    if let Some(other) = other.filter(|&other| !is_below(&network.flows[other], class)) {
        let below = network.flows[flow].highest().priority + 1;
        if below < network.flow_classes() {
            let words = format!("{} in class {below}, below {name}", network.flows[other].name);
            change(words, &mut |n| {
                n.flows[other].contracts.iter_mut().for_each(|c| c.priority = below);
            });
        }
    }
    changes
}

fn is_below(flow: &Flow, class: u8) -> bool {
    flow.contracts.iter().all(|contract| contract.priority > class)
}

/// The flow that costs most over all hops.
fn dearest(row: &ExplainedRow) -> Option<String> {
    let mut costs: std::collections::BTreeMap<&str, u64> = std::collections::BTreeMap::new();
    for other in row.hops.iter().flat_map(|hop| &hop.others) {
        let cost = costs.entry(&other.flow).or_default();
        *cost = cost.saturating_add(other.costs_ps.unwrap_or(0));
    }
    let most = costs.into_iter().max_by_key(|(_, cost)| *cost)?;
    (most.1 > 0).then(|| most.0.to_owned())
}
