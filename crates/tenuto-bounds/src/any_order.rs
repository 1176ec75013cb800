//! The linear program of a tree whose servers may serve in any order [BJT10].
//!
//! One service date per node: what had come to it by then has left it by the date behind, and
//! the service curve counts from there on. Unknowns are these dates, and what of each flow had
//! come to each node on its way by the date there. No amounts at other dates are needed: a flow
//! that sends all it may from the first date on satisfies every bucket.

use crate::grouping::{Group, Grouping};
use crate::natural::Natural;
use crate::program::{Program, Row, Unknown};
use crate::proof::Term;
use crate::surroundings::{FineBucket, Known, held_back, most};
use crate::topology::Stop;
use crate::tree::Tree;
use std::collections::BTreeSet;

/// What is to be bounded of one flow, that with this visit at the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// Its delay from its source on.
    Delay(Stop),
    /// Its burst behind the root.
    Burst(Stop),
}

impl Of {
    pub(crate) const fn stop(self) -> Stop {
        match self {
            Self::Delay(stop) | Self::Burst(stop) => stop,
        }
    }
}

struct Builder<'a> {
    known: &'a Known<'a>,
    tree: &'a Tree,
    grouping: &'a Grouping,
    /// Per node: its date.
    times: Vec<usize>,
    /// Per node and group: what had come by the date.
    came: Vec<Vec<usize>>,
    /// Per node and group: what has left by the date behind.
    left: Vec<Vec<usize>>,
    has_reference: Vec<bool>,
    program: Program,
}

/// The program of a tree with service dates; `None` if a number leaves the exact range.
pub(crate) fn program(
    known: &Known<'_>,
    tree: &Tree,
    grouping: &Grouping,
    of: Of,
) -> Option<Program> {
    let nodes = tree.nodes.len();
    let mut builder = Builder {
        known,
        tree,
        grouping,
        times: Vec::new(),
        came: vec![Vec::new(); nodes],
        left: vec![Vec::new(); nodes],
        has_reference: vec![false; grouping.widths.len()],
        program: Program { widths: grouping.widths.clone(), ..Program::default() },
    };
    for node in 0..nodes {
        builder.unknowns(node)?;
    }
    for node in 0..nodes {
        builder.date(node)?;
        builder.passing(node)?;
        builder.lines(node)?;
        builder.service(node)?;
    }
    builder.objective(of)?;
    Some(builder.program)
}

