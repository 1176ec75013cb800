//! The top of a network file.

pub(crate) use super::flows::settle_priorities;
use super::flows::{FlowLayers, read_flow};
use super::reader::{Field, Reader, shown, title_of};
use super::{nodes, tables};
use crate::check::judge;
use crate::quantity::{parse_rate_bps, parse_size_bytes, parse_time_ns};
use crate::source::Sources;
use crate::yaml::{Node, Place, Value};
use crate::{Diagnostics, ModeReturn, Network, OtherTraffic, Tolerates};
use std::collections::{BTreeMap, BTreeSet};

/// Name of the only mode where none is written.
const ONLY_MODE: &str = "normal";
/// Most modes; each pair has a transition to be bounded.
const MODES_MAX: usize = 8;
/// Most flows; they are numbered with 16 bits.
pub(crate) const FLOWS_MAX: usize = 65_000;

const KEYS: [&str; 15] = [
    "tenuto",
    "name",
    "modes",
    "networks",
    "hosts",
    "switches",
    "controllers",
    "profiles",
    "defaults",
    "links",
    "flows",
    "flow_tables",
    "other_traffic",
    "mode_return",
    "tolerates",
];
const FLOW_DEFAULT_KEYS: [&str; 9] = [
    "match",
    "copies",
    "skew_max",
    "jitter",
    "priority",
    "level",
    "out_of_mode",
    "monitor_at",
    "frame_min",
];

/// The network while it is being read.
pub(crate) struct Draft {
    pub(crate) network: Network,
    /// Names of nodes, controllers included.
    pub(crate) names: BTreeSet<String>,
    /// Whether nodes or links are incomplete, so that reachability cannot be judged.
    pub(crate) topology_in_doubt: bool,
    /// Flows whose contract could not be read in full.
    pub(crate) contract_in_doubt: BTreeSet<String>,
    /// Flows whose priority is left to the rate-monotonic order.
    pub(crate) unranked: BTreeSet<String>,
}

impl Draft {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            network: Network {
                name: name.to_owned(),
                modes: vec![ONLY_MODE.to_owned()],
                networks: Vec::new(),
                hosts: Vec::new(),
                switches: Vec::new(),
                controllers: Vec::new(),
                links: Vec::new(),
                flows: Vec::new(),
                other_traffic: OtherTraffic::Drop,
                mode_return: ModeReturn::default(),
                tolerates: Tolerates {
                    babbling_hosts: 0,
                    lost_signals: 0,
                    controller_loss: true,
                    links_lost: 0,
                },
                profiles: BTreeMap::new(),
            },
            names: BTreeSet::new(),
            topology_in_doubt: false,
            contract_in_doubt: BTreeSet::new(),
            unranked: BTreeSet::new(),
        }
    }

    /// Whether the name belongs to a controller.
    pub(crate) fn is_controller(&self, name: &str) -> bool {
        self.network.controllers.iter().any(|c| c.name == name)
    }
}

/// Reads a network file and what it names, and judges the whole.
///
/// The file is YAML 1.2 as `docs/reference/network.md` says; profiles and tables are read through
/// `sources`, relative to `path`. The network comes with its warnings.
///
/// # Errors
/// Every problem of the files, not only the first.
pub fn read_network(
    sources: &dyn Sources,
    path: &str,
) -> Result<(Network, Diagnostics), Diagnostics> {
    let mut reader = Reader::default();
    let text = match sources.read(path) {
        Ok(text) => text,
        Err(why) => {
            let file = reader.add_file(path, "");
            let place = Place { file, ..Place::default() };
            let message = format!("the network cannot be read: {}", shown(&why));
            reader.report(crate::Severity::Error, place, "", message, None);
            return Err(reader.diagnostics);
        }
    };
    let documents = reader.parse(path, &text);
    let is_network = |node: &&Node| node.get("tenuto_scenario").is_none();
    let mut networks = documents.iter().filter(is_network);
    let Some(node) = networks.next() else {
        // What is no YAML was said; that no network is in it follows.
        if !reader.diagnostics.has_errors() {
            let hint = "a network starts with `tenuto: 1`";
            reader.report_file(path, "there is no network in this file", hint);
        }
        return Err(reader.diagnostics);
    };
    for further in networks {
        let further = Field { node: further, path: String::new() };
        let hint = "a file has one, and perhaps its scenario (`tenuto_scenario: 1`)";
        reader.error(&further, "this is another network in the same file", hint);
    }
    let top = Field { node, path: String::new() };
    let network = read_top(&mut reader, &top, sources, path);
    reader.finish(network)
}

