//! The AFDX traffic generator of LIAS: JSON with French keys.

use super::assembly::{Assembly, FlowParts, target};
use super::decimal::Toward;
use super::{Import, json};
use crate::read::network::Draft;
use crate::read::reader::{Field, shown};
use crate::yaml::Value;
use crate::{Contract, Size, Target};

/// Largest time of a file, microseconds in nanoseconds: a day.
const TIME_NS_MAX: u64 = 86_400_000_000_000;

/// The network of the file.
pub(super) fn read(it: &mut Import<'_>) -> Option<Draft> {
    let node = json::parse(it)?;
    let top = json::top(&node);
    let known = ["metadata", "end_systems", "switches", "Flux", "Flux_refuser"];
    json::unread(&mut it.reader, &top, &known);
    let metadata = top.get("metadata").and_then(|m| m.get("nom_topologie"));
    let name = metadata.and_then(|f| it.reader.text(&f).map(str::to_owned));
    let mut assembly = Assembly::new(&name.unwrap_or_else(|| it.stem()));
    let systems = json::items(&mut it.reader, &top, "end_systems");
    let switches = json::items(&mut it.reader, &top, "switches");
    for (fields, is_host) in [(&systems, true), (&switches, false)] {
        for field in fields {
            let Some(id) = json::text(&mut it.reader, field, "id") else { continue };
            let place = field.node.place;
            if is_host {
                assembly.host(it, id, place);
            } else {
                assembly.switch(it, id, 0, place);
            }
        }
    }
    for field in systems.iter().chain(&switches) {
        let ports = match field.get("port_sortie") {
            Some(one) if matches!(one.node.value, Value::Map(_)) => vec![one],
            Some(list) => it.reader.list(&list).unwrap_or_default(),
            None => Vec::new(),
        };
        for port in ports {
            // What is missing was reported.
            let _reported = read_port(it, &mut assembly, field, &port);
        }
    }
    it.note("switches take no time, lines have no propagation delay; charge is computed anew");
    for flow in json::items(&mut it.reader, &top, "Flux") {
        let _reported = read_flow(it, &mut assembly, &flow);
    }
    let refused = top.get("Flux_refuser").and_then(|f| it.reader.list(&f)).unwrap_or_default();
    if !refused.is_empty() {
        it.note(format!("{} flows that the generator refused are left out", refused.len()));
    }
    Some(assembly.finish(it))
}

fn read_port(
    it: &mut Import<'_>,
    assembly: &mut Assembly,
    node: &Field<'_>,
    port: &Field<'_>,
) -> Option<()> {
    let from = json::text(&mut it.reader, node, "id")?;
    let Some(to) = port.get("destination") else { return Some(()) };
    let to = it.reader.text(&to)?;
    let to = assembly.node(it, to, port.node.place)?;
    let rate = json::need(&mut it.reader, port, "debit_Mbps")?;
    let rate = json::scaled(&mut it.reader, &rate, 6, 1_000_000_000_000, Toward::Down)?;
    assembly.link(it, [from, &to], rate, 0, port.node.place);
    Some(())
}

fn read_flow(it: &mut Import<'_>, assembly: &mut Assembly, flow: &Field<'_>) -> Option<()> {
    let place = flow.node.place;
    json::unread(
        &mut it.reader,
        flow,
        &["id", "source", "destination", "taille_bytes", "priorite", "bag_us", "chemin"],
    );
    let name = json::text(&mut it.reader, flow, "id")?;
    let name = Assembly::clean(it, name);
    let source = json::text(&mut it.reader, flow, "source")?;
    let source = assembly.node(it, source, place)?;
    let frame = json::need(&mut it.reader, flow, "taille_bytes")?;
    let frame = json::scaled(&mut it.reader, &frame, 0, 1_518, Toward::Up)?;
    let period = json::need(&mut it.reader, flow, "bag_us")?;
    let period_ns = json::scaled(&mut it.reader, &period, 3, TIME_NS_MAX, Toward::Down)?;
    let priority = match flow.get("priorite") {
        Some(field) => it.reader.number(&field, 0, 7)?,
        None => 0,
    };
    it.note("taille_bytes is taken as a frame with FCS; preamble and gap are added");
    it.note("BAGs in steps of 128 us are no BAGs of ARINC 664: they are imported as periods");
    it.note("priorite 0 is taken as the highest");
    it.assume_deadlines("the period, as the file has none");
    let targets = read_targets(it, assembly, flow, period_ns)?;
    let contract = Contract {
        period_ns,
        size: Size::FrameBytes(u32::try_from(frame).unwrap_or(1_518)),
        frame_bytes_min: None,
        jitter_ns: 0,
        priority: u8::try_from(priority).unwrap_or(0),
    };
    let parts = FlowParts { name, source, targets, contract, vl: None, place };
    assembly.flow(it, parts).then_some(())
}

fn read_targets(
    it: &mut Import<'_>,
    assembly: &mut Assembly,
    flow: &Field<'_>,
    deadline_ns: u64,
) -> Option<Vec<Target>> {
    let place = flow.node.place;
    let ends = json::need(&mut it.reader, flow, "destination")?;
    let ends = texts(it, &ends)?;
    let ways = match flow.get("chemin") {
        Some(field) => ways(it, &field)?,
        None => Vec::new(),
    };
    let mut targets = Vec::new();
    for end in ends {
        let host = assembly.node(it, end, place)?;
        let way = ways.iter().find(|way| way.last() == Some(&end));
        let route = match way {
            Some(way) => {
                let middle = way.get(1..way.len() - 1).unwrap_or_default();
                let nodes: Option<Vec<String>> =
                    middle.iter().map(|node| assembly.node(it, node, place)).collect();
                Some(nodes?)
            }
            None if ways.is_empty() => None,
            None => {
                let message = format!("chemin does not end at `{}`", shown(end));
                it.error(place, message, "it names every node from source to destination");
                return None;
            }
        };
        targets.push(target(&host, deadline_ns, route));
    }
    Some(targets)
}

/// One text, or several.
fn texts<'f>(it: &mut Import<'_>, field: &Field<'f>) -> Option<Vec<&'f str>> {
    match field.node.value {
        Value::List(_) => it.reader.texts(field),
        _ => it.reader.text(field).map(|text| vec![text]),
    }
}

/// One way as a list of nodes, or a list of ways.
fn ways<'f>(it: &mut Import<'_>, field: &Field<'f>) -> Option<Vec<Vec<&'f str>>> {
    let items = it.reader.list(field)?;
    if items.iter().any(|item| matches!(item.node.value, Value::List(_))) {
        return items.iter().map(|item| it.reader.texts(item)).collect();
    }
    Some(vec![it.reader.texts(field)?])
}
