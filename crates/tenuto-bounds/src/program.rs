//! The linear program of a tree: every sound inequality between its dates and amounts, by name.
//!
//! Unknowns are dates, in ps before the exit of the root, and what each flow had brought by a
//! date, in 10⁻¹⁸ bit more than by some date of its own. What had left a node by a date is what
//! had come by the FIFO date behind it, so these are one unknown.

use crate::proof::{DateKind, Term};
use crate::surroundings::{FineBucket, Known, Surroundings, held_back, most};
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
#[derive(Clone, Debug)]
pub(crate) struct Unknown {
    /// Whether it is a date.
    pub(crate) is_time: bool,
    /// At least.
    pub(crate) low: BigInt,
    /// At most.
    pub(crate) high: BigInt,
}

/// maximise Σ objective subject to the rows.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) unknowns: Vec<Unknown>,
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
    around: &'a Surroundings,
    numbers: BTreeMap<Key, usize>,
    /// Per flow in the tree, by its last node and visit: the unknown that counts as zero.
    references: BTreeMap<(usize, Stop), Key>,
    /// Per node and date: how far it lies before the exit of the root at most.
    reach: Vec<Vec<i128>>,
    program: Program,
    rows_max: usize,
}

/// The program of a tree; `None` if it would be too large or a number leaves the exact range.
pub(crate) fn program(
    known: &Known<'_>,
    tree: &Tree,
    around: &Surroundings,
    objective: Objective,
    rows_max: usize,
) -> Option<Program> {
    let mut builder = Builder {
        known,
        tree,
        around,
        numbers: BTreeMap::new(),
        references: BTreeMap::new(),
        reach: reach(tree, around)?,
        program: Program { unknowns: Vec::new(), rows: Vec::new(), objective: Vec::new() },
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

fn reach(tree: &Tree, around: &Surroundings) -> Option<Vec<Vec<i128>>> {
    let mut reach: Vec<Vec<i128>> = Vec::new();
    for (index, node) in tree.nodes.iter().enumerate() {
        let mut of = Vec::new();
        for date in &node.dates {
            let exit = node.next.map_or(0, |next| reach[next][date.0]);
            let more = match date.1 {
                DateKind::Fifo => around.delays[index],
                DateKind::Service => around.busy[index],
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
            sum = sum.checked_add(self.around.delays[node].max(self.around.busy[node]))?;
            at = self.tree.nodes[node].next;
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
        let low = -BigInt::from(self.reach[node][date]);
        self.number(key, Unknown { is_time: true, low, high: BigInt::ZERO })
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

    /// What a flow had brought to a node by a date: outer `None` out of range, inner `None` zero.
    fn amount(&mut self, node: usize, stop: Stop, date: usize) -> Option<Option<usize>> {
        let (mut node, mut stop, mut date) = (node, stop, date);
        while let Date { exit, kind: DateKind::Fifo } = self.date(node, date)
            && let Some(onward) = self.continues(node, stop)
        {
            (node, stop, date) = (self.tree.nodes[node].next?, onward, exit);
        }
        let key = Key::Amount { node, stop, date };
        let (mut last, mut flow) = (node, stop);
        while let Some(onward) = self.continues(last, flow) {
            (last, flow) = (self.tree.nodes[last].next?, onward);
        }
        if *self.references.entry((last, flow)).or_insert(key) == key {
            return Some(None);
        }
        let wide = self.width(node, stop)?;
        Some(Some(self.number(key, Unknown { is_time: false, low: -wide.clone(), high: wide })))
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
                let most = self.around.delays[node];
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
                self.push(Term::Monotone(node, name, early, late, 0), vec![(a, 1), (b, -1)], 0)?;
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
        amounts: &[(Option<usize>, Option<usize>)],
        bucket: FineBucket,
    ) -> Option<()> {
        let (a, b) = (self.time(node, early), self.time(node, late));
        let mut row = vec![(Some(a), bucket.rate), (Some(b), -bucket.rate)];
        for &(early, late) in amounts {
            row.extend([(early, -1), (late, 1)]);
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
                amounts.extend([(left, -1), (came, 1)]);
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
        let wide = self.width(entry, first)?;
        let more = most(&[bucket], self.depth(entry)?)?;
        let last = Unknown { is_time: false, low: -wide.clone(), high: wide + more };
        let last = self.number(Key::Last, last);
        for date in 0..self.tree.nodes[entry].dates.len() {
            let (here, came) = (self.time(entry, date), self.amount(entry, first, date)?);
            let row = vec![(Some(last), 1), (came, -1), (Some(here), bucket.rate)];
            self.push(Term::Last(which, date, 0), row, bucket.burst)?;
        }
        let left = self.amount(0, stop, self.tree.fifo_date(0, 0)?)?;
        self.program.objective.push((last, 1));
        self.program.objective.extend(left.map(|left| (left, -1)));
        Some(())
    }
}

/// A date of the tree, its parts by name.
struct Date {
    exit: usize,
    kind: DateKind,
}
