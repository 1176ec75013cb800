//! What `check` prints about a network that is consistent.

use crate::quantity::{format_rate, format_size, format_time};
use crate::{Flow, Network, OtherTraffic, Size};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Flows that are listed one by one; more are counted.
const FLOWS_LISTED_MAX: usize = 40;

/// Counts, modes, profiles and flows, for people; ends in a newline.
pub fn summary(network: &Network) -> String {
    let count = |number: usize, one: &str, many: &str| match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {many}"),
    };
    let mut parts = vec![
        count(network.hosts.len(), "host", "hosts"),
        count(network.switches.len(), "switch", "switches"),
        count(network.links.len(), "link", "links"),
        count(network.flows.len(), "flow", "flows"),
    ];
    let pairs: usize = network.flows.iter().map(|f| f.targets.len()).sum();
    parts.push(count(pairs, "target", "targets"));
    let mut out = format!("{}  {}\n", network.name, parts.join(", "));
    let mut say = |name: &str, text: String| {
        writeln!(out, "{name:<10}{text}").expect("writing to a string");
    };
    say("modes", network.modes.join(" "));
    if !network.networks.is_empty() {
        say("networks", network.networks.join(" "));
    }
    let profiles: Vec<&str> = network.profiles.keys().map(String::as_str).collect();
    if !profiles.is_empty() {
        say("profiles", profiles.join(" "));
    }
    let rates: BTreeSet<u64> = network.links.iter().map(|l| l.rate_bps).collect();
    say("rates", rates.into_iter().map(format_rate).collect::<Vec<_>>().join(", "));
    let t = network.tolerates;
    let babbling = count(
        usize::try_from(t.babbling_hosts).unwrap_or(usize::MAX),
        "babbling host",
        "babbling hosts",
    );
    let signals =
        count(usize::try_from(t.lost_signals).unwrap_or(usize::MAX), "lost signal", "lost signals");
    let loss = if t.controller_loss { ", controller loss" } else { "" };
    let links = if t.links_lost > 0 { ", 1 link between switches" } else { "" };
    say("tolerates", format!("{babbling}, {signals}{loss}{links}"));
    if let OtherTraffic::Carry { priority, rate_bps, frame_bytes_max } = network.other_traffic {
        let rate = format_rate(rate_bps);
        say(
            "other",
            format!("{rate} per host port in class {priority}, frames to {frame_bytes_max} B"),
        );
    }
    out.push_str(&flow_lines(network));
    out
}

fn flow_lines(network: &Network) -> String {
    let width = |text: &dyn Fn(&Flow) -> usize| {
        network.flows.iter().take(FLOWS_LISTED_MAX).map(text).max().unwrap_or(4).max(4)
    };
    let name = width(&|f| f.name.chars().count());
    let source = width(&|f| f.source.chars().count()).max(6);
    let mut out = format!(
        "{:name$}  {:source$}  {:>7}  {:<6}  {:>4}  {:>10}  period\n",
        "flow", "source", "targets", "level", "prio", "size"
    );
    for flow in network.flows.iter().take(FLOWS_LISTED_MAX) {
        let size = match flow.highest().size {
            Size::MessageBytes(b) | Size::PayloadBytes(b) | Size::FrameBytes(b) => b,
        };
        let mut periods: Vec<String> =
            flow.contracts.iter().map(|c| format_time(c.period_ns)).collect();
        periods.dedup();
        let level = network.modes.get(flow.level).map_or("?", String::as_str);
        writeln!(
            out,
            "{:name$}  {:source$}  {:>7}  {level:<6}  {:>4}  {:>10}  {}",
            flow.name,
            flow.source,
            flow.targets.len(),
            flow.highest().priority,
            format_size(u64::from(size)),
            periods.join(" > "),
        )
        .expect("writing to a string");
    }
    let more = network.flows.len().saturating_sub(FLOWS_LISTED_MAX);
    if more > 0 {
        let flows = if more == 1 { "flow" } else { "flows" };
        writeln!(out, "… and {more} more {flows}").expect("writing to a string");
    }
    out
}
