//! ROS 2 topics as a table or as YAML: who publishes what to whom, how often, how large.
//!
//! CSV columns: `topic`, `publisher`, `subscribers` (separated by spaces), `rate_hz`,
//! `size_bytes`, `deadline_ms`. YAML: `topics:` with a list of maps of `topic`, `publisher`,
//! `subscribers`, `rate_hz`, `size` and `deadline` with units.

use super::assembly::{Assembly, FlowParts, target};
use super::decimal::{Decimal, Toward};
use super::table::{self, at};
use super::{Import, star};
use crate::quantity::{parse_size_bytes, parse_time_ns};
use crate::read::network::{Draft, settle_priorities};
use crate::read::reader::{Field, shown};
use crate::yaml::{Place, Value};
use crate::{Contract, Size, Target};
use std::collections::BTreeMap;

/// Bytes of RTPS headers per started kilobyte of a message.
const HEADER_BYTES: u64 = 64;
/// Largest message, bytes.
const MESSAGE_BYTES_MAX: u64 = 15_000_000;
/// Longest time, nanoseconds: ten days.
const TIME_NS_MAX: u64 = 864_000_000_000_000;

/// A topic, checked.
struct Topic {
    name: String,
    publisher: String,
    subscribers: Vec<String>,
    period_ns: u64,
    bytes: u64,
    deadline_ns: Option<u64>,
    place: Place,
}

/// The flows of the topics, on a star of their hosts or on `--topology`.
pub(super) fn read(it: &mut Import<'_>) -> Option<Draft> {
    let text = it.text.trim_start_matches('\u{feff}');
    let first = text.lines().map(str::trim).find(|l| !l.is_empty() && !l.starts_with('#'));
    let topics = match first {
        Some(line) if line.contains(',') && !line.contains(':') => of_table(it)?,
        _ => of_yaml(it)?,
    };
    let mut hosts = BTreeMap::new();
    for topic in &topics {
        for host in topic.subscribers.iter().chain([&topic.publisher]) {
            hosts.entry(host.clone()).or_insert(topic.place);
        }
    }
    let mut assembly = star::base(it, &hosts)?;
    it.note(
        "a message is its size and 64 B of RTPS headers per started kilobyte, in frames of ours",
    );
    it.note("rates are the highest: a period is the least time between two messages");
    for topic in topics {
        // What is missing was reported.
        let _reported = add(it, &mut assembly, topic);
    }
    let mut draft = assembly.finish(it);
    settle_priorities(&mut draft);
    Some(draft)
}

fn add(it: &mut Import<'_>, assembly: &mut Assembly, topic: Topic) -> Option<()> {
    let Topic { name, publisher, subscribers, period_ns, bytes, deadline_ns, place } = topic;
    let source = assembly.node(it, &publisher, place)?;
    if deadline_ns.is_none() {
        it.assume_deadlines("the period, of topics without one");
    }
    let mut targets: Vec<Target> = Vec::new();
    for subscriber in &subscribers {
        let host = assembly.node(it, subscriber, place)?;
        if host == source {
            let message = format!("`{}` stays inside `{}`", shown(&name), shown(&host));
            it.warn(place, message, "this subscriber is left out");
        } else if !targets.iter().any(|target| target.host == host) {
            targets.push(target(&host, deadline_ns.unwrap_or(period_ns), None));
        }
    }
    if targets.is_empty() {
        return Some(());
    }
    let message = bytes + HEADER_BYTES * bytes.div_ceil(1_000).max(1);
    let size = Size::MessageBytes(u32::try_from(message).unwrap_or(u32::MAX));
    let contract = Contract { period_ns, size, frame_bytes_min: None, jitter_ns: 0, priority: 0 };
    assembly.draft.unranked.insert(name.clone());
    let parts = FlowParts { name, source, targets, contract, vl: None, place };
    assembly.flow(it, parts).then_some(())
}

/// The time between two messages.
fn period_of(text: &str) -> Option<u64> {
    let number = text.trim().trim_end_matches("Hz").trim_end();
    // A millionth of a hertz is the slowest.
    let millionths = Decimal::parse(number).ok()?.scaled(1, 6, 1, Toward::Up)?;
    let period = 1_000_000_000_000_000_u64.checked_div(millionths)?;
    (1..=TIME_NS_MAX).contains(&period).then_some(period)
}

