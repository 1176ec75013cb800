//! An application on the switches of a network file.

use super::fixed::{Fixed, Host, Link, PortAt, SwitchAt, index, switch_config};
use super::packets::{Address, NOBODY};
use super::property::Property;
use super::setup::{Budgets, Move, Setup};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tenuto_controller::reactive::ReactiveApp;
use tenuto_dataplane::switch::AttendreMutant;
use tenuto_model::{Addressing, LinkEnd, Network};
use tenuto_units::Rate;

/// More than the controller is shown (128): the switch keeps it until it is told.
const PACKET_BYTES: usize = 200;
/// Packets of one host that are explored at most.
const PACKETS_MAX: usize = 100;

/// Switches, hosts and links of a network.
#[derive(Clone, Debug)]
pub(crate) struct Topology {
    pub(crate) switches: Vec<SwitchAt>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) links: Vec<Link>,
    /// Rate and propagation delay behind each port of a switch.
    pub(crate) lines: BTreeMap<(usize, u32), (Rate, u64)>,
}

impl Topology {
    /// # Errors
    /// In words, if a move goes where it cannot.
    pub(crate) fn of(network: &Network, moves: &[Move]) -> Result<Self, String> {
        let mut this = Self {
            switches: Vec::new(),
            hosts: hosts(network),
            links: Vec::new(),
            lines: BTreeMap::new(),
        };
        let mut ports: Vec<Vec<PortAt>> = vec![Vec::new(); network.switches.len()];
        let switch = |end: &LinkEnd| network.switches.iter().position(|it| it.name == end.node);
        for link in &network.links {
            let rate = Rate::from_bps(link.rate_bps).ok_or("a link without rate")?;
            for (near, far) in [(&link.a, &link.b), (&link.b, &link.a)] {
                let Some(from) = switch(near) else { continue };
                let is_trunk = switch(far).is_some();
                ports[from].push(PortAt { number: near.port, rate, is_trunk });
                this.lines.insert((from, near.port), (rate, link.propagation_ns));
                match switch(far) {
                    Some(to) => {
                        let ends = (near.node.clone(), far.node.clone());
                        let (from_port, to_port) = (near.port, far.port);
                        this.links.push(Link { from, from_port, to, to_port, ends });
                    }
                    None => this.attach(&far.node, (from, near.port)),
                }
            }
        }
        for it in moves {
            this.add_move(network, it, &mut ports)?;
        }
        this.name_ends();
        for (at, ports) in network.switches.iter().zip(ports) {
            let config = Arc::new(switch_config(at.datapath_id, &ports));
            this.switches.push(SwitchAt { name: at.name.clone(), config });
        }
        Ok(this)
    }

    /// A host of two networks is at the port that was named first.
    fn attach(&mut self, host: &str, place: (usize, u32)) {
        let found = self.hosts.iter_mut().find(|it| it.name == host && it.places.is_empty());
        if let Some(host) = found {
            host.places.push(place);
        }
    }

    fn add_move(
        &mut self,
        network: &Network,
        it: &Move,
        ports: &mut [Vec<PortAt>],
    ) -> Result<(), String> {
        let Move { host, switch, port: number } = it;
        let known = || network.switches.iter().map(|it| it.name.as_str()).collect::<Vec<_>>();
        let place = network.switches.iter().position(|it| it.name == *switch);
        let place = place.ok_or_else(|| {
            format!("no switch is called `{switch}`; there are {}", known().join(", "))
        })?;
        if ports[place].iter().any(|port| port.number == *number) {
            return Err(format!("port {number} of {switch} is taken: a host moves to a free one"));
        }
        let own = self.host(host)?;
        let home = self.hosts[own].places.first().and_then(|home| self.lines.get(home).copied());
        let line = home.ok_or_else(|| format!("{host} is at no switch"))?;
        ports[place].push(PortAt { number: *number, rate: line.0, is_trunk: false });
        self.lines.insert((place, *number), line);
        self.hosts[own].places.push((place, *number));
        Ok(())
    }

