//! Rows of the plan: bounds per flow, load and backlog per port, and the claims behind them.

use crate::analysis::context::Analysis;
use crate::analysis::hop_sum::sum_of_hops;
use crate::analysis::mode_result::ModeResult;
use crate::input::transitions::transitions;
use crate::routes::Tree;
use tenuto_calculus::div_up;
use tenuto_model::{
    Contract, CopyBound, Flow, FlowBound, Hop, PortRow, PortService, Target, Transition,
};
use tenuto_units::{FRAME_BYTES_MIN, WIRE_OVERHEAD_BYTES};

/// A bound per flow, target, and mode or transition in which the flow is guaranteed.
pub(crate) fn flows(analysis: &Analysis<'_>) -> Vec<FlowBound> {
    let network = analysis.ports.topology.network;
    let mut of_flow = vec![Vec::new(); network.flows.len()];
    for (index, tree) in analysis.trees.iter().enumerate() {
        of_flow[tree.flow].push(index);
    }
    let all = with_returns(transitions(network));
    let mut rows = Vec::new();
    for (flow, trees) in network.flows.iter().zip(&of_flow) {
        for (place, target) in flow.targets.iter().enumerate() {
            for &mode in all.iter().filter(|mode| is_guaranteed(flow, **mode)) {
                rows.push(row(analysis, flow, target, place, trees, mode));
            }
        }
    }
    rows
}

/// Steady modes, raises, and the return of every raise.
pub(crate) fn with_returns(mut all: Vec<Transition>) -> Vec<Transition> {
    let back = |t: &Transition| match *t {
        Transition::Raise { from, to } => Some(Transition::Return { from: to, to: from }),
        _ => None,
    };
    let returns: Vec<Transition> = all.iter().filter_map(back).collect();
    all.extend(returns);
    all
}

/// A flow is guaranteed in the mode that a transition ends in, if its level reaches it.
pub(crate) fn is_guaranteed(flow: &Flow, mode: Transition) -> bool {
    flow.level >= usize::from(mode.level_after())
}

fn row(
    analysis: &Analysis<'_>,
    flow: &Flow,
    target: &Target,
    place: usize,
    trees: &[usize],
    mode: Transition,
) -> FlowBound {
    let mut copies: Vec<CopyBound> =
        trees.iter().map(|&tree| copy_in(analysis, flow, tree, place, mode)).collect();
    if let Transition::Return { from, to } = mode
        && analysis.settled(from, to).is_none()
    {
        // Nothing says that the network is ever again as the lower mode's analysis has it.
        copies.iter_mut().for_each(|copy| (copy.delay_bound_ps, copy.proof) = (None, None));
    }
    let expected = flow.copies.len().max(1);
    let is_complete = copies.len() == expected && copies.iter().all(|c| c.delay_bound_ps.is_some());
    let worst = copies.iter().filter_map(|c| c.delay_bound_ps).max();
    let skew_bound_ps = skew(&copies);
    copies.sort_by_key(|c| std::cmp::Reverse(c.delay_bound_ps.map_or(u64::MAX, |d| d)));
    let after = usize::from(mode.level_after());
    let method = method(analysis, &copies, mode).to_owned();
    if matches!(mode, Transition::Return { .. }) {
        // The proofs stand in the rows of the two modes.
        copies.iter_mut().for_each(|copy| copy.proof = None);
    }
    FlowBound {
        flow: flow.name.clone(),
        target: target.host.clone(),
        mode,
        priority: flow.contract(after).unwrap_or_else(|| flow.highest()).priority,
        deadline_ns: deadline(target, mode),
        delay_bound_ps: worst.filter(|_| is_complete),
        copies,
        skew_bound_ps,
        method,
    }
}

/// The bound of one copy; of a return the larger of both modes', where the flow is in both.
fn copy_in(
    analysis: &Analysis<'_>,
    flow: &Flow,
    tree: usize,
    place: usize,
    mode: Transition,
) -> CopyBound {
    let Transition::Return { from, to } = mode else {
        return copy_bound(analysis, tree, place, mode);
    };
    let after = copy_bound(analysis, tree, place, Transition::Steady(to));
    let is_in_both = flow.level >= usize::from(from);
    let before = is_in_both.then(|| copy_bound(analysis, tree, place, Transition::Steady(from)));
    before.into_iter().fold(after, worse)
}

/// How the largest bound was found.
fn method<'a>(analysis: &Analysis<'_>, copies: &'a [CopyBound], mode: Transition) -> &'a str {
    let is_change = !matches!(mode, Transition::Steady(_));
    match copies.first().and_then(|copy| copy.proof.as_ref()) {
        Some(proof) => &proof.method,
        None if is_change => "change",
        None if analysis.ports.has_staircases() => "staircase",
        None => "tfa",
    }
}

/// The deadline of a mode; in a transition the smaller one of those that it has before and after. A
/// flow has none in a mode above its level, be it the one that a return leaves.
pub(crate) fn deadline(target: &Target, mode: Transition) -> u64 {
    let of = |level: u8| target.deadline_ns.get(usize::from(level)).copied();
    let (one, other) = match mode {
        Transition::Steady(level) => (of(level), None),
        Transition::Raise { from, to } | Transition::Return { from, to } => (of(from), of(to)),
    };
    one.into_iter().chain(other).min().unwrap_or(u64::MAX)
}

fn worse(a: CopyBound, b: CopyBound) -> CopyBound {
    let delay_min_ps = a.delay_min_ps.min(b.delay_min_ps);
    let rank = |c: &CopyBound| c.delay_bound_ps.map_or(u64::MAX, |d| d);
    let worst = if rank(&b) > rank(&a) { b } else { a };
    CopyBound { delay_min_ps, ..worst }
}

