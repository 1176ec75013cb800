//! The linear program of a tree: every sound inequality between its dates and amounts, by name.
//!
//! Unknowns are dates, in ps before the exit of the root, and what each flow had brought by a
//! date, in 10⁻¹⁸ bit more than by some date of its own. What had left a node by a date is what
//! had come by the FIFO date behind it, so these are one unknown.

use crate::grouping::{Group, Grouping};
use crate::natural::Natural;
use crate::proof::{DateKind, Term};
use crate::surroundings::{FineBucket, Known, held_back, most};
use crate::topology::Stop;
use crate::tree::Tree;
use num_bigint::BigInt;
use std::collections::{BTreeMap, BTreeSet};

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
        /// The rate that it is a burst for: that of one of the flow's buckets.
        rate_ubps: i128,
    },
}

/// One inequality Σ coefficient·unknown ≤ most.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Its name; the multiplier is still 0.
    pub(crate) term: Term,
    /// Flows whose buckets it sums.
    pub(crate) stops: Vec<Stop>,
    /// Unknown and coefficient.
    pub(crate) coefficients: Vec<(usize, i128)>,
    /// In ps, or 10⁻¹⁸ bit.
    pub(crate) most: i128,
}

impl Row {
    /// Whether it is between times only.
    pub(crate) const fn is_time(&self) -> bool {
        matches!(self.term, Term::Order(..) | Term::Causal(..) | Term::Delay(..) | Term::Since(..))
    }
}

/// An unknown and where it surely lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// A date, up to so many ps before the exit of the root.
    Time {
        /// At most this far; `None`: any.
        reach_ps: Option<i128>,
    },
    /// An amount of a flow. Rows hold differences of such only, so that one of them may be zero.
    Amount {
        /// Index into [`Program::widths`].
        flow: usize,
        /// Whether it is the one that counts as zero.
        is_reference: bool,
    },
}

impl Unknown {
    pub(crate) const fn is_time(&self) -> bool {
        matches!(self, Self::Time { .. })
    }

    /// Whether it counts as zero, so that no solver needs to know it.
    pub(crate) const fn is_zero(&self) -> bool {
        matches!(self, Self::Amount { is_reference: true, .. })
    }
}

/// maximise Σ objective subject to the rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) unknowns: Vec<Unknown>,
    /// Per flow in the tree: how far apart two of its amounts may be, 10⁻¹⁸ bit; `None`: any.
    pub(crate) widths: Vec<Option<BigInt>>,
    pub(crate) rows: Vec<Row>,
    /// Unknown and coefficient, 1 or −1.
    pub(crate) objective: Vec<(usize, i128)>,
}

impl Program {
    /// Lets amounts of a flow lie farther apart.
    pub(crate) fn widen(&mut self, flow: usize, by: Option<BigInt>) {
        let width = &mut self.widths[flow];
        *width = width.take().zip(by).map(|(width, by)| width + by);
    }
}

/// Which unknown, before it has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Time { node: usize, date: usize },
    Amount { node: usize, group: usize, date: usize },
    Last,
}

struct Builder<'a> {
    known: &'a Known<'a>,
    tree: &'a Tree,
    grouping: &'a Grouping,
    numbers: BTreeMap<Key, usize>,
    /// Per flow in the tree: whether one of its amounts counts as zero.
    has_reference: Vec<bool>,
    /// Per node and date: how far it lies before the exit of the root at most.
    reach: Vec<Vec<Option<i128>>>,
    program: Program,
    /// Whether delays may follow from the bursts that are searched for.
    is_burst: bool,
}

/// The program of a tree; `None` if it would have too many rows or a number leaves the exact
/// range.
pub(crate) fn program(
    known: &Known<'_>,
    tree: &Tree,
    grouping: &Grouping,
    objective: Objective,
    rows_max: usize,
) -> Option<Program> {
    if rows(known, tree, grouping) > rows_max {
        return None;
    }
    let mut builder = Builder {
        known,
        tree,
        grouping,
        numbers: BTreeMap::new(),
        has_reference: vec![false; grouping.widths.len()],
        reach: reach(tree),
        program: Program { widths: grouping.widths.clone(), ..Program::default() },
        is_burst: matches!(objective, Objective::Burst { .. }),
    };
    for node in 0..tree.nodes.len() {
        builder.times(node)?;
        builder.amounts(node)?;
        builder.service(node)?;
    }
    builder.objective(objective)?;
    Some(builder.program)
}

