//! One class in one mode or raise as a server graph.
//!
//! A server of the graph is an egress port as one class sees it, with the variation of the node
//! behind it in its service; what is constant is added at the end. Behind a meter or monitor a flow
//! starts anew with what is enforced; what a raise ends does so behind its source's port, for it is
//! dropped from there on, anywhere on its way.

use super::window::windows;
use crate::kernel::exact::{Line, ceil_div};
use crate::kernel::server_graph::{
    Bucket as Plain, Flow as GraphFlow, Graph, RateLatency as Latency, Server, Visit,
};
use crate::rows::analysis::{Analysis, Load};
use crate::rows::context::Context;
use crate::rows::ends::Ends;
use crate::rows::group::GroupKey;
use crate::streams::envelopes::{Bucket, contract_envelope, is_bounded_anew};
use crate::streams::levels::{host_levels, is_guaranteed, levels_of};
use crate::streams::stream::Stream;
use num_bigint::BigInt;
use num_traits::Zero;
use std::collections::BTreeMap;

/// One class in one mode.
pub(super) struct ClassGraph {
    pub(super) graph: Graph,
    pub(super) delays: Vec<Option<i128>>,
    /// By stream and port: the flow of the graph and its visit.
    pub(super) stops: BTreeMap<(usize, usize), (usize, usize)>,
}

/// What is the same for every flow of the graph.
struct Scene<'c, 'a> {
    context: &'c Context<'a>,
    analysis: &'c Analysis,
    class: u8,
}

impl ClassGraph {
    pub(super) fn new(
        context: &Context<'_>,
        (analysis, ends): (&Analysis, Option<&Ends>),
        class: u8,
    ) -> Self {
        let scene = Scene { context, analysis, class };
        let ports = 0..context.net.ports.len();
        let delay = |port: usize| {
            let claim = context.claim(analysis.mode, port, class)?;
            Some(i128::from(claim) + i128::from(scene.variation(port)?))
        };
        let mut this = Self {
            graph: Graph::default(),
            delays: ports.clone().map(delay).collect(),
            stops: BTreeMap::new(),
        };
        let mut unbounded: Vec<usize> = Vec::new();
        for (index, stream) in context.streams.iter().enumerate() {
            this.add(&scene, index, stream, &mut unbounded);
        }
        let flows = &this.graph.flows;
        let until = ends.map(|ends| windows(context, (analysis.mode, ends), class, flows));
        let until = until.unwrap_or_default();
        for flow in this.graph.flows.iter_mut().filter(|flow| flow.is_lossy) {
            let ended = ended(flow, &until);
            flow.arrival.extend(ended);
        }
        this.graph.servers = ports.map(|port| scene.server(port, until.get(&port))).collect();
        for port in unbounded {
            this.graph.servers[port].service = vec![NOTHING];
        }
        this
    }

    /// Adds a stream that is of the class in the mode: where it is forwarded for as long as that
    /// lasts, apart from there where it may end, and else, by any of its contracts, at its source's
    /// port only.
    fn add(
        &mut self,
        scene: &Scene<'_, '_>,
        index: usize,
        stream: &Stream,
        unbounded: &mut Vec<usize>,
    ) {
        let (context, mode) = (scene.context, scene.analysis.mode);
        let net = context.net;
        let flow = &net.flows[stream.flow];
        let (forwarded, lasts) = (levels_of(net, stream, mode), is_guaranteed(mode, flow.level));
        let range = host_levels(flow.level);
        if flow.contracts[range.0..=range.1].iter().any(|contract| contract.class != scene.class) {
            return;
        }
        let enforced = context.enforced[index];
        let is_split =
            !lasts || forwarded.is_none_or(|it| is_bounded_anew(net, stream, enforced, it));
        let source = contract_envelope(net, &context.scale, stream.flow, range).bucket;
        let mut parts = vec![(source, false)];
        if forwarded.is_some() && is_split {
            parts.extend(scene.behind_source(index, stream).map(|bucket| (bucket, true)));
        }
        for (bucket, is_behind) in parts {
            let is_in = |place: usize| !is_split || (place > 0) == is_behind;
            let visits = visits(stream, is_in);
            match plain(context, bucket.burst.as_ref(), &bucket.rate) {
                Some(arrival) if !visits.is_empty() => {
                    self.push(index, arrival, visits, is_behind && !lasts);
                }
                Some(_) => {}
                // Nothing bounds it, hence nothing where it passes.
                None => unbounded.extend(visits.iter().map(|visit| visit.server)),
            }
        }
    }

