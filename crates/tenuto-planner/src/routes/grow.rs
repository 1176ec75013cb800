//! One tree, grown target by target from what it has so far.

use super::taken::Taken;
use super::tree::{Refused, Tree, TreeHop};
use crate::input::topology::Topology;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tenuto_model::Flow;

/// How the ways of a tree are chosen.
#[derive(Clone, Copy)]
pub(super) enum Choice<'a> {
    /// The fewest hops from the source; of equal ones the least added load.
    FewestHops,
    /// The least sum of prices over the ports that are added, targets in the order of their
    /// distance (Takahashi and Matsuyama's heuristic for Steiner trees). What leads to a port
    /// that the tree has already counts a quarter, so that sharing is no excuse for a detour.
    /// `None`: not this port.
    LeastPrice(&'a dyn Fn(usize) -> Option<u64>),
}

/// What a tree is grown with.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) topology: &'a Topology<'a>,
    /// Load of each port without this tree, parts per million.
    pub(super) load: &'a [u64],
    pub(super) choice: Choice<'a>,
    /// Whether routes that the description fixes are kept.
    pub(super) keeps_fixed: bool,
    /// What another copy of the flow has for itself.
    pub(super) taken: &'a Taken,
}

/// The tree of one copy of a flow.
pub(super) fn grow(ground: Ground<'_>, flow: usize, copy: Option<usize>) -> Result<Tree, Refused> {
    Growing::new(ground, flow, copy).grow()
}

/// A tree being grown.
struct Growing<'a> {
    ground: Ground<'a>,
    contract: &'a Flow,
    tree: Tree,
    source: usize,
    /// Per node: whether it is in the tree, and the hop that leads there.
    reached: Vec<Option<Option<usize>>>,
}

/// Price or hops from the tree, added load, egress taken: the order of candidates.
type Candidate = Reverse<(u64, u64, Vec<usize>, usize)>;

impl<'a> Growing<'a> {
    fn new(ground: Ground<'a>, flow: usize, copy: Option<usize>) -> Self {
        let topology = ground.topology;
        let contract = &topology.network.flows[flow];
        let source = topology.node(&contract.source).unwrap_or(usize::MAX);
        let mut reached = vec![None; topology.nodes.len()];
        if let Some(place) = reached.get_mut(source) {
            *place = Some(None);
        }
        let tree = Tree { flow, copy, hops: vec![], paths: vec![vec![]; contract.targets.len()] };
        Self { ground, contract, tree, source, reached }
    }

    /// Fixed routes first, so that the others grow from them.
    fn grow(mut self) -> Result<Tree, Refused> {
        if self.source == usize::MAX {
            return Err((self.contract.source.clone(), "there is no such source".into()));
        }
        let all = 0..self.contract.targets.len();
        let (fixed, mut free): (Vec<usize>, Vec<usize>) =
            all.partition(|&target| self.fixed(target).is_some());
        for target in fixed {
            let servers = self.along(target, self.fixed(target).unwrap_or_default())?;
            self.join(target, &servers)?;
        }
        while let Some(&first) = free.first() {
            let (target, servers) = match self.ground.choice {
                Choice::FewestHops => self.search(&[first])?,
                Choice::LeastPrice(_) => self.search(&free)?,
            };
            free.retain(|&other| other != target);
            self.join(target, &servers)?;
        }
        Ok(self.tree)
    }

