//! Who is attached to whom: networks that share nothing, hosts with a link to each, controllers.

use crate::description::net::Net;
use crate::finding::rule;
use std::collections::{BTreeMap, BTreeSet};

/// Redundant networks.
const NETWORKS_MAX: usize = 2;
/// Port numbers; those above are reserved (OpenFlow 1.3.5, section 7.2.1).
const PORT_MAX: u32 = 65_279;
/// The slowest line, bit/s.
const RATE_BPS_MIN: u64 = 1_000;

/// Checks switches, links, hosts and controllers.
pub(crate) fn check(net: &Net<'_>) {
    check_switches(net);
    check_links(net);
    check_hosts(net);
    check_controllers(net);
}

fn check_switches(net: &Net<'_>) {
    let raw = net.raw;
    if raw.networks.len() > NETWORKS_MAX {
        let claim = format!("{} of them", raw.networks.len());
        net.wrong(rule::DESCRIPTION, "networks", claim, "at most two");
    }
    for switch in &raw.switches {
        let is_placed = match &switch.network {
            None => raw.networks.is_empty(),
            Some(own) => raw.networks.contains(own),
        };
        if !is_placed {
            let claim = format!("network {:?}", switch.network);
            net.wrong(rule::DESCRIPTION, &switch.name, claim, "one of the networks");
        }
    }
}

fn check_links(net: &Net<'_>) {
    let network = |node: usize| net.nodes[node].switch.map(|(switch, _)| &switch.network);
    // Every link is two ports, one after the other.
    for port in (0..net.ports.len()).step_by(2) {
        let (near, far) = (&net.ports[port], &net.ports[Net::reverse(port)]);
        let wrong = |claim: String, found: &str| {
            net.wrong(rule::DESCRIPTION, net.label(port), claim, found);
        };
        if ![near.number, far.number].iter().all(|number| (1..=PORT_MAX).contains(number)) {
            wrong(format!("ports {} and {}", near.number, far.number), "from 1 to 65279");
        }
        if near.rate_bps < RATE_BPS_MIN {
            wrong(format!("{} bit/s", near.rate_bps), "at least 1 kbit/s");
        }
        match (network(near.node), network(far.node)) {
            (Some(a), Some(b)) if a != b => {
                wrong(format!("{a:?} to {b:?}"), "redundant networks share no link");
            }
            (None, None) if !net.raw.networks.is_empty() => {
                wrong("a link between hosts".into(), "it belongs to no network");
            }
            _ => {}
        }
    }
}

/// Hosts have one link, and one to each network; where two copies of a flow take ways of their own
/// through one network, two.
fn check_hosts(net: &Net<'_>) {
    let with_copies = net.flows.iter().filter(|flow| !flow.raw.copies.is_empty());
    let ends =
        with_copies.flat_map(|flow| std::iter::once(flow.source).chain(flow.targets.clone()));
    let twice: BTreeSet<usize> = ends.collect();
    for (host, info) in net.nodes.iter().enumerate().filter(|(_, node)| node.switch.is_none()) {
        let mut links: BTreeMap<Option<&str>, usize> = BTreeMap::new();
        for port in net.ports_of(host) {
            let peer = net.nodes[net.ports[port].peer].switch;
            let network = peer.and_then(|(switch, _)| switch.network.as_deref());
            *links.entry(network).or_default() += 1;
        }
        let most = if net.raw.networks.is_empty() && twice.contains(&host) { 2 } else { 1 };
        if let Some((network, count)) = links.into_iter().find(|(_, count)| *count > most) {
            let claim = format!("{count} links, network {network:?}");
            net.wrong(rule::DESCRIPTION, info.name, claim, format!("at most {most}"));
        }
    }
}

fn check_controllers(net: &Net<'_>) {
    let (mut names, mut managed) = (BTreeSet::new(), BTreeSet::new());
    for controller in &net.raw.controllers {
        if net.node(&controller.name).is_some() || !names.insert(&controller.name) {
            net.wrong(rule::DESCRIPTION, &controller.name, "a controller", "the name is taken");
        }
        for switch in &controller.manages {
            let node = net.node(switch).filter(|node| net.nodes[*node].switch.is_some());
            if node.is_none() || !managed.insert(switch) {
                let claim = format!("manages {switch}");
                let found = "switches that there are, each with one controller";
                net.wrong(rule::DESCRIPTION, &controller.name, claim, found);
            }
        }
    }
}
