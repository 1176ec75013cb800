//! The linear program of a tree: every sound inequality between its dates and amounts, by name.
//!
//! Unknowns are dates, in ps before the exit of the root, and what each flow had brought by a
//! date, in 10⁻¹⁸ bit more than by some date of its own. What had left a node by a date is what
//! had come by the FIFO date behind it, so these are one unknown.

use crate::proof::{DateKind, Term};
use crate::surroundings::{FineBucket, Known, held_back, most};
use crate::topology::Stop;
use crate::tree::Tree;
use num_bigint::BigInt;
use std::collections::BTreeMap;

/// What is to be bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Objective {
    /// How long data that enters at a node is under way to the exit of the root.
    Delay {
        /// The node.
        from: usize,
    },
    /// The burst of a flow behind the root.
    Burst {
        /// The flow, by its visit at the root.
        stop: Stop,
        /// Which of the buckets where it enters the tree.
        bucket: usize,
    },
}

/// One inequality Σ coefficient·unknown ≤ most.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Its name; the multiplier is still 0.
    pub(crate) term: Term,
    /// Unknown and coefficient.
    pub(crate) coefficients: Vec<(usize, i128)>,
    /// In ps, or 10⁻¹⁸ bit.
    pub(crate) most: i128,
}

impl Row {
    /// Whether it is between times only.
    pub(crate) const fn is_time(&self) -> bool {
        matches!(self.term, Term::Order(..) | Term::Causal(..) | Term::Delay(..))
    }
}

/// An unknown and where it surely lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// A date, up to so many ps before the exit of the root.
    Time {
        /// At most this far.
        reach_ps: i128,
    },
    /// An amount of a flow. Rows hold differences of such only, so that one of them may be zero.
    Amount {
        /// Index into [`Program::widths`].
        flow: usize,
        /// Whether it is the one that counts as zero.
        is_reference: bool,
    },
}

/// maximise Σ objective subject to the rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) unknowns: Vec<Unknown>,
    /// Per flow in the tree: how far apart two of its amounts may be, 10⁻¹⁸ bit.
    pub(crate) widths: Vec<BigInt>,
    pub(crate) rows: Vec<Row>,
    /// Unknown and coefficient, 1 or −1.
    pub(crate) objective: Vec<(usize, i128)>,
}

/// Which unknown, before it has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Time { node: usize, date: usize },
    Amount { node: usize, stop: Stop, date: usize },
    Last,
}

struct Builder<'a> {
    known: &'a Known<'a>,
    tree: &'a Tree,
    numbers: BTreeMap<Key, usize>,
    /// Flows in the tree, by their last node and visit.
    flows: BTreeMap<(usize, Stop), usize>,
    /// Per flow in the tree: whether one of its amounts counts as zero.
    has_reference: Vec<bool>,
    /// Per node and date: how far it lies before the exit of the root at most.
    reach: Vec<Vec<i128>>,
    program: Program,
    rows_max: usize,
}

/// The program of a tree; `None` if it would be too large or a number leaves the exact range.
pub(crate) fn program(
    known: &Known<'_>,
    tree: &Tree,
    objective: Objective,
    rows_max: usize,
) -> Option<Program> {
    let mut builder = Builder {
        known,
        tree,
        numbers: BTreeMap::new(),
        flows: BTreeMap::new(),
        has_reference: Vec::new(),
        reach: reach(tree)?,
        program: Program::default(),
        rows_max,
    };
    for node in 0..tree.nodes.len() {
        builder.times(node)?;
        builder.amounts(node)?;
        builder.service(node)?;
    }
    builder.objective(objective)?;
    Some(builder.program)
}

fn reach(tree: &Tree) -> Option<Vec<Vec<i128>>> {
    let mut reach: Vec<Vec<i128>> = Vec::new();
    for node in &tree.nodes {
        let mut of = Vec::new();
        for date in &node.dates {
            let exit = node.next.map_or(0, |next| reach[next][date.0]);
            let more = match date.1 {
                DateKind::Fifo => node.delay_ps,
                DateKind::Service => node.busy_ps,
            };
            of.push(exit.checked_add(more)?);
        }
        reach.push(of);
    }
    Some(reach)
}