/// The bound of one tree to one target in a steady mode or raise.
fn copy_bound(analysis: &Analysis<'_>, tree: usize, place: usize, mode: Transition) -> CopyBound {
    let it = &analysis.trees[tree];
    let flow = &analysis.ports.topology.network.flows[it.flow];
    let result = analysis.result(mode).expect("every mode and raise was analysed");
    let hops: Vec<Hop> =
        it.paths[place].iter().map(|&hop| hop_bound(analysis, result, tree, hop)).collect();
    let sum = sum_of_hops(&hops).filter(|_| !hops.is_empty());
    let whole = analysis.whole_paths.get(&(mode, tree, place));
    let whole = whole.filter(|whole| sum.is_none_or(|sum| whole.delay_ps < sum));
    CopyBound {
        network: it.copy.map(|copy| flow.copies[copy].clone()),
        delay_bound_ps: whole.map(|whole| whole.delay_ps).or(sum),
        delay_min_ps: least(analysis, it, place),
        hops,
        proof: whole.map(|whole| whole.proof.clone()),
    }
}

fn hop_bound(analysis: &Analysis<'_>, result: &ModeResult, tree: usize, hop: usize) -> Hop {
    let topology = analysis.ports.topology;
    let server = analysis.trees[tree].hops[hop].server;
    let egress = &topology.servers[server];
    let classes = &result.mode_input.shares[tree].classes;
    let entry = analysis.trees[tree].hops[hop].parent.map(|p| analysis.trees[tree].hops[p].server);
    // What the processor in front of the queue takes; without a bound there is none behind it.
    let processing = entry.and_then(|line| result.solution.processing[line]).unwrap_or_default();
    let burst = result.solution.arriving.bursts[analysis.ports.port_graph.visit(tree, hop)];
    Hop {
        port: egress.port(),
        latency_ps: picos(topology.nodes[egress.node].latency_max_ps() + processing.0),
        queueing_ps: result.solution.delay_of(server, classes).map(|d| picos(d.0)),
        propagation_ps: picos(egress.propagation_ps),
        burst_bits: burst.map(tenuto_calculus::Bucket::burst_bits),
    }
}

/// The least delay: the smallest frame on every line, least latencies, propagation.
fn least(analysis: &Analysis<'_>, tree: &Tree, place: usize) -> u64 {
    let topology = analysis.ports.topology;
    let flow = &topology.network.flows[tree.flow];
    let contracts = &flow.contracts;
    let as_stated = analysis.reading.as_stated;
    let smallest = |c: &Contract| {
        let frame = c.frame_bytes_min.unwrap_or(FRAME_BYTES_MIN);
        let stated = frame.min(c.size.frames(true).frame_bytes_max);
        if as_stated { stated } else { stated.max(FRAME_BYTES_MIN) }
    };
    let bytes = contracts.iter().map(smallest).min().unwrap_or(FRAME_BYTES_MIN);
    let bits = i128::from(bytes + WIRE_OVERHEAD_BYTES) * 8;
    let hop = |&hop: &usize| {
        let egress = &topology.servers[tree.hops[hop].server];
        let sending = bits * 1_000_000_000_000 / i128::from(egress.rate_bps.max(1));
        let site = analysis.ports.processors.site(egress.node);
        let processing = site.map_or(0, crate::analysis::processor::Site::least_ps);
        let own = topology.nodes[egress.node].latency_min_ps() + processing;
        own + sending + egress.propagation_least_ps
    };
    picos(tree.paths[place].iter().map(hop).sum())
}

/// The largest difference between arrivals of two copies; `None` with one, or without a bound.
fn skew(copies: &[CopyBound]) -> Option<u64> {
    let mut most = None;
    for (place, late) in copies.iter().enumerate() {
        for (other, early) in copies.iter().enumerate() {
            if place != other {
                let difference = late.delay_bound_ps?.saturating_sub(early.delay_min_ps);
                most = most.max(Some(difference));
            }
        }
    }
    most
}

/// Load and backlog per port and mode or raise.
pub(crate) fn ports(analysis: &Analysis<'_>) -> Vec<PortRow> {
    let topology = analysis.ports.topology;
    let mut rows = Vec::new();
    for result in &analysis.results {
        for (server, egress) in topology.servers.iter().enumerate() {
            if analysis.ports.port_graph.groups[server].is_empty() {
                continue;
            }
            let rate_ubps = analysis.ports.rate_ubps(server, &result.mode_input, u8::MAX);
            let profile = topology.nodes[egress.node].profile;
            rows.push(PortRow {
                port: egress.port(),
                mode: result.mode_input.transition,
                rate_bps: picos(div_up(rate_ubps, 1_000_000)),
                capacity_bps: egress.rate_bps,
                backlog_bound_bits: result.backlogs[server],
                buffer_limit_bits: profile.and_then(|p| p.buffer_bytes_per_port).map(|b| b * 8),
            });
        }
    }
    rows
}

/// The claims: every delay that has a bound.
pub(crate) fn services(analysis: &Analysis<'_>) -> Vec<PortService> {
    let topology = analysis.ports.topology;
    let mut claims = Vec::new();
    for result in &analysis.results {
        for (server, delays) in result.solution.delays.iter().enumerate() {
            for &(class, delay) in delays {
                claims.extend(delay.map(|d| PortService {
                    mode: result.mode_input.transition,
                    port: topology.servers[server].port(),
                    class,
                    delay_ps: picos(d.0),
                }));
            }
        }
    }
    claims
}

/// Non-negative by construction; saturates.
fn picos(value: i128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}
