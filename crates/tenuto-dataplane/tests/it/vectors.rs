//! Wire vectors of other projects, where a checkout of theirs is named: `TENUTO_LOXIGEN`
//! (github.com/floodlight/loxigen) and `TENUTO_OVS` (github.com/openvswitch/ovs).
//!
//! Whatever is OpenFlow 1.3 there comes back byte for byte, or is answered by a general switch with the
//! code that they expect.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // a test reads its vectors

use std::fmt::Write;
use std::path::PathBuf;
use support::general::bench;
use tenuto_openflow::{Body, Message};

use crate::support;

/// An entry's match of all packets.
const ANY: &str = "0001 0004 00000000";
/// Codes that OpenFlow 1.3 does not have, or that are about extensions of Nicira: what a switch
/// without these answers instead.
const OTHERS: [(&str, &str); 3] = [
    ("OFPBIC_DUP_INST", "OFPBIC_UNSUP_INST"),
    ("OFPBAC_BAD_SET_MASK", "OFPBAC_BAD_SET_ARGUMENT"),
    ("OFPBIC_UNSUP_INST", "OFPBAC_BAD_EXPERIMENTER"),
];

/// A folder of theirs; none where no checkout is named.
fn checkout(variable: &str, folder: &str) -> Option<PathBuf> {
    let root = std::env::var_os(variable);
    if root.is_none() {
        println!("skipped: {variable} names no checkout");
    }
    Some(PathBuf::from(root?).join(folder))
}

/// Bytes of hexadecimal digits; a digit that stands alone is a byte.
fn hex(text: &str) -> Vec<u8> {
    let word = |word: &str| {
        let word = if word.len() % 2 == 1 { format!("0{word}") } else { word.to_owned() };
        let byte = |at: usize| u8::from_str_radix(&word[at..at + 2], 16).expect("two digits");
        (0..word.len()).step_by(2).map(byte).collect::<Vec<u8>>()
    };
    text.split_whitespace().flat_map(word).collect()
}

/// A flow-mod that adds an entry with these instructions.
fn with_instructions(table: u8, instructions: &str) -> Vec<u8> {
    let length = 56 + hex(instructions).len();
    hex(&format!(
        "04 0e {length:04x} 00000017 0000000000000000 0000000000000000 {table:02x} 00 0000 0000 0001
         ffffffff ffffffff ffffffff 0000 0000 {ANY} {instructions}"
    ))
}

/// The same with these actions, which are applied.
fn with_actions(table: u8, actions: &str) -> Vec<u8> {
    with_instructions(table, &format!("0004 {:04x} 00000000 {actions}", 8 + hex(actions).len()))
}

/// What became of the vectors of a project.
#[derive(Default)]
struct Outcome {
    same: usize,
    refused: usize,
    wrong: String,
}

impl Outcome {
    /// A vector that is read and comes back, or is refused with the code that is `expected`.
    fn judge(&mut self, name: &str, bytes: &[u8], expected: Option<&str>) {
        let found = match expected {
            None => match Message::parse(bytes) {
                Ok(message) if message.to_bytes() == *bytes => return self.same += 1,
                Ok(message) => format!("comes back as {:02x?}", message.to_bytes()),
                Err(error) => error.to_string(),
            },
            Some(code) => {
                let code =
                    OTHERS.iter().find(|(theirs, _)| *theirs == code).map_or(code, |it| it.1);
                let answers = bench().control(bytes);
                let answer = answers.first().map(|message| &message.body);
                let answer = match answer {
                    Some(Body::Error(error)) => error.error().map_or("unknown", |it| it.name()),
                    _ => "no error",
                };
                if answer == code {
                    return self.refused += 1;
                }
                format!("{answer} instead of {code}")
            }
        };
        let _ = writeln!(self.wrong, "{name}: {found}\n    {bytes:02x?}");
    }

    fn end(&self, least: usize) {
        println!("{} come back, {} are refused as expected", self.same, self.refused);
        assert!(self.wrong.is_empty(), "{}", self.wrong);
        assert!(self.same + self.refused >= least, "most were not found");
    }
}

