//! D_mc of every raise, the bound of every return, and the quiet window in front of it.

use crate::description::net::Net;
use crate::description::packets::WIRE_BITS_MAX;
use crate::description::read::{Mode, ModeChange, OtherTraffic};
use crate::finding::{picos, rule};
use crate::rows::analysis::Analysis;
use crate::rows::bounds;
use crate::rows::context::Context;
use crate::rows::port_rows::Backlogs;
use crate::rows::purged;
use crate::streams::envelopes::{contract_envelope, enforced_envelope, is_bounded_anew};
use crate::streams::levels::{host_levels, levels_of};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// A switch purges so many frames before signals are served again.
const PURGE_STEP_FRAMES: u128 = 16;
/// One poll of the leader, in a return: it asks again after this if a switch did not vote.
const POLL_PS: u128 = 50_000_000_000;
/// What signals are charged for happens once in this time.
const DWELL_PS: u128 = 100_000_000_000;
/// Phases of a return that a message spreads through the network.
const RETURN_PHASES: u128 = 5;
/// What is no shorter than this has no bound: a signal that does not arrive, or waits for a processor
/// without a claim.
pub(crate) const UNBOUNDED_PS: u128 = u128::MAX >> 64;
/// Distances are whole millionths of a picosecond, up.
const FINE_PER_PS: u128 = 1_000_000;
const FINE_PER_S: u128 = 1_000_000_000_000 * FINE_PER_PS;

/// The terms of D_mc for one raise; `None` where a backlog is unbounded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) arrange_ps: u128,
    pub(crate) update_ps: u128,
    pub(crate) queues_ps: Option<u128>,
}

impl Terms {
    pub(crate) fn sum(self) -> Option<u128> {
        Some(self.arrange_ps + self.update_ps + self.queues_ps?)
    }
}

/// The terms that all raises have in common, nothing purged.
pub(crate) fn common_terms(context: &Context<'_>) -> Terms {
    let profiles = || context.net.profiles();
    let update_ps = profiles().map(|p| u128::from(p.swap_ns_max) * 1_000).max().unwrap_or(0);
    let arrange_ps = if context.net.has_modes() { arrange(context) } else { 0 };
    Terms { arrange_ps, update_ps, queues_ps: Some(0) }
}

impl Terms {
    /// With what a switch has to purge: what the mode before left in its queues, or an earlier
    /// raise into that mode (whole bits up), and what comes from the trigger to the swap.
    pub(crate) fn purging(self, context: &Context<'_>, from: u8, backlogs: &Backlogs) -> Self {
        let leads_there = |mode: &Mode| match *mode {
            Mode::Steady(level) => level == from,
            Mode::Raise { to, .. } => to == from,
            Mode::Return { .. } => false,
        };
        let before = backlogs.iter().filter(|(mode, _)| leads_there(mode));
        let (frames, since_ps) = (frames(context), self.arrange_ps.saturating_add(self.update_ps));
        let of = |waiting| purged::longest_ps(context, &frames, waiting, since_ps);
        let purges = before.map(|(_, backlogs)| of(backlogs));
        let queues_ps = purges.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).flatten();
        Self { queues_ps, ..self }
    }
}

/// What processors that ports share are said to purge is no less than any mode or raise leaves there.
pub(crate) fn check_purges(context: &Context<'_>, backlogs: &Backlogs) {
    for (node, claim) in &context.changes.purges {
        let of_modes = backlogs.values().map(|of_mode| purged::times(context, of_mode));
        let needed = of_modes.map(|mut of| of.remove(node).unwrap_or(Some(0)));
        let needed = needed.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).flatten();
        let place = context.net.nodes[*node].name;
        context.net.at_least((rule::MODE_CHANGE, place, "ps"), "purged in", *claim, needed);
    }
}

/// By trunk: the longest that a signal takes from its place in the queue to its last bit.
pub(crate) fn signal_waits(context: &Context<'_>) -> BTreeMap<usize, u64> {
    if !context.net.has_modes() {
        return BTreeMap::new();
    }
    let frames = frames(context);
    let trunks = (0..context.net.ports.len()).filter(|port| context.net.is_trunk(*port));
    let wait = |port: usize| {
        let tick = u128::from(context.net.ports[port].tick_ps);
        let wait = signal_sending(context, &frames, port).div_ceil(FINE_PER_PS) + tick;
        (port, u64::try_from(wait).unwrap_or(u64::MAX))
    };
    trunks.map(wait).collect()
}

