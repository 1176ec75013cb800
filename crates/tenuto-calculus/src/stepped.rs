//! Delay, busy period and backlog where flows come in whole messages (theory, "Staircases").
//!
//! Between two steps the curves are as concave as buckets are: the inequality is looked at from
//! every step on, with the messages that have come by then, up to the end of the longest busy
//! period. Steps beyond it concern nobody who came within it.

use crate::bucket::FINE;
use crate::concave::{Line, Lines};
use crate::deviation::{Server, TIME_PS_MAX, later, plain, shapes};
use crate::peak::peak;
use crate::{Bucket, Flows, GroupCurves, SteppedGroup, div_up};
use std::collections::BTreeSet;
use tenuto_units::Picos;

/// Steps of a search from below; each ends at a delay or a time that is not yet enough.
const ROUNDS_MAX: u32 = 2_000;

/// The longest busy period of classes ≤ k with messages as they are, at most `most`, which holds
/// for their buckets.
pub fn busy_period_stepped(server: Server, groups: &[SteppedGroup], most: Picos) -> Picos {
    let spare = server.capacity_ubps - sure_rate(groups, |group| {
        group.curves.class.steady.rate_ubps + group.curves.higher.steady.rate_ubps
    });
    if spare <= 0 || !is_in_range(server, groups, most.0) {
        return most;
    }
    let mut w = 0;
    for _ in 0..ROUNDS_MAX {
        let lack = catching_up(server, groups, w);
        if lack <= 0 {
            return Picos(w);
        }
        w += div_up(lack, spare).max(1);
        if w >= most.0 {
            break;
        }
    }
    most
}

/// The least delay of class k that was found to hold, at most `most`, which holds for buckets.
/// `horizon` is the longest busy period.
pub fn delay_stepped(
    server: Server,
    groups: &[SteppedGroup],
    horizon: Picos,
    most: Picos,
) -> Picos {
    let until = horizon.0.saturating_add(most.0);
    let groups: Vec<SteppedGroup> = groups.iter().map(|group| group.up_to(until)).collect();
    let sure = sure_rate(&groups, |group| group.curves.higher.steady.rate_ubps);
    let spare = server.capacity_ubps - sure;
    if spare <= 0 || !is_in_range(server, &groups, until) {
        return most;
    }
    let mut d = 0;
    for _ in 0..ROUNDS_MAX {
        match excess(server, &groups, horizon.0, d) {
            None => break,
            Some(excess) if excess <= 0 => return Picos(d),
            // As d grows the excess falls by no more than this: nothing in between holds.
            Some(excess) => d += div_up(excess, spare).max(1),
        }
        if d >= most.0 {
            break;
        }
    }
    most
}

/// The largest backlog, 10⁻⁶ bit rounded **up**; `None` if there is none.
pub fn backlog_stepped(server: Server, groups: &[SteppedGroup], horizon: Picos) -> Option<i128> {
    let groups: Vec<SteppedGroup> = groups.iter().map(|group| group.up_to(horizon.0)).collect();
    if !is_in_range(server, &groups, horizon.0) {
        return None;
    }
    let mut most = 0;
    for from in instants(&groups, horizon.0, 0) {
        let curves: Vec<Lines> =
            groups.iter().map(|group| shifted(arrivals(group, from, server.cut()), from)).collect();
        let capacity = server.capacity_ubps;
        let base = Line { at_zero: -capacity * from, slope: -capacity, by_delay: 0 };
        most = most.max(peak(base, &curves)?.value_up());
    }
    Some(div_up(most, FINE))
}

/// A rate that the groups bring in any case, whichever of their bounds is the least.
fn sure_rate(groups: &[SteppedGroup], own: impl Fn(&SteppedGroup) -> i128) -> i128 {
    let of = |group: &SteppedGroup| match group.curves.line {
        Some(line) => own(group).min(line.rate_ubps),
        None => own(group),
    };
    groups.iter().map(of).sum()
}

