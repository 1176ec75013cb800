//! Routes, checked against the network and turned into trees of ports.

use crate::description::net::Net;
use crate::description::read::{self, Apart};
use crate::finding::rule;
use crate::streams::levels::{is_watched, watching};
use crate::streams::stream::{Stream, TreePort};
use crate::streams::upstream;
use std::collections::{BTreeMap, BTreeSet};

/// Every copy of every flow that has a valid route; findings for the others, unless the plan
/// itself refuses their flow for want of one.
pub(crate) fn streams(plan: &read::Plan, net: &Net<'_>) -> Vec<Stream> {
    let mut by_copy: BTreeMap<(usize, usize), Stream> = BTreeMap::new();
    let mut seen: BTreeMap<(usize, usize), ()> = BTreeMap::new();
    for route in &plan.routes {
        let label = route_label(&route.flow, route.copy.as_deref());
        let Some((flow, copy)) = copy_of(net, route) else {
            net.wrong(rule::ROUTE, label, "a route", "no such copy of a flow");
            continue;
        };
        if seen.insert((flow, copy), ()).is_some() {
            net.wrong(rule::ROUTE, label, "a second route", "one route per copy");
            continue;
        }
        match tree(net, route, flow, copy) {
            Ok(stream) => {
                by_copy.insert((flow, copy), stream);
            }
            Err((claim, found)) => net.wrong(rule::ROUTE, label, claim, found),
        }
    }
    for (index, flow) in net.flows.iter().enumerate() {
        for copy in 0..flow.raw.copies.len().max(1) {
            if !seen.contains_key(&(index, copy)) && !is_refused(plan, &flow.raw.name) {
                let label =
                    route_label(&flow.raw.name, flow.raw.copies.get(copy).map(String::as_str));
                net.wrong(rule::ROUTE, label, "no route", "every flow has one, or is refused");
            }
        }
    }
    let mut streams: Vec<Stream> = by_copy.into_values().collect();
    upstream::note(net, &mut streams);
    check_disjoint(net, &streams);
    streams
}

/// Copies that no redundant networks keep apart go over no switch, or over no link, in common.
fn check_disjoint(net: &Net<'_>, streams: &[Stream]) {
    if !net.raw.networks.is_empty() {
        return;
    }
    let mut crossed: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for stream in streams {
        let flow = &net.flows[stream.flow].raw;
        for hop in &stream.tree {
            let node = net.ports[hop.port].node;
            let (own, place) = match flow.apart {
                // Both directions of a link are lost together.
                Apart::Links => (hop.port.min(Net::reverse(hop.port)), net.label(hop.port)),
                Apart::Switches if net.nodes[node].switch.is_none() => continue,
                Apart::Switches => (node, net.nodes[node].name.to_owned()),
            };
            let other = *crossed.entry((stream.flow, own)).or_insert(stream.copy);
            if other != stream.copy {
                let found = format!("both cross {place}");
                net.wrong(rule::ROUTE, &flow.name, "copies over disjoint ways", found);
            }
        }
    }
}

/// Whether the plan refuses the flow because it has no route.
pub(crate) fn is_refused(plan: &read::Plan, flow: &str) -> bool {
    let names = |refusal: &read::Refusal| {
        refusal.resource == "route" && refusal.flows.iter().any(|f| f == flow)
    };
    !plan.feasible && plan.refusals.iter().any(names)
}

fn route_label(flow: &str, copy: Option<&str>) -> String {
    copy.map_or_else(|| flow.to_owned(), |copy| format!("{flow} on {copy}"))
}

fn copy_of(net: &Net<'_>, route: &read::Route) -> Option<(usize, usize)> {
    let flow = net.flow(&route.flow)?;
    let copies = &net.flows[flow].raw.copies;
    let copy = match &route.copy {
        None => copies.is_empty().then_some(0)?,
        Some(name) => copies.iter().position(|copy| copy == name)?,
    };
    Some((flow, copy))
}

