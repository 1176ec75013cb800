//! The TAS benchmark of Tübingen: streams over named links; nanoseconds, bytes, bytes per ns.

use super::advice::TWICE;
use super::assembly::{Assembly, FlowParts, size_of_wire_bytes, target};
use super::decimal::Toward;
use super::{Import, hops, json};
use crate::read::network::Draft;
use crate::read::reader::{Field, shown};
use crate::{Contract, Size, Target};
use std::collections::BTreeMap;
use tenuto_units::WIRE_OVERHEAD_BYTES;

/// Largest time of a file, nanoseconds: a day.
const TIME_NS_MAX: u64 = 86_400_000_000_000;
/// Largest tagged frame with FCS; what is larger counts preamble and gap.
const TAGGED_BYTES_MAX: u64 = 1_522;
/// Most frames per period.
const FRAMES_MAX: u64 = 1_000;
const STREAM_KEYS: [&str; 13] = [
    "name",
    "type",
    "period",
    "framesPerPeriod",
    "maxFrameSize",
    "maxLatency",
    "deadline",
    "talker",
    "listeners",
    "path",
    "priority",
    "earliestOffset",
    "latestOffset",
];

/// Source and destination of links by their name.
type Links = BTreeMap<String, (String, String)>;

/// The network of the file.
pub(super) fn read(it: &mut Import<'_>) -> Option<Draft> {
    let node = json::parse(it)?;
    let top = json::top(&node);
    let name = top.get("name").and_then(|f| it.reader.text(&f).map(str::to_owned));
    let mut assembly = Assembly::new(&name.unwrap_or_else(|| it.stem()));
    for field in json::items(&mut it.reader, &top, "nodes") {
        // What is missing was reported.
        let _reported = read_node(it, &mut assembly, &field);
    }
    let mut links = Links::new();
    for field in json::items(&mut it.reader, &top, "links/ports") {
        let _reported = read_link(it, &mut assembly, &mut links, &field);
    }
    it.note(
        "gates (gclEntries, offsets of streams) are left out: time-triggered streams are sporadic \
         flows",
    );
    it.note("stream priority 7 is the highest of the format, 0 the highest of ours");
    for field in json::items(&mut it.reader, &top, "streams") {
        json::unread(&mut it.reader, &field, &STREAM_KEYS);
        let _reported = read_stream(it, &mut assembly, &links, &field);
    }
    Some(assembly.finish(it))
}

fn read_node(it: &mut Import<'_>, assembly: &mut Assembly, field: &Field<'_>) -> Option<()> {
    let place = field.node.place;
    let name = json::text(&mut it.reader, field, "name")?;
    let is_bridge = json::need(&mut it.reader, field, "isBridge")?;
    let latency_ns = match field.get("processingDelay") {
        Some(delay) => json::scaled(&mut it.reader, &delay, 0, TIME_NS_MAX, Toward::Up)?,
        None => 0,
    };
    if it.reader.truth(&is_bridge)? {
        assembly.switch(it, name, latency_ns, place);
        return Some(());
    }
    if latency_ns > 0 {
        let message = format!("host `{}` has a processing delay", shown(name));
        it.warn(place, message, "it is left out: delays start when a message is released");
    }
    assembly.host(it, name, place);
    Some(())
}

fn read_link(
    it: &mut Import<'_>,
    assembly: &mut Assembly,
    links: &mut Links,
    field: &Field<'_>,
) -> Option<()> {
    let place = field.node.place;
    let name = json::text(&mut it.reader, field, "name")?;
    let from = json::text(&mut it.reader, field, "source")?;
    let from = assembly.node(it, from, place)?;
    let to = json::text(&mut it.reader, field, "destination")?;
    let to = assembly.node(it, to, place)?;
    let rate_field = json::need(&mut it.reader, field, "transmissionRate")?;
    let rate = json::decimal(&mut it.reader, &rate_field)?;
    let rate = rate.scaled(8, 9, 1, Toward::Down).filter(|rate| *rate <= 1_000_000_000_000);
    if rate.is_none() {
        it.reader.error(&rate_field, "the link is too fast", "bytes per ns: 0.125 is 1 Gbit/s");
    }
    let delay_ns = match field.get("propagationDelay") {
        Some(delay) => json::scaled(&mut it.reader, &delay, 0, 5_000_000, Toward::Up)?,
        None => 0,
    };
    assembly.link(it, [&from, &to], rate?, delay_ns, place);
    if links.insert(name.to_owned(), (from, to)).is_some() {
        it.error(place, format!("two links are called `{}`", shown(name)), TWICE);
    }
    Some(())
}

