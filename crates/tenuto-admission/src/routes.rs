//! Ways through the network: trees of ports from a source to its targets.

use crate::books::Books;
use crate::curves::QUEUES_MAX;
use crate::network::{Network, NodeId, PortId};
use crate::request::Request;
use crate::reservation::Place;
use std::collections::{BTreeMap, VecDeque};

/// Ways tried per request at most.
const WAYS_MAX: usize = 4;
/// A detour is tried while none of its lines is used by more than one part in so many of its rate:
/// beyond that it costs those to come more than it gains (docs/design).
const DETOUR_PARTS: i64 = 2;
/// A detour's part of a processor, which fills long before its rate is used.
const DETOUR_PARTS_OF_PROCESSOR: i64 = 8;
/// How finely use is compared.
const USED_PARTS: i128 = 1_024;

/// One port of a tree, and the place of the port before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The port.
    pub(crate) port: PortId,
    /// The step before it.
    pub(crate) parent: Option<u16>,
    /// Whether a target is behind it.
    pub(crate) is_last: bool,
}

/// A tree of ports, parents first.
pub(crate) type Way = Vec<Step>;

/// The ways known so far, shortest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    known: BTreeMap<NodeId, BTreeMap<Vec<NodeId>, Vec<Way>>>,
}

impl Routes {
    /// How many ways there are for a request; found once, then remembered.
    pub(crate) fn count(&mut self, network: &Network, request: &Request) -> usize {
        let targets = self.known.entry(request.source).or_default();
        if let Some(ways) = targets.get(request.targets.as_slice()) {
            return ways.len();
        }
        let ways = find(network, request.source, &request.targets);
        let count = ways.len();
        targets.insert(request.targets.clone(), ways);
        count
    }

    /// All ways that were counted.
    pub(crate) fn ways(&self, request: &Request) -> &[Way] {
        let targets = self.known.get(&request.source);
        let ways = targets.and_then(|targets| targets.get(request.targets.as_slice()));
        ways.map_or(&[], Vec::as_slice)
    }

    /// One of the ways that were counted.
    pub(crate) fn way(&self, request: &Request, at: usize) -> &[Step] {
        self.ways(request).get(at).map_or(&[], Vec::as_slice)
    }
}

/// The order in which ways are tried: shorter ones first, of equally long ones that whose busiest
/// trunk or processor is used least.
pub(crate) fn least_used_first(books: &Books, ways: &[Way]) -> [usize; WAYS_MAX] {
    let mut order: [usize; WAYS_MAX] = std::array::from_fn(|at| at);
    let mut keys = [(usize::MAX, i64::MAX); WAYS_MAX];
    for (key, way) in keys.iter_mut().zip(ways) {
        let used = |step: &Step| match Place::of(&books.network, step.port) {
            Place::Trunk | Place::Processor => {
                let curves = books.curves(step.port);
                let rate = i128::from(curves.rate_up_to(QUEUES_MAX - 1)) * USED_PARTS;
                i64::try_from(rate / i128::from(curves.rate_bps.max(1))).unwrap_or(i64::MAX)
            }
            Place::Source | Place::Edge => 0,
        };
        *key = (way.len(), way.iter().map(used).max().unwrap_or(0));
    }
    order.sort_by_key(|&at| keys[at]);
    order
}

/// Whether a way has more hops than the `shortest`, and crosses what those to come will want.
pub(crate) fn is_dear(books: &Books, way: &[Step], shortest: usize) -> bool {
    let is_wanted = |step: &Step| {
        let parts = match Place::of(&books.network, step.port) {
            Place::Trunk => DETOUR_PARTS,
            Place::Processor => DETOUR_PARTS_OF_PROCESSOR,
            // Every way has these.
            Place::Source | Place::Edge => return false,
        };
        let curves = books.curves(step.port);
        curves.rate_up_to(QUEUES_MAX - 1) * parts > curves.rate_bps
    };
    way.len() > shortest && way.iter().any(is_wanted)
}

fn find(network: &Network, source: NodeId, targets: &[NodeId]) -> Vec<Way> {
    let Some(shortest) = tree(network, source, targets, None) else { return Vec::new() };
    // Around each trunk of the shortest way once.
    let trunks = shortest.iter().filter(|step| !step.is_last && step.parent.is_some());
    let mut others: Vec<Way> = Vec::new();
    for step in trunks {
        let way = tree(network, source, targets, Some(step.port));
        if let Some(way) = way.filter(|way| *way != shortest && !others.contains(way)) {
            others.push(way);
        }
    }
    others.sort_by_key(Vec::len);
    others.truncate(WAYS_MAX - 1);
    others.insert(0, shortest);
    others
}

/// The tree of shortest paths that avoids `without`; `None` if a target is out of reach.
fn tree(
    network: &Network,
    source: NodeId,
    targets: &[NodeId],
    without: Option<PortId>,
) -> Option<Way> {
    let mut towards: Vec<Option<PortId>> = vec![None; network.nodes().len()];
    let mut waiting = VecDeque::from([source]);
    while let Some(node) = waiting.pop_front() {
        if node != source && !network.nodes()[node.index()].is_switch {
            continue;
        }
        for port in network.leaving(node).iter().filter(|port| Some(**port) != without) {
            let to = network.port(*port).to;
            if to != source && towards[to.index()].is_none() {
                towards[to.index()] = Some(*port);
                waiting.push_back(to);
            }
        }
    }
    let mut way = Way::new();
    for target in targets {
        add_branch(network, source, *target, &towards, &mut way)?;
    }
    Some(way)
}

/// Adds the path to one target where it leaves the tree so far.
fn add_branch(
    network: &Network,
    source: NodeId,
    target: NodeId,
    towards: &[Option<PortId>],
    way: &mut Way,
) -> Option<()> {
    let mut branch = Vec::new();
    let (mut node, mut parent) = (target, None);
    while node != source {
        let port = towards[node.index()]?;
        if let Some(at) = way.iter().position(|step| step.port == port) {
            parent = Some(at);
            break;
        }
        branch.push(port);
        node = network.port(port).from;
    }
    for port in branch.into_iter().rev() {
        way.push(Step { port, parent: parent.and_then(|p| u16::try_from(p).ok()), is_last: false });
        parent = Some(way.len() - 1);
    }
    way[parent?].is_last = true;
    Some(())
}
