//! Whether a way from one host to another can cross a switch without crossing any node twice.

use super::topology::Topology;
use crate::NodeRef;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A state of the second search.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum At<'a> {
    /// Entered by a link.
    Entered(&'a str),
    /// Reached against the first way: the link by which that way left the node is free again.
    TakenBack(&'a str),
}

/// A way as links: the node before, and the node behind, of each of its nodes.
#[derive(Default)]
struct Way<'a> {
    before: BTreeMap<&'a str, &'a str>,
    behind: BTreeMap<&'a str, &'a str>,
}

impl<'a> Topology<'a> {
    /// Whether a way through switches from `source` to `target` can cross `middle`: whether two ways without a
    /// common node lead from `middle` to both. The second is searched for by augmentation, so
    /// that the choice of the first does not matter (Menger).
    pub(super) fn is_between(&self, middle: &str, source: &str, target: &str) -> bool {
        self.first_way(source, middle)
            .is_some_and(|way| self.has_second(&way, source, target, middle))
    }

    /// A shortest way from host `source` to `middle`.
    fn first_way(&self, source: &str, middle: &str) -> Option<Way<'a>> {
        let mut before: BTreeMap<&'a str, &'a str> = BTreeMap::new();
        let source = self.name_of(source)?;
        let mut open = VecDeque::from([source]);
        while let Some(here) = open.pop_front() {
            for &(next, _) in self.neighbours(here) {
                if before.contains_key(next) || !self.is_switch(next) {
                    continue;
                }
                before.insert(next, here);
                if next == middle {
                    return Some(Way::back_from(next, &before));
                }
                open.push_back(next);
            }
        }
        None
    }

    fn has_second(&self, way: &Way<'a>, source: &str, target: &str, middle: &str) -> bool {
        let mut seen: BTreeSet<At<'a>> = BTreeSet::new();
        let mut open: Vec<At<'a>> = Vec::new();
        let links = |node: &str| self.neighbours(node).iter().map(|&(next, _)| next);
        let enters = |node: &'a str| self.is_switch(node).then_some(At::Entered(node));
        open.extend(links(target).filter_map(enters));
        while let Some(at) = open.pop() {
            if at == At::Entered(middle) {
                return true;
            }
            if !seen.insert(at) {
                continue;
            }
            let (At::Entered(here) | At::TakenBack(here)) = at;
            let is_free = matches!(at, At::TakenBack(_)) || !way.before.contains_key(here);
            if is_free {
                let used = way.behind.get(here);
                open.extend(links(here).filter(|next| used != Some(next)).filter_map(enters));
            }
            if here != source {
                open.extend(way.before.get(here).map(|node| At::TakenBack(node)));
            }
        }
        false
    }

    fn is_switch(&self, name: &str) -> bool {
        matches!(self.node(name), Some(NodeRef::Switch(_)))
    }
}

impl<'a> Way<'a> {
    fn back_from(last: &'a str, before: &BTreeMap<&'a str, &'a str>) -> Self {
        let mut way = Self::default();
        let mut here = last;
        while let Some(&node) = before.get(here) {
            way.before.insert(here, node);
            way.behind.insert(node, here);
            here = node;
        }
        // The way ends at `last`, which both ways may enter.
        way.before.remove(last);
        way
    }
}

#[cfg(test)]
mod tests {
    use crate::check::topology::Topology;
    use crate::{MemorySources, read_network};

    /// Hosts a and b, switches by letters, links as written.
    fn network(links: &str) -> crate::Network {
        let mut nodes: Vec<&str> = links.split([' ', '-']).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let switches: Vec<String> = nodes
            .iter()
            .filter(|name| !["a", "b", "c"].contains(name))
            .map(|name| format!("{name}: {{profile: ideal}}"))
            .collect();
        let links: Vec<String> = links
            .split(' ')
            .filter_map(|link| link.split_once('-'))
            .map(|(one, other)| format!("  - {{ends: [{one}, {other}]}}\n"))
            .collect();
        let text = format!(
            "tenuto: 1\nname: n\nhosts: {{a: {{}}, b: {{}}, c: {{}}}}\nswitches: {{{}}}\n\
             controllers: {{k: {{manages: all}}}}\n\
             defaults: {{link: {{rate: 100 Mbit/s, length: 1 m}}}}\nlinks:\n{}\
             flows: {{F: {{source: a, targets: [b], message: 100 B, period: 10 ms, priority: 0}}}}\n",
            switches.join(", "),
            links.concat()
        );
        let sources = MemorySources::new().with("n.yaml", &text);
        read_network(&sources, "n.yaml").unwrap_or_else(|error| panic!("{error}")).0
    }

    fn crossed(links: &str) -> String {
        let network = network(links);
        let topology = Topology::new(&network);
        let names = network.switches.iter().map(|it| it.name.as_str());
        names.filter(|name| topology.is_between(name, "a", "b")).collect()
    }

    #[test]
    fn a_dead_end_is_on_no_way() {
        assert_eq!(crossed("a-p p-q q-b q-r c-r"), "pq");
    }

    #[test]
    fn a_circle_has_two_ways_and_a_circle_behind_one_switch_none() {
        assert_eq!(crossed("a-p p-q q-r r-p r-b c-q"), "pqr");
        assert_eq!(crossed("a-p p-b p-q q-r r-p c-q"), "p");
    }

    /// The shortest way from a to s goes over m, which b needs: it is taken back to the longer one.
    #[test]
    fn the_first_way_yields() {
        assert_eq!(crossed("a-p p-m m-s p-x x-y y-s m-b c-s"), "mpsxy");
    }
}
