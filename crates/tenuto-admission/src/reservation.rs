//! What is reserved before anyone asks: a delay per queue, and what it costs to use it.

use crate::curves::QUEUES_MAX;
use crate::network::{Network, PortId};

/// Where a port stands: what its queues are worth depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// From a host into the network.
    Source,
    /// Between switches.
    Trunk,
    /// From a switch to a host.
    Edge,
}

impl Place {
    /// Where `port` stands.
    pub fn of(network: &Network, port: PortId) -> Self {
        if network.is_source(port) {
            return Self::Source;
        }
        let to = network.port(port).to;
        if network.nodes()[to.index()].is_switch { Self::Trunk } else { Self::Edge }
    }
}

/// One queue of every port at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The delay that the queue is kept within while it can be, ns.
    pub delay_ns: i64,
    /// What a flow pays for a visit: the search looks for the cheapest way within the deadline.
    pub cost: u32,
}

/// A share for every queue of every place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Hosts' own ports; their one queue.
    pub source: Share,
    /// Queues between switches.
    pub trunk: [Share; QUEUES_MAX],
    /// Queues towards hosts.
    pub edge: [Share; QUEUES_MAX],
    /// By how many hundredths of a raise a reserved delay is raised beyond what is needed.
    pub headroom_percent: i64,
}

impl Reservation {
    /// The share of a queue.
    pub(crate) fn share(&self, place: Place, queue: usize) -> Share {
        match place {
            Place::Source => self.source,
            Place::Trunk => self.trunk[queue],
            Place::Edge => self.edge[queue],
        }
    }

    /// Nothing reserved; lower queues are cheaper.
    pub(crate) fn none() -> Self {
        let mut shares = [Share::default(); QUEUES_MAX];
        for (cost, share) in (0_u32..).zip(shares.iter_mut().rev()) {
            share.cost = 1 + cost;
        }
        Self { source: Share::default(), trunk: shares, edge: shares, headroom_percent: 0 }
    }
}

/// Queues that the known reservations tell apart; those below are like the last.
const QUEUES_OF_SHARES: usize = 4;

impl Reservation {
    /// Shares in microseconds and costs of four queues; queues below are like the fourth.
    const fn of(
        source_us: i64,
        trunk: [(i64, u32); QUEUES_OF_SHARES],
        edge: [(i64, u32); QUEUES_OF_SHARES],
        headroom_percent: i64,
    ) -> Self {
        let source = Share { delay_ns: source_us * 1_000, cost: 0 };
        Self { source, trunk: shares(trunk), edge: shares(edge), headroom_percent }
    }

    /// Reservations that served other networks well: starting points, not promises.
    pub(crate) fn known() -> &'static [Self] {
        &KNOWN
    }

    /// All delays times `numerator / denominator`.
    #[must_use]
    pub(crate) fn scaled(mut self, numerator: i64, denominator: i64) -> Self {
        let all = self.trunk.iter_mut().chain(&mut self.edge).chain([&mut self.source]);
        for share in all {
            share.delay_ns = share.delay_ns * numerator / denominator;
        }
        self
    }
}

const fn shares(four: [(i64, u32); QUEUES_OF_SHARES]) -> [Share; QUEUES_MAX] {
    let mut all = [Share { delay_ns: four[3].0 * 1_000, cost: four[3].1 }; QUEUES_MAX];
    let mut at = 0;
    while at < QUEUES_OF_SHARES {
        all[at] = Share { delay_ns: four[at].0 * 1_000, cost: four[at].1 };
        at += 1;
    }
    all
}

/// Of [`KNOWN`], where to start on slow and on fast lines.
const SLOW_START: usize = 0;
const FAST_START: usize = 7;
/// Lines from here on are fast, bit/s.
const FAST_BPS: u64 = 500_000_000;

impl Reservation {
    /// Where to start on a network of which only the lines are known: by its median line.
    pub fn starting_on(network: &Network) -> Self {
        let mut rates: Vec<u64> = network.ports().iter().map(|port| port.rate_bps).collect();
        rates.sort_unstable();
        let median_bps = rates.get(rates.len() / 2).copied().unwrap_or(0);
        KNOWN[if median_bps < FAST_BPS { SLOW_START } else { FAST_START }]
    }
}

/// Found by trial on generated lists (docs/design); µs and costs, queue 0 first.
const KNOWN: [Reservation; 10] = [
    // ring31-100M, seed 3
    Reservation::of(
        694,
        [(1_298, 5), (14_684, 5), (500, 2), (4_943, 1)],
        [(23_907, 5), (771, 2), (8_052, 6), (5_057, 5)],
        82,
    ),
    // line4-1G, seed 3
    Reservation::of(
        510,
        [(236, 1), (303, 1), (663, 1), (920, 4)],
        [(48, 10), (290, 9), (2_823, 11), (434, 10)],
        62,
    ),
    // star-1G, seed 3
    Reservation::of(
        510,
        [(375, 4), (268, 6), (830, 11), (287, 12)],
        [(11, 11), (129, 8), (315, 10), (45_868, 1)],
        56,
    ),
    // line4-100M, seed 3
    Reservation::of(
        4_357,
        [(8, 3), (2_495, 8), (1_224, 8), (4_472, 10)],
        [(28, 4), (1, 11), (9_305, 3), (8_756, 7)],
        90,
    ),
    // fat-tree-1G, seed 3
    Reservation::of(
        781,
        [(41, 4), (383, 2), (201, 8), (3_695, 12)],
        [(31, 6), (38, 8), (9_783, 3), (792, 8)],
        70,
    ),
    // ring31-1G, seed 3
    Reservation::of(
        494,
        [(24, 7), (385, 7), (484, 1), (15_205, 7)],
        [(52, 5), (4_161, 11), (1_489, 3), (6_791, 7)],
        13,
    ),
    // ring12-100M, seed 3
    Reservation::of(
        667,
        [(138, 9), (766, 9), (414, 11), (1_244, 10)],
        [(117, 5), (290, 1), (723, 5), (1_896, 12)],
        87,
    ),
    // line4-1G, seed 4 paced
    Reservation::of(
        667,
        [(236, 1), (185, 6), (1_605, 6), (1_162, 10)],
        [(27, 6), (408, 3), (176, 7), (269, 7)],
        36,
    ),
    // star-1G, seed 4 paced
    Reservation::of(
        330,
        [(181, 3), (513, 4), (565, 11), (1_274, 11)],
        [(36, 7), (851, 7), (345, 3), (55_173, 8)],
        56,
    ),
    // fat-tree-1G, seed 4 paced
    Reservation::of(
        470,
        [(66, 11), (299, 1), (581, 3), (771, 10)],
        [(27, 11), (189, 4), (51_582, 2), (1_261, 6)],
        52,
    ),
];
