//! TSNCF applications: time-triggered ones with their windows, AVB ones with class and interval.

use super::advice::{NUMBER, TOO_LARGE};
use super::assembly::{Assembly, FlowParts, size_of_wire_bytes, target};
use super::decimal::{Decimal, Toward};
use super::xml::{self, Lines};
use super::{Import, topology};
use crate::quantity::format_time;
use crate::read::network::Draft;
use crate::read::reader::shown;
use crate::yaml::Place;
use crate::{Contract, Target};
use roxmltree::Node;

/// Bytes on the wire besides a payload: header, VLAN tag and FCS 22, preamble and gap 20.
const WIRE_OVERHEAD: u64 = 42;
/// Least payload of a tagged frame, bytes.
const PAYLOAD_MIN: u64 = 42;
/// Cycle of time-triggered traffic where none is given, nanoseconds.
const CYCLE_NS: u64 = 500_000;
/// Most frames per interval.
const FRAMES_MAX: u64 = 1_000;
/// Longest time, nanoseconds: ten days.
const TIME_NS_MAX: u64 = 864_000_000_000_000;

/// The network of `--topology` with the applications of the file.
pub(super) fn read(it: &mut Import<'_>) -> Option<Draft> {
    let Some(path) = it.options.topology else {
        let hint = "the file has flows only: name its nodes and links with --topology FILE.graphml";
        it.error(Place::default(), "there is no topology", hint);
        return None;
    };
    let mut assembly = topology::of_file(it, path)?;
    let text = it.text;
    add(it, &mut assembly, 0, text);
    Some(assembly.finish(it))
}

/// Adds the applications of a text to a network.
pub(super) fn add(it: &mut Import<'_>, assembly: &mut Assembly, file: usize, text: &str) {
    let Some(document) = xml::parse(&mut it.reader, file, text) else { return };
    let top = document.root_element();
    if top.tag_name().name() != "Applications" {
        let place = Place { file, line: 1, ..Place::default() };
        it.error(place, "this has no applications", "it starts with <Applications>");
        return;
    }
    let lines = Lines::new(file, text);
    let mut reading = Applications { it, assembly, lines };
    for node in top.children().filter(Node::is_element) {
        let is_read = match node.tag_name().name() {
            "TTApplication" => reading.time_triggered(node),
            "AVBApplication" => reading.avb(node),
            other => {
                let message = format!("<{}> is not read", shown(other));
                let place = reading.lines.place(node);
                reading.it.warn(place, message, "TTApplication and AVBApplication are");
                Some(())
            }
        };
        // A part that is missing was reported.
        let _reported = is_read;
    }
}

struct Applications<'r, 'a> {
    it: &'r mut Import<'a>,
    assembly: &'r mut Assembly,
    lines: Lines,
}

impl Applications<'_, '_> {
    fn missing(&mut self, node: Node<'_, '_>, what: &str) {
        let place = self.lines.place(node);
        self.it.error(place, format!("the application has no {what}"), "add it");
    }

    /// The number under a child; absent is `None`, wrong is reported.
    fn number(
        &mut self,
        node: Node<'_, '_>,
        text: &str,
        power: i32,
        toward: Toward,
    ) -> Option<u64> {
        let number = Decimal::parse(text).map(|n| n.scaled(1, power, 1, toward));
        match number {
            Ok(Some(value)) if value <= TIME_NS_MAX => Some(value),
            Ok(_) => {
                let place = self.lines.place(node);
                self.it.error(place, format!("`{}` is too large", shown(text)), TOO_LARGE);
                None
            }
            Err(why) => {
                let place = self.lines.place(node);
                self.it.error(place, format!("`{}`: {why}", shown(text)), NUMBER);
                None
            }
        }
    }

