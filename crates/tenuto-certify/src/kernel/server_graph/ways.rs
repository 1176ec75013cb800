//! Flows that go the same way through the tree of a proof: what holds of each holds of their sum,
//! and sums are what most inequalities are about.

use super::net::Net;
use super::read::Stop;
use crate::kernel::exact::Line;
use num_bigint::BigInt;
use std::collections::{BTreeMap, BTreeSet};

/// A way through a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Way {
    /// The node where its flows enter.
    pub(super) entry: usize,
    /// The last of its nodes.
    pub(super) last: usize,
    /// The server before the tree.
    pub(super) from: Option<usize>,
    /// How many buckets bound each flow where it enters.
    pub(super) buckets: usize,
    /// Of flows that may be dropped, which enter and end at every node: where they would enter and
    /// end else, and the server before the tree.
    pub(super) route: Option<(usize, usize, Option<usize>)>,
}

/// Flows of one way; a flow that a proof names by itself is a group of its own.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) way: Way,
    /// Their visits where they enter.
    pub(super) members: Vec<Stop>,
    /// Whether it may be named together with others of its way.
    pub(super) is_shared: bool,
}

impl Group {
    /// The sum of one bucket of every member.
    pub(super) fn bucket(&self, net: &Net<'_>, which: usize) -> Option<Line> {
        let mut sum = Line { burst: BigInt::ZERO, rate: BigInt::ZERO };
        for member in &self.members {
            let bucket = net.buckets(*member).get(which)?;
            sum.burst += &bucket.burst;
            sum.rate += &bucket.rate;
        }
        Some(sum)
    }

    /// How far apart two of its amounts may be within a time.
    pub(super) fn width(&self, net: &Net<'_>, span: &BigInt) -> Option<BigInt> {
        let width = |stop: &Stop| net.buckets(*stop).iter().map(|bucket| bucket.within(span)).min();
        self.members.iter().map(width).sum()
    }
}

/// All groups of a tree.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) all: Vec<Group>,
    /// Per node and visit there.
    by_stop: Vec<BTreeMap<Stop, usize>>,
    /// Per node: the groups there, each once.
    pub(super) at: Vec<BTreeSet<usize>>,
    by_way: BTreeMap<Way, Vec<usize>>,
}

/// A flow at a node.
pub(super) struct Member {
    pub(super) stop: Stop,
    pub(super) way: Way,
    /// Its visit where it enters.
    pub(super) first: Stop,
}

impl Groups {
    /// Puts flows together: `members` by node; `alone` are flows that are named by themselves, and
    /// `never` is in no group that others are in.
    pub(super) fn new(
        members: Vec<Vec<Member>>,
        alone: &BTreeSet<usize>,
        never: Option<usize>,
    ) -> Self {
        let mut this = Self::default();
        let mut numbers: BTreeMap<(Way, Option<usize>), usize> = BTreeMap::new();
        for (node, members) in members.into_iter().enumerate() {
            let (mut by_stop, mut here) = (BTreeMap::new(), BTreeSet::new());
            for Member { stop, way, first } in members {
                let own = alone.contains(&stop.0).then_some(stop.0);
                let number = *numbers.entry((way, own)).or_insert_with(|| {
                    let is_shared = never != Some(stop.0);
                    this.all.push(Group { way, members: Vec::new(), is_shared });
                    this.by_way.entry(way).or_default().push(this.all.len() - 1);
                    this.all.len() - 1
                });
                if way.entry == node {
                    this.all[number].members.push(first);
                }
                by_stop.insert(stop, number);
                here.insert(number);
            }
            this.by_stop.push(by_stop);
            this.at.push(here);
        }
        this
    }

    /// The group of a flow's visit at a node.
    pub(super) fn of(&self, node: usize, stop: Stop) -> Option<usize> {
        self.by_stop.get(node)?.get(&stop).copied()
    }

    /// All groups that go the same way as a flow's visit at a node.
    pub(super) fn like(&self, node: usize, stop: Stop) -> Option<Vec<usize>> {
        let group = &self.all[self.of(node, stop)?];
        let shared = self.by_way[&group.way].iter().filter(|&&other| self.all[other].is_shared);
        group.is_shared.then(|| shared.copied().collect())
    }
}
