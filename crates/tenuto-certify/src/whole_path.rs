//! Bounds of whole paths in steady modes: the server graph of a class, rebuilt from description and
//! claims, and the linear proofs that the plan carries (theory, "Whole paths").
//!
//! A server of the graph is an egress port as one class sees it, with the variation of the node
//! behind it in its service; what is constant is added at the end. Behind a meter or monitor a flow
//! starts anew with what is enforced.

use crate::analysis::{Analysis, Context, GroupKey};
use crate::envelopes::{Bucket, contract_envelope, enforced_envelope, levels, levels_of};
use crate::exact::ceil_div;
use crate::finding::{Findings, rule};
use crate::read::{FlowBound, Mode};
use crate::routes::Stream;
use crate::server_graph::{Document, Graph, GraphFlow, GraphServer, Paths, Plain, Proof};
use num_bigint::BigInt;
use std::collections::BTreeMap;

/// Bounds that were proved, by mode, stream and target.
pub(crate) type Proved = BTreeMap<(Mode, usize, usize), u128>;

/// A proof in the plan and what it is about.
struct Claim<'a> {
    stream: usize,
    target: usize,
    proof: &'a Proof,
    place: String,
}

/// Checks every linear proof of the plan's rows.
pub(crate) fn proved(
    context: &Context<'_>,
    analyses: &BTreeMap<Mode, &Analysis>,
    findings: &mut Findings,
) -> Proved {
    let mut proved = Proved::new();
    for ((mode, class), claims) in claims(context, findings) {
        let Some(analysis) = analyses.get(&mode) else { continue };
        if (0..context.net.nodes.len()).any(|node| context.net.device(node).is_some()) {
            let found = "what ports share in front of their queues is no server of one path";
            findings.add(rule::LINEAR, mode.label(&context.net.raw.modes), "linear proofs", found);
            continue;
        }
        let graph = ClassGraph::new(context, analysis, mode, class);
        let document = Document::of(&graph.graph, &graph.delays, context.plan.line_shaping);
        let Some(paths) = Paths::new(&document, findings) else { continue };
        for claim in claims {
            match graph.bound(context, mode, &claim, &paths) {
                Ok(bound) => {
                    proved.insert((mode, claim.stream, claim.target), bound);
                }
                Err(flaw) => findings.add(rule::LINEAR, claim.place, "a linear proof", flaw),
            }
        }
    }
    proved
}

/// The proofs of all rows, by mode and class.
fn claims<'a>(
    context: &Context<'a>,
    findings: &mut Findings,
) -> BTreeMap<(Mode, u8), Vec<Claim<'a>>> {
    let mut all: BTreeMap<(Mode, u8), Vec<Claim<'a>>> = BTreeMap::new();
    for row in &context.plan.flows {
        for copy in &row.copies {
            let Some(proof) = &copy.proof else { continue };
            let place = format!("{} to {}", row.flow, row.target);
            let Some((stream, target)) = subject(context, row, copy.network.as_ref()) else {
                findings.add(rule::LINEAR, place, "a proof", "no such copy, target or mode");
                continue;
            };
            let flow = &context.net.flows[context.streams[stream].flow];
            let Some((low, _)) = levels(row.mode, flow.level) else {
                findings.add(rule::LINEAR, place, "a proof", "the flow is out of that mode");
                continue;
            };
            let claim = Claim { stream, target, proof: &proof.linear, place };
            all.entry((row.mode, flow.contracts[low].class)).or_default().push(claim);
        }
    }
    all
}

/// The stream and target of a row's copy; steady modes only.
fn subject(
    context: &Context<'_>,
    row: &FlowBound,
    network: Option<&String>,
) -> Option<(usize, usize)> {
    let net = context.net;
    if !matches!(row.mode, Mode::Steady(_)) {
        return None;
    }
    let flow = net.flow(&row.flow)?;
    let target = net.flows[flow].raw.targets.iter().position(|t| t.host == row.target)?;
    let copies = &net.flows[flow].raw.copies;
    let is_it = |stream: &Stream| stream.flow == flow && copies.get(stream.copy) == network;
    let stream = context.streams.iter().position(is_it)?;
    Some((stream, target))
}

/// One class in one mode.
struct ClassGraph {
    graph: Graph,
    delays: Vec<Option<i128>>,
    /// By stream and port: the flow of the graph and its visit.
    stops: BTreeMap<(usize, usize), (usize, usize)>,
}

