//! Putting a network together from the parts that other tools' files have.

use super::Import;
use super::advice::LINK;
use crate::read::network::{Draft, FLOWS_MAX};
use crate::read::reader::shown;
use crate::yaml::Place;
use crate::{
    Apart, Contract, Flow, Host, Link, LinkEnd, MatchKind, OutOfMode, Profile,
    SEGMENT_PAYLOAD_BYTES, SHIM_BYTES, Size, Switch, Target, UDP_FRAME_OVERHEAD_BYTES,
};
use std::collections::{BTreeMap, BTreeSet};
use tenuto_units::{FRAME_BYTES_MAX, FRAME_BYTES_MIN, WIRE_OVERHEAD_BYTES};

/// Largest frame on the wire, preamble and gap included.
const WIRE_BYTES_MAX: u64 = (FRAME_BYTES_MAX + WIRE_OVERHEAD_BYTES) as u64;
/// Bytes that a full segment of a message has on the wire besides its payload.
const SEGMENT_OVERHEAD: u64 = (UDP_FRAME_OVERHEAD_BYTES + SHIM_BYTES + WIRE_OVERHEAD_BYTES) as u64;
/// Largest message, bytes.
const MESSAGE_BYTES_MAX: u64 = 16_000_000;

/// A network in the making.
pub(crate) struct Assembly {
    pub(crate) draft: Draft,
    /// Names in small letters, with the name as written.
    known: BTreeMap<String, String>,
    hosts: BTreeSet<String>,
    /// Links by their two nodes, in order of names.
    links: BTreeMap<(String, String), usize>,
    ports: BTreeMap<String, u32>,
    flow_lines: BTreeMap<String, u32>,
    parallel: usize,
}

/// One flow, in the words of the formats that are read.
pub(crate) struct FlowParts {
    pub(crate) name: String,
    pub(crate) source: String,
    pub(crate) targets: Vec<Target>,
    pub(crate) contract: Contract,
    pub(crate) vl: Option<u16>,
    pub(crate) place: Place,
}

/// A receiver with one deadline, and the switches on the way where they are known.
pub(crate) fn target(host: &str, deadline_ns: u64, route: Option<Vec<String>>) -> Target {
    Target { host: host.to_owned(), routes: vec![route], deadline_ns: vec![deadline_ns] }
}

/// What a message of that many bytes on the wire (headers, preamble and gap included) is, at
/// least: one frame, or a message cut into frames.
pub(crate) fn size_of_wire_bytes(bytes: u64) -> Option<Size> {
    if bytes <= WIRE_BYTES_MAX {
        let frame = bytes.saturating_sub(u64::from(WIRE_OVERHEAD_BYTES));
        let frame = u32::try_from(frame).expect("below the largest");
        return Some(Size::FrameBytes(frame.max(FRAME_BYTES_MIN)));
    }
    let segment = u64::from(SEGMENT_PAYLOAD_BYTES);
    let frames = bytes.div_ceil(segment + SEGMENT_OVERHEAD);
    let payload = bytes.saturating_sub(frames * SEGMENT_OVERHEAD);
    let message = payload.max((frames - 1) * segment + 1);
    (message <= MESSAGE_BYTES_MAX)
        .then(|| Size::MessageBytes(u32::try_from(message).unwrap_or(u32::MAX)))
}

