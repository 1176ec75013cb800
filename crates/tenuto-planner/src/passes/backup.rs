//! What holds after a link between switches is lost (theory, "After the loss of a link").
//!
//! Every flow that the link takes its way from gets another one, all at once; the rest stays. The
//! result is analysed as a state of its own, in every mode and mode change. Who carries the change out, and how long that
//! takes, is no part of it.

use crate::analysis::context::Analysis;
use crate::input::topology::Topology;
use crate::modes::{mode_change, witnesses};
use crate::options::{Options, Progress};
use crate::output::{deployment, processor_rows, refusal, rows};
use crate::passes::analysed::{judged, with_analysis};
use crate::refused;
use crate::routes::{Effort, Plot, Routes, Search, Tree, describe, improved};
use tenuto_bounds::InTurn;
use tenuto_model::{Chosen, LinkLoss, Network, Plan, Refusal};

/// Adds to a plan what holds after the loss of each link that carries a flow.
pub(crate) fn add(
    plan: &mut Plan,
    network: &Network,
    trees: &[Tree],
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) {
    let links = carrying(&Topology::new(network), trees);
    let mut quiet_ns = plan.quiet_ns;
    for (done, &link) in links.iter().enumerate() {
        progress(Progress::Losing { done, total: links.len() });
        let (loss, safe_ns) = after(network, link, trees, options);
        if let Some(refusal) = told(&loss) {
            plan.refusals.push(refusal);
            plan.feasible = false;
        }
        quiet_ns = quiet_ns.max(safe_ns);
        plan.link_losses.push(loss);
    }
    // One window for all states: the longest.
    plan.quiet_ns = quiet_ns;
    if let Some(quiet_ns) = quiet_ns {
        let losses = plan.link_losses.iter_mut().flat_map(|loss| &mut loss.mode_changes);
        for change in plan.mode_changes.iter_mut().chain(losses) {
            mode_change::wait_for_quiet(change, quiet_ns);
        }
    }
}

/// Links between switches that carry a flow, or the signals of a mode change, by their index.
fn carrying(topology: &Topology<'_>, trees: &[Tree]) -> Vec<usize> {
    let servers = trees.iter().flat_map(|tree| tree.hops.iter().map(|hop| hop.server));
    let carries_signals = topology.network.modes.len() > 1;
    let all = (0..topology.servers.len()).filter(|_| carries_signals);
    let trunks = servers.chain(all).filter(|&server| topology.servers[server].is_trunk);
    let mut links: Vec<usize> = trunks.map(|server| server / 2).collect();
    links.sort_unstable();
    links.dedup();
    links
}

/// The loss, and the quiet window that is safe after it, nanoseconds.
fn after(
    network: &Network,
    link: usize,
    trees: &[Tree],
    options: &Options,
) -> (LinkLoss, Option<u64>) {
    let topology = Topology::without(network, link);
    // A linear program per flow and lost link takes too long: sums of hops are claimed.
    let options = &Options { whole_paths: None, ..*options };
    let mut plot = Plot::after_loss(&topology, trees);
    let routes = plot.fewest_hops();
    let routes = improved(
        &plot,
        routes,
        Search {
            effort: Effort::Brief,
            judge: &|trees| judged(&topology, trees, options),
            progress: &mut |_| (),
        },
    );
    // What babbles is policed by meters that are set for flows without a way, too, which are not analysed: nothing is claimed.
    let is_unknown = !routes.refusals.is_empty() && network.tolerates.babbling_hosts > 0;
    with_analysis(&topology, &routes.trees, options, &mut |_| (), |mut analysis, progress| {
        if is_unknown {
            analysis.give_up();
        }
        analysis.conclude(&InTurn, progress);
        described(&analysis, link, trees, &routes)
    })
}

fn described(
    analysis: &Analysis<'_>,
    link: usize,
    before: &[Tree],
    routes: &Routes,
) -> (LinkLoss, Option<u64>) {
    let topology = analysis.ports.topology;
    let switches = match routes.refusals.as_slice() {
        [] => deployment::deploy(analysis).0,
        _ => Vec::new(),
    };
    let mut refusals = routes.refusals.clone();
    let quiet_ns = refusal::quiet(analysis, &mut refusals);
    if !analysis.is_given_up || refusals.is_empty() {
        refusals.extend(refusal::all(analysis, &switches));
    }
    let moved = routes.trees.iter().filter(|tree| !before.contains(tree));
    let it = &topology.network.links[link];
    let loss = LinkLoss {
        link: [it.a.clone(), it.b.clone()],
        routes: moved.map(|tree| describe(topology, tree, Chosen::FewestHops)).collect(),
        ports: rows::services(analysis),
        processors: processor_rows::services(analysis),
        witnesses: witnesses::witnesses(analysis),
        port_rows: analysis.port_rows.clone(),
        processor_rows: processor_rows::rows(analysis),
        flows: analysis.rows.clone(),
        mode_changes: mode_change::bounds(analysis, quiet_ns),
        table_use: switches.into_iter().map(|it| (it.switch, it.usage)).collect(),
        refusals,
    };
    (loss, quiet_ns)
}

/// The refusal of the whole plan for a loss after which not every promise holds.
fn told(loss: &LinkLoss) -> Option<Refusal> {
    let first = loss.refusals.first()?;
    let mut flows: Vec<String> = Vec::new();
    for name in loss.refusals.iter().flat_map(|refusal| &refusal.flows) {
        if !flows.contains(name) {
            flows.push(name.clone());
        }
    }
    let more = match loss.refusals.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    Some(Refusal {
        mode: first.mode,
        needed: first.needed,
        available: first.available,
        unit: first.unit.clone(),
        flows,
        because: format!("{} of {}: {}{more}", first.resource, first.place, first.because),
        ..refused::at(format!("{} lost", loss.label()), "backup")
    })
}
