//! The tree of servers that a linear program looks at, and the dates at their entrances.

use crate::proof::{Date, DateKind, Node};
use crate::topology::{Stop, Topology};
use std::collections::BTreeMap;
use tenuto_calculus::{Multiplexing, ServerGraph};

/// A tree of servers that all lead to the root; a server may stand in it several times.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    /// Root first, every node behind the one it leads to.
    pub(crate) nodes: Vec<Node>,
    /// Per node: the child for each server it comes from.
    pub(crate) children: Vec<BTreeMap<usize, usize>>,
    /// Per node and pair of dates (early, late): whether they are in that order in every
    /// trajectory. A date is not before itself here.
    before: Vec<Vec<Vec<bool>>>,
}

/// Which dates a tree has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dates {
    /// One service date per server, behind the earliest date: [Bou22], polynomial.
    Polynomial,
    /// Service dates also behind dates that switched back from order to amount up to so often.
    Switches(usize),
}

impl Tree {
    /// The tree behind the last server of `trunk` (upstream first), whose branches are unfolded
    /// breadth first up to so many servers; `None` if FIFO dates mean nothing in it.
    pub(crate) fn unfold(
        graph: &ServerGraph,
        topology: &Topology,
        trunk: &[usize],
        servers_max: usize,
    ) -> Option<Self> {
        let mut tree = Self { nodes: Vec::new(), children: Vec::new(), before: Vec::new() };
        let mut last = None;
        for &server in trunk.iter().rev() {
            last = Some(tree.push(graph, topology, server, last)?);
        }
        last?;
        let mut at = 0;
        while at < tree.nodes.len() && tree.nodes.len() < servers_max {
            for &from in &topology.upstream[tree.nodes[at].server] {
                let is_new = !tree.children[at].contains_key(&from);
                if is_new && tree.nodes.len() < servers_max {
                    tree.push(graph, topology, from, Some(at));
                }
            }
            at += 1;
        }
        Some(tree)
    }

    /// Adds a server, unless flows are not in order there or one of them visits it twice.
    fn push(
        &mut self,
        graph: &ServerGraph,
        topology: &Topology,
        server: usize,
        next: Option<usize>,
    ) -> Option<usize> {
        let stops = &topology.stops[server];
        let is_simple = stops.windows(2).all(|pair| pair[0].flow != pair[1].flow);
        if graph.servers[server].multiplexing != Multiplexing::Fifo || !is_simple {
            return None;
        }
        let index = self.nodes.len();
        self.nodes.push(Node { server, next, delay_ps: 0, busy_ps: 0, dates: Vec::new() });
        self.children.push(BTreeMap::new());
        if let Some(next) = next {
            self.children[next].insert(server, index);
        }
        Some(index)
    }

    /// Gives every node its dates.
    pub(crate) fn with_dates(mut self, dates: Dates) -> Self {
        // Per node and date: switches from order back to amount so far, and whether all were
        // service dates.
        let mut traits: Vec<Vec<(usize, bool)>> = Vec::new();
        for index in 0..self.nodes.len() {
            let exits = match self.nodes[index].next {
                Some(next) => traits[next].clone(),
                None => vec![(0, true)],
            };
            let kinds = |next: Option<usize>, exit: usize| match next {
                Some(next) => Some(self.nodes[next].dates[exit].1),
                None => None,
            };
            let next = self.nodes[index].next;
            let (mut list, mut of) = (Vec::new(), Vec::new());
            for (exit, &(switches, is_service)) in exits.iter().enumerate() {
                list.push(Date(exit, DateKind::Fifo));
                of.push((switches, false));
                let more = usize::from(kinds(next, exit) == Some(DateKind::Fifo));
                let is_wanted = match dates {
                    Dates::Polynomial => is_service,
                    Dates::Switches(max) => is_service || switches + more <= max,
                };
                if is_wanted {
                    list.push(Date(exit, DateKind::Service));
                    of.push((switches + more, is_service));
                }
            }
            self.nodes[index].dates = list;
            traits.push(of);
        }
        self.order();
        self
    }

    fn order(&mut self) {
        self.before.clear();
        for node in &self.nodes {
            let exit_before = |a: usize, b: usize| {
                a == b || node.next.is_some_and(|next| self.before[next][a][b])
            };
            let before = |a: Date, b: Date| {
                a != b && exit_before(a.0, b.0) && (a.1, b.1) != (DateKind::Fifo, DateKind::Service)
            };
            let row = |a: &Date| node.dates.iter().map(|b| before(*a, *b)).collect();
            self.before.push(node.dates.iter().map(row).collect());
        }
    }

    /// Pairs (early, late) of a node that are in order in every trajectory.
    pub(crate) fn pairs(&self, node: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let rows = self.before[node].iter().enumerate();
        rows.flat_map(|(early, row)| {
            row.iter().enumerate().filter(|(_, is)| **is).map(move |(late, _)| (early, late))
        })
    }

    /// Those pairs that have no third date between them: the others follow.
    pub(crate) fn neighbours(&self, node: usize) -> Vec<(usize, usize)> {
        let before = &self.before[node];
        let between = |early: usize, late: usize| {
            (0..before.len()).any(|mid| before[early][mid] && before[mid][late])
        };
        self.pairs(node).filter(|&(early, late)| !between(early, late)).collect()
    }

    /// The FIFO date behind an exit date.
    pub(crate) fn fifo_date(&self, node: usize, exit: usize) -> Option<usize> {
        self.nodes[node].dates.iter().position(|d| *d == Date(exit, DateKind::Fifo))
    }

    /// Where a flow goes on from a node, if to the next node of the tree.
    pub(crate) fn continues(
        &self,
        topology: &Topology,
        graph: &ServerGraph,
        node: usize,
        stop: Stop,
    ) -> Option<Stop> {
        let next = self.nodes[node].next?;
        let visits = &graph.flows[stop.flow].visits;
        let onward = |s: &&Stop| s.flow == stop.flow && visits[s.visit].parent == Some(stop.visit);
        topology.stops[self.nodes[next].server].iter().find(onward).copied()
    }

    /// The child that a flow comes from; `None` where it enters the tree.
    pub(crate) fn comes_from(
        &self,
        graph: &ServerGraph,
        node: usize,
        stop: Stop,
    ) -> Option<(usize, Stop)> {
        let visits = &graph.flows[stop.flow].visits;
        let parent = visits[stop.visit].parent?;
        let child = *self.children[node].get(&visits[parent].server)?;
        Some((child, Stop { flow: stop.flow, visit: parent }))
    }

    pub(crate) fn dates(&self) -> usize {
        self.nodes.iter().map(|node| node.dates.len()).sum()
    }
}
