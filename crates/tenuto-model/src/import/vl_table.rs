//! AFDX virtual links as CSV: one row each, with partition, sinks, BAG, frame, networks and queue. Lists in YAML
//! are read as the rows of such a table.

use super::assembly::{Assembly, FlowParts, size_of_wire_bytes, target};
use super::decimal::Toward;
use super::table::{Row, Table, at, rows};
use super::{Import, topology, vl_yaml};
use crate::read::network::Draft;
use crate::read::reader::shown;
use crate::yaml::Place;
use crate::{Contract, Size};
use std::collections::BTreeMap;
use tenuto_units::{FRAME_BYTES_MAX, WIRE_OVERHEAD_BYTES};

/// The columns, in the order in which the format's own comment lists them.
const COLUMNS: [&str; 15] = [
    "vl_id",
    "source_partition",
    "sinks",
    "trafficclass",
    "bag_ms",
    "frames_per_bag",
    "max_l2_bytes",
    "udp_dstport",
    "redundancy",
    "queue",
    "qos",
    "bw_kbps_per_net",
    "notes",
    // Of the form in YAML only.
    "number",
    "jitter_us",
];

/// The networks A and B of the table's hosts, or `--topology`, with a flow per row.
pub(super) fn read(it: &mut Import<'_>) -> Option<Draft> {
    let table = table(it)?;
    let needed = ["vl_id", "source_partition", "sinks", "bag_ms", "max_l2_bytes"];
    if !table.has_all(it, &needed) {
        return None;
    }
    let others = table.others(&COLUMNS).join(", ");
    if !others.is_empty() {
        it.note(format!("columns are not read: {}", shown(&others)));
    }
    it.note("traffic class, QoS and notes are left out");
    it.assume_deadlines("the BAG, as the table has none");
    let is_double = table.rows.iter().any(|row| {
        table.get(row, "redundancy").is_some_and(|text| text.split(['/', '+', ' ']).count() > 1)
    });
    let mut assembly = base(it, &table, is_double)?;
    for (index, row) in table.rows.iter().enumerate() {
        // What is missing in a row was reported.
        let _reported = read_row(it, &mut assembly, &table, row, index);
    }
    Some(assembly.finish(it))
}

/// The table; its column names may stand in a comment, or nowhere.
fn table(it: &mut Import<'_>) -> Option<Table> {
    if it.text.lines().any(|line| line.trim_end() == "virtual_links:") {
        return vl_yaml::table(it);
    }
    let mut rows = rows(it);
    let comment = it.text.lines().find_map(|line| {
        let line = line.trim().strip_prefix('#')?.trim();
        line.to_lowercase().starts_with("vl_id,").then_some(line)
    });
    if rows.first().is_some_and(|row| row.first().eq_ignore_ascii_case("vl_id")) {
        let header = rows.remove(0);
        return Some(Table::new(&header.into_cells(), rows));
    }
    if rows.is_empty() {
        it.error(Place::default(), "the table has no rows", "one virtual link in each");
        return None;
    }
    match comment {
        Some(names) => Some(Table::new(&names.split(',').collect::<Vec<_>>(), rows)),
        None => {
            it.note("the table names no columns: they are taken in the order of its format");
            Some(Table::new(&COLUMNS[..13], rows))
        }
    }
}

fn sinks(text: &str) -> impl Iterator<Item = &str> {
    text.split(['|', ' ']).map(str::trim).filter(|name| !name.is_empty())
}

fn base(it: &mut Import<'_>, table: &Table, is_double: bool) -> Option<Assembly> {
    if let Some(path) = it.options.topology {
        return topology::of_file(it, path);
    }
    let mut hosts: BTreeMap<String, Place> = BTreeMap::new();
    for row in &table.rows {
        let source = table.get(row, "source_partition").into_iter();
        let names = source.chain(table.get(row, "sinks").into_iter().flat_map(sinks));
        for name in names {
            let name = Assembly::clean(it, name);
            hosts.entry(name).or_insert(row.place);
        }
    }
    if !is_double {
        return super::star::base(it, &hosts);
    }
    let name = it.stem();
    let mut assembly = Assembly::new(&name);
    let rate = assembly.rate_or_option(it, None, Place::default())?;
    assembly.draft.network.networks = vec!["A".into(), "B".into()];
    for (switch, network) in [("swA", "A"), ("swB", "B")] {
        assembly.switch(it, switch, 0, Place::default());
        if let Some(last) = assembly.draft.network.switches.last_mut() {
            last.network = Some(network.to_owned());
        }
    }
    for (host, place) in &hosts {
        assembly.host(it, host, *place);
        assembly.link(it, [host, "swA"], rate, 0, *place);
        assembly.link(it, [host, "swB"], rate, 0, *place);
    }
    it.note(
        "the table has no topology: partitions are hosts, on one switch of each network, swA \
         and swB (--topology)",
    );
    Some(assembly)
}

