//! Server graphs as files: `tenuto_servers: 1`.
//!
//! Where a network file says what a network is, a server graph says only what network calculus
//! needs of one: servers with service curves, and flows with arrival curves through them. Files of
//! other analysis tools that know no frames and no switches are imported as this.

mod read;
mod tree;
mod write;

pub use read::read_servers;
pub(crate) use tree::{Tree, TreeError};
pub use write::write_servers;

use crate::read::reader::is_unseen;
use std::fmt::Write;
use tenuto_calculus::ServerGraph;

/// Most servers.
pub(crate) const SERVERS_MAX: usize = 65_000;
/// Most pieces of a curve.
pub(crate) const PIECES_MAX: usize = 64;
/// Most characters of a name.
pub(crate) const NAME_CHARS_MAX: usize = 128;

/// Why a text cannot name a server, flow or target; `None` if it can.
///
/// More is allowed than in networks: names of ports (`sw1:3 > sw2`) come from other tools.
pub(crate) fn name_problem(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("a name cannot be empty")
    } else if name.chars().count() > NAME_CHARS_MAX {
        Some("a name has at most 128 characters")
    } else if name.contains(|c: char| is_unseen(c) || c == '"') {
        Some("a name has no control or invisible characters and no \"")
    } else if name.trim() != name {
        Some("a name neither starts nor ends with a space")
    } else {
        None
    }
}

/// Counts of a server graph, for people; ends in a newline.
pub fn servers_summary(graph: &ServerGraph) -> String {
    let count = |number: usize, word: &str| match number {
        1 => format!("1 {word}"),
        _ => format!("{number} {word}s"),
    };
    let targets = graph.flows.iter().map(|f| f.targets.len()).sum();
    let lines = graph.servers.iter().filter(|s| s.line.is_some()).count();
    let packets = graph.servers.iter().filter(|s| s.packet_ubit > 0).count();
    let arbitrary = tenuto_calculus::Multiplexing::Arbitrary;
    let arbitrary = graph.servers.iter().filter(|s| s.multiplexing == arbitrary).count();
    let mut out = format!(
        "{}  {}, {}, {}\n",
        graph.name,
        count(graph.servers.len(), "server"),
        count(graph.flows.len(), "flow"),
        count(targets, "target"),
    );
    for (number, one, many) in [
        (lines, "has a line behind it", "have a line behind them"),
        (packets, "sends whole packets", "send whole packets"),
        (arbitrary, "serves in any order", "serve in any order"),
    ] {
        if number > 0 {
            let what = if number == 1 { one } else { many };
            writeln!(out, "{} {what}", count(number, "server")).expect("writing to a string");
        }
    }
    out
}