#[test]
fn vectors_of_loxigen() {
    let Some(folder) = checkout("TENUTO_LOXIGEN", "test_data/of13") else { return };
    let mut outcome = Outcome::default();
    for entry in std::fs::read_dir(folder).expect("a checkout of loxigen") {
        let path = entry.expect("a file").path();
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        // Types alone, as table features have them, are no messages.
        let is_id = name.starts_with("action_id") || name.starts_with("instruction_id");
        if is_id || path.extension().is_none_or(|extension| extension != "data") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("text");
        let binary = text.split("-- binary\n").nth(1).expect("bytes come first");
        let lines = binary.lines().take_while(|line| !line.starts_with("-- "));
        let lines = lines.filter_map(|line| line.split('#').next());
        let digits = lines.collect::<Vec<_>>().join(" ").replace("0x", "");
        let bytes = match name.split('_').next() {
            Some("action") => with_actions(0, &digits),
            Some("instruction") => with_instructions(0, &digits),
            _ => hex(&digits),
        };
        if bytes.first() == Some(&4) && bytes.len() >= 8 {
            outcome.judge(&name, &bytes, None);
        }
    }
    outcome.end(50);
}

/// The messages that `ovs-ofctl ofp-print` is tested with.
#[test]
fn messages_of_open_vswitch() {
    let Some(folder) = checkout("TENUTO_OVS", "tests") else { return };
    let mut outcome = Outcome::default();
    for file in ["ofp-print.at", "ofp-errors.at"] {
        let text = std::fs::read_to_string(folder.join(file)).expect("a checkout of Open vSwitch");
        for (place, part) in text.split("ofp-print ").enumerate().skip(1) {
            let part = part.trim_start_matches(['"', '\'', '\\', '\n', ' ']);
            let is_hex = |c: &char| c.is_ascii_hexdigit() || c.is_whitespace() || *c == '\\';
            let digits: String = part.chars().take_while(is_hex).filter(|c| *c != '\\').collect();
            let bytes = hex(&digits);
            let Some(header) = bytes.first_chunk::<8>().filter(|header| header[0] == 4) else {
                continue;
            };
            let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
            let Some(bytes) = bytes.get(..length.max(8)) else { continue };
            let test = part.split("AT_CLEANUP").next().unwrap_or(part);
            let code = test.split("***decode error: ").nth(1).and_then(|t| t.split("***").next());
            outcome.judge(&format!("{file} {place}"), bytes, code);
        }
    }
    outcome.end(40);
}

/// Actions and instructions of Open vSwitch's translation tests.
#[test]
fn actions_of_open_vswitch() {
    let Some(folder) = checkout("TENUTO_OVS", "tests") else { return };
    let mut outcome = Outcome::default();
    let text = std::fs::read_to_string(folder.join("ofp-actions.at"));
    for test in text.expect("a checkout of Open vSwitch").split("AT_SETUP(").skip(1) {
        let title = test.lines().next().unwrap_or_default();
        let wrap = match title {
            "[OpenFlow 1.1 instruction translation])" => with_instructions,
            "[OpenFlow 1.1 action translation])"
            | "[OpenFlow 1.2 action translation])"
            | "[OpenFlow 1.3 action translation])" => with_actions,
            _ => continue,
        };
        let data = test.split("[dnl\n").nth(1).and_then(|t| t.split("\n])").next());
        for case in data.unwrap_or_default().split("\n\n") {
            let lines = case.lines().filter(|line| !line.starts_with(['#', '&']));
            let words: Vec<_> =
                lines.map(|line| line.split("dnl").next().unwrap_or_default().trim()).collect();
            let words = words.join(" ");
            // A table stands in front, with a comma behind it.
            let (table, digits) = words.split_once(',').unwrap_or(("0", &words));
            // What comes back in another form: padding that was not zero, what means the same.
            let is_changed = case.contains(" -> ");
            if !digits.trim().is_empty() && !is_changed {
                let code = case.split("# bad OpenFlow1").nth(1).and_then(|t| t.split(": ").nth(1));
                let table = table.trim().parse().expect("a table");
                let code = code.and_then(|t| t.lines().next());
                outcome.judge(&format!("{title} {case}"), &wrap(table, digits), code);
            }
        }
    }
    outcome.end(60);
}
