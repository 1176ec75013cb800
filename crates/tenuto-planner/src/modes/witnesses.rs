//! What a checker would have to search for, and can put into its inequalities instead: busy periods, and
//! what changes of mode purge (theory, "The fixed point and its certificate").

use crate::analysis::context::Analysis;
use crate::analysis::mode_input::ModeInput;
use crate::analysis::port::Arriving;
use tenuto_model::{BusyPeriod, ProcessorBusy, Purge, Witnesses};

/// The witnesses of all modes and raises; none where nothing is claimed.
pub(crate) fn witnesses(analysis: &Analysis<'_>) -> Witnesses {
    let ports = &analysis.ports;
    let has_modes = analysis.results.len() > 1;
    if analysis.is_given_up || !(has_modes || ports.has_staircases()) {
        return Witnesses::default();
    }
    let results = || analysis.results.iter();
    let busy = results().flat_map(|it| busy(analysis, &it.mode_input, &it.solution.arriving));
    Witnesses {
        busy: busy.collect(),
        processors_busy: if has_modes { processors_busy(analysis) } else { Vec::new() },
        purges: purges(analysis),
    }
}

/// W of every port, and of every class that has frames there in any mode.
pub(crate) fn busy(
    analysis: &Analysis<'_>,
    mode_input: &ModeInput,
    arriving: &Arriving,
) -> Vec<BusyPeriod> {
    let ports = &analysis.ports;
    let mut all = Vec::new();
    for server in 0..ports.topology.servers.len() {
        let used = analysis.results.iter().map(|it| ports.classes(server, &it.mode_input));
        let mut classes: Vec<u8> = used.flatten().collect();
        classes.sort_unstable();
        classes.dedup();
        all.extend(classes.into_iter().filter_map(|class| {
            let busy = ports.busy_period(server, mode_input, arriving, class)?;
            let port = ports.topology.servers[server].port();
            let busy_ps = u64::try_from(busy.0).ok()?;
            Some(BusyPeriod { mode: mode_input.transition, port, class, busy_ps })
        }));
    }
    all
}

fn processors_busy(analysis: &Analysis<'_>) -> Vec<ProcessorBusy> {
    let ports = &analysis.ports;
    let mut all = Vec::new();
    for it in &analysis.results {
        let mode = it.mode_input.transition;
        let late = |visit: usize| it.solution.late_at_entry(ports, &it.mode_input, visit);
        all.extend(ports.processors.all(mode).filter_map(|(node, site)| {
            let busy = site.busy_period(&late, ports.shapes())?;
            let switch = ports.topology.nodes[node].name.to_owned();
            Some(ProcessorBusy { mode, switch, busy_ps: u64::try_from(busy.0).ok()? })
        }));
    }
    all
}

fn purges(analysis: &Analysis<'_>) -> Vec<Purge> {
    let topology = analysis.ports.topology;
    let purges = analysis.ports.processors.purges();
    let told = |(node, purge): (usize, i128)| {
        let switch = topology.nodes[node].name.to_owned();
        Some(Purge { switch, purge_ps: u64::try_from(purge).ok()? })
    };
    purges.filter_map(told).collect()
}
