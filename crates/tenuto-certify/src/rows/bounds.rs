//! The bounds of flows: sums of claims along their paths, against what the rows say.

use crate::description::read::{self, CopyBound, FlowBound, Mode};
use crate::finding::{picos, rule};
use crate::rows::analysis::{Analysis, processing};
use crate::rows::context::Context;
use crate::rows::ends::Ends;
use crate::rows::whole_path::{self, Proved};
use crate::streams::levels::{is_guaranteed, levels};
use crate::streams::stream::Stream;
use std::collections::{BTreeMap, BTreeSet};

/// How a bound may have been found: sums of hops, and proofs over the whole path.
const METHODS: [&str; 8] = ["tfa", "staircase", "change", "pmoo", "blind", "plp", "plp+", "elp"];

/// The delay of a stream to one of its targets: Σ (λmax + P + D + π); `None` if unbounded.
pub(crate) fn delay(
    context: &Context<'_>,
    stream: &Stream,
    target: usize,
    mode: Mode,
) -> Option<u128> {
    let processing = |line: usize| context.processing_ps(mode, line);
    along(context, (stream, target), mode, processing)
}

/// The longest way of any frame that was accepted, be its host's queue full.
pub(crate) fn longest_way(
    context: &Context<'_>,
    stream: &Stream,
    target: usize,
    mode: Mode,
) -> Option<u128> {
    along(context, (stream, target), mode, |line| context.longest_ps(mode, line))
}

fn along(
    context: &Context<'_>,
    (stream, target): (&Stream, usize),
    mode: Mode,
    processing: impl Fn(usize) -> Option<u64>,
) -> Option<u128> {
    let mut sum = 0_u128;
    for place in &stream.paths[target] {
        let at = stream.tree[*place];
        let info = &context.net.ports[at.port];
        let waiting = context.claim_for(mode, stream, at.port)?;
        let before = at.parent.map(|parent| stream.tree[parent].port);
        let processing = before.map_or(Some(0), &processing)?;
        let latency = context.net.latency_max_ps(info.node);
        for part in [latency, processing, waiting, info.propagation_ps] {
            sum += u128::from(part);
        }
    }
    Some(sum)
}

/// The bound of a stream (by its index) in a row's mode; after a return both modes count.
fn row_delay(
    context: &Context<'_>,
    proved: &Proved,
    index: usize,
    target: usize,
    mode: Mode,
) -> Option<u128> {
    let stream = &context.streams[index];
    let level = context.net.flows[stream.flow].level;
    let least = |mode: Mode| {
        let whole = proved.get(&(mode, index, target)).copied();
        delay(context, stream, target, mode).into_iter().chain(whole).min()
    };
    match mode {
        Mode::Return { from, to } => {
            let below = least(Mode::Steady(to))?;
            if usize::from(from) > level {
                return Some(below);
            }
            Some(below.max(least(Mode::Steady(from))?))
        }
        _ => least(mode),
    }
}

/// The least delay of a stream: a least frame that waits for nobody, picoseconds down.
fn least_delay(context: &Context<'_>, stream: &Stream, target: usize) -> u128 {
    let net = context.net;
    let bits = net.flows[stream.flow].contracts.iter().map(|c| c.frame_bits_min).min();
    let bits = u128::from(bits.unwrap_or(crate::description::packets::WIRE_BITS_MIN));
    let hop = |place: &usize| {
        let info = &net.ports[stream.tree[*place].port];
        let sending = bits * 1_000_000_000_000 / u128::from(info.rate_bps);
        let processing = net.device(info.node).map_or(0, |device| device.least_ps());
        let own = net.latency_min_ps(info.node).saturating_add(processing);
        // The description's delay of a cable is rounded up to a nanosecond.
        let cable = info.propagation_ps.saturating_sub(1_000);
        sending + u128::from(cable) + u128::from(own)
    };
    stream.paths[target].iter().map(hop).sum()
}

/// The largest bound of any flow with a guarantee in `mode`; `None` if one is unbounded.
pub(crate) fn largest(context: &Context<'_>, mode: Mode) -> Option<u128> {
    let mut largest = 0;
    for stream in context.streams {
        if is_guaranteed(mode, context.net.flows[stream.flow].level) {
            for target in 0..stream.paths.len() {
                largest = largest.max(delay(context, stream, target, mode)?);
            }
        }
    }
    Some(largest)
}

