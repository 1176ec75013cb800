//! How long a raise takes to reach every switch, and when a return is safe (theory, "D_mc").

use crate::analysis::context::Analysis;
use crate::analysis::hop_sum::sum_of_hops;
use crate::analysis::mode_input::ModeInput;
use crate::analysis::mode_result::ModeResult;
use crate::analysis::port::Ports;
use crate::analysis::purging::Purging;
use crate::modes::drain;
use tenuto_calculus::{UBIT_PER_BIT, div_up, ubits};
use tenuto_model::{ModeChangeBound, ModeChangeTerm, Transition};
use tenuto_units::{FRAME_BYTES_MAX, wire_bits};

/// Bits of the smallest frame on the wire: what a backlog is counted in when it is purged.
const SMALLEST_WIRE_BITS: u64 = 84 * 8;
/// How often the leader of a return asks again whether all is quiet, picoseconds: another switch
/// may have seen the last excess, and then refuses the first vote.
const POLL_PS: i128 = 50_000_000_000;
/// Least time between two changes, for which the signals of one are charged, picoseconds.
const DWELL_PS: i128 = 100_000_000_000;
/// Frames that a switch purges before it looks at signals again.
const PURGE_STEP_FRAMES: i128 = 16;
/// Messages of a return that cross the network: propose, vote, commit, confirm, resume.
const RETURN_SPREADS: i128 = 5;

/// D_arrange: the last switch has heard of the raise; `None` if signals do not reach them all.
///
/// Switches of one redundant network tell one another; networks are apart.
///
/// `processing` is the largest time at the processor behind a line.
pub(crate) fn arrange(
    ports: &Ports<'_>,
    mode_inputs: &[ModeInput],
    processing: &dyn Fn(usize) -> Option<i128>,
) -> Option<i128> {
    let topology = ports.topology;
    let mut costs = Vec::with_capacity(topology.servers.len());
    let mut at_start = vec![0_i128; topology.nodes.len()];
    for (server, egress) in topology.servers.iter().enumerate() {
        let shared = match ports.processors.site(egress.peer) {
            Some(_) => processing(server)?,
            None => 0,
        };
        at_start[egress.peer] = at_start[egress.peer].max(shared);
        let arrived = topology.nodes[egress.peer].latency_max_ps() + shared;
        let wait = signal_wait(ports, mode_inputs, server);
        let held = held(ports, egress.node);
        costs.push(wait.checked_add(held + egress.propagation_ps + arrived)?);
    }
    let switches = (0..topology.nodes.len()).filter(|&n| !topology.nodes[n].is_host());
    let mut worst = 0;
    for starter in switches.clone() {
        let spread = spread(ports, &costs, starter);
        let network = topology.nodes[starter].network;
        let mut last = 0;
        for follower in switches.clone().filter(|&v| topology.nodes[v].network == network) {
            last = last.max(spread[follower]?);
        }
        let own = topology.nodes[starter].latency_max_ps() + at_start[starter];
        worst = worst.max(own + last);
    }
    Some(worst)
}

/// How long a switch that changes its mode does not look at signals that wait: it swaps, then asks queued frames
/// where they belong, so many at a time. A shared processor counts both among its work.
fn held(ports: &Ports<'_>, node: usize) -> i128 {
    let profile = ports.topology.nodes[node].profile;
    match profile.filter(|_| ports.processors.site(node).is_none()) {
        Some(it) => {
            let step_ns = i128::from(it.purge_frame_ns_max).saturating_mul(PURGE_STEP_FRAMES);
            (i128::from(it.swap_ns_max) + step_ns).saturating_mul(1_000)
        }
        None => 0,
    }
}

