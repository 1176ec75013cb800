//! Two ways through one switched network that have no switch, or no link, in common.

use super::tree::{Refused, Tree, TreeHop};
use crate::input::topology::Topology;
use std::collections::VecDeque;
use tenuto_model::Apart;

/// What is missing at the hosts themselves: both ends need a link for each copy.
pub(super) fn possible(topology: &Topology<'_>, flow: usize) -> Result<(), Refused> {
    let flow = &topology.network.flows[flow];
    let hosts = flow.targets.iter().map(|target| &target.host).chain([&flow.source]);
    for host in hosts {
        let node = topology.node(host);
        let links = node.map_or(0, |node| topology.leaving(node).len());
        if links < 2 {
            let because = format!(
                "copies take disjoint ways, but {host} has one link: it needs two{}",
                if flow.apart == Apart::Links { "" } else { ", to different switches" }
            );
            return Err((host.clone(), because));
        }
    }
    Ok(())
}

/// Two ways of a flow with one target and no fixed route, if there are any: two units of flow
/// through links, or switches, that carry one each (Ford and Fulkerson; for switches, nodes split).
pub(super) fn pair(topology: &Topology<'_>, flow: usize) -> Option<Vec<Tree>> {
    let contract = &topology.network.flows[flow];
    let [target] = contract.targets.as_slice() else { return None };
    if target.routes.iter().flatten().any(|nodes| !nodes.is_empty()) {
        return None;
    }
    let (source, goal) = (topology.node(&contract.source)?, topology.node(&target.host)?);
    let mut used = vec![false; topology.servers.len()];
    let is_split = contract.apart == Apart::Switches;
    for _ in 0..2 {
        augment(topology, source, goal, is_split, &mut used)?;
    }
    let mut trees = Vec::new();
    for copy in 0..2 {
        let mut way: Vec<usize> = Vec::new();
        let mut at = source;
        while at != goal {
            let server = *topology.leaving(at).iter().find(|&&server| used[server])?;
            used[server] = false;
            way.push(server);
            at = topology.servers[server].peer;
            // Units may meet at a switch and go on as each other: a way that comes back is cut.
            if let Some(back) = way.iter().position(|&server| topology.servers[server].node == at) {
                way.truncate(back);
            }
        }
        let hop =
            |(index, server): (usize, usize)| TreeHop { server, parent: index.checked_sub(1) };
        let hops: Vec<TreeHop> = way.into_iter().enumerate().map(hop).collect();
        let paths = vec![(0..hops.len()).collect()];
        trees.push(Tree { flow, copy: Some(copy), hops, paths });
    }
    Some(trees)
}

/// Where a search stands: at a node, and whether it came there as the way of the first unit
/// does, so that it may only go on along that way or back.
type Place = (usize, bool);

/// How a place was reached: from where, by which server, and whether that undoes a unit's step.
type Came = Option<(Place, usize, bool)>;

/// One more unit from source to goal, which may push an earlier one onto another way. Split nodes
/// carry one unit.
fn augment(
    topology: &Topology<'_>,
    source: usize,
    goal: usize,
    is_split: bool,
    used: &mut [bool],
) -> Option<()> {
    let (from, mut at) = search(topology, source, goal, is_split, used)?;
    while at.0 != source {
        let (before, server, is_undo) = from[at.0][usize::from(at.1)]?;
        if is_undo {
            used[topology.opposite(server)] = false;
        } else {
            used[server] = true;
        }
        at = before;
    }
    Some(())
}

/// Breadth first: how every place was reached, and the one at the goal.
fn search(
    topology: &Topology<'_>,
    source: usize,
    goal: usize,
    is_split: bool,
    used: &[bool],
) -> Option<(Vec<[Came; 2]>, Place)> {
    let carries =
        |node: usize| topology.leaving(node).iter().any(|&server| used[topology.opposite(server)]);
    let mut from: Vec<[Came; 2]> = vec![[None; 2]; topology.nodes.len()];
    let mut waiting: VecDeque<Place> = VecDeque::from([(source, false)]);
    while let Some((node, is_inside)) = waiting.pop_front() {
        if node == goal {
            return Some((from, (node, is_inside)));
        }
        if topology.nodes[node].is_host() && node != source {
            continue;
        }
        for &server in topology.leaving(node) {
            let peer = topology.servers[server].peer;
            let back = topology.opposite(server);
            // Against a used port: that unit is pushed back, and the node before is free to send.
            let (place, is_undo) = match (used[back], used[server]) {
                (true, _) => ((peer, true), true),
                (_, true) => continue,
                _ if is_split && !is_inside && carries(node) && node != source => {
                    continue;
                }
                _ => ((peer, false), false),
            };
            if peer == source || (!is_undo && topology.is_lost(server)) {
                continue;
            }
            let slot = &mut from[place.0][usize::from(place.1)];
            if slot.is_none() {
                *slot = Some(((node, is_inside), server, is_undo));
                waiting.push_back(place);
            }
        }
    }
    None
}