fn read_top(
    reader: &mut Reader,
    top: &Field<'_>,
    sources: &dyn Sources,
    path: &str,
) -> Option<Network> {
    if !matches!(top.node.value, Value::Map(_)) {
        reader.error(top, "a network file is a map", "it starts with `tenuto: 1`");
        return None;
    }
    reader.remember(String::new(), top.node.place);
    reader.expect_map(top, &KEYS);
    check_version(reader, top);
    let stem = path.rsplit('/').next().unwrap_or(path);
    let stem = stem.strip_suffix(".yaml").unwrap_or(stem);
    let written = top.get("name").and_then(|f| reader.title(&f));
    let name = written.map_or_else(|| title_of(stem), str::to_owned);
    let mut draft = Draft::new(&name);
    read_modes(reader, top, &mut draft);
    read_networks(reader, top, &mut draft);
    check_defaults(reader, top);
    let before = reader.diagnostics.errors();
    nodes::read_hosts(reader, top, &mut draft);
    nodes::read_switches(reader, top, sources, path, &mut draft);
    nodes::read_controllers(reader, top, &mut draft);
    nodes::read_links(reader, top, &mut draft);
    draft.topology_in_doubt |= reader.diagnostics.errors() > before;
    read_policies(reader, top, &mut draft);
    read_flows(reader, top, sources, path, &mut draft);
    let flows = top.get("flows").map_or(top.node.place, |flows| flows.node.place);
    reader.remember("flows".to_owned(), flows);
    settle_priorities(&mut draft);
    judge(reader, &draft);
    Some(draft.network)
}

fn check_version(reader: &mut Reader, top: &Field<'_>) {
    match top.get("tenuto") {
        None => reader.error(
            top,
            "the file does not say what it is",
            "a network starts with `tenuto: 1`",
        ),
        Some(version) => {
            if reader.text(&version).is_some_and(|v| v != "1") {
                reader.error(
                    &version,
                    "this version of the format is not known",
                    "write `tenuto: 1`",
                );
            }
        }
    }
}

fn read_modes(reader: &mut Reader, top: &Field<'_>, draft: &mut Draft) {
    let Some(field) = top.get("modes") else { return };
    reader.remember(field.path.clone(), field.node.place);
    let Some(modes) = reader.texts(&field) else { return };
    let odd =
        |m: &&str| m.is_empty() || m.contains(|c: char| c.is_whitespace() || ">:,".contains(c));
    if modes.is_empty() || modes.len() > MODES_MAX {
        reader.error(
            &field,
            "there is at least one mode, and at most 8",
            "write [LO, HI], lowest first",
        );
    } else if modes.iter().collect::<BTreeSet<_>>().len() < modes.len() {
        reader.error(&field, "two modes have the same name", "write [LO, HI]");
    } else if modes.iter().any(|m| odd(m) || m.len() > 64) {
        reader.error(&field, "a mode's name is one short word without > : ,", "write [LO, HI]");
    } else {
        draft.network.modes = modes.into_iter().map(str::to_owned).collect();
    }
}

fn read_networks(reader: &mut Reader, top: &Field<'_>, draft: &mut Draft) {
    let Some(field) = top.get("networks") else { return };
    let Some(networks) = reader.texts(&field) else { return };
    let distinct: BTreeSet<_> = networks.iter().collect();
    let ends_list: BTreeSet<_> =
        networks.iter().filter(|n| !n.is_empty() && n.len() <= 64).collect();
    if distinct.len() < networks.len() || ends_list.len() < networks.len() || networks.len() > 2 {
        reader.error(&field, "networks are at most two different names", "write [A, B]");
    } else {
        for name in &networks {
            reader.check_name(name, &field.path, field.node.place);
        }
        draft.network.networks = networks.into_iter().map(str::to_owned).collect();
    }
}

fn check_defaults(reader: &mut Reader, top: &Field<'_>) {
    let Some(defaults) = top.get("defaults") else { return };
    reader.expect_map(&defaults, &["link", "switch", "flow"]);
    for (key, allowed) in [
        ("link", &["rate", "length"] as &[&str]),
        ("switch", &["profile"]),
        ("flow", &FLOW_DEFAULT_KEYS),
    ] {
        if let Some(field) = defaults.get(key) {
            reader.expect_map(&field, allowed);
        }
    }
}

fn read_policies(reader: &mut Reader, top: &Field<'_>, draft: &mut Draft) {
    let network = &mut draft.network;
    network.tolerates.lost_signals = u32::from(network.modes.len() > 1);
    if let Some(field) = top.get("other_traffic") {
        network.other_traffic = read_other_traffic(reader, &field);
        reader.remember(field.path.clone(), field.node.place);
    }
    if let Some(field) = top.get("mode_return") {
        reader.expect_map(&field, &["quiet"]);
        if let Some(quiet) = field.get("quiet") {
            network.mode_return.quiet_ns = reader.quantity(&quiet, parse_time_ns);
            reader.remember(quiet.path.clone(), quiet.node.place);
        }
        reader.remember(field.path.clone(), field.node.place);
    }
    let Some(field) = top.get("tolerates") else { return };
    let known = ["babbling_hosts", "lost_signals", "controller_loss", "links_lost"];
    reader.expect_map(&field, &known);
    let mut count = |key, max| field.get(key).and_then(|f| reader.number(&f, 0, max));
    if let Some(hosts) = count("babbling_hosts", 4_000) {
        network.tolerates.babbling_hosts = u32::try_from(hosts).expect("at most 4000");
    }
    if let Some(signals) = count("lost_signals", 16) {
        network.tolerates.lost_signals = u32::try_from(signals).expect("at most 16");
    }
    if let Some(links) = count("links_lost", 1) {
        network.tolerates.links_lost = u32::try_from(links).expect("at most 1");
    }
    if let Some(loss) = field.get("controller_loss").and_then(|f| reader.truth(&f)) {
        network.tolerates.controller_loss = loss;
    }
}

