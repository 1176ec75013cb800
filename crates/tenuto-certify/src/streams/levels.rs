//! Which of a flow's contracts count where: levels by mode, and the switches that watch it.

use crate::description::net::Net;
use crate::description::read::{self, Mode};
use crate::streams::stream::Stream;

/// The levels of a flow whose contracts count in a mode, or `None` if it takes no part. Until a
/// return, who has a place in the mode before keeps the contracts of the mode after it.
pub(crate) fn levels(mode: Mode, flow_level: usize) -> Option<(usize, usize)> {
    let (low, high) = match mode {
        Mode::Steady(level) => (level, level),
        Mode::Raise { from, to } => (from, to),
        Mode::Return { from, to } => {
            return (usize::from(from) <= flow_level).then_some((to.into(), to.into()));
        }
    };
    let (low, high) = (usize::from(low), usize::from(high).min(flow_level));
    (low <= flow_level).then_some((low, high))
}

/// The levels that a stream's first switch holds it to. What its first switch does not watch may come
/// by the highest contract before any switch sees it.
pub(crate) fn levels_of(net: &Net<'_>, stream: &Stream, mode: Mode) -> Option<(usize, usize)> {
    let flow_level = net.flows[stream.flow].level;
    let (low, high) = levels(mode, flow_level)?;
    Some((low, if stream.is_watched_late { flow_level } else { high }))
}

/// The levels of a flow whose contracts its host may keep, in any mode: nobody tells a host the
/// mode, and no switch has seen what waits in the host's own port.
pub(crate) const fn host_levels(flow_level: usize) -> (usize, usize) {
    (0, flow_level)
}

/// Whether the flow is forwarded for as long as the mode lasts: after the change, or until the
/// return.
pub(crate) fn is_guaranteed(mode: Mode, flow_level: usize) -> bool {
    match mode {
        Mode::Steady(level) | Mode::Raise { to: level, .. } | Mode::Return { from: level, .. } => {
            usize::from(level) <= flow_level
        }
    }
}

/// Whether a monitor has to watch the flow: its contracts differ in size, period or jitter. What
/// nobody watched could be sent by a higher contract in a mode analysed by a lower one.
pub(crate) fn is_watched(net: &Net<'_>, flow: usize) -> bool {
    let asked = |contract: &read::Contract| (contract.period_ns, contract.size, contract.jitter_ns);
    let contracts = &net.flows[flow].raw.contracts;
    contracts.windows(2).any(|pair| asked(&pair[0]) != asked(&pair[1]))
}

/// Whether there is an analysis of its own for `mode`.
pub(crate) fn is_analysed(mode: Mode, modes: usize) -> bool {
    match mode {
        Mode::Steady(level) => usize::from(level) < modes,
        Mode::Raise { from, to } => from < to && usize::from(to) < modes,
        Mode::Return { .. } => false,
    }
}

/// The switches that watch a stream: those that the user named on its way, else the first one.
pub(crate) fn watching(net: &Net<'_>, stream: &Stream) -> Vec<usize> {
    if !is_watched(net, stream.flow) {
        return Vec::new();
    }
    let wished = &net.flows[stream.flow].raw.monitor_at;
    if wished.is_empty() {
        return stream.first_switch.into_iter().collect();
    }
    let nodes = stream.tree.iter().skip(1).map(|place| net.ports[place.port].node);
    let mut on_the_way: Vec<usize> =
        nodes.filter(|node| wished.iter().any(|name| name == net.nodes[*node].name)).collect();
    on_the_way.sort_unstable();
    on_the_way.dedup();
    on_the_way
}
