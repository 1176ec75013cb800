//! A linear proof: named inequalities, rebuilt, multiplied, added; boxes pay what is left over.

use super::net::Net;
use super::read::{Date, Kind, Natural, Proof, Stop, Term};
use super::service::FINE;
use super::tree::{Flaw, Place, Tree};
use super::ways::Groups;
use crate::kernel::exact::Line;
use crate::kernel::exact::ceil_div;
use num_bigint::BigInt;
use num_traits::Signed;
use std::collections::{BTreeMap, BTreeSet};

/// What a proof is to bound.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Objective {
    /// The way of data from the entrance of a node to the exit of the root: of the flow with that
    /// visit at the root, if it has to be of one flow.
    Delay { from: usize, of: Option<Stop> },
    /// The burst of a flow behind the root; its visit there.
    Burst { stop: Stop },
}

/// An unknown. Dates count back from the exit of the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unknown {
    Time(Place),
    /// What a group had brought to a node by a date.
    Amount(usize, usize, usize),
    /// What a group that ends at a node had left it by a date at its exit; no FIFO date says so.
    Left(usize, usize, usize),
    /// When the data whose delay is bounded had entered, if dates do not say so.
    Entry,
    /// What the flow whose burst is bounded had brought in the end.
    Last,
}

/// The sum so far.
pub(super) struct Sum<'a> {
    pub(super) tree: &'a Tree<'a>,
    pub(super) groups: Groups,
    left: BTreeMap<Unknown, BigInt>,
    pub(super) most: BigInt,
    /// Weights of inequalities between times, and between amounts.
    pub(super) of_time: BigInt,
    pub(super) of_data: BigInt,
    /// The bucket of the flow whose burst is bounded, once a term has named it.
    which: Option<usize>,
}

/// What a proof gives: ps, or 10⁻¹⁸ bit and the rate in 10⁻⁶ bit/s.
pub(crate) struct Proved {
    pub(crate) most: BigInt,
    pub(crate) rate: BigInt,
}

/// Adds everything up.
pub(crate) fn proved(net: &Net<'_>, proof: &Proof, objective: Objective) -> Result<Proved, Flaw> {
    let (time_parts, data_parts) = (&proof.time_parts.0, &proof.data_parts.0);
    if !time_parts.is_positive() || !data_parts.is_positive() {
        return Err("multipliers in zeroth parts".into());
    }
    let is_burst = matches!(objective, Objective::Burst { .. });
    let tree = Tree::new(net, &proof.nodes, is_burst)?;
    // The flow that is looked at by itself.
    let never = match objective {
        Objective::Delay { of, .. } if tree.fifo(0, 0).is_err() => of.map(|stop| stop.0),
        Objective::Delay { .. } => None,
        Objective::Burst { stop } => Some(stop.0),
    };
    let groups = tree.groups(&named(proof, never), never);
    let mut under = time_parts * data_parts;
    if matches!(objective, Objective::Delay { .. }) {
        under *= FINE;
    }
    let mut sum = Sum {
        tree: &tree,
        groups,
        left: BTreeMap::new(),
        most: BigInt::ZERO,
        of_time: data_parts * FINE,
        of_data: time_parts.clone(),
        which: None,
    };
    for (index, term) in proof.terms.iter().enumerate() {
        let paid = tree.spend(digits(&[time_parts, data_parts]));
        paid.and_then(|()| sum.term(term, objective))
            .map_err(|flaw| format!("term {index}: {flaw}"))?;
    }
    sum.objective(objective, &under)?;
    sum.boxes(objective)?;
    let rate = sum.bucket(objective)?.map(|bucket| bucket.rate).unwrap_or_default();
    Ok(Proved { most: ceil_div(sum.most, under), rate })
}

/// Digits of 64 bits of all these together.
fn digits(numbers: &[&BigInt]) -> usize {
    let bits: u64 = numbers.iter().map(|number| number.bits()).sum();
    1 + usize::try_from(bits / 64).unwrap_or(usize::MAX)
}

