//! The FIFO benchmark of RTNS 2022 as JSON: rate-latency servers, token buckets, no units.

use super::server_draft::{PathParts, ServerDraft, WithoutUnits};
use super::{Import, json};
use crate::read::reader::{Field, shown};
use tenuto_calculus::{Bucket, GraphServer, Multiplexing, RateLatency, ServerGraph};

/// The server graph of the file.
pub(super) fn read(it: &mut Import<'_>) -> Option<ServerGraph> {
    let node = json::parse(it)?;
    let top = json::top(&node);
    let known = ["name", "multiplexing", "servers", "turns", "flows", "published_delay_bounds"];
    json::unread(&mut it.reader, &top, &known);
    let name = top.get("name").and_then(|f| it.reader.text(&f).map(str::to_owned));
    let mut draft = ServerDraft::new(&name.unwrap_or_else(|| it.stem()));
    it.note(WithoutUnits::NOTE);
    let words = [("FIFO", Multiplexing::Fifo), ("ARBITRARY", Multiplexing::Arbitrary)];
    let multiplexing = top
        .get("multiplexing")
        .and_then(|field| it.reader.choice(&field, &words))
        .unwrap_or_default();
    for server in json::items(&mut it.reader, &top, "servers") {
        json::unread(&mut it.reader, &server, &["name", "latency", "rate"]);
        let name = json::text(&mut it.reader, &server, "name").map(str::to_owned);
        let (Some(name), Some(piece)) = (name, service(it, &server)) else { continue };
        let server_parts =
            GraphServer { name, service: vec![piece], line: None, multiplexing, packet_ubit: 0 };
        draft.server(it, server_parts, server.node.place);
    }
    for flow in json::items(&mut it.reader, &top, "flows") {
        json::unread(&mut it.reader, &flow, &["name", "burst", "rate", "path"]);
        read_flow(it, &mut draft, &flow);
    }
    if top.get("published_delay_bounds").is_some() {
        it.note("published bounds are left out: they are not part of the network");
    }
    if top.get("turns").is_some() {
        it.note("turns are left out: the paths of the flows say where they go");
    }
    Some(draft.finish(it))
}

fn service(it: &mut Import<'_>, server: &Field<'_>) -> Option<RateLatency> {
    let rate = json::need(&mut it.reader, server, "rate")?;
    let latency = json::need(&mut it.reader, server, "latency")?;
    let (rate, latency) =
        (json::decimal(&mut it.reader, &rate)?, json::decimal(&mut it.reader, &latency)?);
    let piece = WithoutUnits::rate_latency(rate, latency);
    if piece.is_none() {
        it.reader.error(server, "rate or latency are too large", "at most 10^7");
    }
    piece
}

fn read_flow(it: &mut Import<'_>, draft: &mut ServerDraft, flow: &Field<'_>) {
    let place = flow.node.place;
    let name = json::text(&mut it.reader, flow, "name").map(str::to_owned);
    let (Some(name), Some(arrival)) = (name, arrival(it, flow)) else { return };
    let Some(path) = json::need(&mut it.reader, flow, "path") else { return };
    let names = it.reader.texts(&path).unwrap_or_default();
    let servers: Option<Vec<usize>> =
        names.iter().map(|name| draft.index(it, name, path.node.place)).collect();
    let Some(servers) = servers else { return };
    let Some(last) = names.last() else {
        it.warn(path.node.place, format!("flow `{}` has an empty path", shown(&name)), "left out");
        return;
    };
    let target = PathParts { name: (*last).to_owned(), servers, deadline: None, place };
    draft.flow(it, &name, vec![arrival], vec![target], place);
}

fn arrival(it: &mut Import<'_>, flow: &Field<'_>) -> Option<Bucket> {
    let burst = json::need(&mut it.reader, flow, "burst")?;
    let rate = json::need(&mut it.reader, flow, "rate")?;
    let (burst, rate) =
        (json::decimal(&mut it.reader, &burst)?, json::decimal(&mut it.reader, &rate)?);
    let bucket = WithoutUnits::bucket(burst, rate);
    if bucket.is_none() {
        it.reader.error(flow, "burst or rate are too large", "at most 10^7");
    }
    bucket
}