    fn push(&mut self, stream: usize, arrival: Plain, visits: Vec<Visit>, is_lossy: bool) {
        for (visit, Visit { server: port, .. }) in visits.iter().enumerate() {
            self.stops.insert((stream, *port), (self.graph.flows.len(), visit));
        }
        self.graph.flows.push(GraphFlow::new(arrival, visits, is_lossy));
    }
}

/// All that a flow that ends brings while a proof looks, if that is known of every port where it
/// begins.
fn ended(flow: &GraphFlow, until: &BTreeMap<usize, BigInt>) -> Option<Plain> {
    let mut longest = BigInt::zero();
    for first in flow.visits.iter().filter(|visit| visit.parent.is_none()) {
        longest = longest.max(until.get(&first.server)?.clone());
    }
    let bucket = flow.arrival.first()?;
    let more = ceil_div(longest * bucket.rate_ubps, 1_000_000_000_000_u64.into());
    let burst_ubit = i128::try_from(more + bucket.burst_ubit).ok()?;
    Some(Plain { burst_ubit, rate_ubps: 0 })
}

/// The ports of a stream's tree at these places, and which of them is before each.
fn visits(stream: &Stream, is_in: impl Fn(usize) -> bool) -> Vec<Visit> {
    let mut visit_of: BTreeMap<usize, usize> = BTreeMap::new();
    let mut visits = Vec::new();
    for (place, at) in stream.tree.iter().enumerate().filter(|(place, _)| is_in(*place)) {
        let parent = at.parent.and_then(|parent| visit_of.get(&parent).copied());
        visit_of.insert(place, visits.len());
        visits.push(Visit { server: at.port, parent });
    }
    visits
}

/// A service that serves nothing.
const NOTHING: Latency = Latency { rate_ubps: 0, latency_ps: 0 };

impl Scene<'_, '_> {
    /// How much the node behind a port varies, its processor included; `None` without a claim.
    fn variation(&self, port: usize) -> Option<u64> {
        let jitter = self.context.net.latency_jitter_ps(self.context.net.ports[port].peer);
        self.context.varying_ps(self.analysis.mode, port)?.checked_add(jitter)
    }

    /// What comes of a stream to the queues behind its source's port.
    fn behind_source(&self, index: usize, stream: &Stream) -> Option<Bucket> {
        let place = stream.tree.iter().position(|place| place.parent == Some(0))?;
        self.analysis.buckets.get(&index)?.get(place).cloned()
    }

    fn load(&self, port: usize) -> Option<&Load> {
        self.analysis.loads.get(&port)
    }

    /// What a stream shares its way to a port with.
    fn line_of(&self, port: usize, before: usize) -> GroupKey {
        let device = self.context.net.device(self.context.net.ports[port].node);
        match device.is_some_and(|device| device.processor.link.is_some()) {
            true => GroupKey::Processor,
            false => GroupKey::Link(before),
        }
    }

    /// An egress as the class sees it; a rate of zero where something above it has no bound.
    fn server(&self, port: usize, until: Option<&BigInt>) -> Server {
        let context = self.context;
        let load = self.load(port);
        let mut burst = Some(context.blocking(port, load, self.class));
        let (mut rate, mut rate_until_swap) = (BigInt::zero(), BigInt::zero());
        for group in load.into_iter().flat_map(|load| load.groups.values()) {
            for (_, sum) in group.sums().filter(|(class, _)| *class < self.class) {
                burst = burst.zip(sum.burst.as_ref()).map(|(a, b)| a + b);
                rate += &sum.rate;
                rate_until_swap += &sum.rate_until_swap;
            }
        }
        if let Some(signals) = context.signals(port) {
            burst = burst.map(|burst| burst + signals.burst);
            rate += signals.rate;
        }
        let mut service = Vec::new();
        if let Some(burst) = burst {
            let with_all = Line::new(burst.clone(), &rate + &rate_until_swap);
            service.extend(self.left_over(port, &with_all));
            if let Some(until) = until.filter(|_| !rate_until_swap.is_zero()) {
                let ended = Line::new(burst + &rate_until_swap * until, rate);
                service.extend(self.left_over(port, &ended));
            }
        }
        if service.is_empty() {
            service.push(NOTHING);
        }
        let packet_ubit = self.held_back(port, &service);
        Server::fifo(service, self.line(port), packet_ubit)
    }

