//! The wires of a lab: veth pairs between namespaces, the management network, program ports.

use crate::app_port::{APP_INTERFACE, APP_PEER};
use crate::node_ports::interface_name;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use tenuto_io::links::{IpBatch, LinkName, VethEnd, disable_ipv6, offloads_off};
use tenuto_io::namespaces::within_netns;
use tenuto_model::{Addressing, Network};

const BRIDGE: &str = "mgmt";
const MANAGEMENT_INTERFACE: &str = "m0";
const MANAGEMENT_PREFIX_BITS: u8 = 16;
const HOST_PREFIX_BITS: u8 = 16;
/// Where programs send what goes to several targets.
const MULTICAST: (Ipv4Addr, u8) = (Ipv4Addr::new(224, 0, 0, 0), 4);

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    /// Its index in the network.
    Host(usize),
    Switch,
    Controller,
}

impl NodeKind {
    /// How `nodes.json` names it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Host(_) => "host",
            Self::Switch => "switch",
            Self::Controller => "controller",
        }
    }
}

/// Address of the node with that number on the management network.
pub(crate) fn management_address(number: usize) -> Ipv4Addr {
    let number = u16::try_from(number).unwrap_or(u16::MAX);
    let byte = |n: u16| n.to_be_bytes()[1];
    Ipv4Addr::new(10, 255, byte(number / 250), byte(number % 250 + 1))
}

/// A node that has a namespace.
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) kind: NodeKind,
    /// The process whose network namespace it is.
    pub(crate) pid: u32,
}

/// Makes every wire; whatever fails names the command.
pub(crate) fn wire_up(network: &Network, places: &[Place]) -> io::Result<()> {
    let pids: BTreeMap<&str, u32> = places.iter().map(|p| (p.name.as_str(), p.pid)).collect();
    for place in places {
        within_netns(place.pid, disable_ipv6)??;
    }
    disable_ipv6()?;
    let mut batch = IpBatch::new();
    let bridge = name(BRIDGE)?;
    batch.bridge(&bridge);
    for (number, place) in places.iter().enumerate() {
        let outer = name(&format!("m-{number}"))?;
        let inner = VethEnd { name: name(MANAGEMENT_INTERFACE)?, pid: Some(place.pid), mac: None };
        batch.veth_pair(&inner, &VethEnd { name: outer.clone(), pid: None, mac: None });
        batch.enslave(&outer, &bridge).up(&outer);
    }
    for link in &network.links {
        let end = |end: &tenuto_model::LinkEnd| -> io::Result<(LinkName, u32)> {
            let pid = pids.get(end.node.as_str());
            let pid = pid.ok_or_else(|| io::Error::other(format!("no node {}", end.node)))?;
            Ok((name(&interface_name(end.port))?, *pid))
        };
        let (a, b) = (end(&link.a)?, end(&link.b)?);
        batch.veth_between((&a.0, a.1), (&b.0, b.1));
    }
    for place in places {
        if let NodeKind::Host(index) = place.kind {
            let mac = Addressing::new(network).host(index).mac;
            let app = VethEnd { name: name(APP_INTERFACE)?, pid: Some(place.pid), mac: Some(mac) };
            let peer = VethEnd { name: name(APP_PEER)?, pid: Some(place.pid), mac: None };
            batch.veth_pair(&app, &peer);
        }
    }
    batch.run().map_err(io::Error::other)?;
    places.iter().enumerate().try_for_each(|(number, place)| set_up(network, number, place))
}

/// Offloads, addresses and neighbours inside one node, and everything up.
fn set_up(network: &Network, number: usize, place: &Place) -> io::Result<()> {
    let ports = network.ends_of(&place.name).map(|(own, _, _)| interface_name(own.port));
    let mut quiet: Vec<LinkName> = ports.map(|port| name(&port)).collect::<io::Result<_>>()?;
    if matches!(place.kind, NodeKind::Host(_)) {
        quiet.push(name(APP_INTERFACE)?);
        quiet.push(name(APP_PEER)?);
    }
    within_netns(place.pid, || quiet.iter().try_for_each(offloads_off))??;
    let mut batch = IpBatch::new();
    let (loopback, management) = (name("lo")?, name(MANAGEMENT_INTERFACE)?);
    batch.up(&loopback);
    let address = IpAddr::V4(management_address(number));
    batch.address(&management, address, MANAGEMENT_PREFIX_BITS).up(&management);
    quiet.iter().for_each(|link| {
        batch.up(link);
    });
    if let NodeKind::Host(index) = place.kind {
        programs(network, index, &mut batch)?;
    }
    batch.run_in(place.pid).map_err(io::Error::other)
}

/// Addresses for programs: every host is a neighbour, nobody ever asks.
fn programs(network: &Network, index: usize, batch: &mut IpBatch) -> io::Result<()> {
    let addressing = Addressing::new(network);
    let app = name(APP_INTERFACE)?;
    let own = Ipv4Addr::from(addressing.host(index).ip);
    batch.address(&app, own.into(), HOST_PREFIX_BITS);
    for other in (0..network.hosts.len()).filter(|&other| other != index) {
        let address = addressing.host(other);
        batch.neighbour(&app, Ipv4Addr::from(address.ip).into(), address.mac);
    }
    batch.route((MULTICAST.0.into(), MULTICAST.1), &app, None);
    Ok(())
}

/// Both ends of the first link between two nodes, each with the port at it.
pub(crate) fn ends_between(network: &Network, ends: &[String; 2]) -> Option<[(String, u32); 2]> {
    let found = network.links.iter().find(|link| {
        let pair = [&link.a.node, &link.b.node];
        pair == [&ends[0], &ends[1]] || pair == [&ends[1], &ends[0]]
    })?;
    Some([(found.a.node.clone(), found.a.port), (found.b.node.clone(), found.b.port)])
}

/// Switches one end of a link on or off.
pub(crate) fn set_link(pid: u32, port: u32, is_up: bool) -> io::Result<()> {
    let link = name(&interface_name(port))?;
    let mut batch = IpBatch::new();
    match is_up {
        true => batch.up(&link),
        false => batch.down(&link),
    };
    batch.run_in(pid).map_err(io::Error::other)
}

fn name(text: &str) -> io::Result<LinkName> {
    LinkName::new(text).map_err(io::Error::other)
}

/// The hosts file of a lab: names of hosts for programs.
pub(crate) fn hosts_file(network: &Network) -> String {
    let addressing = Addressing::new(network);
    let line = |(index, host): (usize, &tenuto_model::Host)| {
        format!("{}\t{}\n", Ipv4Addr::from(addressing.host(index).ip), host.name)
    };
    let hosts: String = network.hosts.iter().enumerate().map(line).collect();
    format!("127.0.0.1\tlocalhost\n{hosts}")
}