impl ClassGraph {
    fn new(context: &Context<'_>, analysis: &Analysis, mode: Mode, class: u8) -> Self {
        let ports = 0..context.net.ports.len();
        let delay = |port: usize| {
            let claim = context.claim(mode, port, class)?;
            Some(i128::from(claim) + i128::from(variation(context, port)))
        };
        let mut this = Self {
            graph: Graph {
                servers: ports.clone().map(|p| server(context, analysis, p, class)).collect(),
                flows: Vec::new(),
            },
            delays: ports.map(delay).collect(),
            stops: BTreeMap::new(),
        };
        for (index, stream) in context.streams.iter().enumerate() {
            this.add(context, mode, class, index, stream);
        }
        this
    }

    /// Adds a stream that is of the class in the mode; one that is out of the mode, by any of its
    /// contracts, at its source's port only.
    fn add(&mut self, context: &Context<'_>, mode: Mode, class: u8, index: usize, stream: &Stream) {
        let net = context.net;
        let flow = &net.flows[stream.flow];
        let taking_part = levels_of(net, stream, mode);
        let range = taking_part.unwrap_or((0, flow.level));
        let classes: Vec<u8> = flow.contracts[range.0..=range.1].iter().map(|c| c.class).collect();
        if classes.iter().any(|of| *of != class) {
            return;
        }
        let source = contract_envelope(net, &context.scale, stream.flow, range).bucket;
        let is_split = taking_part.is_none() || net.is_babbling();
        self.push(context, index, stream, &source, |depth| depth == 0 || !is_split);
        if let Some(node) = stream.first_switch.filter(|_| is_split && taking_part.is_some()) {
            let enforced = context.enforced[index];
            let enforced =
                enforced_envelope(net, &context.scale, stream, node, enforced, range).bucket;
            self.push(context, index, stream, &enforced, |depth| depth > 0);
        }
    }

    fn push(
        &mut self,
        context: &Context<'_>,
        index: usize,
        stream: &Stream,
        arrival: &Bucket,
        is_in: impl Fn(usize) -> bool,
    ) {
        let mut depths: Vec<usize> = Vec::new();
        let mut visit_of: BTreeMap<usize, usize> = BTreeMap::new();
        let mut visits = Vec::new();
        for (place, at) in stream.tree.iter().enumerate() {
            let depth = at.parent.map_or(0, |parent| depths[parent] + 1);
            depths.push(depth);
            if is_in(depth) {
                let parent = at.parent.and_then(|parent| visit_of.get(&parent).copied());
                visit_of.insert(place, visits.len());
                self.stops.insert((index, at.port), (self.graph.flows.len(), visits.len()));
                visits.push((at.port, parent));
            }
        }
        if visits.is_empty() {
            return;
        }
        let arrival = plain(context, arrival.burst.as_ref(), &arrival.rate);
        if arrival.is_none() {
            // Nothing bounds it, hence nothing where it passes.
            visits.iter().for_each(|(port, _)| self.graph.servers[*port].rate_ubps = 0);
        }
        let arrival = arrival.unwrap_or(Plain { burst_ubit: 0, rate_ubps: 0 });
        self.graph.flows.push(GraphFlow { arrival, visits });
    }

    /// What a proof gives for a stream and target, constants included, picoseconds.
    fn bound(
        &self,
        context: &Context<'_>,
        mode: Mode,
        claim: &Claim<'_>,
        paths: &Paths<'_>,
    ) -> Result<u128, String> {
        let stream = claim.stream;
        let it = &context.streams[stream];
        let places = it.paths.get(claim.target).ok_or("no such target")?;
        let last = places.last().map(|place| it.tree[*place].port).ok_or("no path")?;
        let (flow, _) = *self.stops.get(&(stream, last)).ok_or("the flow is not of that class")?;
        let mut way = Vec::new();
        let mut constant = 0_u128;
        let mut was_visited = true;
        for place in places {
            let port = it.tree[*place].port;
            let info = &context.net.ports[port];
            let is_visited = self.stops.get(&(stream, port)).is_some_and(|stop| stop.0 == flow);
            let latency = match is_visited && was_visited {
                true => context.net.latency_min_ps(info.node),
                false => context.net.latency_max_ps(info.node),
            };
            constant += u128::from(info.propagation_ps) + u128::from(latency);
            if is_visited {
                way.push(port);
            } else {
                let waiting = context.claim_for(mode, it, port).ok_or("a port without a claim")?;
                constant += u128::from(waiting);
            }
            was_visited = is_visited;
        }
        way.reverse();
        let named = |stream, port| self.stops.get(&(stream, port)).copied();
        let most = paths.bound(&claim.proof.renamed(named)?, &way)?;
        let most = u128::try_from(most.max(BigInt::ZERO)).map_err(|_| "beyond any time")?;
        most.checked_add(constant).ok_or_else(|| "beyond any time".to_owned())
    }
}

