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

/// The delay that a queue is not raised beyond, ns; those not named have no ceiling.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ceilings(BTreeMap<(PortId, u8), u64>);

impl Ceilings {
    /// Limits a queue to a delay, ns.
    pub fn set(&mut self, port: PortId, queue: u8, delay_ns: u64) {
        self.0.insert((port, queue), delay_ns);
    }

    /// What a queue is limited to, ns.
    pub fn get(&self, port: PortId, queue: u8) -> Option<u64> {
        self.0.get(&(port, queue)).copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (PortId, usize, i64)> {
        self.0.iter().map(|((port, queue), ns)| (*port, usize::from(*queue), signed(*ns)))
    }
}

/// What an engine keeps for those to come, and how it decides.
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
        let empty = self.engine(network.clone());
        let count = |list: &Vec<Request>| {
            let mut engine = empty.clone();
            let is_held = |one: &&Request| matches!(engine.decide(one), Decision::Accepted(_));
            list.iter().filter(is_held).count()
        };
        lists.iter().map(count).sum()
    }
}

/// Of some candidates, the simplest first, the one that holds most flows of the expected lists; a
/// later one has to hold more than chance gives it. `None` without candidates.
///
/// As sound as any other for whoever comes: a bad forecast costs acceptance only.
pub fn best_for<'a>(
    network: &Network,
    candidates: &'a [Kept],
    expected: &[Vec<Request>],
) -> Option<&'a Kept> {
    let chance = expected.len() / CHANCE_LISTS;
    let mut best: Option<(&Kept, usize)> = None;
    for kept in candidates {
        let held = kept.holds(network, expected);
        if best.is_none_or(|(_, most)| held > most + chance) {
            best = Some((kept, held));
        }
    }
    best.map(|(kept, _)| kept)
}

/// The same with lower ceilings at some of `servers`, one after the other, where that holds more of
/// the expected lists; `most_ns` stands for a ceiling where there is none.
#[must_use]
pub fn narrowed(
    network: &Network,
    mut best: Kept,
    servers: &[PortId],
    most_ns: u64,
    expected: &[Vec<Request>],
) -> Kept {
    let chance = expected.len() / CHANCE_LISTS;
    let mut most = best.holds(network, expected);
    for server in servers {
        for percent in TRIED_PERCENT {
            let known_ns = best.ceilings.get(*server, 0).map_or(most_ns, |ns| ns.min(most_ns));
            let mut tried = best.clone();
            tried.ceilings.set(*server, 0, known_ns.saturating_mul(percent) / 100);
            let held = tried.holds(network, expected);
            if held > most + chance {
                (best, most) = (tried, held);
            }
        }
    }
    best
}
