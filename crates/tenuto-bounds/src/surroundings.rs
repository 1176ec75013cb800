//! What is certified about a tree before its linear program: curves where flows enter, delays and
//! busy periods of its nodes.

use crate::curve::{Concave, Convex, Line, Number, busy_period, fifo_delay, picos_up};
use crate::tfa::Delays;
use crate::topology::{Stop, Topology};
use crate::tree::Tree;
use num_bigint::BigInt;
use num_rational::BigRational;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use tenuto_calculus::{Bucket, Multiplexing, ServerGraph};

/// A bucket in units of 10⁻¹⁸ bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FineBucket {
    pub(crate) burst: i128,
    pub(crate) rate: i128,
}

impl FineBucket {
    pub(crate) fn of(bucket: Bucket) -> Option<Self> {
        let burst = bucket.burst_ubit.checked_mul(crate::curve::FINE)?;
        Some(Self { burst, rate: bucket.rate_ubps })
    }

    fn grown(self, by: i128) -> Option<Self> {
        let burst = self.burst.checked_add(self.rate.checked_mul(by)?)?;
        Some(Self { burst, ..self })
    }

    pub(crate) fn line(self) -> Line<BigRational> {
        Line { burst: BigRational::of(self.burst), rate: BigRational::of(self.rate) }
    }
}

/// What holds in a whole graph: total flow analysis and bursts that were proved.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) graph: &'a ServerGraph,
    pub(crate) topology: &'a Topology,
    pub(crate) line_shaping: bool,
    pub(crate) delays: &'a Delays,
    pub(crate) bursts: &'a Bursts,
}

/// Bursts inside the network that were proved, and what follows from them server by server.
#[derive(Debug)]
pub(crate) struct Bursts {
    by_stop: BTreeMap<Stop, Vec<Bucket>>,
    /// Per server, once it was asked for.
    alone: Vec<OnceLock<Option<Alone>>>,
}

/// A server by itself, whatever else a tree knows.
#[derive(Clone, Copy, Debug)]
struct Alone {
    delay_ps: Option<i128>,
    /// Busy period where data counts bit by bit, and where it leaves in whole packets.
    busy_ps: [Option<i128>; 2],
}

impl Bursts {
    pub(crate) fn new(by_stop: BTreeMap<Stop, Vec<Bucket>>, servers: usize) -> Self {
        Self { by_stop, alone: (0..servers).map(|_| OnceLock::new()).collect() }
    }

    pub(crate) fn of(&self, stop: Stop) -> &[Bucket] {
        self.by_stop.get(&stop).map_or(&[], Vec::as_slice)
    }
}

impl Known<'_> {
    /// Buckets that bound a flow where it arrives at a server: those of its source, grown by the
    /// delays before, then the proved ones.
    pub(crate) fn buckets(&self, stop: Stop) -> Option<Vec<FineBucket>> {
        let flow = &self.graph.flows[stop.flow];
        let mut buckets = Vec::new();
        if let Some(by) = self.delay_before(stop) {
            for bucket in &flow.arrival {
                buckets.push(FineBucket::of(*bucket)?.grown(by)?);
            }
        }
        for bucket in self.bursts.of(stop) {
            buckets.push(FineBucket::of(*bucket)?);
        }
        Some(buckets)
    }

    fn has_bucket(&self, stop: Stop) -> bool {
        self.buckets(stop).is_some_and(|buckets| !buckets.is_empty())
    }

    fn delay_before(&self, stop: Stop) -> Option<i128> {
        let visits = &self.graph.flows[stop.flow].visits;
        let (mut at, mut sum) = (visits[stop.visit].parent, 0_i128);
        while let Some(visit) = at {
            sum = sum.checked_add(self.delays[visits[visit].server]?.0)?;
            at = visits[visit].parent;
        }
        Some(sum)
    }

    /// A server from certified buckets alone; `None` if a flow there has none, or without a bound.
    fn alone(&self, server: usize) -> Option<Alone> {
        *self.bursts.alone[server].get_or_init(|| {
            let (total, _) = arrivals(self, server, &|_| Vec::new())?;
            let service = Convex::max_of(&self.graph.servers[server].service)?;
            let packet = self.graph.servers[server].packet_ubit.checked_mul(crate::curve::FINE)?;
            let busy = |held: i128| busy_ps(&total, &service.lowered(&BigRational::of(held)));
            let delay_ps = least_delay(self, server, &total, &service);
            Some(Alone { delay_ps, busy_ps: [busy(0), busy(packet)] })
        })
    }

    /// The line in front of a server, on the side of another.
    pub(crate) fn line(&self, from: usize) -> Option<Bucket> {
        self.graph.servers[from].line.filter(|_| self.line_shaping)
    }
}

/// Finds delay and busy period of every node, as far as something bounds them; `None` if a server
/// is overloaded, or nothing bounds what enters the tree.
///
/// Where every flow has a bucket at every server, the servers by themselves are enough: what a tree
/// adds, certified delays and bursts have said already.
pub(crate) fn survey(known: &Known<'_>, tree: &mut Tree) -> Option<()> {
    if tree.nodes.iter().any(|node| is_overloaded(known, node.server)) {
        return None;
    }
    let alone: Option<Vec<Alone>> =
        tree.nodes.iter().map(|node| known.alone(node.server)).collect();
    let Some(alone) = alone else { return survey_as_one(known, tree) };
    for (index, found) in alone.into_iter().enumerate() {
        tree.nodes[index].delay_ps = found.delay_ps;
        tree.nodes[index].busy_ps = found.busy_ps[usize::from(tree.is_packetized(index))];
    }
    Some(())
}