/// The jitter of the node behind a port.
fn variation(context: &Context<'_>, port: usize) -> u64 {
    context.net.latency_jitter_ps(context.net.ports[port].peer)
}

/// A bucket in 10⁻⁶ bit and 10⁻⁶ bit/s, up; without a burst none that means anything.
fn plain(context: &Context<'_>, burst: Option<&BigInt>, rate: &BigInt) -> Option<Plain> {
    let burst_ubit = i128::try_from(context.scale.to_ubits_up(burst?)).ok()?;
    let rate_ubps = i128::try_from(context.scale.to_ubps_up(rate)).ok()?;
    Some(Plain { burst_ubit, rate_ubps })
}

/// An egress as a class sees it; a rate of zero where something above it has no bound.
fn server(context: &Context<'_>, analysis: &Analysis, port: usize, class: u8) -> GraphServer {
    let info = &context.net.ports[port];
    let load = analysis.loads.get(&port);
    let mut burst = Some(context.blocking(port, load, class));
    let mut rate = BigInt::ZERO;
    for group in load.into_iter().flat_map(|load| load.groups.values()) {
        for (_, sum) in group.classes.range(..class) {
            burst = burst.zip(sum.burst.as_ref()).map(|(a, b)| a + b);
            rate += &sum.rate + &sum.rate_until_swap;
        }
    }
    if let Some(signals) = context.signals(port) {
        burst = burst.map(|burst| burst + signals.burst);
        rate += signals.rate;
    }
    let above = plain(context, burst.as_ref(), &rate);
    let capacity = i128::from(info.rate_bps) * 1_000_000;
    let left = above.as_ref().map_or(0, |above| (capacity - above.rate_ubps).max(0));
    let latency = match (above, left) {
        (Some(above), 1..) => {
            let bits = BigInt::from(above.burst_ubit) * 1_000_000_000_000_u64;
            i128::try_from(ceil_div(bits, left.into())).unwrap_or(i128::MAX / 4)
        }
        _ => 0,
    };
    let after = i128::from(info.tick_ps) + i128::from(variation(context, port));
    GraphServer {
        rate_ubps: left,
        latency_ps: latency.saturating_add(after),
        line: line(context, analysis, port),
        packet_ubit: packet(context, analysis, port, class),
    }
}

/// The largest frame of the class at a port; nothing in the fluid model.
fn packet(context: &Context<'_>, analysis: &Analysis, port: usize, class: u8) -> i128 {
    let frames = analysis.loads.get(&port).map(|load| &load.frames);
    let frame = frames.and_then(|frames| frames.get(&class)).filter(|_| context.is_for_frames());
    let up = frame.map(|frame| context.scale.to_ubits_up(frame));
    up.map_or(0, |up| i128::try_from(up).unwrap_or(i128::MAX / 4))
}

/// Λ of the line behind a port, for the largest frame of any stream that goes on over it.
fn line(context: &Context<'_>, analysis: &Analysis, port: usize) -> Option<Plain> {
    context.net.profile(context.net.ports[port].peer)?;
    let mut line: Option<Plain> = None;
    for (next, load) in &analysis.loads {
        for (key, group) in load.groups.iter().filter(|(key, _)| **key == GroupKey::Link(port)) {
            let shaped = context.shaping(*next, *key, group, 0)?;
            let shaped = plain(context, Some(&shaped.burst), &shaped.rate)?;
            let burst_ubit = line.map_or(0, |line: Plain| line.burst_ubit);
            line = Some(Plain { burst_ubit: burst_ubit.max(shaped.burst_ubit), ..shaped });
        }
    }
    line
}