impl Assembly {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            draft: Draft::new(&shown(name)),
            known: BTreeMap::new(),
            hosts: BTreeSet::new(),
            links: BTreeMap::new(),
            ports: BTreeMap::new(),
            flow_lines: BTreeMap::new(),
            parallel: 0,
        }
    }

    /// A network that was read, to be added to.
    pub(crate) fn of_network(network: crate::Network) -> Self {
        let mut it = Self::new(&network.name);
        for host in &network.hosts {
            it.hosts.insert(host.name.clone());
            it.known.insert(host.name.to_lowercase(), host.name.clone());
            it.draft.names.insert(host.name.clone());
        }
        for switch in &network.switches {
            it.known.insert(switch.name.to_lowercase(), switch.name.clone());
            it.draft.names.insert(switch.name.clone());
        }
        it.draft.names.extend(network.controllers.iter().map(|c| c.name.clone()));
        it.draft.network = network;
        it
    }

    /// A text that can name a node or flow: what cannot be in a name becomes `_`.
    pub(crate) fn clean(it: &mut Import<'_>, name: &str) -> String {
        let odd = |c: char| c.is_control() || matches!(c, ':' | '>' | ',' | '"' | '`');
        let clean: String =
            name.trim().chars().take(64).map(|c| if odd(c) { '_' } else { c }).collect();
        if clean != name {
            let text = "names are cut to 64 characters, and what cannot be in a name is written _";
            it.note(text);
        }
        clean.trim().to_owned()
    }

    /// Makes the name one of a node, unless it is taken.
    fn claim(&mut self, it: &mut Import<'_>, kind: &str, name: &str, place: Place) -> bool {
        let is_fit = it.reader.check_name(name, "", place);
        if let Some(other) = self.known.get(&name.to_lowercase()) {
            let message = format!("two nodes are called `{}`", shown(name));
            let hint = format!("there is {} already: each has a name of its own", shown(other));
            it.error(place, message, &hint);
            self.draft.topology_in_doubt = true;
            return false;
        }
        self.draft.topology_in_doubt |= !is_fit;
        self.known.insert(name.to_lowercase(), name.to_owned());
        self.draft.names.insert(name.to_owned());
        it.reader.remember(format!("{kind}.{name}"), place);
        true
    }

    pub(crate) fn host(&mut self, it: &mut Import<'_>, name: &str, place: Place) {
        if self.claim(it, "hosts", name, place) {
            self.hosts.insert(name.to_owned());
            self.draft.network.hosts.push(Host { name: name.to_owned() });
        }
    }

    /// An ideal switch with a latency.
    pub(crate) fn switch(
        &mut self,
        it: &mut Import<'_>,
        name: &str,
        latency_ns: u64,
        place: Place,
    ) {
        if self.claim(it, "switches", name, place) {
            let profile = ideal(latency_ns);
            let number = self.draft.network.switches.len() + 1;
            self.draft.network.switches.push(Switch {
                name: name.to_owned(),
                datapath_id: u64::try_from(number).unwrap_or(u64::MAX),
                profile: profile.name.clone(),
                network: None,
            });
            self.draft.network.profiles.insert(profile.name.clone(), profile);
        }
    }

    /// The node of that name, whatever its letters' case; an unknown one is reported.
    pub(crate) fn node(&mut self, it: &mut Import<'_>, name: &str, place: Place) -> Option<String> {
        if self.draft.names.contains(name) {
            return Some(name.to_owned());
        }
        if let Some(known) = self.known.get(&name.to_lowercase()) {
            it.note("names are matched without regard to capital letters");
            return Some(known.clone());
        }
        let near = it.reader.nearest(name, self.draft.names.iter().map(String::as_str));
        let hint = near.map_or_else(String::new, |near| format!("did you mean {near}?"));
        it.error(place, format!("there is no node `{}`", shown(name)), &hint);
        self.draft.topology_in_doubt = true;
        None
    }

    /// A link, in both directions; one that is written again (for the other direction, or in
    /// parallel) is the same one, at the lower rate.
    pub(crate) fn link(
        &mut self,
        it: &mut Import<'_>,
        ends: [&str; 2],
        rate_bps: u64,
        propagation_ns: u64,
        place: Place,
    ) {
        let [a, b] = ends;
        if a == b || rate_bps < 1_000 {
            it.error(place, "a link joins two nodes at 1 kbit/s or more", LINK);
            self.draft.topology_in_doubt = true;
            return;
        }
        let mut pair = [a.to_owned(), b.to_owned()];
        pair.sort();
        let [low, high] = pair;
        let links = &mut self.draft.network.links;
        if let Some(index) = self.links.get(&(low.clone(), high.clone())) {
            let link = &mut links[*index];
            self.parallel += usize::from(link.a.node == a);
            if link.rate_bps != rate_bps {
                let text = "links with different rates in the two directions have the lower one";
                it.note(text);
            }
            link.rate_bps = link.rate_bps.min(rate_bps);
            link.propagation_ns = link.propagation_ns.max(propagation_ns);
            return;
        }
        let mut end = |node: &str| {
            let port = self.ports.entry(node.to_owned()).or_insert(0);
            *port += 1;
            LinkEnd { node: node.to_owned(), port: *port }
        };
        let (a, b) = (end(a), end(b));
        it.reader.remember(format!("links[{}]", links.len()), place);
        self.links.insert((low, high), links.len());
        links.push(Link { a, b, rate_bps, propagation_ns });
    }

    /// The rate that the command line gives to links that state none.
    pub(crate) fn rate_or_option(
        &mut self,
        it: &mut Import<'_>,
        stated: Option<u64>,
        place: Place,
    ) -> Option<u64> {
        if stated.is_some() {
            return stated;
        }
        match it.options.rate_bps {
            Some(rate) => {
                let rate_text = crate::quantity::format_rate(rate);
                it.note(format!("links that state no rate have {rate_text} (--rate)"));
                Some(rate)
            }
            None => {
                it.error(place, "the file states no rate of links", "add --rate, as in 100Mbit/s");
                self.draft.topology_in_doubt = true;
                None
            }
        }
    }

    /// Adds a flow; false once there are too many.
    pub(crate) fn flow(&mut self, it: &mut Import<'_>, parts: FlowParts) -> bool {
        let FlowParts { name, source, targets, contract, vl, place } = parts;
        it.reader.check_name(&name, "", place);
        if let Some(first) = self.flow_lines.insert(name.clone(), place.line) {
            let message = format!("two flows are called `{}`", shown(&name));
            it.error(place, message, &format!("the first is in line {first}"));
            return true;
        }
        if self.draft.network.flows.len() >= FLOWS_MAX {
            it.error(place, "there are too many flows", "at most 65000");
            return false;
        }
        it.reader.remember(format!("flows.{name}"), place);
        self.draft.network.flows.push(Flow {
            name,
            vl,
            source,
            targets,
            level: 0,
            contracts: vec![contract],
            matching: if vl.is_some() { MatchKind::Vl } else { MatchKind::FiveTuple },
            out_of_mode: OutOfMode::Drop,
            monitor_at: Vec::new(),
            copies: Vec::new(),
            apart: Apart::default(),
            skew_max_ns: None,
            udp_port: None,
        });
        true
    }

    /// The network, with an own switch for every host that has several links.
    pub(crate) fn finish(mut self, it: &mut Import<'_>) -> Draft {
        if self.parallel > 0 {
            let word = if self.parallel == 1 { "link is" } else { "links are" };
            it.note(format!(
                "{} parallel {word} left out: one link joins two nodes",
                self.parallel
            ));
        }
        let mut degree: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, link) in self.draft.network.links.iter().enumerate() {
            for end in [&link.a, &link.b].into_iter().filter(|end| self.hosts.contains(&end.node)) {
                degree.entry(&end.node).or_default().push(index);
            }
        }
        let several: BTreeMap<String, Vec<usize>> = degree
            .into_iter()
            .filter(|(_, links)| links.len() > 1)
            .map(|(host, links)| (host.to_owned(), links))
            .collect();
        if !several.is_empty() && self.draft.network.networks.is_empty() {
            self.split(it, &several);
        }
        self.draft
    }

    /// Gives each of these hosts a switch of its own in front of its links.
    fn split(&mut self, it: &mut Import<'_>, several: &BTreeMap<String, Vec<usize>>) {
        it.note(format!(
            "{} with several links became a host and a switch HOST-ports in front of its links, \
             joined at the sum of their rates; the delay of that switch is counted too",
            if several.len() == 1 { "1 host".into() } else { format!("{} hosts", several.len()) }
        ));
        for (host, links) in several {
            let name = format!("{}-ports", host.chars().take(58).collect::<String>());
            let place = it.reader.place_of(&format!("hosts.{host}"));
            self.switch(it, &name, 0, place);
            let mut rate: u64 = 0;
            for index in links {
                let link = &mut self.draft.network.links[*index];
                rate = rate.saturating_add(link.rate_bps);
                for end in [&mut link.a, &mut link.b] {
                    if end.node == *host {
                        end.node.clone_from(&name);
                    }
                }
            }
            self.ports.insert(name.clone(), self.ports.get(host).copied().unwrap_or(0));
            self.ports.insert(host.clone(), 0);
            self.link(it, [host, &name], rate.min(1_000_000_000_000), 0, place);
        }
        for flow in &mut self.draft.network.flows {
            let first = several.contains_key(&flow.source).then(|| ports_of(&flow.source));
            for target in &mut flow.targets {
                let last = several.contains_key(&target.host).then(|| ports_of(&target.host));
                for route in target.routes.iter_mut().flatten() {
                    route.splice(0..0, first.clone());
                    route.extend(last.clone());
                }
            }
        }
    }
}