/// The largest P behind a line over any mode and raise; without a claim no bound that counts.
fn processing(context: &Context<'_>, line: usize) -> u128 {
    let net = context.net;
    if net.device(net.ports[line].peer).is_none() {
        return 0;
    }
    let enters =
        |stream: &crate::streams::stream::Stream| stream.tree.iter().any(|hop| hop.port == line);
    if !net.is_trunk(line) && !context.streams.iter().any(enters) {
        return 0;
    }
    let claims = context.claimed_modes().map(|mode| context.processing_ps(mode, line));
    let most = claims.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).flatten();
    most.map_or(UNBOUNDED_PS, u128::from)
}

/// The largest frame at every port in any mode or raise, bits up.
fn frames(context: &Context<'_>) -> BTreeMap<usize, u64> {
    let mut largest: BTreeMap<usize, u64> = BTreeMap::new();
    let net = context.net;
    for mode in context.steady_modes().chain(context.raises()) {
        for (index, stream) in context.streams.iter().enumerate() {
            let Some(range) = levels_of(net, stream, mode) else { continue };
            let levels = host_levels(net.flows[stream.flow].level);
            let source = contract_envelope(net, &context.scale, stream.flow, levels).frame_max;
            let enforced = context.enforced[index];
            let anew = is_bounded_anew(net, stream, enforced, range);
            let behind = stream.first_switch.filter(|_| anew).map(|node| {
                enforced_envelope(net, &context.scale, stream, node, enforced, range).frame_max
            });
            for place in &stream.tree {
                let frame = if place.parent.is_some() { behind.as_ref() } else { None };
                // A frame has whole bits, what a meter lets through at once need not.
                let bits = context.scale.to_bits_down(frame.unwrap_or(&source));
                let bits = u64::try_from(bits).unwrap_or(u64::MAX).min(WIRE_BITS_MAX);
                let entry = largest.entry(place.port).or_default();
                *entry = bits.max(*entry);
            }
        }
    }
    largest
}

/// D_arrange: a signal from any starter to every switch that it can reach over trunks.
fn arrange(context: &Context<'_>) -> u128 {
    let net = context.net;
    let frames = frames(context);
    let mut hops: BTreeMap<usize, Vec<(usize, u128)>> = BTreeMap::new();
    let is_there = |port: &usize| net.is_trunk(*port) && !context.changes.lost.contains(port);
    for (port, info) in net.ports.iter().enumerate().filter(|(port, _)| is_there(port)) {
        let sending = signal_sending(context, &frames, port);
        let rest = u128::from(info.propagation_ps)
            + u128::from(info.tick_ps)
            + u128::from(net.latency_max_ps(info.peer))
            + kept_back(net, info.node)
            + processing(context, port);
        let hop = sending.saturating_add(rest.saturating_mul(FINE_PER_PS));
        hops.entry(info.node).or_default().push((info.peer, hop));
    }
    let switches = net.nodes.iter().enumerate().filter(|(_, node)| node.switch.is_some());
    let from = |starter: usize| {
        let into = (0..net.ports.len()).filter(|port| net.ports[*port].peer == starter);
        let shared = into.map(|line| processing(context, line)).max().unwrap_or(0);
        let own = u128::from(net.latency_max_ps(starter)) + shared;
        let own = own.saturating_mul(FINE_PER_PS);
        let network = |node: usize| net.nodes[node].switch.map(|(switch, _)| &switch.network);
        let all = (0..net.nodes.len()).filter(|node| network(*node) == network(starter));
        own.saturating_add(farthest(&hops, starter, all))
    };
    switches.map(|(node, _)| from(node)).max().unwrap_or(0).div_ceil(FINE_PER_PS)
}

/// For so long a switch that swaps and purges may serve no signal: the swap and one step of the purge. Where ports share a
/// processor, P has both.
fn kept_back(net: &Net<'_>, node: usize) -> u128 {
    let profile = net.profile(node).filter(|_| net.device(node).is_none());
    let ns = profile.map_or(0, |it| {
        u128::from(it.swap_ns_max) + PURGE_STEP_FRAMES * u128::from(it.purge_frame_ns_max)
    });
    ns * 1_000
}

