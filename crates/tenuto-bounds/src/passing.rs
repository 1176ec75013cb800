//! The program of [`crate::any_order`] solved in one pass from the root to the leaves.
//!
//! Its dual has one weight y per server, by which its service counts; a flow then has to be
//! covered at every server of its way by at least that weight, and a bucket covers from the entry
//! of the flow on, so the cover W never grows along the way. Time must not be left over: at every
//! server y·R ≥ (1 on the way of the flow in question) + Σ r·W. All costs grow with y and W, and
//! the least y of a server depends on servers behind it alone: the least of each is the optimum.
//! Pay multiplexing only once [SZM08] is the choice of one cover for all flows on the way.
//! This holds for one rate-latency per server and one bucket per flow; of several, the fastest
//! and the one with the lowest rate are taken, and lines are not used.

use crate::any_order::Of;
use crate::curve::Number;
use crate::grouping::{Group, Grouping};
use crate::outcome::Method;
use crate::program::{Program, Row};
use crate::proof::Term;
use crate::tree::Tree;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Weights of a tree. Of a delay, in ps per 10⁻¹⁸ bit; of a burst, plain numbers.
struct Weights<N> {
    /// Per node: how much its service counts.
    service: Vec<N>,
    /// Per node and group: how much of what passes is covered.
    cover: Vec<Vec<N>>,
    /// Per node: time that is left over.
    slack: Vec<N>,
}

/// Multipliers of all rows, in ps and 10⁻¹⁸ bit, in floats or exact; `None` if a server is
/// overloaded.
pub(crate) fn multipliers<N: Number>(
    tree: &Tree,
    grouping: &Grouping,
    services: &[Vec<i128>],
    program: &Program,
    of: Of,
    method: Method,
) -> Option<Vec<N>> {
    let fastest: Vec<usize> = services.iter().map(|rates| largest(rates)).collect::<Option<_>>()?;
    let rate = |node: usize| N::of(services[node][fastest[node]]);
    let (_, flow) = grouping.at_root(of.stop())?;
    let mut weights = weights(tree, grouping, flow, of, method, &rate)?;
    if matches!(of, Of::Delay(_)) {
        cover_way(grouping, flow, &mut weights);
    }
    let bucket = slowest_buckets(grouping);
    let groups = by_first_stop(grouping)?;
    let of_row = |row: &Row| -> Option<N> {
        Some(match row.term {
            Term::Service(node, _, which, _) if which == fastest[node] => {
                weights.service[node].clone()
            }
            Term::Left(node, (flow, visit), ..) => {
                let group = groups[&(node, flow, visit)];
                weights.cover[node][group].clone() - weights.service[node].clone()
            }
            Term::Through(node, (f, visit), which, _, last, _) => {
                let group = groups[&(node, f, visit)];
                let of = &grouping.nodes[node][group];
                if of.flow == flow || bucket[node][group] != which {
                    return Some(N::zero());
                }
                weights.dropped(tree, grouping, (node, group), last)
            }
            Term::Causal(node, ..) => weights.slack[node].clone().larger(N::zero()),
            Term::Entered(which, _) => match is_own(grouping, &bucket, flow, which)? {
                true => weights.way(grouping, flow)?,
                false => N::zero(),
            },
            Term::Since(_) => {
                let entry = N::of(own_rate(grouping, &bucket, flow)?);
                let left = N::one() - weights.way(grouping, flow)? * entry;
                // Were it negative, the flow alone would overload a server.
                (left >= N::rounding()).then(|| left.larger(N::zero()))?
            }
            Term::Last(..) => N::one(),
            _ => N::zero(),
        })
    };
    program.rows.iter().map(of_row).collect()
}

/// By node and first stop, flow and visit: which group of the node.
fn by_first_stop(grouping: &Grouping) -> Option<BTreeMap<(usize, usize, usize), usize>> {
    let mut groups = BTreeMap::new();
    for (node, at) in grouping.nodes.iter().enumerate() {
        for (index, group) in at.iter().enumerate() {
            let stop = group.stops.first()?;
            groups.insert((node, stop.flow, stop.visit), index);
        }
    }
    Some(groups)
}

fn largest(rates: &[i128]) -> Option<usize> {
    (0..rates.len()).max_by_key(|&index| rates[index]).filter(|&index| rates[index] > 0)
}

/// Per node and group: the bucket that counts in the long run; of several, the least burst.
fn slowest_buckets(grouping: &Grouping) -> Vec<Vec<usize>> {
    let of = |group: &Group| {
        let buckets = group.buckets.iter().enumerate();
        buckets.min_by_key(|(_, b)| (b.rate, b.burst)).map_or(0, |(index, _)| index)
    };
    grouping.nodes.iter().map(|groups| groups.iter().map(of).collect()).collect()
}

fn is_own(grouping: &Grouping, bucket: &[Vec<usize>], flow: usize, which: usize) -> Option<bool> {
    let (node, group) = grouping.entry(flow)?;
    Some(bucket[node][group] == which)
}

fn own_rate(grouping: &Grouping, bucket: &[Vec<usize>], flow: usize) -> Option<i128> {
    let (node, group) = grouping.entry(flow)?;
    Some(grouping.nodes[node][group].buckets[bucket[node][group]].rate)
}

/// The long-term rate of every group, wherever it is.
fn rates<N: Number>(tree: &Tree, grouping: &Grouping) -> Option<Vec<Vec<N>>> {
    let none = |groups: &Vec<Group>| vec![N::zero(); groups.len()];
    let mut rates: Vec<Vec<N>> = grouping.nodes.iter().map(none).collect();
    for (node, groups) in grouping.nodes.iter().enumerate() {
        for (index, group) in groups.iter().enumerate().filter(|(_, group)| group.enters) {
            let rate = N::of(group.buckets.iter().map(|bucket| bucket.rate).min()?);
            let mut at = Some((node, index));
            while let Some((node, group)) = at {
                rates[node][group] = rate.clone();
                at = tree.nodes[node].next.zip(grouping.nodes[node][group].onward);
            }
        }
    }
    Some(rates)
}

