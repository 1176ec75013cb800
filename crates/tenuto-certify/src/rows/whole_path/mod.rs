//! Bounds of whole paths in steady modes and raises: the server graph of a class, rebuilt from
//! description and claims, and the linear proofs that the plan carries (theory, "Whole paths").

mod claim;
mod graph;
mod processors;
mod window;

use crate::description::read::{FlowBound, Mode};
use crate::finding::rule;
use crate::kernel::server_graph::Net;
use crate::rows::analysis::{Analysis, processing};
use crate::rows::context::Context;
use crate::rows::ends::Ends;
use crate::streams::levels::levels;
use crate::streams::stream::Stream;
use claim::Claim;
use graph::ClassGraph;
use num_bigint::BigInt;
use processors::ProcessorGraph;
use std::collections::BTreeMap;

/// Bounds that were proved, by mode, stream and target.
pub(crate) type Proved = BTreeMap<(Mode, usize, usize), u128>;

/// Checks every linear proof of the plan's rows.
pub(crate) fn proved(
    context: &Context<'_>,
    analyses: &BTreeMap<Mode, &Analysis>,
    ends: &BTreeMap<Mode, &Ends>,
) -> Proved {
    let mut proved = Proved::new();
    for ((mode, class), claims) in claims(context) {
        let Some(analysis) = analyses.get(&mode) else { continue };
        let Some(class) = class else {
            over_processors(context, mode, claims, &mut proved);
            continue;
        };
        let graph = ClassGraph::new(context, (analysis, ends.get(&mode).copied()), class);
        let paths = Net::new(&graph.graph, (&graph.delays, &[]), context.plan.line_shaping);
        for claim in claims {
            match graph.bound(context, mode, &claim, &paths) {
                Ok(bound) => {
                    proved.insert((mode, claim.stream, claim.target), bound);
                }
                Err(flaw) => context.wrong(rule::LINEAR, claim.place, "a linear proof", flaw),
            }
        }
    }
    proved
}

/// Checks the proofs of a mode whose servers are processors, with ports between them.
fn over_processors(context: &Context<'_>, mode: Mode, claims: Vec<Claim<'_>>, proved: &mut Proved) {
    let graph = match ProcessorGraph::new(context, mode) {
        Ok(graph) => graph,
        Err(why) => {
            let label = mode.label(&context.net.raw.modes);
            return context.wrong(rule::LINEAR, label, "linear proofs", why);
        }
    };
    let paths = Net::new(&graph.graph, (&graph.delays, &[]), context.plan.line_shaping);
    for claim in claims {
        match graph.bound(context, &claim, &paths) {
            Ok(bound) => {
                proved.insert((mode, claim.stream, claim.target), bound);
            }
            Err(flaw) => context.wrong(rule::LINEAR, claim.place, "a linear proof", flaw),
        }
    }
}

/// The proofs of all rows, by mode and class, or none for those over processors.
fn claims<'a>(context: &Context<'a>) -> BTreeMap<(Mode, Option<u8>), Vec<Claim<'a>>> {
    let mut all: BTreeMap<(Mode, Option<u8>), Vec<Claim<'a>>> = BTreeMap::new();
    for row in &context.plan.flows {
        for copy in &row.copies {
            let Some(proof) = &copy.proof else { continue };
            let place = format!("{} to {}", row.flow, row.target);
            let Some((stream, target)) = subject(context, row, copy.network.as_ref()) else {
                context.wrong(rule::LINEAR, place, "a proof", "no such copy, target or mode");
                continue;
            };
            let flow = &context.net.flows[context.streams[stream].flow];
            let Some((low, _)) = levels(row.mode, flow.level) else {
                context.wrong(rule::LINEAR, place, "a proof", "the flow is out of that mode");
                continue;
            };
            let claim = Claim { stream, target, proof: &proof.linear, place };
            // A path over processors ends at one, and those are named behind all ports.
            let root = proof.linear.root();
            let is_of_class = root.is_none_or(|server| server < context.net.ports.len());
            let class = is_of_class.then_some(flow.contracts[low].class);
            all.entry((row.mode, class)).or_default().push(claim);
        }
    }
    all
}

/// The stream and target of a row's copy. A return has the bounds of its two modes.
fn subject(
    context: &Context<'_>,
    row: &FlowBound,
    network: Option<&String>,
) -> Option<(usize, usize)> {
    let net = context.net;
    if matches!(row.mode, Mode::Return { .. }) {
        return None;
    }
    let flow = net.flow(&row.flow)?;
    let target = net.flows[flow].raw.targets.iter().position(|t| t.host == row.target)?;
    let copies = &net.flows[flow].raw.copies;
    let is_it = |stream: &Stream| stream.flow == flow && copies.get(stream.copy) == network;
    let stream = context.streams.iter().position(is_it)?;
    Some((stream, target))
}

impl ClassGraph {
    /// What a proof gives for a stream and target, constants included, picoseconds.
    fn bound(
        &self,
        context: &Context<'_>,
        mode: Mode,
        claim: &Claim<'_>,
        paths: &Net<'_>,
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
                true => {
                    let least = context.net.device(info.node).map_or(0, |device| device.least_ps());
                    context.net.latency_min_ps(info.node).saturating_add(least)
                }
                false => {
                    let most = processing(context, it, *place, mode);
                    let most = most.ok_or("a processor without a claim")?;
                    context.net.latency_max_ps(info.node).saturating_add(most)
                }
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
        let most = paths.delay_of(&claim.renamed(named)?, &way, None)?;
        let most = u128::try_from(most.max(BigInt::ZERO)).map_err(|_| "beyond any time")?;
        most.checked_add(constant).ok_or_else(|| "beyond any time".to_owned())
    }
}