/// The deadline of a row: the smaller one of the two modes of a change.
fn deadline_ns(target: &read::Target, mode: Mode) -> Option<u64> {
    let of = |level: u8| target.deadline_ns.get(usize::from(level)).copied();
    match mode {
        Mode::Steady(level) => of(level),
        Mode::Raise { from, to } => Some(of(from)?.min(of(to)?)),
        Mode::Return { from, to } => Some(of(to)?.min(of(from).unwrap_or(u64::MAX))),
    }
}

/// Checks every row, and that none is missing. Returns the number of flows seen.
pub(crate) fn check(
    context: &Context<'_>,
    analyses: &BTreeMap<Mode, &Analysis>,
    ends: &BTreeMap<Mode, &Ends>,
) -> usize {
    let net = context.net;
    let proved = whole_path::proved(context, analyses, ends);
    let mut by_flow: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, stream) in context.streams.iter().enumerate() {
        by_flow.entry(stream.flow).or_default().push(index);
    }
    let (mut rows, mut flows) = (BTreeSet::new(), BTreeSet::new());
    for row in &context.plan.flows {
        let place = place_of(context, row);
        let flow = net.flow(&row.flow);
        let at =
            |flow: usize| net.flows[flow].raw.targets.iter().position(|t| t.host == row.target);
        let Some((flow, target)) = flow.and_then(|flow| Some((flow, at(flow)?))) else {
            context.wrong(rule::FLOW_BOUND, place, "a row", "no such flow and target");
            continue;
        };
        if !has_row(context, flow, row.mode) {
            context.wrong(rule::FLOW_BOUND, place, "a row", "no such mode for this flow");
            continue;
        }
        if !rows.insert((flow, target, row.mode)) {
            context.wrong(rule::FLOW_BOUND, &place, "a second row", "one row per mode");
        }
        flows.insert(flow);
        check_deadline(context, row, &net.flows[flow].raw.targets[target], &place);
        check_class(context, row, flow, &place);
        if !METHODS.contains(&row.method.as_str()) {
            let found = format!("one of {}", METHODS.join(", "));
            context.wrong(rule::FLOW_BOUND, &place, format!("method {}", row.method), found);
        }
        let streams = by_flow.get(&flow).map_or(&[][..], Vec::as_slice);
        let copies = net.flows[flow].raw.copies.len().max(1);
        if streams.len() == copies {
            let row = Row { context, proved: &proved, analyses, row, target, place: &place };
            row.check(flow, streams);
        } else if row.delay_bound_ps.is_some() {
            context.wrong(rule::FLOW_BOUND, &place, "a bound", "not every copy has a valid route");
        }
    }
    check_complete(context, &rows);
    flows.len()
}

fn place_of(context: &Context<'_>, row: &FlowBound) -> String {
    format!("{} to {}, {}", row.flow, row.target, row.mode.label(&context.net.raw.modes))
}

/// Whether the flow has a guarantee, hence a row, in that mode or change.
fn has_row(context: &Context<'_>, flow: usize, mode: Mode) -> bool {
    let level = context.net.flows[flow].level;
    let modes = context.net.raw.modes.len();
    match mode {
        Mode::Return { from, to } => {
            to < from && usize::from(from) < modes && usize::from(to) <= level
        }
        _ => crate::streams::levels::is_analysed(mode, modes) && is_guaranteed(mode, level),
    }
}

fn check_complete(context: &Context<'_>, rows: &BTreeSet<(usize, usize, Mode)>) {
    let returns = context.raises().filter_map(|raise| match raise {
        Mode::Raise { from, to } => Some(Mode::Return { from: to, to: from }),
        _ => None,
    });
    let modes: Vec<Mode> = context.steady_modes().chain(context.raises()).chain(returns).collect();
    for (index, flow) in context.net.flows.iter().enumerate() {
        for (target, described) in flow.raw.targets.iter().enumerate() {
            for mode in modes.iter().filter(|mode| has_row(context, index, **mode)) {
                if !rows.contains(&(index, target, *mode)) {
                    let label = mode.label(&context.net.raw.modes);
                    let place = format!("{} to {}, {label}", flow.raw.name, described.host);
                    context.wrong(
                        rule::FLOW_BOUND,
                        place,
                        "no row",
                        "every flow has one per target and mode",
                    );
                }
            }
        }
    }
}