fn weights<N: Number>(
    tree: &Tree,
    grouping: &Grouping,
    flow: usize,
    of: Of,
    method: Method,
    rate: &dyn Fn(usize) -> N,
) -> Option<Weights<N>> {
    let rates = rates(tree, grouping)?;
    let floor = match (method, of) {
        (Method::Pmoo, Of::Delay(_)) => slowest(grouping, flow, &rates, rate)?,
        _ => N::zero(),
    };
    let mut weights: Weights<N> =
        Weights { service: Vec::new(), cover: Vec::new(), slack: Vec::new() };
    let is_delay = matches!(of, Of::Delay(_));
    for (node, rates) in rates.iter().enumerate() {
        let groups = &grouping.nodes[node];
        let behind = |group: &Group| match (group.onward, tree.nodes[node].next) {
            (Some(onward), Some(next)) => weights.cover[next][onward].clone(),
            // The burst itself counts one.
            _ if node == 0 && group.flow == flow && !is_delay => N::one(),
            _ => N::zero(),
        };
        let mut cover: Vec<N> = groups.iter().map(behind).collect();
        let is_on_way = groups.iter().any(|group| group.flow == flow);
        let need = if is_delay && is_on_way { N::one() } else { N::zero() };
        if is_on_way {
            cover.iter_mut().for_each(|cover| *cover = cover.clone().larger(floor.clone()));
        }
        let counts = |index: &usize| !(is_delay && groups[*index].flow == flow);
        let others: Vec<(N, N)> = (0..groups.len())
            .filter(counts)
            .map(|i| (cover[i].clone(), rates[i].clone()))
            .collect();
        let speed = rate(node);
        let service = least(speed.clone(), need.clone(), others)?;
        let mut slack = service.clone() * speed - need;
        for index in 0..groups.len() {
            cover[index] = cover[index].clone().larger(service.clone());
            if counts(&index) {
                slack = slack - cover[index].clone() * rates[index].clone();
            }
        }
        weights.service.push(service);
        weights.cover.push(cover);
        weights.slack.push(slack);
    }
    Some(weights)
}

/// The weight of the slowest residual rate on the way of a flow.
fn slowest<N: Number>(
    grouping: &Grouping,
    flow: usize,
    rates: &[Vec<N>],
    rate: &dyn Fn(usize) -> N,
) -> Option<N> {
    let mut least: Option<N> = None;
    for (node, groups) in grouping.nodes.iter().enumerate() {
        if groups.iter().any(|group| group.flow == flow) {
            let others = groups.iter().zip(&rates[node]).filter(|(group, _)| group.flow != flow);
            let load = others.fold(N::zero(), |sum, (_, rate)| sum + rate.clone());
            let left = rate(node) - load;
            least = Some(least.map_or(left.clone(), |least| least.smaller(left)));
        }
    }
    least.filter(|least| *least > N::zero()).map(|least| N::one() / least)
}

/// The least y with y·speed ≥ need + Σ rate·max(y, cover).
fn least<N: Number>(speed: N, need: N, mut others: Vec<(N, N)>) -> Option<N> {
    others.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
    let product = |(cover, rate): &(N, N)| cover.clone() * rate.clone();
    let mut above = others.iter().map(product).fold(N::zero(), |sum, product| sum + product);
    let mut left = speed;
    for (cover, rate) in others {
        if left <= N::zero() {
            return None;
        }
        let y = (need.clone() + above.clone()) / left.clone();
        if y <= cover {
            return Some(y.larger(N::zero()));
        }
        above = above - cover * rate.clone();
        left = left - rate;
    }
    // Where all that is served is brought by others, the highest of their covers was enough.
    (left > N::zero()).then(|| (need + above.larger(N::zero())) / left)
}

/// The flow in question is covered by the same weight on all its way.
fn cover_way<N: Number>(grouping: &Grouping, flow: usize, weights: &mut Weights<N>) {
    let own = |node: usize| grouping.nodes[node].iter().position(|group| group.flow == flow);
    let places: Vec<(usize, usize)> =
        (0..grouping.nodes.len()).filter_map(|node| Some((node, own(node)?))).collect();
    let services = places.iter().map(|(node, _)| weights.service[*node].clone());
    let most = services.fold(N::zero(), Number::larger);
    for (node, group) in places {
        weights.cover[node][group] = most.clone();
    }
}

impl<N: Number> Weights<N> {
    /// The cover of the flow in question.
    fn way(&self, grouping: &Grouping, flow: usize) -> Option<N> {
        let root = grouping.nodes[0].iter().position(|group| group.flow == flow)?;
        Some(self.cover[0][root].clone())
    }

    /// By how much the cover of a group drops behind a node; all of it at the last one.
    fn dropped(
        &self,
        tree: &Tree,
        grouping: &Grouping,
        (node, group): (usize, usize),
        last: usize,
    ) -> N {
        let (mut node, mut group) = (node, group);
        loop {
            let onward = tree.nodes[node].next.zip(grouping.nodes[node][group].onward);
            if node == last {
                let behind = onward.map_or_else(N::zero, |(next, at)| self.cover[next][at].clone());
                return self.cover[node][group].clone() - behind;
            }
            match onward {
                Some(next) => (node, group) = next,
                None => return N::zero(),
            }
        }
    }
}
