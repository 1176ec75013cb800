//! Reading a server graph: text in, every problem out.

use super::tree::{Tree, TreeError};
use super::{PIECES_MAX, SERVERS_MAX, name_problem};
use crate::Diagnostics;
use crate::quantity::{QuantityError, parse_data_ubit, parse_rate_ubps, parse_time_ps};
use crate::read::network::FLOWS_MAX;
use crate::read::reader::{Field, Reader, shown, title_of};
use crate::yaml::Value;
use std::collections::BTreeMap;
use tenuto_calculus::{
    Bucket, GraphFlow, GraphServer, GraphTarget, Multiplexing, RateLatency, ServerGraph,
};
use tenuto_units::Picos;

const KEYS: [&str; 4] = ["tenuto_servers", "name", "servers", "flows"];
const SERVER_KEYS: [&str; 4] = ["service", "line", "multiplexing", "packet"];
const FLOW_KEYS: [&str; 5] = ["arrival", "path", "targets", "deadline", "constant"];

/// Reads a server graph; `file` is the name that problems are reported with.
///
/// The file is YAML 1.2 as `docs/reference/servers.md` says. The graph comes with its warnings.
///
/// # Errors
/// Every problem of the file, not only the first.
pub fn read_servers(text: &str, file: &str) -> Result<(ServerGraph, Diagnostics), Diagnostics> {
    let mut reader = Reader::default();
    let documents = reader.parse(file, text);
    let Some(node) = documents.first() else {
        if !reader.diagnostics.has_errors() {
            let hint = "a server graph starts with `tenuto_servers: 1`";
            reader.report_file(file, "there is no server graph in this file", hint);
        }
        return Err(reader.diagnostics);
    };
    reader.expect_one(&documents);
    let top = Field { node, path: String::new() };
    let graph = read_top(&mut reader, &top, file);
    reader.finish(graph)
}

fn read_top(reader: &mut Reader, top: &Field<'_>, file: &str) -> Option<ServerGraph> {
    if !matches!(top.node.value, Value::Map(_)) {
        reader.error(top, "a server graph is a map", "it starts with `tenuto_servers: 1`");
        return None;
    }
    reader.expect_map(top, &KEYS);
    match top.get("tenuto_servers") {
        None => {
            let hint = "a server graph starts with `tenuto_servers: 1`";
            reader.error(top, "the file does not say what it is", hint);
        }
        Some(version) if reader.text(&version).is_some_and(|v| v != "1") => {
            let hint = "write `tenuto_servers: 1`";
            reader.error(&version, "this version of the format is not known", hint);
        }
        Some(_) => {}
    }
    let stem = file.rsplit('/').next().unwrap_or(file);
    let stem = stem.strip_suffix(".yaml").unwrap_or(stem);
    let written = top.get("name").and_then(|f| reader.title(&f));
    let name = written.map_or_else(|| title_of(stem), str::to_owned);
    let mut graph = ServerGraph { name, ..ServerGraph::default() };
    let servers = named(reader, top, "servers", SERVERS_MAX);
    let names: BTreeMap<&str, usize> =
        servers.iter().enumerate().map(|(index, (name, _))| (*name, index)).collect();
    for (name, field) in &servers {
        graph.servers.push(read_server(reader, name, field));
    }
    for (name, field) in named(reader, top, "flows", FLOWS_MAX) {
        let flow = FlowReader { names: &names, field: &field }.read(reader, name);
        graph.flows.push(flow);
    }
    Some(graph)
}

/// The entries of a map by name; what cannot be a name is reported.
fn named<'a>(
    reader: &mut Reader,
    top: &Field<'a>,
    key: &str,
    max: usize,
) -> Vec<(&'a str, Field<'a>)> {
    let Some(field) = top.get(key) else {
        reader.error(top, &format!("there are no {key}"), &format!("add `{key}:`"));
        return Vec::new();
    };
    if !matches!(field.node.value, Value::Map(_)) {
        reader.error(&field, &format!("{key} are a map by name"), "write {A: {…}, B: {…}}");
        return Vec::new();
    }
    let pairs = field.pairs();
    if pairs.is_empty() {
        reader.error(&field, &format!("there are no {key}"), "write at least one");
    }
    if pairs.len() > max {
        reader.error(&field, &format!("there are too many {key}"), &format!("at most {max}"));
        return Vec::new();
    }
    for (name, entry) in &pairs {
        if let Some(why) = name_problem(name) {
            reader.error(entry, why, "write a short name");
        }
    }
    pairs
}

