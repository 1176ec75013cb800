//! Routes: one tree of ports per flow and copy.
//!
//! Routes that the description fixes are kept. The others are grown from the tree so far by the
//! path with the fewest hops from the source, then the least added load, then the order of links:
//! the same description always gives the same routes.

use crate::topology::Topology;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tenuto_model::{Flow, Refusal, Route, RoutedCopy};

/// One copy of a flow and the ports that carry it.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    /// Index of the flow.
    pub(crate) flow: usize,
    /// Index into the flow's copies.
    pub(crate) copy: Option<usize>,
    /// Ports, parents first.
    pub(crate) hops: Vec<TreeHop>,
    /// Per target, in the flow's order: indices of hops from the source on.
    pub(crate) paths: Vec<Vec<usize>>,
}

/// One port of a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreeHop {
    /// Index of the egress.
    pub(crate) server: usize,
    /// The hop before, `None` at the source.
    pub(crate) parent: Option<usize>,
}

/// What routing gave.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    pub(crate) trees: Vec<Tree>,
    pub(crate) refusals: Vec<Refusal>,
}

/// Routes every flow; what cannot be routed is refused and left out.
pub(crate) fn route(topology: &Topology<'_>) -> Routes {
    let mut load = vec![0_u64; topology.servers.len()];
    let mut routes = Routes::default();
    for (flow, contract) in topology.network.flows.iter().enumerate() {
        let copies = match contract.copies.len() {
            0 => vec![None],
            count => (0..count).map(Some).collect(),
        };
        for copy in copies {
            match Growing::new(topology, &load, flow, copy).grow() {
                Ok(tree) => {
                    charge(topology, &mut load, &tree);
                    routes.trees.push(tree);
                }
                Err((place, because)) => routes.refusals.push(refusal(contract, place, because)),
            }
        }
    }
    routes
}

/// Load in parts per million of each port, by the highest contract.
fn charge(topology: &Topology<'_>, load: &mut [u64], tree: &Tree) {
    let contract = topology.network.flows[tree.flow].highest();
    let bits = u128::from(contract.size.frames(false).message_wire_bits);
    let bps = bits * 1_000_000_000 / u128::from(contract.period_ns.max(1));
    for hop in &tree.hops {
        let ppm = bps * 1_000_000 / u128::from(topology.servers[hop.server].rate_bps.max(1));
        load[hop.server] = load[hop.server].saturating_add(u64::try_from(ppm).unwrap_or(u64::MAX));
    }
}

fn refusal(flow: &Flow, place: String, because: String) -> Refusal {
    Refusal {
        place,
        resource: "route".into(),
        mode: None,
        needed: None,
        available: None,
        unit: String::new(),
        flows: vec![flow.name.clone()],
        because,
        would_fit: Vec::new(),
    }
}

type Refused = (String, String);

/// A tree being grown.
struct Growing<'a> {
    topology: &'a Topology<'a>,
    load: &'a [u64],
    contract: &'a Flow,
    tree: Tree,
    source: usize,
    /// Per node: whether it is in the tree, and the hop that leads there.
    reached: Vec<Option<Option<usize>>>,
}

/// Hops from the source, added load, egress taken: the order of candidates.
type Candidate = Reverse<(usize, u64, Vec<usize>, usize)>;

impl<'a> Growing<'a> {
    fn new(topology: &'a Topology<'a>, load: &'a [u64], flow: usize, copy: Option<usize>) -> Self {
        let contract = &topology.network.flows[flow];
        let source = topology.node(&contract.source).unwrap_or(usize::MAX);
        let mut reached = vec![None; topology.nodes.len()];
        if let Some(place) = reached.get_mut(source) {
            *place = Some(None);
        }
        let tree = Tree { flow, copy, hops: vec![], paths: vec![vec![]; contract.targets.len()] };
        Self { topology, load, contract, tree, source, reached }
    }

    /// Fixed routes first, so that the others grow from them.
    fn grow(mut self) -> Result<Tree, Refused> {
        if self.source == usize::MAX {
            return Err((self.contract.source.clone(), "there is no such source".into()));
        }
        for fixed in [true, false] {
            for target in 0..self.contract.targets.len() {
                let nodes = self.fixed(target);
                if nodes.is_some() == fixed {
                    let servers = match nodes {
                        Some(nodes) => self.along(target, nodes)?,
                        None => self.search(target)?,
                    };
                    self.join(target, &servers)?;
                }
            }
        }
        Ok(self.tree)
    }