fn read_other_traffic(reader: &mut Reader, field: &Field<'_>) -> OtherTraffic {
    if matches!(field.node.value, Value::Text(_)) {
        reader.choice(field, &[("drop", ())]);
        return OtherTraffic::Drop;
    }
    reader.expect_map(field, &["priority", "rate", "frame"]);
    let priority = field.get("priority").and_then(|f| reader.number(&f, 0, 63));
    let rate_bps = field.get("rate").and_then(|f| reader.quantity(&f, parse_rate_bps));
    let frame = field.get("frame").and_then(|f| reader.quantity(&f, parse_size_bytes));
    for key in ["priority", "rate", "frame"] {
        if field.get(key).is_none() {
            let hint = "write {priority: 7, rate: 1 Mbit/s, frame: 1518 B}, or drop";
            reader.error(field, &format!("other traffic needs its {key}"), hint);
        }
    }
    match (
        priority.and_then(|p| u8::try_from(p).ok()),
        rate_bps,
        frame.and_then(|f| u32::try_from(f).ok()),
    ) {
        (Some(priority), Some(rate_bps), Some(frame_bytes_max)) => {
            OtherTraffic::Carry { priority, rate_bps, frame_bytes_max }
        }
        _ => OtherTraffic::Drop,
    }
}

fn read_flows(
    reader: &mut Reader,
    top: &Field<'_>,
    sources: &dyn Sources,
    path: &str,
    draft: &mut Draft,
) {
    let rows = tables::read_flow_tables(reader, top, sources, path);
    let own = top.get("flows");
    if let Some(flows) = &own
        && !matches!(flows.node.value, Value::Map(_))
    {
        reader.error(
            flows,
            "flows are a map by name",
            "write {F1: {source: h1, targets: [h2], …}}",
        );
    }
    let own: Vec<(&str, Field<'_>)> = own.map(|f| f.pairs()).unwrap_or_default();
    let by_name: BTreeMap<&str, &Field<'_>> = own.iter().map(|(n, f)| (*n, f)).collect();
    let default = top.get("defaults").and_then(|d| d.get("flow"));
    let in_tables: BTreeSet<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
    let in_yaml = own.iter().filter(|(name, _)| !in_tables.contains(name));
    if rows.len() + own.len() > FLOWS_MAX {
        reader.error(top, "there are too many flows", "at most 65000 can be numbered");
        return;
    }
    for (name, node) in &rows {
        let row = Field { node, path: format!("flows.{name}") };
        let layers = FlowLayers {
            name,
            own: by_name.get(name.as_str()).map(|f| (*f).clone()),
            row: Some(row),
            default: default.clone(),
        };
        read_flow(reader, &layers, draft);
    }
    for (name, field) in in_yaml {
        let layers =
            FlowLayers { name, own: Some(field.clone()), row: None, default: default.clone() };
        read_flow(reader, &layers, draft);
    }
}

/// Reads a flow table into a draft that has nodes already, as `flow_tables` of a file would.
pub(crate) fn read_flow_table(reader: &mut Reader, path: &str, text: &str, draft: &mut Draft) {
    let rows = tables::read_one_table(reader, path, text);
    if rows.len() > FLOWS_MAX {
        let message = "there are too many flows".to_owned();
        reader.report(crate::Severity::Error, Place::default(), "", message, None);
        return;
    }
    for (name, node) in &rows {
        let row = Some(Field { node, path: format!("flows.{name}") });
        read_flow(reader, &FlowLayers { name, own: None, row, default: None }, draft);
    }
    settle_priorities(draft);
}

/// The index of a mode by name; an unknown one is reported.
pub(crate) fn mode_index(
    reader: &mut Reader,
    field: &Field<'_>,
    modes: &[String],
    name: &str,
) -> Option<usize> {
    let index = modes.iter().position(|m| m == name);
    if index.is_none() {
        let hint = reader.meant(name, modes.iter().map(String::as_str)).unwrap_or_default();
        reader.error(field, &format!("there is no mode `{}`", shown(name)), &hint);
    }
    index
}
