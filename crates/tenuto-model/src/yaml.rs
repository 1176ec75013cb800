//! A small positioned tree of a YAML 1.2 file: scalars stay text, places are kept, sizes bounded.
//!
//! Only what a description needs: maps, lists and scalars. Anchors, aliases and tags are refused,
//! so that a few lines cannot stand for gigabytes; duplicate keys are errors.

use saphyr_parser::{Event, Parser, ScalarStyle};
use std::collections::BTreeSet;

/// Longest text that is read, bytes.
pub(crate) const TEXT_BYTES_MAX: usize = 32 << 20;
/// Deepest nesting; descriptions need seven.
const DEPTH_MAX: usize = 24;
/// Most nodes in a file.
const NODES_MAX: usize = 3_000_000;
/// Most documents in a file.
const DOCUMENTS_MAX: usize = 8;

/// Where something was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Index of the file in the reader.
    pub(crate) file: usize,
    /// Line from 1; 0 for the file as a whole.
    pub(crate) line: u32,
    /// Character from 1.
    pub(crate) column: u32,
    /// Name of the table column, in tables.
    pub(crate) table_column: Option<&'static str>,
}

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

/// What stands there.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// Nothing, `~` or `null`.
    Null,
    /// Any other scalar, as text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map in the order written.
    Map(Vec<(Key, Node)>),
}

/// A key and its place.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) place: Place,
}

/// A problem of form: where, what, hint.
pub(crate) struct FormProblem {
    pub(crate) place: Place,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Node {
    /// The value under a key of a map.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match &self.value {
            Value::Map(pairs) => pairs.iter().find(|(k, _)| k.text == key).map(|(_, node)| node),
            _ => None,
        }
    }

    /// How messages call what stands there.
    pub(crate) const fn noun(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Text(_) => "a single value",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}

/// A map or list that is not closed yet.
enum Open {
    List(Place, Vec<Node>),
    Map { place: Place, pairs: Vec<(Key, Node)>, keys: BTreeSet<String>, key: Option<Key> },
}

/// The documents of `text`, as far as they could be read, and the problems.
pub(crate) fn parse(text: &str, file: usize) -> (Vec<Node>, Vec<FormProblem>) {
    let mut builder = Builder { file, ..Builder::default() };
    if text.len() > TEXT_BYTES_MAX {
        let start = Place { file, ..Place::default() };
        builder.fail(start, "the file is too large to be read", "at most 32 MB");
        return (Vec::new(), builder.problems);
    }
    if let Some(at) = text.find('\0') {
        // The parser would take it for the end of the file, and leave out what follows.
        let line = u32::try_from(text[..at].matches('\n').count() + 1).unwrap_or(u32::MAX);
        let place = Place { file, line, ..Place::default() };
        builder.fail(place, "there is a NUL byte in the file", "is it whole, and saved as text?");
        return (Vec::new(), builder.problems);
    }
    let start = text.strip_prefix('\u{feff}').unwrap_or(text);
    for event in Parser::new_from_str(start) {
        match event {
            Ok((event, span)) => {
                let place = builder.place(&span.start);
                if !builder.take(event, place) {
                    break;
                }
            }
            Err(error) => {
                let place = builder.place(error.marker());
                let tab = "indent with spaces, close every bracket, put texts with `: ` in quotes";
                builder.fail(place, &format!("not valid YAML: {}", error.info()), tab);
                break;
            }
        }
    }
    (builder.documents, builder.problems)
}

#[derive(Default)]
struct Builder {
    file: usize,
    nodes: usize,
    open: Vec<Open>,
    documents: Vec<Node>,
    problems: Vec<FormProblem>,
}

impl Builder {
    fn place(&self, marker: &saphyr_parser::Marker) -> Place {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Place {
            file: self.file,
            line: number(marker.line()),
            column: number(marker.col()).saturating_add(1),
            table_column: None,
        }
    }

    fn fail(&mut self, place: Place, message: &str, hint: &str) {
        let hint = Some(hint.to_owned());
        self.problems.push(FormProblem { place, message: message.to_owned(), hint });
    }

