//! Proofs: plain integers that say which sound inequalities, added up, give a bound.
//!
//! Nothing in a proof is believed. The checker rebuilds every inequality that a term names from
//! the description, multiplies, adds, and pays what is left over with boxes that it proves itself
//! (docs/theory/end-to-end.md).

use crate::natural::Natural;
use serde::{Deserialize, Serialize};
use tenuto_calculus::Bucket;
use tenuto_units::Picos;

/// Whether a date looks back by the order of service or by the amount of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DateKind {
    /// The last instant by which no more had arrived than has left by the later date.
    Fifo,
    /// An instant from which the service curve counts up to the later date.
    Service,
}

/// A date at the entrance of a node, derived from a date at its exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Date(
    /// The later date: an index into the dates of the next node; 0 at the root, whose exit has
    /// one date only.
    pub usize,
    /// How it is derived.
    pub DateKind,
);

/// A server of the tree that a linear program looks at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Index of the server.
    pub server: usize,
    /// The node towards the root, of a lower index; `None` at the root, which is node 0.
    pub next: Option<usize>,
    /// How long data is under way in the server at most: its certified delay, or else one that
    /// follows from the curves at the node; `None` if nothing bounds it.
    pub delay_ps: Option<i128>,
    /// How far a service date lies before its later date at most; `None` if nothing bounds it, as
    /// where a server is loaded as fast as it serves.
    pub busy_ps: Option<i128>,
    /// Dates at its entrance.
    pub dates: Vec<Date>,
}

/// One inequality and its multiplier, in units of 1/`parts` of the proof. Nodes, dates, flows and
/// servers are indices. Pairs of dates are (earlier, later) and are in that order in every
/// trajectory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Term {
    /// t(early) ≤ t(late): node, early, late, multiplier.
    Order(usize, usize, usize, Natural),
    /// A date is not after the one it is derived from: node, date, multiplier.
    Causal(usize, usize, Natural),
    /// What a flow brought does not shrink: node, flow's visit (flow, visit), early, late,
    /// multiplier.
    Monotone(usize, (usize, usize), usize, usize, Natural),
    /// A bucket bounds what a flow brings: node, (flow, visit), which bucket, early, late,
    /// multiplier. Buckets are those of the source, grown by the certified delays before the
    /// visit, then the certified bursts of this visit.
    Arrival(usize, (usize, usize), usize, usize, usize, Natural),
    /// As [`Term::Monotone`], of all flows together that go the same way through the tree as the
    /// one that is named: they enter it at one node, from one server, with as many buckets, and
    /// end at one node; the flow whose burst is bounded is in no such group.
    #[serde(rename = "all-monotone")]
    AllMonotone(usize, (usize, usize), usize, usize, Natural),
    /// As [`Term::Arrival`], of all flows that go the same way: the sum of their buckets.
    #[serde(rename = "all-arrival")]
    AllArrival(usize, (usize, usize), usize, usize, usize, Natural),
    /// A line bounds what comes from one server: node, server that it comes from, early, late,
    /// multiplier.
    Line(usize, usize, usize, usize, Natural),
    /// The service between a service date and the date it is derived from: node, date, which
    /// rate-latency, multiplier.
    Service(usize, usize, usize, Natural),
    /// The delay of the node, between a FIFO date and the date it is derived from:
    /// node, date, multiplier.
    Delay(usize, usize, Natural),
    /// What comes to a node of flows that may be dropped is no more than what has left the node
    /// before: node, (flow, visit), early, late, multiplier. Of all flows that go the same way.
    Passed(usize, (usize, usize), usize, usize, Natural),
    /// The last arrivals of the flow whose burst is bounded: which bucket, date at the node where
    /// the flow enters the tree, multiplier. Only in proofs of bursts.
    Last(usize, usize, Natural),
    /// What had come to a node by a service date has left it by the date behind: node,
    /// (flow, visit), date, multiplier.
    Left(usize, (usize, usize), usize, Natural),
    /// A bucket bounds what comes from a date on, so what has left a later node: node,
    /// (flow, visit), which bucket, date at the node, the later node, multiplier. Counted up to
    /// the exit of the later node that the date is derived from.
    Through(usize, (usize, usize), usize, usize, usize, Natural),
    /// A line bounds what comes to a node from one server, so what of it has left a later node:
    /// node, server that it comes from, date at the node, the later node, multiplier. Flows that end
    /// before count with what has left the last of their nodes.
    Into(usize, usize, usize, usize, Natural),
    /// The line behind a node bounds what leaves it for the next one from a date on, so what of it has
    /// left a later node: node, date there, the later node (or the same), multiplier. Flows that end
    /// before count as in [`Term::Into`].
    Over(usize, usize, usize, Natural),
    /// The entry of the data whose delay is bounded: which bucket of its flow, multiplier.
    Entered(usize, Natural),
    /// That entry is not before the service date where the flow enters: multiplier.
    Since(Natural),
}