/// Flows that are named by themselves.
fn named(proof: &Proof, never: Option<usize>) -> BTreeSet<usize> {
    let name = |term: &Term| match term {
        Term::Monotone(_, stop, ..) | Term::Arrival(_, stop, ..) => Some(stop.0),
        _ => None,
    };
    proof.terms.iter().filter_map(name).chain(never).collect()
}

impl Sum<'_> {
    fn term(&mut self, term: &Term, objective: Objective) -> Result<(), Flaw> {
        match *term {
            Term::Order(node, early, late, ref m) => self.order(node, early, late, m),
            Term::Causal(node, date, ref m) => self.causal(node, date, m),
            Term::Delay(node, date, ref m) => self.delay(node, date, m),
            Term::Monotone(node, stop, early, late, ref m) => {
                self.monotone(node, &[self.at(node, stop)?], (early, late), m)
            }
            Term::AllMonotone(node, stop, early, late, ref m) => {
                self.monotone(node, &self.like(node, stop)?, (early, late), m)
            }
            Term::Arrival(node, stop, which, early, late, ref m) => {
                let group = self.at(node, stop)?;
                // Its buckets are those where it is named, which need not be where it enters.
                let bucket = self.tree.net.buckets(stop).get(which).ok_or("no such bucket")?;
                self.bounded(node, &[group], bucket, (early, late), m)
            }
            Term::AllArrival(node, stop, which, early, late, ref m) => {
                let groups = self.like(node, stop)?;
                let sum = self.together(node, &groups, which)?;
                self.bounded(node, &groups, &sum, (early, late), m)
            }
            Term::Line(node, from, early, late, ref m) => self.line(node, from, (early, late), m),
            Term::Passed(node, stop, early, late, ref m) => {
                self.passed(node, stop, (early, late), m)
            }
            Term::Service(node, date, which, ref m) => self.service(node, date, which, m),
            Term::Last(which, date, ref m) => self.last(which, date, m, objective),
            Term::Left(node, stop, date, ref m) => self.left_later(node, stop, date, m),
            Term::Through(node, stop, which, date, last, ref m) => {
                self.through(node, stop, which, (date, last), m)
            }
            Term::Into(node, from, date, last, ref m) => self.into(node, from, (date, last), m),
            Term::Over(node, date, last, ref m) => self.over(node, (date, last), m),
            Term::Entered(which, ref m) => self.entered(objective, which, m),
            Term::Since(ref m) => self.since(objective, m),
        }
    }

    fn in_order(&self, node: usize, early: usize, late: usize) -> Result<(), Flaw> {
        let is = self.tree.are_in_order(node, early, late)?;
        if is { Ok(()) } else { Err(format!("dates {early}, {late} of node {node} in no order")) }
    }

    fn order(&mut self, node: usize, early: usize, late: usize, m: &Natural) -> Result<(), Flaw> {
        self.in_order(node, early, late)?;
        let weight = &self.of_time * &m.0;
        self.time((node, early), &weight);
        self.time((node, late), &-weight);
        Ok(())
    }

    fn causal(&mut self, node: usize, date: usize, m: &Natural) -> Result<(), Flaw> {
        let exit = self.tree.exit(node, date)?;
        let weight = &self.of_time * &m.0;
        self.time((node, date), &weight);
        self.exit(exit, &-weight);
        Ok(())
    }

    fn delay(&mut self, node: usize, date: usize, m: &Natural) -> Result<(), Flaw> {
        if self.tree.date(node, date)?.1 != Kind::Fifo {
            return Err("a delay leads to a FIFO date".into());
        }
        let exit = self.tree.exit(node, date)?;
        let weight = &self.of_time * &m.0;
        let delay = self.tree.nodes[node].delay_ps;
        self.most += &weight * delay.ok_or("of a node whose delay nothing bounds")?;
        self.exit(exit, &weight);
        self.time((node, date), &-weight);
        Ok(())
    }

    /// What comes over one line comes no faster than it.
    fn line(
        &mut self,
        node: usize,
        from: usize,
        dates: (usize, usize),
        m: &Natural,
    ) -> Result<(), Flaw> {
        let is_there = from < self.tree.net.graph.servers.len();
        let line = self.tree.net.line(from.min(self.tree.net.stops.len() - 1));
        let line = line.filter(|_| is_there).ok_or("no such line")?;
        let here = self.tree.nodes.get(node).ok_or("no such node")?.server;
        self.tree.spend(self.tree.net.stops[here].len())?;
        let stops = self.tree.net.stops[here].iter();
        let is_from = |s: &&Stop| self.tree.net.earlier(**s).is_some_and(|(_, f)| f == from);
        // Those of a way come from one server, here too: a group does so as a whole.
        let groups: BTreeSet<usize> =
            stops.filter(is_from).filter_map(|s| self.groups.of(node, *s)).collect();
        let groups: Vec<usize> = groups.into_iter().collect();
        self.bounded(node, &groups, &line, dates, m)
    }

    /// The group of a flow's visit at a node.
    pub(super) fn at(&self, node: usize, stop: Stop) -> Result<usize, Flaw> {
        let group = self.groups.of(node, stop);
        group.ok_or_else(|| format!("flow {}, visit {}: not at node {node}", stop.0, stop.1))
    }

    /// All groups that go the way of a flow's visit at a node.
    pub(super) fn like(&self, node: usize, stop: Stop) -> Result<Vec<usize>, Flaw> {
        self.at(node, stop)?;
        let groups = self.groups.like(node, stop).ok_or("that flow is in no group")?;
        self.tree.spend(groups.len())?;
        Ok(groups)
    }

    /// The sum of one bucket of every flow of some groups, as they are known where it is named.
    fn together(&self, node: usize, groups: &[usize], which: usize) -> Result<Line, Flaw> {
        let mut sum = Line { burst: BigInt::ZERO, rate: BigInt::ZERO };
        let stops = &self.tree.net.stops[self.tree.nodes[node].server];
        self.tree.spend(stops.len())?;
        let groups: BTreeSet<usize> = groups.iter().copied().collect();
        for &stop in stops {
            if self.groups.of(node, stop).is_some_and(|group| groups.contains(&group)) {
                let bucket = self.tree.net.buckets(stop).get(which).ok_or("no such bucket")?;
                sum.burst += &bucket.burst;
                sum.rate += &bucket.rate;
            }
        }
        Ok(sum)
    }

    fn monotone(
        &mut self,
        node: usize,
        groups: &[usize],
        (early, late): (usize, usize),
        multiplier: &Natural,
    ) -> Result<(), Flaw> {
        self.in_order(node, early, late)?;
        let weight = &self.of_data * &multiplier.0;
        self.between(node, groups, (early, late), &-weight)
    }

    /// No more comes to a node than has left the one before, of flows that all go the same way.
    fn passed(
        &mut self,
        node: usize,
        stop: Stop,
        (early, late): (usize, usize),
        multiplier: &Natural,
    ) -> Result<(), Flaw> {
        self.in_order(node, early, late)?;
        let here = self.like(node, stop)?;
        let before = self.tree.child(node, stop);
        let (child, earlier) = before.ok_or("nothing of it is in front of that node")?;
        let there = self.like(child, earlier)?;
        if self.flows(&here)? != self.flows(&there)? {
            return Err("others go that way in front of that node".into());
        }
        let (out_early, out_late) = (self.tree.fifo(child, early)?, self.tree.fifo(child, late)?);
        let weight = &self.of_data * &multiplier.0;
        self.between(node, &here, (early, late), &weight)?;
        self.between(child, &there, (out_early, out_late), &-weight)
    }

    /// The flows of some groups.
    fn flows(&self, groups: &[usize]) -> Result<BTreeSet<usize>, Flaw> {
        let mut flows = BTreeSet::new();
        for group in groups.iter().map(|&group| &self.groups.all[group]) {
            self.tree.spend(group.members.len())?;
            flows.extend(group.members.iter().map(|member| member.0));
        }
        Ok(flows)
    }

    pub(super) fn add(&mut self, unknown: Unknown, weight: &BigInt) {
        *self.left.entry(unknown).or_default() -= weight;
    }

    pub(super) fn time(&mut self, place: Place, weight: &BigInt) {
        self.add(Unknown::Time(place), weight);
    }

    pub(super) fn exit(&mut self, exit: Option<Place>, weight: &BigInt) {
        // The exit of the root is where time is zero.
        if let Some(place) = exit {
            self.time(place, weight);
        }
    }

    /// The name of an amount: what has come by a FIFO date has left by the date behind it.
    fn name(&self, node: usize, group: usize, date: usize) -> Result<Unknown, Flaw> {
        let last = self.groups.all[group].way.last;
        let (mut node, mut date) = (node, date);
        while let Date(exit, Kind::Fifo) = self.tree.date(node, date)?
            && node != last
            && let Some(next) = self.tree.nodes[node].next
        {
            self.tree.spend(1)?;
            (node, date) = (next, exit);
        }
        Ok(Unknown::Amount(node, group, date))
    }

    pub(super) fn amount(
        &mut self,
        node: usize,
        group: usize,
        date: usize,
        weight: &BigInt,
    ) -> Result<(), Flaw> {
        self.tree.spend(digits(&[weight]))?;
        let name = self.name(node, group, date)?;
        self.add(name, weight);
        Ok(())
    }

    /// Σ (late − early), so many times.
    fn between(
        &mut self,
        node: usize,
        groups: &[usize],
        (early, late): (usize, usize),
        weight: &BigInt,
    ) -> Result<(), Flaw> {
        for &group in groups {
            self.amount(node, group, late, weight)?;
            self.amount(node, group, early, &-weight)?;
        }
        Ok(())
    }

    /// Σ (late − early) ≤ burst + rate·(t(late) − t(early)).
    fn bounded(
        &mut self,
        node: usize,
        groups: &[usize],
        bucket: &Line,
        (early, late): (usize, usize),
        multiplier: &Natural,
    ) -> Result<(), Flaw> {
        self.in_order(node, early, late)?;
        let weight = &self.of_data * &multiplier.0;
        self.between(node, groups, (early, late), &weight)?;
        let by_time = &weight * &bucket.rate;
        self.time((node, early), &by_time);
        self.time((node, late), &-by_time);
        self.most += weight * &bucket.burst;
        Ok(())
    }

    fn service(&mut self, node: usize, date: usize, which: usize, m: &Natural) -> Result<(), Flaw> {
        let derived = self.tree.date(node, date)?;
        if derived.1 != Kind::Service {
            return Err("service counts from service dates".into());
        }
        let server = self.tree.nodes[node].server;
        let piece = self.tree.net.graph.servers[server].service.get(which);
        let piece = *piece.ok_or("no such rate-latency")?;
        let weight = &self.of_data * &m.0;
        let groups: Vec<usize> = self.groups.at[node].iter().copied().collect();
        for group in groups {
            self.amount(node, group, date, &weight)?;
            self.left_by(node, group, derived.0, &-&weight)?;
        }
        let by_time = &weight * piece.rate_ubps;
        self.time((node, date), &-&by_time);
        self.exit(self.tree.exit(node, date)?, &by_time);
        let later = BigInt::from(piece.rate_ubps) * piece.latency_ps + self.tree.held(node);
        self.most += weight * later;
        Ok(())
    }

    /// The bucket whose burst grows, where the flow enters the tree.
    fn bucket(&self, objective: Objective) -> Result<Option<Line>, Flaw> {
        let (Objective::Burst { stop }, Some(which)) = (objective, self.which) else {
            return Ok(None);
        };
        let (_, first) = self.tree.entry(0, stop);
        let bucket = self.tree.net.buckets(first).get(which).cloned();
        bucket.ok_or_else(|| "no such bucket".to_owned()).map(Some)
    }

    /// last − brought by a date ≤ burst + rate·(time of the root's exit − t).
    fn last(
        &mut self,
        which: usize,
        date: usize,
        m: &Natural,
        objective: Objective,
    ) -> Result<(), Flaw> {
        let Objective::Burst { stop } = objective else {
            return Err("a delay has no last arrivals".into());
        };
        if self.which.is_some_and(|before| before != which) {
            return Err("of several buckets".into());
        }
        self.which = Some(which);
        let bucket = self.bucket(objective)?.ok_or("no bucket")?;
        let (entry, first) = self.tree.entry(0, stop);
        self.tree.date(entry, date)?;
        let weight = &self.of_data * &m.0;
        self.add(Unknown::Last, &weight);
        let group = self.at(entry, first)?;
        self.amount(entry, group, date, &-&weight)?;
        self.time((entry, date), &(&weight * &bucket.rate));
        self.most += weight * bucket.burst;
        Ok(())
    }

    fn objective(&mut self, objective: Objective, under: &BigInt) -> Result<(), Flaw> {
        match objective {
            Objective::Delay { .. } if self.tree.fifo(0, 0).is_err() => {
                self.add(Unknown::Entry, under);
            }
            Objective::Delay { from, .. } => {
                // FIFO dates all the way: where data entered that leaves the root at its exit.
                let mut way = vec![from];
                while let Some(next) = self.tree.nodes[way[way.len() - 1]].next {
                    way.push(next);
                }
                let mut exit = 0;
                self.tree.spend(way.len())?;
                for node in way.into_iter().rev() {
                    exit = self.tree.fifo(node, exit)?;
                }
                self.time((from, exit), under);
            }
            Objective::Burst { stop } => {
                if self.which.is_none() {
                    return Err("nothing bounds the last arrivals".into());
                }
                self.add(Unknown::Last, &-under);
                let group = self.at(0, stop)?;
                self.left_by(0, group, 0, under)?;
            }
        }
        Ok(())
    }

    /// What is left over is at most this: dates lie within the delays and busy periods of the
    /// nodes behind them; amounts of a flow add up to nothing, so that they are differences.
    fn boxes(&mut self, objective: Objective) -> Result<(), Flaw> {
        let mut balance: BTreeMap<usize, BigInt> = BTreeMap::new();
        let mut repaid = BigInt::ZERO;
        let grown = self.bucket(objective)?.map(|bucket| (self.last_group(objective), bucket));
        for (unknown, rest) in &self.left {
            let group = match *unknown {
                Unknown::Time((node, date)) => {
                    if rest.is_negative() {
                        repaid -= rest * self.tree.reach(node, date)?;
                    }
                    continue;
                }
                Unknown::Entry => {
                    if rest.is_negative() {
                        let (node, _, date) = self.start(objective)?;
                        repaid -= rest * self.tree.reach(node, date)?;
                    }
                    continue;
                }
                Unknown::Amount(_, group, _) | Unknown::Left(_, group, _) => group,
                Unknown::Last => self.last_group(objective).ok_or("no last arrivals")?,
            };
            *balance.entry(group).or_default() += rest;
            if rest.is_positive() {
                let of = &self.groups.all[group];
                let depth = self.tree.depth(of.way.entry)?;
                self.tree.spend(of.members.len())?;
                let mut width = of.width(self.tree.net, &depth).ok_or("a flow without a bucket")?;
                if let Some((grows, bucket)) = &grown
                    && *grows == Some(group)
                {
                    width += bucket.within(&depth);
                }
                repaid += rest * width;
            }
        }
        if balance.values().any(|sum| *sum != BigInt::ZERO) {
            return Err("amounts of a flow are left over on one side".into());
        }
        self.most += repaid;
        Ok(())
    }

    /// The flow whose burst is bounded: a group by itself.
    fn last_group(&self, objective: Objective) -> Option<usize> {
        match objective {
            Objective::Delay { .. } => None,
            Objective::Burst { stop } => self.groups.of(0, stop),
        }
    }
}
