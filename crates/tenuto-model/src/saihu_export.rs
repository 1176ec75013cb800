//! Writing a server graph as Saihu's output-port JSON.

use serde_json::{Map, Value, json};
use tenuto_calculus::{Multiplexing, ServerGraph};

/// The graph as Saihu reads it; [`crate::import`] reads it back.
///
/// `packets_ubit` is the largest packet of each flow; without it, the largest of the servers that
/// the flow visits, so that no server's packet comes out smaller. What Saihu cannot say is left
/// out: deadlines and constant delays.
pub fn write_saihu(graph: &ServerGraph, packets_ubit: Option<&[i128]>) -> String {
    let has_lines = graph.servers.iter().any(|server| server.line.is_some());
    let has_packets = graph.servers.iter().any(|server| server.packet_ubit > 0);
    let options: &[&str] = if has_lines { &["IS"] } else { &[] };
    let servers: Vec<Value> = graph.servers.iter().map(server).collect();
    let packet = |index: usize| {
        let visited = graph.flows[index].visits.iter().map(|v| graph.servers[v.server].packet_ubit);
        let stated = packets_ubit.and_then(|packets| packets.get(index)).copied();
        stated.unwrap_or_else(|| visited.max().unwrap_or(0))
    };
    let flows: Vec<Value> = (0..graph.flows.len())
        .map(|index| flow(graph, index, has_packets.then(|| packet(index))))
        .collect();
    let document = json!({
        "network": {
            "name": graph.name,
            "packetizer": has_packets,
            "multiplexing": "FIFO",
            "analysis_option": options,
            "time_unit": "us",
            "data_unit": "b",
            "rate_unit": "bps",
        },
        "flows": flows,
        "servers": servers,
    });
    let mut text = serde_json::to_string_pretty(&document).expect("keys are texts");
    text.push('\n');
    text
}

/// Millionths of a unit, exact.
fn millionths(value: i128, unit: &str) -> String {
    let (whole, rest) = (value.div_euclid(1_000_000), value.rem_euclid(1_000_000));
    if rest == 0 {
        return format!("{whole}{unit}");
    }
    format!("{whole}.{}{unit}", format!("{rest:06}").trim_end_matches('0'))
}

fn server(server: &tenuto_calculus::GraphServer) -> Value {
    let latencies: Vec<String> =
        server.service.iter().map(|piece| millionths(piece.latency.0, "us")).collect();
    let rates: Vec<String> =
        server.service.iter().map(|piece| millionths(piece.rate_ubps, "bps")).collect();
    let mut value = Map::new();
    value.insert("name".into(), json!(server.name));
    value.insert("service_curve".into(), json!({"latencies": latencies, "rates": rates}));
    if let Some(line) = server.line {
        value.insert("capacity".into(), json!(millionths(line.rate_ubps, "bps")));
    }
    if server.multiplexing == Multiplexing::Arbitrary {
        value.insert("multiplexing".into(), json!("ARBITRARY"));
    }
    Value::Object(value)
}

fn flow(graph: &ServerGraph, index: usize, packet_ubit: Option<i128>) -> Value {
    let flow = &graph.flows[index];
    let bursts: Vec<String> =
        flow.arrival.iter().map(|bucket| millionths(bucket.burst_ubit, "b")).collect();
    let rates: Vec<String> =
        flow.arrival.iter().map(|bucket| millionths(bucket.rate_ubps, "bps")).collect();
    let path = |target: usize| -> Vec<&str> {
        let path = graph.path(index, target);
        path.into_iter().map(|server| graph.servers[server].name.as_str()).collect()
    };
    let mut value = Map::new();
    value.insert("name".into(), json!(flow.name));
    value.insert("path".into(), json!(path(0)));
    value.insert("path_name".into(), json!(flow.targets[0].name));
    let more = flow.targets.iter().enumerate().skip(1);
    let more: Vec<Value> =
        more.map(|(at, target)| json!({"name": target.name, "path": path(at)})).collect();
    if !more.is_empty() {
        value.insert("multicast".into(), json!(more));
    }
    value.insert("arrival_curve".into(), json!({"bursts": bursts, "rates": rates}));
    if let Some(packet) = packet_ubit {
        value.insert("max_packet_length".into(), json!(millionths(packet, "b")));
    }
    Value::Object(value)
}
