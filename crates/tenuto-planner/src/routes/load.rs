//! How much of each port routes take.

use super::tree::Tree;
use crate::input::topology::Topology;

/// Load of every port by the highest contracts, multicast counted once per port.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    /// Parts per million of each port's rate.
    ppm: Vec<u64>,
    /// Per flow, bit/s on the wire.
    rates_bps: Vec<u64>,
}

/// Parts per million of `of_bps`, rounded down: what is too much here is too much.
pub(super) fn ppm(bps: u64, of_bps: u64) -> u64 {
    let ppm = u128::from(bps) * 1_000_000 / u128::from(of_bps.max(1));
    u64::try_from(ppm).unwrap_or(u64::MAX)
}

impl Load {
    /// Of no flow at all.
    pub(crate) fn empty(topology: &Topology<'_>) -> Self {
        let rate = |flow: &tenuto_model::Flow| {
            let contract = flow.highest();
            let bits = u128::from(contract.size.frames(false).message_wire_bits);
            let bps = bits * 1_000_000_000 / u128::from(contract.period_ns.max(1));
            u64::try_from(bps).unwrap_or(u64::MAX)
        };
        let rates_bps = topology.network.flows.iter().map(rate).collect();
        Self { ppm: vec![0; topology.servers.len()], rates_bps }
    }

    /// Of all these trees.
    pub(crate) fn of(topology: &Topology<'_>, trees: &[Tree]) -> Self {
        let mut load = Self::empty(topology);
        trees.iter().for_each(|tree| load.add(topology, tree));
        load
    }

    /// Adds a tree.
    pub(crate) fn add(&mut self, topology: &Topology<'_>, tree: &Tree) {
        for hop in &tree.hops {
            let own = ppm(self.rates_bps[tree.flow], topology.servers[hop.server].rate_bps);
            self.ppm[hop.server] = self.ppm[hop.server].saturating_add(own);
        }
    }

    /// Takes a tree away that was added before.
    pub(super) fn take(&mut self, topology: &Topology<'_>, tree: &Tree) {
        for hop in &tree.hops {
            let own = ppm(self.rates_bps[tree.flow], topology.servers[hop.server].rate_bps);
            self.ppm[hop.server] = self.ppm[hop.server].saturating_sub(own);
        }
    }

    /// Parts per million of each port's rate.
    pub(crate) fn ppm(&self) -> &[u64] {
        &self.ppm
    }

    /// Rate of a flow by its highest contract, bit/s on the wire.
    pub(super) fn rate_bps(&self, flow: usize) -> u64 {
        self.rates_bps[flow]
    }
}