fn is_in_range(server: Server, groups: &[SteppedGroup], until: i128) -> bool {
    let total = groups.iter().fold(Bucket::ZERO, |sum, group| {
        let steps = group.steps.iter().map(|step| step.stairs.at(until));
        let burst_ubit = steps.fold(0_i128, i128::saturating_add);
        let buckets = group.curves.class.all().plus(group.curves.higher.all());
        let line = group.curves.line.unwrap_or(Bucket::ZERO);
        sum.plus(buckets).plus(line).plus(Bucket { burst_ubit, rate_ubps: 0 })
    });
    server.is_exact(total) && (0..=TIME_PS_MAX).contains(&until)
}

/// Where to look: at the start, and where class k within t or a higher class within t + d has a
/// message more.
fn instants(groups: &[SteppedGroup], horizon: i128, d: i128) -> BTreeSet<i128> {
    let mut all = BTreeSet::from([0]);
    for step in groups.iter().flat_map(|group| &group.steps) {
        let ahead = if step.is_higher { d } else { 0 };
        let mut at = step.stairs.next_after(ahead);
        while at - ahead <= horizon {
            all.insert(at - ahead);
            at = step.stairs.next_after(at);
        }
    }
    all
}

/// S + Σ min{…} − C·(t+d) where it is largest over t.
fn excess(server: Server, groups: &[SteppedGroup], horizon: i128, d: i128) -> Option<i128> {
    let capacity = server.capacity_ubps;
    let mut most = i128::MIN;
    for from in instants(groups, horizon, d) {
        let curves: Vec<Lines> = groups
            .iter()
            .map(|group| shifted(delayed(group, from, d, server.cut()), from))
            .collect();
        let at_zero = server.blocking_ubit * FINE - capacity * (d + from);
        let base = Line { at_zero, slope: -capacity, by_delay: -capacity };
        most = most.max(peak(base, &curves)?.value_up());
    }
    Some(most)
}

/// S + Σ min{K + H, Λ}(w) − C·w.
fn catching_up(server: Server, groups: &[SteppedGroup], w: i128) -> i128 {
    let start = server.blocking_ubit * FINE - server.capacity_ubps * w;
    groups.iter().fold(start, |value, group| {
        let lines = arrivals(group, w, server.cut());
        let at = |line: &Line| line.at_zero + line.slope * w;
        value + lines.as_slice().iter().map(at).min().unwrap_or_default()
    })
}

/// min{K + H, Λ} as lines over t, with the messages that have come by `from`.
fn arrivals(group: &SteppedGroup, from: i128, cut: Option<i128>) -> Lines {
    let mut lines = Lines::default();
    let GroupCurves { class, higher, line } = group.curves;
    let both = Flows {
        steady: class.steady.plus(higher.steady),
        ending: class.ending.plus(higher.ending),
    };
    let come = constant(group.stepped(false, from, cut) + group.stepped(true, from, cut));
    shapes(both, cut).for_each(|shape| lines.push(shape.plus(come)));
    if let Some(line) = line {
        lines.push(plain(line));
    }
    lines
}

/// min{K(t) + H(t+d), Λ(t) + H(d), Λ(t+d)} as lines over t, with the messages by `from`.
fn delayed(group: &SteppedGroup, from: i128, d: i128, cut: Option<i128>) -> Lines {
    let mut lines = Lines::default();
    let GroupCurves { class, higher, line } = group.curves;
    if class.is_zero() && higher.is_zero() && group.steps.is_empty() {
        return lines;
    }
    let come = group.stepped(false, from, cut) + group.stepped(true, from + d, cut);
    let (come, waiting) = (constant(come), constant(group.stepped(true, d, cut)));
    for above in shapes(higher, cut) {
        let until = later(above, d);
        shapes(class, cut).for_each(|own| lines.push(own.plus(until).plus(come)));
        if let Some(line) = line {
            lines.push(plain(line).plus(Line { slope: 0, ..until }).plus(waiting));
        }
    }
    if let Some(line) = line.filter(|_| !higher.is_zero() || group.has_higher_steps()) {
        lines.push(later(plain(line), d));
    }
    lines
}

fn constant(ubit: i128) -> Line {
    Line { at_zero: ubit * FINE, ..Line::default() }
}

/// The same curves seen from `from` on.
fn shifted(lines: Lines, from: i128) -> Lines {
    let mut moved = Lines::default();
    for line in lines.as_slice() {
        moved.push(Line { at_zero: line.at_zero + line.slope * from, ..*line });
    }
    moved
}
