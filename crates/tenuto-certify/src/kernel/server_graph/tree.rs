//! The tree of a linear proof: whether it is one, what its nodes claim, which dates are in order.

use super::net::{Asked, Net};
use super::read::{Date, Kind, Node, Stop};
use super::service::FINE;
use super::ways::{Groups, Member, Way};
use crate::kernel::exact::{Curve, Line};
use num_bigint::BigInt;
use std::collections::{BTreeMap, BTreeSet};

/// Nodes of a tree, and dates of a node, that are looked at.
const NODES_MAX: usize = 10_000;
const DATES_MAX: usize = 100_000;
/// Steps from flows at nodes to where they enter the tree: of one proof.
const STEPS_MAX: usize = 50_000_000;

/// What is computed for a step from a date to the next, for an amount or for a digit of 64 bits, in
/// the curves that the budget counts.
const STEP: usize = 64;
const TOO_LARGE: &str = "larger than what is looked at";

/// Why a proof is none.
pub(super) type Flaw = String;

/// A tree whose claims hold.
pub(super) struct Tree<'a> {
    pub(super) net: &'a Net<'a>,
    pub(super) nodes: &'a [Node],
    /// Whether what leaves the root counts in whole packets.
    is_root_packetized: bool,
    /// Per node and server before it: the child.
    children: BTreeMap<(usize, usize), usize>,
    /// Per node: where its dates stand.
    places: Vec<BTreeMap<Date, usize>>,
}

/// What a date at a node is derived from.
pub(super) type Place = (usize, usize);

impl<'a> Tree<'a> {
    pub(super) fn new(
        net: &'a Net<'a>,
        nodes: &'a [Node],
        is_root_packetized: bool,
    ) -> Result<Self, Flaw> {
        if nodes.is_empty() || nodes.len() > NODES_MAX {
            return Err(format!("{} nodes; 1 to {NODES_MAX}", nodes.len()));
        }
        let (children, places) = (BTreeMap::new(), Vec::with_capacity(nodes.len()));
        let mut tree = Self { net, nodes, is_root_packetized, children, places };
        let (mut depths, mut steps) = (Vec::with_capacity(nodes.len()), 0_usize);
        for (index, node) in nodes.iter().enumerate() {
            tree.shape(index, node).map_err(|flaw| format!("node {index}: {flaw}"))?;
            let depth = node.next.map_or(1, |next: usize| depths[next] + 1);
            depths.push(depth);
            steps = steps.saturating_add(net.stops[node.server].len().saturating_mul(depth));
            steps = steps.saturating_add(node.dates.len());
        }
        if !net.spend(steps.min(STEPS_MAX + 1)) || steps > STEPS_MAX {
            return Err(TOO_LARGE.into());
        }
        tree.claims()?;
        Ok(tree)
    }

