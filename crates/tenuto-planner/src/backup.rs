//! What holds after a link between switches is lost (theory, "After the loss of a link").
//!
//! Every flow that the link takes its way from gets another one, all at once; the rest stays. The
//! result is analysed as a steady state of its own. Who carries the change out, and how long that
//! takes, is no part of it.

use crate::analysis::{Analysis, with_analysis};
use crate::routing::{Effort, Plot, Routes, Tree, describe};
use crate::topology::Topology;
use crate::{Options, Progress, deployment, processor, refusal, rows};
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
    if network.modes.len() > 1 {
        plan.refusals.push(Refusal {
            because: "ways around a lost link are planned for one mode; this network has several"
                .into(),
            ..refusal::at(network.name.clone(), "backup")
        });
        plan.feasible = false;
        return;
    }
    let links = carrying(&Topology::new(network), trees);
    for (done, &link) in links.iter().enumerate() {
        progress(Progress::Losing { done, total: links.len() });
        let loss = after(network, link, trees, options);
        if let Some(refusal) = told(&loss) {
            plan.refusals.push(refusal);
            plan.feasible = false;
        }
        plan.link_losses.push(loss);
    }
}

/// Links between switches that carry a flow, by their index.
fn carrying(topology: &Topology<'_>, trees: &[Tree]) -> Vec<usize> {
    let servers = trees.iter().flat_map(|tree| tree.hops.iter().map(|hop| hop.server));
    let trunks = servers.filter(|&server| topology.servers[server].is_trunk);
    let mut links: Vec<usize> = trunks.map(|server| server / 2).collect();
    links.sort_unstable();
    links.dedup();
    links
}

fn after(network: &Network, link: usize, trees: &[Tree], options: &Options) -> LinkLoss {
    let topology = Topology::without(network, link);
    // A linear program per flow and lost link takes too long: sums of hops are claimed.
    let options = &Options { whole_paths: None, ..*options };
    let mut plot = Plot::after_loss(&topology, trees);
    let routes = plot.fewest_hops();
    let routes = plot.improved(routes, options, Effort::Brief, &mut |_| ());
    with_analysis(&topology, &routes.trees, options, &mut |_| (), |mut analysis, progress| {
        analysis.conclude(&InTurn, progress);
        described(&analysis, link, trees, &routes)
    })
}

fn described(analysis: &Analysis<'_>, link: usize, before: &[Tree], routes: &Routes) -> LinkLoss {
    let topology = analysis.ports.topology;
    let switches = match routes.refusals.as_slice() {
        [] => deployment::deploy(analysis).0,
        _ => Vec::new(),
    };
    let mut refusals = routes.refusals.clone();
    refusals.extend(refusal::all(analysis, &switches));
    let moved = routes.trees.iter().filter(|tree| !before.contains(tree));
    let it = &topology.network.links[link];
    LinkLoss {
        link: [it.a.clone(), it.b.clone()],
        routes: moved.map(|tree| describe(topology, tree, Chosen::FewestHops)).collect(),
        ports: rows::services(analysis),
        processors: processor::rows::services(analysis),
        port_rows: analysis.port_rows.clone(),
        processor_rows: processor::rows::rows(analysis),
        flows: analysis.rows.clone(),
        table_use: switches.into_iter().map(|it| (it.switch, it.usage)).collect(),
        refusals,
    }
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
    let [a, b] = &loss.link;
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
        ..refusal::at(format!("{}:{} - {}:{} lost", a.node, a.port, b.node, b.port), "backup")
    })
}