    fn child_number<'d>(
        &mut self,
        node: Node<'d, 'd>,
        name: &'static str,
        power: i32,
        toward: Toward,
    ) -> Option<Option<u64>> {
        let Some(child) = xml::child(node, name) else { return Some(None) };
        let text = child.text().unwrap_or_default();
        self.number(child, text, power, toward).map(Some)
    }

    fn source<'d>(&mut self, node: Node<'d, 'd>) -> Option<String> {
        let Some(name) = xml::child(node, "Source").and_then(|s| s.attribute("name")) else {
            self.missing(node, "source");
            return None;
        };
        let place = self.lines.place(node);
        self.assembly.node(self.it, name, place)
    }

    /// The destinations, which stand in the application or in its source.
    fn destinations<'d>(node: Node<'d, 'd>) -> Vec<Node<'d, 'd>> {
        let inside = xml::child(node, "Source").and_then(|s| xml::child(s, "Destinations"));
        let found = xml::child(node, "Destinations").or(inside);
        found.map(|it| vec![it]).unwrap_or_default()
    }

    fn targets<'d>(&mut self, node: Node<'d, 'd>, deadline_ns: u64) -> Vec<Target> {
        let mut targets: Vec<Target> = Vec::new();
        for dest in Self::destinations(node).into_iter().flat_map(|d| xml::children(d, "Dest")) {
            let place = self.lines.place(dest);
            let Some(name) = dest.attribute("name") else {
                self.missing(dest, "name of a destination");
                continue;
            };
            let Some(host) = self.assembly.node(self.it, name, place) else { continue };
            if targets.iter().any(|target| target.host == host) {
                let message = format!("destination `{}` is there twice", shown(&host));
                self.it.warn(place, message, "it is one target");
                continue;
            }
            let routes: Vec<_> = xml::children(dest, "Route").collect();
            if routes.len() > 1 {
                self.it.warn(
                    place,
                    "there are several routes to a destination",
                    "the first is taken",
                );
            }
            let route = routes.first().and_then(|route| {
                let bridges = xml::children(*route, "Bridge");
                let names = bridges.map(|b| b.attribute("name").unwrap_or_default().to_owned());
                let names: Vec<String> = names.collect();
                names.iter().map(|name| self.assembly.node(self.it, name, place)).collect()
            });
            targets.push(target(&host, deadline_ns, route));
        }
        targets
    }

    fn avb<'d>(&mut self, node: Node<'d, 'd>) -> Option<()> {
        let place = self.lines.place(node);
        let class = xml::child(node, "AVBClass").and_then(|c| c.text()).map(str::trim);
        let is_a = match class {
            Some("CLASS_A") => true,
            Some("CLASS_B") => false,
            Some(other) => {
                let message = format!("AVB class `{}` is not known", shown(other));
                self.it.error(place, message, "CLASS_A and CLASS_B are");
                return None;
            }
            None => {
                self.it.note("AVB applications without AVBClass are of class A");
                true
            }
        };
        if xml::child(node, "Mode").is_some() {
            self.it.note("<Mode> of applications is left out: there is one mode");
        }
        let interval = self.child_number(node, "Interval", 3, Toward::Down)?;
        if interval.is_none() {
            self.it.note("without <Interval>, class A sends every 125 us, class B every 250 us");
        }
        let period_ns = interval.unwrap_or(if is_a { 125_000 } else { 250_000 });
        let deadline = self.child_number(node, "Deadline", 3, Toward::Down)?;
        if deadline.is_none() {
            self.it.assume_deadlines(
                "without <Deadline>, class A has 2 ms, class B 50 ms (IEEE 802.1BA)",
            );
        }
        let deadline_ns = deadline.unwrap_or(if is_a { 2_000_000 } else { 50_000_000 });
        let wire = self.avb_wire_bytes(node)?;
        self.push(node, period_ns, wire, 1 + u8::from(!is_a), deadline_ns)
    }

    /// What an interval's frames take on the wire.
    fn avb_wire_bytes<'d>(&mut self, node: Node<'d, 'd>) -> Option<u64> {
        let payload = self.child_number(node, "PayloadSize", 0, Toward::Up)?;
        let Some(payload) = payload else {
            self.missing(node, "PayloadSize");
            return None;
        };
        let frames = self.child_number(node, "NoOfFrames", 0, Toward::Up)?.unwrap_or(1);
        if payload > 1_500 || !(1..=FRAMES_MAX).contains(&frames) {
            let place = self.lines.place(node);
            let message = format!("{frames} frames of {payload} B cannot be sent");
            self.it.error(place, message, "a payload has at most 1500 B, an interval 1000 frames");
            return None;
        }
        self.it.note(
            "a frame is the payload and 42 B on the wire: header, VLAN tag, FCS, preamble, gap",
        );
        if frames > 1 {
            self.it.note(
                "the frames of an interval (NoOfFrames) are one message of at least as many bytes",
            );
        }
        Some(frames * (payload.max(PAYLOAD_MIN) + WIRE_OVERHEAD))
    }

    fn time_triggered<'d>(&mut self, node: Node<'d, 'd>) -> Option<()> {
        let place = self.lines.place(node);
        let gcl = Self::destinations(node).into_iter().find_map(|d| xml::child(d, "GCL"));
        let Some(gcl) = gcl else {
            self.missing(node, "GCL");
            return None;
        };
        let Some(duration) = gcl.attribute("duration") else {
            self.missing(gcl, "duration of its GCL");
            return None;
        };
        let duration_ns = self.number(gcl, duration, 3, Toward::Up)?;
        let frequency = gcl.attribute("frequency").unwrap_or("1");
        let frequency = self.number(gcl, frequency, 0, Toward::Up)?.max(1);
        let cycle_ns = self.it.options.cycle_ns.unwrap_or(CYCLE_NS);
        let rates = self.assembly.draft.network.links.iter().map(|link| link.rate_bps);
        let rate = rates.min().unwrap_or(0);
        let bytes = (u128::from(duration_ns) * u128::from(rate)).div_ceil(8_000_000_000);
        let wire = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.it.note(format!(
            "time-triggered applications are sporadic flows of the highest class: their windows \
             are not scheduled; each sends what its window holds at the slowest link, \
             {frequency_word} in a cycle of {} (--cycle)",
            format_time(cycle_ns),
            frequency_word = "`frequency` times",
        ));
        let period_ns = cycle_ns / frequency;
        if period_ns == 0 {
            self.it.error(place, "the windows are too many for the cycle", "name --cycle");
            return None;
        }
        self.push(node, period_ns, wire, 0, period_ns)
    }

    fn push<'d>(
        &mut self,
        node: Node<'d, 'd>,
        period_ns: u64,
        wire_bytes: u64,
        priority: u8,
        deadline_ns: u64,
    ) -> Option<()> {
        let place = self.lines.place(node);
        let Some(name) = node.attribute("name") else {
            self.missing(node, "name");
            return None;
        };
        let name = Assembly::clean(self.it, name);
        let Some(size) = size_of_wire_bytes(wire_bytes) else {
            self.it.error(place, "the application sends too much at once", "at most 16 MB");
            return None;
        };
        let source = self.source(node)?;
        let targets = self.targets(node, deadline_ns);
        let contract = Contract { period_ns, size, frame_bytes_min: None, jitter_ns: 0, priority };
        let parts = FlowParts { name, source, targets, contract, vl: None, place };
        self.assembly.flow(self.it, parts).then_some(())
    }
}
