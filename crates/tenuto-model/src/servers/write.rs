//! Writing a server graph as YAML that reads back to the identical value.

use crate::quantity::{format_data_ubit, format_rate_ubps, format_time_ps};
use crate::write::yaml_scalar;
use std::fmt::Write;
use tenuto_calculus::{Bucket, GraphFlow, GraphServer, Multiplexing, ServerGraph};

/// The graph as a file.
///
/// [`crate::read_servers`] of the text is the identical graph, for any graph that was read or
/// imported: numbers up to the limits of the file format.
pub fn write_servers(graph: &ServerGraph) -> String {
    let mut out = format!("tenuto_servers: 1\nname: {}\n", yaml_scalar(&graph.name));
    out.push_str(if graph.servers.is_empty() { "servers: {}\n" } else { "servers:\n" });
    for server in &graph.servers {
        write_server(&mut out, server);
    }
    out.push_str(if graph.flows.is_empty() { "flows: {}\n" } else { "flows:\n" });
    for (index, flow) in graph.flows.iter().enumerate() {
        write_flow(&mut out, graph, index, flow);
    }
    out
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("writing to a string");
}

fn fine(value: i128) -> u64 {
    u64::try_from(value).unwrap_or(if value < 0 { 0 } else { u64::MAX })
}

fn write_server(out: &mut String, server: &GraphServer) {
    let piece = |it: &tenuto_calculus::RateLatency| {
        let rate = format_rate_ubps(fine(it.rate_ubps));
        format!("{{rate: {rate}, latency: {}}}", format_time_ps(fine(it.latency.0)))
    };
    let service: Vec<String> = server.service.iter().map(piece).collect();
    line(out, &format!("  {}:", yaml_scalar(&server.name)));
    line(out, &format!("    service: [{}]", service.join(", ")));
    if let Some(bucket) = server.line {
        line(out, &format!("    line: {}", write_bucket(bucket)));
    }
    let multiplexing = match server.multiplexing {
        Multiplexing::Fifo => "fifo",
        Multiplexing::Arbitrary => "arbitrary",
    };
    line(out, &format!("    multiplexing: {multiplexing}"));
    if server.packet_ubit > 0 {
        line(out, &format!("    packet: {}", format_data_ubit(fine(server.packet_ubit))));
    }
}

fn write_bucket(bucket: Bucket) -> String {
    let burst = format_data_ubit(fine(bucket.burst_ubit));
    format!("{{burst: {burst}, rate: {}}}", format_rate_ubps(fine(bucket.rate_ubps)))
}

fn write_flow(out: &mut String, graph: &ServerGraph, index: usize, flow: &GraphFlow) {
    let arrival: Vec<String> = flow.arrival.iter().map(|it| write_bucket(*it)).collect();
    line(out, &format!("  {}:", yaml_scalar(&flow.name)));
    line(out, &format!("    arrival: [{}]", arrival.join(", ")));
    line(out, "    targets:");
    for (at, target) in flow.targets.iter().enumerate() {
        let name = |server: usize| yaml_scalar(&graph.servers[server].name);
        let path: Vec<String> = graph.path(index, at).into_iter().map(name).collect();
        let mut text = format!("path: [{}]", path.join(", "));
        for (key, value) in [("deadline", target.deadline), ("constant", Some(target.constant))] {
            if let Some(value) = value.filter(|v| key == "deadline" || v.0 > 0) {
                write!(text, ", {key}: {}", format_time_ps(fine(value.0))).expect("a string");
            }
        }
        line(out, &format!("      {}: {{{text}}}", yaml_scalar(&target.name)));
    }
}
