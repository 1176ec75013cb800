//! End-to-end bounds of steady modes and raises: one server graph per class, and the linear proofs
//! on it (theory, "Whole paths" and "Whole paths in a raise").

use super::class_graph::ClassGraph;
use super::processor_graph;
use super::whole_path::{WholePath, WholePaths};
use crate::analysis::context::Analysis;
use crate::analysis::mode_result::ModeResult;
use crate::options::WholePaths as Search;
use tenuto_bounds::{Effort, Executor};
use tenuto_model::WholePathProof;

/// What the checker's exact numbers may differ from the planner's rounded ones costs less.
const MARGIN_PS: i128 = 1_000;

/// The bounds of every steady mode and raise that beat the sums of hops.
pub(crate) fn whole_paths(
    analysis: &Analysis<'_>,
    search: Search,
    executor: &dyn Executor,
    progress: &mut dyn FnMut(usize, usize),
) -> WholePaths {
    let shares = analysis.results.len().div_ceil(3).max(1);
    let options = &tenuto_bounds::Options {
        line_shaping: analysis.ports.options.line_shaping,
        effort: if search.is_thorough { Effort::Tight } else { Effort::Plp },
        tree_servers_max: search.servers_max,
        rows_total_max: search.rows_total_max / shares,
        whole_servers_max: 0,
        ..tenuto_bounds::Options::default()
    };
    let mut found = WholePaths::new();
    for result in &analysis.results {
        let mut classes: Vec<u8> = result
            .mode_input
            .shares
            .iter()
            .flat_map(|share| share.classes.iter().copied())
            .collect();
        classes.sort_unstable();
        classes.dedup();
        for class in classes {
            let of = ClassGraph::new(analysis, result, class);
            on(&of, result, (options, executor), &mut found, progress);
        }
        if let Some(of) = processor_graph::of_network(analysis, result) {
            // Every hop is two servers there.
            let tree_servers_max = 2 * options.tree_servers_max;
            let options = &tenuto_bounds::Options { tree_servers_max, ..*options };
            on(&of, result, (options, executor), &mut found, progress);
        }
    }
    found
}

/// Keeps what is proved on a graph, unless another proves less.
fn on(
    of: &ClassGraph,
    result: &ModeResult,
    (options, executor): (&tenuto_bounds::Options, &dyn Executor),
    found: &mut WholePaths,
    progress: &mut dyn FnMut(usize, usize),
) {
    let delays = of.delays.clone();
    let proved = tenuto_bounds::tighten(&of.graph, delays, options, executor, &mut |step| {
        progress(step.done, step.total);
    });
    for (bound, proof) in proved.bounds.iter().zip(&proved.proofs.linear) {
        // What is said of the windows of a raise knows no date of an entry (theory, "Whole paths in a
        // raise"), and a class is served in order: the checker takes no proof for any order.
        let proof = proof.as_ref().filter(|proof| !proof.is_for_any_order());
        let (Some(delay), Some(proof)) = (bound.delay, proof) else { continue };
        let (tree, place) = of.targets[bound.flow][bound.target];
        let Ok(delay_ps) = u64::try_from(delay.0 + MARGIN_PS) else { continue };
        let proof = proof
            .renamed(|flow, visit| (of.trees[flow], of.graph.flows[flow].visits[visit].server));
        let Ok(linear) = serde_json::to_value(&proof) else { continue };
        let nodes_behind_root = proof.nodes_behind_root();
        let proof = WholePathProof { method: bound.method.to_string(), linear };
        let whole = WholePath { delay_ps, proof, nodes_behind_root };
        let of = (result.mode_input.transition, tree, place);
        if found.get(&of).is_none_or(|before| whole.delay_ps < before.delay_ps) {
            found.insert(of, whole);
        }
    }
}
