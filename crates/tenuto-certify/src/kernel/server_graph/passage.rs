//! Terms that hold whatever the order of service: what passes from a service date at a node to
//! the exit of that node or a later one (docs/theory/end-to-end.md, "Any order").

use super::linear::{Objective, Sum, Unknown};
use super::read::{Date, Kind, Natural, Stop};
use super::tree::{Flaw, Place};
use crate::kernel::exact::Line;
use num_bigint::BigInt;
use std::collections::BTreeSet;

/// A chain of dates, from one at a node to one at the exit of a later node.
struct Passage {
    /// Per node on the way: the date at its exit, each later than the one before.
    exits: Vec<Place>,
    /// Where the last of them is.
    late: Option<Place>,
}

impl Passage {
    /// The date at the exit of the last node.
    fn exit(&self) -> usize {
        self.exits.last().map_or(0, |(_, exit)| *exit)
    }
}

impl Sum<'_> {
    /// Takes the amount of a group that has left a node by a date at its exit.
    pub(super) fn left_by(
        &mut self,
        node: usize,
        group: usize,
        exit: usize,
        weight: &BigInt,
    ) -> Result<(), Flaw> {
        if node != self.groups.all[group].way.last
            && let Some(next) = self.tree.nodes[node].next
        {
            return self.amount(next, group, exit, weight);
        }
        self.tree.spend(1)?;
        match self.tree.fifo(node, exit) {
            Ok(date) => self.amount(node, group, date, weight)?,
            Err(_) => self.add(Unknown::Left(node, group, exit), weight),
        }
        Ok(())
    }

    /// The groups that a flow's visit at a node stands for: all that go its way, or that flow
    /// alone if it is the one that is looked at by itself.
    fn meant(&self, node: usize, stop: Stop) -> Result<Vec<usize>, Flaw> {
        let group = self.at(node, stop)?;
        match self.groups.all[group].is_shared {
            true => self.like(node, stop),
            false => Ok(vec![group]),
        }
    }

    /// What had come by a service date has left by the date behind it.
    pub(super) fn left_later(
        &mut self,
        node: usize,
        stop: Stop,
        date: usize,
        m: &Natural,
    ) -> Result<(), Flaw> {
        let groups = self.meant(node, stop)?;
        let Date(exit, kind) = self.tree.date(node, date)?;
        if kind != Kind::Service {
            return Err("what had come by a FIFO date is what has left".into());
        }
        let weight = &self.of_data * &m.0;
        for group in groups {
            self.amount(node, group, date, &weight)?;
            self.left_by(node, group, exit, &-&weight)?;
        }
        Ok(())
    }

    /// Buckets bound what comes from a date on, so what has left a later node too.
    pub(super) fn through(
        &mut self,
        node: usize,
        stop: Stop,
        which: usize,
        (date, last): (usize, usize),
        m: &Natural,
    ) -> Result<(), Flaw> {
        let groups = self.meant(node, stop)?;
        let passage = self.passage(node, date, last)?;
        let weight = &self.of_data * &m.0;
        self.tree.spend(groups.len())?;
        let mut sum = Line { burst: BigInt::ZERO, rate: BigInt::ZERO };
        for group in groups {
            if self.groups.all[group].way.entry != node {
                return Err("flows are bounded where they enter".into());
            }
            self.tree.spend(passage.exits.len())?;
            if !self.passes(node, group, last) {
                return Err("the flow ends before that node".into());
            }
            self.tree.spend(self.groups.all[group].members.len())?;
            let bucket = self.groups.all[group].bucket(self.tree.net, which);
            let bucket = bucket.ok_or("no such bucket")?;
            sum.burst += bucket.burst;
            sum.rate += bucket.rate;
            self.left_by(last, group, passage.exit(), &weight)?;
            self.amount(node, group, date, &-&weight)?;
        }
        self.grown((node, date), &passage, &sum, &weight);
        Ok(())
    }

    /// A line bounds what comes to a node from one server.
    pub(super) fn into(
        &mut self,
        node: usize,
        from: usize,
        (date, last): (usize, usize),
        m: &Natural,
    ) -> Result<(), Flaw> {
        let passage = self.passage(node, date, last)?;
        let net = self.tree.net;
        let stops = &net.stops[self.tree.nodes[node].server];
        self.tree.spend(stops.len())?;
        let is_from = |s: &&Stop| net.earlier(**s).is_some_and(|(_, server)| server == from);
        // Those of a way come from one server, here too: a group does so as a whole.
        let groups: BTreeSet<usize> =
            stops.iter().filter(is_from).filter_map(|s| self.groups.of(node, *s)).collect();
        if groups.is_empty() {
            return Err("nothing comes from there".into());
        }
        let line = net.line(from).ok_or("no such line")?;
        self.by_line(groups, (node, date), &passage, &line, &(&self.of_data * &m.0))
    }

    /// The line behind a node bounds what has left it for the next one since a date at its entrance:
    /// no more had left by then than had come.
    pub(super) fn over(
        &mut self,
        node: usize,
        (date, last): (usize, usize),
        m: &Natural,
    ) -> Result<(), Flaw> {
        let passage = self.passage(node, date, last)?;
        self.tree.spend(self.groups.at[node].len())?;
        let goes_on = |group: &usize| self.groups.all[*group].way.last != node;
        let groups: BTreeSet<usize> =
            self.groups.at[node].iter().copied().filter(goes_on).collect();
        if groups.is_empty() {
            return Err("nothing goes on from there".into());
        }
        let line = self.tree.net.line(self.tree.nodes[node].server).ok_or("no such line")?;
        self.by_line(groups, (node, date), &passage, &line, &(&self.of_data * &m.0))
    }

    /// Σ (what has left − what had come) ≤ burst + rate·time, each group as far as it goes: what left
    /// an earlier node by its date has crossed the line by the last one.
    fn by_line(
        &mut self,
        groups: BTreeSet<usize>,
        early: Place,
        passage: &Passage,
        line: &Line,
        weight: &BigInt,
    ) -> Result<(), Flaw> {
        for group in groups {
            self.tree.spend(passage.exits.len())?;
            let end = self.groups.all[group].way.last;
            let ends = passage.exits.iter().find(|(node, _)| *node == end);
            let (node, exit) = *ends.or(passage.exits.last()).ok_or("a way without nodes")?;
            self.left_by(node, group, exit, weight)?;
            self.amount(early.0, group, early.1, &-weight)?;
        }
        self.grown(early, passage, line, weight);
        Ok(())
    }

    /// What has left the root of the flow had come by its entry: its bucket bounds that.
    pub(super) fn entered(
        &mut self,
        objective: Objective,
        which: usize,
        m: &Natural,
    ) -> Result<(), Flaw> {
        let (Objective::Delay { of: Some(stop), .. }, Err(_)) = (objective, self.tree.fifo(0, 0))
        else {
            return Err("only delays of one flow behind a service date have an entry".into());
        };
        let (node, first, date) = self.start(objective)?;
        let bucket = self.tree.net.buckets(first).get(which).cloned().ok_or("no such bucket")?;
        let weight = &self.of_data * &m.0;
        let group = self.at(0, stop)?;
        self.left_by(0, group, 0, &weight)?;
        self.amount(node, group, date, &-&weight)?;
        let by_time = &weight * &bucket.rate;
        self.time((node, date), &by_time);
        self.add(Unknown::Entry, &-by_time);
        self.most += weight * bucket.burst;
        Ok(())
    }

    /// The entry is not before the first service date of the way.
    pub(super) fn since(&mut self, objective: Objective, m: &Natural) -> Result<(), Flaw> {
        let (node, _, date) = self.start(objective)?;
        let weight = &self.of_time * &m.0;
        self.time((node, date), &weight);
        self.add(Unknown::Entry, &-weight);
        Ok(())
    }

    /// Where the flow enters, its visit there, and the date that is service dates all the way.
    pub(super) fn start(&self, objective: Objective) -> Result<(usize, Stop, usize), Flaw> {
        let Objective::Delay { from, of: Some(stop) } = objective else {
            return Err("only delays of one flow have an entry".into());
        };
        let (entry, first) = self.tree.entry(0, stop);
        if entry != from {
            return Err("the flow enters the tree elsewhere".into());
        }
        let mut way = vec![entry];
        while let Some(next) = self.tree.nodes[way[way.len() - 1]].next {
            way.push(next);
        }
        self.tree.spend(way.len())?;
        let mut exit = 0;
        for node in way.into_iter().rev() {
            let found = self.tree.place(node, Date(exit, Kind::Service));
            exit = found.ok_or_else(|| format!("node {node}: no service date on the way"))?;
        }
        Ok((entry, first, exit))
    }

    /// From a date at a node to the exit of another on the way to the root.
    fn passage(&self, node: usize, date: usize, last: usize) -> Result<Passage, Flaw> {
        let (mut node, mut date) = (node, date);
        let mut exits = Vec::new();
        loop {
            let Date(exit, _) = self.tree.date(node, date)?;
            self.tree.spend(1)?;
            exits.push((node, exit));
            if node == last {
                return Ok(Passage { exits, late: self.tree.exit(node, date)? });
            }
            let next = self.tree.nodes[node].next;
            (node, date) = (next.ok_or("that node is not on the way")?, exit);
        }
    }

    /// Whether a group goes on from a node to a later one, itself included.
    fn passes(&self, mut node: usize, group: usize, last: usize) -> bool {
        while node != last {
            let next = self.tree.nodes[node].next;
            let Some(next) = next.filter(|_| node != self.groups.all[group].way.last) else {
                return false;
            };
            node = next;
        }
        true
    }

    /// … ≤ burst + rate·(t(late) − t(early)).
    fn grown(&mut self, early: Place, passage: &Passage, line: &Line, weight: &BigInt) {
        let by_time = weight * &line.rate;
        self.time(early, &by_time);
        self.exit(passage.late, &-by_time);
        self.most += weight * &line.burst;
    }
}
