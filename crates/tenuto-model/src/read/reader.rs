//! What every reading shares: files, problems, places, and typed access to the tree.

use crate::diagnostic::excerpt;
use crate::quantity::QuantityError;
use crate::suggest::{meant, nearest};
use crate::yaml::{Node, Place, Value};
use crate::{Column, Diagnostic, Diagnostics, Severity};
use std::collections::BTreeMap;

/// Longest single value, bytes: longer ones are no names, paths or notes.
const VALUE_BYTES_MAX: usize = 4_096;
/// Longest name of a network, a server graph or a switch.
const TITLE_CHARS_MAX: usize = 128;
/// Longest message or hint: names of other things may be in it.
const SAID_CHARS_MAX: usize = 1_000;
const PLAIN: &str = "write letters, digits, spaces and signs";

/// A file that was read, with the start of each of its lines.
struct SourceFile {
    path: String,
    text: String,
    starts: Vec<usize>,
}

/// Collects problems while values are taken from trees.
#[derive(Default)]
pub(crate) struct Reader {
    files: Vec<SourceFile>,
    /// The problems so far.
    pub(crate) diagnostics: Diagnostics,
    /// Where each key path was written.
    places: BTreeMap<String, Place>,
}

/// A node and the key path that leads to it.
#[derive(Clone)]
pub(crate) struct Field<'a> {
    pub(crate) node: &'a Node,
    pub(crate) path: String,
}

impl<'a> Field<'a> {
    /// The value under `key`; explicit nothing counts as left out.
    pub(crate) fn get(&self, key: &str) -> Option<Self> {
        let node = self.node.get(key).filter(|n| !matches!(n.value, Value::Null))?;
        Some(Self { node, path: join(&self.path, key) })
    }

    /// Keys and values of a map; nothing for anything else.
    pub(crate) fn pairs(&self) -> Vec<(&'a str, Self)> {
        match &self.node.value {
            Value::Map(pairs) => pairs
                .iter()
                .map(|(k, node)| (k.text.as_str(), Self { node, path: join(&self.path, &k.text) }))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Whether nothing is written there.
    pub(crate) const fn is_null(&self) -> bool {
        matches!(self.node.value, Value::Null)
    }
}

/// `path.key`, or `key` at the top.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

impl Reader {
    /// Makes a file known and returns its index.
    pub(crate) fn add_file(&mut self, path: &str, text: &str) -> usize {
        let starts =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        self.files.push(SourceFile { path: path.to_owned(), text: text.to_owned(), starts });
        self.files.len() - 1
    }

    /// Parses a file into its documents; problems of form are reported.
    pub(crate) fn parse(&mut self, path: &str, text: &str) -> Vec<Node> {
        let file = self.add_file(path, text);
        let (documents, problems) = crate::yaml::parse(text, file);
        for problem in problems {
            self.report(Severity::Error, problem.place, "", problem.message, problem.hint);
        }
        documents
    }

    /// An error of a file as a whole, which was read last under this path.
    pub(crate) fn report_file(&mut self, path: &str, message: &str, hint: &str) {
        let file = self.files.iter().rposition(|file| file.path == path).unwrap_or_default();
        let place = Place { file, ..Place::default() };
        self.report(Severity::Error, place, "", message.to_owned(), Some(hint.to_owned()));
    }

    /// Refuses what stands behind the first document of a file that has one.
    pub(crate) fn expect_one(&mut self, documents: &[Node]) {
        if let Some(further) = documents.get(1) {
            let hint = "keep one part of the file, or make two files".to_owned();
            let message = "the file goes on after `---`".to_owned();
            self.report(Severity::Error, further.place, "", message, Some(hint));
        }
    }

    /// Remembers where a key path was written, for problems found later.
    pub(crate) fn remember(&mut self, path: String, place: Place) {
        self.places.insert(path, place);
    }

    /// Where the key path was written, or else what contains it.
    pub(crate) fn place_of(&self, path: &str) -> Place {
        let mut path = path;
        loop {
            if let Some(place) = self.places.get(path) {
                return *place;
            }
            match path.rsplit_once('.') {
                Some((parent, _)) => path = parent,
                None => return Place::default(),
            }
        }
    }

    /// The candidate nearest to `word`; not looked for once problems are only counted.
    pub(crate) fn nearest<'c>(
        &self,
        word: &str,
        candidates: impl IntoIterator<Item = &'c str>,
    ) -> Option<&'c str> {
        if self.diagnostics.is_full() { None } else { nearest(word, candidates) }
    }