fn ports_of(host: &str) -> String {
    format!("{}-ports", host.chars().take(58).collect::<String>())
}

/// The ideal switch, with a latency.
pub(crate) fn ideal(latency_ns: u64) -> Profile {
    let ideal = Profile::built_in("ideal").expect("it is built in");
    if latency_ns == 0 {
        return ideal;
    }
    let name = format!("ideal-{}", crate::quantity::format_time(latency_ns).replace(' ', ""));
    Profile { name, latency_ns_min: latency_ns, latency_ns_max: latency_ns, ..ideal }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_cover_what_was_on_the_wire_and_little_more() {
        assert_eq!(size_of_wire_bytes(84), Some(Size::FrameBytes(64)));
        assert_eq!(size_of_wire_bytes(10), Some(Size::FrameBytes(64)));
        assert_eq!(size_of_wire_bytes(1_538), Some(Size::FrameBytes(1_518)));
        for bytes in (1_539..12_000).chain([1_000_000, 15_000_000]) {
            let size = size_of_wire_bytes(bytes).expect("not too large");
            let wire = size.frames(false).message_wire_bits / 8;
            assert!(wire >= bytes && wire <= bytes + 84, "{bytes}: {wire}");
        }
        assert_eq!(size_of_wire_bytes(u64::MAX), None);
    }
}
