//! GML: keys with numbers, texts and lists in brackets.

use super::Import;
use super::graphml::raw_speed;
use super::topology::{ITEMS_MAX, RawEdge, RawGraph, RawNode, kind_by_word};
use crate::read::reader::shown;
use crate::yaml::Place;

/// Deepest nesting; topologies have three.
const DEPTH_MAX: usize = 8;

/// A value.
enum Value<'t> {
    /// A number or text.
    Plain(&'t str),
    /// A list of keys and values.
    List(Vec<Item<'t>>),
}

/// A key and its value.
struct Item<'t> {
    key: &'t str,
    line: u32,
    value: Value<'t>,
}

/// The graph of the file.
pub(super) fn parse(it: &mut Import<'_>, file: usize, text: &str) -> Option<RawGraph> {
    let mut scanner = Scanner { rest: text.trim_start_matches('\u{feff}'), line: 1 };
    let items = match scanner.list(0) {
        Ok(items) if scanner.rest.is_empty() => items,
        Ok(_) => return fail(it, file, scanner.line, "a bracket is closed that was not opened"),
        Err(why) => return fail(it, file, scanner.line, why),
    };
    let graph = items.into_iter().find_map(|item| match item.value {
        Value::List(items) if item.key == "graph" => Some(items),
        _ => None,
    });
    let Some(items) = graph else { return fail(it, file, 1, "there is no graph in this file") };
    let mut raw = RawGraph::default();
    for item in &items {
        let place = Place { file, line: item.line, ..Place::default() };
        match (item.key, &item.value) {
            ("node", Value::List(items)) => read_node(it, &mut raw, items, place),
            ("edge", Value::List(items)) => read_edge(it, &mut raw, items, place),
            _ => {}
        }
    }
    Some(raw)
}

fn fail(it: &mut Import<'_>, file: usize, line: u32, why: &str) -> Option<RawGraph> {
    let place = Place { file, line, ..Place::default() };
    it.error(place, format!("not valid GML: {why}"), "graph [ node [ id 0 label \"A\" ] … ]");
    None
}

fn read_node(it: &mut Import<'_>, raw: &mut RawGraph, items: &[Item<'_>], place: Place) {
    let mut node = RawNode { id: String::new(), label: None, kind: None, place };
    for item in items {
        match (item.key, &item.value) {
            ("id", Value::Plain(text)) => node.id = (*text).to_owned(),
            ("label", Value::Plain(text)) if !text.trim().is_empty() => {
                node.label = Some(text.trim().to_owned());
            }
            ("type" | "kind" | "role", Value::Plain(text)) if kind_by_word(text).is_some() => {
                node.kind = kind_by_word(text);
            }
            (key, _) => drop(raw.unread.insert(shown(key))),
        }
    }
    if node.id.is_empty() {
        it.error(place, "the node has no id", "write node [ id 1 ]");
    }
    raw.nodes.push(node);
}

fn read_edge(it: &mut Import<'_>, raw: &mut RawGraph, items: &[Item<'_>], place: Place) {
    let mut edge = RawEdge { ends: [String::new(), String::new()], rate_bps: None, place };
    for item in items {
        match (item.key, &item.value) {
            ("source", Value::Plain(text)) => edge.ends[0] = (*text).to_owned(),
            ("target", Value::Plain(text)) => edge.ends[1] = (*text).to_owned(),
            ("LinkSpeedRaw", Value::Plain(text)) => edge.rate_bps = raw_speed(it, text, place),
            (key, _) => drop(raw.unread.insert(shown(key))),
        }
    }
    raw.edges.push(edge);
}

struct Scanner<'t> {
    rest: &'t str,
    line: u32,
}

impl<'t> Scanner<'t> {
    fn pass(&mut self, bytes: usize) -> &'t str {
        let (passed, rest) = self.rest.split_at(bytes);
        let lines = passed.bytes().filter(|b| *b == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.rest = rest;
        passed
    }

    fn skip(&mut self) {
        loop {
            self.pass(self.rest.len() - self.rest.trim_start().len());
            if !self.rest.starts_with('#') {
                return;
            }
            self.pass(self.rest.find('\n').unwrap_or(self.rest.len()));
        }
    }

    fn word(&mut self) -> &'t str {
        let end = self.rest.find(|c: char| c.is_whitespace() || matches!(c, '[' | ']' | '"'));
        self.pass(end.unwrap_or(self.rest.len()))
    }

    /// Keys and values up to the end or the closing bracket, which is left.
    fn list(&mut self, depth: usize) -> Result<Vec<Item<'t>>, &'static str> {
        let mut items = Vec::new();
        loop {
            self.skip();
            if self.rest.is_empty() || self.rest.starts_with(']') {
                return Ok(items);
            }
            if items.len() > 4 * ITEMS_MAX {
                return Err("it has too many values");
            }
            let line = self.line;
            let key = self.word();
            if key.is_empty() {
                return Err("a value without a key");
            }
            self.skip();
            let value = match self.rest.chars().next() {
                None | Some(']') => return Err("a key without a value"),
                Some('[') if depth >= DEPTH_MAX => return Err("it nests too deep"),
                Some('[') => {
                    self.pass(1);
                    let items = self.list(depth + 1)?;
                    if !self.rest.starts_with(']') {
                        return Err("a bracket is not closed");
                    }
                    self.pass(1);
                    Value::List(items)
                }
                Some('"') => {
                    self.pass(1);
                    let end = self.rest.find('"').ok_or("a text is not closed")?;
                    let text = self.pass(end);
                    self.pass(1);
                    Value::Plain(text)
                }
                Some(_) => Value::Plain(self.word()),
            };
            items.push(Item { key, line, value });
        }
    }
}
