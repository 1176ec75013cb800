//! WoPANets XML in the dialect of xTFA and Saihu: service curves on nodes and links, arrival
//! curves on flows. Every output port with a rate becomes a server `NODE-PORT`.

use super::Import;
use super::advice::TOO_LARGE;
use super::decimal::{Decimal, Toward};
use super::saihu_units::{Dimension, Unit, split};
use super::server_draft::{PathParts, ServerDraft, serve_no_faster};
use super::xml::{self, Lines};
use crate::read::reader::shown;
use crate::yaml::Place;
use roxmltree::Node;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use tenuto_calculus::{Bucket, GraphServer, Multiplexing, RateLatency, ServerGraph};
use tenuto_units::Picos;

/// Bytes that xTFA adds to a payload, where the file does not say.
const OVERHEAD_BYTES: u64 = 16;
/// 10⁻⁶ bit per byte.
const UBIT_PER_BYTE: u64 = 8_000_000;

/// The server graph of the file.
pub(super) fn read(it: &mut Import<'_>) -> Option<ServerGraph> {
    let text = it.text;
    let document = xml::parse(&mut it.reader, 0, text)?;
    let top = document.root_element();
    let network = xml::child(top, "network");
    let (true, Some(network)) = (top.has_tag_name("elements"), network) else {
        let hint = "it has <elements> with a <network>, nodes, <link>s and <flow>s";
        it.error(Place { line: 1, ..Place::default() }, "this is not WoPANets XML", hint);
        return None;
    };
    let name = network.attribute("name").map_or_else(|| it.stem(), str::to_owned);
    let mut xtfa = Xtfa {
        it,
        draft: ServerDraft::new(&name),
        lines: Lines::new(0, text),
        network,
        nodes: BTreeMap::new(),
        ports: BTreeMap::new(),
        is_packetized: false,
        packets: BTreeMap::new(),
    };
    xtfa.technology();
    xtfa.nodes(top);
    xtfa.links(top);
    xtfa.measure_packets(top);
    xtfa.servers(top);
    xtfa.flows(top);
    let Xtfa { it, draft, .. } = xtfa;
    Some(draft.finish(it))
}

struct Xtfa<'r, 'a, 'x> {
    it: &'r mut Import<'a>,
    draft: ServerDraft,
    lines: Lines,
    network: Node<'x, 'x>,
    nodes: BTreeMap<&'x str, Node<'x, 'x>>,
    /// The link, and name of the port, from one node to the next.
    ports: BTreeMap<(&'x str, &'x str), (Node<'x, 'x>, String)>,
    is_packetized: bool,
    /// Largest packet of each port.
    packets: BTreeMap<String, u64>,
}

impl<'x> Xtfa<'_, '_, 'x> {
    fn error(&mut self, node: Node<'x, 'x>, message: String, hint: &str) {
        let place = self.lines.place(node);
        self.it.error(place, message, hint);
    }

    fn technology(&mut self) {
        let text = self.network.attribute("technology").unwrap_or("FIFO");
        for word in text.split('+').map(str::trim) {
            match word {
                "FIFO" | "IS" => {}
                "PK" => self.is_packetized = true,
                "CEIL" | "MOH" | "TDMI" => {
                    self.it.note(format!("technology {word} concerns xTFA only: left out"));
                }
                _ => {
                    let place = self.lines.place(self.network);
                    let message = format!("technology `{}` is not known", shown(word));
                    self.it.error(place, message, "FIFO, IS, PK, CEIL, MOH and TDMI are");
                }
            }
        }
        if !self.is_packetized {
            self.it.note("technology has no PK: bits flow through, which is not valid for frames");
        }
    }

