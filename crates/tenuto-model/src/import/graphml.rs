//! GraphML: nodes, edges and their data.

use super::Import;
use super::decimal::{Decimal, Toward};
use super::topology::{RawEdge, RawGraph, RawNode, kind_by_word};
use super::xml::{self, Lines};
use crate::read::reader::shown;
use crate::yaml::Place;
use roxmltree::Node;
use std::collections::BTreeMap;

/// The graph of the file; nested graphs and hyperedges are refused.
pub(super) fn parse(it: &mut Import<'_>, file: usize, text: &str) -> Option<RawGraph> {
    let document = xml::parse(&mut it.reader, file, text)?;
    let lines = Lines::new(file, text);
    let top = document.root_element();
    let graph = xml::child(top, "graph");
    let (true, Some(graph)) = (top.tag_name().name() == "graphml", graph) else {
        let place = Place { file, line: 1, ..Place::default() };
        it.error(place, "this is not GraphML", "it has <graphml> with a <graph>");
        return None;
    };
    let keys: BTreeMap<&str, &str> = xml::children(top, "key")
        .filter_map(|key| Some((key.attribute("id")?, key.attribute("attr.name")?)))
        .collect();
    for odd in top.descendants().filter(|n| matches!(n.tag_name().name(), "hyperedge" | "port")) {
        let message = format!("<{}> is not read", odd.tag_name().name());
        it.error(lines.place(odd), message, "nodes and edges are");
    }
    if graph.descendants().skip(1).any(|n| n.tag_name().name() == "graph") {
        it.error(lines.place(graph), "the graph has graphs inside", "write one flat graph");
    }
    let mut raw = RawGraph::default();
    for node in xml::children(graph, "node") {
        read_node(it, &mut raw, node, lines.place(node), &keys);
    }
    for edge in xml::children(graph, "edge") {
        read_edge(it, &mut raw, edge, lines.place(edge), &keys);
    }
    Some(raw)
}

fn read_node<'d>(
    it: &mut Import<'_>,
    raw: &mut RawGraph,
    node: Node<'d, 'd>,
    place: Place,
    keys: &BTreeMap<&'d str, &'d str>,
) {
    let Some(id) = node.attribute("id") else { return it.error(place, "the node has no id", "") };
    let (mut label, mut kind) = (None, None);
    for (name, value) in data(node, keys) {
        match name {
            "label" if !value.trim().is_empty() => label = Some(value.trim().to_owned()),
            "type" | "kind" | "role" if kind_by_word(value).is_some() => {
                kind = kind_by_word(value);
            }
            _ => drop(raw.unread.insert(shown(name))),
        }
    }
    raw.nodes.push(RawNode { id: id.to_owned(), label, kind, place });
}

fn read_edge<'d>(
    it: &mut Import<'_>,
    raw: &mut RawGraph,
    edge: Node<'d, 'd>,
    place: Place,
    keys: &BTreeMap<&'d str, &'d str>,
) {
    let end = |key| edge.attribute(key).unwrap_or_default().to_owned();
    let mut rate_bps = None;
    for (name, value) in data(edge, keys) {
        match name {
            "LinkSpeedRaw" => rate_bps = raw_speed(it, value, place),
            _ => drop(raw.unread.insert(shown(name))),
        }
    }
    raw.edges.push(RawEdge { ends: [end("source"), end("target")], rate_bps, place });
}

/// Names and texts of the data of an element.
fn data<'d>(node: Node<'d, 'd>, keys: &BTreeMap<&'d str, &'d str>) -> Vec<(&'d str, &'d str)> {
    let named = |data: Node<'d, 'd>| {
        let key = data.attribute("key").unwrap_or_default();
        (keys.get(key).copied().unwrap_or(key), data.text().unwrap_or_default())
    };
    xml::children(node, "data").map(named).collect()
}

/// The rate of an edge of the Topology Zoo, in bit/s.
pub(super) fn raw_speed(it: &mut Import<'_>, text: &str, place: Place) -> Option<u64> {
    let rate = Decimal::parse(text).ok().and_then(|n| n.scaled(1, 0, 1, Toward::Down));
    let rate = rate.filter(|rate| (1_000..=1_000_000_000_000).contains(rate));
    if rate.is_none() {
        let message = format!("LinkSpeedRaw `{}` is no rate in bit/s", shown(text));
        it.error(place, message, "from 1000 to 10^12");
    }
    rate
}
