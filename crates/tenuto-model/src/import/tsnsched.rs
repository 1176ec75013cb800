//! TSNsched input: devices and switches with ports, flows with hops; microseconds and bytes.

use super::assembly::{Assembly, FlowParts, target};
use super::decimal::Toward;
use super::{Import, hops, json};
use crate::read::network::Draft;
use crate::read::reader::{Field, shown};
use crate::{Contract, Size};
use std::collections::BTreeMap;
use tenuto_units::FRAME_BYTES_MAX;

/// Largest time of a file, nanoseconds: a day.
const TIME_NS_MAX: u64 = 86_400_000_000_000;
/// Bits per second that a byte per microsecond is.
const BPS_PER_BYTE_PER_US: u64 = 8_000_000;
const FLOW_KEYS: [&str; 12] = [
    "name",
    "type",
    "sourceDevice",
    "endDevices",
    "hops",
    "packetSize",
    "packetPeriodicity",
    "hardConstraintTime",
    "firstSendingTime",
    "priorityValue",
    "fixedPriority",
    "path",
];

/// The network of the file.
pub(super) fn read(it: &mut Import<'_>) -> Option<Draft> {
    let node = json::parse(it)?;
    let top = json::top(&node);
    let name = it.stem();
    let mut assembly = Assembly::new(&name);
    let devices = json::items(&mut it.reader, &top, "devices");
    let switches = json::items(&mut it.reader, &top, "switches");
    let mut by_name: BTreeMap<String, Field<'_>> = BTreeMap::new();
    for field in &devices {
        let Some(name) = json::text(&mut it.reader, field, "name") else { continue };
        assembly.host(it, name, field.node.place);
        by_name.insert(name.to_owned(), field.clone());
    }
    for field in &switches {
        let Some(name) = json::text(&mut it.reader, field, "name") else { continue };
        assembly.switch(it, name, 0, field.node.place);
    }
    for field in &switches {
        for port in json::items(&mut it.reader, field, "ports") {
            // What is missing was reported.
            let _reported = read_port(it, &mut assembly, field, &port);
        }
    }
    it.note(
        "schedules (scheduleType, cycles, slots, guard bands, first sending times) are left out: \
         flows are sporadic",
    );
    it.note("packetSize is taken as a frame with FCS; preamble and gap are added");
    for flow in json::items(&mut it.reader, &top, "flows") {
        json::unread(&mut it.reader, &flow, &FLOW_KEYS);
        let _reported = read_flow(it, &mut assembly, &by_name, &flow);
    }
    Some(assembly.finish(it))
}

fn read_port(
    it: &mut Import<'_>,
    assembly: &mut Assembly,
    switch: &Field<'_>,
    port: &Field<'_>,
) -> Option<()> {
    let place = port.node.place;
    let from = json::text(&mut it.reader, switch, "name")?;
    let to = json::text(&mut it.reader, port, "connectsTo")?;
    let to = assembly.node(it, to, place)?;
    if to == from {
        it.note("ports that connect a switch to itself are left out: they are the other ends");
        return Some(());
    }
    let stated = port.get("portSpeed").or_else(|| switch.get("defaultPortSpeed"));
    let rate = match stated {
        Some(field) => {
            let speed = json::decimal(&mut it.reader, &field)?;
            let rate = speed.scaled(BPS_PER_BYTE_PER_US, 0, 1, Toward::Down);
            let rate = rate.filter(|rate| *rate <= 1_000_000_000_000);
            if rate.is_none() {
                let hint = "bytes per microsecond: 125 is 1 Gbit/s";
                it.reader.error(&field, "the port is too fast", hint);
            }
            Some(rate?)
        }
        None => None,
    };
    let rate = assembly.rate_or_option(it, rate, place)?;
    let travel = port.get("timeToTravel").or_else(|| switch.get("defaultTimeToTravel"));
    let travel_ns = match travel {
        Some(field) => json::scaled(&mut it.reader, &field, 3, 5_000_000, Toward::Up)?,
        None => 0,
    };
    assembly.link(it, [from, &to], rate, travel_ns, place);
    Some(())
}

/// A value of the flow, else the default of its source device, in whole units of 10^-power.
fn value(
    it: &mut Import<'_>,
    flow: &Field<'_>,
    device: Option<&Field<'_>>,
    key: &str,
    power: i32,
    max: u64,
) -> Option<u64> {
    let mut default = String::from("default");
    let mut letters = key.chars();
    default.extend(letters.next().map(|c| c.to_ascii_uppercase()));
    default.push_str(letters.as_str());
    let found = flow.get(key).or_else(|| device.and_then(|d| d.get(&default)));
    let Some(field) = found else {
        let message = format!("neither the flow nor its device states `{key}`");
        it.reader.error(flow, &message, &format!("add {key} or {default}"));
        return None;
    };
    let toward = if power == 0 { Toward::Up } else { Toward::Down };
    json::scaled(&mut it.reader, &field, power, max, toward)
}

fn read_flow(
    it: &mut Import<'_>,
    assembly: &mut Assembly,
    devices: &BTreeMap<String, Field<'_>>,
    flow: &Field<'_>,
) -> Option<()> {
    let place = flow.node.place;
    let name = json::text(&mut it.reader, flow, "name")?;
    let name = Assembly::clean(it, name);
    let source = json::text(&mut it.reader, flow, "sourceDevice")?;
    let source = assembly.node(it, source, place)?;
    let device = devices.get(&source);
    let period_ns = value(it, flow, device, "packetPeriodicity", 3, TIME_NS_MAX)?;
    let deadline_ns = value(it, flow, device, "hardConstraintTime", 3, TIME_NS_MAX)?;
    let frame = value(it, flow, device, "packetSize", 0, u64::from(FRAME_BYTES_MAX))?;
    let mut steps = Vec::new();
    for hop in flow.get("hops").and_then(|f| it.reader.list(&f)).unwrap_or_default() {
        let from = json::text(&mut it.reader, &hop, "currentNodeName")?;
        let to = json::text(&mut it.reader, &hop, "nextNodeName")?;
        let from = assembly.node(it, from, hop.node.place)?;
        steps.push((from, assembly.node(it, to, hop.node.place)?));
    }
    let ends = json::need(&mut it.reader, flow, "endDevices")?;
    let mut targets = Vec::new();
    for end in it.reader.texts(&ends)? {
        let host = assembly.node(it, end, ends.node.place)?;
        let route = hops::route(&steps, &source, &host);
        if route.is_none() && !steps.is_empty() {
            let message = format!("the hops do not lead to `{}`", shown(&host));
            it.error(place, message, "each hop goes from a node to the next");
            return None;
        }
        targets.push(target(&host, deadline_ns, route));
    }
    let size = Size::FrameBytes(u32::try_from(frame).unwrap_or(FRAME_BYTES_MAX));
    let contract = Contract { period_ns, size, frame_bytes_min: None, jitter_ns: 0, priority: 0 };
    if flow.get("priorityValue").is_some() || flow.get("fixedPriority").is_some() {
        it.note("priorities of flows are left out: all flows have the highest");
    }
    let parts = FlowParts { name, source, targets, contract, vl: None, place };
    assembly.flow(it, parts).then_some(())
}
