//! Topologies with a file of flows: nodes and edges become hosts, switches and links.

use super::assembly::Assembly;
use super::{Import, ImportFormat, applications, gml, graphml, node_lists};
use crate::read::network::{Draft, read_flow_table};
use crate::read::reader::shown;
use crate::yaml::{Place, TEXT_BYTES_MAX};
use std::collections::BTreeMap;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Host,
    Switch,
}

/// A node as a file has it.
pub(super) struct RawNode {
    pub(super) id: String,
    pub(super) label: Option<String>,
    pub(super) kind: Option<Kind>,
    pub(super) place: Place,
}

/// An edge as a file has it.
pub(super) struct RawEdge {
    pub(super) ends: [String; 2],
    pub(super) rate_bps: Option<u64>,
    pub(super) place: Place,
}

/// Nodes and edges as a file has them.
#[derive(Default)]
pub(super) struct RawGraph {
    pub(super) nodes: Vec<RawNode>,
    pub(super) edges: Vec<RawEdge>,
    /// Attributes of nodes and edges that are not read.
    pub(super) unread: std::collections::BTreeSet<String>,
}

/// Most nodes and edges each.
pub(super) const ITEMS_MAX: usize = 100_000;

/// A topology with the flows of `--flows`.
pub(super) fn read(it: &mut Import<'_>, format: ImportFormat) -> Option<Draft> {
    let (text, name) = (it.text, it.stem());
    let mut assembly = assemble(it, format, text, 0, &name)?;
    let Some(path) = it.options.flows else {
        it.note("the file has no flows: name a table of them with --flows FILE");
        return Some(assembly.finish(it));
    };
    let flows = load(it, path)?;
    if flows.trim_start_matches('\u{feff}').trim_start().starts_with('<') {
        let file = it.reader.add_file(path, &flows);
        applications::add(it, &mut assembly, file, &flows);
        return Some(assembly.finish(it));
    }
    let mut draft = assembly.finish(it);
    read_flow_table(&mut it.reader, path, &flows, &mut draft);
    Some(draft)
}

/// The topology of another file: GraphML, GML, JSON lists or a network of ours.
pub(super) fn of_file(it: &mut Import<'_>, path: &str) -> Option<Assembly> {
    let text = load(it, path)?;
    match ImportFormat::detect(&text) {
        Some(format) if is_topology(format) => {
            let file = it.reader.add_file(path, &text);
            let name = it.stem();
            assemble(it, format, &text, file, &name)
        }
        _ => match crate::read_network(it.options.sources, path) {
            Ok((network, _)) => {
                it.note(format!("nodes and links are those of {}", shown(path)));
                Some(Assembly::of_network(network))
            }
            Err(problems) => {
                problems.iter().for_each(|problem| it.reader.diagnostics.push(problem.clone()));
                None
            }
        },
    }
}

/// Whether a file of the format has nodes and links, and no flows.
const fn is_topology(format: ImportFormat) -> bool {
    matches!(format, ImportFormat::Graphml | ImportFormat::Gml | ImportFormat::NodeLists)
}

/// The text of a further file.
pub(super) fn load(it: &mut Import<'_>, path: &str) -> Option<String> {
    let why = match it.options.sources.read(path) {
        Ok(text) if text.len() <= TEXT_BYTES_MAX => return Some(text),
        Ok(_) => "it is too large: at most 32 MB".to_owned(),
        Err(why) => why,
    };
    let message = format!("`{}` cannot be read: {}", shown(path), shown(&why));
    it.error(Place::default(), message, "paths are relative to where the command runs");
    None
}

fn assemble(
    it: &mut Import<'_>,
    format: ImportFormat,
    text: &str,
    file: usize,
    name: &str,
) -> Option<Assembly> {
    let graph = match format {
        ImportFormat::Gml => gml::parse(it, file, text)?,
        ImportFormat::NodeLists => node_lists::parse(it, file, text)?,
        _ => graphml::parse(it, file, text)?,
    };
    build(it, graph, name)
}

/// Whether a name is that of an end system: `es…`, `h1`, `host…`, `end…`, `station…`.
pub(super) fn kind_by_name(name: &str) -> Kind {
    let lower = name.to_lowercase();
    let digits = |rest: &str| {
        let rest = rest.trim_start_matches('_');
        !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit())
    };
    let is_host = lower.strip_prefix("es").is_some_and(|r| r.starts_with('_') || digits(r))
        || lower.strip_prefix('h').is_some_and(digits)
        || ["host", "endsystem", "end_system", "station"].iter().any(|p| lower.starts_with(p));
    if is_host { Kind::Host } else { Kind::Switch }
}

