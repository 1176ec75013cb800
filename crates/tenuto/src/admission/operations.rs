//! The log of a car's reservations: adds and removals as its own controller carried them out.

use super::files::{parse, whole};
use super::sizes::{FRAME_BYTES_MAX, burst_and_frame_bits};
use super::{List, Operation};
use crate::failure::Failure;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tenuto_admission::{Network, NetworkError, Node, NodeId, Port, Request};
use tenuto_model::quantity::format_rate;

/// What a line carries where nothing else is asked, bit/s: the log states no rates.
const RATE_BPS: u64 = 1_000_000_000;

/// Rates of the lines of a log, bit/s, where they were asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LineRates {
    /// Of every line.
    pub(crate) every_bps: Option<u64>,
    /// Of lines between switches, where those differ.
    pub(crate) trunk_bps: Option<u64>,
}

impl LineRates {
    fn edge_bps(self) -> u64 {
        self.every_bps.unwrap_or(RATE_BPS)
    }

    fn trunk_bps(self) -> u64 {
        self.trunk_bps.unwrap_or_else(|| self.edge_bps())
    }

    /// What was taken for granted, for people.
    fn assumed(self) -> Vec<String> {
        let mut assumed = vec![
            "switches add no latency, lines no propagation".to_owned(),
            format!("every queue has room for {QUEUE_BYTES} B: the log states no rooms"),
        ];
        let rate = |bps| format_rate(bps);
        if self.every_bps.is_none() {
            assumed.push(match self.trunk_bps {
                None => format!("every line carries {} (--line-rate)", rate(RATE_BPS)),
                Some(_) => format!("lines of hosts carry {} (--line-rate)", rate(RATE_BPS)),
            });
        }
        assumed
    }
}

/// The log says nothing of rooms; its controller checked none.
const QUEUE_BYTES: u32 = 1 << 18;
const SWITCH_QUEUES: u8 = 4;
const NS_PER_MS: f64 = 1e6;

#[derive(Deserialize)]
struct Entry {
    n: u64,
    op: String,
    src: String,
    dst: Vec<String>,
    bits: u64,
    interval_ms: f64,
    deadline_ms: f64,
    paths: Vec<PathEntry>,
    #[serde(default)]
    result: String,
}

#[derive(Deserialize)]
struct PathEntry {
    hops: Vec<(String, String)>,
}

/// Reads a log. A removal that the log says found no flow removes nothing, unless `with_removals`:
/// then it removes the earlier flow with the same ends and contract.
pub(crate) fn read_operations(
    path: &Path,
    with_removals: bool,
    rates: LineRates,
) -> Result<List, Failure> {
    let entries: Vec<Entry> = parse(path, "a log is a list of operations, each with `op`")?;
    let shown = path.display().to_string();
    let (network, names) = network(&entries, rates)
        .map_err(|error| Failure::input(error.to_string(), Some(&shown), None))?;
    let mut operations = Vec::new();
    let mut held: BTreeMap<(String, Vec<String>, u64, u64), u64> = BTreeMap::new();
    for (at, entry) in entries.iter().enumerate() {
        let interval_ns =
            whole((entry.interval_ms * NS_PER_MS).round(), &format!("[{at}].interval_ms"), &shown)?;
        let mut targets = entry.dst.clone();
        targets.sort();
        let key = (entry.src.clone(), targets, entry.bits, interval_ns);
        if entry.op == "add" {
            let (burst_bits, frame_bits) = burst_and_frame_bits(entry.bits.div_ceil(8));
            held.insert(key, entry.n);
            operations.push(Operation::Add(Request {
                id: entry.n,
                source: node(&names, &entry.src, at, &shown)?,
                targets: entry
                    .dst
                    .iter()
                    .map(|name| node(&names, name, at, &shown))
                    .collect::<Result<_, _>>()?,
                rate_bps: (u128::from(burst_bits) * 1_000_000_000)
                    .div_ceil(interval_ns.max(1).into())
                    .try_into()
                    .unwrap_or(u64::MAX),
                burst_bits,
                frame_bits,
                deadline_ns: whole(
                    (entry.deadline_ms * NS_PER_MS).floor(),
                    &format!("[{at}].deadline_ms"),
                    &shown,
                )?,
            }));
            continue;
        }
        let was_carried_out = with_removals || !entry.result.contains("not reserved");
        let gone = if was_carried_out { held.remove(&key) } else { None };
        operations.extend(gone.map(Operation::Remove));
    }
    Ok(List { name: shown, network, operations, filled: 0, assumed: rates.assumed() })
}

/// Every link that a path of the log uses, in both directions; switches are what forwards.
fn network(
    entries: &[Entry],
    rates: LineRates,
) -> Result<(Network, BTreeMap<String, NodeId>), NetworkError> {
    let hops = || entries.iter().flat_map(|entry| &entry.paths).flat_map(|path| &path.hops);
    let ends: BTreeSet<&str> = entries
        .iter()
        .flat_map(|e| [&e.src].into_iter().chain(&e.dst))
        .map(String::as_str)
        .collect();
    let all: BTreeSet<&str> =
        hops().flat_map(|(a, b)| [a.as_str(), b.as_str()]).chain(ends.iter().copied()).collect();
    let names: BTreeMap<String, NodeId> =
        (0_u32..).zip(&all).map(|(at, name)| ((*name).to_owned(), NodeId(at))).collect();
    let nodes = all
        .iter()
        .map(|name| Node { name: (*name).to_owned(), is_switch: !ends.contains(name) })
        .collect();
    let links: BTreeSet<(&str, &str)> =
        hops().flat_map(|(a, b)| [(a.as_str(), b.as_str()), (b.as_str(), a.as_str())]).collect();
    let port = |(from, to): &(&str, &str)| Port {
        from: names[*from],
        to: names[*to],
        rate_bps: match ends.contains(from) || ends.contains(to) {
            true => rates.edge_bps(),
            false => rates.trunk_bps(),
        },
        propagation_ns: 0,
        queues: if ends.contains(from) { 1 } else { SWITCH_QUEUES },
        queue_bytes: QUEUE_BYTES,
        blocking_bytes: FRAME_BYTES_MAX,
    };
    let ports = links.iter().map(port).collect();
    Ok((Network::new(nodes, ports)?, names))
}

fn node(
    names: &BTreeMap<String, NodeId>,
    name: &str,
    at: usize,
    file: &str,
) -> Result<NodeId, Failure> {
    names.get(name).copied().ok_or_else(|| {
        Failure::input(format!("[{at}]: no path of the log leads to {name:?}"), Some(file), None)
    })
}