/// (S + b_s)/C, S the largest frame of any mode at that port.
pub(crate) fn signal_wait(ports: &Ports<'_>, mode_inputs: &[ModeInput], server: usize) -> i128 {
    let egress = &ports.topology.servers[server];
    let frames = mode_inputs.iter().map(|mode_input| ports.largest_frame(server, mode_input, None));
    let below = ports.topology.nodes[egress.node].below_scheduler_ubit();
    // Of other traffic nothing but the line limits a frame on its way through a switch.
    let other = if ports.other_frame() > 0 { ubits(wire_bits(FRAME_BYTES_MAX)) } else { 0 };
    let blocking = frames.max().unwrap_or(0).max(below).max(other);
    let capacity = i128::from(egress.rate_bps) * UBIT_PER_BIT;
    let sending = div_up((blocking + ports.signals.burst_ubit) * 1_000_000_000_000, capacity);
    sending + egress.tick_ps
}

/// Least time from a switch to every other over trunks.
fn spread(ports: &Ports<'_>, costs: &[i128], starter: usize) -> Vec<Option<i128>> {
    let topology = ports.topology;
    let mut times: Vec<Option<i128>> = vec![None; topology.nodes.len()];
    let mut waiting = std::collections::BinaryHeap::from([std::cmp::Reverse((0, starter))]);
    while let Some(std::cmp::Reverse((time, node))) = waiting.pop() {
        if times[node].is_some() {
            continue;
        }
        times[node] = Some(time);
        for &server in topology.leaving(node) {
            let egress = &topology.servers[server];
            if egress.is_trunk && !topology.is_lost(server) {
                waiting.push(std::cmp::Reverse((time + costs[server], egress.peer)));
            }
        }
    }
    times
}

/// D_update: the largest swap time.
pub(crate) fn update(ports: &Ports<'_>) -> i128 {
    let profiles = ports.topology.nodes.iter().filter_map(|node| node.profile);
    profiles.map(|p| i128::from(p.swap_ns_max) * 1_000).max().unwrap_or(0)
}

/// D_q: the largest time in which a switch purges what the mode of `result` can have queued at the trigger,
/// and what has come in the `since_ps` until the swap: a host that has turned to its higher contract
/// goes on sending, and keeps others back.
pub(crate) fn queue(
    ports: &Ports<'_>,
    result: &ModeResult,
    purging: &Purging,
    since_ps: i128,
) -> Option<i128> {
    let with_what_came = |server: usize| {
        let came = purging.come_bits(ports, result, server, since_ps)?;
        result.backlogs[server]?.checked_add(came)
    };
    let mut per_node = purge_times(ports, &with_what_came)?;
    for (node, time) in per_node.iter_mut().enumerate() {
        // At a processor more may wait than lines bring in that time: there the raise's own backlog counts.
        if ports.processors.site(node).is_some() {
            *time = purging.shared_ps(node);
        }
    }
    per_node.into_iter().max()
}

/// The time in which every node purges such backlogs.
pub(crate) fn purges(ports: &Ports<'_>, backlogs: &[Option<u64>]) -> Option<Vec<i128>> {
    purge_times(ports, &|server| backlogs[server])
}

fn purge_times(ports: &Ports<'_>, bits: &dyn Fn(usize) -> Option<u64>) -> Option<Vec<i128>> {
    let topology = ports.topology;
    let mut per_node = vec![0_i128; topology.nodes.len()];
    for (server, egress) in topology.servers.iter().enumerate() {
        if ports.port_graph.groups[server].is_empty() {
            continue;
        }
        // Who purges in no time needs no bound of what is purged.
        let profile = topology.nodes[egress.node].profile;
        if let Some(profile) = profile.filter(|it| it.purge_frame_ns_max > 0) {
            let frames = bits(server)?.div_ceil(SMALLEST_WIRE_BITS);
            per_node[egress.node] +=
                i128::from(frames) * i128::from(profile.purge_frame_ns_max) * 1_000;
        }
    }
    Some(per_node)
}