fn fine(
    reader: &mut Reader,
    field: &Field<'_>,
    key: &str,
    parse: fn(&str) -> Result<u64, QuantityError>,
) -> Option<i128> {
    field.get(key).and_then(|f| reader.quantity(&f, parse)).map(i128::from)
}

/// The pieces of a curve: a list of maps, or one map.
fn pieces<'a>(reader: &mut Reader, field: &Field<'a>, keys: [&str; 2]) -> Vec<Field<'a>> {
    let pieces = match field.node.value {
        Value::Map(_) => vec![field.clone()],
        _ => reader.list(field).unwrap_or_default(),
    };
    if pieces.len() > PIECES_MAX {
        reader.error(field, "the curve has too many pieces", "at most 64");
        return Vec::new();
    }
    if pieces.is_empty() && matches!(field.node.value, Value::List(_)) {
        reader.error(field, "the curve has no piece", &example(keys));
    }
    for piece in &pieces {
        let is_map = reader.expect_map(piece, &keys);
        for key in keys.into_iter().filter(|_| is_map) {
            if piece.get(key).is_none() {
                reader.error(piece, &format!("the piece has no {key}"), &example(keys));
            }
        }
    }
    pieces
}

fn example(keys: [&str; 2]) -> String {
    match keys {
        ["rate", _] => "write {rate: 100 Mbit/s, latency: 10 us}".to_owned(),
        _ => "write {burst: 1500 B, rate: 1 Mbit/s}".to_owned(),
    }
}

fn bucket(reader: &mut Reader, piece: &Field<'_>) -> Bucket {
    Bucket {
        burst_ubit: fine(reader, piece, "burst", parse_data_ubit).unwrap_or(0),
        rate_ubps: fine(reader, piece, "rate", parse_rate_ubps).unwrap_or(0),
    }
}

/// Whether a rate that can be read is zero.
fn rate_is_zero(rate: &Field<'_>) -> bool {
    matches!(&rate.node.value, Value::Text(text) if parse_rate_ubps(text) == Ok(0))
}

fn read_server(reader: &mut Reader, name: &str, field: &Field<'_>) -> GraphServer {
    reader.expect_map(field, &SERVER_KEYS);
    let mut server = GraphServer {
        name: name.to_owned(),
        service: Vec::new(),
        line: None,
        multiplexing: Multiplexing::Fifo,
        packet_ubit: fine(reader, field, "packet", parse_data_ubit).unwrap_or(0),
    };
    match field.get("service") {
        None => reader.error(field, "the server has no service", &example(["rate", "latency"])),
        Some(service) => {
            for piece in pieces(reader, &service, ["rate", "latency"]) {
                let latency = fine(reader, &piece, "latency", parse_time_ps).unwrap_or(0);
                let rate_ubps = fine(reader, &piece, "rate", parse_rate_ubps).unwrap_or(0);
                server.service.push(RateLatency { rate_ubps, latency: Picos(latency) });
                if piece.get("rate").is_some_and(|rate| rate_is_zero(&rate)) {
                    reader.error(&piece, "a service of no rate serves nothing", "leave it out");
                }
            }
        }
    }
    if let Some(line) = field.get("line") {
        if matches!(line.node.value, Value::List(_)) {
            reader.error(&line, "a line is one piece", "write {burst: 0 bit, rate: 100 Mbit/s}");
        } else if let [piece] = pieces(reader, &line, ["burst", "rate"]).as_slice() {
            server.line = Some(bucket(reader, piece));
        }
    }
    if let Some(word) = field.get("multiplexing") {
        let words = [("fifo", Multiplexing::Fifo), ("arbitrary", Multiplexing::Arbitrary)];
        server.multiplexing = reader.choice(&word, &words).unwrap_or_default();
    }
    server
}

struct FlowReader<'r, 'a> {
    names: &'r BTreeMap<&'a str, usize>,
    field: &'r Field<'a>,
}

