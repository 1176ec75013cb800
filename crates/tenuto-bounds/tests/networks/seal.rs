//! Digests made anew, as somebody would who wants a changed document believed.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write;

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
