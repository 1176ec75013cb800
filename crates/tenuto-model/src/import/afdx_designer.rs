//! AFDX Designer projects: end systems and switches with numbered ports, virtual links, data flows.

use super::Import;
use super::advice::{NUMBER, TOO_LARGE, TWICE};
use super::assembly::{Assembly, FlowParts, target};
use super::decimal::{Decimal, Toward};
use super::xml::{self, Lines};
use crate::read::network::Draft;
use crate::read::reader::shown;
use crate::yaml::Place;
use crate::{Contract, SEGMENT_PAYLOAD_BYTES, Size, Target};
use roxmltree::Node;
use std::collections::{BTreeMap, BTreeSet};

/// Largest message of a data flow, bytes.
const MESSAGE_BYTES_MAX: u64 = 16_000_000;
/// Bits per second that a byte per millisecond is.
const BPS_PER_BYTE_PER_MS: u64 = 8_000;

/// The network of the file.
pub(super) fn read(it: &mut Import<'_>) -> Option<Draft> {
    let text = it.text;
    let document = xml::parse(&mut it.reader, 0, text)?;
    let top = document.root_element();
    let resources = xml::child(top, "resources");
    let (true, Some(resources)) = (top.has_tag_name("afdxxml"), resources) else {
        let place = Place { line: 1, ..Place::default() };
        it.error(place, "this is not an AFDX Designer project", "it has <afdxxml> and <resources>");
        return None;
    };
    let name = top.attribute("name").map_or_else(|| it.stem(), str::to_owned);
    let mut designer = Designer {
        it,
        assembly: Assembly::new(&name),
        lines: Lines::new(0, text),
        nodes: BTreeMap::new(),
        ports: BTreeMap::new(),
        partitions: BTreeMap::new(),
        deadlines: BTreeMap::new(),
    };
    designer.nodes(resources);
    designer.links(resources);
    let flows = xml::child(top, "dataFlows");
    let flows: Vec<_> = flows.map(|f| xml::children(f, "dataFlow").collect()).unwrap_or_default();
    designer.requirements(&flows);
    let links = xml::child(top, "virtualLinks");
    let links: Vec<_> =
        links.map(|f| xml::children(f, "virtualLink").collect()).unwrap_or_default();
    designer.virtual_links(&links);
    designer.data_flows(&flows);
    let Designer { it, assembly, .. } = designer;
    Some(assembly.finish(it))
}

struct Designer<'r, 'a, 'x> {
    it: &'r mut Import<'a>,
    assembly: Assembly,
    lines: Lines,
    /// Names of end systems and switches by their number.
    nodes: BTreeMap<&'x str, String>,
    /// Names of nodes by the number of a port.
    ports: BTreeMap<&'x str, String>,
    /// Names of end systems by the number of a partition.
    partitions: BTreeMap<&'x str, String>,
    /// Least deadline of the data flows of a virtual link, nanoseconds.
    deadlines: BTreeMap<&'x str, u64>,
}

impl<'x> Designer<'_, '_, 'x> {
    fn nodes(&mut self, resources: Node<'x, 'x>) {
        for node in resources.children().filter(Node::is_element) {
            let place = self.lines.place(node);
            let is_host = match node.tag_name().name() {
                "endSystem" => true,
                "switch" => false,
                "partition" | "link" => continue,
                other => {
                    let message = format!("<{}> is not read", shown(other));
                    self.it.warn(place, message, "end systems, switches, partitions, links are");
                    continue;
                }
            };
            let number = node.attribute("number").unwrap_or_default();
            let name = node.attribute("name").unwrap_or(number);
            let name = Assembly::clean(self.it, name);
            if is_host {
                self.assembly.host(self.it, &name, place);
            } else {
                self.assembly.switch(self.it, &name, 0, place);
            }
            for port in node.attribute("ports").unwrap_or_default().split(',').map(str::trim) {
                if self.ports.insert(port, name.clone()).is_some() {
                    self.it.error(place, format!("port {} is there twice", shown(port)), TWICE);
                }
            }
            if self.nodes.insert(number, name).is_some() {
                self.it.error(place, format!("number {} is there twice", shown(number)), TWICE);
            }
        }
        for node in xml::children(resources, "partition") {
            let place = self.lines.place(node);
            let system = node.attribute("connectedTo").unwrap_or_default();
            if let Some(name) = self.node(system, place) {
                self.partitions.insert(node.attribute("number").unwrap_or_default(), name);
            }
        }
        if !self.partitions.is_empty() {
            self.it.note("partitions are left out: their flows start and end at the end systems");
        }
    }

    fn node(&mut self, number: &str, place: Place) -> Option<String> {
        let found = self.nodes.get(number).cloned();
        if found.is_none() {
            let message = format!("there is no node with number {}", shown(number));
            let hint = self.it.reader.meant(number, self.nodes.keys().copied());
            self.it.error(place, message, hint.as_deref().unwrap_or("the file has no nodes"));
        }
        found
    }

