//! `tenuto check NET`: every problem at once, or what the network is.

use crate::args::Check;
use crate::failure::{Failure, Problem};
use crate::header::Header;
use crate::outcome::Outcome;
use crate::{load, output};
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    header: Header,
    network: &'a str,
    modes: &'a [String],
    networks: &'a [String],
    hosts: usize,
    switches: usize,
    links: usize,
    flows: usize,
    targets: usize,
    problems: Vec<Problem<'a>>,
}

/// The document of a server graph.
#[derive(Serialize)]
struct ServersDocument<'a> {
    #[serde(flatten)]
    header: Header,
    network: &'a str,
    servers: usize,
    flows: usize,
    targets: usize,
    problems: Vec<Problem<'a>>,
}

pub(crate) fn run(args: &Check) -> Result<Outcome, Failure> {
    if load::is_servers(&args.network)? {
        return servers(args);
    }
    let (network, warnings) = load::network_quiet(&args.network)?;
    if !warnings.is_empty() {
        output::complain(&warnings.to_string());
    }
    // A scenario beside the network is part of what will be read.
    load::scenario(None, Some(&args.network), &network, true)?;
    if !args.json {
        output::say(&tenuto_model::summary(&network))?;
        return Ok(Outcome::Good);
    }
    output::say_json(&Document {
        header: Header::new("tenuto-check/1", "consistent"),
        network: &network.name,
        modes: &network.modes,
        networks: &network.networks,
        hosts: network.hosts.len(),
        switches: network.switches.len(),
        links: network.links.len(),
        flows: network.flows.len(),
        targets: network.flows.iter().map(|flow| flow.targets.len()).sum(),
        problems: warnings.iter().map(Problem::from).collect(),
    })?;
    Ok(Outcome::Good)
}

fn servers(args: &Check) -> Result<Outcome, Failure> {
    let graph = load::servers(&args.network)?;
    if !args.json {
        output::say(&tenuto_model::servers_summary(&graph))?;
        return Ok(Outcome::Good);
    }
    output::say_json(&ServersDocument {
        header: Header::new("tenuto-check/1", "consistent"),
        network: &graph.name,
        servers: graph.servers.len(),
        flows: graph.flows.len(),
        targets: graph.flows.iter().map(|flow| flow.targets.len()).sum(),
        problems: Vec::new(),
    })?;
    Ok(Outcome::Good)
}
