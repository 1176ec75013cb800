//! Scenario files: what happens in a run.

use super::reader::{Field, Reader, shown};
use super::scenario_events::read_event;
use crate::quantity::parse_time_ns;
use crate::yaml::{Node, Place, Value};
use crate::{Diagnostics, Event, Expect, Network, Offsets, Scenario, Severity, Sizes, Traffic};
use std::collections::BTreeMap;

/// Longest run, nanoseconds: a day.
const DURATION_NS_MAX: u64 = 86_400_000_000_000;
/// Most events in a run.
const EVENTS_MAX: usize = 100_000;

const KEYS: [&str; 7] =
    ["tenuto_scenario", "duration", "seed", "traffic", "hosts", "events", "expect"];

/// Looks for the program of a command line: the line as it is to be run, or what is wrong with it and
/// what would help.
pub type FindProgram<'a> = dyn Fn(&str) -> Result<String, (String, String)> + 'a;

/// Reads a scenario of `network`: a file of its own, or the part of the network's file that
/// starts with `tenuto_scenario: 1` after a line `---`.
///
/// # Errors
/// Every problem of the file, not only the first; names are judged against the network.
pub fn read_scenario(text: &str, path: &str, network: &Network) -> Result<Scenario, Diagnostics> {
    read_scenario_with_programs(text, path, network, &|line| Ok(line.to_owned()))
}

/// Reads a scenario as [`read_scenario`] does, and judges the user's programs too.
///
/// # Errors
/// As there, and for each program that `find` does not find.
pub fn read_scenario_with_programs(
    text: &str,
    path: &str,
    network: &Network,
    find: &FindProgram<'_>,
) -> Result<Scenario, Diagnostics> {
    let mut reader = Reader::default();
    let documents = reader.parse(path, text);
    let is_scenario = |node: &&Node| node.get("tenuto_scenario").is_some();
    let Some(node) = documents.iter().find(is_scenario) else {
        if reader.diagnostics.has_errors() {
            return Err(reader.diagnostics);
        }
        let place = documents.first().map_or_else(Place::default, |d| d.place);
        let hint = Some("a scenario starts with `tenuto_scenario: 1`".to_owned());
        let message = "there is no scenario in this file".to_owned();
        reader.report(Severity::Error, place, "", message, hint);
        return Err(reader.diagnostics);
    };
    let scenarios: Vec<Node> = documents.iter().filter(is_scenario).cloned().collect();
    reader.expect_one(&scenarios);
    let top = Field { node, path: String::new() };
    let scenario = read_top(&mut reader, &top, network, find);
    reader.finish(Some(scenario)).map(|(scenario, _)| scenario)
}

fn read_top(
    reader: &mut Reader,
    top: &Field<'_>,
    network: &Network,
    find: &FindProgram<'_>,
) -> Scenario {
    reader.remember(String::new(), top.node.place);
    reader.expect_map(top, &KEYS);
    if let Some(version) = top.get("tenuto_scenario")
        && reader.text(&version).is_some_and(|v| v != "1")
    {
        reader.error(
            &version,
            "this version of the format is not known",
            "write `tenuto_scenario: 1`",
        );
    }
    let duration_ns = match top.get("duration") {
        Some(field) => read_duration(reader, &field),
        None => {
            reader.error(top, "the scenario has no duration", "add `duration: 20 s`");
            None
        }
    };
    let seed = top.get("seed").and_then(|f| reader.number(&f, 0, u64::MAX)).unwrap_or(1);
    let traffic = read_traffic(reader, top);
    let programs = read_programs(reader, top, network, find);
    let events = read_events(reader, top, network, duration_ns);
    let expect = read_expect(reader, top);
    let duration_ns = duration_ns.unwrap_or(0);
    Scenario { duration_ns, cut_from_ns: None, seed, traffic, programs, events, expect }
}

/// The events in the order of their times.
fn read_events(
    reader: &mut Reader,
    top: &Field<'_>,
    network: &Network,
    duration_ns: Option<u64>,
) -> Vec<Event> {
    let mut events = Vec::new();
    let Some(list) = top.get("events") else { return events };
    let items = reader.list(&list).unwrap_or_default();
    if items.len() > EVENTS_MAX {
        reader.error(&list, "there are too many events", "at most 100000");
    }
    for item in items.iter().take(EVENTS_MAX) {
        let Some(event) = read_event(reader, item, network) else { continue };
        if duration_ns.is_some_and(|end| event.at_ns >= end) {
            let message = "the event is after the end of the run";
            reader.error(item, message, "make `duration` longer?");
        }
        events.push(event);
    }
    events.sort_by_key(|event| event.at_ns);
    events
}

fn read_expect(reader: &mut Reader, top: &Field<'_>) -> Expect {
    let Some(field) = top.get("expect") else { return Expect::default() };
    reader.expect_map(&field, &["raises", "returns"]);
    let mut count = |key| {
        let value = field.get(key).and_then(|f| reader.number(&f, 0, 1_000_000));
        value.and_then(|v| u32::try_from(v).ok())
    };
    Expect { raises: count("raises"), returns: count("returns") }
}

fn read_duration(reader: &mut Reader, field: &Field<'_>) -> Option<u64> {
    let ns = reader.quantity(field, parse_time_ns)?;
    if ns == 0 || ns > DURATION_NS_MAX {
        reader.error(field, "a run takes more than 0 s and at most a day", "write 20 s");
        return None;
    }
    Some(ns)
}

fn read_traffic(reader: &mut Reader, top: &Field<'_>) -> Traffic {
    let mut traffic = Traffic { offsets: Offsets::Random, sizes: Sizes::Largest };
    let Some(field) = top.get("traffic") else { return traffic };
    reader.expect_map(&field, &["offsets", "sizes"]);
    let offsets = [("random", Offsets::Random), ("zero", Offsets::Zero)];
    if let Some(value) = field.get("offsets").and_then(|f| reader.choice(&f, &offsets)) {
        traffic.offsets = value;
    }
    let sizes = [("largest", Sizes::Largest), ("random", Sizes::Random)];
    if let Some(value) = field.get("sizes").and_then(|f| reader.choice(&f, &sizes)) {
        traffic.sizes = value;
    }
    traffic
}

fn read_programs(
    reader: &mut Reader,
    top: &Field<'_>,
    network: &Network,
    find: &FindProgram<'_>,
) -> BTreeMap<String, String> {
    let mut programs = BTreeMap::new();
    let Some(hosts) = top.get("hosts") else { return programs };
    if !matches!(hosts.node.value, Value::Map(_)) {
        reader.error(&hosts, "hosts are a map by name", "write {d2: {run: ./player}}");
    }
    for (name, field) in hosts.pairs() {
        if !network.hosts.iter().any(|h| h.name == name) {
            let hosts = network.hosts.iter().map(|h| h.name.as_str());
            let hint = reader.meant(name, hosts).unwrap_or_default();
            reader.error(&field, &format!("there is no host `{}`", shown(name)), &hint);
        }
        reader.expect_map(&field, &["run"]);
        let Some(run) = field.get("run") else { continue };
        let Some(line) = reader.text(&run).map(str::to_owned) else { continue };
        match find(&line) {
            Ok(line) if !line.trim().is_empty() => drop(programs.insert(name.to_owned(), line)),
            Ok(_) => {
                reader.error(&run, "the program has no name", "write ./player, or leave it out")
            }
            Err((message, hint)) => reader.error(&run, &message, &hint),
        }
    }
    programs
}