    /// "did you mean x?", or what there is; not looked for once problems are only counted.
    pub(crate) fn meant<'c>(
        &self,
        word: &str,
        candidates: impl IntoIterator<Item = &'c str> + Clone,
    ) -> Option<String> {
        if self.diagnostics.is_full() { None } else { meant(word, candidates) }
    }

    /// Whether exactly this key path was written.
    pub(crate) fn was_written(&self, path: &str) -> bool {
        self.places.contains_key(path)
    }

    fn line(&self, place: Place) -> &str {
        let Some(file) = self.files.get(place.file) else { return "" };
        let Some(index) = usize::try_from(place.line).ok().and_then(|l| l.checked_sub(1)) else {
            return "";
        };
        let Some(start) = file.starts.get(index).copied() else { return "" };
        let end = file.starts.get(index + 1).map_or(file.text.len(), |next| next - 1);
        &file.text[start..end]
    }

    /// Adds a problem.
    pub(crate) fn report(
        &mut self,
        severity: Severity,
        place: Place,
        path: &str,
        message: String,
        hint: Option<String>,
    ) {
        let column = match place.table_column {
            Some(name) => Some(Column::Name(name.to_owned())),
            None => (place.column > 0).then_some(Column::Number(place.column)),
        };
        let excerpt = excerpt(self.line(place), place.column);
        // What was meant may itself be a name that cannot be one.
        let clean = |text: String| -> String {
            let shown = text.chars().map(|c| if is_unseen(c) { ' ' } else { c });
            shown.take(SAID_CHARS_MAX).collect()
        };
        self.diagnostics.push(Diagnostic {
            severity,
            message: clean(message),
            hint: hint.map(clean),
            file: self.files.get(place.file).map(|f| f.path.clone()).unwrap_or_default(),
            line: (place.line > 0).then_some(place.line),
            column,
            field_path: shown_long(path).chars().filter(|c| !is_unseen(*c)).collect(),
            excerpt,
        });
    }

    /// An error at a value.
    pub(crate) fn error(&mut self, field: &Field<'_>, message: &str, hint: &str) {
        let hint = (!hint.is_empty()).then(|| hint.to_owned());
        self.report(Severity::Error, field.node.place, &field.path, message.to_owned(), hint);
    }

    /// An error at a key path that was remembered.
    pub(crate) fn error_at(&mut self, path: &str, message: &str, hint: &str) {
        self.at(Severity::Error, path, message, hint);
    }

    /// A warning at a key path that was remembered.
    pub(crate) fn warn_at(&mut self, path: &str, message: &str, hint: &str) {
        self.at(Severity::Warning, path, message, hint);
    }

    fn at(&mut self, severity: Severity, path: &str, message: &str, hint: &str) {
        let hint = (!hint.is_empty()).then(|| hint.to_owned());
        self.report(severity, self.place_of(path), path, message.to_owned(), hint);
    }

    /// Demands a map with no other keys than these.
    pub(crate) fn expect_map(&mut self, field: &Field<'_>, allowed: &[&str]) -> bool {
        let Value::Map(pairs) = &field.node.value else {
            if field.is_null() {
                return true;
            }
            let message = format!("{} where a map is needed", field.node.noun());
            self.error(field, &message, &format!("keys are {}", allowed.join(", ")));
            return false;
        };
        for (key, _) in pairs {
            if !allowed.contains(&key.text.as_str()) {
                let hint = self.meant(&key.text, allowed.iter().copied());
                let path = join(&field.path, &key.text);
                let message = format!("key `{}` is not known here", shown(&key.text));
                self.report(Severity::Error, key.place, &path, message, hint);
            }
        }
        true
    }

    /// The items of a list.
    pub(crate) fn list<'a>(&mut self, field: &Field<'a>) -> Option<Vec<Field<'a>>> {
        match &field.node.value {
            Value::List(items) => Some(
                items
                    .iter()
                    .enumerate()
                    .map(|(i, node)| Field { node, path: format!("{}[{i}]", field.path) })
                    .collect(),
            ),
            _ => {
                let message = format!("{} where a list is needed", field.node.noun());
                self.error(field, &message, "write [one, two]");
                None
            }
        }
    }

    /// The texts of a list.
    pub(crate) fn texts<'a>(&mut self, field: &Field<'a>) -> Option<Vec<&'a str>> {
        let items = self.list(field)?;
        let texts: Vec<_> = items.iter().filter_map(|item| self.text(item)).collect();
        (texts.len() == items.len()).then_some(texts)
    }

    /// A single value as text.
    pub(crate) fn text<'a>(&mut self, field: &Field<'a>) -> Option<&'a str> {
        match &field.node.value {
            Value::Text(text) => self.check_text(text, field).then_some(text),
            _ => {
                let message = format!("{} where a single value is needed", field.node.noun());
                let hint = match &field.node.value {
                    Value::List(items) => match items.as_slice() {
                        [Node { value: Value::Text(text), .. }] => {
                            format!("did you mean {}? leave the brackets out", shown(text))
                        }
                        _ => "write one value, without brackets".to_owned(),
                    },
                    Value::Map(_) => "write one value, without braces".to_owned(),
                    _ => "write a value".to_owned(),
                };
                self.error(field, &message, &hint);
                None
            }
        }
    }

    /// Whether a single value is of a length and of characters that messages and documents bear;
    /// another one is reported. Lines of a longer text may end.
    fn check_text(&mut self, text: &str, field: &Field<'_>) -> bool {
        let is_odd = |c: &char| is_unseen(*c) && !matches!(c, '\n' | '\t');
        let (message, hint) = if let Some(odd) = text.chars().find(is_odd) {
            let code = u32::from(odd);
            (format!("the value has a control or invisible character (U+{code:04X})"), PLAIN)
        } else if text.len() > VALUE_BYTES_MAX {
            let long = text.len();
            (format!("the value is too long: {long} B, at most {VALUE_BYTES_MAX}"), "shorten it")
        } else {
            return true;
        };
        self.error(field, &message, hint);
        false
    }

    /// The name of a file's content as a whole: it may have spaces, colons and commas, as a title
    /// has, but stands in one line.
    pub(crate) fn title<'a>(&mut self, field: &Field<'a>) -> Option<&'a str> {
        let text = self.text(field)?;
        let problem = if text.trim().is_empty() {
            ("a name cannot be empty", "leave it out, and the file gives the name")
        } else if text.chars().count() > TITLE_CHARS_MAX {
            ("a name has at most 128 characters", "shorten it")
        } else if text.contains(is_unseen) {
            ("a name stands in one line, without tabs", PLAIN)
        } else {
            return Some(text);
        };
        self.error(field, problem.0, problem.1);
        None
    }

    /// A quantity, by one of the parsers of [`crate::quantity`].
    pub(crate) fn quantity(
        &mut self,
        field: &Field<'_>,
        parse: fn(&str) -> Result<u64, QuantityError>,
    ) -> Option<u64> {
        let text = self.text(field)?;
        parse(text).map_err(|e| self.error(field, &e.message, &e.hint)).ok()
    }

    /// A whole number without unit.
    pub(crate) fn number(&mut self, field: &Field<'_>, min: u64, max: u64) -> Option<u64> {
        let text = self.text(field)?;
        let digits = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
        let value = if digits { text.parse().ok() } else { None };
        let inside = value.filter(|v| (min..=max).contains(v));
        if inside.is_none() {
            let message = format!("`{}` is not a whole number from {min} to {max}", shown(text));
            self.error(field, &message, "write it in digits, without unit, point or sign");
        }
        inside
    }

    /// One of some words.
    pub(crate) fn choice<T: Copy>(&mut self, field: &Field<'_>, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(field)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let hint = self.meant(text, words.iter().map(|(word, _)| *word)).unwrap_or_default();
            self.error(field, &format!("`{}` is none of the choices", shown(text)), &hint);
        }
        found
    }

    /// `true` or `false`.
    pub(crate) fn truth(&mut self, field: &Field<'_>) -> Option<bool> {
        self.choice(field, &[("true", true), ("false", false)])
    }

    /// Whether a name can be one; what cannot is reported at `place`.
    pub(crate) fn check_name(&mut self, name: &str, path: &str, place: Place) -> bool {
        let odd = |c: char| is_unseen(c) || matches!(c, ':' | '>' | ',' | '"' | '`');
        let (why, hint) = if name.is_empty() {
            ("a name cannot be empty", "write a short word")
        } else if name.chars().count() > 64 {
            ("a name has at most 64 characters", "shorten it")
        } else if name.contains(odd) {
            ("a name has no control or invisible characters and none of : > , \" `", PLAIN)
        } else if name.trim() != name {
            ("a name neither starts nor ends with a space", "leave the space out")
        } else {
            return true;
        };
        self.report(Severity::Error, place, path, why.to_owned(), Some(hint.to_owned()));
        false
    }

    /// The outcome: the value with its warnings, or every problem.
    pub(crate) fn finish<T>(mut self, value: Option<T>) -> Result<(T, Diagnostics), Diagnostics> {
        self.diagnostics.sort();
        match value {
            Some(value) if !self.diagnostics.has_errors() => Ok((value, self.diagnostics)),
            _ => Err(self.diagnostics),
        }
    }
}

/// Whether a character shows nothing, or turns the order of those around it: two names that differ
/// in such only look alike, and a line with them says another thing than it does.
pub(crate) fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The name that a file gives to its content: what cannot be shown of it is left out.
pub(crate) fn title_of(stem: &str) -> String {
    stem.chars().filter(|c| !is_unseen(*c)).take(TITLE_CHARS_MAX).collect()
}

/// A key path as problems name it: one name of megabytes does not fill them.
fn shown_long(path: &str) -> String {
    const CHARS_MAX: usize = 160;
    let mut short: String = path.chars().take(CHARS_MAX).collect();
    if path.chars().nth(CHARS_MAX).is_some() {
        short.push('…');
    }
    short
}

/// A text as messages show it: cut, without control and invisible characters.
pub(crate) fn shown(text: &str) -> String {
    let clean = |c: char| if is_unseen(c) { ' ' } else { c };
    let mut short: String = text.chars().take(40).map(clean).collect();
    if text.chars().nth(40).is_some() {
        short.push('…');
    }
    short
}