fn check_deadline(context: &Context<'_>, row: &FlowBound, target: &read::Target, place: &str) {
    let expected = deadline_ns(target, row.mode);
    if Some(row.deadline_ns) != expected {
        let found = expected.map_or("none".into(), |ns| format!("{ns} ns in the description"));
        context.wrong(rule::DEADLINE, place, format!("{} ns", row.deadline_ns), found);
    }
    if context.plan.feasible {
        let limit = u128::from(expected.unwrap_or(0)) * 1_000;
        let bound = row.delay_bound_ps.map(u128::from);
        if bound.is_none_or(|bound| bound > limit) {
            context.wrong(rule::DEADLINE, place, format!("kept, {limit} ps"), picos(bound));
        }
    }
}

fn check_class(context: &Context<'_>, row: &FlowBound, flow: usize, place: &str) {
    let flow = &context.net.flows[flow];
    let range = match row.mode {
        Mode::Return { from, to } => Some((usize::from(to), usize::from(from).min(flow.level))),
        mode => levels(mode, flow.level),
    };
    let contracts = range.map_or(&[][..], |(low, high)| &flow.contracts[low..=high]);
    if !contracts.iter().any(|contract| contract.class == row.priority) {
        let found = "not a class of its contracts there";
        context.wrong(rule::FLOW_BOUND, place, format!("class {}", row.priority), found);
    }
}

/// One row with what it is checked against.
struct Row<'a> {
    context: &'a Context<'a>,
    proved: &'a Proved,
    analyses: &'a BTreeMap<Mode, &'a Analysis>,
    row: &'a FlowBound,
    target: usize,
    place: &'a str,
}