/// About how many rows a program has, without what is said of proved bursts inside of its tree:
/// that is never a reason for a smaller one.
fn rows(known: &Known<'_>, tree: &Tree, grouping: &Grouping) -> usize {
    let at = |node: usize| {
        let groups = &grouping.nodes[node];
        let entering: usize = groups.iter().filter(|g| g.enters).map(|g| g.buckets.len()).sum();
        let from: BTreeSet<usize> = groups.iter().filter_map(|group| group.from).collect();
        let lines = from.into_iter().filter(|&from| known.line(from).is_some()).count();
        let dates = tree.nodes[node].dates.len();
        tree.pairs_len(node) * (entering + lines) + dates * (groups.len() + 3)
    };
    (0..tree.nodes.len()).map(at).sum()
}

fn reach(tree: &Tree) -> Vec<Vec<Option<i128>>> {
    let mut reach: Vec<Vec<Option<i128>>> = Vec::new();
    for node in &tree.nodes {
        let mut of = Vec::new();
        for date in &node.dates {
            let exit = node.next.map_or(Some(0), |next| reach[next][date.0]);
            let more = match date.1 {
                DateKind::Fifo => node.delay_ps,
                DateKind::Service => node.busy_ps,
            };
            of.push(exit.zip(more).and_then(|(exit, more)| exit.checked_add(more)));
        }
        reach.push(of);
    }
    reach
}