/// The word of an attribute that says what a node is.
pub(super) fn kind_by_word(word: &str) -> Option<Kind> {
    match word.trim().to_lowercase().as_str() {
        "host" | "end" | "es" | "end system" | "endsystem" | "end_system" | "station" => {
            Some(Kind::Host)
        }
        "switch" | "bridge" | "router" | "sw" => Some(Kind::Switch),
        _ => None,
    }
}

fn build(it: &mut Import<'_>, graph: RawGraph, name: &str) -> Option<Assembly> {
    if graph.nodes.len() > ITEMS_MAX || graph.edges.len() > ITEMS_MAX {
        it.error(Place::default(), "there are too many nodes or edges", "at most 100000");
        return None;
    }
    let mut assembly = Assembly::new(name);
    let names = names(it, &graph.nodes);
    let mut hosts = 0;
    for (node, name) in graph.nodes.iter().zip(&names) {
        match node.kind.unwrap_or_else(|| kind_by_name(name)) {
            Kind::Host => {
                hosts += 1;
                assembly.host(it, name, node.place);
            }
            Kind::Switch => assembly.switch(it, name, 0, node.place),
        }
    }
    if graph.nodes.iter().any(|node| node.kind.is_none()) && hosts > 0 {
        it.note("nodes named es…, h1, host… or station… are hosts, the others switches");
    }
    let by_id: BTreeMap<&str, &str> =
        graph.nodes.iter().zip(&names).map(|(n, name)| (n.id.as_str(), name.as_str())).collect();
    for edge in &graph.edges {
        let Some(rate) = assembly.rate_or_option(it, edge.rate_bps, edge.place) else { break };
        let ends: Vec<&str> =
            edge.ends.iter().filter_map(|end| end_of(it, end, &by_id, edge.place)).collect();
        assembly.draft.topology_in_doubt |= ends.len() < edge.ends.len();
        if let [a, b] = ends[..] {
            assembly.link(it, [a, b], rate, 0, edge.place);
        }
    }
    if hosts == 0 {
        attach(it, &mut assembly, &graph, &names);
    }
    if !graph.unread.is_empty() {
        let unread: Vec<&str> = graph.unread.iter().take(12).map(String::as_str).collect();
        it.note(format!("attributes are not read: {}", unread.join(", ")));
    }
    it.note("lines have no propagation delay, switches no latency: the file states none");
    Some(assembly)
}

fn end_of<'a>(
    it: &mut Import<'_>,
    end: &str,
    by_id: &BTreeMap<&str, &'a str>,
    place: Place,
) -> Option<&'a str> {
    let name = by_id.get(end).copied();
    if name.is_none() {
        let near = it.reader.nearest(end, by_id.keys().copied());
        let hint = near.map_or_else(String::new, |n| format!("did you mean {n}?"));
        it.error(place, format!("there is no node `{}`", shown(end)), &hint);
    }
    name
}

/// The names of the nodes: labels where they are distinct, else with the id.
fn names(it: &mut Import<'_>, nodes: &[RawNode]) -> Vec<String> {
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    let plain: Vec<String> = nodes
        .iter()
        .map(|node| {
            let text = node.label.as_deref().unwrap_or(&node.id);
            let name = Assembly::clean(it, text);
            if name.contains(char::is_whitespace) {
                it.note("spaces in names of nodes are written _, so that tables can name them");
            }
            name.split_whitespace().collect::<Vec<_>>().join("_")
        })
        .collect();
    for name in &plain {
        *uses.entry(name.to_lowercase()).or_default() += 1;
    }
    let distinct = |(node, name): (&RawNode, String)| {
        if uses.get(&name.to_lowercase()).copied().unwrap_or(0) > 1 && node.label.is_some() {
            let id = Assembly::clean(it, &node.id);
            it.note("nodes with the same label have their number behind it");
            let short: String = name.chars().take(56).collect();
            format!("{short}-{id}")
        } else {
            name
        }
    };
    nodes.iter().zip(plain).map(distinct).collect()
}

/// A host on every switch, where the file has switches only.
fn attach(it: &mut Import<'_>, assembly: &mut Assembly, graph: &RawGraph, names: &[String]) {
    let rates = assembly.draft.network.links.iter().map(|link| link.rate_bps).max();
    let Some(rate) = it.options.rate_bps.or(rates) else { return };
    for (node, name) in graph.nodes.iter().zip(names) {
        let host = format!("h-{}", name.chars().take(62).collect::<String>());
        assembly.host(it, &host, node.place);
        assembly.link(it, [&host, name], rate, 0, node.place);
    }
    if !graph.nodes.is_empty() {
        it.note("the file has switches only: each has a host h-NAME, named so in flows");
    }
}
