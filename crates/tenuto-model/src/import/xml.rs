//! XML of other tools: parsed within limits, with the line of every element.

use crate::Severity;
use crate::read::reader::{Reader, shown};
use crate::yaml::{Place, TEXT_BYTES_MAX};
use roxmltree::{Document, Node, ParsingOptions};

/// Most XML nodes that are read.
const NODES_MAX: u32 = 2_000_000;
/// Deepest nesting of elements; the formats that are read have eight.
const DEPTH_MAX: usize = 16;

/// Parses a document; what cannot be is reported. No entity is expanded: a document type is
/// refused, so that a few lines cannot stand for gigabytes.
pub(crate) fn parse<'t>(reader: &mut Reader, file: usize, text: &'t str) -> Option<Document<'t>> {
    let mut fail = |line: u32, message: String, hint: &str| {
        let place = Place { file, line, ..Place::default() };
        reader.report(Severity::Error, place, "", message, Some(hint.to_owned()));
    };
    if text.len() > TEXT_BYTES_MAX {
        fail(0, "the file is too large to be read".into(), "at most 32 MB");
        return None;
    }
    if nesting(text) > DEPTH_MAX {
        fail(0, "the file nests too deep".into(), "is this the right file?");
        return None;
    }
    let options = ParsingOptions { allow_dtd: false, nodes_limit: NODES_MAX };
    match Document::parse_with_options(text, options) {
        Ok(document) => Some(document),
        Err(error) => {
            let message = format!("not valid XML: {}", shown(&error.to_string()));
            fail(error.pos().row, message, "is the file complete?");
            None
        }
    }
}

/// The deepest nesting of elements, over-estimated; cheap, before anything recursive sees it.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match (byte, bytes.get(at + 1)) {
            (b'<', Some(b'/')) | (b'/', Some(b'>')) => depth = depth.saturating_sub(1),
            (b'<', Some(c)) if !matches!(c, b'?' | b'!') => depth += 1,
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// The lines of a document.
pub(crate) struct Lines {
    file: usize,
    ends: Vec<usize>,
}

impl Lines {
    pub(crate) fn new(file: usize, text: &str) -> Self {
        Self { file, ends: text.match_indices('\n').map(|(at, _)| at).collect() }
    }

    /// Where an element starts.
    pub(crate) fn place(&self, node: Node<'_, '_>) -> Place {
        let line = self.ends.partition_point(|end| *end < node.range().start) + 1;
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        Place { file: self.file, line, ..Place::default() }
    }
}

/// The children of that name.
pub(crate) fn children<'d>(
    node: Node<'d, 'd>,
    name: &'static str,
) -> impl Iterator<Item = Node<'d, 'd>> {
    node.children().filter(move |child| child.tag_name().name() == name)
}

/// The first child of that name.
pub(crate) fn child<'d>(node: Node<'d, 'd>, name: &'static str) -> Option<Node<'d, 'd>> {
    children(node, name).next()
}