impl<'a> FlowReader<'_, 'a> {
    fn read(&self, reader: &mut Reader, name: &str) -> GraphFlow {
        reader.expect_map(self.field, &FLOW_KEYS);
        let mut arrival = Vec::new();
        match self.field.get("arrival") {
            None => {
                let hint = example(["burst", "rate"]);
                reader.error(self.field, "the flow has no arrival curve", &hint);
            }
            Some(curve) => {
                for piece in pieces(reader, &curve, ["burst", "rate"]) {
                    arrival.push(bucket(reader, &piece));
                }
            }
        }
        let mut tree = Tree::default();
        let targets = self.targets(reader, &mut tree);
        let visits = tree.into_visits();
        GraphFlow { name: name.to_owned(), arrival, visits, targets, is_lossy: false }
    }

    fn targets(&self, reader: &mut Reader, tree: &mut Tree) -> Vec<GraphTarget> {
        match (self.field.get("path"), self.field.get("targets")) {
            (Some(path), None) => {
                // Named as its last server is: the flow leaves the graph there.
                let last = match &path.node.value {
                    Value::List(items) => items.last().and_then(|node| match &node.value {
                        Value::Text(text) => Some(text.as_str()),
                        _ => None,
                    }),
                    _ => None,
                };
                let target = self.target(reader, last.unwrap_or("end"), &path, None, tree);
                target.into_iter().collect()
            }
            (None, Some(targets)) if matches!(targets.node.value, Value::Map(_)) => {
                let pairs = targets.pairs();
                if pairs.is_empty() {
                    reader.error(&targets, "the flow has no target", "write {p0: [A, B]}");
                }
                let read = |(name, field): &(&str, Field<'a>)| {
                    if let Some(why) = name_problem(name) {
                        reader.error(field, why, "write a short name");
                    }
                    self.named_target(reader, name, field, tree)
                };
                pairs.iter().filter_map(read).collect()
            }
            (None, Some(targets)) => {
                let hint = "write {p0: [A, B], p1: {path: [A, C], deadline: 5 ms}}";
                reader.error(&targets, "targets are a map by name", hint);
                Vec::new()
            }
            (Some(_), Some(targets)) => {
                reader.error(&targets, "the flow has both path and targets", "keep one of them");
                Vec::new()
            }
            (None, None) => {
                reader.error(self.field, "the flow has no path", "add `path: [A, B]`");
                Vec::new()
            }
        }
    }

    fn named_target(
        &self,
        reader: &mut Reader,
        name: &str,
        field: &Field<'a>,
        tree: &mut Tree,
    ) -> Option<GraphTarget> {
        if matches!(field.node.value, Value::List(_)) {
            return self.target(reader, name, field, None, tree);
        }
        reader.expect_map(field, &["path", "deadline", "constant"]);
        let Some(path) = field.get("path") else {
            reader.error(field, "the target has no path", "write {path: [A, B]}");
            return None;
        };
        self.target(reader, name, &path, Some(field), tree)
    }

    fn target(
        &self,
        reader: &mut Reader,
        name: &str,
        path: &Field<'a>,
        own: Option<&Field<'a>>,
        tree: &mut Tree,
    ) -> Option<GraphTarget> {
        let mut time = |key| {
            let own = own.and_then(|field| fine(reader, field, key, parse_time_ps));
            own.or_else(|| fine(reader, self.field, key, parse_time_ps)).map(Picos)
        };
        let (deadline, constant) = (time("deadline"), time("constant").unwrap_or(Picos(0)));
        let mut servers = Vec::new();
        for item in reader.list(path)? {
            let text = reader.text(&item)?;
            let Some(index) = self.names.get(text) else {
                let hint = reader.meant(text, self.names.keys().copied()).unwrap_or_default();
                reader.error(&item, &format!("there is no server `{}`", shown(text)), &hint);
                return None;
            };
            servers.push(*index);
        }
        if servers.is_empty() {
            reader.error(path, "the path is empty", "name the servers from source to target");
            return None;
        }
        let name_of = |server| {
            let found = self.names.iter().find(|(_, index)| **index == server);
            found.map_or("?", |(name, _)| name)
        };
        match tree.add(&servers) {
            Ok(visit) => Some(GraphTarget { name: name.to_owned(), visit, deadline, constant }),
            Err(TreeError::Twice(server)) => {
                let message = format!("the path visits `{}` twice", name_of(server));
                reader.error(path, &message, "leave the detour out");
                None
            }
            Err(TreeError::Rejoins(server)) => {
                let message = format!("another path comes to `{}` another way", name_of(server));
                let hint = "the paths of a flow part and never meet again: write another flow";
                reader.error(path, &message, hint);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write_servers;

    const SMALL: &str = "tenuto_servers: 1
name: small
servers:
  a: {service: [{rate: 4 Mbit/s, latency: 10 us}, {rate: 50 Mbit/s, latency: 1 ms}], line: {burst: 0 bit, rate: 100 Mbit/s}}
  b: {service: {rate: 4 Mbit/s, latency: 0 us}, multiplexing: arbitrary, packet: 50 B}
  \"c:1 > d\": {service: {rate: 4710605.379978 bit/s, latency: 1 ps}}
flows:
  f:
    arrival: [{burst: 10 B, rate: 10 kbit/s}, {burst: 2 kB, rate: 0.5 kbit/s}]
    deadline: 5 ms
    targets: {p0: [a, b], p1: {path: [a, \"c:1 > d\"], deadline: 1 ms, constant: 3 us}}
  g: {arrival: {burst: 10 B, rate: 0 bit/s}, path: [b]}
";

    #[test]
    fn a_graph_reads_as_written_and_writes_as_read() {
        let (graph, warnings) = read_servers(SMALL, "s.yaml").unwrap_or_else(|e| panic!("{e}"));
        assert!(warnings.is_empty());
        assert_eq!(graph.servers[0].service[1].latency, Picos(1_000_000_000));
        assert_eq!(graph.servers[1].packet_ubit, 400_000_000);
        assert_eq!(graph.flows[0].arrival[0].burst_ubit, 80_000_000);
        assert_eq!(graph.flows[0].visits.len(), 3, "a is visited once");
        assert_eq!(graph.path(0, 1), [0, 2]);
        let deadlines: Vec<_> = graph.flows[0].targets.iter().map(|t| t.deadline).collect();
        assert_eq!(deadlines, [Some(Picos(5_000_000_000)), Some(Picos(1_000_000_000))]);
        assert_eq!(graph.flows[1].targets[0].name, "b");
        let again = read_servers(&write_servers(&graph), "again.yaml");
        assert_eq!(again.map(|(graph, _)| graph).as_ref(), Ok(&graph));
    }

    #[test]
    fn mistakes_have_their_line_and_say_what_was_meant() {
        for (from, to, line, words) in [
            (
                "rate: 4 Mbit/s, latency: 10",
                "rate: 4 Mbps, latency: 10",
                4,
                "did you mean 4 Mbit/s",
            ),
            ("burst: 10 B, rate: 10", "burst: 10 b, rate: 10", 9, "did you mean 10 bit"),
            ("latency: 0 us", "lattency: 0 us", 5, "did you mean latency"),
            ("latency: 1 ps", "latency: 0.5 ps", 6, "not whole in ps"),
            ("p0: [a, b]", "p0: [a, bb]", 11, "there is no server `bb`"),
            ("p0: [a, b]", "p0: [a, b, a]", 11, "visits `a` twice"),
            ("path: [a, \"c:1", "path: [b, \"c:1", 11, "another path comes to `b`"),
            ("path: [b]}", "path: []}", 12, "the path is empty"),
            ("arbitrary", "lifo", 5, "none of the choices"),
            ("name: small", "nam: small", 2, "key `nam` is not known"),
        ] {
            let text = SMALL.replacen(from, to, 1);
            let problems = read_servers(&text, "s.yaml").expect_err(words);
            let found = problems.iter().find(|d| d.to_string().contains(words));
            assert!(found.is_some(), "{words}: {problems}");
            assert_eq!(found.and_then(|d| d.line), Some(line), "{problems}");
        }
        for nothing in ["", "[]", "tenuto: 1", "tenuto_servers: 2", "tenuto_servers: 1"] {
            assert!(read_servers(nothing, "s.yaml").is_err());
        }
    }
}
