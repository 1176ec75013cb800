//! End-to-end bounds of steady modes and raises: one server graph per class, and the linear proofs
//! on it (theory, "Whole paths" and "Whole paths in a raise").

mod class_graph;
mod processor_graph;
mod reach;

use crate::analysis::Analysis;
use crate::outlook::Outlook;
use class_graph::ClassGraph;
use std::collections::BTreeMap;
use tenuto_bounds::{Effort, Executor};
use tenuto_model::{Transition, WholePathProof};

/// How far to look for bounds of whole paths; in sizes, so that the answer is always the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Egress ports that one linear program may look at.
    pub servers_max: usize,
    /// Whether to try larger programs after the polynomial one.
    pub is_thorough: bool,
    /// Inequalities that all programs of a class together may have; with more than two modes their
    /// raises share that of three analyses.
    pub rows_total_max: usize,
}

impl Default for Search {
    fn default() -> Self {
        Self { servers_max: 12, is_thorough: false, rows_total_max: 1_000_000 }
    }
}

/// What the checker's exact numbers may differ from the planner's rounded ones costs less.
const MARGIN_PS: i128 = 1_000;

/// A proved bound of one copy to one target.
#[derive(Clone, Debug)]
pub(crate) struct WholePath {
    pub(crate) delay_ps: u64,
    pub(crate) proof: WholePathProof,
    /// Nodes behind the root on the longest branch of its tree.
    pub(crate) nodes_behind_root: usize,
}

/// By mode, tree and place of the target.
pub(crate) type WholePaths = BTreeMap<(Transition, usize, usize), WholePath>;

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
        ..tenuto_bounds::Options::default()
    };
    let mut found = WholePaths::new();
    for result in &analysis.results {
        let mut classes: Vec<u8> =
            result.scene.shares.iter().flat_map(|share| share.classes.iter().copied()).collect();
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
    result: &Outlook,
    (options, executor): (&tenuto_bounds::Options, &dyn Executor),
    found: &mut WholePaths,
    progress: &mut dyn FnMut(usize, usize),
) {
    let delays = of.delays.clone();
    let proved = tenuto_bounds::tighten(&of.graph, delays, options, executor, &mut |step| {
        progress(step.done, step.total);
    });
    for (bound, proof) in proved.bounds.iter().zip(&proved.proofs.linear) {
        let (Some(delay), Some(proof)) = (bound.delay, proof) else { continue };
        let (tree, place) = of.targets[bound.flow][bound.target];
        let Ok(delay_ps) = u64::try_from(delay.0 + MARGIN_PS) else { continue };
        let proof = proof
            .renamed(|flow, visit| (of.trees[flow], of.graph.flows[flow].visits[visit].server));
        let Ok(linear) = serde_json::to_value(&proof) else { continue };
        let nodes_behind_root = proof.nodes_behind_root();
        let proof = WholePathProof { method: bound.method.to_string(), linear };
        let whole = WholePath { delay_ps, proof, nodes_behind_root };
        let of = (result.scene.transition, tree, place);
        if found.get(&of).is_none_or(|before| whole.delay_ps < before.delay_ps) {
            found.insert(of, whole);
        }
    }
}