/// (S + b_s)/C at a trunk.
fn signal_sending(context: &Context<'_>, frames: &BTreeMap<usize, u64>, port: usize) -> u128 {
    let net = context.net;
    let info = &net.ports[port];
    let other = matches!(net.raw.other_traffic, OtherTraffic::Carry { .. });
    let in_the_way = frames
        .get(&port)
        .copied()
        .unwrap_or(0)
        .max(net.below_scheduler_bits(info.node))
        .max(if other { WIRE_BITS_MAX } else { 0 });
    let signals = context.signals(port).map_or(0, |s| {
        u128::try_from(context.scale.to_bits_up(&s.burst)).unwrap_or(u128::MAX >> 64)
    });
    let bits = u128::from(in_the_way).saturating_add(signals);
    bits.saturating_mul(FINE_PER_S).div_ceil(u128::from(info.rate_bps))
}

/// The distance of the farthest of `all` from `starter`; no bound that counts if it cannot reach one.
fn farthest(
    hops: &BTreeMap<usize, Vec<(usize, u128)>>,
    starter: usize,
    mut all: impl Iterator<Item = usize>,
) -> u128 {
    use std::cmp::Reverse;
    let mut settled = BTreeSet::new();
    let mut open = BinaryHeap::from([Reverse((0_u128, starter))]);
    let mut largest = 0;
    while let Some(Reverse((distance, node))) = open.pop() {
        if !settled.insert(node) {
            continue;
        }
        largest = distance;
        for (peer, hop) in hops.get(&node).into_iter().flatten() {
            if !settled.contains(peer) {
                open.push(Reverse((distance.saturating_add(*hop), *peer)));
            }
        }
    }
    if all.all(|node| settled.contains(&node)) { largest } else { UNBOUNDED_PS * FINE_PER_PS }
}

/// Checks the rows of mode changes, the quiet window and the repeats of signals.
pub(crate) fn check(
    context: &Context<'_>,
    terms: &BTreeMap<Mode, Terms>,
    drains: &BTreeMap<Mode, Option<u128>>,
    settled: &BTreeMap<Mode, Option<u128>>,
    analyses: &BTreeMap<Mode, &Analysis>,
) {
    let (plan, modes) = (context.plan, &context.net.raw.modes);
    let quiet = plan.quiet_ns.map(|ns| u128::from(ns) * 1_000);
    let mut seen = BTreeSet::new();
    for row in &plan.mode_changes {
        let place = row.change.label(modes);
        if !seen.insert(row.change) {
            context.wrong(rule::MODE_CHANGE, &place, "a second row", "one row per change");
        }
        let needed = match row.change {
            Mode::Return { from, to } => {
                let named = row.terms.iter().filter(|term| term.name == "quiet");
                for term in named.filter(|term| Some(term.bound_ps.into()) != quiet) {
                    let claim = format!("quiet = {} ps", term.bound_ps);
                    let found = format!("{} in the plan", picos(quiet));
                    context.wrong(rule::MODE_CHANGE, &place, claim, found);
                }
                terms.get(&Mode::Raise { from: to, to: from }).map(|terms| terms.back(quiet))
            }
            change => terms.get(&change).map(|terms| terms.raise()),
        };
        let drain = drains.get(&row.change).copied().flatten();
        match needed {
            Some(needed) => check_row(context.net, row, &needed, drain, &place),
            None => context.wrong(rule::MODE_CHANGE, place, "a row", "no such change"),
        }
    }
    check_signals(context);
    let over = drains.values().chain(settled.values()).flatten().copied().max().unwrap_or(0);
    // A plan that is not feasible may say nothing of a change; no row claims nothing.
    for raise in terms.keys().filter(|_| plan.feasible) {
        let Mode::Raise { from, to } = *raise else { continue };
        for change in [*raise, Mode::Return { from: to, to: from }] {
            if !seen.contains(&change) {
                let found = "every change has one";
                context.wrong(rule::MODE_CHANGE, change.label(modes), "no row", found);
            }
        }
    }
    check_quiet(context, terms, over, analyses);
}

/// Whether answers to a question of the leader are there before it asks again: the next question voids them.
const fn answers_in_time(terms: Terms) -> bool {
    terms.arrange_ps <= POLL_PS / 2
}