fn of_table(it: &mut Import<'_>) -> Option<Vec<Topic>> {
    let table = table::table(it)?;
    let known =
        ["topic", "publisher", "subscribers", "rate_hz", "size_bytes", "deadline_ms", "type"];
    if !table.has_all(it, &known[..5]) {
        return None;
    }
    let others = table.others(&known).join(", ");
    if !others.is_empty() {
        it.note(format!("columns are not read: {}", shown(&others)));
    }
    let mut topics = Vec::new();
    for row in &table.rows {
        let read = |it: &mut Import<'_>| {
            let name = table.need(it, row, "topic")?;
            let name = Assembly::clean(it, name);
            let publisher = table.need(it, row, "publisher")?;
            let subscribers = table.need(it, row, "subscribers")?;
            let rate = table.need(it, row, "rate_hz")?;
            table.need(it, row, "size_bytes")?;
            let bytes = table.number(it, row, "size_bytes", 0, Toward::Up)?;
            if bytes > MESSAGE_BYTES_MAX {
                it.error(at(row, "size_bytes"), "the message is too large", "at most 15 MB");
                return None;
            }
            let Some(period_ns) = period_of(rate) else {
                it.error(at(row, "rate_hz"), format!("`{}` is no rate", shown(rate)), "above 0");
                return None;
            };
            let deadline_ns = table.number(it, row, "deadline_ms", 6, Toward::Down);
            let split = subscribers.split(['|', ';', ' ']).filter(|name| !name.is_empty());
            let subscribers = split.map(str::to_owned).collect();
            let (publisher, place) = (publisher.to_owned(), row.place);
            Some(Topic { name, publisher, subscribers, period_ns, bytes, deadline_ns, place })
        };
        topics.extend(read(it));
    }
    Some(topics)
}

fn of_yaml(it: &mut Import<'_>) -> Option<Vec<Topic>> {
    let documents = it.yaml()?;
    let Some(node) = documents.into_iter().next() else {
        it.error(Place::default(), "the file is empty", "write `topics:` and a list of maps");
        return None;
    };
    let top = Field { node: &node, path: String::new() };
    let Some(list) = top.get("topics") else {
        it.error(node.place, "there are no topics", "write `topics:` and a list of maps");
        return None;
    };
    it.reader.expect_map(&top, &["topics"]);
    let items = it.reader.list(&list)?;
    Some(items.iter().filter_map(|item| of_map(it, item)).collect())
}

fn of_map(it: &mut Import<'_>, item: &Field<'_>) -> Option<Topic> {
    let keys = ["topic", "publisher", "subscribers", "rate_hz", "size", "deadline", "type"];
    it.reader.expect_map(item, &keys);
    let mut need = |key: &str| super::json::need(&mut it.reader, item, key);
    let (topic, publisher) = (need("topic")?, need("publisher")?);
    let (subscribers, rate, size) = (need("subscribers")?, need("rate_hz")?, need("size")?);
    let name = it.reader.text(&topic)?;
    let name = Assembly::clean(it, name);
    let publisher = it.reader.text(&publisher)?.to_owned();
    let subscribers: Vec<&str> = match subscribers.node.value {
        Value::List(_) => it.reader.texts(&subscribers)?,
        _ => it.reader.text(&subscribers)?.split_whitespace().collect(),
    };
    let text = it.reader.text(&rate)?;
    let Some(period_ns) = period_of(text) else {
        it.reader.error(&rate, &format!("`{}` is no rate", shown(text)), "hertz, above 0");
        return None;
    };
    let bytes = it.reader.quantity(&size, parse_size_bytes)?;
    if bytes > MESSAGE_BYTES_MAX {
        it.reader.error(&size, "the message is too large", "at most 15 MB");
        return None;
    }
    let deadline_ns = item.get("deadline").and_then(|f| it.reader.quantity(&f, parse_time_ns));
    let subscribers = subscribers.into_iter().map(str::to_owned).collect();
    Some(Topic {
        name,
        publisher,
        subscribers,
        period_ns,
        bytes,
        deadline_ns,
        place: item.node.place,
    })
}
