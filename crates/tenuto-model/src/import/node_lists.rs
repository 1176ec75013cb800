//! Topologies as JSON lists: hosts and switches by name, or nodes with their kind, and links.
//!
//! A node is a text, or an object with `name` or `id`; a link is a pair of names, or an object with
//! its ends (`src` and `dst`, `source` and `target`, or `from` and `to`) and perhaps `rate_bps`.

use super::decimal::Toward;
use super::topology::{ITEMS_MAX, Kind, RawEdge, RawGraph, RawNode, kind_by_word};
use super::{Import, json};
use crate::read::reader::{Field, shown};
use crate::yaml::Value;

/// Highest rate of a link, bit/s.
const RATE_BPS_MAX: u64 = 1_000_000_000_000;
/// Keys of a link that name its ends.
const ENDS: [[&str; 2]; 3] = [["src", "dst"], ["source", "target"], ["from", "to"]];

/// The graph of the file.
pub(super) fn parse(it: &mut Import<'_>, file: usize, text: &str) -> Option<RawGraph> {
    let node = json::parse_text(it, file, text)?;
    let top = json::top(&node);
    let mut raw = RawGraph::default();
    for (key, kind) in
        [("hosts", Some(Kind::Host)), ("switches", Some(Kind::Switch)), ("nodes", None)]
    {
        let list = top.get(key).and_then(|list| it.reader.list(&list));
        for item in list.unwrap_or_default().iter().take(ITEMS_MAX) {
            // What cannot be read was reported.
            raw.nodes.extend(read_node(it, &mut raw.unread, item, kind));
        }
    }
    for item in json::items(&mut it.reader, &top, "links").iter().take(ITEMS_MAX) {
        raw.edges.extend(read_link(it, &mut raw.unread, item));
    }
    let known = ["name", "hosts", "switches", "nodes", "links", "rate_bps"];
    json::unread(&mut it.reader, &top, &known);
    Some(raw)
}

type Unread = std::collections::BTreeSet<String>;

fn note_unread(unread: &mut Unread, item: &Field<'_>, known: &[&str]) {
    let keys = item.pairs().into_iter().map(|(key, _)| key);
    unread.extend(keys.filter(|key| !known.contains(key)).map(shown));
}

fn read_node(
    it: &mut Import<'_>,
    unread: &mut Unread,
    item: &Field<'_>,
    kind: Option<Kind>,
) -> Option<RawNode> {
    let place = item.node.place;
    if matches!(item.node.value, Value::Text(_)) {
        let id = it.reader.text(item)?.to_owned();
        return Some(RawNode { id, label: None, kind, place });
    }
    let name = item.get("name").or_else(|| item.get("id"));
    let Some(name) = name else {
        it.reader.error(item, "the node has no name", "write a text, or {\"name\": \"h1\"}");
        return None;
    };
    let id = it.reader.text(&name)?.to_owned();
    let word = item.get("kind").or_else(|| item.get("type"));
    let own = match word {
        Some(word) => {
            let text = it.reader.text(&word)?;
            let own = kind_by_word(text);
            if own.is_none() {
                let message = format!("`{}` is no kind of node", shown(text));
                it.reader.error(&word, &message, "write host or switch");
            }
            own
        }
        None => None,
    };
    note_unread(unread, item, &["name", "id", "kind", "type"]);
    Some(RawNode { id, label: None, kind: kind.or(own), place })
}

fn read_link(it: &mut Import<'_>, unread: &mut Unread, item: &Field<'_>) -> Option<RawEdge> {
    let place = item.node.place;
    if matches!(item.node.value, Value::List(_)) {
        return match it.reader.texts(item)?.as_slice() {
            [a, b] => {
                let ends = [(*a).to_owned(), (*b).to_owned()];
                Some(RawEdge { ends, rate_bps: None, place })
            }
            _ => {
                it.reader.error(item, "a link has two ends", "write [\"h1\", \"s1\"]");
                None
            }
        };
    }
    let pair = ENDS.iter().find_map(|[a, b]| Some([item.get(a)?, item.get(b)?]));
    let Some([a, b]) = pair else {
        it.reader.error(item, "the link has no two ends", "write [\"h1\", \"s1\"], or src and dst");
        return None;
    };
    let ends = [it.reader.text(&a)?.to_owned(), it.reader.text(&b)?.to_owned()];
    let rate_bps = match item.get("rate_bps") {
        Some(rate) => Some(json::scaled(&mut it.reader, &rate, 0, RATE_BPS_MAX, Toward::Down)?),
        None => None,
    };
    if let Some(time) = item.get("prop_s")
        && json::scaled(&mut it.reader, &time, 12, u64::MAX, Toward::Up)? > 0
    {
        let hint = "without it bounds would be too small: state lengths in the network file";
        it.reader.error(&time, "propagation delays are not read", hint);
    }
    note_unread(
        unread,
        item,
        &["src", "dst", "source", "target", "from", "to", "rate_bps", "prop_s"],
    );
    Some(RawEdge { ends, rate_bps, place })
}
