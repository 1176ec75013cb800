//! What the description of a server graph must say, apart from what every graph must.

use super::read::Document;
use crate::finding::{Findings, rule};
use crate::kernel::server_graph::Graph;
use std::collections::{BTreeMap, BTreeSet};

/// Lines or rate-latencies of one curve that are looked at.
const PIECES_MAX: usize = 64;

/// Servers of which a line is to carry more than its rate in the long term: what it lets through
/// and what comes contradict each other, and everything would follow.
pub(super) fn choked(graph: &Graph) -> BTreeSet<usize> {
    let mut loads: BTreeMap<(usize, usize), i128> = BTreeMap::new();
    for flow in &graph.flows {
        let rate = flow.arrival.iter().map(|bucket| bucket.rate_ubps).min().unwrap_or(0);
        for visit in &flow.visits {
            let Some(before) = visit.parent else { continue };
            let load = loads.entry((flow.visits[before].server, visit.server)).or_default();
            *load = load.saturating_add(rate);
        }
    }
    let carries = |server: usize, load: i128| {
        graph.servers[server].line.is_none_or(|line| load <= line.rate_ubps)
    };
    let more = loads.into_iter().filter(|&((from, _), load)| !carries(from, load));
    more.map(|((from, _), _)| from).collect()
}

/// What a bound is of is said by names, so each is one server's, flow's, or target's of a flow.
pub(super) fn names(graph: &Graph, findings: &Findings) {
    let unique = |what: &str, names: &mut dyn Iterator<Item = &String>| {
        let mut seen = BTreeSet::new();
        for name in names.filter(|name| !seen.insert(*name)) {
            findings.add(rule::DESCRIPTION, name, what, "the name is taken");
        }
    };
    unique("a server", &mut graph.servers.iter().map(|server| &server.name));
    unique("a flow", &mut graph.flows.iter().map(|flow| &flow.name));
    for flow in &graph.flows {
        unique("a target", &mut flow.targets.iter().map(|target| &target.name));
    }
}

/// Claims are of what there is.
pub(super) fn claims(document: &Document, findings: &Findings) {
    let graph = &document.description;
    if document.server_delays_ps.len() != graph.servers.len() {
        let found = format!("{} servers", graph.servers.len());
        findings.add(rule::FORMAT, "server_delays_ps", document.server_delays_ps.len(), found);
    }
    if document.server_delays_ps.iter().flatten().any(|d| *d < 0) {
        findings.add(rule::FORMAT, "server_delays_ps", "delays", "a number below zero");
    }
    for claim in &document.bursts {
        let visits = graph.flows.get(claim.flow).map_or(0, |flow| flow.visits.len());
        if claim.visit >= visits || claim.bucket.burst_ubit < 0 || claim.bucket.rate_ubps < 0 {
            let place = format!("burst of flow {}, visit {}", claim.flow, claim.visit);
            findings.add(rule::FORMAT, place, "a bucket", "no such visit, or a number below zero");
        }
    }
}

/// What every server and flow must be.
pub(super) fn check(graph: &Graph, findings: &Findings) {
    servers(graph, findings);
    flows(graph, findings);
}

fn servers(graph: &Graph, findings: &Findings) {
    for server in &graph.servers {
        let is_negative = server.service.iter().any(|s| s.rate_ubps < 0 || s.latency_ps < 0)
            || server.line.is_some_and(|l| l.burst_ubit < 0 || l.rate_ubps < 0)
            || server.packet_ubit < 0;
        if is_negative {
            findings.add(rule::DESCRIPTION, &server.name, "a server", "a number below zero");
        }
        if server.service.is_empty() || server.service.len() > PIECES_MAX {
            let found = format!("{} pieces; 1 to {PIECES_MAX}", server.service.len());
            findings.add(rule::DESCRIPTION, &server.name, "a service curve", found);
        }
    }
}

fn flows(graph: &Graph, findings: &Findings) {
    for flow in &graph.flows {
        let name = &flow.name;
        if flow.arrival.is_empty() || flow.arrival.len() > PIECES_MAX {
            let found = format!("{} pieces; 1 to {PIECES_MAX}", flow.arrival.len());
            findings.add(rule::DESCRIPTION, name, "an arrival curve", found);
        }
        if flow.arrival.iter().any(|b| b.burst_ubit < 0 || b.rate_ubps < 0) {
            findings.add(rule::DESCRIPTION, name, "an arrival curve", "a number below zero");
        }
        for (index, visit) in flow.visits.iter().enumerate() {
            let is_known = visit.server < graph.servers.len();
            if !is_known || visit.parent.is_some_and(|parent| parent >= index) {
                findings.add(rule::DESCRIPTION, name, format!("visit {index}"), "of no tree");
            }
        }
        for target in &flow.targets {
            if target.visit >= flow.visits.len() || target.constant_ps < 0 {
                let place = format!("{name} to {}", target.name);
                findings.add(rule::DESCRIPTION, place, "a target", "no visit, or constant below 0");
            }
        }
    }
}
