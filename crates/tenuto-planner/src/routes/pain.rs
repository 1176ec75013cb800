//! What is wrong with a choice of routes, in numbers that are compared.

use std::collections::BTreeMap;

/// What every broken promise counts, besides by how much it is broken.
const BROKEN: u64 = 1_000_000;
/// The most that one broken promise counts: an unbounded delay, an overloaded port.
pub(crate) const WORST: u64 = 10 * BROKEN;

/// How far routes are from keeping every promise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Nothing if every promise holds; the less, the better.
    pub(crate) pain: u64,
    /// The share of ports in it, the most hurtful first.
    pub(crate) ports: Vec<(usize, u64)>,
    /// Trees with a broken deadline, the worst first.
    pub(crate) trees: Vec<(usize, u64)>,
}

/// What is wrong, as it is found.
#[derive(Default)]
pub(crate) struct Gathering {
    pub(crate) pain: u64,
    ports: BTreeMap<usize, u64>,
    pub(crate) trees: BTreeMap<usize, u64>,
}

impl Gathering {
    pub(crate) fn port(&mut self, server: usize, pain: u64) {
        let known = self.ports.entry(server).or_default();
        *known = known.saturating_add(pain);
    }

    pub(crate) fn done(self) -> Verdict {
        let worst_first = |all: BTreeMap<usize, u64>| {
            let mut all: Vec<(usize, u64)> = all.into_iter().collect();
            all.sort_by_key(|&(index, pain)| (std::cmp::Reverse(pain), index));
            all
        };
        let (ports, trees) = (worst_first(self.ports), worst_first(self.trees));
        Verdict { pain: self.pain, ports, trees }
    }
}

/// How much a need above a limit counts.
pub(crate) fn above(needed: u128, limit: u128) -> u64 {
    let excess = needed.saturating_sub(limit).saturating_mul(u128::from(BROKEN)) / limit.max(1);
    u64::try_from(excess).unwrap_or(WORST).saturating_add(BROKEN).min(WORST)
}

/// Loads alone, in parts per million: ports that carry more than they can. No analysis has a
/// bound there.
pub(super) fn overload(load: &[u64]) -> Verdict {
    let mut all = Gathering::default();
    for (server, &ppm) in load.iter().enumerate().filter(|(_, ppm)| **ppm > 1_000_000) {
        let pain = WORST.saturating_add(above(ppm.into(), 1_000_000).saturating_mul(10));
        all.pain = all.pain.saturating_add(pain);
        all.port(server, pain);
    }
    all.done()
}
