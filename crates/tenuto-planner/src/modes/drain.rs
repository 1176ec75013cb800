//! When what an earlier mode left behind is over for good (theory, "Drain" and "Settling"): from then
//! on a mode's own bounds hold.

use crate::analysis::context::Analysis;
use crate::analysis::mode_result::ModeResult;
use tenuto_model::{PortEnded, Transition};
use tenuto_units::Picos;

/// Per server, picoseconds from the trigger.
struct Times {
    /// From when on nothing of before arrives.
    clean: Vec<i128>,
    /// From when on no busy period has seen anything of before.
    drained: Vec<i128>,
}

/// The least time after a raise's trigger from which no busy period has seen the old mode.
///
/// `None` where a busy period has no bound, or where ports depend on one another in a circle: what
/// the old mode left behind may then be handed on and on.
pub(crate) fn drain(analysis: &Analysis<'_>, result: &ModeResult, raise: i128) -> Option<i128> {
    times(analysis, result, raise)?.drained.into_iter().max()
}

fn times(analysis: &Analysis<'_>, result: &ModeResult, raise: i128) -> Option<Times> {
    let ports = &analysis.ports;
    if !ports.port_graph.is_acyclic || !ports.processors.is_empty() {
        return None;
    }
    let servers = ports.topology.servers.len();
    let mut times = Times { clean: vec![0; servers], drained: vec![0; servers] };
    for &server in &ports.port_graph.order {
        // Hosts do not know the mode: their ports' bounds hold in all of them.
        if is_of_host(analysis, server) {
            continue;
        }
        let mut clean = raise;
        for line in feeders(analysis, server) {
            let delay = longest_delay(analysis, result, line)?;
            clean = clean.max(times.drained[line] + delay + between(analysis, line));
        }
        times.clean[server] = clean;
        times.drained[server] = clean + longest_busy_period(analysis, result, server)?.0;
    }
    Some(times)
}

/// Per server, the least time after the last violation from which no busy period has seen anything of the
/// higher contracts, `result` being the raise before and `steady` the mode that it led to.
///
/// Hosts keep the lower contracts from then on, but have released more before. What a port has
/// drained of the raise it serves as the steady mode does.
pub(crate) fn settled(
    analysis: &Analysis<'_>,
    result: &ModeResult,
    raise: i128,
    steady: &ModeResult,
) -> Option<Vec<i128>> {
    let raised = times(analysis, result, raise)?;
    let mut settled = vec![0_i128; raised.drained.len()];
    for &server in &analysis.ports.port_graph.order {
        let busy = longest_busy_period(analysis, result, server)?.0;
        if is_of_host(analysis, server) {
            settled[server] = busy;
            continue;
        }
        let mut clean = raised.clean[server];
        for line in feeders(analysis, server) {
            let before = longest_delay(analysis, result, line)?;
            let after = longest_delay(analysis, steady, line)?;
            let late = (raised.drained[line] + before).max(settled[line] + after);
            let handed_on = late.min(settled[line] + before);
            clean = clean.max(handed_on + between(analysis, line));
        }
        let after = longest_busy_period(analysis, steady, server)?.0;
        settled[server] = raised.drained[server].max(clean + after).min(clean + busy);
    }
    Some(settled)
}

/// From when on a raise is over at every port of a switch that carries flows of it.
pub(crate) fn ends_of_raise(analysis: &Analysis<'_>, raise: Transition) -> Vec<PortEnded> {
    let Transition::Raise { from, to } = raise else { return Vec::new() };
    let found = analysis.result(raise).zip(analysis.slowest_raise(from, to));
    let found = found.and_then(|(result, change)| Some((result, times(analysis, result, change)?)));
    let Some((result, times)) = found else { return Vec::new() };
    let of_switches = told(analysis, result, &times.drained).filter(|it| it.after_ps > 0);
    of_switches.collect()
}

/// Times of the ports that carry flows of a mode.
pub(crate) fn told<'a>(
    analysis: &'a Analysis<'_>,
    result: &'a ModeResult,
    times: &'a [i128],
) -> impl Iterator<Item = PortEnded> + 'a {
    let ports = &analysis.ports;
    let mode = result.mode_input.transition;
    let is_used = move |server: &usize| !ports.classes(*server, &result.mode_input).is_empty();
    (0..times.len()).filter(is_used).map(move |server| {
        let port = ports.topology.servers[server].port();
        PortEnded { mode, port, after_ps: u64::try_from(times[server]).unwrap_or(u64::MAX) }
    })
}

fn is_of_host(analysis: &Analysis<'_>, server: usize) -> bool {
    let topology = analysis.ports.topology;
    topology.nodes[topology.servers[server].node].is_host()
}

/// The lines that bring flows to a server.
fn feeders<'a>(analysis: &'a Analysis<'_>, server: usize) -> impl Iterator<Item = usize> + 'a {
    analysis.ports.port_graph.groups[server].iter().filter_map(|group| group.line)
}

/// D of the slowest class at a server.
fn longest_delay(analysis: &Analysis<'_>, result: &ModeResult, server: usize) -> Option<i128> {
    let mut longest = 0;
    for class in analysis.ports.classes(server, &result.mode_input) {
        let Picos(delay) = result.solution.delay(server, class)?;
        longest = longest.max(delay);
    }
    Some(longest)
}

/// From the last bit at a server to the next queue.
fn between(analysis: &Analysis<'_>, server: usize) -> i128 {
    let topology = analysis.ports.topology;
    let egress = &topology.servers[server];
    egress.propagation_ps + topology.nodes[egress.peer].latency_max_ps()
}

/// W over every class of a server.
pub(crate) fn longest_busy_period(
    analysis: &Analysis<'_>,
    result: &ModeResult,
    server: usize,
) -> Option<Picos> {
    let ports = &analysis.ports;
    let Some(&last) = ports.classes(server, &result.mode_input).last() else {
        return Some(Picos(0));
    };
    ports.busy_period(server, &result.mode_input, &result.solution.arriving, last)
}