fn read_row(
    it: &mut Import<'_>,
    assembly: &mut Assembly,
    table: &Table,
    row: &Row,
    index: usize,
) -> Option<()> {
    let name = table.need(it, row, "vl_id")?;
    let name = Assembly::clean(it, name);
    let source = table.need(it, row, "source_partition")?;
    let source = Assembly::clean(it, source);
    let source = assembly.node(it, &source, at(row, "source_partition"))?;
    let bag_ns = table.number(it, row, "bag_ms", 6, Toward::Down)?;
    let (frames, size) = read_size(it, table, row, &name, bag_ns)?;
    let vl = match frames {
        1 => {
            let number = table.number(it, row, "number", 0, Toward::Up);
            let by_row = || u64::try_from(index + 1).unwrap_or(u64::MAX);
            u16::try_from(number.unwrap_or_else(by_row)).ok()
        }
        _ => None,
    };
    let mut targets = Vec::new();
    for sink in table.need(it, row, "sinks").map(sinks)? {
        let sink = Assembly::clean(it, sink);
        targets.push(target(&assembly.node(it, &sink, at(row, "sinks"))?, bag_ns, None));
    }
    let priority = priority(it, table, row);
    let jitter_ns = table.number(it, row, "jitter_us", 3, Toward::Up).unwrap_or_default();
    let contract = Contract { period_ns: bag_ns, size, frame_bytes_min: None, jitter_ns, priority };
    let port = table.number(it, row, "udp_dstport", 0, Toward::Up);
    let copies = copies(it, assembly, table, row);
    for target in &mut targets {
        target.routes = vec![None; copies.len().max(1)];
    }
    let parts = FlowParts { name: name.clone(), source, targets, contract, vl, place: row.place };
    assembly.flow(it, parts);
    if let Some(flow) = assembly.draft.network.flows.last_mut().filter(|flow| flow.name == name) {
        flow.udp_port = port.and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
        flow.copies = copies;
    }
    if table.get(row, "number").is_none() {
        it.note("virtual links are numbered by their rows: the table has names only");
    }
    Some(())
}

/// How many frames per BAG, and the frame or the message of several.
fn read_size(
    it: &mut Import<'_>,
    table: &Table,
    row: &Row,
    name: &str,
    bag_ns: u64,
) -> Option<(u64, Size)> {
    let frame = table.number(it, row, "max_l2_bytes", 0, Toward::Up)?;
    if frame > u64::from(FRAME_BYTES_MAX) || frame == 0 {
        let message = format!("a frame of {frame} B cannot be");
        it.error(at(row, "max_l2_bytes"), message, "1 B to 1518 B, FCS included");
        return None;
    }
    let frames = table.number(it, row, "frames_per_bag", 0, Toward::Up).unwrap_or(1).max(1);
    judge_rate(it, table, row, frames * frame, bag_ns);
    if frames == 1 {
        return Some((1, Size::FrameBytes(u32::try_from(frame).unwrap_or(FRAME_BYTES_MAX))));
    }
    let place = at(row, "frames_per_bag");
    let message = format!("`{}` sends {frames} frames per BAG", shown(name));
    let hint = "a virtual link sends one: it is a flow with a message of as many bytes";
    it.warn(place, message, hint);
    let size = size_of_wire_bytes(frames.saturating_mul(frame + u64::from(WIRE_OVERHEAD_BYTES)));
    if size.is_none() {
        it.error(
            place,
            "these are too many frames",
            "a message has at most 16 MB: write fewer frames",
        );
    }
    size.map(|size| (frames, size))
}

/// Whether the stated rate is that of frames and BAG.
fn judge_rate(it: &mut Import<'_>, table: &Table, row: &Row, bytes: u64, bag_ns: u64) {
    let Some(stated) = table.number(it, row, "bw_kbps_per_net", 0, Toward::Up) else { return };
    let kbps = (u128::from(bytes) * 8_000_000).div_ceil(u128::from(bag_ns.max(1)));
    if u128::from(stated).abs_diff(kbps) > kbps / 50 + 1 {
        let message = format!("{stated} kbit/s are stated, frames and BAG make {kbps}");
        it.warn(at(row, "bw_kbps_per_net"), message, "frames and BAG are taken");
    }
}

/// `PRIO_7` is the highest of the format, 0 the highest of ours.
fn priority(it: &mut Import<'_>, table: &Table, row: &Row) -> u8 {
    let Some(text) = table.get(row, "queue") else { return 0 };
    let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    match digits.parse::<u8>() {
        Ok(queue @ 0..=7) => {
            it.note("queue PRIO_7 is taken as the highest priority, PRIO_0 as the lowest");
            7 - queue
        }
        _ => {
            let message = format!("queue `{}` is not known", shown(text));
            it.error(at(row, "queue"), message, "PRIO_0 to PRIO_7 are");
            0
        }
    }
}

fn copies(it: &mut Import<'_>, assembly: &Assembly, table: &Table, row: &Row) -> Vec<String> {
    let networks = assembly.draft.network.networks.clone();
    let Some(text) = table.get(row, "redundancy") else { return networks };
    let copies: Vec<String> =
        text.split(['/', '+', ' ']).filter(|c| !c.is_empty()).map(str::to_uppercase).collect();
    if networks.is_empty() {
        if copies.len() > 1 {
            let message = "the topology has no networks A and B".to_owned();
            it.warn(at(row, "redundancy"), message, "one copy is planned");
        }
        return Vec::new();
    }
    for copy in &copies {
        if !networks.contains(copy) {
            let message = format!("there is no network `{}`", shown(copy));
            it.error(at(row, "redundancy"), message, "write A, B or A/B");
        }
    }
    copies
}
