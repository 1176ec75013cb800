//! How far back a proof over a whole path may look, and until when flows that a raise ends still
//! come (theory, "Whole paths in a raise").

use crate::analysis::context::Analysis;
use crate::analysis::mode_result::ModeResult;
use std::collections::BTreeSet;
use tenuto_bounds::GraphFlow;
use tenuto_model::Transition;
use tenuto_units::Picos;

/// Θ of whole paths per server: in every window that a proof looks at, what ends comes for no
/// longer than that. `None` where nothing ends, or nobody can say when.
///
/// No date of a server lies further before the last trigger than the busy periods that it may
/// find at that server and behind it on the way, and what lies between their queues. In a circle
/// there is no such time.
pub(super) fn endings(
    analysis: &Analysis<'_>,
    result: &ModeResult,
    class: u8,
    flows: &[GraphFlow],
) -> Vec<Option<Picos>> {
    let servers = analysis.ports.topology.servers.len();
    let mut endings = vec![None; servers];
    let Transition::Raise { from, to } = result.mode_input.transition else { return endings };
    let Some(change) = analysis.slowest_raise(from, to) else { return endings };
    let (mut before, mut after) = (vec![BTreeSet::new(); servers], vec![BTreeSet::new(); servers]);
    for flow in flows {
        for visit in &flow.visits {
            if let Some(parent) = visit.parent {
                let parent = flow.visits[parent].server;
                before[visit.server].insert(parent);
                after[parent].insert(visit.server);
            }
        }
    }
    let mut open: Vec<usize> = after.iter().map(BTreeSet::len).collect();
    let mut ready: Vec<usize> = (0..servers).filter(|&server| open[server] == 0).collect();
    let mut reach: Vec<Option<i128>> = vec![None; servers];
    while let Some(server) = ready.pop() {
        let behind = after[server].iter().map(|&next| reach[next]);
        let behind = behind.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).unwrap_or(Some(0));
        let own = look_back(analysis, result, (server, class), change);
        reach[server] = behind.zip(own).map(|(behind, own)| behind.saturating_add(own));
        for &earlier in &before[server] {
            open[earlier] -= 1;
            if open[earlier] == 0 {
                ready.push(earlier);
            }
        }
    }
    for (ending, reach) in endings.iter_mut().zip(reach) {
        *ending = reach.map(|reach| Picos(reach.saturating_add(change)));
    }
    endings
}

/// From a place in the next queue back to the earliest date at this one: W, the pacer's rounding,
/// the cable, and the switch behind it.
fn look_back(
    analysis: &Analysis<'_>,
    result: &ModeResult,
    (server, class): (usize, u8),
    change: i128,
) -> Option<i128> {
    let ports = &analysis.ports;
    let egress = &ports.topology.servers[server];
    let busy = ports.ending(server, &result.mode_input, class)?.0 - change;
    let processing = result.solution.processing[server]?.0;
    let behind = ports.topology.nodes[egress.peer].latency_max_ps();
    Some(busy + egress.tick_ps + egress.propagation_ps + behind + processing)
}