    /// Ends of links between two switches that are linked twice are told with their ports.
    fn name_ends(&mut self) {
        let mut count: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for link in &self.links {
            *count.entry((link.from, link.to)).or_default() += 1;
        }
        for link in &mut self.links {
            if count[&(link.from, link.to)] > 1 {
                link.ends.0 = format!("{}:{}", link.ends.0, link.from_port);
                link.ends.1 = format!("{}:{}", link.ends.1, link.to_port);
            }
        }
    }

    /// The place of a host.
    ///
    /// # Errors
    /// In words, if there is none of that name.
    pub(crate) fn host(&self, name: &str) -> Result<usize, String> {
        let names = || self.hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>();
        let found = self.hosts.iter().position(|host| host.name == name);
        found.ok_or_else(|| format!("no host is called `{name}`; there are {}", names().join(", ")))
    }
}

fn hosts(network: &Network) -> Vec<Host> {
    let addressing = Addressing::new(network);
    let host = |(place, it): (usize, &tenuto_model::Host)| {
        let address = addressing.host(place);
        Host {
            name: it.name.clone(),
            address: Address { mac: address.mac, ip: address.ip },
            places: Vec::new(),
            script: Vec::new(),
            replies: false,
        }
    };
    network.hosts.iter().enumerate().map(host).collect()
}

impl Fixed {
    /// # Errors
    /// In words, if the set-up does not fit the network.
    pub(super) fn on_network(
        network: &Network,
        app: Box<dyn ReactiveApp>,
        setup: &Setup,
    ) -> Result<Self, String> {
        let mut topology = Topology::of(network, &setup.moves)?;
        for send in &setup.sends {
            let from = topology.host(&send.from)?;
            let is_service = setup.service.is_some() && send.to == "service";
            let to = if is_service { NOBODY } else { index(topology.host(&send.to)?) };
            let script = &mut topology.hosts[from].script;
            script.extend(std::iter::repeat_n(to, send.packets.into()));
            if script.len() > PACKETS_MAX {
                return Err(format!("{} sends more than {PACKETS_MAX} packets", send.from));
            }
            if from == usize::from(to) {
                return Err(format!("{} sends to itself", send.from));
            }
        }
        for name in &setup.replies {
            let place = topology.host(name)?;
            topology.hosts[place].replies = true;
        }
        let pair = |(from, to): &(String, String)| {
            Ok((index(topology.host(from)?), index(topology.host(to)?)))
        };
        let forbidden =
            setup.forbidden.iter().map(pair).collect::<Result<BTreeSet<_>, String>>()?;
        let Topology { switches, hosts, links, .. } = topology;
        if let Some(host) =
            hosts.iter().find(|host| !host.script.is_empty() && host.places.is_empty())
        {
            return Err(format!("{} sends, but is at no switch", host.name));
        }
        Ok(Self {
            switches,
            hosts,
            links,
            service: setup.service.map(|mac| Address { mac, ip: [10, 255, 255, 254] }),
            app,
            protocol: setup.protocol,
            packet_bytes: PACKET_BYTES,
            threads: setup.threads,
            ports_wait: false,
            properties: properties(setup),
            reductions: setup.reductions,
            forbidden,
            budgets: setup.budgets,
            mutant: AttendreMutant::None,
        })
    }
}

/// Those that were named; otherwise the usual ones that can hold under the budgets.
pub(super) fn properties(setup: &Setup) -> Vec<Property> {
    match setup.properties.is_empty() {
        false => setup.properties.clone(),
        true => usual(setup.budgets),
    }
}

fn usual(budgets: Budgets) -> Vec<Property> {
    let mut usual = Property::USUAL.to_vec();
    // An empty table refuses what names a packet that the switch has lost.
    if budgets.switch_failures + budgets.controller_crashes > 0 {
        usual.retain(|property| *property != Property::NoRefusal);
    }
    usual
}
