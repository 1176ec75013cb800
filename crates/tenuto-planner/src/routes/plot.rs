//! What is to be routed: the copies of flows, the ways with the fewest hops, and others.

use super::disjoint;
use super::grow::{self, Choice, Ground};
use super::load::Load;
use super::taken::Taken;
use super::tree::{Refused, Routes, Tree};
use crate::input::topology::Topology;
use tenuto_model::{Apart, Chosen, Flow, Refusal};

/// What is to be routed, and what stays as it is.
#[derive(Debug)]
pub(crate) struct Plot<'a> {
    pub(crate) topology: &'a Topology<'a>,
    slots: Vec<Slot<'a>>,
}

/// One copy of a flow.
#[derive(Clone, Copy, Debug)]
struct Slot<'a> {
    flow: usize,
    copy: Option<usize>,
    /// Its tree, where that is settled.
    held: Option<&'a Tree>,
    /// Whether routes that the description fixes are kept.
    keeps_fixed: bool,
}

impl<'a> Plot<'a> {
    /// Every flow of the network.
    pub(crate) fn of_network(topology: &'a Topology<'a>) -> Self {
        let of_flow = |(flow, contract): (usize, &Flow)| {
            let copies: Vec<Option<usize>> = match contract.copies.len() {
                0 => vec![None],
                count => (0..count).map(Some).collect(),
            };
            copies.into_iter().map(move |copy| Slot { flow, copy, held: None, keeps_fixed: true })
        };
        let slots = topology.network.flows.iter().enumerate().flat_map(of_flow).collect();
        Self { topology, slots }
    }