/// The number under a key that must be there.
fn number(
    it: &mut Import<'_>,
    field: &Field<'_>,
    key: &str,
    max: u64,
    toward: Toward,
) -> Option<u64> {
    let value = json::need(&mut it.reader, field, key)?;
    json::scaled(&mut it.reader, &value, 0, max, toward)
}

fn read_stream(
    it: &mut Import<'_>,
    assembly: &mut Assembly,
    links: &Links,
    field: &Field<'_>,
) -> Option<()> {
    let place = field.node.place;
    let name = json::text(&mut it.reader, field, "name")?;
    let name = Assembly::clean(it, name);
    let source = json::text(&mut it.reader, field, "talker")?;
    let source = assembly.node(it, source, place)?;
    let period_ns = number(it, field, "period", TIME_NS_MAX, Toward::Down)?;
    let latency = number(it, field, "maxLatency", TIME_NS_MAX, Toward::Down)?;
    let deadline_ns = match field.get("deadline") {
        Some(d) => json::scaled(&mut it.reader, &d, 0, TIME_NS_MAX, Toward::Down)?.min(latency),
        None => latency,
    };
    let size = read_size(it, field)?;
    let targets = read_targets(it, assembly, links, field, &source, deadline_ns)?;
    let priority = match field.get("priority") {
        Some(field) => 7 - u8::try_from(it.reader.number(&field, 0, 7)?).unwrap_or(0),
        None => 7,
    };
    let contract = Contract { period_ns, size, frame_bytes_min: None, jitter_ns: 0, priority };
    let parts = FlowParts { name, source, targets, contract, vl: None, place };
    assembly.flow(it, parts).then_some(())
}

fn read_size(it: &mut Import<'_>, field: &Field<'_>) -> Option<Size> {
    let frame = number(it, field, "maxFrameSize", 100_000, Toward::Up)?;
    let frames = match field.get("framesPerPeriod") {
        Some(count) => json::scaled(&mut it.reader, &count, 0, FRAMES_MAX, Toward::Up)?.max(1),
        None => 1,
    };
    let wire = if frame > TAGGED_BYTES_MAX {
        it.note("maxFrameSize above 1522 B counts preamble and gap");
        frame
    } else {
        frame + u64::from(WIRE_OVERHEAD_BYTES)
    };
    let size = size_of_wire_bytes(frames * wire)?;
    if wire > 1_538 || frames > 1 {
        it.note(
            "tagged frames of the largest size, and several frames per period, are a message of \
             at least as many bytes: frames here have no VLAN tag",
        );
    }
    Some(size)
}

fn read_targets(
    it: &mut Import<'_>,
    assembly: &mut Assembly,
    links: &Links,
    field: &Field<'_>,
    source: &str,
    deadline_ns: u64,
) -> Option<Vec<Target>> {
    let place = field.node.place;
    let steps = read_steps(it, links, field)?;
    let listeners = json::need(&mut it.reader, field, "listeners")?;
    let mut targets = Vec::new();
    for listener in it.reader.texts(&listeners)? {
        let host = assembly.node(it, listener, listeners.node.place)?;
        let route = hops::route(&steps, source, &host);
        if route.is_none() && !steps.is_empty() {
            let message = format!("the path does not lead to `{}`", shown(&host));
            it.error(place, message, "it names the links from talker to listener");
            return None;
        }
        targets.push(target(&host, deadline_ns, route));
    }
    Some(targets)
}

/// The links of a path: a list of names, or one list for each listener.
fn read_steps(
    it: &mut Import<'_>,
    links: &Links,
    field: &Field<'_>,
) -> Option<Vec<(String, String)>> {
    let Some(path) = field.get("path") else { return Some(Vec::new()) };
    let mut steps = Vec::new();
    for item in it.reader.list(&path)? {
        let names = match item.node.value {
            crate::yaml::Value::List(_) => it.reader.texts(&item)?,
            _ => vec![it.reader.text(&item)?],
        };
        for name in names {
            match links.get(name) {
                Some(link) => steps.push(link.clone()),
                None => {
                    let near = it.reader.nearest(name, links.keys().map(String::as_str));
                    let hint = near.map_or_else(String::new, |n| format!("did you mean {n}?"));
                    let message = format!("there is no link `{}`", shown(name));
                    it.reader.error(&item, &message, &hint);
                    return None;
                }
            }
        }
    }
    Some(steps)
}