    fn links(&mut self, resources: Node<'x, 'x>) {
        for link in xml::children(resources, "link") {
            let place = self.lines.place(link);
            let text = link.attribute("capacity").unwrap_or_default();
            let rate = Decimal::parse(text)
                .ok()
                .and_then(|n| n.scaled(BPS_PER_BYTE_PER_MS, 0, 1, Toward::Down))
                .filter(|rate| *rate <= 1_000_000_000_000);
            let ends = ["from", "to"].map(|key| {
                let port = link.attribute(key).unwrap_or_default();
                let node = self.ports.get(port).cloned();
                if node.is_none() {
                    let message = format!("{key}: there is no port {}", shown(port));
                    self.it.error(place, message, "from and to are numbers of ports");
                }
                node
            });
            let Some(rate) = rate else {
                let message = format!("capacity `{}` is no rate", shown(text));
                self.it.error(place, message, "bytes per millisecond: 12500 is 100 Mbit/s");
                continue;
            };
            if let [Some(a), Some(b)] = &ends {
                self.assembly.link(self.it, [a, b], rate, 0, place);
            } else {
                self.assembly.draft.topology_in_doubt = true;
            }
        }
        self.it.note("switches take no time, lines have no propagation delay");
    }

    /// A number of an attribute times a power of ten.
    fn number(&mut self, node: Node<'x, 'x>, key: &str, power: i32, toward: Toward) -> Option<u64> {
        let text = node.attribute(key).unwrap_or_default();
        let place = self.lines.place(node);
        match Decimal::parse(text).map(|n| n.scaled(1, power, 1, toward)) {
            Ok(Some(value)) if value <= 864_000_000_000_000 => Some(value),
            Ok(_) => {
                self.it.error(place, format!("{key}=\"{}\" is too large", shown(text)), TOO_LARGE);
                None
            }
            Err(why) => {
                self.it.error(place, format!("{key}=\"{}\": {why}", shown(text)), NUMBER);
                None
            }
        }
    }

    /// What the data flows of each virtual link ask of it.
    fn requirements(&mut self, flows: &[Node<'x, 'x>]) {
        let mut carried = 0;
        for flow in flows {
            let Some(vl) = flow.attribute("vl").filter(|vl| *vl != "None") else { continue };
            carried += 1;
            let Some(latest) = self.number(*flow, "tMax", 6, Toward::Down) else { continue };
            if latest > 0 {
                let least = self.deadlines.entry(vl).or_insert(latest);
                *least = latest.min(*least);
            }
        }
        if carried > 0 {
            self.it.note(format!(
                "{carried} data flows are carried by virtual links, which have their tMax as \
                 deadline"
            ));
        }
    }

    fn virtual_links(&mut self, links: &[Node<'x, 'x>]) {
        let has_queue = |path: Node<'x, 'x>| {
            path.attribute("path").is_some_and(|text| text.contains(['h', 'l']))
        };
        let by_queue = links.iter().flat_map(|link| xml::children(*link, "path")).any(has_queue);
        if by_queue {
            self.it
                .note("a queue is named in paths (3h, 3l): h is priority 0, the rest priority 1");
        }
        if !links.is_empty() {
            self.it.note("lmax is taken as a frame with FCS; preamble and gap are added");
            self.it.note("responseTime is left out: it is a result, not a requirement");
        }
        for link in links {
            // What is missing was reported.
            let _reported = self.virtual_link(*link, by_queue);
        }
    }

