//! A spanning tree of a network with loops.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tenuto_model::{LinkEnd, Network};

/// Ports of switches that belong to a tree; of a switch that it does not name, every port does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SpanningTree {
    ports: BTreeMap<u64, BTreeSet<u32>>,
}

impl SpanningTree {
    /// Names no switch.
    pub const fn new() -> Self {
        Self { ports: BTreeMap::new() }
    }

    /// A tree of shortest ways from the switch of the least datapath id, in each part of the network; all
    /// ports to hosts belong to it.
    pub fn of(network: &Network) -> Self {
        let datapaths: BTreeMap<&str, u64> =
            network.switches.iter().map(|it| (it.name.as_str(), it.datapath_id)).collect();
        let mut tree = Self::new();
        datapaths.values().for_each(|id| {
            tree.ports.insert(*id, BTreeSet::new());
        });
        let mut trunks: BTreeMap<u64, Vec<(u32, u64, u32)>> = BTreeMap::new();
        for link in &network.links {
            let end = |end: &LinkEnd| datapaths.get(end.node.as_str()).map(|id| (*id, end.port));
            match (end(&link.a), end(&link.b)) {
                (Some(a), Some(b)) => {
                    trunks.entry(a.0).or_default().push((a.1, b.0, b.1));
                    trunks.entry(b.0).or_default().push((b.1, a.0, a.1));
                }
                (Some(only), None) | (None, Some(only)) => tree.add(only),
                (None, None) => {}
            }
        }
        let mut reached = BTreeSet::new();
        for root in datapaths.values().copied().collect::<BTreeSet<_>>() {
            tree.grow(root, &trunks, &mut reached);
        }
        tree
    }

    fn grow(
        &mut self,
        root: u64,
        trunks: &BTreeMap<u64, Vec<(u32, u64, u32)>>,
        reached: &mut BTreeSet<u64>,
    ) {
        if !reached.insert(root) {
            return;
        }
        let mut next = VecDeque::from([root]);
        while let Some(datapath) = next.pop_front() {
            for &(port, other, other_port) in trunks.get(&datapath).into_iter().flatten() {
                if reached.insert(other) {
                    self.add((datapath, port));
                    self.add((other, other_port));
                    next.push_back(other);
                }
            }
        }
    }

    fn add(&mut self, (datapath, port): (u64, u32)) {
        self.ports.entry(datapath).or_default().insert(port);
    }

    /// The ports of a switch in the tree; `None` if it does not name the switch.
    pub fn ports(&self, datapath: u64) -> Option<impl Iterator<Item = u32> + '_> {
        Some(self.ports.get(&datapath)?.iter().copied())
    }

    /// Whether packets are taken from a port.
    pub fn carries(&self, datapath: u64, port: u32) -> bool {
        self.ports.get(&datapath).is_none_or(|ports| ports.contains(&port))
    }
}
