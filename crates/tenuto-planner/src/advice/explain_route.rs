//! Why a flow takes the way it takes: the others, each analysed with everything else as it is.

use crate::analysis::context::Analysis;
use crate::analysis::mode_result::ModeResult;
use crate::options::Options;
use crate::output::rows;
use crate::passes::analysed::with_analysis;
use crate::passes::verdict::{delay_ps, verdict};
use crate::routes::{Plot, Routes, Tree};
use serde::Serialize;
use tenuto_calculus::UBIT_PER_BIT;
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
    /// The largest bound to any target in any mode or raise that promises one, by sums of hops,
    /// picoseconds.
    pub delay_bound_ps: Option<u64>,
    /// Whether the bound follows from the plan, which a checker may have accepted; the bounds of ways
    /// that the plan does not take were checked by nobody.
    pub is_certified: bool,
    /// The fullest port on it: `sw1:3 > sw2`.
    pub fullest_port: String,
    /// The largest load of that port in any mode or raise, parts per million.
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
    let loads = tree.hops.iter().map(|hop| (load_ppm(analysis, hop.server), hop.server));
    let fullest = loads.max_by_key(|&(ppm, server)| (ppm, std::cmp::Reverse(server)));
    let name = |&hop: &usize| {
        let peer = topology.servers[tree.hops[hop].server].peer;
        topology.nodes[peer].name.to_owned()
    };
    let way = |path: &Vec<usize>| {
        let source = std::iter::once(flow.source.clone());
        source.chain(path.iter().map(name)).collect()
    };
    let mut bound = Some(0);
    let promised = |result: &&ModeResult| rows::is_guaranteed(flow, result.mode_input.transition);
    for result in analysis.results.iter().filter(promised) {
        for place in 0..tree.paths.len() {
            let own = delay_ps(analysis, result, index, place);
            bound = bound.zip(own).map(|(most, own): (u128, u128)| most.max(own));
        }
    }
    ExplainedRoute {
        copy: tree.copy.map(|copy| flow.copies[copy].clone()),
        chosen,
        is_certified: chosen.is_some(),
        ways: tree.paths.iter().map(way).collect(),
        delay_bound_ps: bound.and_then(|ps| u64::try_from(ps).ok()),
        fullest_port: fullest.map_or_else(String::new, |(_, server)| topology.label(server)),
        fullest_ppm: fullest.map_or(0, |(ppm, _)| ppm),
        is_kept: verdict(analysis).pain == 0,
    }
}

/// The largest load of a port in any mode or raise.
fn load_ppm(analysis: &Analysis<'_>, server: usize) -> u64 {
    let ports = &analysis.ports;
    let rates = analysis.results.iter().map(|it| ports.rate_ubps(server, &it.mode_input, u8::MAX));
    let capacity = i128::from(ports.topology.servers[server].rate_bps) * UBIT_PER_BIT;
    let ppm = rates.max().unwrap_or(0).saturating_mul(1_000_000) / capacity.max(1);
    u64::try_from(ppm).unwrap_or(u64::MAX)
}