    /// What a frame holds back of a service: once begun, it has left a frame at the rate of the
    /// line later, in which the service is due that share of it that it has of the line.
    fn held_back(&self, port: usize, service: &[Latency]) -> i128 {
        let frame = self.packet(port);
        let fastest = service.iter().map(|piece| piece.rate_ubps).max().unwrap_or(0);
        let line = BigInt::from(self.context.net.ports[port].rate_bps) * 1_000_000;
        let due = ceil_div(BigInt::from(frame) * fastest, line);
        i128::try_from(due).map_or(frame, |due| due.min(frame))
    }

    /// What is left of a port beside `above`; `None` if that is nothing.
    fn left_over(&self, port: usize, above: &Line) -> Option<Latency> {
        let info = &self.context.net.ports[port];
        let above = plain(self.context, Some(&above.burst), &above.rate)?;
        let rate_ubps = i128::from(info.rate_bps) * 1_000_000 - above.rate_ubps;
        if rate_ubps <= 0 {
            return None;
        }
        let bits = BigInt::from(above.burst_ubit) * 1_000_000_000_000_u64;
        let wait = i128::try_from(ceil_div(bits, rate_ubps.into())).ok()?;
        let after = i128::from(info.tick_ps) + i128::from(self.variation(port)?);
        Some(Latency { rate_ubps, latency_ps: wait.checked_add(after)? })
    }

    /// The largest frame of the class at a port; nothing in the fluid model.
    fn packet(&self, port: usize) -> i128 {
        let frames = self.load(port).map(|load| &load.frames);
        let frame = frames.and_then(|frames| frames.get(&self.class));
        let up = frame.filter(|_| self.context.is_for_frames());
        let up = up.map(|frame| self.context.scale.to_ubits_up(frame));
        up.map_or(0, |up| i128::try_from(up).unwrap_or(i128::MAX / 4))
    }

    /// Λ of the line behind a port, for the largest frame of any stream that goes on over it.
    fn line(&self, port: usize) -> Option<Plain> {
        let context = self.context;
        let node = context.net.ports[port].peer;
        context.net.profile(node)?;
        let mut widest: Option<Plain> = None;
        let follows = |next: usize| {
            let mut trees = context.streams.iter().map(|stream| &stream.tree);
            trees.any(|tree| {
                let mut here = tree.iter().filter(|place| place.port == next);
                here.any(|place| place.parent.is_some_and(|before| tree[before].port == port))
            })
        };
        let behind = |next: &usize| context.net.ports[*next].node == node && follows(*next);
        for (next, load) in self.analysis.loads.iter().filter(|(next, _)| behind(next)) {
            let key = self.line_of(*next, port);
            let Some(group) = load.groups.get(&key) else { continue };
            let shaped = context.shaping((*next, key), group, u8::MAX, 0)?;
            let shaped = plain(context, Some(&shaped.burst), &shaped.rate)?;
            let burst_ubit = widest.map_or(0, |widest| widest.burst_ubit).max(shaped.burst_ubit);
            widest = Some(Plain { burst_ubit, ..shaped });
        }
        widest
    }
}

/// A bucket in 10⁻⁶ bit and 10⁻⁶ bit/s, up; without a burst none that means anything.
fn plain(context: &Context<'_>, burst: Option<&BigInt>, rate: &BigInt) -> Option<Plain> {
    let burst_ubit = i128::try_from(context.scale.to_ubits_up(burst?)).ok()?;
    let rate_ubps = i128::try_from(context.scale.to_ubps_up(rate)).ok()?;
    Some(Plain { burst_ubit, rate_ubps })
}