impl Builder<'_> {
    fn push(
        &mut self,
        term: Term,
        stops: &[Stop],
        coefficients: Vec<(Option<usize>, i128)>,
        most: i128,
    ) -> Option<()> {
        // An unknown may stand on both sides.
        let mut sums: BTreeMap<usize, i128> = BTreeMap::new();
        for (unknown, coefficient) in coefficients {
            let Some(unknown) = unknown else { continue };
            let sum = sums.entry(unknown).or_default();
            *sum = sum.checked_add(coefficient)?;
        }
        let coefficients: Vec<(usize, i128)> = sums.into_iter().filter(|(_, c)| *c != 0).collect();
        if !coefficients.is_empty() {
            let stops = stops.to_vec();
            self.program.rows.push(Row { term, stops, coefficients, most });
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

    /// What a group of flows had brought to a node by a date.
    fn amount(&mut self, node: usize, group: usize, date: usize) -> Option<usize> {
        let flow = self.grouping.nodes[node][group].flow;
        let (mut node, mut group, mut date) = (node, group, date);
        while let Date { exit, kind: DateKind::Fifo } = self.date(node, date)
            && let Some(onward) = self.grouping.nodes[node][group].onward
        {
            (node, group, date) = (self.tree.nodes[node].next?, onward, exit);
        }
        Some(self.amount_of(flow, Key::Amount { node, group, date }))
    }

    fn amount_of(&mut self, flow: usize, key: Key) -> usize {
        let is_reference = !self.has_reference[flow];
        self.has_reference[flow] = true;
        self.number(key, Unknown::Amount { flow, is_reference })
    }

    fn date(&self, node: usize, date: usize) -> Date {
        let crate::proof::Date(exit, kind) = self.tree.nodes[node].dates[date];
        Date { exit, kind }
    }

    fn times(&mut self, node: usize) -> Option<()> {
        for (early, late) in self.tree.neighbours(node) {
            let (a, b) = (self.time(node, early), self.time(node, late));
            self.push(
                Term::Order(node, early, late, Natural::ZERO),
                &[],
                vec![(Some(a), 1), (Some(b), -1)],
                0,
            )?;
        }
        for date in 0..self.tree.nodes[node].dates.len() {
            let (here, exit) = (self.time(node, date), self.exit(node, date));
            // Service dates lie before FIFO dates, which say it already.
            if self.date(node, date).kind == DateKind::Fifo {
                self.push(
                    Term::Causal(node, date, Natural::ZERO),
                    &[],
                    vec![(Some(here), 1), (exit, -1)],
                    0,
                )?;
                // Where a delay itself follows from bursts that are searched for, the program
                // would bend where its multipliers do not say so.
                let is_certified = self.known.delays[self.tree.nodes[node].server].is_some();
                if let Some(most) = self.tree.nodes[node].delay_ps
                    && (is_certified || !self.is_burst)
                {
                    let row = vec![(exit, 1), (Some(here), -1)];
                    self.push(Term::Delay(node, date, Natural::ZERO), &[], row, most)?;
                }
            }
        }
        Some(())
    }

    /// Growth, buckets where flows enter, lines.
    fn amounts(&mut self, node: usize) -> Option<()> {
        let grouping = self.grouping;
        let neighbours = self.tree.neighbours(node);
        let pairs: Vec<(usize, usize)> = self.tree.pairs(node).collect();
        for (index, group) in grouping.nodes[node].iter().enumerate() {
            let stop = group.stops.first()?;
            let name = (stop.flow, stop.visit);
            // Said of all that go the same way at once; a flow by itself has a name of its own.
            let is_all = group.stops.len() > 1;
            for &(early, late) in &neighbours {
                let (a, b) = (self.amount(node, index, early)?, self.amount(node, index, late)?);
                let row = vec![(Some(a), 1), (Some(b), -1)];
                let term = match is_all {
                    true => Term::AllMonotone(node, name, early, late, Natural::ZERO),
                    false => Term::Monotone(node, name, early, late, Natural::ZERO),
                };
                self.push(term, &[], row, 0)?;
            }
            self.passed(node, index, &neighbours)?;
            for (which, bucket) in self.named_buckets(group)? {
                for &(early, late) in &pairs {
                    let term = match is_all {
                        true => Term::AllArrival(node, name, which, early, late, Natural::ZERO),
                        false => Term::Arrival(node, name, which, early, late, Natural::ZERO),
                    };
                    self.bounded(term, (node, early, late), &[index], bucket)?;
                }
            }
        }
        self.lines(node, &pairs)
    }

    /// What may have been dropped since it left the node before, if that is in the tree.
    fn passed(&mut self, node: usize, group: usize, pairs: &[(usize, usize)]) -> Option<()> {
        let here = &self.grouping.nodes[node][group];
        let (Some(route), Some(from)) = (here.route, here.from) else { return Some(()) };
        let Some(&child) = self.tree.children[node].get(&from) else { return Some(()) };
        let stop = here.stops.first()?;
        let name = (stop.flow, stop.visit);
        let mut before = self.grouping.nodes[child].iter();
        let before = before.position(|other| other.route == Some(route))?;
        for &(early, late) in pairs {
            let (out_early, out_late) =
                (self.tree.fifo_date(child, early)?, self.tree.fifo_date(child, late)?);
            let row = vec![
                (Some(self.amount(node, group, late)?), 1),
                (Some(self.amount(node, group, early)?), -1),
                (Some(self.amount(child, before, out_late)?), -1),
                (Some(self.amount(child, before, out_early)?), 1),
            ];
            self.push(Term::Passed(node, name, early, late, Natural::ZERO), &[], row, 0)?;
        }
        Some(())
    }

    /// Buckets that are said of a group at its node, by number. Inside of the tree what is in front
    /// says what arrives; only bursts that were proved by themselves may be less, since other
    /// trees saw more.
    fn named_buckets(&self, group: &Group) -> Option<Vec<(usize, FineBucket)>> {
        if group.enters {
            return Some(group.buckets.iter().copied().enumerate().collect());
        }
        let mut sums: Vec<(usize, FineBucket)> = Vec::new();
        for (place, stop) in group.stops.iter().enumerate() {
            let claims = self.known.bursts.of(*stop);
            if claims.is_empty() {
                return Some(Vec::new());
            }
            let grown = self.known.buckets(*stop)?.len() - claims.len();
            let numbers = grown..grown + claims.len();
            if place == 0 {
                sums = numbers
                    .clone()
                    .map(|which| (which, FineBucket { burst: 0, rate: 0 }))
                    .collect();
            }
            // Of all together only if they are called alike.
            if !sums.iter().map(|(which, _)| *which).eq(numbers) {
                return Some(Vec::new());
            }
            for ((_, sum), claim) in sums.iter_mut().zip(claims) {
                let claim = FineBucket::of(*claim)?;
                sum.burst = sum.burst.checked_add(claim.burst)?;
                sum.rate = sum.rate.checked_add(claim.rate)?;
            }
        }
        Some(sums)
    }

    fn lines(&mut self, node: usize, pairs: &[(usize, usize)]) -> Option<()> {
        let groups = &self.grouping.nodes[node];
        let mut by_line: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, group) in groups.iter().enumerate() {
            if let Some(from) = group.from {
                by_line.entry(from).or_default().push(index);
            }
        }
        for (from, inside) in by_line {
            let Some(line) = self.known.line(from) else { continue };
            let bucket = FineBucket::of(line)?;
            for &(early, late) in pairs {
                let term = Term::Line(node, from, early, late, Natural::ZERO);
                self.bounded(term, (node, early, late), &inside, bucket)?;
            }
        }
        Some(())
    }

    /// Σ (late − early) ≤ burst + rate·(t(late) − t(early)).
    fn bounded(
        &mut self,
        term: Term,
        (node, early, late): (usize, usize, usize),
        groups: &[usize],
        bucket: FineBucket,
    ) -> Option<()> {
        let grouping = self.grouping;
        let mut stops: &[Stop] = &[];
        let (a, b) = (self.time(node, early), self.time(node, late));
        let mut row = vec![(Some(a), bucket.rate), (Some(b), -bucket.rate)];
        for &group in groups {
            let (a, b) = (self.amount(node, group, early)?, self.amount(node, group, late)?);
            row.extend([(Some(a), -1), (Some(b), 1)]);
            if !matches!(term, Term::Line(..)) {
                stops = &grouping.nodes[node][group].stops;
            }
        }
        self.push(term, stops, row, bucket.burst)
    }

    fn service(&mut self, node: usize) -> Option<()> {
        let held = held_back(self.known, self.tree, node)?;
        for date in 0..self.tree.nodes[node].dates.len() {
            let Date { exit, kind } = self.date(node, date);
            if kind != DateKind::Service {
                continue;
            }
            let behind = self.tree.fifo_date(node, exit)?;
            let mut amounts = Vec::new();
            for group in 0..self.grouping.nodes[node].len() {
                let (left, came) =
                    (self.amount(node, group, behind)?, self.amount(node, group, date)?);
                amounts.extend([(Some(left), -1), (Some(came), 1)]);
            }
            let (here, later) = (self.time(node, date), self.exit(node, date));
            let server = &self.known.graph.servers[self.tree.nodes[node].server];
            for (which, piece) in server.service.iter().enumerate() {
                let rate = piece.rate_ubps;
                let mut row = amounts.clone();
                row.extend([(later, rate), (Some(here), -rate)]);
                let most = rate.checked_mul(piece.latency.0)?.checked_add(held)?;
                self.push(Term::Service(node, date, which, Natural::ZERO), &[], row, most)?;
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
            Objective::Burst { stop, rate_ubps } => self.burst(stop, rate_ubps)?,
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
    fn burst(&mut self, stop: Stop, rate_ubps: i128) -> Option<()> {
        let grouping = self.grouping;
        let (root, flow) = grouping.at_root(stop)?;
        let (entry, group) = grouping.entry(flow)?;
        // Of several with that rate, the one with the least burst.
        let buckets = grouping.nodes[entry][group].buckets.iter().enumerate();
        let buckets = buckets.filter(|(_, bucket)| bucket.rate == rate_ubps);
        let (which, bucket) = buckets.min_by_key(|(_, bucket)| bucket.burst)?;
        self.program.widen(flow, self.tree.depth(entry).and_then(|depth| most(&[*bucket], depth)));
        let last = self.amount_of(flow, Key::Last);
        for date in 0..self.tree.nodes[entry].dates.len() {
            let (here, came) = (self.time(entry, date), self.amount(entry, group, date)?);
            let row = vec![(Some(last), 1), (Some(came), -1), (Some(here), bucket.rate)];
            let first = &grouping.nodes[entry][group].stops;
            self.push(Term::Last(which, date, Natural::ZERO), first, row, bucket.burst)?;
        }
        let left = self.amount(0, root, self.tree.fifo_date(0, 0)?)?;
        self.program.objective.extend([(last, 1), (left, -1)]);
        Some(())
    }
}

/// A date of the tree, its parts by name.
struct Date {
    exit: usize,
    kind: DateKind,
}
