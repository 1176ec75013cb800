//! What a text must be before it is believed to be a document: not larger than what memory can be
//! taken for, and without a name that stands there twice.

use crate::finding::{Findings, rule};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// The largest document that is read, bytes of text.
pub const PLAN_BYTES_MAX: usize = 256 << 20;
/// Values in a document: one of two letters may take 32 bytes of memory.
const VALUES_MAX: usize = 16_000_000;

/// Whether a text is small enough to be read; a finding if not.
pub(crate) fn is_readable(json: &str, what: &str, findings: &Findings) -> bool {
    if json.len() > PLAN_BYTES_MAX {
        let found = format!("at most {PLAN_BYTES_MAX} bytes are read");
        findings.add(rule::LIMIT, what, format!("{} bytes", json.len()), found);
        return false;
    }
    let values = values(json);
    if values > VALUES_MAX {
        let found = format!("at most {VALUES_MAX} values are read");
        findings.add(rule::LIMIT, what, format!("{values} values"), found);
        return false;
    }
    true
}

/// Values of a document, or a few more.
fn values(json: &str) -> usize {
    let (mut values, mut is_text, mut is_escaped) = (1, false, false);
    for byte in json.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b',' | b'[' | b'{' if !is_text => values += 1,
            _ => {}
        }
    }
    values
}

/// A map in which no name stands twice: two readers could take different ones.
pub(crate) fn distinct<'de, D, V>(from: D) -> Result<BTreeMap<String, V>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    struct Distinct<V>(PhantomData<V>);

    impl<'de, V: Deserialize<'de>> Visitor<'de> for Distinct<V> {
        type Value = BTreeMap<String, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
            let mut map = BTreeMap::new();
            while let Some((name, value)) = access.next_entry::<String, V>()? {
                if map.contains_key(&name) {
                    let name: String = name.chars().take(64).collect();
                    return Err(A::Error::custom(format_args!("`{name}` stands there twice")));
                }
                map.insert(name, value);
            }
            Ok(map)
        }
    }

    from.deserialize_map(Distinct(PhantomData))
}

#[cfg(test)]
#[path = "../tests/unit/text.rs"]
mod tests;
