//! Import of WoPANets XML, the native dialect: AFDX networks as published with that tool.
//!
//! Sizes: `overhead` bytes are added to every payload and include preamble and gap, so a frame of
//! ours has payload + overhead − 20 B, possibly below 64 B *as stated*. Times: `period`,
//! `deadline` and `jitter` in ms, `tech-latency` in us. Bare rates are bit/s.

use super::advice::LINK;
use super::xml::{self, Lines};
use super::{Import, assembly};
use crate::quantity::{QuantityError, parse_rate_bps, parse_time_ns};
use crate::read::network::Draft;
use crate::read::reader::shown;
use crate::yaml::Place;
use crate::{
    Apart, Contract, Flow, Host, Link, LinkEnd, MatchKind, OutOfMode, Profile, Severity, Size,
    Switch, Target,
};
use roxmltree::Node;
use std::collections::BTreeMap;
use tenuto_units::WIRE_OVERHEAD_BYTES;

/// Bytes that AFDX adds to a payload, where the file does not say.
const OVERHEAD_DEFAULT: u64 = 67;

/// The network of the file.
///
/// Its model is that of the published figures: an ideal store-and-forward switch with the stated
/// latency, trusted hosts, no propagation delay; flows are told apart by five-tuple, since the
/// format knows no virtual link numbers.
pub(super) fn read(it: &mut Import<'_>) -> Option<Draft> {
    let text = it.text;
    let document = xml::parse(&mut it.reader, 0, text)?;
    let top = document.root_element();
    let network = xml::child(top, "network");
    let (true, Some(network)) = (top.has_tag_name("elements"), network) else {
        let hint = "it has <elements> with a <network>, <station>s, <switch>es, <link>s, <flow>s";
        let place = Place { line: 1, ..Place::default() };
        it.error(place, "this is not WoPANets XML", hint);
        return None;
    };
    let name = network.attribute("name").map_or_else(|| it.stem(), shown);
    let mut native = Native {
        it,
        draft: Draft::new(&name),
        network,
        lines: Lines::new(0, text),
        overhead: OVERHEAD_DEFAULT,
        by_priority: false,
    };
    native.header(top);
    native.nodes(top);
    native.links(top);
    native.flows(top);
    Some(native.draft)
}

struct Native<'r, 'a, 'x> {
    it: &'r mut Import<'a>,
    draft: Draft,
    network: Node<'x, 'x>,
    lines: Lines,
    overhead: u64,
    by_priority: bool,
}

/// The ideal switch with the latency of the file.
fn named_profile(latency_ns: u64) -> Profile {
    let profile = assembly::ideal(latency_ns);
    Profile { name: profile.name.replace("ideal-", "wopanets-"), ..profile }
}

/// A number with the unit that the format leaves out.
fn with_unit(text: &str, unit: &str) -> String {
    let text = text.trim();
    let bare = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    if bare { format!("{text} {unit}") } else { text.to_owned() }
}

impl<'x> Native<'_, '_, 'x> {
    fn place(&self, node: Node<'_, '_>) -> Place {
        self.lines.place(node)
    }

    fn report(&mut self, severity: Severity, node: Node<'_, '_>, message: String, hint: &str) {
        let place = self.place(node);
        self.it.report(severity, place, message, hint);
    }

    fn error(&mut self, node: Node<'_, '_>, message: String, hint: &str) {
        self.report(Severity::Error, node, message, hint);
    }

    fn quantity(
        &mut self,
        node: Node<'_, '_>,
        key: &str,
        text: &str,
        parse: fn(&str) -> Result<u64, QuantityError>,
    ) -> Option<u64> {
        let value = parse(text);
        value.map_err(|e| self.error(node, format!("{key}: {}", e.message), &e.hint)).ok()
    }

    /// A time attribute; absent is `None`, wrong is reported.
    fn time(&mut self, node: Node<'x, 'x>, key: &str, unit: &str) -> Option<u64> {
        let text = with_unit(node.attribute(key)?, unit);
        self.quantity(node, key, &text, parse_time_ns)
    }

    fn bytes(&mut self, node: Node<'x, 'x>, key: &str) -> Option<u64> {
        let text = node.attribute(key)?;
        let value = text.trim().parse().ok().filter(|v| *v <= 1_000_000);
        if value.is_none() {
            let message = format!("{key}=\"{}\" is not a number of bytes", shown(text));
            self.error(node, message, "a whole number without unit");
        }
        value
    }

    fn name(&mut self, node: Node<'x, 'x>) -> String {
        let name = node.attribute("name").unwrap_or_default();
        let place = self.place(node);
        self.it.reader.check_name(name, "", place);
        name.to_owned()
    }