    fn shape(&mut self, index: usize, node: &Node) -> Result<(), Flaw> {
        let stops = self.net.stops.get(node.server).ok_or("no such server")?;
        let is_fifo = self.net.is_fifo(node.server);
        if !is_fifo && node.dates.iter().any(|date| date.1 == Kind::Fifo) {
            return Err("its server is not first in, first out".into());
        }
        if stops.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err("a flow visits its server twice".into());
        }
        match node.next {
            None if index == 0 => {}
            Some(next) if index > 0 && next < index => {
                if self.children.insert((next, node.server), index).is_some() {
                    return Err("its server leads to the next node twice".into());
                }
            }
            _ => return Err("the root is node 0, others lead to nodes before them".into()),
        }
        let exits = node.next.map_or(1, |next| self.nodes[next].dates.len());
        if node.dates.len() > DATES_MAX || node.dates.iter().any(|date| date.0 >= exits) {
            return Err("a date is derived from none".into());
        }
        let places = node.dates.iter().enumerate().map(|(place, date)| (*date, place));
        let places: BTreeMap<Date, usize> = places.collect();
        if places.len() < node.dates.len() {
            return Err("a date stands there twice".into());
        }
        self.places.push(places);
        Ok(())
    }

    /// Delays and busy periods of the nodes, where one is claimed: mostly the servers by themselves
    /// keep within them.
    fn claims(&self) -> Result<(), Flaw> {
        let is_held = |(index, node): (usize, &Node)| {
            let busy = match self.is_packetized(index) {
                true => Asked::BusyPacketized,
                false => Asked::Busy,
            };
            let is_delay =
                |claim| self.is_claimed(node, claim) || self.within(node, Asked::Delay, claim);
            node.delay_ps.is_none_or(is_delay)
                && node.busy_ps.is_none_or(|claim| self.within(node, busy, claim))
        };
        match self.nodes.iter().enumerate().all(is_held) {
            true => Ok(()),
            false => self.claims_as_one(),
        }
    }

    /// Whether the delay of a node's server is claimed of the server too.
    fn is_claimed(&self, node: &Node, claim: i128) -> bool {
        self.net.delay(node.server).is_some_and(|delay| claim >= delay)
    }

    fn within(&self, node: &Node, asked: Asked, time_ps: i128) -> bool {
        time_ps >= 0 && self.net.is_within(node.server, asked, time_ps)
    }

    /// As [`Tree::claims`], leaves first: what enters a branch bounds what comes out of it.
    fn claims_as_one(&self) -> Result<(), Flaw> {
        // Per node: flows of which something is known there.
        let mut curves: Vec<BTreeMap<Stop, Vec<Line>>> = vec![BTreeMap::new(); self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate().rev() {
            let mut here = BTreeMap::new();
            for &stop in &self.net.stops[node.server] {
                let mut lines = self.net.buckets(stop).to_vec();
                lines.extend(self.left_behind(index, stop, &curves));
                if !lines.is_empty() {
                    here.insert(stop, lines);
                }
            }
            self.claim(index, &here)?;
            curves[index] = here;
        }
        Ok(())
    }

    /// What comes out of the node before, if it keeps it for a bounded time.
    fn left_behind(
        &self,
        node: usize,
        stop: Stop,
        curves: &[BTreeMap<Stop, Vec<Line>>],
    ) -> Vec<Line> {
        let before = self.child(node, stop);
        let known = before.and_then(|(child, earlier)| {
            let by = BigInt::from(self.nodes[child].delay_ps?);
            Some(curves[child].get(&earlier)?.iter().map(|line| line.later(&by)).collect())
        });
        known.unwrap_or_default()
    }

    /// Whether what comes to a node keeps its claims.
    fn claim(&self, index: usize, here: &BTreeMap<Stop, Vec<Line>>) -> Result<(), Flaw> {
        let node = &self.nodes[index];
        let open_delay = node.delay_ps.filter(|claim| !self.is_claimed(node, *claim));
        if open_delay.is_none() && node.busy_ps.is_none() {
            return Ok(());
        }
        let curve = |stop| here.get(&stop).cloned();
        let arrivals = self.net.arrivals(node.server, &curve);
        let arrivals = arrivals.ok_or_else(|| format!("node {index}: a flow has no bucket"))?;
        let lines = here.values().fold(0_usize, |sum, lines| sum.saturating_add(lines.len()));
        if !self.net.spend(lines) || !self.net.spend_on(node.server, &arrivals) {
            return Err(TOO_LARGE.into());
        }
        if let Some(claim) = open_delay
            && (claim < 0 || !self.is_delay(node.server, &arrivals, claim))
        {
            return Err(format!("node {index}: its delay exceeds {claim} ps"));
        }
        let service = self.net.service(node.server, self.held(index));
        if let Some(claim) = node.busy_ps
            && (claim < 0 || !service.catches_up(&arrivals, claim))
        {
            return Err(format!("node {index}: it may be busy over {claim} ps"));
        }
        Ok(())
    }

    fn is_delay(&self, server: usize, arrivals: &Curve, delay_ps: i128) -> bool {
        let service = self.net.service(server, BigInt::ZERO);
        match self.net.is_fifo(server) {
            true => service.keeps_up(arrivals, delay_ps),
            false => service.catches_up(arrivals, delay_ps),
        }
    }

    /// The part of the service that a packet may hold back: none at a root where data counts bit
    /// by bit.
    pub(super) fn held(&self, node: usize) -> BigInt {
        match self.is_packetized(node) {
            true => {
                BigInt::from(self.net.graph.servers[self.nodes[node].server].packet_ubit) * FINE
            }
            false => BigInt::ZERO,
        }
    }

    fn is_packetized(&self, node: usize) -> bool {
        self.nodes[node].next.is_some() || self.is_root_packetized
    }

    /// The groups of its flows; `alone` are named by themselves, `never` is in no other's.
    pub(super) fn groups(&self, alone: &BTreeSet<usize>, never: Option<usize>) -> Groups {
        let member = |node: usize, stop: Stop| {
            let (entry, first) = self.entry(node, stop);
            let from = |stop: Stop| self.net.earlier(stop).map(|(_, from)| from);
            let (before, last) = (from(first), self.last(node, stop));
            if self.net.graph.flows[stop.0].is_lossy {
                let (from, buckets) = (from(stop), self.net.buckets(stop).len());
                let route = Some((entry, last, before));
                let way = Way { entry: node, last: node, from, buckets, route };
                return Member { stop, way, first: stop };
            }
            let buckets = self.net.buckets(first).len();
            Member { stop, way: Way { entry, last, from: before, buckets, route: None }, first }
        };
        let at = |(index, node): (usize, &Node)| {
            self.net.stops[node.server].iter().map(|&stop| member(index, stop)).collect()
        };
        Groups::new(self.nodes.iter().enumerate().map(at).collect(), alone, never)
    }

    /// The last node of a flow.
    fn last(&self, mut node: usize, mut stop: Stop) -> usize {
        while let Some((next, onward)) = self.onward(node, stop) {
            (node, stop) = (next, onward);
        }
        node
    }

    /// The child that a flow comes from, and its visit there; `None` where it enters the tree.
    pub(super) fn child(&self, node: usize, stop: Stop) -> Option<(usize, Stop)> {
        let (earlier, from) = self.net.earlier(stop)?;
        Some((*self.children.get(&(node, from))?, earlier))
    }

    /// Where a flow enters the tree.
    pub(super) fn entry(&self, mut node: usize, mut stop: Stop) -> (usize, Stop) {
        while let Some((child, earlier)) = self.child(node, stop) {
            (node, stop) = (child, earlier);
        }
        (node, stop)
    }

    /// The next node, and the visit of a flow there if it goes on to it.
    fn onward(&self, node: usize, stop: Stop) -> Option<(usize, Stop)> {
        let next = self.nodes[node].next?;
        Some((next, self.net.onward(stop, self.nodes[next].server)?))
    }

    pub(super) fn date(&self, node: usize, date: usize) -> Result<Date, Flaw> {
        let dates = self.nodes.get(node).map(|node| &node.dates);
        dates
            .and_then(|dates| dates.get(date))
            .copied()
            .ok_or_else(|| format!("date {date} of node {node}: none"))
    }

    /// The place of the later date that a date is derived from; `None` for the root's exit.
    pub(super) fn exit(&self, node: usize, date: usize) -> Result<Option<Place>, Flaw> {
        let Date(exit, _) = self.date(node, date)?;
        Ok(self.nodes[node].next.map(|next| (next, exit)))
    }

    /// The FIFO date behind an exit date.
    pub(super) fn fifo(&self, node: usize, exit: usize) -> Result<usize, Flaw> {
        let found = self.place(node, Date(exit, Kind::Fifo));
        found.ok_or_else(|| format!("node {node}: no FIFO date behind {exit}"))
    }

    /// Where a date of a node stands.
    pub(super) fn place(&self, node: usize, date: Date) -> Option<usize> {
        self.places[node].get(&date).copied()
    }

    /// Takes so many steps of the terms.
    pub(super) fn spend(&self, steps: usize) -> Result<(), Flaw> {
        match self.net.spend(steps.saturating_mul(STEP)) {
            true => Ok(()),
            false => Err(TOO_LARGE.into()),
        }
    }

    /// Whether two dates of a node are in that order in every trajectory: dates of one kind are
    /// in the order of what they are derived from, and service dates before FIFO dates.
    pub(super) fn are_in_order(
        &self,
        node: usize,
        early: usize,
        late: usize,
    ) -> Result<bool, Flaw> {
        let (mut node, mut early, mut late) = (node, early, late);
        loop {
            self.spend(1)?;
            let (Date(a, kind_a), Date(b, kind_b)) =
                (self.date(node, early)?, self.date(node, late)?);
            if early == late {
                return Ok(true);
            }
            if (kind_a, kind_b) == (Kind::Fifo, Kind::Service) {
                return Ok(false);
            }
            match self.nodes[node].next {
                Some(next) if a != b => (node, early, late) = (next, a, b),
                _ => return Ok(true),
            }
        }
    }

    /// How far before the exit of the root anything of a node's path may lie.
    pub(super) fn depth(&self, node: usize) -> Result<BigInt, Flaw> {
        let (mut at, mut sum) = (Some(node), BigInt::ZERO);
        while let Some(index) = at {
            self.spend(1)?;
            let node = &self.nodes[index];
            let longest = node.delay_ps.zip(node.busy_ps).map(|(delay, busy)| delay.max(busy));
            sum += longest.ok_or("amounts are left over, and nothing bounds how long ago")?;
            at = node.next;
        }
        Ok(sum)
    }

    /// How far before the exit of the root a date may lie.
    pub(super) fn reach(&self, node: usize, date: usize) -> Result<BigInt, Flaw> {
        let (mut at, mut sum) = (Some((node, date)), BigInt::ZERO);
        while let Some((node, date)) = at {
            self.spend(1)?;
            let most = match self.date(node, date)?.1 {
                Kind::Fifo => self.nodes[node].delay_ps,
                Kind::Service => self.nodes[node].busy_ps,
            };
            sum += most.ok_or("time is left over, and nothing bounds how long ago that date is")?;
            at = self.exit(node, date)?;
        }
        Ok(sum)
    }
}
