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

/// The walk over a document.
struct Walk<'a> {
    compact: Compact,
    /// Name of the member that is the description.
    description: &'a [u8],
    depth: usize,
    member: Member,
    /// Where the member's value starts in the compact text.
    start: usize,
}

impl Walk<'_> {
    fn string(&mut self, token: &[u8]) {
        self.compact.text.extend_from_slice(token);
        if self.depth == 1 && self.member == Member::Key {
            self.member = match token {
                b"\"plan_hash\"" => Member::PlanHash,
                [b'"', key @ .., b'"'] if key == self.description => Member::Description,
                _ => Member::Other,
            };
            // The value starts behind the colon.
            self.start = self.compact.text.len() + 1;
        }
    }

    fn other(&mut self, byte: u8) {
        if self.depth == 1 && matches!(byte, b',' | b'}') {
            self.end_member();
        }
        match byte {
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if byte == b'{' && self.depth == 1 {
            self.member = Member::Key;
        }
        self.compact.text.push(byte);
    }

    fn end_member(&mut self) {
        let span = self.start..self.compact.text.len();
        match self.member {
            Member::Description => self.compact.description.push(span),
            Member::PlanHash => self.compact.plan_hash.push(span),
            Member::Key | Member::Other => {}
        }
        self.member = Member::Key;
    }
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
        let (text, none) = (Vec::with_capacity(bytes.len()), Vec::new());
        let compact = Self { text, description: none.clone(), plan_hash: none };
        let description = description.as_bytes();
        let mut walk = Walk { compact, description, depth: 0, member: Member::Other, start: 0 };
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let end = if byte == b'"' { string_end(bytes, at) } else { at + 1 };
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => {}
                b'"' => walk.string(&bytes[at..end]),
                _ => walk.other(byte),
            }
            at = end;
        }
        walk.compact
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
    pub(crate) fn compare(&self, description: &str, plan: &str, findings: &Findings) {
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
#[path = "../tests/unit/digest.rs"]
mod tests;
