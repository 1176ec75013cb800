//! What a file of no known format looks like, in a few words.

use crate::read::reader::shown;
use crate::yaml::{self, Value};

/// Keys that are named.
const KEYS_TOLD_MAX: usize = 6;
/// How much of a text is looked at, bytes.
const LOOKED_AT_BYTES_MAX: usize = 1 << 20;

/// How the text begins: its element, its keys, or its first line.
pub(super) fn seen(text: &str) -> String {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let is_said = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let first = text.lines().find(is_said).unwrap_or_default();
    match text.chars().next() {
        None => "it is empty".to_owned(),
        Some('<') => element(text).map_or_else(
            || "it starts like XML, without an element".to_owned(),
            |name| format!("it is XML that starts with <{}>", shown(name)),
        ),
        Some('{') => keys(text).map_or_else(
            || "it starts like JSON".to_owned(),
            |keys| format!("it is JSON with the keys {keys}"),
        ),
        _ if first.starts_with("tenuto") => {
            "it is a file of ours, which needs no import".to_owned()
        }
        _ => format!("it starts with `{}`", shown(first)),
    }
}

/// The name of the first element of XML.
fn element(text: &str) -> Option<&str> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.');
    text.split('<').skip(1).find_map(|part| {
        let end = part.find(|c| !is_name(c)).unwrap_or(part.len());
        (end > 0).then(|| &part[..end])
    })
}

/// The keys at the top of JSON.
fn keys(text: &str) -> Option<String> {
    if text.len() > LOOKED_AT_BYTES_MAX {
        return None;
    }
    let (documents, _) = yaml::parse(text, 0);
    let Value::Map(pairs) = &documents.first()?.value else { return None };
    let mut names: Vec<String> =
        pairs.iter().take(KEYS_TOLD_MAX).map(|(key, _)| shown(&key.text)).collect();
    if pairs.len() > KEYS_TOLD_MAX {
        names.push("…".to_owned());
    }
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_words_tell_what_it_is() {
        for (text, words) in [
            ("", "it is empty"),
            ("\u{feff}<?xml version=\"1.0\"?><!-- a --><delays><flow/></delays>", "<delays>"),
            ("{\"hosts\": [], \"links\": [{\"a\": 1}]}", "the keys hosts, links"),
            ("{\"hosts\": [", "it starts like JSON"),
            ("# a comment\ntenuto: 1\n", "a file of ours"),
            ("0.000000,10320\n1,2", "it starts with `0.000000,10320`"),
        ] {
            assert!(seen(text).contains(words), "{}", seen(text));
        }
    }
}