type Refused = (String, &'static str);

/// The tree of one route.
fn tree(net: &Net<'_>, route: &read::Route, flow: usize, copy: usize) -> Result<Stream, Refused> {
    let description = &net.flows[flow];
    if route.paths.len() != description.targets.len() {
        return Err((format!("{} paths", route.paths.len()), "one path per target, in order"));
    }
    let mut growing = Growing::new(flow, copy, description.source);
    for (target, path) in route.paths.iter().enumerate() {
        let place = format!("path to {}", path.target);
        let node = description.targets[target];
        if net.nodes[node].name != path.target {
            return Err((place, "one path per target, in the flow's order"));
        }
        let ports = match ports_of(net, route, path, description.source, node) {
            Ok(ports) => ports,
            Err(found) => return Err((place, found)),
        };
        if !route.is_backup && !is_as_fixed(net, &description.raw.targets[target], copy, &ports) {
            return Err((place, "the description fixes another route"));
        }
        growing.add(net, ports).map_err(|found| (place, found))?;
    }
    let mut stream = growing.stream;
    let first = stream.tree.first().map(|root| net.ports[root.port].peer);
    stream.first_switch = first.filter(|node| net.nodes[*node].switch.is_some());
    let is_first = |node: usize| watching(net, &stream).contains(&node);
    stream.is_watched_late = is_watched(net, flow) && !stream.first_switch.is_some_and(is_first);
    Ok(stream)
}

/// A tree to which path after path is added.
struct Growing {
    stream: Stream,
    /// Nodes that a port of the tree leads to, and the source.
    entered: BTreeSet<usize>,
    /// The place of every port.
    places: BTreeMap<usize, usize>,
}

impl Growing {
    fn new(flow: usize, copy: usize, source: usize) -> Self {
        Self {
            stream: Stream {
                flow,
                copy,
                tree: Vec::new(),
                children: Vec::new(),
                paths: Vec::new(),
                first_switch: None,
                is_watched_late: false,
                slower: Vec::new(),
            },
            entered: BTreeSet::from([source]),
            places: BTreeMap::new(),
        }
    }

    fn add(&mut self, net: &Net<'_>, ports: Vec<usize>) -> Result<(), &'static str> {
        let (mut parent, mut steps) = (None, Vec::new());
        for port in ports {
            let next = self.stream.tree.len();
            let here = *self.places.entry(port).or_insert(next);
            if here == next {
                if parent.is_none() && next != 0 {
                    return Err("all paths leave the source by the same port");
                }
                if !self.entered.insert(net.ports[port].peer) {
                    return Err("together the paths are a tree; a node is entered twice");
                }
                self.stream.tree.push(TreePort { port, parent });
                self.stream.children.push(Vec::new());
                if let Some(parent) = parent {
                    self.stream.children[parent].push(here);
                }
            }
            parent = Some(here);
            steps.push(here);
        }
        self.stream.paths.push(steps);
        Ok(())
    }
}

/// The ports of a path: from the source's own to the target, over switches of the copy's network.
fn ports_of(
    net: &Net<'_>,
    route: &read::Route,
    path: &read::Path,
    source: usize,
    target: usize,
) -> Result<Vec<usize>, &'static str> {
    let mut at = source;
    let mut ports = Vec::new();
    for (step, named) in path.ports.iter().enumerate() {
        if step > 0 {
            let Some((switch, _)) = net.nodes[at].switch else {
                return Err("only switches forward");
            };
            let is_apart = route.copy.is_some() && !net.raw.networks.is_empty();
            if is_apart && switch.network != route.copy {
                return Err("a copy stays in its network");
            }
        }
        let port = net.port(named).ok_or("a port that does not exist")?;
        if net.ports[port].node != at {
            return Err("the ports are not connected");
        }
        at = net.ports[port].peer;
        ports.push(port);
        if ports.len() > net.nodes.len() {
            return Err("a node is visited twice");
        }
    }
    if at == target && !ports.is_empty() { Ok(ports) } else { Err("it does not end at the target") }
}

/// Whether the nodes between source and target are those that the user fixed, if any.
fn is_as_fixed(net: &Net<'_>, target: &read::Target, copy: usize, ports: &[usize]) -> bool {
    let Some(Some(fixed)) = target.routes.get(copy) else { return true };
    let between = ports.iter().skip(1).map(|port| net.nodes[net.ports[*port].node].name);
    between.eq(fixed.iter().map(String::as_str))
}
