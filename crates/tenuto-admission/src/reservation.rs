//! What is reserved before anyone asks: a delay per queue, and what it costs to use it.

use crate::curves::{DELAY_NS_MAX, QUEUES_MAX};
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
    /// The processor that the ports of a switch share.
    Processor,
}

impl Place {
    /// Where `port` stands.
    pub fn of(network: &Network, port: PortId) -> Self {
        if network.is_source(port) {
            return Self::Source;
        }
        if network.is_processor(port) {
            return Self::Processor;
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
    /// The one queue before a processor.
    pub processor: Share,
    /// By how many hundredths of a raise a reserved delay is raised beyond what is needed.
    pub headroom_percent: i64,
    /// What a visit costs.
    pub pricing: Pricing,
    /// What of it is given up for a flow that would be refused otherwise.
    pub yielding: Yielding,
}

/// What is given up of a reservation, along the way of a flow that would be refused otherwise. A flow
/// gained so may cost several of those who come later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yielding {
    /// Nothing.
    Nothing,
    /// What the first queue of lines between switches does not need; the flow takes those queues.
    FirstBetweenSwitches,
    /// What no queue needs.
    Everything,
}

/// What the search for queues counts as the cost of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pricing {
    /// The cost of the share, whatever the queue holds.
    ByShare,
    /// A price that grows with how full the queue is.
    ByFill,
}

impl Reservation {
    /// The share of a queue.
    pub(crate) fn share(&self, place: Place, queue: usize) -> Share {
        match place {
            Place::Source => self.source,
            Place::Trunk => self.trunk[queue],
            Place::Edge => self.edge[queue],
            Place::Processor => self.processor,
        }
    }

    /// Nothing reserved; lower queues are cheaper.
    pub fn none() -> Self {
        let mut shares = [Share::default(); QUEUES_MAX];
        for (cost, share) in (0_u32..).zip(shares.iter_mut().rev()) {
            share.cost = 1 + cost;
        }
        Self {
            source: Share::default(),
            trunk: shares,
            edge: shares,
            processor: Share::default(),
            headroom_percent: 0,
            pricing: Pricing::ByShare,
            yielding: Yielding::Nothing,
        }
    }
}