/// A sum of inequalities.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearProof {
    /// The tree, root first.
    pub nodes: Vec<Node>,
    /// Multipliers of inequalities between times count 1/`time_parts`.
    pub time_parts: Natural,
    /// Multipliers of inequalities between amounts of data count 1/`data_parts` ps per 10⁻⁶ bit
    /// (or, where a burst is bounded, the other way round).
    pub data_parts: Natural,
    /// What is added up.
    pub terms: Vec<Term>,
}

/// A bucket that bounds a flow where it arrives at a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BurstClaim {
    /// Index of the flow.
    pub flow: usize,
    /// Index of the visit.
    pub visit: usize,
    /// The bucket.
    pub bucket: Bucket,
    /// Why.
    pub proof: LinearProof,
}

/// Everything that is claimed on the way to the bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proofs {
    /// Whether lines are taken to bound what leaves a server together.
    pub line_shaping: bool,
    /// Per server: its delay by total flow analysis; null where there is none.
    pub server_delays_ps: Vec<Option<Picos>>,
    /// Bursts inside the network that linear programs prove, each from all the others.
    pub bursts: Vec<BurstClaim>,
    /// Per bound: its linear proof; null where the sum of server delays is the bound.
    pub linear: Vec<Option<LinearProof>>,
}

impl LinearProof {
    /// Whether it takes servers in any order: it looks at when the flow entered.
    pub fn is_for_any_order(&self) -> bool {
        self.terms.iter().any(|term| matches!(term, Term::Since(_) | Term::Entered(..)))
    }

    /// Nodes behind the root on the longest branch of the tree.
    pub fn nodes_behind_root(&self) -> usize {
        let mut depths: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let depth = node.next.and_then(|next| depths.get(next)).map_or(0, |next| next + 1);
            depths.push(depth);
        }
        depths.into_iter().max().unwrap_or(0)
    }

    /// The proof with other names for flows' visits.
    #[must_use]
    pub fn renamed(&self, name: impl Fn(usize, usize) -> (usize, usize)) -> Self {
        let mut proof = self.clone();
        for term in &mut proof.terms {
            if let Some((flow, visit)) = term.stop_mut() {
                (*flow, *visit) = name(*flow, *visit);
            }
        }
        proof
    }
}

impl Term {
    /// The flow's visit that it names.
    fn stop_mut(&mut self) -> Option<&mut (usize, usize)> {
        match self {
            Self::Monotone(_, stop, ..)
            | Self::Arrival(_, stop, ..)
            | Self::AllMonotone(_, stop, ..)
            | Self::AllArrival(_, stop, ..)
            | Self::Passed(_, stop, ..)
            | Self::Left(_, stop, ..)
            | Self::Through(_, stop, ..) => Some(stop),
            _ => None,
        }
    }

    /// Its multiplier.
    pub(crate) fn multiplier_mut(&mut self) -> &mut Natural {
        match self {
            Self::Order(.., m)
            | Self::Causal(.., m)
            | Self::Monotone(.., m)
            | Self::Arrival(.., m)
            | Self::AllMonotone(.., m)
            | Self::AllArrival(.., m)
            | Self::Line(.., m)
            | Self::Service(.., m)
            | Self::Delay(.., m)
            | Self::Passed(.., m)
            | Self::Last(.., m)
            | Self::Left(.., m)
            | Self::Through(.., m)
            | Self::Into(.., m)
            | Self::Over(.., m)
            | Self::Entered(.., m)
            | Self::Since(m) => m,
        }
    }
}
