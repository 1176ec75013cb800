//! The shortest way from every switch of a network to every host.

use super::way::Hop;
use std::collections::{BTreeMap, VecDeque};
use tenuto_model::Addressing;
use tenuto_model::{LinkEnd, Network};

/// By MAC address of the host, a way from each switch that reaches it. Of equally short ones, the way over the link
/// that the file names first.
pub(super) fn shortest_ways(network: &Network) -> Vec<([u8; 6], Vec<Hop>)> {
    let addressing = Addressing::new(network);
    let hosts = network.hosts.iter().enumerate();
    hosts
        .flat_map(|(index, host)| {
            let mac = addressing.host(index).mac;
            ways_to(network, &host.name).into_iter().map(move |hops| (mac, hops))
        })
        .collect()
}

/// Ways to a host, found backwards from it: longer ones come later.
fn ways_to(network: &Network, host: &str) -> Vec<Vec<Hop>> {
    let datapaths: BTreeMap<&str, u64> =
        network.switches.iter().map(|it| (it.name.as_str(), it.datapath_id)).collect();
    let mut ways: BTreeMap<&str, Vec<Hop>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    let mut open = VecDeque::from([host]);
    while let Some(here) = open.pop_front() {
        for (near, far) in links_of(network, here) {
            let Some(&datapath) = datapaths.get(far.node.as_str()) else { continue };
            if ways.contains_key(far.node.as_str()) {
                continue;
            }
            let rest = ways.get(near.node.as_str()).into_iter().flatten();
            let own = Hop { datapath, port: far.port };
            let way = std::iter::once(own).chain(rest.copied()).collect();
            ways.insert(&far.node, way);
            order.push(&far.node);
            open.push_back(&far.node);
        }
    }
    order.into_iter().filter_map(|name| ways.remove(name)).collect()
}

/// Links at a node: its own end and the other.
fn links_of<'a>(
    network: &'a Network,
    node: &'a str,
) -> impl Iterator<Item = (&'a LinkEnd, &'a LinkEnd)> {
    network.links.iter().filter_map(move |link| match (link.a.node == node, link.b.node == node) {
        (true, _) => Some((&link.a, &link.b)),
        (_, true) => Some((&link.b, &link.a)),
        _ => None,
    })
}