    fn fixed(&self, target: usize) -> Option<&'a [String]> {
        let routes = &self.contract.targets[target].routes;
        let own = routes.get(self.tree.copy.unwrap_or(0)).and_then(Option::as_deref);
        own.filter(|nodes| !nodes.is_empty())
    }

    /// The ports along named nodes; of parallel links the least loaded one.
    fn along(&self, target: usize, nodes: &[String]) -> Result<Vec<usize>, Refused> {
        let to = &self.contract.targets[target].host;
        let names = nodes.iter().chain([to]);
        let mut at = self.source;
        let mut servers = Vec::new();
        for name in names.skip_while(|name| **name == self.contract.source) {
            let next = self.topology.node(name);
            let links = self.topology.leaving(at).iter().copied();
            let link = links
                .filter(|&s| Some(self.topology.servers[s].peer) == next)
                .min_by_key(|&s| (!self.is_hop(s), self.load[s], s));
            let Some(link) = link else {
                let from = self.topology.nodes[at].name;
                return Err((
                    from.into(),
                    format!("the route to {to} has no link {from} - {name}"),
                ));
            };
            servers.push(link);
            at = self.topology.servers[link].peer;
        }
        Ok(servers)
    }

    fn is_hop(&self, server: usize) -> bool {
        self.tree.hops.iter().any(|hop| hop.server == server)
    }

    /// Adds the ports to the tree; they must not meet it again after they left it.
    fn join(&mut self, target: usize, servers: &[usize]) -> Result<(), Refused> {
        let mut parent = None;
        let mut path = Vec::new();
        for &server in servers {
            let known =
                self.tree.hops.iter().position(|h| h.server == server && h.parent == parent);
            let egress = &self.topology.servers[server];
            let hop = match known {
                Some(hop) => hop,
                None if self.reached[egress.peer].is_some() => {
                    let place = self.topology.nodes[egress.peer].name;
                    let because =
                        format!("its routes meet again at {place}; they must form a tree");
                    return Err((place.into(), because));
                }
                None => {
                    self.tree.hops.push(TreeHop { server, parent });
                    self.reached[egress.peer] = Some(Some(self.tree.hops.len() - 1));
                    self.tree.hops.len() - 1
                }
            };
            parent = Some(hop);
            path.push(hop);
        }
        self.tree.paths[target] = path;
        Ok(())
    }

    /// The ports from the source, first along the tree, to a target.
    fn search(&self, target: usize) -> Result<Vec<usize>, Refused> {
        let to = &self.contract.targets[target].host;
        let goal = self.topology.node(to);
        let mut settled = vec![false; self.topology.nodes.len()];
        let mut waiting: BinaryHeap<Candidate> = BinaryHeap::new();
        for (node, reached) in self.reached.iter().enumerate() {
            if let Some(hop) = reached {
                let path = self.up_to(*hop);
                waiting.push(Reverse((path.len(), 0, path, node)));
            }
        }
        while let Some(Reverse((hops, added, path, node))) = waiting.pop() {
            if Some(node) == goal {
                return Ok(path);
            }
            if std::mem::replace(&mut settled[node], true) || !self.may_forward(node) {
                continue;
            }
            for &server in self.topology.leaving(node) {
                let peer = self.topology.servers[server].peer;
                let is_new = self.reached[peer].is_none() && !settled[peer];
                if is_new && (self.may_forward(peer) || Some(peer) == goal) {
                    let mut longer = path.clone();
                    longer.push(server);
                    let added = added.saturating_add(self.load[server]);
                    waiting.push(Reverse((hops + 1, added, longer, peer)));
                }
            }
        }
        let within =
            self.copy_network().map_or(String::new(), |name| format!(" in network {name}"));
        Err((self.contract.source.clone(), format!("no path to {to}{within}")))
    }

    /// The servers from the source up to a hop.
    fn up_to(&self, hop: Option<usize>) -> Vec<usize> {
        let steps = std::iter::successors(hop, |&h| self.tree.hops[h].parent);
        let mut servers: Vec<usize> = steps.map(|h| self.tree.hops[h].server).collect();
        servers.reverse();
        servers
    }

    fn copy_network(&self) -> Option<&'a str> {
        self.tree.copy.and_then(|copy| self.contract.copies.get(copy)).map(String::as_str)
    }

    /// The source, and switches of the copy's network.
    fn may_forward(&self, node: usize) -> bool {
        let place = &self.topology.nodes[node];
        let inside = self.copy_network().is_none_or(|name| place.network == Some(name));
        node == self.source || (!place.is_host() && inside)
    }
}

/// A tree in the words of the plan.
pub(crate) fn describe(topology: &Topology<'_>, tree: &Tree) -> Route {
    let flow = &topology.network.flows[tree.flow];
    let port = |&hop: &usize| topology.servers[tree.hops[hop].server].port();
    let paths = flow.targets.iter().zip(&tree.paths).map(|(target, path)| RoutedCopy {
        target: target.host.clone(),
        ports: path.iter().map(port).collect(),
    });
    Route {
        flow: flow.name.clone(),
        copy: tree.copy.map(|copy| flow.copies[copy].clone()),
        paths: paths.collect(),
    }
}
