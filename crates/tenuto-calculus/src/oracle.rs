//! Naive twins: the same definitions, sampled.

use crate::{Flows, GroupCurves, Server};

fn value(flows: Flows, t: i128, cut: Option<i128>) -> i128 {
    let ended = cut.map_or(t, |after| t.min(after));
    (flows.steady.burst_ubit + flows.ending.burst_ubit) * 1_000_000_000_000
        + flows.steady.rate_ubps * t
        + flows.ending.rate_ubps * ended
}

fn line(group: &GroupCurves, t: i128) -> i128 {
    group.line.map_or(i128::MAX, |l| l.burst_ubit * 1_000_000_000_000 + l.rate_ubps * t)
}

fn within(sets: &[GroupCurves], place: usize) -> impl Iterator<Item = usize> + '_ {
    (0..sets.len()).filter(move |&inner| sets[inner].under == Some(place))
}

/// H'_X(d).
fn waiting(sets: &[GroupCurves], place: usize, d: i128, cut: Option<i128>) -> i128 {
    let inner = within(sets, place).map(|z| waiting(sets, z, d, cut).min(line(&sets[z], d)));
    value(sets[place].higher, d, cut) + inner.sum::<i128>()
}

/// A_X(t, d).
fn arrived(sets: &[GroupCurves], place: usize, t: i128, d: i128, cut: Option<i128>) -> i128 {
    let set = &sets[place];
    let inner: i128 = within(sets, place).map(|z| arrived(sets, z, t, d, cut)).sum();
    let flows = value(set.class, t, cut) + value(set.higher, t + d, cut) + inner;
    let held = line(set, t).saturating_add(waiting(sets, place, d, cut));
    flows.min(held).min(line(set, t + d))
}

/// S + Σ A(t, d) − C·(t+d) at one t.
pub(crate) fn excess_at(server: Server, sets: &[GroupCurves], t: i128, d: i128) -> i128 {
    let cut = server.ending_after.map(|after| after.0);
    let groups = (0..sets.len()).filter(|&place| sets[place].under.is_none());
    let arrived: i128 = groups.map(|group| arrived(sets, group, t, d, cut)).sum();
    server.blocking_ubit * 1_000_000_000_000 + arrived - server.capacity_ubps * (t + d)
}