impl Row<'_> {
    fn check(&self, flow: usize, streams: &[usize]) {
        let all = &self.context.net.flows[flow].raw.copies;
        let mut largest = Some(0_u128);
        let mut spans = Vec::new();
        if self.row.copies.len() != streams.len() {
            let claim = format!("{} copies", self.row.copies.len());
            self.context.wrong(rule::FLOW_BOUND, self.place, claim, format!("{}", streams.len()));
        }
        for index in streams {
            let stream = &self.context.streams[*index];
            let bound = row_delay(self.context, self.proved, *index, self.target, self.row.mode);
            largest = largest.zip(bound).map(|(a, b)| a.max(b));
            spans.push((bound, least_delay(self.context, stream, self.target)));
            let name = all.get(stream.copy);
            if let Some(copy) = self.row.copies.iter().find(|copy| copy.network.as_ref() == name) {
                self.check_copy(copy, *index, bound);
            } else {
                let found = name.map_or("the one network", String::as_str);
                self.context.wrong(rule::FLOW_BOUND, self.place, "no bound for a copy", found);
            }
        }
        self.at_least("bound", self.row.delay_bound_ps, largest);
        self.check_skew(flow, &spans);
    }

    /// A finite claim must not be below what was rebuilt.
    fn at_least(&self, what: &str, claim: Option<u64>, needed: Option<u128>) {
        if let Some(claim) = claim {
            let about = (rule::FLOW_BOUND, self.place, "ps");
            self.context.net.at_least(about, what, claim, needed);
        }
    }

    fn check_copy(&self, copy: &CopyBound, index: usize, bound_ps: Option<u128>) {
        let stream = &self.context.streams[index];
        self.at_least("bound of a copy", copy.delay_bound_ps, bound_ps);
        if self.context.plan.feasible && copy.delay_bound_ps.is_none() {
            let found = "a feasible plan has one";
            self.context.wrong(rule::FLOW_BOUND, self.place, "no bound of a copy", found);
        }
        let least = least_delay(self.context, stream, self.target);
        if u128::from(copy.delay_min_ps) > least {
            let claim = format!("least delay {} ps", copy.delay_min_ps);
            self.context.wrong(rule::FLOW_BOUND, self.place, claim, format!("at most {least} ps"));
        }
        // Behind a return the hops are those of one of its two modes.
        let modes = match self.row.mode {
            Mode::Return { from, to } => vec![Mode::Steady(to), Mode::Steady(from)],
            mode => vec![mode],
        };
        let mut wrong = Vec::new();
        for mode in modes {
            match self.wrong_hop(copy, index, mode) {
                None => return,
                Some(difference) => wrong.push(difference),
            }
        }
        if let Some((claim, found)) = wrong.into_iter().next() {
            self.context.wrong(rule::FLOW_BOUND, self.place, claim, found);
        }
    }

    /// The first hop that claims less than `mode` gives.
    fn wrong_hop(&self, copy: &CopyBound, index: usize, mode: Mode) -> Option<(String, String)> {
        let context = self.context;
        let stream = &context.streams[index];
        let path = &stream.paths[self.target];
        if copy.hops.len() != path.len() {
            return Some((format!("{} hops", copy.hops.len()), format!("{}", path.len())));
        }
        let buckets = self.analyses.get(&mode).and_then(|analysis| analysis.buckets.get(&index));
        for (hop, place) in copy.hops.iter().zip(path) {
            let port = stream.tree[*place].port;
            let info = &context.net.ports[port];
            let label = context.net.label(port);
            if context.net.port(&hop.port) != Some(port) {
                return Some((format!("hop {}:{}", hop.port.node, hop.port.port), label));
            }
            let waiting = context.claim_for(mode, stream, port);
            let processing = processing(context, stream, *place, mode);
            let latency = context.net.latency_max_ps(info.node);
            // Without a bound at the processor there is none at the queue behind it either.
            let latency = Some(latency.saturating_add(processing.unwrap_or(0)));
            for (what, claim, needed) in [
                ("latency", Some(hop.latency_ps), latency),
                ("queueing", hop.queueing_ps, waiting),
                ("propagation", Some(hop.propagation_ps), Some(info.propagation_ps)),
            ] {
                if claim.is_some_and(|claim| needed.is_none_or(|needed| claim < needed)) {
                    let found = format!("at least {}", picos(needed.map(u128::from)));
                    return Some((format!("{what} {claim:?} ps at {label}"), found));
                }
            }
            let needed = buckets.and_then(|buckets| buckets[*place].burst.as_ref());
            let needed = needed.map(|burst| context.scale.to_bits_up(burst));
            if let Some(claim) = hop.burst_bits
                && needed.as_ref().is_none_or(|needed| *needed > claim.into())
            {
                let found = needed.map_or("unbounded".into(), |n| format!("at least {n} bit"));
                return Some((format!("burst {claim} bit at {label}"), found));
            }
        }
        None
    }

    fn check_skew(&self, flow: usize, spans: &[(Option<u128>, u128)]) {
        if spans.len() < 2 {
            if self.row.skew_bound_ps.is_some() {
                self.context.wrong(rule::SKEW, self.place, "a skew", "one copy has none");
            }
            return;
        }
        let mut skew = Some(0_u128);
        for (i, (largest, _)) in spans.iter().enumerate() {
            for (_, (_, least)) in spans.iter().enumerate().filter(|(j, _)| *j != i) {
                let pair = largest.map(|largest| largest.saturating_sub(*least));
                skew = skew.zip(pair).map(|(a, b)| a.max(b));
            }
        }
        let claim = self.row.skew_bound_ps.map(u128::from);
        if let Some(claim) = claim {
            self.context.net.at_least((rule::SKEW, self.place, "ps"), "skew", claim, skew);
        }
        if self.context.plan.feasible && claim.is_none() {
            self.context.wrong(
                rule::SKEW,
                self.place,
                "no skew",
                "a feasible plan has one of copies",
            );
        }
        let limit = self.context.net.flows[flow].raw.skew_max_ns.map(|ns| u128::from(ns) * 1_000);
        if let Some(limit) = limit.filter(|_| self.context.plan.feasible)
            && claim.is_none_or(|claim| claim > limit)
        {
            self.context.wrong(rule::SKEW, self.place, format!("kept, {limit} ps"), picos(claim));
        }
    }
}