    fn header(&mut self, top: Node<'x, 'x>) {
        if let Some(overhead) = self.bytes(self.network, "overhead") {
            self.overhead = overhead;
        }
        if self.overhead < u64::from(WIRE_OVERHEAD_BYTES) {
            let hint = "it includes preamble and gap: 67 for AFDX";
            self.error(self.network, "the overhead is below 20 B".into(), hint);
            self.overhead = OVERHEAD_DEFAULT;
        }
        let dialect = top.descendants().find(|n| {
            ["arrival-curve", "service-latency", "service-rate"].iter().any(|k| n.has_attribute(*k))
        });
        if let Some(node) = dialect {
            let hint = "import it as xtfa; native files have period and max-payload";
            self.error(node, "this is the dialect of xTFA".into(), hint);
        }
        self.it.note(
            "frames are payload + overhead - 20 B (preamble and gap), FCS included, as stated: \
             frames below 64 B are padded on the wire",
        );
        self.it.note("switches store and forward, lines have no propagation delay");
        let known = ["FIRST_IN_FIRST_OUT", "STATIC_PRIORITY"];
        for node in top.children() {
            if let Some(policy) = node.attribute("service-policy")
                && !known.contains(&policy)
            {
                let message = format!("service policy `{}` is not known", shown(policy));
                self.error(node, message, &format!("{} are", known.join(" and ")));
            }
        }
        let policy = |n: Node<'_, '_>| n.attribute("service-policy") == Some("STATIC_PRIORITY");
        self.by_priority = top.children().any(policy);
    }

    fn nodes(&mut self, top: Node<'x, 'x>) {
        for node in top.children().filter(|n| n.has_tag_name("station")) {
            let name = self.name(node);
            if self.claim(node, &name) {
                self.draft.network.hosts.push(Host { name });
            }
        }
        for node in top.children().filter(|n| n.has_tag_name("switch")) {
            let name = self.name(node);
            let latency = self.time(node, "tech-latency", "us").unwrap_or(0);
            let profile = named_profile(latency);
            if self.claim(node, &name) {
                let number = self.draft.network.switches.len() + 1;
                self.draft.network.switches.push(Switch {
                    name,
                    datapath_id: u64::try_from(number).unwrap_or(u64::MAX),
                    profile: profile.name.clone(),
                    network: None,
                });
                self.draft.network.profiles.insert(profile.name.clone(), profile);
            }
        }
    }

    fn claim(&mut self, node: Node<'x, 'x>, name: &str) -> bool {
        let free = self.draft.names.insert(name.to_owned());
        if free {
            let kind = if node.has_tag_name("switch") { "switches" } else { "hosts" };
            let place = self.place(node);
            self.it.reader.remember(format!("{kind}.{name}"), place);
        } else {
            let message = format!("two nodes are called `{}`", shown(name));
            self.error(node, message, "each has a name of its own");
            self.draft.topology_in_doubt = true;
        }
        free
    }

    fn links(&mut self, top: Node<'x, 'x>) {
        let mut ports: BTreeMap<String, u32> = BTreeMap::new();
        for node in top.children().filter(|n| n.has_tag_name("link")) {
            let capacity = ["transmission-capacity"]
                .into_iter()
                .find_map(|key| node.attribute(key).or_else(|| self.network.attribute(key)));
            let Some(capacity) = capacity else {
                self.error(node, "the link has no transmission-capacity".into(), "add 100Mbps");
                continue;
            };
            let text = with_unit(capacity, "bit/s").replace("bps", " bit/s");
            let text = ["k", "K", "M", "G"].into_iter().fold(text, |text, prefix| {
                text.replace(
                    &format!("{prefix} bit/s"),
                    &format!(" {}bit/s", prefix.replace('K', "k")),
                )
            });
            let rate = self.quantity(node, "transmission-capacity", &text, parse_rate_bps);
            let mut ends = Vec::new();
            for key in ["from", "to"] {
                let name = node.attribute(key).unwrap_or_default();
                if self.draft.names.contains(name) {
                    let port = ports.entry(name.to_owned()).or_insert(0);
                    *port += 1;
                    ends.push(LinkEnd { node: name.to_owned(), port: *port });
                } else {
                    let message = format!("{key}: there is no node `{}`", shown(name));
                    let near =
                        self.it.reader.nearest(name, self.draft.names.iter().map(String::as_str));
                    let hint = near.map_or_else(String::new, |n| format!("did you mean {n}?"));
                    self.error(node, message, &hint);
                }
            }
            let (Ok([a, b]), Some(rate_bps)) = (<[LinkEnd; 2]>::try_from(ends), rate) else {
                self.draft.topology_in_doubt = true;
                continue;
            };
            if a.node == b.node || rate_bps < 1_000 {
                self.error(node, "a link joins two nodes at 1 kbit/s or more".into(), LINK);
                self.draft.topology_in_doubt = true;
                continue;
            }
            let place = self.place(node);
            self.it.reader.remember(format!("links[{}]", self.draft.network.links.len()), place);
            self.draft.network.links.push(Link { a, b, rate_bps, propagation_ns: 0 });
        }
    }