/// Every term stands there once, under its own name, and is no smaller than what it bounds; they add
/// up to no more than the bound. A drain may be later than needed, or never; not sooner.
fn check_row(
    net: &Net<'_>,
    row: &ModeChange,
    needed: &[(&str, Option<u128>)],
    drain: Option<u128>,
    place: &str,
) {
    let about = (rule::MODE_CHANGE, place, "ps");
    for (name, needed) in needed {
        let named: Vec<_> = row.terms.iter().filter(|term| term.name == *name).collect();
        match named.as_slice() {
            [one] => net.at_least(about, name, one.bound_ps, *needed),
            all => {
                let claim = format!("{} terms {name}", all.len());
                net.wrong(rule::MODE_CHANGE, place, claim, "one of each");
            }
        }
    }
    if let Some(other) = row.terms.iter().find(|term| needed.iter().all(|(n, _)| *n != term.name)) {
        net.wrong(rule::MODE_CHANGE, place, &other.name, "no term of this change");
    }
    let sum: u128 = row.terms.iter().map(|term| u128::from(term.bound_ps)).sum();
    let least: Option<u128> = needed.iter().map(|(_, needed)| *needed).sum();
    net.at_least(about, "bound", row.bound_ps, least.map(|least| least.max(sum)));
    if let Some(claimed) = row.drain_ps {
        net.at_least(about, "drained after", claimed, drain);
    }
}

impl Terms {
    /// The terms of a raise.
    fn raise(self) -> Vec<(&'static str, Option<u128>)> {
        let (arrange, update) = (Some(self.arrange_ps), Some(self.update_ps));
        vec![("D_arrange", arrange), ("D_update", update), ("D_q", self.queues_ps)]
    }

    /// The terms of a return, which waits for the quiet window of the plan.
    fn back(self, quiet_ps: Option<u128>) -> Vec<(&'static str, Option<u128>)> {
        let mut all = Self { arrange_ps: self.arrange_ps * RETURN_PHASES, ..self }.raise();
        let poll_ps = answers_in_time(self).then_some(POLL_PS);
        all.extend([("quiet", quiet_ps), ("poll", poll_ps)]);
        all
    }
}

/// Repeats of a signal must outlast the losses that the fault model names.
fn check_signals(context: &Context<'_>) {
    if !context.net.has_modes() {
        return;
    }
    let needed = u64::from(context.net.raw.tolerates.lost_signals) + 1;
    let copies = context.plan.signal_copies.unwrap_or(0);
    if u64::from(copies) < needed {
        let found = format!("at least {needed}: one more than may be lost");
        context.wrong(rule::MODE_CHANGE, "signal_copies", copies, found);
    }
}

/// quiet ≥ the largest bound of any flow in a higher mode or in a raise into it, + D_arrange, ≥ the
/// dwell time of signals, and ≥ every drain and the time in which the network settles. Returns what
/// it has to be; `None` where no window is long enough.
fn check_quiet(
    context: &Context<'_>,
    terms: &BTreeMap<Mode, Terms>,
    over: u128,
    analyses: &BTreeMap<Mode, &Analysis>,
) -> Option<u128> {
    if !context.net.has_modes() {
        return None;
    }
    let plan = context.plan;
    let arrange = terms.values().map(|terms| terms.arrange_ps).max().unwrap_or(0);
    let mut needed = (arrange < UNBOUNDED_PS).then_some(arrange.max(DWELL_PS));
    for mode in analyses.keys().filter(|mode| **mode != Mode::Steady(0)) {
        let largest = bounds::largest(context, *mode);
        needed = needed.zip(largest).map(|(a, b)| a.max(arrange + b));
    }
    needed = needed.map(|needed| needed.max(over));
    match plan.quiet_ns.map(|ns| u128::from(ns) * 1_000) {
        None if plan.feasible => {
            context.wrong(rule::QUIET, "quiet_ns", "none", format!("at least {}", picos(needed)));
        }
        Some(quiet)
            if (plan.feasible || needed.is_some())
                && needed.is_none_or(|needed| quiet < needed) =>
        {
            let found = format!("at least {}", picos(needed));
            context.wrong(rule::QUIET, "quiet_ns", format!("{quiet} ps"), found);
        }
        _ => {}
    }
    let wished = context.net.raw.mode_return.quiet_ns;
    if plan.feasible && wished.is_some_and(|wished| plan.quiet_ns.is_some_and(|q| q < wished)) {
        context.wrong(rule::QUIET, "quiet_ns", "a shorter window", "the description asks for more");
    }
    needed
}
