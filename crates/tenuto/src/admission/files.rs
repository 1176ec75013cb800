//! Networks and lists of requests as the reference implementations read them.

use super::Operation;
use super::sizes::{FRAME_BYTES_MAX, burst_and_frame_bits};
use crate::failure::Failure;
use crate::named_file::{self, Kind};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use tenuto_admission::{Network, NetworkError, Node, NodeId, Port, Request, SwitchTiming};

const SWITCH_QUEUES: u8 = 4;
const NS_PER_S: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;

/// A network and who asks, in order.
#[derive(Clone, Debug)]
pub(crate) struct List {
    pub(crate) name: String,
    pub(crate) network: Network,
    pub(crate) operations: Vec<Operation>,
    /// Operations that only fill the network: their times do not count.
    pub(crate) filled: usize,
    /// What the files do not say and was assumed, for people.
    pub(crate) assumed: Vec<String>,
}

#[derive(Deserialize)]
struct NetworkFile {
    nodes: Vec<NodeEntry>,
    links: Vec<LinkEntry>,
}

#[derive(Deserialize)]
struct NodeEntry {
    id: String,
    kind: String,
    /// Of a switch, seconds and bytes.
    #[serde(default)]
    latency_min_s: f64,
    latency_max_s: Option<f64>,
    #[serde(default)]
    below_scheduler_bytes: u32,
}

#[derive(Deserialize)]
struct LinkEntry {
    src: String,
    dst: String,
    rate_bps: f64,
    #[serde(default)]
    prop_s: f64,
}

#[derive(Deserialize)]
struct RequestsFile {
    #[serde(default)]
    scenario: String,
    queue_bytes: u32,
    host_queue_bytes: u32,
    requests: Vec<RequestEntry>,
}

#[derive(Deserialize)]
struct RequestEntry {
    id: u64,
    src: String,
    dst: String,
    rate_bps: f64,
    burst_bytes: u64,
    deadline_ms: f64,
}

impl List {
    /// How many ask.
    pub(crate) fn requests(&self) -> usize {
        let is_add = |operation: &&Operation| matches!(operation, Operation::Add(_));
        self.operations.iter().filter(is_add).count()
    }
}

/// Reads the two files of a list.
pub(crate) fn read_list(network: &Path, requests: &Path) -> Result<List, Failure> {
    let shown = network.display().to_string();
    let file: NetworkFile = parse(network, "a network has `nodes` and `links`")?;
    let asked: RequestsFile =
        parse(requests, "a list has `queue_bytes`, `host_queue_bytes` and `requests`")?;
    let nodes = nodes_of(&file, &shown)?;
    let names: Names<'_> =
        file.nodes.iter().map(|node| node.id.as_str()).zip((0..).map(NodeId)).collect();
    let ports = ports_of(&file, &asked, &nodes, &names, &shown)?;
    let operations = operations_of(&asked, &names, &requests.display().to_string())?;
    let network = Network::new(nodes, ports);
    let network = network.and_then(|network| timed(network, &file));
    let network = network.map_err(|error| Failure::input(error.to_string(), Some(&shown), None))?;
    let stated = file.nodes.iter().any(|node| node.latency_max_s.is_some());
    let mut assumed = Vec::new();
    if !stated {
        assumed.push("switches add no latency: no node states latency_max_s".to_owned());
    }
    let name = match asked.scenario.is_empty() {
        true => requests.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        false => asked.scenario,
    };
    Ok(List { name, network, operations, filled: 0, assumed })
}

/// With the latencies that the file states.
fn timed(network: Network, file: &NetworkFile) -> Result<Network, NetworkError> {
    // A latency beyond what is checked later on stays beyond it.
    let ns = |seconds: f64| whole((seconds * NS_PER_S).ceil(), "", "").unwrap_or(u64::MAX);
    let timed = (0..).map(NodeId).zip(&file.nodes).filter(|(_, node)| node.is_timed());
    timed.into_iter().try_fold(network, |network, (id, node)| {
        let latency_ns_max = node.latency_max_s.map_or(0, ns);
        let latency_ns_min = ns(node.latency_min_s);
        let below_scheduler_bytes = node.below_scheduler_bytes;
        let timing = SwitchTiming { latency_ns_min, latency_ns_max, below_scheduler_bytes };
        network.with_switch_timing(id, timing)
    })
}

