//! What the flows of a queue may bring together at most, whatever they could bear: room kept for others.
//!
//! First come, first served, early flows spend everyone's slack and room. A ceiling bounds what
//! one server gives away, so that those who cross several of them find some left at each; nobody crosses
//! a server with a ceiling of 0. Which ceilings serve a demand is a matter of trial ([`best_for`]); what is
//! promised never depends on them.

use crate::books::signed;
use crate::engine::{Decision, Engine, Method};
use crate::network::{Network, PortId};
use crate::request::Request;
use crate::reservation::Reservation;
use std::collections::BTreeMap;

/// How much of a queue is given away at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ceiling {
    /// Its delay is not raised beyond this, ns.
    pub delay_ns: u64,
    /// Σ of the rates in it and in those above it, bit/s.
    pub rate_bps: u64,
}

/// Ceilings of some queues; the others have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ceilings(BTreeMap<(PortId, u8), Ceiling>);

impl Ceilings {
    /// Limits a queue.
    pub fn set(&mut self, port: PortId, queue: u8, ceiling: Ceiling) {
        self.0.insert((port, queue), ceiling);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (PortId, usize, Ceiling)> {
        self.0.iter().map(|((port, queue), ceiling)| (*port, usize::from(*queue), *ceiling))
    }
}

impl Ceiling {
    /// Where the flows of a queue alone say how far it may go.
    pub(crate) const NONE: Self = Self { delay_ns: u64::MAX, rate_bps: u64::MAX };

    pub(crate) fn signed(self) -> (i64, i64) {
        (signed(self.delay_ns), signed(self.rate_bps))
    }
}

/// What an engine keeps for those to come, and how it decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// How it decides.
    pub method: Method,
    /// Where every queue starts, unless nothing is reserved.
    pub reservation: Reservation,
    /// How far raises may go.
    pub ceilings: Ceilings,
}

impl Kept {
    /// An engine over an empty network that decides with it.
    pub fn engine(&self, network: Network) -> Engine {
        Engine::new(network, self.method, self.reservation).limited(&self.ceilings)
    }
}

/// Of some candidates the one under which most flows of the expected lists are held, each list
/// decided in order from an empty network; the first of several such. `None` without candidates.
///
/// As sound as any other for whoever comes: a bad forecast costs acceptance only.
pub fn best_for<'a>(
    network: &Network,
    candidates: &'a [Kept],
    expected: &[Vec<Request>],
) -> Option<&'a Kept> {
    let held = |kept: &Kept| -> usize {
        let empty = kept.engine(network.clone());
        let count = |list: &Vec<Request>| {
            let mut engine = empty.clone();
            let is_held = |one: &&Request| matches!(engine.decide(one), Decision::Accepted(_));
            list.iter().filter(is_held).count()
        };
        expected.iter().map(count).sum()
    };
    let scored = candidates.iter().enumerate().map(|(at, kept)| (held(kept), at));
    let best = scored.max_by_key(|(held, at)| (*held, std::cmp::Reverse(*at)))?;
    candidates.get(best.1)
}
