//! When the bounds of the lower mode hold again after a return (theory, "Settling").
//!
//! Where ports do not depend on one another in a circle, that is a drain. In a circle each round
//! tightens what the one before allowed, until the lower mode's bounds are reached; the rounds are
//! the certificate.

use crate::analysis::context::Analysis;
use crate::analysis::fixed_point::Solution;
use crate::analysis::mode_input::ModeInput;
use crate::analysis::mode_result::ModeResult;
use crate::analysis::settled::Settled;
use crate::modes::drain::{self, longest_busy_period};
use crate::modes::witnesses::busy;
use tenuto_model::{Port, PortService, ProcessorService, SettlingRound, Transition};

/// Rounds that are tried: what takes more settles too slowly to wait for.
const ROUNDS_MAX: usize = 64;

/// The proof for the return from mode `from` to mode `to`; `None` if there is none.
pub(crate) fn settled(analysis: &Analysis<'_>, from: u8, to: u8) -> Option<Settled> {
    let mut before: Vec<(&ModeResult, i128)> = Vec::new();
    for result in &analysis.results {
        match result.mode_input.transition {
            Transition::Steady(mode) if mode == from => before.push((result, 0)),
            Transition::Raise { from: start, to: mode } if mode == from => {
                before.push((result, analysis.slowest_raise(start, from)?));
            }
            _ => {}
        }
    }
    let ports = &analysis.ports;
    if !ports.port_graph.is_acyclic || !ports.processors.is_empty() {
        return in_rounds(analysis, &before, from, to);
    }
    let steady = analysis.result(Transition::Steady(from))?;
    let (mut after_ps, mut ended) = (0, Vec::new());
    for (result, change) in before {
        let times = drain::settled(analysis, result, change, steady)?;
        after_ps = times.iter().copied().max().unwrap_or(0).max(after_ps);
        ended.extend(drain::told(analysis, result, &times));
    }
    Some(Settled { after_ps, round_ps: None, rounds: Vec::new(), ended })
}

fn in_rounds(
    analysis: &Analysis<'_>,
    before: &[(&ModeResult, i128)],
    from: u8,
    to: u8,
) -> Option<Settled> {
    let ports = &analysis.ports;
    let lower = analysis.result(Transition::Steady(to))?;
    let mode_input = returning(analysis, &lower.mode_input, from, to);
    let solutions: Vec<&Solution> = before.iter().map(|(result, _)| &result.solution).collect();
    let mut now = Solution::largest(ports, &mode_input, &solutions);
    let round_ps =
        longest_way(analysis, &mode_input, &now)?.checked_add(longest_busy(analysis, before)?)?;
    let mut rounds = Vec::new();
    while !now.is_within(&lower.solution) {
        let next = now.tightened(ports, &mode_input)?;
        if rounds.len() == ROUNDS_MAX || next.has_claims_of(&now) {
            return None;
        }
        rounds.push(told(analysis, &mode_input, &next));
        now = next;
    }
    let swapped = before.iter().map(|(_, change)| *change).max().unwrap_or(0);
    // One round more: every busy period at the return has seen the last of them only.
    let count = i128::try_from(rounds.len() + 1).ok()?;
    let after_ps = swapped.checked_add(round_ps.checked_mul(count)?)?;
    Some(Settled { after_ps, round_ps: Some(round_ps), rounds, ended: Vec::new() })
}

/// The lower mode without the flows that only the return admits.
fn returning(analysis: &Analysis<'_>, lower: &ModeInput, from: u8, to: u8) -> ModeInput {
    let flows = &analysis.ports.topology.network.flows;
    let mut shares = lower.shares.clone();
    for (share, tree) in shares.iter_mut().zip(analysis.trees) {
        if flows[tree.flow].level < usize::from(from) {
            share.forwarded = None;
        }
    }
    ModeInput {
        transition: Transition::Return { from, to },
        shares,
        endings: Vec::new(),
        idle_ubit: Vec::new(),
    }
}

/// The longest that a frame is under way, from its release, or its way past a meter, to its target.
fn longest_way(analysis: &Analysis<'_>, mode_input: &ModeInput, now: &Solution) -> Option<i128> {
    let topology = analysis.ports.topology;
    let mut longest = 0;
    for (tree, share) in analysis.trees.iter().zip(&mode_input.shares) {
        if share.forwarded.is_none() {
            continue;
        }
        for path in &tree.paths {
            let mut sum = 0_i128;
            for &hop in path {
                let hop = &tree.hops[hop];
                let egress = &topology.servers[hop.server];
                let line = hop.parent.map(|parent| tree.hops[parent].server);
                let longest = |line: usize| {
                    Some(analysis.ports.processors.longest(line, now.processing[line])?.0)
                };
                let processing = line.map_or(Some(0), longest)?;
                let waiting = now.delay_of(hop.server, &share.classes)?.0;
                let latency = topology.nodes[egress.node].latency_max_ps();
                for part in [latency, processing, waiting, egress.propagation_ps] {
                    sum = sum.checked_add(part)?;
                }
            }
            longest = longest.max(sum);
        }
    }
    Some(longest)
}

fn longest_busy(analysis: &Analysis<'_>, before: &[(&ModeResult, i128)]) -> Option<i128> {
    let mut longest = 0;
    for (result, _) in before {
        for &server in &analysis.ports.port_graph.order {
            longest = longest.max(longest_busy_period(analysis, result, server)?.0);
        }
        let ports = &analysis.ports;
        let late = |visit: usize| result.solution.late_at_entry(ports, &result.mode_input, visit);
        for (_, site) in ports.processors.all(result.mode_input.transition) {
            longest = longest.max(site.busy_period(&late, ports.shapes())?.0);
        }
    }
    Some(longest)
}

fn told(analysis: &Analysis<'_>, mode_input: &ModeInput, now: &Solution) -> SettlingRound {
    let topology = analysis.ports.topology;
    let picos = |value: i128| u64::try_from(value).unwrap_or(u64::MAX);
    let mut round = SettlingRound::default();
    if analysis.ports.has_staircases() {
        // What the claims before let come, which the new ones follow from.
        round.busy = busy(analysis, mode_input, &now.arriving);
    }
    for (server, delays) in now.delays.iter().enumerate() {
        round.ports.extend(delays.iter().filter_map(|&(class, delay)| {
            let port = topology.servers[server].port();
            let delay_ps = picos(delay?.0);
            Some(PortService { mode: mode_input.transition, port, class, delay_ps })
        }));
    }
    for (_, site) in analysis.ports.processors.all(mode_input.transition) {
        round.processors.extend(site.lines.iter().filter_map(|line| {
            let far = topology.servers[line.line].far;
            let entry = Port { node: far.node.clone(), port: far.port };
            let delay_ps = picos(now.processing[line.line]?.0);
            Some(ProcessorService { mode: mode_input.transition, entry, delay_ps })
        }));
    }
    round
}