impl NodeEntry {
    fn is_timed(&self) -> bool {
        self.latency_max_s.is_some() || self.latency_min_s != 0.0 || self.below_scheduler_bytes > 0
    }
}

fn nodes_of(network: &NetworkFile, file: &str) -> Result<Vec<Node>, Failure> {
    let node = |(at, node): (usize, &NodeEntry)| {
        let is_switch = match node.kind.as_str() {
            "switch" => true,
            "host" => false,
            other => {
                let message = format!("nodes[{at}].kind: {other:?} is neither host nor switch");
                return Err(Failure::input(message, Some(file), None));
            }
        };
        Ok(Node { name: node.id.clone(), is_switch })
    };
    network.nodes.iter().enumerate().map(node).collect()
}

/// Each link is one port: that of its sender.
fn ports_of(
    network: &NetworkFile,
    asked: &RequestsFile,
    nodes: &[Node],
    names: &Names<'_>,
    file: &str,
) -> Result<Vec<Port>, Failure> {
    let port = |(at, link): (usize, &LinkEntry)| -> Result<Port, Failure> {
        let field = |name: &str| format!("links[{at}].{name}");
        let from = find(names, &link.src, &field("src"), file)?;
        let is_switch = nodes[from.0 as usize].is_switch;
        Ok(Port {
            from,
            to: find(names, &link.dst, &field("dst"), file)?,
            rate_bps: whole(link.rate_bps, &field("rate_bps"), file)?,
            propagation_ns: whole((link.prop_s * NS_PER_S).ceil(), &field("prop_s"), file)?,
            queues: if is_switch { SWITCH_QUEUES } else { 1 },
            queue_bytes: if is_switch { asked.queue_bytes } else { asked.host_queue_bytes },
            blocking_bytes: FRAME_BYTES_MAX,
        })
    };
    network.links.iter().enumerate().map(port).collect()
}

fn operations_of(
    asked: &RequestsFile,
    names: &Names<'_>,
    file: &str,
) -> Result<Vec<Operation>, Failure> {
    let request = |(at, entry): (usize, &RequestEntry)| -> Result<Operation, Failure> {
        let field = |name: &str| format!("requests[{at}].{name}");
        let deadline = (entry.deadline_ms * NS_PER_MS).floor();
        let (burst_bits, frame_bits) = burst_and_frame_bits(entry.burst_bytes);
        Ok(Operation::Add(Request {
            id: entry.id,
            source: find(names, &entry.src, &field("src"), file)?,
            targets: vec![find(names, &entry.dst, &field("dst"), file)?],
            rate_bps: super::sizes::padded_bps(
                whole(entry.rate_bps.ceil(), &field("rate_bps"), file)?,
                entry.burst_bytes,
            ),
            burst_bits,
            frame_bits,
            deadline_ns: whole(deadline, &field("deadline_ms"), file)?,
        }))
    };
    asked.requests.iter().enumerate().map(request).collect()
}

/// A JSON document of a known form.
pub(super) fn parse<T: for<'a> Deserialize<'a>>(path: &Path, hint: &str) -> Result<T, Failure> {
    serde_json::from_str(&named_file::text(path, Kind::LIST)?).map_err(|error| {
        Failure::input(error.to_string(), Some(&path.display().to_string()), Some(hint))
    })
}

type Names<'a> = BTreeMap<&'a str, NodeId>;

fn find(names: &Names<'_>, name: &str, field: &str, file: &str) -> Result<NodeId, Failure> {
    names.get(name).copied().ok_or_else(|| {
        let known: Vec<&str> = names.keys().copied().take(8).collect();
        let hint = format!("nodes are {}, ...", known.join(", "));
        Failure::input(format!("{field}: there is no node {name:?}"), Some(file), Some(&hint))
    })
}

/// A number that is whole and not negative, as an integer.
pub(super) fn whole(value: f64, field: &str, file: &str) -> Result<u64, Failure> {
    // Above 2^53 a float no longer tells whole numbers apart.
    const MOST: f64 = 9_007_199_254_740_992.0;
    if !(0.0..=MOST).contains(&value) || value.fract() != 0.0 {
        let message = format!("{field}: {value} is no whole number from 0 to 2^53");
        return Err(Failure::input(message, Some(file), None));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    let whole = value as u64;
    Ok(whole)
}
