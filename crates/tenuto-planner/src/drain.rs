//! When what an earlier mode left behind is over for good (theory, "Drain"): from then on a mode's
//! own bounds hold.

use crate::analysis::Analysis;
use crate::outlook::Outlook;
use tenuto_units::Picos;

/// What hosts do at the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hosts {
    /// They may go on as they did: their ports' bounds hold in any case.
    Unchanged,
    /// They keep lower contracts from now on; what they had released before is still in their ports.
    Lowered,
}

/// The least time from which no busy period has seen anything of before, `change` being when the
/// last switch forwards only what `result` has behind it.
///
/// `None` where a busy period has no bound, or where ports depend on one another in a circle: what
/// was left behind may then be handed on and on.
pub(crate) fn drain(
    analysis: &Analysis<'_>,
    result: &Outlook,
    change: i128,
    hosts: Hosts,
) -> Option<i128> {
    let ports = &analysis.ports;
    if !ports.mesh.is_acyclic || !ports.processors.is_empty() {
        return None;
    }
    let mut drained = vec![0_i128; ports.topology.servers.len()];
    for &server in &ports.mesh.order {
        let node = &ports.topology.nodes[ports.topology.servers[server].node];
        if node.is_host() {
            if hosts == Hosts::Lowered {
                drained[server] = longest_busy_period(analysis, result, server)?.0;
            }
            continue;
        }
        let mut clean = change;
        for group in &ports.mesh.groups[server] {
            let Some(line) = group.line else { continue };
            let upstream = &ports.topology.servers[line];
            for class in ports.classes(line, &result.scene) {
                let Picos(delay) = result.solution.delay(line, class)?;
                let handed_on = delay + upstream.propagation_ps + node.latency_max_ps();
                clean = clean.max(drained[line] + handed_on);
            }
        }
        drained[server] = clean + longest_busy_period(analysis, result, server)?.0;
    }
    drained.into_iter().max()
}

/// W over every class of a server.
pub(crate) fn longest_busy_period(
    analysis: &Analysis<'_>,
    result: &Outlook,
    server: usize,
) -> Option<Picos> {
    let ports = &analysis.ports;
    let Some(&last) = ports.classes(server, &result.scene).last() else { return Some(Picos(0)) };
    ports.busy_period(server, &result.scene, &result.solution.arriving, last)
}
