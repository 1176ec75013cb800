//! Flows that come to a network that has been read.

use super::flows::{FlowLayers, read_flow};
use super::network::{Draft, FLOWS_MAX};
use super::reader::{Field, Reader, shown};
use crate::check::judge;
use crate::yaml::Value;
use crate::{Diagnostics, Flow, Network};
use std::collections::BTreeSet;

/// Reads further flows into a network that has been read: `added` is a path that problems name, and a map of
/// flows by name as `flows` of a network file has it. What a flow leaves out is taken from the defaults of
/// `file`, the text of the network file, and what has no priority gets the class that is next to it by its
/// period; flows that are there stay as they are.
///
/// # Errors
/// Every problem of the added flows, and of the network with them.
pub fn read_flows(
    network: &Network,
    file: &str,
    added: (&str, &str),
) -> Result<(Network, Diagnostics), Diagnostics> {
    let mut reader = Reader::default();
    let base = reader.parse("the network file", file);
    let default = base.iter().find_map(|node| node.get("defaults")?.get("flow"));
    let default = default.map(|node| Field { node, path: "defaults.flow".to_owned() });
    let documents = reader.parse(added.0, added.1);
    reader.expect_one(&documents);
    let Some(node) = documents.first() else {
        if !reader.diagnostics.has_errors() {
            reader.report_file(added.0, "there is no flow", "write {F1: {source: h1, …}}");
        }
        return Err(reader.diagnostics);
    };
    let flows = Field { node, path: "flows".to_owned() };
    if !matches!(node.value, Value::Map(_)) {
        reader.error(&flows, "flows are a map by name", "write {F1: {source: h1, …}}");
        return Err(reader.diagnostics);
    }
    let mut draft = Draft { network: network.clone(), ..Draft::new(&network.name) };
    draft.names = names_of(network);
    for (name, field) in flows.pairs() {
        if network.flows.iter().any(|flow| flow.name == name) {
            let message = format!("there is a flow `{}` already", shown(name));
            reader.error(&field, &message, "change that one, or take another name");
            continue;
        }
        let own = Some(field.clone());
        read_flow(
            &mut reader,
            &FlowLayers { name, own, row: None, default: default.clone() },
            &mut draft,
        );
    }
    if draft.network.flows.len() > FLOWS_MAX {
        reader.error(&flows, "there are too many flows", "at most 65000 can be numbered");
        return Err(reader.diagnostics);
    }
    rank_beside(&mut draft);
    judge(&mut reader, &draft);
    reader.finish(Some(draft.network))
}

fn names_of(network: &Network) -> BTreeSet<String> {
    let hosts = network.hosts.iter().map(|host| &host.name);
    let switches = network.switches.iter().map(|switch| &switch.name);
    let controllers = network.controllers.iter().map(|controller| &controller.name);
    hosts.chain(switches).chain(controllers).cloned().collect()
}

/// Gives flows without a priority a class that others have: the lowest of those whose period is no longer.
fn rank_beside(draft: &mut Draft) {
    let Draft { network, unranked, .. } = draft;
    let class = |flow: &Flow| (flow.highest().period_ns, flow.highest().priority);
    let is_ranked = |flow: &&Flow| !unranked.contains(&flow.name);
    let ranked: Vec<(u64, u8)> = network.flows.iter().filter(is_ranked).map(class).collect();
    for flow in network.flows.iter_mut().filter(|flow| unranked.contains(&flow.name)) {
        let period_ns = flow.highest().period_ns;
        let before = ranked.iter().filter(|(other, _)| *other <= period_ns);
        flow.set_priority(before.map(|(_, class)| *class).max().unwrap_or(0));
    }
}
