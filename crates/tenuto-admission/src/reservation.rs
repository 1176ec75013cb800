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
    pub fn share(&self, place: Place, queue: usize) -> Share {
        match place {
            Place::Source => self.source,
            Place::Trunk => self.trunk[queue],
            Place::Edge => self.edge[queue],
        }
    }

    /// Nothing reserved; lower queues are cheaper.
    pub fn none() -> Self {
        let mut shares = [Share::default(); QUEUES_MAX];
        for (cost, share) in (0_u32..).zip(shares.iter_mut().rev()) {
            share.cost = 1 + cost;
        }
        Self { source: Share::default(), trunk: shares, edge: shares, headroom_percent: 0 }
    }
}