    /// Takes one event; false ends the reading.
    fn take(&mut self, event: Event<'_>, place: Place) -> bool {
        self.nodes += 1;
        if self.is_too_much(place) {
            return false;
        }
        match event {
            Event::Alias(_) => {
                self.fail(
                    place,
                    "aliases (`*name`) are not read",
                    "write the value itself, or use `defaults`",
                );
                self.value(Node { place, value: Value::Null })
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_extras(anchor, tag.is_some(), place);
                let plain = matches!(style, ScalarStyle::Plain);
                let null = plain && matches!(text.as_ref(), "" | "~" | "null");
                let value = if null { Value::Null } else { Value::Text(text.into_owned()) };
                self.value(Node { place, value })
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse_extras(anchor, tag.is_some(), place);
                self.open.push(Open::List(place, Vec::new()));
                true
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_extras(anchor, tag.is_some(), place);
                let (pairs, keys) = (Vec::new(), BTreeSet::new());
                self.open.push(Open::Map { place, pairs, keys, key: None });
                true
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::DocumentStart(_) if self.documents.len() >= DOCUMENTS_MAX => {
                self.fail(
                    place,
                    "the file has too many documents",
                    "at most 8 parts between `---`",
                );
                false
            }
            _ => true,
        }
    }

    fn is_too_much(&mut self, place: Place) -> bool {
        let what = match (self.nodes > NODES_MAX, self.open.len() > DEPTH_MAX) {
            (true, _) => "has too many values",
            (false, true) => "nests too deep",
            (false, false) => return false,
        };
        let hint = "no network needs that: is this the right file?";
        self.fail(place, &format!("the file {what}"), hint);
        true
    }

    /// Ends the innermost list or map; false ends the reading.
    fn close(&mut self) -> bool {
        match self.open.pop() {
            Some(Open::List(place, items)) => self.value(Node { place, value: Value::List(items) }),
            Some(Open::Map { place, pairs, .. }) => {
                self.value(Node { place, value: Value::Map(pairs) })
            }
            None => false,
        }
    }

    fn refuse_extras(&mut self, anchor: usize, tag: bool, place: Place) {
        if anchor != 0 {
            self.fail(
                place,
                "anchors (`&name`) are not read",
                "write the value itself, or use `defaults`",
            );
        }
        if tag {
            self.fail(place, "tags (`!name`) have no meaning here", "leave the tag out");
        }
    }

    /// Puts a finished value where it belongs; false ends the reading.
    fn value(&mut self, node: Node) -> bool {
        match self.open.last_mut() {
            None => self.documents.push(node),
            Some(Open::List(_, items)) => items.push(node),
            Some(Open::Map { pairs, keys, key, .. }) => match key.take() {
                Some(k) => {
                    if keys.insert(k.text.clone()) {
                        pairs.push((k, node));
                    } else {
                        let message = format!("key `{}` is written twice", k.text);
                        self.fail(k.place, &message, "keep one of them");
                    }
                }
                None => {
                    let place = node.place;
                    let text = match node.value {
                        Value::Text(text) => text,
                        Value::Null => "null".to_owned(),
                        _ => {
                            self.fail(
                                place,
                                "a key must be a single word",
                                "lists and maps can only be values",
                            );
                            return false;
                        }
                    };
                    *key = Some(Key { text, place });
                }
            },
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_stay_text() {
        let (documents, problems) = parse("{a: no, b: 0010, c: on, d: ~, e: 'null'}", 0);
        assert!(problems.is_empty());
        let text = |key| match documents[0].get(key).map(|n| &n.value) {
            Some(Value::Text(text)) => text.clone(),
            _ => "-".to_owned(),
        };
        assert_eq!(["a", "b", "c", "d", "e"].map(text), ["no", "0010", "on", "-", "null"]);
    }

    #[test]
    fn doubles_aliases_and_depth_are_refused() {
        for (text, words) in [
            ("a: 1\nb: 2\na: 3\n", "key `a` is written twice"),
            ("a: &x [1]\nb: *x\n", "aliases"),
            ("a: !!int 3\n", "tags"),
            ("? [a]\n: b\n", "a key must be"),
            ("a: [1, 2\nb: 3", "not valid YAML"),
            ("a: 1\nb: 2\n\0c: 3\n", "NUL byte"),
        ] {
            let (_, problems) = parse(text, 0);
            assert!(problems.iter().any(|p| p.message.contains(words)), "{text}");
        }
        assert!(!parse(&"[".repeat(100_000), 0).1.is_empty());
        let (_, problems) = parse(&"- ".repeat(100_000), 0);
        assert!(problems.iter().any(|p| p.message.contains("too deep")));
    }

    #[test]
    fn places_are_lines_and_characters_from_one() {
        let (documents, _) = parse("a:\n  b: c\n", 0);
        let node = documents[0].get("a").and_then(|a| a.get("b")).expect("there");
        assert_eq!((node.place.line, node.place.column), (2, 6));
    }
}
