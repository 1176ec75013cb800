//! Who passes where: every tree's hops, by port and by the line they came over.

use super::upstream::UpstreamSets;
use super::visit::Visit;
use crate::input::topology::Topology;
use crate::routes::Tree;

/// Sets of all visits at all ports; a network of more is planned without.
const MEMBERS_MAX: usize = 2_000_000;

/// All visits and the order in which servers depend on one another.
#[derive(Debug)]
pub(crate) struct PortGraph {
    /// Visits of a tree are consecutive, in the order of its hops.
    pub(crate) visits: Vec<Visit>,
    /// Per visit: ports that the tree leaves the next node by.
    pub(crate) children: Vec<u32>,
    /// Per tree: its first visit.
    pub(crate) first: Vec<usize>,
    /// Per server: groups of visits that came over the same line (the line, the visits).
    pub(crate) groups: Vec<Vec<Group>>,
    /// Per server: all its visits as one, where one line lies between a processor and the ports.
    pub(crate) joint: Vec<Option<Group>>,
    /// Servers that carry anything, every one after those it depends on where that can be.
    pub(crate) order: Vec<usize>,
    /// Whether that could be everywhere.
    pub(crate) is_acyclic: bool,
}

/// Visits of one server that came over the same line.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// The egress upstream; `None` for what a host releases itself.
    pub(crate) line: Option<usize>,
    /// Its visits.
    pub(crate) visits: Vec<usize>,
    /// Those of them that came over slower lines before.
    pub(crate) upstream: UpstreamSets,
}

impl PortGraph {
    pub(crate) fn new(topology: &Topology<'_>, trees: &[Tree]) -> Self {
        let mut visits: Vec<Visit> = Vec::new();
        let mut first = Vec::new();
        for (tree, it) in trees.iter().enumerate() {
            let base = visits.len();
            first.push(base);
            for hop in &it.hops {
                let parent = hop.parent.map(|p| base + p);
                let depth = parent.map_or(0, |p| visits[p].depth + 1);
                visits.push(Visit { tree, server: hop.server, parent, depth });
            }
        }
        let mut groups = group(topology.servers.len(), &visits);
        let mut joint = joint(topology, &visits, &groups);
        for group in groups.iter_mut().flatten() {
            let Some(line) = group.line else { continue };
            let rate_bps = topology.servers[line].rate_bps;
            group.upstream = UpstreamSets::new(topology, &visits, &group.visits, rate_bps);
        }
        limit(groups.iter_mut().flatten().chain(joint.iter_mut().flatten()));
        let mut children = vec![0; visits.len()];
        for parent in visits.iter().filter_map(|visit| visit.parent) {
            children[parent] += 1;
        }
        let (order, is_acyclic) = order(topology, &groups);
        Self { visits, children, first, groups, joint, order, is_acyclic }
    }

    /// The visit of a tree's hop.
    pub(crate) fn visit(&self, tree: usize, hop: usize) -> usize {
        self.first[tree] + hop
    }

    /// Every visit of a server.
    pub(crate) fn at(&self, server: usize) -> impl Iterator<Item = usize> + '_ {
        self.groups[server].iter().flat_map(|group| group.visits.iter().copied())
    }
}

fn group(servers: usize, visits: &[Visit]) -> Vec<Vec<Group>> {
    let mut groups: Vec<Vec<Group>> = vec![Vec::new(); servers];
    for (index, visit) in visits.iter().enumerate() {
        let line = visit.parent.map(|p| visits[p].server);
        let here = &mut groups[visit.server];
        match here.iter_mut().find(|group| group.line == line) {
            Some(group) => group.visits.push(index),
            None => {
                here.push(Group { line, visits: vec![index], upstream: UpstreamSets::default() })
            }
        }
    }
    groups
}

/// What comes over the line between a processor and its ports, by port.
fn joint(topology: &Topology<'_>, visits: &[Visit], groups: &[Vec<Group>]) -> Vec<Option<Group>> {
    let of = |(server, groups): (usize, &Vec<Group>)| {
        let profile = topology.nodes[topology.servers[server].node].profile?;
        let link = profile.processor.as_ref()?.link?;
        let visits_here: Vec<usize> =
            groups.iter().flat_map(|g| g.visits.iter().copied()).collect();
        let upstream = UpstreamSets::new(topology, visits, &visits_here, link.rate_bps);
        Some(Group { line: None, visits: visits_here, upstream })
    };
    groups.iter().enumerate().map(of).collect()
}

/// Servers in the order of the flow of data; those in or behind a cycle last, by index.
///
/// A port waits for the lines that its own flows came over; behind a processor, for every line
/// that brings frames to it.
fn order(topology: &Topology<'_>, groups: &[Vec<Group>]) -> (Vec<usize>, bool) {
    let has_processor = |server: usize| {
        let profile = topology.nodes[topology.servers[server].node].profile;
        profile.is_some_and(|profile| profile.processor.is_some())
    };
    let lines = |server: usize| -> Vec<usize> {
        if groups[server].is_empty() || !has_processor(server) {
            return groups[server].iter().filter_map(|group| group.line).collect();
        }
        let node = topology.servers[server].node;
        let enters = |line: &usize| topology.servers[*line].peer == node;
        (0..groups.len()).filter(enters).filter(|line| !groups[*line].is_empty()).collect()
    };
    let before: Vec<Vec<usize>> = (0..groups.len()).map(lines).collect();
    let mut waits: Vec<usize> = before.iter().map(Vec::len).collect();
    let mut followers = vec![Vec::new(); groups.len()];
    for (server, lines) in before.iter().enumerate() {
        lines.iter().for_each(|&line| followers[line].push(server));
    }
    let used = |server: &usize| !groups[*server].is_empty();
    let mut order: Vec<usize> = (0..groups.len()).filter(used).filter(|&s| waits[s] == 0).collect();
    let mut next = 0;
    while next < order.len() {
        for &follower in &followers[order[next]] {
            waits[follower] -= 1;
            if waits[follower] == 0 {
                order.push(follower);
            }
        }
        next += 1;
    }
    let rest: Vec<usize> = (0..groups.len()).filter(used).filter(|&s| waits[s] > 0).collect();
    let is_acyclic = rest.is_empty();
    order.extend(rest);
    (order, is_acyclic)
}

/// Leaves all groups without sets where there are too many to look at.
fn limit<'g>(groups: impl Iterator<Item = &'g mut Group>) {
    let groups: Vec<&mut Group> = groups.collect();
    if groups.iter().map(|group| group.upstream.members()).sum::<usize>() > MEMBERS_MAX {
        groups.into_iter().for_each(|group| group.upstream = UpstreamSets::default());
    }
}
