//! Digests over the text of a plan, without a serialiser.
//!
//! A plan is hashed over its compact JSON. The checker does not write JSON: it removes the
//! insignificant white space from the text that it was given and leaves every token as it stands,
//! so a pretty-printed file has the digest of the compact one, and a token that was written
//! differently (another order of members, an escaped letter) has another.

use crate::finding::{Findings, rule};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::ops::Range;

/// The compact text of a plan and the members that the digests need.
#[derive(Debug)]
pub(crate) struct Compact {
    text: Vec<u8>,
    description: Vec<Range<usize>>,
    plan_hash: Vec<Range<usize>>,
}

/// Where the walk stands in the outermost object.
#[derive(Clone, Copy, PartialEq)]
enum Member {
    Key,
    Description,
    PlanHash,
    Other,
}

impl Compact {
    /// Walks over `json` once. Expects text that a JSON parser accepted: anything else gives some
    /// digest, never a panic.
    pub(crate) fn new(json: &str) -> Self {
        Self::of_member(json, "network")
    }

    /// As [`Self::new`], for a document whose description is another member.
    pub(crate) fn of_member(json: &str, description: &str) -> Self {
        let bytes = json.as_bytes();
        let mut this =
            Self { text: Vec::with_capacity(bytes.len()), description: vec![], plan_hash: vec![] };
        let (mut depth, mut member, mut start) = (0_usize, Member::Other, 0);
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let token_start = this.text.len();
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => at += 1,
                b'"' => {
                    let end = string_end(bytes, at);
                    this.text.extend_from_slice(&bytes[at..end]);
                    if depth == 1 && member == Member::Key {
                        member = match &bytes[at..end] {
                            b"\"plan_hash\"" => Member::PlanHash,
                            [b'"', key @ .., b'"'] if key == description.as_bytes() => {
                                Member::Description
                            }
                            _ => Member::Other,
                        };
                        // The value starts behind the colon.
                        start = this.text.len() + 1;
                    }
                    at = end;
                }
                _ => {
                    if depth == 1 && matches!(byte, b',' | b'}') {
                        let span = start..token_start;
                        match member {
                            Member::Description => this.description.push(span),
                            Member::PlanHash => this.plan_hash.push(span),
                            Member::Key | Member::Other => {}
                        }
                        member = Member::Key;
                    }
                    match byte {
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    if byte == b'{' && depth == 1 {
                        member = Member::Key;
                    }
                    this.text.push(byte);
                    at += 1;
                }
            }
        }
        this
    }

    /// SHA-256 of the compact `network` member, in hex; `None` unless there is exactly one.
    pub(crate) fn description(&self) -> Option<String> {
        let [span] = self.description.as_slice() else { return None };
        Some(hex(&Sha256::digest(self.text.get(span.clone())?)))
    }

    /// SHA-256 of the compact text with an empty `plan_hash`; `None` unless there is exactly one.
    pub(crate) fn plan(&self) -> Option<String> {
        let [span] = self.plan_hash.as_slice() else { return None };
        let mut hash = Sha256::new();
        hash.update(self.text.get(..span.start)?);
        hash.update(b"\"\"");
        hash.update(self.text.get(span.end..)?);
        Some(hex(&hash.finalize()))
    }
}

impl Compact {
    /// Reports a digest that is not that of the text.
    pub(crate) fn compare(&self, description: &str, plan: &str, findings: &mut Findings) {
        for (place, claim, found) in [
            ("description_digest", description, self.description()),
            ("plan_hash", plan, self.plan()),
        ] {
            if found.as_deref() != Some(claim) {
                let found = found.unwrap_or_else(|| "no such member".into());
                findings.add(rule::DIGEST, place, claim, found);
            }
        }
    }
}

/// The place behind the string that starts at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_outside_strings_does_not_count() {
        let compact =
            r#"{"a":{"plan_hash":"x"},"plan_hash":"abc","network":{"n":"a b\" }"},"z":[1,2]}"#;
        let pretty = "{ \"a\" : {\"plan_hash\":\"x\"},\n\t\"plan_hash\": \"other\",\r\n \"network\"\
                      : { \"n\" : \"a b\\\" }\" } , \"z\":[ 1 , 2 ] } \n";
        let (one, two) = (Compact::new(compact), Compact::new(pretty));
        assert_eq!(one.description(), two.description());
        assert_eq!(one.plan(), two.plan());
        assert_eq!(one.description(), Some(hex(&Sha256::digest(br#"{"n":"a b\" }"}"#))));
        let emptied = compact.replace("abc", "");
        assert_eq!(one.plan(), Some(hex(&Sha256::digest(emptied.as_bytes()))));
    }

    #[test]
    fn a_member_must_stand_there_exactly_once() {
        assert_eq!(Compact::new(r#"{"network":1,"network":2}"#).description(), None);
        assert_eq!(Compact::new(r#"{"n":{"network":1}}"#).description(), None);
        assert_eq!(Compact::new("\"\\").plan(), None);
    }
}