    fn flows(&mut self, top: Node<'x, 'x>) {
        let mut lines: BTreeMap<String, u32> = BTreeMap::new();
        for node in top.children().filter(|n| n.has_tag_name("flow")) {
            let before = self.it.reader.diagnostics.errors();
            let name = self.name(node);
            let place = self.place(node);
            self.it.reader.remember(format!("flows.{name}"), place);
            if let Some(first) = lines.insert(name.clone(), place.line) {
                let message = format!("two flows are called `{}`", shown(&name));
                self.error(node, message, &format!("the first is in line {first}"));
                continue;
            }
            if lines.len() > crate::read::network::FLOWS_MAX {
                self.error(node, "there are too many flows".into(), "at most 65000");
                break;
            }
            let contract = self.contract(node);
            let stated = self.time(node, "deadline", "ms");
            if stated.is_none() {
                self.it.assume_deadlines("the period, of flows without one");
            }
            let deadline = stated.unwrap_or(contract.period_ns);
            let targets = self.targets(node, deadline);
            if self.it.reader.diagnostics.errors() > before {
                self.draft.contract_in_doubt.insert(name.clone());
            }
            self.draft.network.flows.push(Flow {
                name,
                vl: None,
                source: node.attribute("source").unwrap_or_default().to_owned(),
                targets,
                level: 0,
                contracts: vec![contract],
                matching: MatchKind::FiveTuple,
                out_of_mode: OutOfMode::Drop,
                monitor_at: Vec::new(),
                copies: Vec::new(),
                apart: Apart::default(),
                skew_max_ns: None,
                udp_port: None,
            });
        }
    }

    fn contract(&mut self, node: Node<'x, 'x>) -> Contract {
        let period = self.time(node, "period", "ms");
        if node.attribute("period").is_none() {
            self.error(node, "the flow has no period".into(), "add period=\"…\" in ms");
        }
        let payload = self.bytes(node, "max-payload");
        if node.attribute("max-payload").is_none() {
            self.error(node, "the flow has no max-payload".into(), "add it, in bytes");
        }
        let frame = payload.unwrap_or(64) + self.overhead - u64::from(WIRE_OVERHEAD_BYTES);
        let largest = u64::from(tenuto_units::FRAME_BYTES_MAX);
        if !(18..=largest).contains(&frame) {
            let message = format!("payload and overhead make a frame of {frame} B");
            self.error(node, message, "a frame has at most 1518 B");
        }
        let high = node.attribute("priority").is_some_and(|p| p.eq_ignore_ascii_case("high"));
        Contract {
            period_ns: period.unwrap_or(1_000_000_000),
            size: Size::FrameBytes(u32::try_from(frame.min(largest)).expect("at most 1518")),
            frame_bytes_min: None,
            jitter_ns: self.time(node, "jitter", "ms").unwrap_or(0),
            priority: u8::from(self.by_priority && !high),
        }
    }

    fn targets(&mut self, flow: Node<'x, 'x>, deadline: u64) -> Vec<Target> {
        let mut targets: Vec<Target> = Vec::new();
        for node in flow.children().filter(|n| n.has_tag_name("target")) {
            let host = node.attribute("name").unwrap_or_default();
            if node.attribute("mode").is_some_and(|m| m.starts_with(['B', 'b'])) {
                let message = format!("the backup path to `{}` is left out", shown(host));
                let hint = "describe redundant networks as `networks: [A, B]`";
                self.report(Severity::Warning, node, message, hint);
                continue;
            }
            let mut path: Vec<String> = node
                .children()
                .filter(|n| n.has_tag_name("path"))
                .map(|n| n.attribute("node").unwrap_or_default().to_owned())
                .collect();
            let route = match path.pop() {
                None => None,
                Some(last) if last == host => Some(path),
                Some(last) => {
                    let message = format!("the path ends at `{}`", shown(&last));
                    self.error(node, message, &format!("it ends at the target, {}", shown(host)));
                    None
                }
            };
            let deadline_ns = vec![deadline];
            targets.push(Target { host: host.to_owned(), routes: vec![route], deadline_ns });
        }
        targets
    }
}