/// Halves of a room in whose time the line empties a queue, the first queue first: found on generated
/// lists of six shapes, seed 11 (docs/design).
const HALF_ROOMS: [i64; 3] = [2, 24, 20];
/// Halves of a processor's room: it is all there is, and every frame of a switch waits there.
const HALF_ROOM_OF_PROCESSOR: i64 = 1;
const NS_PER_BYTE_AT_1_BPS: i128 = 8_000_000_000;
/// Frames on a line beside processors: frames wait there, and hardly before a line.
const FRAMES_BESIDE_PROCESSOR: i64 = 4;
/// Beyond this the first queues of a way together are slow, ns.
const WAY_NS_MAX: i128 = 5_000_000;
/// Of [`KNOWN`], where to start when ways are long.
const LONG_START: usize = 0;
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
        let pricing = Pricing::ByShare;
        // Found on networks without processors.
        let processor = Share { delay_ns: 0, cost: 0 };
        let (trunk, edge) = (shares(trunk), shares(edge));
        let yielding = Yielding::Nothing;
        Self { source, trunk, edge, processor, headroom_percent, pricing, yielding }
    }

    /// Equal delays at all switches, us; a visit costs a millisecond more than its delay.
    const fn alike(source_us: i64, queues_us: [i64; QUEUES_OF_SHARES]) -> Self {
        let mut four = [(0, 0); QUEUES_OF_SHARES];
        let mut at = 0;
        while at < QUEUES_OF_SHARES {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
            let cost = (1_000 + queues_us[at]) as u32;
            four[at] = (queues_us[at], cost);
            at += 1;
        }
        Self::of(source_us, four, four, 0)
    }

    /// Sets what is given up for flows that would be refused.
    #[must_use]
    pub const fn yielding(mut self, yielding: Yielding) -> Self {
        self.yielding = yielding;
        self
    }

    /// Reservations that served other networks well: starting points, not promises.
    pub(crate) fn known() -> &'static [Self] {
        &KNOWN
    }

    /// All delays times `numerator / denominator`.
    #[must_use]
    pub(crate) fn scaled(mut self, numerator: i64, denominator: i64) -> Self {
        let others = [&mut self.source, &mut self.processor];
        let all = self.trunk.iter_mut().chain(&mut self.edge).chain(others);
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

impl Reservation {
    /// What follows from rates and rooms alone. The first queue is kept within the time in which the
    /// line empties it, so that tight deadlines find a place; the others within so much that no
    /// deadline of theirs is refused for it before rooms are full. Queues are priced by fill.
    pub(crate) fn derived(network: &Network) -> Self {
        let shares = |place: Place| {
            let mut shares = [Share { delay_ns: 0, cost: 1 }; QUEUES_MAX];
            for (queue, share) in shares.iter_mut().enumerate() {
                let halves = HALF_ROOMS[queue.min(HALF_ROOMS.len() - 1)];
                share.delay_ns = median_drain_ns(network, place, halves);
            }
            shares
        };
        let one = |place: Place, halves: i64| Share {
            delay_ns: median_drain_ns(network, place, halves),
            cost: 0,
        };
        Self {
            source: one(Place::Source, HALF_ROOMS[0]),
            trunk: shares(Place::Trunk),
            edge: shares(Place::Edge),
            processor: one(Place::Processor, HALF_ROOM_OF_PROCESSOR),
            headroom_percent: 100,
            pricing: Pricing::ByFill,
            yielding: Yielding::Nothing,
        }
    }

    /// Where to start on a network of which nothing but lines and rooms is known: with what follows
    /// from them, unless ways are so long that first queues drained one after the other take longer
    /// than deadlines usually are; there costs per queue have served better.
    pub fn starting_on(network: &Network) -> Self {
        let derived = Self::derived(network);
        let (trunks, ways) = network.trunks_between_hosts();
        let first_ns = i128::from(derived.trunk[0].delay_ns);
        let is_long = first_ns * i128::from(trunks) > WAY_NS_MAX * i128::from(ways);
        if is_long { KNOWN[LONG_START] } else { derived }
    }
}

/// The median over the ports of a place of the time in which the line empties so many halves of a
/// room behind the frame in the way, ns.
fn median_drain_ns(network: &Network, place: Place, halves: i64) -> i64 {
    let ports = (0_u32..).map(PortId).take(network.ports().len());
    let drain = |id: PortId| {
        let port = network.port(id);
        let frame_bytes = i64::from(port.blocking_bytes);
        let room_bytes = match network.frame_bits_exact().is_some() && place != Place::Processor {
            true => frame_bytes * (FRAMES_BESIDE_PROCESSOR - 1),
            false => i64::from(port.queue_bytes) * halves / 2,
        };
        let bytes = room_bytes + frame_bytes;
        let ns = i128::from(bytes) * NS_PER_BYTE_AT_1_BPS / i128::from(port.rate_bps);
        i64::try_from(ns).unwrap_or(i64::MAX).min(DELAY_NS_MAX)
    };
    let mut drains: Vec<i64> =
        ports.filter(|id| Place::of(network, *id) == place).map(drain).collect();
    drains.sort_unstable();
    drains.get(drains.len() / 2).copied().unwrap_or(0)
}

/// Found by trial on generated lists (docs/design); µs and costs, queue 0 first.
const KNOWN: [Reservation; 13] = [
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
    // Vectors as systems with fixed delays are run with: each queue four to ten times the one before.
    Reservation::alike(1_000, [100, 1_000, 6_000, 24_000]),
    Reservation::alike(1_000, [1_300, 2_600, 5_200, 10_400]),
    Reservation::alike(2_000, [30, 100, 300, 1_000]),
];
