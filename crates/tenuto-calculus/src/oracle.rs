//! Naive twins: the same definitions, sampled.

use crate::{Flows, GroupCurves, Server};

fn value(flows: Flows, t: i128, cut: Option<i128>) -> i128 {
    let ended = cut.map_or(t, |after| t.min(after));
    (flows.steady.burst_ubit + flows.ending.burst_ubit) * 1_000_000_000_000
        + flows.steady.rate_ubps * t
        + flows.ending.rate_ubps * ended
}

fn line(group: &GroupCurves, t: i128) -> Option<i128> {
    group.line.map(|l| l.burst_ubit * 1_000_000_000_000 + l.rate_ubps * t)
}

/// S + Σ min{…} − C·(t+d) at one t.
pub(crate) fn excess_at(server: Server, groups: &[GroupCurves], t: i128, d: i128) -> i128 {
    let cut = server.ending_after.map(|after| after.0);
    let arrived: i128 = groups
        .iter()
        .map(|group| {
            let higher = value(group.higher, t + d, cut);
            let plain = value(group.class, t, cut) + higher;
            match (line(group, t), line(group, t + d)) {
                (Some(now), Some(then)) => plain.min(now + value(group.higher, d, cut)).min(then),
                _ => plain,
            }
        })
        .sum();
    server.blocking_ubit * 1_000_000_000_000 + arrived - server.capacity_ubps * (t + d)
}

/// S + Σ min{K + H, Λ}(w) − C·w.
pub(crate) fn unserved_at(server: Server, groups: &[GroupCurves], w: i128) -> i128 {
    let cut = server.ending_after.map(|after| after.0);
    let arrived: i128 = groups
        .iter()
        .map(|group| {
            let sum = value(group.class, w, cut) + value(group.higher, w, cut);
            line(group, w).map_or(sum, |most| sum.min(most))
        })
        .sum();
    server.blocking_ubit * 1_000_000_000_000 + arrived - server.capacity_ubps * w
}