impl Builder<'_> {
    /// Farthest before the exit of the root that anything of a node's path may lie.
    fn depth(&self, node: usize) -> Option<i128> {
        let (mut at, mut sum) = (Some(node), 0_i128);
        while let Some(node) = at {
            let here = &self.tree.nodes[node];
            sum = sum.checked_add(here.delay_ps.max(here.busy_ps))?;
            at = here.next;
        }
        Some(sum)
    }

    fn push(
        &mut self,
        term: Term,
        coefficients: Vec<(Option<usize>, i128)>,
        most: i128,
    ) -> Option<()> {
        if self.program.rows.len() >= self.rows_max {
            return None;
        }
        // An unknown may stand on both sides.
        let mut sums: BTreeMap<usize, i128> = BTreeMap::new();
        for (unknown, coefficient) in coefficients {
            let Some(unknown) = unknown else { continue };
            let sum = sums.entry(unknown).or_default();
            *sum = sum.checked_add(coefficient)?;
        }
        let coefficients: Vec<(usize, i128)> = sums.into_iter().filter(|(_, c)| *c != 0).collect();
        if !coefficients.is_empty() {
            self.program.rows.push(Row { term, coefficients, most });
        }
        Some(())
    }

    fn time(&mut self, node: usize, date: usize) -> usize {
        let key = Key::Time { node, date };
        self.number(key, Unknown::Time { reach_ps: self.reach[node][date] })
    }

    /// The date that a date is derived from; `None` for the exit of the root.
    fn exit(&mut self, node: usize, date: usize) -> Option<usize> {
        let next = self.tree.nodes[node].next?;
        Some(self.time(next, self.tree.nodes[node].dates[date].0))
    }

    fn number(&mut self, key: Key, unknown: Unknown) -> usize {
        let unknowns = &mut self.program.unknowns;
        *self.numbers.entry(key).or_insert_with(|| {
            unknowns.push(unknown);
            unknowns.len() - 1
        })
    }

    /// What a flow had brought to a node by a date; `None` out of range.
    fn amount(&mut self, node: usize, stop: Stop, date: usize) -> Option<usize> {
        let (mut node, mut stop, mut date) = (node, stop, date);
        while let Date { exit, kind: DateKind::Fifo } = self.date(node, date)
            && let Some(onward) = self.continues(node, stop)
        {
            (node, stop, date) = (self.tree.nodes[node].next?, onward, exit);
        }
        let flow = self.flow(node, stop)?;
        Some(self.amount_of(flow, Key::Amount { node, stop, date }))
    }

    fn amount_of(&mut self, flow: usize, key: Key) -> usize {
        let is_reference = !self.has_reference[flow];
        self.has_reference[flow] = true;
        self.number(key, Unknown::Amount { flow, is_reference })
    }

    /// The number of a flow in the tree.
    fn flow(&mut self, node: usize, stop: Stop) -> Option<usize> {
        let (mut last, mut at) = (node, stop);
        while let Some(onward) = self.continues(last, at) {
            (last, at) = (self.tree.nodes[last].next?, onward);
        }
        if let Some(&flow) = self.flows.get(&(last, at)) {
            return Some(flow);
        }
        let width = self.width(node, stop)?;
        self.program.widths.push(width);
        self.has_reference.push(false);
        self.flows.insert((last, at), self.program.widths.len() - 1);
        Some(self.program.widths.len() - 1)
    }

    /// How far apart two amounts of a flow may be.
    fn width(&self, node: usize, stop: Stop) -> Option<BigInt> {
        let (entry, first) = self.entry(node, stop);
        most(&self.known.buckets(first)?, self.depth(entry)?)
    }

    /// Where a flow enters the tree.
    fn entry(&self, mut node: usize, mut stop: Stop) -> (usize, Stop) {
        while let Some((child, earlier)) = self.tree.comes_from(self.known.graph, node, stop) {
            (node, stop) = (child, earlier);
        }
        (node, stop)
    }

    fn continues(&self, node: usize, stop: Stop) -> Option<Stop> {
        self.tree.continues(self.known.topology, self.known.graph, node, stop)
    }

    fn date(&self, node: usize, date: usize) -> Date {
        let crate::proof::Date(exit, kind) = self.tree.nodes[node].dates[date];
        Date { exit, kind }
    }

    fn stops(&self, node: usize) -> Vec<Stop> {
        self.known.topology.stops[self.tree.nodes[node].server].clone()
    }

    fn times(&mut self, node: usize) -> Option<()> {
        for (early, late) in self.tree.neighbours(node) {
            let (a, b) = (self.time(node, early), self.time(node, late));
            self.push(Term::Order(node, early, late, 0), vec![(Some(a), 1), (Some(b), -1)], 0)?;
        }
        for date in 0..self.tree.nodes[node].dates.len() {
            let (here, exit) = (self.time(node, date), self.exit(node, date));
            // Service dates lie before FIFO dates, which say it already.
            if self.date(node, date).kind == DateKind::Fifo {
                self.push(Term::Causal(node, date, 0), vec![(Some(here), 1), (exit, -1)], 0)?;
                let most = self.tree.nodes[node].delay_ps;
                self.push(Term::Delay(node, date, 0), vec![(exit, 1), (Some(here), -1)], most)?;
            }
        }
        Some(())
    }

    /// Growth, buckets where flows enter, lines.
    fn amounts(&mut self, node: usize) -> Option<()> {
        let stops = self.stops(node);
        let neighbours = self.tree.neighbours(node);
        let pairs: Vec<(usize, usize)> = self.tree.pairs(node).collect();
        for &stop in &stops {
            let name = (stop.flow, stop.visit);
            for &(early, late) in &neighbours {
                let (a, b) = (self.amount(node, stop, early)?, self.amount(node, stop, late)?);
                self.push(
                    Term::Monotone(node, name, early, late, 0),
                    vec![(Some(a), 1), (Some(b), -1)],
                    0,
                )?;
            }
            if self.tree.comes_from(self.known.graph, node, stop).is_some() {
                continue;
            }
            for (which, bucket) in self.known.buckets(stop)?.into_iter().enumerate() {
                for &(early, late) in &pairs {
                    let amounts = (self.amount(node, stop, early)?, self.amount(node, stop, late)?);
                    let term = Term::Arrival(node, name, which, early, late, 0);
                    self.bounded(term, node, (early, late), &[amounts], bucket)?;
                }
            }
        }
        for from in self.known.topology.upstream[self.tree.nodes[node].server].clone() {
            let Some(line) = self.known.line(from) else { continue };
            let bucket = FineBucket::of(line)?;
            let visits = |s: &Stop| &self.known.graph.flows[s.flow].visits;
            let is_from = |s: &&Stop| {
                visits(s)[s.visit].parent.is_some_and(|parent| visits(s)[parent].server == from)
            };
            let group: Vec<Stop> = stops.iter().filter(is_from).copied().collect();
            for &(early, late) in &pairs {
                let mut amounts = Vec::new();
                for &stop in &group {
                    amounts.push((self.amount(node, stop, early)?, self.amount(node, stop, late)?));
                }
                let term = Term::Line(node, from, early, late, 0);
                self.bounded(term, node, (early, late), &amounts, bucket)?;
            }
        }
        Some(())
    }

    /// Σ (late − early) ≤ burst + rate·(t(late) − t(early)).
    fn bounded(
        &mut self,
        term: Term,
        node: usize,
        (early, late): (usize, usize),
        amounts: &[(usize, usize)],
        bucket: FineBucket,
    ) -> Option<()> {
        let (a, b) = (self.time(node, early), self.time(node, late));
        let mut row = vec![(Some(a), bucket.rate), (Some(b), -bucket.rate)];
        for &(early, late) in amounts {
            row.extend([(Some(early), -1), (Some(late), 1)]);
        }
        self.push(term, row, bucket.burst)
    }

    fn service(&mut self, node: usize) -> Option<()> {
        let stops = self.stops(node);
        let held = held_back(self.known, self.tree, node)?;
        for date in 0..self.tree.nodes[node].dates.len() {
            let Date { exit, kind } = self.date(node, date);
            if kind != DateKind::Service {
                continue;
            }
            let behind = self.tree.fifo_date(node, exit)?;
            let mut amounts = Vec::new();
            for &stop in &stops {
                let (left, came) =
                    (self.amount(node, stop, behind)?, self.amount(node, stop, date)?);
                amounts.extend([(Some(left), -1), (Some(came), 1)]);
            }
            let (here, later) = (self.time(node, date), self.exit(node, date));
            let server = &self.known.graph.servers[self.tree.nodes[node].server];
            for (which, piece) in server.service.iter().enumerate() {
                let rate = piece.rate_ubps;
                let mut row = amounts.clone();
                row.extend([(later, rate), (Some(here), -rate)]);
                let most = rate.checked_mul(piece.latency.0)?.checked_add(held)?;
                self.push(Term::Service(node, date, which, 0), row, most)?;
            }
        }
        Some(())
    }

    fn objective(&mut self, objective: Objective) -> Option<()> {
        match objective {
            Objective::Delay { from } => {
                let date = self.all_fifo(from)?;
                let entered = self.time(from, date);
                self.program.objective.push((entered, -1));
            }
            Objective::Burst { stop, bucket } => self.burst(stop, bucket)?,
        }
        Some(())
    }

    /// The date of a node that is FIFO dates all the way from the exit of the root.
    fn all_fifo(&self, node: usize) -> Option<usize> {
        let exit = match self.tree.nodes[node].next {
            Some(next) => self.all_fifo(next)?,
            None => 0,
        };
        self.tree.fifo_date(node, exit)
    }

    /// What a flow may have brought by the exit of the root and had not left by then.
    fn burst(&mut self, stop: Stop, which: usize) -> Option<()> {
        let (entry, first) = self.entry(0, stop);
        let bucket = *self.known.buckets(first)?.get(which)?;
        let flow = self.flow(entry, first)?;
        let more = most(&[bucket], self.depth(entry)?)?;
        self.program.widths[flow] += more;
        let last = self.amount_of(flow, Key::Last);
        for date in 0..self.tree.nodes[entry].dates.len() {
            let (here, came) = (self.time(entry, date), self.amount(entry, first, date)?);
            let row = vec![(Some(last), 1), (Some(came), -1), (Some(here), bucket.rate)];
            self.push(Term::Last(which, date, 0), row, bucket.burst)?;
        }
        let left = self.amount(0, stop, self.tree.fifo_date(0, 0)?)?;
        self.program.objective.extend([(last, 1), (left, -1)]);
        Some(())
    }
}

/// A date of the tree, its parts by name.
struct Date {
    exit: usize,
    kind: DateKind,
}
