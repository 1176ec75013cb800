//! What every end system is told: its flows, by the ports and in the queues that are analysed.

use crate::deployment::switches::check_attached;
use crate::description::net::Net;
use crate::description::read::{HostDeployment, Role};
use crate::finding::rule;
use crate::rows::context::Context;
use std::collections::{BTreeMap, BTreeSet};

/// Ports of a host by flow, in the order of the copies.
type Ends = BTreeMap<usize, BTreeMap<usize, Vec<u32>>>;
/// The largest skew of any row by flow and target, picoseconds.
type Skews<'a> = BTreeMap<(&'a str, &'a str), u64>;

/// Checks every end system against the routes.
pub(crate) fn check(context: &Context<'_>) {
    let (plan, net) = (context.plan, context.net);
    let (mut sending, mut receiving) = (Ends::new(), Ends::new());
    let mut skews: Skews<'_> = BTreeMap::new();
    for row in &plan.flows {
        let most = skews.entry((&row.flow, &row.target)).or_default();
        *most = row.skew_bound_ps.unwrap_or(0).max(*most);
    }
    for stream in context.streams {
        let flow = &net.flows[stream.flow];
        if let Some(root) = stream.tree.first() {
            let ports = sending.entry(flow.source).or_default().entry(stream.flow).or_default();
            ports.push(net.ports[root.port].number);
        }
        for (path, target) in stream.paths.iter().zip(&flow.targets) {
            let Some(last) = path.last() else { continue };
            let number = net.ports[Net::reverse(stream.tree[*last].port)].number;
            receiving.entry(*target).or_default().entry(stream.flow).or_default().push(number);
        }
    }
    let mut seen = BTreeSet::new();
    for deployment in &plan.hosts {
        let node = net.node(&deployment.host).filter(|node| net.nodes[*node].switch.is_none());
        let Some(node) = node.filter(|node| seen.insert(*node)) else {
            context.wrong(rule::END_SYSTEM, &deployment.host, "a host", "no such host, or twice");
            continue;
        };
        check_attached(context, node, &deployment.ports, &deployment.host);
        check_queues(deployment, sending.get(&node), net);
        let empty = BTreeMap::new();
        check_senders(context, deployment, sending.get(&node).unwrap_or(&empty));
        let receiving = receiving.get(&node).unwrap_or(&empty);
        check_receivers(context, deployment, receiving, &skews);
    }
    let is_refused =
        net.flows.iter().any(|flow| crate::streams::routes::is_refused(plan, &flow.raw.name));
    if is_refused && plan.hosts.is_empty() {
        return;
    }
    for (node, info) in net.nodes.iter().enumerate().filter(|(_, node)| node.switch.is_none()) {
        if !seen.contains(&node) {
            context.wrong(rule::END_SYSTEM, info.name, "no deployment", "every host has one");
        }
    }
}

/// An end system has a queue for every class that it sends by a port, and drops nothing there.
fn check_queues(
    deployment: &HostDeployment,
    sending: Option<&BTreeMap<usize, Vec<u32>>>,
    net: &Net<'_>,
) {
    for described in &deployment.ports {
        let by_this = sending.into_iter().flatten().filter(|(_, p)| p.contains(&described.port));
        let classes = by_this.flat_map(|(flow, _)| net.flows[*flow].contracts.iter());
        let needed = classes.map(|contract| u16::from(contract.class) + 1).max().unwrap_or(0);
        let place = format!("{}:{}", deployment.host, described.port);
        if u16::from(described.queues) < needed {
            let claim = format!("{} queues", described.queues);
            net.wrong(rule::END_SYSTEM, &place, claim, format!("at least {needed}"));
        }
        if let Some(bytes) = described.buffer_bytes {
            let found = "none in the description: what a host sends is never dropped there";
            net.wrong(rule::END_SYSTEM, &place, format!("buffer {bytes} B"), found);
        }
        if described.role != Role::Host {
            net.wrong(rule::END_SYSTEM, place, "a trunk", "the port of a host");
        }
    }
}

fn check_senders(
    context: &Context<'_>,
    deployment: &HostDeployment,
    expected: &BTreeMap<usize, Vec<u32>>,
) {
    let net = context.net;
    let mut seen = BTreeSet::new();
    for sender in &deployment.senders {
        let place = format!("{} sends {}", deployment.host, sender.flow);
        let flow = net.flow(&sender.flow).filter(|flow| *flow == usize::from(sender.flow_index));
        let Some((flow, ports)) = flow.and_then(|flow| Some((flow, expected.get(&flow)?))) else {
            context.wrong(rule::END_SYSTEM, place, "a sender", "no such flow from here");
            continue;
        };
        if !seen.insert(flow) {
            context.wrong(rule::END_SYSTEM, &place, "a second sender", "one per flow");
        }
        let queues: Vec<u8> = net.flows[flow].contracts.iter().map(|c| c.class).collect();
        let claim = (&sender.ports, &sender.queues);
        if claim != (ports, &queues) {
            let found = format!("{:?}", (ports, &queues));
            context.wrong(rule::END_SYSTEM, place, format!("ports and queues {claim:?}"), found);
        }
    }
    missing(context, deployment, "sends", expected, &seen);
}

fn check_receivers(
    context: &Context<'_>,
    deployment: &HostDeployment,
    expected: &BTreeMap<usize, Vec<u32>>,
    skews: &Skews<'_>,
) {
    let net = context.net;
    let mut seen = BTreeSet::new();
    for receiver in &deployment.receivers {
        let place = format!("{} receives {}", deployment.host, receiver.flow);
        let flow =
            net.flow(&receiver.flow).filter(|flow| *flow == usize::from(receiver.flow_index));
        let Some((flow, ports)) = flow.and_then(|flow| Some((flow, expected.get(&flow)?))) else {
            context.wrong(rule::END_SYSTEM, place, "a receiver", "no such flow to here");
            continue;
        };
        if !seen.insert(flow) {
            context.wrong(rule::END_SYSTEM, &place, "a second receiver", "one per flow");
        }
        if receiver.ports != *ports {
            let claim = format!("ports {:?}", receiver.ports);
            context.wrong(rule::END_SYSTEM, &place, claim, format!("{ports:?}"));
        }
        let described = net.flows[flow].raw.skew_max_ns;
        if receiver.skew_max_ns != described {
            let claim = format!("skew {:?} ns", receiver.skew_max_ns);
            let found = format!("{described:?} ns in the description");
            context.wrong(rule::END_SYSTEM, &place, claim, found);
        }
        // A copy that is late but within its bound must not be taken for an error.
        let skew = skews.get(&(&*receiver.flow, &*deployment.host)).copied().unwrap_or(0);
        if let Some(limit) = receiver.skew_max_ns.filter(|_| context.plan.feasible)
            && u128::from(limit) * 1_000 < u128::from(skew)
        {
            let claim = format!("skew {limit} ns");
            context.wrong(rule::END_SYSTEM, place, claim, format!("bounds up to {skew} ps"));
        }
    }
    missing(context, deployment, "receives", expected, &seen);
}

fn missing(
    context: &Context<'_>,
    deployment: &HostDeployment,
    verb: &str,
    expected: &BTreeMap<usize, Vec<u32>>,
    seen: &BTreeSet<usize>,
) {
    for flow in expected.keys().filter(|flow| !seen.contains(flow)) {
        let name = &context.net.flows[*flow].raw.name;
        let place = format!("{} {verb} {name}", deployment.host);
        context.wrong(rule::END_SYSTEM, place, "nothing", "the route says so");
    }
}