    /// The flows that a lost link takes their way from; all others stay as they are.
    ///
    /// What arrives over another copy too stays as well.
    pub(crate) fn after_loss(topology: &'a Topology<'a>, trees: &'a [Tree]) -> Self {
        let is_hit = |tree: &Tree| tree.hops.iter().any(|hop| topology.is_lost(hop.server));
        let has_other =
            |tree: &Tree| trees.iter().any(|other| other.flow == tree.flow && !is_hit(other));
        let slot = |tree: &'a Tree| {
            let stays = !is_hit(tree) || has_other(tree);
            let held = stays.then_some(tree);
            Slot { flow: tree.flow, copy: tree.copy, held, keeps_fixed: stays }
        };
        Self { topology, slots: trees.iter().map(slot).collect() }
    }

    /// What was routed.
    pub(crate) fn of_routes(topology: &'a Topology<'a>, routes: &Routes) -> Self {
        let slot =
            |tree: &Tree| Slot { flow: tree.flow, copy: tree.copy, held: None, keeps_fixed: true };
        Self { topology, slots: routes.trees.iter().map(slot).collect() }
    }

    /// The shortest trees around each link of one of these, at most so many.
    pub(crate) fn others(&self, trees: &[Tree], index: usize, most: usize) -> Vec<Tree> {
        let tree = &trees[index];
        let load = Load::of(self.topology, trees);
        let taken = self.taken_by_others(trees, index);
        let mut found: Vec<Tree> = Vec::new();
        for hop in &tree.hops {
            let around = |server: usize| (server / 2 != hop.server / 2).then_some(1);
            let ground = Ground {
                topology: self.topology,
                load: load.ppm(),
                choice: Choice::LeastPrice(&around),
                keeps_fixed: true,
                taken: &taken,
            };
            let other = grow::grow(ground, tree.flow, tree.copy).ok();
            if let Some(other) = other.filter(|it| it != tree && !found.contains(it)) {
                found.push(other);
            }
        }
        found.sort_by_key(|it| it.hops.len());
        found.truncate(most);
        found
    }

    /// Whether there is anything to choose about a tree.
    pub(super) fn is_free(&self, index: usize) -> bool {
        self.slots[index].held.is_none() && !self.is_fixed(index)
    }

    /// Whether the description fixes the whole tree.
    fn is_fixed(&self, index: usize) -> bool {
        let slot = &self.slots[index];
        let targets = &self.topology.network.flows[slot.flow].targets;
        let is_fixed = |target: &tenuto_model::Target| {
            let route = target.routes.get(slot.copy.unwrap_or(0)).and_then(Option::as_ref);
            route.is_some_and(|nodes| !nodes.is_empty())
        };
        slot.keeps_fixed && targets.iter().all(is_fixed)
    }

    pub(super) fn keeps_fixed(&self, index: usize) -> bool {
        self.slots[index].keeps_fixed
    }

    /// What other copies of a tree's flow have for themselves, where one network carries them all.
    pub(super) fn taken_by_others(&self, trees: &[Tree], index: usize) -> Taken {
        let flow = trees[index].flow;
        if !self.is_disjoint(flow) {
            return Taken::nothing();
        }
        let is_other = |(other, tree): &(usize, &Tree)| *other != index && tree.flow == flow;
        let others = trees.iter().enumerate().filter(is_other).map(|(_, tree)| tree);
        Taken::by(self.topology, self.topology.network.flows[flow].apart, others)
    }

    /// Whether copies of the flow take disjoint ways through one network.
    fn is_disjoint(&self, flow: usize) -> bool {
        let network = self.topology.network;
        network.networks.is_empty() && !network.flows[flow].copies.is_empty()
    }

    /// The ways with the fewest hops; what cannot be routed is refused and left out.
    pub(crate) fn fewest_hops(&mut self) -> Routes {
        let topology = self.topology;
        let mut load = Load::empty(topology);
        let mut routes = Routes::default();
        for held in self.slots.iter().filter_map(|slot| slot.held) {
            load.add(topology, held);
        }
        let mut routed = Vec::new();
        let mut index = 0;
        while let Some(&slot) = self.slots.get(index) {
            let copies = if self.is_disjoint(slot.flow) { 2 } else { 1 };
            let grown = match slot.held {
                Some(tree) => Ok(vec![tree.clone()]),
                None if copies == 2 => self.disjoint_pair(&load, slot),
                None => self.shortest(&load, slot, &Taken::nothing()).map(|tree| vec![tree]),
            };
            index += if slot.held.is_some() { 1 } else { copies };
            match grown {
                Ok(trees) => {
                    for tree in trees {
                        let slot = Slot { copy: tree.copy, ..slot };
                        if slot.held.is_none() {
                            load.add(topology, &tree);
                        }
                        routed.push(slot);
                        routes.trees.push(tree);
                    }
                }
                Err((place, because)) => {
                    let contract = &topology.network.flows[slot.flow];
                    routes.refusals.push(refusal(contract, place, because));
                }
            }
        }
        self.slots = routed;
        let chosen = |index| if self.is_fixed(index) { Chosen::Fixed } else { Chosen::FewestHops };
        routes.chosen = (0..routes.trees.len()).map(chosen).collect();
        routes
    }

    fn shortest(&self, load: &Load, slot: Slot<'_>, taken: &Taken) -> Result<Tree, Refused> {
        let ground = Ground {
            topology: self.topology,
            load: load.ppm(),
            choice: Choice::FewestHops,
            keeps_fixed: slot.keeps_fixed,
            taken,
        };
        grow::grow(ground, slot.flow, slot.copy)
    }

    /// Both copies of a flow, over no switch in common, or over no link.
    fn disjoint_pair(&self, load: &Load, slot: Slot<'_>) -> Result<Vec<Tree>, Refused> {
        disjoint::possible(self.topology, slot.flow)?;
        let apart = self.topology.network.flows[slot.flow].apart;
        let copy = |copy| Slot { copy: Some(copy), ..slot };
        let first = self.shortest(load, copy(0), &Taken::nothing())?;
        let taken = Taken::by(self.topology, apart, [&first].into_iter());
        let refused = match self.shortest(load, copy(1), &taken) {
            Ok(second) => return Ok(vec![first, second]),
            Err(refused) => refused,
        };
        // A fixed first copy may leave a way for the second only if both were fixed; a free one
        // may stand in the way of every second, though there are two.
        disjoint::pair(self.topology, slot.flow).ok_or_else(|| {
            let flow = &self.topology.network.flows[slot.flow];
            let because = match apart {
                Apart::Links => format!("no two ways without a common link ({})", refused.1),
                Apart::Switches => format!("no two ways without a common switch ({})", refused.1),
            };
            (flow.source.clone(), because)
        })
    }

    /// Whether there is anything to choose at all.
    pub(crate) fn has_choice(&self) -> bool {
        (0..self.slots.len()).any(|index| self.is_free(index))
    }
}

fn refusal(flow: &Flow, place: String, because: String) -> Refusal {
    Refusal { flows: vec![flow.name.clone()], because, ..crate::refused::at(place, "route") }
}