impl Builder<'_> {
    /// A number for a new unknown.
    fn unknown(&mut self, unknown: Unknown) -> usize {
        self.program.unknowns.push(unknown);
        self.program.unknowns.len() - 1
    }

    fn amount(&mut self, flow: usize) -> usize {
        let is_reference = !self.has_reference[flow];
        self.has_reference[flow] = true;
        self.unknown(Unknown::Amount { flow, is_reference })
    }

    /// Date and amounts of a node; those of the next one are there already.
    fn unknowns(&mut self, node: usize) -> Option<()> {
        let mut reach_ps = self.tree.nodes[node].busy_ps;
        if let Some(next) = self.tree.nodes[node].next {
            let both = reach_ps.zip(self.reach(next));
            reach_ps = both.and_then(|(here, behind)| here.checked_add(behind));
        }
        let time = self.unknown(Unknown::Time { reach_ps });
        self.times.push(time);
        let grouping = self.grouping;
        for group in &grouping.nodes[node] {
            let came = self.amount(group.flow);
            self.came[node].push(came);
            let left = match (group.onward, self.tree.nodes[node].next) {
                (Some(onward), Some(next)) => self.came[next][onward],
                _ => self.amount(group.flow),
            };
            self.left[node].push(left);
        }
        Some(())
    }

    fn reach(&self, node: usize) -> Option<i128> {
        match self.program.unknowns[self.times[node]] {
            Unknown::Time { reach_ps } => reach_ps,
            Unknown::Amount { .. } => None,
        }
    }

    fn push(&mut self, term: Term, row: Vec<(Option<usize>, i128)>, most: i128) {
        let coefficients = row.into_iter().filter_map(|(u, c)| Some((u?, c))).collect();
        self.program.rows.push(Row { term, stops: Vec::new(), coefficients, most });
    }

    /// The date at the exit of a node; `None` at the root, where time is zero.
    fn exit(&self, node: usize) -> Option<usize> {
        self.tree.nodes[node].next.map(|next| self.times[next])
    }

    fn date(&mut self, node: usize) -> Option<()> {
        let row = vec![(Some(self.times[node]), 1), (self.exit(node), -1)];
        self.push(Term::Causal(node, 0, Natural::ZERO), row, 0);
        Some(())
    }

    /// What came has left; buckets where flows enter the tree.
    fn passing(&mut self, node: usize) -> Option<()> {
        let grouping = self.grouping;
        for (index, group) in grouping.nodes[node].iter().enumerate() {
            let stop = group.stops.first()?;
            let name = (stop.flow, stop.visit);
            let came = self.came[node][index];
            let row = vec![(Some(came), 1), (Some(self.left[node][index]), -1)];
            self.push(Term::Left(node, name, 0, Natural::ZERO), row, 0);
            if !group.enters {
                continue;
            }
            for (last, at) in self.way(node, index) {
                for (which, bucket) in group.buckets.iter().enumerate() {
                    let amounts = [(self.left[last][at], came)];
                    let row = self.bounded(node, last, &amounts, *bucket);
                    let term = Term::Through(node, name, which, 0, last, Natural::ZERO);
                    self.push(term, row, bucket.burst);
                }
            }
        }
        Some(())
    }

    /// The nodes that a group passes from one on, with its index there.
    fn way(&self, node: usize, group: usize) -> Vec<(usize, usize)> {
        let mut way = vec![(node, group)];
        let (mut node, mut group) = (node, group);
        while let (Some(next), Some(onward)) =
            (self.tree.nodes[node].next, self.grouping.nodes[node][group].onward)
        {
            (node, group) = (next, onward);
            way.push((node, group));
        }
        way
    }

    /// Σ (left − came) ≤ burst + rate·(t at the exit of `last` − t at the date of `node`).
    fn bounded(
        &self,
        node: usize,
        last: usize,
        amounts: &[(usize, usize)],
        bucket: FineBucket,
    ) -> Vec<(Option<usize>, i128)> {
        let mut row = vec![(Some(self.times[node]), bucket.rate), (self.exit(last), -bucket.rate)];
        for &(left, came) in amounts {
            row.extend([(Some(left), 1), (Some(came), -1)]);
        }
        row
    }

    fn lines(&mut self, node: usize) -> Option<()> {
        let groups = &self.grouping.nodes[node];
        let sources: BTreeSet<usize> = groups.iter().filter_map(|group| group.from).collect();
        for from in sources {
            let name = |last| Term::Into(node, from, 0, last, Natural::ZERO);
            self.line(node, from, &|group| group.from == Some(from), &name)?;
        }
        // A line as fast as the service in front of it says no more of what is served.
        let server = self.tree.nodes[node].server;
        let rates = self.known.graph.servers[server].service.iter().map(|piece| piece.rate_ubps);
        let fastest = rates.max()?;
        if self.known.line(server).is_some_and(|line| line.rate_ubps < fastest) {
            let name = |last| Term::Over(node, 0, last, Natural::ZERO);
            self.line(node, server, &|group| group.onward.is_some(), &name)?;
        }
        Some(())
    }

    /// What the line of a server says of some groups at a node, up to the exit of each node that one
    /// of them passes.
    fn line(
        &mut self,
        node: usize,
        from: usize,
        is_behind: &dyn Fn(&Group) -> bool,
        name: &dyn Fn(usize) -> Term,
    ) -> Option<()> {
        let Some(line) = self.known.line(from) else { return Some(()) };
        let bucket = FineBucket::of(line)?;
        for (last, amounts) in self.together(node, is_behind) {
            let row = self.bounded(node, last, &amounts, bucket);
            self.push(name(last), row, bucket.burst);
        }
        Some(())
    }

    /// What has left and what had come here of some groups, by the node up to which it counts; groups
    /// that end before count with what left the last of theirs.
    fn together(
        &self,
        node: usize,
        is_behind: &dyn Fn(&Group) -> bool,
    ) -> Vec<(usize, Vec<(usize, usize)>)> {
        let groups = self.grouping.nodes[node].iter().enumerate();
        let ways: Vec<(usize, Vec<(usize, usize)>)> = groups
            .filter(|(_, group)| is_behind(group))
            .map(|(index, _)| (self.came[node][index], self.way(node, index)))
            .collect();
        let longest = ways.iter().max_by_key(|(_, way)| way.len());
        let nodes = longest.into_iter().flat_map(|(_, way)| way.iter().map(|(node, _)| *node));
        let up_to = |(place, last): (usize, usize)| {
            let amounts = ways.iter().filter_map(|(came, way)| {
                let (end, at) = *way.get(place).or(way.last())?;
                Some((self.left[end][at], *came))
            });
            (last, amounts.collect())
        };
        nodes.enumerate().map(up_to).collect()
    }

    fn service(&mut self, node: usize) -> Option<()> {
        let held = held_back(self.known, self.tree, node)?;
        let mut amounts = Vec::new();
        for (came, left) in self.came[node].iter().zip(&self.left[node]) {
            amounts.extend([(Some(*came), 1), (Some(*left), -1)]);
        }
        let server = &self.known.graph.servers[self.tree.nodes[node].server];
        for (which, piece) in server.service.iter().enumerate() {
            let rate = piece.rate_ubps;
            let mut row = amounts.clone();
            row.extend([(self.exit(node), rate), (Some(self.times[node]), -rate)]);
            let most = rate.checked_mul(piece.latency.0)?.checked_add(held)?;
            self.push(Term::Service(node, 0, which, Natural::ZERO), row, most);
        }
        Some(())
    }

    fn objective(&mut self, of: Of) -> Option<()> {
        let grouping = self.grouping;
        let (root, flow) = grouping.at_root(of.stop())?;
        let (entry, group) = grouping.entry(flow)?;
        let buckets = &grouping.nodes[entry][group].buckets;
        let (left, came) = (self.left[0][root], self.came[entry][group]);
        let start = self.times[entry];
        match of {
            Of::Delay(_) => {
                let when = self.unknown(Unknown::Time { reach_ps: self.reach(entry) });
                self.push(Term::Since(Natural::ZERO), vec![(Some(start), 1), (Some(when), -1)], 0);
                for (which, bucket) in buckets.iter().enumerate() {
                    let times = [(Some(start), bucket.rate), (Some(when), -bucket.rate)];
                    let row = [(Some(left), 1), (Some(came), -1)].into_iter().chain(times);
                    self.push(Term::Entered(which, Natural::ZERO), row.collect(), bucket.burst);
                }
                self.program.objective.push((when, -1));
            }
            Of::Burst(_) => {
                // The bucket that counts in the long run; of several, the least burst.
                let (which, bucket) =
                    buckets.iter().enumerate().min_by_key(|(_, b)| (b.rate, b.burst))?;
                let more = self.tree.depth(entry).and_then(|depth| most(&[*bucket], depth));
                self.program.widen(flow, more);
                let last = self.amount(flow);
                let row = vec![(Some(last), 1), (Some(came), -1), (Some(start), bucket.rate)];
                self.push(Term::Last(which, 0, Natural::ZERO), row, bucket.burst);
                self.program.objective.extend([(last, 1), (left, -1)]);
            }
        }
        Some(())
    }
}
