//! Lines farther back: which flows of a group came over which slower line before (theory, "Lines
//! farther back").

use super::visit::Visit;
use crate::input::topology::Topology;
use std::collections::BTreeMap;

/// Slower lines that count on one way, the nearest: there are not as many kinds of Ethernet.
const DEEP_MAX: usize = 8;

/// Flows of a group with the same way from a line on that is slower than every line nearer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpstreamSet {
    /// The line, an egress.
    pub(crate) line: usize,
    /// Ports on the way from the node behind it to this one.
    pub(crate) ports: usize,
    /// The set next around it, by its place, in front of this one; `None` for the group.
    pub(super) around: Option<usize>,
}

/// The sets of one group: routes alone make them. Nothing where no slower line lies behind.
#[derive(Clone, Debug, Default)]
pub(crate) struct UpstreamSets {
    pub(crate) sets: Vec<UpstreamSet>,
    /// Per visit of the group: the innermost set that it is in; empty without sets.
    innermost: Vec<Option<usize>>,
}

impl UpstreamSets {
    /// The sets of some visits of one port that all came over a line of `rate_bps`.
    pub(crate) fn new(
        topology: &Topology<'_>,
        visits: &[Visit],
        group: &[usize],
        rate_bps: u64,
    ) -> Self {
        let rate = |visit: usize| topology.servers[visits[visit].server].rate_bps;
        let back =
            |visit: &usize| std::iter::successors(visits[*visit].parent, |&v| visits[v].parent);
        let mut upstream = Self::default();
        if !group.iter().flat_map(back).any(|behind| rate(behind) < rate_bps) {
            return upstream;
        }
        // Ways are told apart by their lines from here back: each has a number.
        let mut ways: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let mut places: BTreeMap<usize, usize> = BTreeMap::new();
        for visit in group {
            let (mut way, mut innermost, mut slowest, mut deep) = (0, None, rate_bps, 0);
            for (ports, behind) in back(visit).enumerate() {
                let line = visits[behind].server;
                let next = ways.len() + 1;
                way = *ways.entry((way, line)).or_insert(next);
                if rate(behind) >= slowest || deep == DEEP_MAX {
                    continue;
                }
                (slowest, deep) = (rate(behind), deep + 1);
                let set = UpstreamSet { line, ports, around: innermost };
                innermost = Some(*places.entry(way).or_insert_with(|| {
                    upstream.sets.push(set);
                    upstream.sets.len() - 1
                }));
            }
            upstream.innermost.push(innermost);
        }
        upstream
    }

    /// How often any visit is in a set.
    pub(super) fn members(&self) -> usize {
        (0..self.innermost.len()).map(|place| self.around(place).count()).sum()
    }

    /// The innermost set of a visit of the group, by its place there.
    pub(crate) fn innermost(&self, place: usize) -> Option<usize> {
        self.innermost.get(place).copied().flatten()
    }

    /// The sets that it is in, the innermost first.
    pub(super) fn around(&self, place: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.innermost(place), |&set| self.sets[set].around)
    }
}
