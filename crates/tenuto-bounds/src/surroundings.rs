//! What is certified about a tree before its linear program: curves where flows enter, delays and
//! busy periods of its nodes.

use crate::curve::{Concave, Convex, Line, Number, busy_period, fifo_delay, picos_up};
use crate::tfa::Delays;
use crate::topology::{Stop, Topology};
use crate::tree::Tree;
use num_bigint::BigInt;
use num_rational::BigRational;
use std::collections::BTreeMap;
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
    pub(crate) bursts: &'a BTreeMap<Stop, Vec<Bucket>>,
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
        for bucket in self.bursts.get(&stop).into_iter().flatten() {
            buckets.push(FineBucket::of(*bucket)?);
        }
        Some(buckets)
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

    /// The line in front of a server, on the side of another.
    pub(crate) fn line(&self, from: usize) -> Option<Bucket> {
        self.graph.servers[from].line.filter(|_| self.line_shaping)
    }
}

/// Finds delay and busy period of every node, leaves first; `None` if one is not bounded.
pub(crate) fn survey(known: &Known<'_>, tree: &mut Tree) -> Option<()> {
    let nodes = tree.nodes.len();
    let mut curves: Vec<BTreeMap<Stop, Concave<BigRational>>> = vec![BTreeMap::new(); nodes];
    for node in (0..nodes).rev() {
        let server = tree.nodes[node].server;
        let mut groups: BTreeMap<usize, Concave<BigRational>> = BTreeMap::new();
        let mut total = Concave::zero();
        for &stop in &known.topology.stops[server] {
            let mut lines: Vec<Line<BigRational>> =
                known.buckets(stop)?.into_iter().map(FineBucket::line).collect();
            if let Some((child, earlier)) = tree.comes_from(known.graph, node, stop) {
                let by = BigRational::of(tree.nodes[child].delay_ps);
                lines.extend(curves[child][&earlier].moved(&by));
            }
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
            curves[node].insert(stop, curve);
        }
        for (from, group) in groups {
            total = total.plus(&group.capped(Line::of(known.line(from)?)));
        }
        let service = Convex::max_of(&known.graph.servers[server].service)?;
        let held = held_back(known, tree, node)?;
        let service_dates = service.lowered(&BigRational::of(held));
        tree.nodes[node].busy_ps = picos_up(&busy_period(&total, &service_dates)?)?.0;
        tree.nodes[node].delay_ps = match known.delays[server] {
            Some(delay) => delay.0,
            None => {
                picos_up(&match known.graph.servers[server].multiplexing {
                    Multiplexing::Fifo => fifo_delay(&total, &service)?,
                    Multiplexing::Arbitrary => busy_period(&total, &service)?,
                })?
                .0
            }
        };
    }
    Some(())
}

/// The part of the service that a packet may hold back at a node: nothing at a root where data
/// counts bit by bit.
pub(crate) fn held_back(known: &Known<'_>, tree: &Tree, node: usize) -> Option<i128> {
    if tree.nodes[node].next.is_none() && !tree.is_root_packetized {
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