    /// A value with its unit. What a number without unit means differs between the tools that
    /// read this format, so only what cannot make a bound too small is taken.
    fn value(
        &mut self,
        node: Node<'x, 'x>,
        key: &str,
        dimension: Dimension,
        toward: Toward,
    ) -> Option<u64> {
        let text = node.attribute(key)?;
        let (number, unit) = split(text);
        let number = match Decimal::parse(number) {
            Ok(number) => number,
            Err(why) => {
                self.error(node, format!("{key}=\"{}\": {why}", shown(text)), dimension.hint());
                return None;
            }
        };
        let unit = match (unit, dimension) {
            ("", _) if number.is_zero() => Ok(Unit::base(dimension)),
            ("", Dimension::Time) if key == "service-latency" => {
                self.it.note("service-latency without unit is taken in seconds, as Saihu does");
                Ok(Unit::base(dimension))
            }
            ("", Dimension::Time) => {
                let message = format!("{key}=\"{}\" has no unit", shown(text));
                let number = shown(text);
                let hint = format!(
                    "Saihu reads seconds, xTFA milliseconds: write {number}s or {number}ms"
                );
                self.error(node, message, &hint);
                return None;
            }
            ("", Dimension::Data) => {
                self.it.note("amounts of data without unit are taken in bytes, as xTFA does");
                Unit::parse(dimension, "B")
            }
            ("", Dimension::Rate) => Ok(Unit::base(dimension)),
            (unit, _) => Unit::parse(dimension, unit),
        };
        match unit.map(|unit| unit.value(number, toward)) {
            Ok(Some(value)) => Some(value),
            Ok(None) => {
                self.error(node, format!("{key}=\"{}\" is too large", shown(text)), TOO_LARGE);
                None
            }
            Err(why) => {
                self.error(node, format!("{key}: {why}"), dimension.hint());
                None
            }
        }
    }

    fn nodes(&mut self, top: Node<'x, 'x>) {
        for node in xml::children(top, "station").chain(xml::children(top, "switch")) {
            let name = node.attribute("name").unwrap_or_default();
            if name.is_empty() {
                self.error(node, "the node has no name".into(), "add name=\"…\"");
            } else if self.nodes.insert(name, node).is_some() {
                let message = format!("two nodes are called `{}`", shown(name));
                self.error(node, message, "each has a name of its own");
            }
        }
    }

    fn links(&mut self, top: Node<'x, 'x>) {
        for link in xml::children(top, "link") {
            let mut ends = [""; 2];
            for (end, key) in ends.iter_mut().zip(["from", "to"]) {
                let name = link.attribute(key).unwrap_or_default();
                if self.nodes.contains_key(name) {
                    *end = name;
                } else {
                    let near = self.it.reader.nearest(name, self.nodes.keys().copied());
                    let hint = near.map_or_else(String::new, |n| format!("did you mean {n}?"));
                    self.error(link, format!("{key}: there is no node `{}`", shown(name)), &hint);
                }
            }
            let [from, to] = ends;
            let port = format!("{from}-{}", link.attribute("fromPort").unwrap_or("o0"));
            if from.is_empty() || to.is_empty() {
                continue;
            }
            if let Entry::Vacant(free) = self.ports.entry((from, to)) {
                free.insert((link, port));
            } else {
                let place = self.lines.place(link);
                let message = format!("a second link from `{}` to `{}`", shown(from), shown(to));
                self.it.warn(place, message, "paths take the first");
            }
        }
    }

    /// An attribute of a link, else of its node, else of the network.
    fn inherited(
        &mut self,
        link: Node<'x, 'x>,
        key: &str,
        dimension: Dimension,
        toward: Toward,
    ) -> Option<u64> {
        let node = link.attribute("from").and_then(|name| self.nodes.get(name).copied());
        let holder = [Some(link), node, Some(self.network)];
        let holder = holder.into_iter().flatten().find(|it| it.has_attribute(key))?;
        self.value(holder, key, dimension, toward)
    }

    fn servers(&mut self, top: Node<'x, 'x>) {
        let mut silent = 0;
        let used: Vec<(Node<'x, 'x>, String)> = xml::children(top, "link")
            .filter_map(|link| {
                let ends = (link.attribute("from")?, link.attribute("to")?);
                let (first, port) = self.ports.get(&ends)?;
                (*first == link).then(|| (link, port.clone()))
            })
            .collect();
        for (link, port) in used {
            match self.service_rate(link) {
                Some(rate) => self.server(link, port, rate),
                None => silent += 1,
            }
        }
        if silent > 0 {
            self.it.note(format!(
                "{silent} output ports state neither service-rate nor capacity: they take no time"
            ));
        }
    }

    fn service_rate(&mut self, link: Node<'x, 'x>) -> Option<u64> {
        let stated = self.inherited(link, "service-rate", Dimension::Rate, Toward::Down);
        if stated.is_some() {
            return stated;
        }
        let key = "transmission-capacity";
        let rate = self.inherited(link, key, Dimension::Rate, Toward::Down);
        if rate.is_some() {
            self.it.note("ports without service-rate serve at their transmission-capacity");
        }
        rate
    }

