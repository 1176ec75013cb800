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
    /// Whether what leaves the root counts in whole packets: where its burst is bounded.
    is_root_packetized: bool,
    /// Per node and pair of dates (early, late): whether they are in that order in every
    /// trajectory. A date is not before itself here.
    before: Vec<Vec<Vec<bool>>>,
}

/// Which dates a tree has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dates {
    /// One service date per server, behind the earliest date: [Bou22], polynomial.
    Polynomial,
    /// Service dates also behind up to `fifo` FIFO dates, and up to `service` of them in turn;
    /// once on the way to the root.
    Once {
        /// FIFO dates before.
        fifo: usize,
        /// Service dates then.
        service: usize,
    },
    /// Service dates behind each other from every date on that is FIFO all the way: whatever a path
    /// is cut into, the programs of all parts in one.
    Parts,
    /// Both kinds behind every date: [Bou22], exponential.
    All,
}

/// How a date was derived from the exit of the root.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    /// FIFO dates since the service dates at the root.
    fifo: usize,
    /// Service dates behind those.
    service: usize,
    /// Whether FIFO dates came behind those again.
    is_over: bool,
    /// Whether there were service dates at the root.
    begins_by_amount: bool,
}

impl Way {
    const fn by_order(self) -> Self {
        let is_over = self.is_over || self.service > 0;
        Self { fifo: self.fifo + !is_over as usize, is_over, ..self }
    }

    const fn by_amount(self) -> Self {
        let service = self.service + (self.fifo > 0) as usize;
        Self { service, begins_by_amount: self.begins_by_amount || self.fifo == 0, ..self }
    }

    const fn may_count(self, dates: Dates) -> bool {
        match dates {
            Dates::Polynomial => self.fifo == 0,
            Dates::Once { fifo, service } => {
                self.fifo == 0 || (!self.is_over && self.fifo <= fifo && self.service < service)
            }
            Dates::Parts => self.fifo == 0 || !(self.is_over || self.begins_by_amount),
            Dates::All => true,
        }
    }
}

impl Tree {
    /// The tree behind the last server of `trunk` (upstream first), whose branches are unfolded
    /// breadth first up to so many servers. In `order`: FIFO trees have FIFO servers only; `None`
    /// if the trunk has others, or a flow visits one of them twice.
    pub(crate) fn unfold(
        graph: &ServerGraph,
        topology: &Topology,
        trunk: &[usize],
        servers_max: usize,
        is_root_packetized: bool,
        order: Multiplexing,
    ) -> Option<Self> {
        let mut tree = Self {
            nodes: Vec::new(),
            children: Vec::new(),
            is_root_packetized,
            before: Vec::new(),
        };
        let mut last = None;
        for &server in trunk.iter().rev() {
            last = Some(tree.push(graph, topology, server, last, order)?);
        }
        last?;
        let mut at = 0;
        while at < tree.nodes.len() && tree.nodes.len() < servers_max {
            for &from in &topology.upstream[tree.nodes[at].server] {
                let is_new = !tree.children[at].contains_key(&from);
                if is_new && tree.nodes.len() < servers_max {
                    tree.push(graph, topology, from, Some(at), order);
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
        order: Multiplexing,
    ) -> Option<usize> {
        let stops = &topology.stops[server];
        let is_simple = stops.windows(2).all(|pair| pair[0].flow != pair[1].flow);
        let is_fifo = graph.servers[server].multiplexing == Multiplexing::Fifo;
        if (order == Multiplexing::Fifo && !is_fifo) || !is_simple {
            return None;
        }
        let index = self.nodes.len();
        self.nodes.push(Node { server, next, delay_ps: None, busy_ps: None, dates: Vec::new() });
        self.children.push(BTreeMap::new());
        if let Some(next) = next {
            self.children[next].insert(server, index);
        }
        Some(index)
    }

    /// Gives every node one service date: all that is known whatever the order of service.
    pub(crate) fn with_service_dates(mut self) -> Self {
        for node in &mut self.nodes {
            node.dates = vec![Date(0, DateKind::Service)];
        }
        self.before = vec![vec![vec![false]]; self.nodes.len()];
        self
    }

    /// Gives every node its dates.
    /// `None` if these would be more than `dates_max`.
    pub(crate) fn with_dates(mut self, dates: Dates, dates_max: usize) -> Option<Self> {
        let mut left = dates_max;
        let mut ways: Vec<Vec<Way>> = Vec::new();
        for index in 0..self.nodes.len() {
            let exits = match self.nodes[index].next {
                Some(next) => ways[next].clone(),
                None => vec![Way::default()],
            };
            let (mut list, mut of) = (Vec::new(), Vec::new());
            for (exit, way) in exits.iter().enumerate() {
                list.push(Date(exit, DateKind::Fifo));
                of.push(way.by_order());
                if way.may_count(dates) {
                    list.push(Date(exit, DateKind::Service));
                    of.push(way.by_amount());
                }
            }
            left = left.checked_sub(list.len())?;
            self.nodes[index].dates = list;
            ways.push(of);
        }
        self.order();
        Some(self)
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
    pub(crate) fn continues(&self, topology: &Topology, node: usize, stop: Stop) -> Option<Stop> {
        let next = self.nodes[self.nodes[node].next?].server;
        let mut behind = topology.onward[stop.flow][stop.visit].iter();
        let (_, visit) = behind.find(|(server, _)| *server == next)?;
        Some(Stop { flow: stop.flow, visit: *visit })
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

    /// Whether what leaves a node counts in whole packets.
    pub(crate) fn is_packetized(&self, node: usize) -> bool {
        self.nodes[node].next.is_some() || self.is_root_packetized
    }

    /// Farthest before the exit of the root that anything on the way from a node may lie, ps;
    /// `None` if nothing says so.
    pub(crate) fn depth(&self, node: usize) -> Option<i128> {
        let (mut at, mut sum) = (Some(node), 0_i128);
        while let Some(node) = at {
            let here = &self.nodes[node];
            sum = sum.checked_add(here.delay_ps?.max(here.busy_ps?))?;
            at = here.next;
        }
        Some(sum)
    }

    /// How many pairs of dates a node has.
    pub(crate) fn pairs_len(&self, node: usize) -> usize {
        self.before[node].iter().flatten().filter(|is| **is).count()
    }
}
