//! The random feed-forward networks of [SSB22], with the bounds that were published for them.

use std::path::{Path, PathBuf};
use tenuto_bounds::{Bucket, Multiplexing, RateLatency, ServerGraph};
use tenuto_units::Picos;

/// A network and, per flow, the published bounds in seconds by method.
pub(crate) struct Published {
    pub(crate) graph: ServerGraph,
    pub(crate) bounds: Vec<serde_json::Value>,
}

/// One of the networks; `None` where the data is not there.
#[allow(clippy::disallowed_methods, reason = "a test reads its data")]
pub(crate) fn load(number: usize) -> Option<Published> {
    let root = std::env::var("TENUTO_DATA").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data").to_owned()
    });
    read(&PathBuf::from(root).join(format!("nc-fifo-rtns2022/random_ff_{number}.json")))
}

/// The network in a file; `None` where the file is not there.
#[allow(clippy::disallowed_methods, reason = "a test reads its data")]
pub(crate) fn read(path: &Path) -> Option<Published> {
    let text = std::fs::read_to_string(path).ok()?;
    let data: serde_json::Value = serde_json::from_str(&text).expect("the data is JSON");
    let servers = data["servers"].as_array().expect("servers");
    let name = |v: &serde_json::Value| v["name"].as_str().expect("a name").to_owned();
    let names: Vec<String> = servers.iter().map(name).collect();
    let flows = data["flows"].as_array().expect("flows");
    let graph = ServerGraph {
        name: name(&data),
        servers: servers.iter().map(server).collect(),
        flows: flows.iter().map(|flow| self::flow(flow, &names)).collect(),
    };
    let published = |flow: &serde_json::Value| data["published_delay_bounds"][name(flow)].clone();
    let bounds = flows.iter().map(published).collect();
    Some(Published { graph, bounds })
}

/// Dimensionless, times 10¹²: rounding then stays below 10⁻¹¹ of every number.
fn scaled(value: &serde_json::Value) -> i128 {
    #[allow(clippy::cast_possible_truncation, reason = "numbers of the data are small")]
    let scaled = (value.as_f64().expect("a number") * 1e12).round() as i128;
    scaled
}

fn server(server: &serde_json::Value) -> tenuto_bounds::GraphServer {
    tenuto_bounds::GraphServer {
        name: server["name"].as_str().expect("a name").to_owned(),
        service: vec![RateLatency {
            rate_ubps: scaled(&server["rate"]),
            latency: Picos(scaled(&server["latency"])),
        }],
        line: None,
        multiplexing: Multiplexing::Fifo,
        packet_ubit: 0,
    }
}

fn flow(flow: &serde_json::Value, names: &[String]) -> tenuto_bounds::GraphFlow {
    let at = |v: &serde_json::Value| {
        names.iter().position(|n| Some(n.as_str()) == v.as_str()).expect("a server")
    };
    let path: Vec<usize> = flow["path"].as_array().expect("a path").iter().map(at).collect();
    let arrival = Bucket { burst_ubit: scaled(&flow["burst"]), rate_ubps: scaled(&flow["rate"]) };
    super::unicast(flow["name"].as_str().expect("a name").to_owned(), arrival, &path)
}