    fn server(&mut self, link: Node<'x, 'x>, port: String, rate: u64) {
        let place = self.lines.place(link);
        let latency = self.inherited(link, "service-latency", Dimension::Time, Toward::Up);
        let packet = self.packets.get(&port).copied().unwrap_or(0);
        let packet_ubit = i128::from(if self.is_packetized { packet } else { 0 });
        let mut service = vec![RateLatency {
            rate_ubps: i128::from(rate),
            latency: Picos(i128::from(latency.unwrap_or(0))),
        }];
        let line = self.line(link, rate, packet_ubit);
        if self.draft.find(&port).is_some() {
            return self.it.note("ports with several links have the service of the first");
        }
        let key = "transmission-capacity";
        let capacity = self.inherited(link, key, Dimension::Rate, Toward::Down);
        if let Some(capacity) = capacity.filter(|rate| *rate > 0) {
            serve_no_faster(self.it, &mut service, capacity, place);
        }
        let multiplexing = Multiplexing::Fifo;
        let server = GraphServer { name: port, service, line, multiplexing, packet_ubit };
        self.draft.server(self.it, server, place);
    }

    /// The line behind a port: its capacity, a fact of the network whether or not `technology`
    /// asks for an analysis that uses it; without one none, unless whoever imports says that ports
    /// never send faster than they serve.
    fn line(&mut self, link: Node<'x, 'x>, service: u64, burst_ubit: i128) -> Option<Bucket> {
        let key = "transmission-capacity";
        let stated = self.inherited(link, key, Dimension::Rate, Toward::Up);
        if let Some(rate) = stated.filter(|rate| *rate > 0) {
            self.it.note("capacities are lines that shape; plan --no-line-shaping leaves them out");
            return Some(Bucket { burst_ubit, rate_ubps: i128::from(rate) });
        }
        if self.it.options.lines_of_service {
            self.it.note(
                "ports without capacity have a line of their service rate, as --lines-of-service \
                 says: bounds hold if they never send faster",
            );
            return Some(Bucket { burst_ubit, rate_ubps: i128::from(service) });
        }
        self.it.note(
            "ports without capacity shape nothing; --lines-of-service takes their service rate for \
             a line, as Saihu does",
        );
        None
    }

    /// The largest packet of a flow, 10⁻⁶ bit.
    fn packet(&mut self, flow: Node<'x, 'x>) -> u64 {
        let key = "maximum-packet-size";
        let own = [flow, self.network].into_iter().find(|it| it.has_attribute(key));
        let stated = own.and_then(|it| self.value(it, key, Dimension::Data, Toward::Up));
        let sized = flow.has_attribute("max-payload").then(|| self.payload(flow));
        match (stated, sized) {
            (None, None) => {
                self.it
                    .note("flows without maximum-packet-size have packets as large as their burst");
                self.value(flow, "lb-burst", Dimension::Data, Toward::Up).unwrap_or(0)
            }
            (stated, sized) => stated.unwrap_or(0).max(sized.unwrap_or(0)),
        }
    }

    /// Payload and overhead, 10⁻⁶ bit.
    fn payload(&mut self, flow: Node<'x, 'x>) -> u64 {
        let payload = self.value(flow, "max-payload", Dimension::Data, Toward::Up).unwrap_or(0);
        let own = [flow, self.network].into_iter().find(|it| it.has_attribute("overhead"));
        let overhead = match own {
            Some(holder) => self.value(holder, "overhead", Dimension::Data, Toward::Up),
            None => {
                self.it.note("frames are max-payload + 16 B, the overhead that xTFA assumes");
                Some(OVERHEAD_BYTES * UBIT_PER_BYTE)
            }
        };
        payload.saturating_add(overhead.unwrap_or(0))
    }

    fn measure_packets(&mut self, top: Node<'x, 'x>) {
        if !self.is_packetized {
            return;
        }
        self.it.note("PK: every port sends whole packets, the largest of the flows through it");
        for flow in xml::children(top, "flow") {
            let packet = self.packet(flow);
            for target in xml::children(flow, "target") {
                let mut here = flow.attribute("source").unwrap_or_default();
                for step in xml::children(target, "path") {
                    let next = step.attribute("node").unwrap_or_default();
                    if let Some((_, port)) = self.ports.get(&(here, next)) {
                        let most = self.packets.entry(port.clone()).or_insert(0);
                        *most = packet.max(*most);
                    }
                    here = next;
                }
            }
        }
    }

