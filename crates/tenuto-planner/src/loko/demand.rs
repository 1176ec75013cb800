//! Flows that ask for room in allocated switches, and which of them get it.

use super::Allocation;
use std::collections::VecDeque;
use tenuto_units::Draws;

const PS_PER_S: u128 = 1_000_000_000_000;

/// A flow that asks: a token bucket and the switches that it crosses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Indices of switches, in order.
    pub path: Vec<usize>,
    /// Rate, bit/s.
    pub rate_bps: u64,
    /// Burst at the source, bytes.
    pub burst_bytes: u64,
}

/// What became of a list of flows, asked for one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// Accepted flows.
    pub accepted: usize,
    /// Per switch: sum of accepted rates, bit/s.
    pub rate_bps: Vec<u64>,
    /// Per switch: sum of accepted bursts as they arrive there, bytes.
    pub burst_bytes: Vec<u64>,
}

/// A switch of a [`Demand`] with no allocation takes nothing.
pub type Allocations = [Option<Allocation>];

/// Admits flows in order: a flow is accepted where rate and burst of every switch on its path stay
/// within the allocation (\[Loko\] section 5). At every hop its burst has grown by its rate over the
/// delays before, which are fixed, so nothing accepted earlier is ever looked at again.
pub fn admit(allocations: &Allocations, demands: &[Demand]) -> Admission {
    let mut admission = Admission {
        accepted: 0,
        rate_bps: vec![0; allocations.len()],
        burst_bytes: vec![0; allocations.len()],
    };
    for demand in demands {
        if fits(allocations, &admission, demand) {
            admission.accepted += 1;
            let mut delay_ps = 0;
            for &switch in &demand.path {
                admission.rate_bps[switch] += demand.rate_bps;
                admission.burst_bytes[switch] += demand.burst_after(delay_ps);
                delay_ps += allocations[switch].map_or(0, |a| a.delay_ps);
            }
        }
    }
    admission
}

fn fits(allocations: &Allocations, so_far: &Admission, demand: &Demand) -> bool {
    let mut delay_ps = 0_u64;
    demand.path.iter().all(|&switch| {
        let Some(allocation) = allocations[switch] else { return false };
        let burst = demand.burst_after(delay_ps);
        delay_ps = delay_ps.saturating_add(allocation.delay_ps);
        so_far.rate_bps[switch] + demand.rate_bps <= allocation.rate_bps
            && so_far.burst_bytes[switch] + burst <= allocation.burst_bytes
    })
}

impl Demand {
    /// Its burst after so much delay, bytes rounded up.
    fn burst_after(&self, delay_ps: u64) -> u64 {
        let bits = (u128::from(self.rate_bps) * u128::from(delay_ps)).div_ceil(PS_PER_S);
        let grown = u64::try_from(bits.div_ceil(8)).unwrap_or(u64::MAX);
        self.burst_bytes.saturating_add(grown)
    }
}

/// Rates that \[Loko\] section 6.2 saw in a wind park, bit/s.
const RATES_BPS: (u64, u64) = (750_000, 1_000_000);

fn wind_park_rate(draws: &mut Draws) -> u64 {
    RATES_BPS.0 + draws.below(RATES_BPS.1 - RATES_BPS.0 + 1)
}

/// `count` flows around a ring of `switches`, each from a random switch to the one `hops` further
/// on; a burst is one frame (\[Loko\] section 6.2).
pub fn ring(
    switches: usize,
    hops: usize,
    count: usize,
    frame: u32,
    draws: &mut Draws,
) -> Vec<Demand> {
    let flow = |_| {
        let first = draws.index(switches);
        let path = (0..=hops).map(|hop| (first + hop) % switches.max(1)).collect();
        Demand { path, rate_bps: wind_park_rate(draws), burst_bytes: frame.into() }
    };
    (0..count).map(flow).collect()
}

/// `count` flows between random hosts of a network over shortest paths; of paths of the same length
/// the one whose switches come first.
///
/// `links` joins switches by index, `hosts` names the switch of every host.
pub fn between_hosts(
    links: &[(usize, usize)],
    switches: usize,
    hosts: &[usize],
    count: usize,
    frame: u32,
    draws: &mut Draws,
) -> Vec<Demand> {
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); switches];
    for &(a, b) in links {
        next[a].push(b);
        next[b].push(a);
    }
    next.iter_mut().for_each(|peers| peers.sort_unstable());
    let mut demands = Vec::with_capacity(count);
    while demands.len() < count && hosts.len() > 1 {
        let (from, to) = (draws.index(hosts.len()), draws.index(hosts.len()));
        if from == to {
            continue;
        }
        if let Some(path) = shortest(&next, hosts[from], hosts[to]) {
            let rate_bps = wind_park_rate(draws);
            demands.push(Demand { path, rate_bps, burst_bytes: frame.into() });
        } else {
            break;
        }
    }
    demands
}

fn shortest(next: &[Vec<usize>], from: usize, to: usize) -> Option<Vec<usize>> {
    let mut before: Vec<Option<usize>> = vec![None; next.len()];
    before[to] = Some(to);
    let mut open = VecDeque::from([to]);
    while let Some(here) = open.pop_front() {
        for &peer in &next[here] {
            if before[peer].is_none() {
                before[peer] = Some(here);
                open.push_back(peer);
            }
        }
    }
    let mut path = vec![from];
    let mut here = from;
    while here != to {
        here = before[here]?;
        path.push(here);
    }
    Some(path)
}
