//! Avionics networks of any size, drawn from a seed: switches in a ring with chords, end systems
//! spread over them, and virtual links with four to eight targets each, six in the mean.
//!
//! Sizes and gaps follow the shape that is published for such networks (\[DetOF\] Tables I and II): short
//! frames and long gaps are common. It is written as a user would write it, and read like any file.

use std::fmt::Write;
use tenuto_model::{MemorySources, Network, read_network};
use tenuto_units::Draws;

/// How large a network is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Switches; four at least.
    pub(crate) switches: u32,
    /// End systems at each of them.
    pub(crate) hosts_each: u32,
    /// Virtual links; a multiple of five has six targets each in the mean.
    pub(crate) links: u32,
}

/// Gaps between frames, ms, as often as they stand here.
const BAGS_MS: [u64; 10] = [16, 32, 32, 32, 64, 64, 64, 128, 128, 128];
/// Least and largest of the largest frames, bytes: half of them are within the first span.
const SIZES_BYTES: [(u64, u64); 4] = [(64, 160), (64, 160), (160, 400), (400, 900)];
const TARGETS_MIN: u64 = 4;
const TARGETS_SPREAD: u64 = 5;

/// The network of that scale and seed.
///
/// # Panics
/// If what it draws cannot be read, which no seed makes so.
pub(crate) fn network(scale: Scale, seed: u64) -> Network {
    let sources = MemorySources::new()
        .with("drawn.yaml", &description(scale))
        .with("links.csv", &links(scale, seed));
    match read_network(&sources, "drawn.yaml") {
        Ok((network, _)) => network,
        Err(problems) => panic!("{problems}"),
    }
}

fn description(scale: Scale) -> String {
    let mut text = String::from(
        "tenuto: 1\nname: drawn\ndefaults:\n  link: {rate: 100 Mbit/s, length: 30 m}\n  switch: \
         {profile: afdx}\n  flow: {match: vl}\nflow_tables: [links.csv]\nswitches:\n",
    );
    for switch in 0..scale.switches {
        let _ = writeln!(text, "  s{switch}: {{}}");
    }
    let hosts: Vec<String> = hosts(scale).map(|(host, _)| host).collect();
    let _ = writeln!(text, "hosts: [{}]", hosts.join(", "));
    text.push_str(
        "controllers: {c1: {manages: all, channel: out-of-band, when_lost: secure}}\nlinks:\n",
    );
    let n = scale.switches;
    let ring = (0..n).map(|at| (at, (at + 1) % n));
    let chords = (0..n / 2).map(|at| (at, at + n / 2));
    for (a, b) in ring.chain(chords) {
        let _ = writeln!(text, "  - {{ends: [s{a}, s{b}]}}");
    }
    for (host, switch) in self::hosts(scale) {
        let _ = writeln!(text, "  - {{ends: [{host}, s{switch}]}}");
    }
    text
}

fn hosts(scale: Scale) -> impl Iterator<Item = (String, u32)> {
    (0..scale.switches * scale.hosts_each).map(move |at| (format!("e{at}"), at % scale.switches))
}

fn links(scale: Scale, seed: u64) -> String {
    let mut draws = Draws::new(seed);
    let hosts = u64::from(scale.switches * scale.hosts_each);
    let mut text = String::from("vl,name,source,targets,bag_ms,frame_bytes_max,jitter_us\n");
    for link in 0..scale.links {
        let source = draws.below(hosts);
        let count = (TARGETS_MIN + u64::from(link) % TARGETS_SPREAD).min(hosts - 1);
        let mut targets: Vec<String> = Vec::new();
        while (targets.len() as u64) < count {
            let target = draws.below(hosts);
            let name = format!("e{target}");
            if target != source && !targets.contains(&name) {
                targets.push(name);
            }
        }
        let bag_ms = draws.one_of(&BAGS_MS);
        let (least, most) = draws.one_of(&SIZES_BYTES);
        let bytes = least + draws.below(most - least + 1);
        let (vl, targets) = (link + 1, targets.join(" "));
        let _ = writeln!(text, "{vl},v{vl},e{source},{targets},{bag_ms},{bytes},40");
    }
    text
}
