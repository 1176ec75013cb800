//! Flows of one way through a tree, put together: what FIFO order says of one it says of their
//! sum, so a linear program needs one unknown for all of them.

use crate::surroundings::{FineBucket, Known, most};
use crate::topology::Stop;
use crate::tree::Tree;
use num_bigint::BigInt;
use std::collections::BTreeMap;

/// Flows that enter and leave a tree together, at one node.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Their visits here.
    pub(crate) stops: Vec<Stop>,
    /// Which flow of the tree: the same at all nodes.
    pub(crate) flow: usize,
    /// The group at the next node, if they go on.
    pub(crate) onward: Option<usize>,
    /// The server that they come from.
    pub(crate) from: Option<usize>,
    /// Whether they enter the tree here; those that may be dropped enter it at every node.
    pub(crate) enters: bool,
    /// Of those that may be dropped: their way as if they were not, the same at all nodes.
    pub(crate) route: Option<Route>,
    /// The sums of their buckets where they enter the tree.
    pub(crate) buckets: Vec<FineBucket>,
}

/// All groups of a tree.
#[derive(Clone, Debug)]
pub(crate) struct Grouping {
    /// Per node.
    pub(crate) nodes: Vec<Vec<Group>>,
    /// Per flow of the tree: how far apart two of its amounts may be, 10⁻¹⁸ bit; `None`: any.
    pub(crate) widths: Vec<Option<BigInt>>,
}

/// From where to where flows go that may be dropped on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Route {
    last: usize,
    entry: usize,
    /// The server before the tree.
    from: Option<usize>,
}

/// The way of a flow through a tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    last: usize,
    entry: usize,
    /// The server before the tree.
    from: Option<usize>,
    /// How many buckets bound it where it enters.
    buckets: usize,
    is_alone: bool,
    route: Option<Route>,
}

/// A flow at a node.
struct Member {
    way: Way,
    stop: Stop,
    first: Stop,
}

impl Grouping {
    /// The group that is one flow by itself at the root, and that flow.
    pub(crate) fn at_root(&self, stop: Stop) -> Option<(usize, usize)> {
        let root = self.nodes[0].iter().position(|group| group.stops == [stop])?;
        Some((root, self.nodes[0][root].flow))
    }

    /// Node and group where a flow enters the tree.
    pub(crate) fn entry(&self, flow: usize) -> Option<(usize, usize)> {
        let enters = |group: &Group| group.flow == flow && group.enters;
        let mut nodes = self.nodes.iter().enumerate();
        nodes.find_map(|(node, groups)| Some((node, groups.iter().position(enters)?)))
    }

    /// Puts flows together, except `alone`; `None` if a number leaves the exact range.
    pub(crate) fn new(known: &Known<'_>, tree: &Tree, alone: Option<usize>) -> Option<Self> {
        let mut grouping = Self { nodes: vec![Vec::new(); tree.nodes.len()], widths: Vec::new() };
        let mut flows: BTreeMap<Way, usize> = BTreeMap::new();
        for node in 0..tree.nodes.len() {
            let mut ways: BTreeMap<Way, Vec<Member>> = BTreeMap::new();
            for &stop in &known.topology.stops[tree.nodes[node].server] {
                let member = member(known, tree, node, stop, alone)?;
                ways.entry(member.way.clone()).or_default().push(member);
            }
            let mut groups = Vec::new();
            for (way, members) in ways {
                let buckets = together(known, &way, &members)?;
                let flow = match flows.get(&way) {
                    Some(&flow) => flow,
                    None => {
                        grouping.widths.push(width(known, tree, &way, &members));
                        flows.insert(way.clone(), grouping.widths.len() - 1);
                        grouping.widths.len() - 1
                    }
                };
                groups.push(grouping.group(known, tree, node, (flow, &way), members, buckets)?);
            }
            // In an order that does not depend on how flows are numbered, so that programs of
            // trees that look alike are equal.
            groups.sort_by_cached_key(|(key, _)| key.clone());
            grouping.nodes[node] = groups.into_iter().map(|(_, group)| group).collect();
        }
        Some(grouping)
    }

    fn group(
        &self,
        known: &Known<'_>,
        tree: &Tree,
        node: usize,
        (flow, way): (usize, &Way),
        members: Vec<Member>,
        buckets: Vec<FineBucket>,
    ) -> Option<(Key, Group)> {
        let first = members.first()?.stop;
        let visits = &known.graph.flows[first.flow].visits;
        let onward = match tree.nodes[node].next.filter(|_| way.last != node) {
            Some(next) => Some(self.nodes[next].iter().position(|group| group.flow == flow)?),
            None => None,
        };
        let key = Key {
            last: way.last,
            entry: way.entry,
            is_alone: way.is_alone,
            curve: buckets.iter().map(|b| (b.burst, b.rate)).collect(),
        };
        let group = Group {
            stops: members.iter().map(|member| member.stop).collect(),
            flow,
            onward,
            from: visits[first.visit].parent.map(|parent| visits[parent].server),
            enters: way.entry == node,
            route: way.route,
            buckets,
        };
        Some((key, group))
    }
}

/// What groups are sorted by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    last: usize,
    entry: usize,
    is_alone: bool,
    curve: Vec<(i128, i128)>,
}

fn member(
    known: &Known<'_>,
    tree: &Tree,
    node: usize,
    stop: Stop,
    alone: Option<usize>,
) -> Option<Member> {
    let (mut entry, mut first) = (node, stop);
    while let Some((child, earlier)) = tree.comes_from(known.graph, entry, first) {
        (entry, first) = (child, earlier);
    }
    let (mut last, mut at) = (node, stop);
    while let Some(onward) = tree.continues(known.topology, last, at) {
        (last, at) = (tree.nodes[last].next?, onward);
    }
    let visits = &known.graph.flows[stop.flow].visits;
    let from = visits[first.visit].parent.map(|parent| visits[parent].server);
    let is_alone = alone == Some(stop.flow);
    if known.graph.flows[stop.flow].is_lossy {
        // What comes to one node is not what comes to the next: each has amounts of its own.
        let route = Some(Route { last, entry, from });
        let from = visits[stop.visit].parent.map(|parent| visits[parent].server);
        let buckets = known.buckets(stop)?.len();
        let way = Way { last: node, entry: node, from, buckets, is_alone, route };
        return Some(Member { way, stop, first: stop });
    }
    let buckets = known.buckets(first)?.len();
    let way = Way { last, entry, from, buckets, is_alone, route: None };
    Some(Member { way, stop, first })
}

fn together(known: &Known<'_>, way: &Way, members: &[Member]) -> Option<Vec<FineBucket>> {
    let mut sums = vec![FineBucket { burst: 0, rate: 0 }; way.buckets];
    for member in members {
        for (sum, bucket) in sums.iter_mut().zip(known.buckets(member.first)?) {
            sum.burst = sum.burst.checked_add(bucket.burst)?;
            sum.rate = sum.rate.checked_add(bucket.rate)?;
        }
    }
    Some(sums)
}

fn width(known: &Known<'_>, tree: &Tree, way: &Way, members: &[Member]) -> Option<BigInt> {
    let depth = tree.depth(way.entry)?;
    let mut sum = BigInt::ZERO;
    for member in members {
        sum += most(&known.buckets(member.first)?, depth)?;
    }
    Some(sum)
}
