//! JSON of other tools, with the place of every value: JSON is read as the YAML that it is.

use super::Import;
use super::advice::NUMBER;
use super::decimal::{Decimal, Toward};
use crate::Severity;
use crate::read::reader::{Field, Reader, shown};
use crate::yaml::{self, Node, Place, Value};

/// The top of a JSON file, which is an object.
pub(crate) fn parse(it: &mut Import<'_>) -> Option<Node> {
    let text = it.text;
    parse_text(it, 0, text)
}

/// The top of a further JSON file.
pub(crate) fn parse_text(it: &mut Import<'_>, file: usize, text: &str) -> Option<Node> {
    let (documents, problems) = yaml::parse(text, file);
    let is_whole = problems.is_empty();
    for problem in problems {
        let message = problem.message.replace("YAML", "JSON");
        let hint = message.contains("JSON").then(|| "is the file complete?".to_owned());
        it.reader.report(Severity::Error, problem.place, "", message, hint.or(problem.hint));
    }
    if !is_whole {
        return None;
    }
    it.reader.expect_one(&documents);
    let Some(node) = documents.into_iter().next() else {
        it.error(Place::default(), "the file is empty", "a JSON object starts with {");
        return None;
    };
    if matches!(node.value, Value::Map(_)) {
        return Some(node);
    }
    it.error(node.place, "the file is not a JSON object", "it starts with { and has keys");
    None
}

/// The top as a field.
pub(crate) const fn top(node: &Node) -> Field<'_> {
    Field { node, path: String::new() }
}

/// The value of a key that must be there.
pub(crate) fn need<'a>(reader: &mut Reader, field: &Field<'a>, key: &str) -> Option<Field<'a>> {
    let found = field.get(key);
    if found.is_none() {
        let meant = field.pairs();
        let hint = reader.nearest(key, meant.iter().map(|(k, _)| *k));
        let hint = hint.map_or_else(String::new, |near| format!("is {near} meant for it?"));
        reader.error(field, &format!("there is no `{key}`"), &hint);
    }
    found
}

/// The text of a key that must be there.
pub(crate) fn text<'a>(reader: &mut Reader, field: &Field<'a>, key: &str) -> Option<&'a str> {
    let value = need(reader, field, key)?;
    reader.text(&value)
}

/// The items of a key that must be there.
pub(crate) fn items<'a>(reader: &mut Reader, field: &Field<'a>, key: &str) -> Vec<Field<'a>> {
    need(reader, field, key).and_then(|list| reader.list(&list)).unwrap_or_default()
}

/// A number.
pub(crate) fn decimal(reader: &mut Reader, field: &Field<'_>) -> Option<Decimal> {
    let text = reader.text(field)?;
    let number = Decimal::parse(text);
    let fail = |why: &str| format!("`{}`: {why}", shown(text));
    number.map_err(|why| reader.error(field, &fail(why), NUMBER)).ok()
}

/// A number times a power of ten, whole and at most `max`.
pub(crate) fn scaled(
    reader: &mut Reader,
    field: &Field<'_>,
    power: i32,
    max: u64,
    toward: Toward,
) -> Option<u64> {
    let number = decimal(reader, field)?;
    let value = number.scaled(1, power, 1, toward).filter(|value| *value <= max);
    if value.is_none() {
        let (sign, power) = if power < 0 { ("", -power) } else { ("-", power) };
        let unit = if power == 0 { String::new() } else { format!(" x 10^{sign}{power}") };
        reader.error(field, "the number is too large", &format!("at most {max}{unit}"));
    }
    value
}

/// Warns of keys that are not read, unless they are known to mean nothing to us.
pub(crate) fn unread(reader: &mut Reader, field: &Field<'_>, known: &[&str]) {
    for (key, value) in field.pairs() {
        if !known.contains(&key) {
            let message = format!("`{}` is not read", shown(key));
            let hint = reader.nearest(key, known.iter().copied());
            let hint = hint.map(|near| format!("did you mean {near}?"));
            reader.report(Severity::Warning, value.node.place, &value.path, message, hint);
        }
    }
}
