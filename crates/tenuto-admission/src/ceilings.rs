//! How far a queue's delay is raised at most, whatever its flows could bear: room kept for others.
//!
//! First come, first served, early flows spend everyone's slack and room. A ceiling bounds what
//! one server gives away, so that those who cross several of them find some left at each; nobody crosses
//! a server with a ceiling of 0. Which ceilings serve a demand is a matter of trial ([`best_for`],
//! [`narrowed`]); what is promised never depends on them.

use crate::books::signed;
use crate::engine::{Decision, Engine, Method};
use crate::network::{Network, PortId};
use crate::request::Request;
use crate::reservation::Reservation;
use std::collections::BTreeMap;

/// Hundredths of a ceiling that are tried at a server: closed, and a little lower.
const TRIED_PERCENT: [u64; 2] = [0, 85];
/// A change that holds no more than one flow in so many lists is chance.
const CHANCE_LISTS: usize = 32;
/// A trial is dropped when it is behind after one part in so many of the lists.
const BEHIND_PARTS: usize = 8;

/// The delay that a queue is not raised beyond, ns; those not named have no ceiling.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ceilings(BTreeMap<(PortId, u8), u64>);

impl Ceilings {
    /// Limits a queue to a delay, ns.
    pub fn set(&mut self, port: PortId, queue: u8, delay_ns: u64) {
        self.0.insert((port, queue), delay_ns);
    }

    /// The ceiling of a queue, ns.
    pub fn get(&self, port: PortId, queue: u8) -> Option<u64> {
        self.0.get(&(port, queue)).copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (PortId, usize, i64)> {
        self.0.iter().map(|((port, queue), ns)| (*port, usize::from(*queue), signed(*ns)))
    }
}

/// The room that an engine keeps for those to come, and how it decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// How it decides.
    pub method: Method,
    /// Where every queue starts; `exact` starts from nothing, whatever is said here.
    pub reservation: Reservation,
    /// How far raises may go.
    pub ceilings: Ceilings,
}

impl Kept {
    /// An engine over an empty network that decides with it.
    pub fn engine(&self, network: Network) -> Engine {
        Engine::new(network, self.method, self.reservation).limited(&self.ceilings)
    }

    /// Flows held of some lists, each decided in order from an empty network.
    pub fn holds(&self, network: &Network, lists: &[Vec<Request>]) -> usize {
        self.counts(network, lists).sum()
    }

    /// Flows held, list by list.
    fn counts(&self, network: &Network, lists: &[Vec<Request>]) -> impl Iterator<Item = usize> {
        let empty = self.engine(network.clone());
        lists.iter().map(move |list| {
            let mut engine = empty.clone();
            let is_held = |one: &&Request| matches!(engine.decide(one), Decision::Accepted(_));
            list.iter().filter(is_held).count()
        })
    }

    /// Flows held of each list if that is more, by more than chance, than `known` of them; as soon as it is
    /// behind by as much on the lists so far, no more are decided.
    fn holds_more(
        &self,
        network: &Network,
        lists: &[Vec<Request>],
        known: &[usize],
        chance: usize,
    ) -> Option<Vec<usize>> {
        let mut held = Vec::with_capacity(lists.len());
        let (mut sum, mut sum_known) = (0, 0);
        for (count, known) in self.counts(network, lists).zip(known) {
            held.push(count);
            (sum, sum_known) = (sum + count, sum_known + known);
            if held.len() * BEHIND_PARTS >= lists.len() && sum + chance < sum_known {
                return None;
            }
        }
        (sum > sum_known + chance).then_some(held)
    }
}

/// Of some candidates, the simplest first, the one that holds most flows of the expected lists; a
/// later one has to hold more than chance gives it. `None` without candidates. `told` hears how many are done.
///
/// As sound as any other for whoever comes: a bad forecast costs acceptance only.
pub fn best_for<'a>(
    network: &Network,
    candidates: &'a [Kept],
    expected: &[Vec<Request>],
    told: &mut dyn FnMut(usize),
) -> Option<&'a Kept> {
    let chance = expected.len() / CHANCE_LISTS;
    let (mut best, others) = candidates.split_first()?;
    let mut known: Vec<usize> = best.counts(network, expected).collect();
    for (done, kept) in (1..).zip(others) {
        told(done);
        if let Some(held) = kept.holds_more(network, expected, &known, chance) {
            (best, known) = (kept, held);
        }
    }
    Some(best)
}

/// A candidate with lower ceilings at some of `servers`, one after the other, where that holds more of
/// the expected lists; `most_ns` stands for a ceiling where there is none. `told` hears how many
/// of the servers are done.
#[must_use]
pub fn narrowed(
    network: &Network,
    mut best: Kept,
    servers: &[PortId],
    most_ns: u64,
    expected: &[Vec<Request>],
    told: &mut dyn FnMut(usize),
) -> Kept {
    let chance = expected.len() / CHANCE_LISTS;
    let mut known: Vec<usize> = best.counts(network, expected).collect();
    for (done, server) in servers.iter().enumerate() {
        told(done);
        for percent in TRIED_PERCENT {
            let known_ns = best.ceilings.get(*server, 0).map_or(most_ns, |ns| ns.min(most_ns));
            let mut tried = best.clone();
            tried.ceilings.set(*server, 0, known_ns.saturating_mul(percent) / 100);
            if let Some(held) = tried.holds_more(network, expected, &known, chance) {
                (best, known) = (tried, held);
            }
        }
    }
    best
}
