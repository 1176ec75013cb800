//! Which slower lines a stream came over before it reaches a port (theory, "Lines farther back").
//!
//! Walking back from a port, a line counts if it is slower than all that are nearer. Streams that
//! came the same way from such a line on are bounded by it together, so ways have numbers.

use crate::description::net::Net;
use crate::streams::stream::{SlowLine, Stream, TreePort};
use std::collections::BTreeMap;

/// Slower lines that are looked at on one way: there are not as many kinds of Ethernet.
const DEEP_MAX: usize = 8;
/// Slower lines of all streams at all their ports; what comes after so many has none. Fewer lines
/// bound less, which can only refuse.
const LINES_MAX: usize = 2_000_000;

/// The line that bounds a set of streams, in one mode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Upstream {
    pub(crate) line: usize,
    pub(crate) way: usize,
    /// How much the time at a processor behind the line varies; `None` without a bound.
    pub(crate) varying_ps: Option<u64>,
    /// How much the time from the queue behind the line to this one varies; `None` without a bound.
    pub(crate) late_ps: Option<u128>,
}

/// What may be added to a delay from the source on, in all queues and nodes up to a place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Late {
    sum_ps: u128,
    /// Queues and nodes without a bound.
    unbounded: usize,
}

impl Late {
    /// With one queue and the node behind it.
    pub(crate) fn behind(self, more_ps: Option<u128>) -> Self {
        match more_ps.and_then(|more| self.sum_ps.checked_add(more)) {
            Some(sum_ps) => Self { sum_ps, ..self },
            None => Self { unbounded: self.unbounded + 1, ..self },
        }
    }

    /// What of it was added since `before`; `None` without a bound.
    pub(crate) fn since(self, before: Self) -> Option<u128> {
        (self.unbounded == before.unbounded).then(|| self.sum_ps - before.sum_ps)
    }
}

/// Notes the slower lines of every stream at every port of its tree, the nearest first.
pub(crate) fn note(net: &Net<'_>, streams: &mut [Stream]) {
    let processors = (0..net.nodes.len()).filter_map(|node| processor_line_bps(net, node));
    let lines = || net.ports.iter().map(|port| port.rate_bps);
    let (slowest, fastest) = (lines().min(), lines().chain(processors).max());
    let mut ways = Ways::new(net.ports.len(), LINES_MAX);
    let mut left = LINES_MAX;
    for stream in streams {
        stream.slower = match slowest == fastest {
            true => vec![Vec::new(); stream.tree.len()],
            false => slower(net, &stream.tree, &mut ways, &mut left),
        };
    }
}

/// Numbers of ways: of one port its own, of more one for each that a way is longer.
struct Ways {
    next: usize,
    by_step: BTreeMap<(usize, usize), usize>,
    left: usize,
}

impl Ways {
    const fn new(ports: usize, longer_max: usize) -> Self {
        Self { next: ports, by_step: BTreeMap::new(), left: longer_max }
    }

    /// The number of a way with one port more; `None` for a new one if there are too many.
    fn longer(&mut self, way: usize, port: usize) -> Option<usize> {
        if let Some(known) = self.by_step.get(&(way, port)) {
            return Some(*known);
        }
        self.left = self.left.checked_sub(1)?;
        let new = self.next;
        self.next += 1;
        self.by_step.insert((way, port), new);
        Some(new)
    }
}

/// The rate of the line between a node's processor and its ports, if there is one.
fn processor_line_bps(net: &Net<'_>, node: usize) -> Option<u64> {
    Some(net.device(node)?.processor.link?.rate_bps)
}

fn slower(
    net: &Net<'_>,
    tree: &[TreePort],
    ways: &mut Ways,
    left: &mut usize,
) -> Vec<Vec<SlowLine>> {
    let rate = |place: usize| net.ports[tree[place].port].rate_bps;
    // In front of every place: its own line, and every one slower than all that are nearer.
    let mut in_front: Vec<Vec<SlowLine>> = Vec::with_capacity(tree.len());
    let mut slower = Vec::with_capacity(tree.len());
    for here in tree {
        let Some(parent) = here.parent else {
            in_front.push(Vec::new());
            slower.push(Vec::new());
            continue;
        };
        let port = tree[parent].port;
        let mut lines = vec![SlowLine { place: parent, way: port }];
        for line in in_front[parent].iter().filter(|line| rate(line.place) < rate(parent)) {
            let way = ways.longer(line.way, port).filter(|_| lines.len() <= DEEP_MAX);
            let Some(way) = way else { break };
            lines.push(SlowLine { place: line.place, way });
        }
        // The nearest line bounds the group itself.
        let own = match processor_line_bps(net, net.ports[here.port].node) {
            Some(nearest) => {
                lines.iter().filter(|line| rate(line.place) < nearest).copied().collect()
            }
            None => lines[1..].to_vec(),
        };
        let own = if own.len() > *left { Vec::new() } else { own };
        *left -= own.len();
        slower.push(own);
        in_front.push(lines);
    }
    slower
}

#[cfg(test)]
#[path = "../../tests/unit/streams_upstream.rs"]
mod tests;