    fn flows(&mut self, top: Node<'x, 'x>) {
        for (index, flow) in xml::children(top, "flow").enumerate() {
            let place = self.lines.place(flow);
            let name = flow.attribute("name").map_or_else(|| format!("fl{index}"), str::to_owned);
            if let Some(key) = flow.attribute("priority") {
                self.it.note(format!("priorities (such as {}) are left out: FIFO", shown(key)));
            }
            let arrival = self.arrival(flow);
            let has_deadline = flow.attribute("deadline").is_some_and(|text| text.trim() != "0");
            let deadline = has_deadline
                .then(|| self.value(flow, "deadline", Dimension::Time, Toward::Down))
                .flatten()
                .map(|ps| Picos(i128::from(ps)));
            let mut paths = Vec::new();
            for (number, target) in xml::children(flow, "target").enumerate() {
                let own = target.attribute("name");
                let name = own.map_or_else(|| format!("p{number}"), str::to_owned);
                let Some(servers) = self.path(flow, target) else { continue };
                let place = self.lines.place(target);
                if servers.is_empty() {
                    let message = format!("path `{}` passes no server", shown(&name));
                    self.it.warn(place, message, "it is left out: it takes no time");
                    continue;
                }
                paths.push(PathParts { name, servers, deadline, place });
            }
            self.draft.flow(self.it, &name, arrival.into_iter().collect(), paths, place);
        }
    }

    fn arrival(&mut self, flow: Node<'x, 'x>) -> Option<Bucket> {
        let kind = flow.attribute("arrival-curve").unwrap_or("leaky-bucket");
        if kind == "leaky-bucket" && flow.has_attribute("lb-burst") {
            let burst = self.value(flow, "lb-burst", Dimension::Data, Toward::Up)?;
            if !flow.has_attribute("lb-rate") {
                self.error(flow, "the flow has no lb-rate".into(), Dimension::Rate.hint());
                return None;
            }
            let rate = self.value(flow, "lb-rate", Dimension::Rate, Toward::Up)?;
            return Some(Bucket { burst_ubit: burst.into(), rate_ubps: rate.into() });
        }
        if !flow.has_attribute("period") || !flow.has_attribute("max-payload") {
            let message = format!("the arrival curve `{}` cannot be read", shown(kind));
            let hint = "write arrival-curve=\"leaky-bucket\" with lb-burst and lb-rate, or period \
                        and max-payload";
            self.error(flow, message, hint);
            return None;
        }
        let period = self.value(flow, "period", Dimension::Time, Toward::Down)?;
        if period == 0 {
            self.error(flow, "the period is zero".into(), "write the time between two packets");
            return None;
        }
        let jitter = if flow.has_attribute("jitter") {
            self.value(flow, "jitter", Dimension::Time, Toward::Up)?
        } else {
            0
        };
        let packet = i128::from(self.payload(flow));
        let several = flow.attribute("max-simultaneous-packets").unwrap_or("1");
        let several: i128 = several.parse().ok().filter(|n| (1..=1_000).contains(n)).unwrap_or(1);
        let rate_ubps = tenuto_calculus::div_up(packet * 1_000_000_000_000, period.into());
        let bucket = Bucket { burst_ubit: packet * several, rate_ubps };
        let bucket = bucket.grown(Picos(jitter.into()));
        const MOST: i128 = 10_000_000_000_000_000_000;
        if bucket.burst_ubit > MOST || bucket.rate_ubps > MOST {
            self.error(flow, "the flow sends too much".into(), "is the period right?");
            return None;
        }
        Some(bucket)
    }

    /// The servers of a path: the output ports from node to node that have one.
    fn path(&mut self, flow: Node<'x, 'x>, target: Node<'x, 'x>) -> Option<Vec<usize>> {
        let mut here = flow.attribute("source").unwrap_or_default();
        let mut servers = Vec::new();
        for step in xml::children(target, "path") {
            let next = step.attribute("node").unwrap_or_default();
            let Some((_, port)) = self.ports.get(&(here, next)) else {
                let message = format!("no link from `{}` to `{}`", shown(here), shown(next));
                self.error(step, message, "a path names every node after the source, in order");
                return None;
            };
            servers.extend(self.draft.find(port));
            here = next;
        }
        Some(servers)
    }
}
