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
    let mut reading = Reading { it, raw: RawGraph::default(), keys };
    for node in xml::children(graph, "node") {
        reading.node(node, lines.place(node));
    }
    for edge in xml::children(graph, "edge") {
        reading.edge(edge, lines.place(edge));
    }
    Some(reading.raw)
}

/// What is known of a graph while it is read.
struct Reading<'a, 'i, 'd> {
    it: &'a mut Import<'i>,
    raw: RawGraph,
    /// Names of data by the id of their key.
    keys: BTreeMap<&'d str, &'d str>,
}

impl<'d> Reading<'_, '_, 'd> {
    fn node(&mut self, node: Node<'d, 'd>, place: Place) {
        let Some(id) = node.attribute("id") else {
            return self.it.error(place, "the node has no id", "write <node id=\"n1\">");
        };
        let (mut label, mut kind) = (None, None);
        for (name, value) in self.data(node) {
            match name {
                "label" if !value.trim().is_empty() => label = Some(value.trim().to_owned()),
                "type" | "kind" | "role" if kind_by_word(value).is_some() => {
                    kind = kind_by_word(value);
                }
                _ => drop(self.raw.unread.insert(shown(name))),
            }
        }
        self.raw.nodes.push(RawNode { id: id.to_owned(), label, kind, place });
    }

    fn edge(&mut self, edge: Node<'d, 'd>, place: Place) {
        let end = |key| edge.attribute(key).unwrap_or_default().to_owned();
        let mut rate_bps = None;
        for (name, value) in self.data(edge) {
            match name {
                "LinkSpeedRaw" => rate_bps = raw_speed(self.it, value, place),
                _ => drop(self.raw.unread.insert(shown(name))),
            }
        }
        self.raw.edges.push(RawEdge { ends: [end("source"), end("target")], rate_bps, place });
    }

    /// Names and texts of the data of an element.
    fn data(&self, node: Node<'d, 'd>) -> Vec<(&'d str, &'d str)> {
        let named = |data: Node<'d, 'd>| {
            let key = data.attribute("key").unwrap_or_default();
            (self.keys.get(key).copied().unwrap_or(key), data.text().unwrap_or_default())
        };
        xml::children(node, "data").map(named).collect()
    }
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