/// Whether flows bring more to a server than it serves in the long term, or than its lines carry.
fn is_overloaded(known: &Known<'_>, server: usize) -> bool {
    if known.line_shaping && known.topology.is_choked[server] {
        return true;
    }
    let rate = |stop: &Stop| {
        let buckets = known.graph.flows[stop.flow].arrival.iter();
        buckets.map(|bucket| bucket.rate_ubps).min().unwrap_or(0)
    };
    // What nothing bounds has the largest rate that there is.
    let load = known.topology.stops[server].iter().map(rate).fold(0, i128::saturating_add);
    let service = known.graph.servers[server].service.iter();
    load > service.map(|piece| piece.rate_ubps).max().unwrap_or(0)
}

/// As [`survey`], leaves first: what enters a branch bounds what comes out of it.
fn survey_as_one(known: &Known<'_>, tree: &mut Tree) -> Option<()> {
    let nodes = tree.nodes.len();
    let mut curves: Vec<BTreeMap<Stop, Exact>> = vec![BTreeMap::new(); nodes];
    for node in (0..nodes).rev() {
        let server = tree.nodes[node].server;
        let before = |stop: Stop| tree.comes_from(known.graph, node, stop);
        let more = |stop: Stop| {
            let (child, earlier) = before(stop)?;
            let delay = tree.nodes[child].delay_ps?;
            Some(curves[child].get(&earlier)?.moved(&BigRational::of(delay)))
        };
        let service = Convex::max_of(&known.graph.servers[server].service)?;
        let Some((total, here)) = arrivals(known, server, &|stop| more(stop).unwrap_or_default())
        else {
            // Behind a server that nothing bounds: no more is known of those that come from there.
            let is_bounded = |stop: &Stop| before(*stop).is_some() || known.has_bucket(*stop);
            if !known.topology.stops[server].iter().all(is_bounded) {
                return None;
            }
            continue;
        };
        curves[node] = here;
        let held = held_back(known, tree, node)?;
        tree.nodes[node].busy_ps = busy_ps(&total, &service.lowered(&BigRational::of(held)));
        tree.nodes[node].delay_ps = least_delay(known, server, &total, &service);
    }
    Some(())
}

fn busy_ps(total: &Exact, service: &Convex<BigRational>) -> Option<i128> {
    picos_up(&busy_period(total, service)?).map(|busy| busy.0)
}

/// The certified delay of a server, or what follows from curves there if that is less: bursts that
/// were proved say more than those that total flow analysis grew.
fn least_delay(
    known: &Known<'_>,
    server: usize,
    total: &Exact,
    service: &Convex<BigRational>,
) -> Option<i128> {
    let by_curves = delay(known, server, total, service).as_ref().and_then(picos_up);
    let both = [known.delays[server], by_curves];
    both.into_iter().flatten().map(|delay| delay.0).min()
}

/// The largest delay at a server, by its order of service.
fn delay(
    known: &Known<'_>,
    server: usize,
    total: &Exact,
    service: &Convex<BigRational>,
) -> Option<BigRational> {
    match known.graph.servers[server].multiplexing {
        Multiplexing::Fifo => fifo_delay(total, service),
        Multiplexing::Arbitrary => busy_period(total, service),
    }
}

type Exact = Concave<BigRational>;

/// All arrivals at a server and those of each flow, from certified buckets and `more`.
fn arrivals(
    known: &Known<'_>,
    server: usize,
    more: &dyn Fn(Stop) -> Vec<Line<BigRational>>,
) -> Option<(Exact, BTreeMap<Stop, Exact>)> {
    let mut curves = BTreeMap::new();
    let mut groups: BTreeMap<usize, Concave<BigRational>> = BTreeMap::new();
    let mut total = Concave::zero();
    for &stop in &known.topology.stops[server] {
        let mut lines: Vec<Line<BigRational>> =
            known.buckets(stop)?.into_iter().map(FineBucket::line).collect();
        lines.extend(more(stop));
        if lines.is_empty() {
            return None;
        }
        let curve = Concave::min_of(lines);
        let visits = &known.graph.flows[stop.flow].visits;
        let from = visits[stop.visit].parent.map(|parent| visits[parent].server);
        match from.filter(|&from| known.line(from).is_some()) {
            Some(from) => {
                let group = groups.entry(from).or_insert_with(Concave::zero);
                *group = group.plus(&curve);
            }
            None => total = total.plus(&curve),
        }
        curves.insert(stop, curve);
    }
    for (from, group) in groups {
        total = total.plus(&group.capped(Line::of(known.line(from)?)));
    }
    Some((total, curves))
}

/// The part of the service that a packet may hold back at a node: nothing at a root where data
/// counts bit by bit.
pub(crate) fn held_back(known: &Known<'_>, tree: &Tree, node: usize) -> Option<i128> {
    if !tree.is_packetized(node) {
        return Some(0);
    }
    let packet = known.graph.servers[tree.nodes[node].server].packet_ubit;
    packet.checked_mul(crate::curve::FINE)
}

/// How much a flow brings within `span` at most, 10⁻¹⁸ bit.
pub(crate) fn most(buckets: &[FineBucket], span: i128) -> Option<BigInt> {
    let line = |b: &FineBucket| BigInt::from(b.burst) + BigInt::from(b.rate) * span;
    buckets.iter().map(line).min()
}
