//! What is wrong with a choice of routes, and where it hurts.

use crate::analysis::context::Analysis;
use crate::analysis::mode_result::ModeResult;
use crate::output::rows;
use crate::routes::{Gathering, Verdict, WORST, above};
use tenuto_calculus::UBIT_PER_BIT;

/// Everything that routes can help: loads, deadlines, buffers.
pub(crate) fn verdict(analysis: &Analysis<'_>) -> Verdict {
    let mut all = Gathering::default();
    for result in &analysis.results {
        loads_and_buffers(analysis, result, &mut all);
        deadlines(analysis, result, &mut all);
    }
    all.done()
}

fn loads_and_buffers(analysis: &Analysis<'_>, result: &ModeResult, all: &mut Gathering) {
    let topology = analysis.ports.topology;
    for (server, egress) in topology.servers.iter().enumerate() {
        if analysis.ports.port_graph.groups[server].is_empty() {
            continue;
        }
        let rate = analysis.ports.rate_ubps(server, &result.mode_input, u8::MAX);
        let capacity = i128::from(egress.rate_bps) * UBIT_PER_BIT;
        let mut pain: u64 = 0;
        if rate > capacity {
            let above = above(rate.unsigned_abs(), capacity.unsigned_abs());
            pain = WORST.saturating_add(above.saturating_mul(10));
        }
        let profile = topology.nodes[egress.node].profile;
        let limit = profile.and_then(|profile| profile.buffer_bytes_per_port);
        if let Some((limit, bits)) = limit.zip(result.backlogs[server])
            && bits > limit.saturating_mul(8)
        {
            pain = pain.saturating_add(above(bits.into(), u128::from(limit) * 8));
        }
        if pain > 0 {
            all.pain = all.pain.saturating_add(pain);
            all.port(server, pain);
        }
    }
}

fn deadlines(analysis: &Analysis<'_>, result: &ModeResult, all: &mut Gathering) {
    let topology = analysis.ports.topology;
    let mode = result.mode_input.transition;
    for (index, tree) in analysis.trees.iter().enumerate() {
        let flow = &topology.network.flows[tree.flow];
        if !rows::is_guaranteed(flow, mode) {
            continue;
        }
        for (place, target) in flow.targets.iter().enumerate() {
            let deadline_ps = u128::from(rows::deadline(target, mode)) * 1_000;
            let sum = delay_ps(analysis, result, index, place);
            let pain = match sum {
                None => WORST,
                Some(sum) if sum > deadline_ps => above(sum, deadline_ps),
                Some(_) => continue,
            };
            all.pain = all.pain.saturating_add(pain);
            let known = all.trees.entry(index).or_default();
            *known = known.saturating_add(pain);
            let slow = |&&hop: &&usize| {
                takes_ps(analysis, result, index, hop).map_or(u128::MAX, |takes| takes)
            };
            if let Some(&hop) = tree.paths[place].iter().max_by_key(slow) {
                all.port(tree.hops[hop].server, pain);
            }
        }
    }
}

/// The bound of a tree to one of its targets, the sum of its hops; `None` without one.
pub(crate) fn delay_ps(
    analysis: &Analysis<'_>,
    result: &ModeResult,
    tree: usize,
    place: usize,
) -> Option<u128> {
    let hops = &analysis.trees[tree].paths[place];
    hops.iter().map(|&hop| takes_ps(analysis, result, tree, hop)).sum()
}

/// What one hop takes at most, picoseconds; `None` without a bound.
fn takes_ps(analysis: &Analysis<'_>, result: &ModeResult, tree: usize, hop: usize) -> Option<u128> {
    let topology = analysis.ports.topology;
    let it = &analysis.trees[tree];
    let server = it.hops[hop].server;
    let egress = &topology.servers[server];
    let waits = result.solution.delay_of(server, &result.mode_input.shares[tree].classes)?;
    let processing = match it.hops[hop].parent {
        Some(parent) => result.solution.processing[it.hops[parent].server]?.0,
        None => 0,
    };
    let own = topology.nodes[egress.node].latency_max_ps() + egress.propagation_ps;
    u128::try_from(waits.0 + processing + own).ok()
}

/// The largest delay of any class at each port in any mode or raise, picoseconds.
pub(crate) fn slowness(analysis: &Analysis<'_>) -> Vec<Option<u64>> {
    let servers = 0..analysis.ports.topology.servers.len();
    let of = |server: usize| {
        let delays = analysis.results.iter().flat_map(|result| &result.solution.delays[server]);
        let steady = delays.filter_map(|(_, delay)| *delay).max();
        steady.and_then(|delay| u64::try_from(delay.0).ok())
    };
    servers.map(of).collect()
}
