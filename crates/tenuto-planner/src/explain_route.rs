//! Why a flow takes the way it takes: the others, each analysed with everything else as it is.

use crate::Options;
use crate::analysis::{Analysis, with_analysis};
use crate::routing::{Load, Plot, Routes, Tree, delay_ps, verdict};
use serde::Serialize;
use tenuto_model::Chosen;

/// Other ways that are shown per copy.
const OTHERS_MAX: usize = 3;

/// One way of one copy of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainedRoute {
    /// Redundant network or copy, where there are several.
    pub copy: Option<String>,
    /// Why it is the plan's; `None` for a way that the plan does not take.
    pub chosen: Option<Chosen>,
    /// Per target, the nodes from source to target.
    pub ways: Vec<Vec<String>>,
    /// The largest bound to any target in any mode or raise, by sums of hops, picoseconds.
    pub delay_bound_ps: Option<u64>,
    /// The fullest port on it: `sw1:3 > sw2`.
    pub fullest_port: String,
    /// Its load by the highest contracts, parts per million.
    pub fullest_ppm: u64,
    /// Whether all loads, deadlines and buffers of the network are kept with it.
    pub is_kept: bool,
}

/// The way of every copy of a flow, and the shortest ones around each of its links.
pub(crate) fn explained(
    analysis: &Analysis<'_>,
    routes: &Routes,
    options: &Options,
    flow: usize,
) -> Vec<ExplainedRoute> {
    let topology = analysis.ports.topology;
    let plot = Plot::of_routes(topology, routes);
    let mut all = Vec::new();
    for (index, tree) in routes.trees.iter().enumerate().filter(|(_, tree)| tree.flow == flow) {
        all.push(described(analysis, index, Some(routes.chosen[index])));
        let others = match routes.chosen[index] {
            Chosen::Fixed => Vec::new(),
            _ => plot.others(&routes.trees, index, OTHERS_MAX),
        };
        for other in others {
            let mut trees = routes.trees.clone();
            trees[index] = Tree { copy: tree.copy, ..other };
            all.push(with_analysis(topology, &trees, options, &mut |_| (), |analysis, _| {
                described(&analysis, index, None)
            }));
        }
    }
    all
}

fn described(analysis: &Analysis<'_>, index: usize, chosen: Option<Chosen>) -> ExplainedRoute {
    let topology = analysis.ports.topology;
    let tree = &analysis.trees[index];
    let flow = &topology.network.flows[tree.flow];
    let load = Load::of(topology, analysis.trees);
    let servers = tree.hops.iter().map(|hop| hop.server);
    let fullest = servers.max_by_key(|&server| (load.ppm()[server], std::cmp::Reverse(server)));
    let name = |&hop: &usize| {
        let peer = topology.servers[tree.hops[hop].server].peer;
        topology.nodes[peer].name.to_owned()
    };
    let way = |path: &Vec<usize>| {
        let source = std::iter::once(flow.source.clone());
        source.chain(path.iter().map(name)).collect()
    };
    let mut bound = Some(0);
    for result in &analysis.results {
        for place in 0..tree.paths.len() {
            let own = delay_ps(analysis, result, index, place);
            bound = bound.zip(own).map(|(most, own): (u128, u128)| most.max(own));
        }
    }
    ExplainedRoute {
        copy: tree.copy.map(|copy| flow.copies[copy].clone()),
        chosen,
        ways: tree.paths.iter().map(way).collect(),
        delay_bound_ps: bound.and_then(|ps| u64::try_from(ps).ok()),
        fullest_port: fullest.map_or_else(String::new, |server| topology.label(server)),
        fullest_ppm: fullest.map_or(0, |server| load.ppm()[server]),
        is_kept: verdict(analysis).pain == 0,
    }
}
