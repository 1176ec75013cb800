//! Documents, their places, and digests made anew, as somebody would who wants a changed document
//! believed.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use tenuto_bounds::{Options, ServerGraph, analyse};
use tenuto_certify::certify_bounds;

/// The text of a document, with digests of what it says now.
pub(crate) fn sealed(mut document: Value) -> String {
    document["description_digest"] = sha256_hex(&document["description"].to_string()).into();
    document["plan_hash"] = "".into();
    document["plan_hash"] = sha256_hex(&document.to_string()).into();
    document.to_string()
}

fn sha256_hex(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing to a string");
        hex
    })
}

pub(crate) fn document(graph: &ServerGraph, options: &Options) -> Value {
    let analysis = analyse(graph, options, &mut |_| ());
    serde_json::to_value(analysis.document(graph)).expect("serialisable")
}

/// Whether the checker believes the document when it is sealed anew.
pub(crate) fn is_certified(document: &Value) -> bool {
    certify_bounds(&sealed(document.clone())).is_ok()
}

/// Every number of a value, by its path.
pub(crate) fn numbers(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(path.to_owned()),
        Value::Array(list) => {
            for (index, item) in list.iter().enumerate() {
                numbers(item, &format!("{path}/{index}"), found);
            }
        }
        Value::Object(members) => {
            for (name, item) in members {
                numbers(item, &format!("{path}/{name}"), found);
            }
        }
        _ => {}
    }
}