    fn virtual_link(&mut self, link: Node<'x, 'x>, by_queue: bool) -> Option<()> {
        let place = self.lines.place(link);
        let number = link.attribute("number").unwrap_or_default();
        let name = link.attribute("id").unwrap_or(number);
        let source = link.attribute("source").unwrap_or("None");
        let dest = link.attribute("dest").unwrap_or("None");
        if source == "None" || dest == "None" {
            let message = format!("`{}` has no source or no destination", shown(name));
            self.it.warn(place, message, "it is left out");
            return Some(());
        }
        let bag_ns = self.number(link, "bag", 6, Toward::Down)?;
        let frame = self.number(link, "lmax", 0, Toward::Up)?;
        let Some(frame) = u32::try_from(frame).ok().filter(|f| (1..=1_518).contains(f)) else {
            self.it.error(
                place,
                format!("lmax=\"{frame}\" cannot be"),
                "a frame has 1 B to 1518 B",
            );
            return None;
        };
        let source = self.node(source, place)?;
        let stated = self.deadlines.get(number).copied();
        if stated.is_none() {
            self.it.assume_deadlines("the BAG, of virtual links without a data flow");
        }
        let deadline_ns = stated.unwrap_or(bag_ns);
        let mut targets: Vec<Target> = Vec::new();
        let mut is_high = true;
        for dest in dest.split(',').map(str::trim) {
            let host = self.node(dest, place)?;
            let path = xml::children(link, "path").find(|p| p.attribute("dest") == Some(dest));
            let route = path.and_then(|path| {
                let text = path.attribute("path").unwrap_or_default();
                let steps: Vec<&str> = text.split(',').map(str::trim).collect();
                let middle = steps.get(1..steps.len().saturating_sub(1)).unwrap_or_default();
                is_high &= middle.iter().all(|step| step.ends_with('h'));
                self.route(path, dest, middle, steps.last() == Some(&dest))
            });
            targets.push(target(&host, deadline_ns, route));
        }
        let contract = Contract {
            period_ns: bag_ns,
            size: Size::FrameBytes(frame),
            frame_bytes_min: None,
            jitter_ns: 0,
            priority: u8::from(by_queue && !is_high),
        };
        let vl = number.parse().ok().filter(|vl| *vl > 0);
        let name = Assembly::clean(self.it, name);
        let parts = FlowParts { name, source, targets, contract, vl, place };
        self.assembly.flow(self.it, parts).then_some(())
    }

    /// The switches between the ends of a path, without the letters of their queues.
    fn route(
        &mut self,
        path: Node<'x, 'x>,
        dest: &str,
        middle: &[&str],
        ends_there: bool,
    ) -> Option<Vec<String>> {
        let place = self.lines.place(path);
        if !ends_there || middle.is_empty() {
            let text = shown(path.attribute("path").unwrap_or_default());
            let message = format!("path `{text}` does not end at {}", shown(dest));
            self.it.warn(place, message, "a route is chosen instead");
            return None;
        }
        middle.iter().map(|step| self.node(step.trim_end_matches(['h', 'l']), place)).collect()
    }

    /// Data flows without a virtual link are flows of their own.
    fn data_flows(&mut self, flows: &[Node<'x, 'x>]) {
        for flow in flows.iter().filter(|f| f.attribute("vl").unwrap_or("None") == "None") {
            self.it.note(
                "data flows without a virtual link are flows with their message, period and tMax \
                 (0: their period) as deadline; jMax is left out",
            );
            let _reported = self.data_flow(*flow);
        }
    }

    fn data_flow(&mut self, flow: Node<'x, 'x>) -> Option<()> {
        let place = self.lines.place(flow);
        let name = flow.attribute("id").unwrap_or_default();
        let source = self.partition(flow.attribute("source").unwrap_or_default(), place)?;
        let period_ns = self.number(flow, "period", 6, Toward::Down)?;
        let bytes = self.number(flow, "msgSize", 0, Toward::Up)?.min(MESSAGE_BYTES_MAX + 1);
        let Some(bytes) = u32::try_from(bytes).ok().filter(|b| u64::from(*b) <= MESSAGE_BYTES_MAX)
        else {
            self.it.error(place, "the message is too large", "at most 16 MB");
            return None;
        };
        if bytes == 0 {
            self.it.note("messages of 0 B are taken as 1 B");
        }
        let size = if bytes <= SEGMENT_PAYLOAD_BYTES {
            Size::PayloadBytes(bytes.max(1))
        } else {
            Size::MessageBytes(bytes)
        };
        let latest = self.number(flow, "tMax", 6, Toward::Down)?;
        if latest == 0 {
            self.it.assume_deadlines("the period, of data flows whose tMax is 0");
        }
        let deadline_ns = if latest == 0 { period_ns } else { latest };
        let mut hosts = BTreeSet::new();
        for dest in flow.attribute("dest").unwrap_or_default().split(',').map(str::trim) {
            let host = self.partition(dest, place)?;
            if host == source {
                let message = format!("`{}` stays inside `{}`", shown(name), shown(&host));
                self.it.warn(place, message, "this target is left out");
            } else {
                hosts.insert(host);
            }
        }
        if hosts.is_empty() {
            return Some(());
        }
        let targets = hosts.iter().map(|host| target(host, deadline_ns, None)).collect();
        let contract =
            Contract { period_ns, size, frame_bytes_min: None, jitter_ns: 0, priority: 0 };
        let name = Assembly::clean(self.it, name);
        let parts = FlowParts { name, source, targets, contract, vl: None, place };
        self.assembly.flow(self.it, parts).then_some(())
    }

    fn partition(&mut self, number: &str, place: Place) -> Option<String> {
        let found = self.partitions.get(number).cloned();
        if found.is_none() {
            let message = format!("there is no partition with number {}", shown(number));
            let hint = self.it.reader.meant(number, self.partitions.keys().copied());
            self.it.error(place, message, hint.as_deref().unwrap_or("the file has no partitions"));
        }
        found
    }
}