    fn fixed(&self, target: usize) -> Option<&'a [String]> {
        let routes = &self.contract.targets[target].routes;
        let own = routes.get(self.tree.copy.unwrap_or(0)).and_then(Option::as_deref);
        own.filter(|nodes| self.ground.keeps_fixed && !nodes.is_empty())
    }

    /// The ports along named nodes; of parallel links the least loaded one.
    fn along(&self, target: usize, nodes: &[String]) -> Result<Vec<usize>, Refused> {
        let (topology, load) = (self.ground.topology, self.ground.load);
        let to = &self.contract.targets[target].host;
        let names = nodes.iter().chain([to]);
        let mut at = self.source;
        let mut servers = Vec::new();
        for name in names.skip_while(|name| **name == self.contract.source) {
            let next = topology.node(name);
            let links = topology.leaving(at).iter().copied();
            let link = links
                .filter(|&s| Some(topology.servers[s].peer) == next)
                .min_by_key(|&s| (!self.is_hop(s), load[s], s));
            let Some(link) = link else {
                let from = topology.nodes[at].name;
                return Err((
                    from.into(),
                    format!("the route to {to} has no link {from} - {name}"),
                ));
            };
            servers.push(link);
            at = topology.servers[link].peer;
        }
        Ok(servers)
    }

    fn is_hop(&self, server: usize) -> bool {
        self.tree.hops.iter().any(|hop| hop.server == server)
    }

    /// Adds the ports to the tree; they must not meet it again after they left it.
    fn join(&mut self, target: usize, servers: &[usize]) -> Result<(), Refused> {
        let topology = self.ground.topology;
        let mut parent = None;
        let mut path = Vec::new();
        for &server in servers {
            let known =
                self.tree.hops.iter().position(|h| h.server == server && h.parent == parent);
            let egress = &topology.servers[server];
            let hop = match known {
                Some(hop) => hop,
                None if self.reached[egress.peer].is_some() => {
                    let place = topology.nodes[egress.peer].name;
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

    /// What a port adds to a way; `None` where it must not lead.
    fn price(&self, server: usize) -> Option<u64> {
        let topology = self.ground.topology;
        let peer = topology.servers[server].peer;
        if topology.is_lost(server) || self.ground.taken.forbids(server, peer) {
            return None;
        }
        match self.ground.choice {
            Choice::FewestHops => Some(1),
            Choice::LeastPrice(price) => price(server),
        }
    }

    /// What a way that begins with ports of the tree starts from.
    fn head_start(&self, path: &[usize]) -> u64 {
        match self.ground.choice {
            Choice::FewestHops => path.len() as u64,
            Choice::LeastPrice(_) => {
                let prices = path.iter().map(|&server| self.price(server).unwrap_or(0));
                prices.fold(0_u64, u64::saturating_add) / 4
            }
        }
    }

    /// The target that is nearest, and the ports to it from the source, first along the tree.
    fn search(&self, targets: &[usize]) -> Result<(usize, Vec<usize>), Refused> {
        let topology = self.ground.topology;
        let host = |target: usize| &self.contract.targets[target].host;
        let goals: Vec<Option<usize>> = targets.iter().map(|&t| topology.node(host(t))).collect();
        let mut settled = vec![false; topology.nodes.len()];
        let mut waiting: BinaryHeap<Candidate> = BinaryHeap::new();
        for (node, reached) in self.reached.iter().enumerate() {
            if let Some(hop) = reached {
                let path = self.up_to(*hop);
                waiting.push(Reverse((self.head_start(&path), 0, path, node)));
            }
        }
        while let Some(Reverse((sum, added, path, node))) = waiting.pop() {
            if let Some(place) = goals.iter().position(|&goal| goal == Some(node)) {
                return Ok((targets[place], path));
            }
            if std::mem::replace(&mut settled[node], true) || !self.may_forward(node) {
                continue;
            }
            for &server in topology.leaving(node) {
                let peer = topology.servers[server].peer;
                let is_new = self.reached[peer].is_none() && !settled[peer];
                if !is_new || !(self.may_forward(peer) || goals.contains(&Some(peer))) {
                    continue;
                }
                let Some(price) = self.price(server) else { continue };
                let mut longer = path.clone();
                longer.push(server);
                let added = added.saturating_add(self.ground.load[server]);
                waiting.push(Reverse((sum.saturating_add(price), added, longer, peer)));
            }
        }
        let within =
            self.copy_network().map_or(String::new(), |name| format!(" in network {name}"));
        let to = host(targets[0]);
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
        let place = &self.ground.topology.nodes[node];
        let has_networks = !self.ground.topology.network.networks.is_empty();
        let own = self.copy_network().filter(|_| has_networks);
        let inside = own.is_none_or(|name| place.network == Some(name));
        node == self.source || (!place.is_host() && inside)
    }
}
