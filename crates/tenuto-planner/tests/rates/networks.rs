//! Networks whose lines are of all rates, drawn from a seed: trees and rings, with and without modes,
//! hosts that may babble, and processors that ports share.

use std::fmt::Write;
use tenuto_model::{MemorySources, Network, read_network};
use tenuto_units::Draws;

const MBIT: u64 = 1_000_000;
const HOST_MBPS: [u64; 6] = [10, 10, 100, 100, 1_000, 10_000];
const TRUNK_MBPS: [u64; 5] = [10, 100, 1_000, 1_000, 10_000];
/// Frames of a message, and the bytes of each.
const FRAMES_MAX: u64 = 12;
const FRAME_BYTES: u64 = 1_460;
/// A processor in front of the ports, and the line between.
const JOINT: &str = "{like: ideal, processor: {base: 1 us, spread: 30 %, \
    link: {rate: 100 Mbit/s, tag: 2 B}}}";

/// The network of that seed.
///
/// # Panics
/// If what it draws cannot be read, which no seed makes so.
pub(crate) fn network(seed: u64) -> Network {
    let text = description(seed);
    let sources = MemorySources::new().with("drawn.yaml", &text);
    match read_network(&sources, "drawn.yaml") {
        Ok((network, _)) => network,
        Err(problems) => panic!("seed {seed}: {problems}\n{text}"),
    }
}

fn description(seed: u64) -> String {
    let mut draws = Draws::new(seed);
    let switches = 2 + draws.below(4);
    let is_ring = switches > 2 && draws.below(3) == 0;
    let is_modal = draws.below(3) == 0;
    let is_joint = !is_modal && draws.below(5) == 0;
    let profile = match draws.below(3) {
        _ if is_modal => "tenuto",
        _ if is_joint => "joint",
        0 => "tenuto",
        1 => "hp-e3800",
        _ => "ideal",
    };
    let hosts: Vec<(u64, u64)> = (0..3 + draws.below(5))
        .map(|_| (draws.below(switches), draws.one_of(&HOST_MBPS)))
        .collect();
    let mut text = String::from("tenuto: 1\nname: drawn\n");
    if is_modal {
        text += "modes: [LO, HI]\n";
    }
    let names = |of: &str, count: u64| -> Vec<String> {
        (0..count).map(|index| format!("{of}{index}")).collect()
    };
    let _ = writeln!(text, "hosts: [{}]\nswitches:", names("h", hosts.len() as u64).join(", "));
    for switch in names("s", switches) {
        let _ = writeln!(text, "  {switch}: {{profile: {profile}}}");
    }
    text += "links:\n";
    for (host, (at, mbps)) in hosts.iter().enumerate() {
        let _ = writeln!(text, "  - {{ends: [h{host}, s{at}], rate: {mbps} Mbit/s}}");
    }
    let mut slowest = 100;
    for switch in u64::from(!is_ring)..switches {
        let other = if is_ring { (switch + 1) % switches } else { draws.below(switch) };
        let mbps = draws.one_of(&TRUNK_MBPS);
        slowest = slowest.min(mbps);
        let _ = writeln!(text, "  - {{ends: [s{switch}, s{other}], rate: {mbps} Mbit/s}}");
    }
    text += "flows:\n";
    for flow in 0..4 + draws.below(8) {
        text += &self::flow(flow, (&hosts, slowest), is_modal, &mut draws);
    }
    let babbling = u64::from(!is_joint && draws.below(4) == 0);
    let _ = writeln!(text, "tolerates: {{babbling_hosts: {babbling}}}");
    if is_joint {
        let _ = writeln!(text, "profiles:\n  joint: {JOINT}");
    }
    text
}

/// One flow, of a load that every line at its ends carries several times, and a trunk of `slowest`;
/// one of four has two targets.
fn flow(
    number: u64,
    (hosts, slowest): (&[(u64, u64)], u64),
    is_modal: bool,
    draws: &mut Draws,
) -> String {
    let count = hosts.len() as u64;
    let source = draws.below(count);
    let mut targets = vec![(source + 1 + draws.below(count - 1)) % count];
    let other = draws.below(count);
    if draws.below(4) == 0 && other != source && other != targets[0] {
        targets.push(other);
    }
    let mbps = |host: u64| usize::try_from(host).map_or(0, |host| hosts[host].1);
    let slowest = targets.iter().map(|&it| mbps(it)).fold(mbps(source), u64::min).min(slowest);
    let bytes = (1 + draws.below(FRAMES_MAX)) * FRAME_BYTES - draws.below(FRAME_BYTES - 100);
    let share_percent = 4 + draws.below(14);
    let period_us = bytes * 8 * 100 / (slowest * share_percent);
    let contract = match is_modal && draws.below(2) == 0 {
        true => format!("level: HI, period: {{LO: {} us, HI: {period_us} us}}", 2 * period_us),
        false => format!("period: {period_us} us"),
    };
    let jitter_us = if draws.below(3) == 0 { draws.below((period_us / 2).min(2_000)) } else { 0 };
    let targets: Vec<String> = targets.iter().map(|target| format!("h{target}")).collect();
    format!(
        "  f{number}: {{source: h{source}, targets: [{}], message: {bytes} B, {contract}, jitter: \
         {jitter_us} us, deadline: 2 s, priority: {}}}\n",
        targets.join(", "),
        draws.below(3)
    )
}

/// How many kinds of lines a network has.
pub(crate) fn rates(network: &Network) -> usize {
    let rates: std::collections::BTreeSet<u64> =
        network.links.iter().map(|link| link.rate_bps / MBIT).collect();
    rates.len()
}
