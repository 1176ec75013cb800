//! One plan: routes, their analysis, and what is said of it.

use super::analysed::{judged, signal_copies, with_analysis};
use super::backup;
use crate::analysis::context::Analysis;
use crate::analysis::port::Ports;
use crate::input::topology::Topology;
use crate::modes::{mode_change, witnesses};
use crate::options::{Options, Progress};
use crate::output::{deployment, processor_rows, refusal, rows};
use crate::passes::verdict::verdict;
use crate::routes::{Effort, Plot, Routes, Search, describe, improved};
use tenuto_bounds::Executor;
use tenuto_model::{ForwardingModel, Network, PLAN_SCHEMA, Plan, Ranked};
use tenuto_units::FRAME_BYTES_MIN;
/// One plan, without looking for what would fit.
pub(crate) fn plan_once(
    network: &Network,
    (options, executor): (&Options, &dyn Executor),
    effort: Effort,
    progress: &mut dyn FnMut(Progress),
) -> Plan {
    let (mut plan, trees) =
        routed(network, (options, executor), effort, progress, |analysis, routes, progress| {
            progress(Progress::Deploying);
            (finish(analysis, routes), routes.trees.clone())
        });
    if network.tolerates.links_lost > 0 {
        backup::add(&mut plan, network, &trees, options, progress);
    }
    plan
}

/// What `look` sees in the analysis of a network, without a plan made of it.
pub(crate) fn analysed<T>(
    network: &Network,
    (options, executor): (&Options, &dyn Executor),
    progress: &mut dyn FnMut(Progress),
    look: impl FnOnce(&Analysis<'_>, &Routes) -> T,
) -> T {
    routed(network, (options, executor), Effort::Full, progress, |analysis, routes, _| {
        look(analysis, routes)
    })
}

/// The analysis of a plan's routes: the fewest hops, unless these break a promise and there are
/// others.
fn routed<T>(
    network: &Network,
    (options, executor): (&Options, &dyn Executor),
    effort: Effort,
    progress: &mut dyn FnMut(Progress),
    look: impl FnOnce(&Analysis<'_>, &Routes, &mut dyn FnMut(Progress)) -> T,
) -> T {
    let topology = &Topology::modelled(network, options.model);
    progress(Progress::Routing);
    let mut plot = Plot::of_network(topology);
    let first = plot.fewest_hops();
    let mut look = Some(look);
    let done =
        with_analysis(topology, &first.trees, options, progress, |mut analysis, progress| {
            let is_settled = !plot.has_choice() || verdict(&analysis).pain == 0;
            // What sums of hops do not promise, bounds of whole paths may.
            if is_settled || options.whole_paths.is_some() {
                analysis.conclude(executor, progress);
            }
            let is_settled = is_settled
                || (options.whole_paths.is_some() && refusal::all(&analysis, &[]).is_empty());
            if !is_settled {
                return None;
            }
            let look = look.take()?;
            Some(look(&analysis, &first, progress))
        });
    if let Some(done) = done {
        return done;
    }
    let routes = improved(
        &plot,
        first,
        Search { effort, judge: &|trees| judged(topology, trees, options), progress },
    );
    with_analysis(topology, &routes.trees, options, progress, |mut analysis, progress| {
        analysis.conclude(executor, progress);
        let look = look.take().expect("it has looked at nothing yet");
        look(&analysis, &routes, progress)
    })
}

/// The plan of an analysis.
fn finish(analysis: &Analysis<'_>, routes: &Routes) -> Plan {
    let ports = analysis.ports;
    let Ports { topology, options, .. } = ports;
    let network = topology.network;
    let mut refusals = routes.refusals.clone();
    let is_routed = refusals.is_empty();
    let (switches, hosts) =
        if is_routed { deployment::deploy(analysis) } else { (Vec::new(), Vec::new()) };
    let quiet_ns = refusal::quiet(analysis, &mut refusals);
    refusals.extend(refusal::all(analysis, &switches));
    let is_valid_for_frames = options.model == ForwardingModel::StoreAndForward
        && !(options.as_stated && has_short_frames(network));
    let described = routes.trees.iter().zip(&routes.chosen);
    let described = described.map(|(tree, &chosen)| describe(topology, tree, chosen));
    Plan {
        schema: PLAN_SCHEMA.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        description_digest: String::new(),
        plan_hash: String::new(),
        network: network.clone(),
        model: options.model,
        as_stated: options.as_stated,
        line_shaping: options.line_shaping,
        staircases: ports.has_staircases(),
        feasible: refusals.is_empty() && is_valid_for_frames,
        modelled: network.has_typical_times(),
        routes: described.collect(),
        ports: rows::services(analysis),
        processors: processor_rows::services(analysis),
        witnesses: witnesses::witnesses(analysis),
        port_rows: analysis.port_rows.clone(),
        processor_rows: processor_rows::rows(analysis),
        flows: analysis.rows.clone(),
        mode_changes: mode_change::bounds(analysis, quiet_ns),
        quiet_ns,
        signal_copies: if network.modes.len() > 1 { signal_copies(network) } else { 0 },
        switches,
        hosts,
        link_losses: Vec::new(),
        refusals,
        assumptions: Vec::new(),
        ranked: Ranked::AsGiven,
    }
}

fn has_short_frames(network: &Network) -> bool {
    let mut contracts = network.flows.iter().flat_map(|flow| &flow.contracts);
    contracts.any(|c| c.size.frames(true).frame_bytes_max < FRAME_BYTES_MIN)
}