/// The least safe quiet window, nanoseconds: every bound of a mode that is returned from, or of
/// a raise into it, and the spread of a signal; and the dwell time, for a mode that flaps faster
/// would spend the signals that its next raise needs; and until the network has settled, so that
/// nothing of the higher contracts is left in any busy period. `None` if one of the bounds is
/// missing.
pub(crate) fn quiet_least_ns(analysis: &Analysis<'_>) -> Option<u64> {
    let arrange = analysis.arrange?;
    let mut longest = 0_i128;
    for row in &analysis.rows {
        let is_high = match row.mode {
            Transition::Steady(mode) => mode > 0,
            Transition::Raise { .. } => true,
            Transition::Return { .. } => false,
        };
        if is_high {
            for copy in &row.copies {
                longest = longest.max(i128::from(sum_of_hops(&copy.hops)?));
            }
        }
    }
    let drains = analysis.raises.iter().filter_map(|(_, _, drain)| *drain);
    let settled =
        analysis.returns.iter().filter_map(|(_, settled)| Some(settled.as_ref()?.after_ps));
    let drained = drains.chain(settled).max().unwrap_or(0);
    u64::try_from(div_up((longest + arrange).max(DWELL_PS).max(drained), 1_000)).ok()
}

/// Whether the answers to a question of the leader are there before it asks again, which would void them.
pub(crate) fn answers_in_time(arrange_ps: i128) -> bool {
    2 * arrange_ps <= POLL_PS
}

/// Every raise and every return that has a bound.
pub(crate) fn bounds(analysis: &Analysis<'_>, quiet_ns: Option<u64>) -> Vec<ModeChangeBound> {
    let mut bounds = Vec::new();
    for (transition, terms, drain) in &analysis.raises {
        let Some(terms) = *terms else { continue };
        let raise =
            [("D_arrange", terms.arrange), ("D_update", terms.update), ("D_q", terms.queue)];
        let drain_ps = drain.and_then(|drain| u64::try_from(drain).ok());
        let ended = drain.map_or_else(Vec::new, |_| drain::ends_of_raise(analysis, *transition));
        bounds.push(ModeChangeBound { drain_ps, ended, ..bound(*transition, &raise) });
    }
    for (transition, terms, _) in &analysis.raises {
        let (Some(terms), Some(quiet)) = (*terms, quiet_ns) else { continue };
        let Transition::Raise { from, to } = *transition else { continue };
        if !answers_in_time(terms.arrange) {
            continue;
        }
        let back = [
            ("quiet", i128::from(quiet) * 1_000),
            ("D_arrange", RETURN_SPREADS * terms.arrange),
            ("D_update", terms.update),
            ("D_q", terms.queue),
            ("poll", POLL_PS),
        ];
        let settled = analysis.settled(to, from);
        bounds.push(ModeChangeBound {
            settled_ps: settled.and_then(|settled| u64::try_from(settled.after_ps).ok()),
            rounds: settled.map_or_else(Vec::new, |settled| settled.rounds.clone()),
            ended: settled.map_or_else(Vec::new, |settled| settled.ended.clone()),
            ..bound(Transition::Return { from: to, to: from }, &back)
        });
    }
    bounds
}

/// Lets a return wait for a window of that length.
pub(crate) fn wait_for_quiet(change: &mut ModeChangeBound, quiet_ns: u64) {
    for term in change.terms.iter_mut().filter(|term| term.name == "quiet") {
        term.bound_ps = quiet_ns.saturating_mul(1_000);
    }
    change.bound_ps =
        change.terms.iter().fold(0, |sum: u64, term| sum.saturating_add(term.bound_ps));
}

fn bound(change: Transition, terms: &[(&str, i128)]) -> ModeChangeBound {
    let picos = |term: i128| u64::try_from(term).unwrap_or(u64::MAX);
    let terms: Vec<ModeChangeTerm> = terms
        .iter()
        .map(|(name, term)| ModeChangeTerm { name: (*name).into(), bound_ps: picos(*term) })
        .collect();
    let bound_ps = terms.iter().fold(0, |sum: u64, term| sum.saturating_add(term.bound_ps));
    ModeChangeBound {
        change,
        bound_ps,
        terms,
        drain_ps: None,
        settled_ps: None,
        rounds: Vec::new(),
        ended: Vec::new(),
    }
}
