//! Delay, busy period and backlog of one server (theory, "Delay of class k at port p").

use crate::bucket::FINE;
use crate::concave::{Line, Lines};
use crate::peak::peak;
use crate::{Bucket, Flows, GroupCurves, UBIT_PER_BIT, div_up};
use tenuto_units::Picos;

/// Beyond these, products might leave the exact range: no bound is given.
const BURST_UBIT_MAX: i128 = 100_000_000_000_000_000_000;
const RATE_UBPS_MAX: i128 = 1_000_000_000_000_000_000;
pub(crate) const TIME_PS_MAX: i128 = 10_000_000_000_000_000;
/// Steps of the search for the least delay; each leaves one piece of a concave function behind.
const STEPS_MAX: u32 = 1_000;

/// One strict-priority server as a class sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// Capacity C, 10⁻⁶ bit/s.
    pub capacity_ubps: i128,
    /// Blocking S by what cannot be pre-empted, 10⁻⁶ bit.
    pub blocking_ubit: i128,
    /// Θ: the age of the busy period at which ending flows end; `None` if they never do.
    pub ending_after: Option<Picos>,
}

impl Server {
    /// A server of `rate_bps` with that blocking, in which nothing ends.
    pub const fn new(rate_bps: u64, blocking_ubit: i128) -> Self {
        let capacity_ubps = rate_bps as i128 * UBIT_PER_BIT;
        Self { capacity_ubps, blocking_ubit, ending_after: None }
    }

    /// Θ, unless it is so far off that it may as well be never (which is the safe side).
    pub(crate) fn cut(self) -> Option<i128> {
        self.ending_after.map(|after| after.0).filter(|after| (0..=TIME_PS_MAX).contains(after))
    }

    /// Whether every sum stays in the range in which products are exact.
    pub(crate) fn is_exact(self, total: Bucket) -> bool {
        (1..=RATE_UBPS_MAX).contains(&self.capacity_ubps)
            && (0..=RATE_UBPS_MAX).contains(&total.rate_ubps)
            && (0..=BURST_UBIT_MAX).contains(&total.burst_ubit)
            && (0..=BURST_UBIT_MAX).contains(&self.blocking_ubit)
    }
}

/// The least delay of class k, rounded **up** to a picosecond: the least d ≥ 0 that [`holds`].
///
/// `None` if there is none: the classes up to k bring more than the capacity.
pub fn delay(server: Server, groups: &[GroupCurves]) -> Option<Picos> {
    let mut known = delay_unshaped(server, groups).filter(|d| *d <= TIME_PS_MAX)?;
    if !holds(server, groups, Picos(known)) {
        return None;
    }
    // From the right along tangents: each root is itself a delay that holds.
    for _ in 0..STEPS_MAX {
        let here = excess(server, groups, known)?;
        let step = match here.fall_up() {
            fall if fall > 0 => (-here.value_up()).max(0) / fall,
            _ => 0,
        };
        let next = (known - step.max(1)).max(0);
        if next == known || !holds(server, groups, Picos(next)) {
            break;
        }
        known = next;
    }
    Some(Picos(known))
}

/// Whether no frame of class k waits longer than `d`: exact, for every t ≥ 0,
/// C·(t+d) ≥ S + Σ min{K(t)+H(t+d), Λ(t)+H(d), Λ(t+d)}.
pub fn holds(server: Server, groups: &[GroupCurves], d: Picos) -> bool {
    let total = total(groups, |g| g.class.all().plus(g.higher.all()).plus(g.line_or_zero()));
    server.is_exact(total)
        && (0..=TIME_PS_MAX).contains(&d.0)
        && excess(server, groups, d.0).is_some_and(|peak| peak.value_up() <= 0)
}

/// The longest busy period of classes ≤ k, rounded **up**: the least w with
/// S + Σ min{K + H, Λ}(w) ≤ C·w. `None` if the load leaves no time to catch up.
pub fn busy_period(server: Server, groups: &[GroupCurves]) -> Option<Picos> {
    let all = total(groups, |g| ended(server, g.class).plus(ended(server, g.higher)));
    let spare = server.capacity_ubps - all.rate_ubps;
    if spare <= 0 || !server.is_exact(all.plus(total(groups, GroupCurves::line_or_zero))) {
        return None;
    }
    let mut known = div_up((server.blocking_ubit + all.burst_ubit) * FINE, spare);
    if known > TIME_PS_MAX {
        return None;
    }
    for _ in 0..STEPS_MAX {
        let (value, fall) = catching_up(server, groups, known);
        let step = if fall > 0 { (-value).max(0) / fall } else { 0 };
        let next = (known - step.max(1)).max(0);
        if next == known || catching_up(server, groups, next).0 > 0 {
            break;
        }
        known = next;
    }
    Some(Picos(known))
}

/// The largest backlog, 10⁻⁶ bit rounded **up**: sup over t of Σ min{K + H, Λ}(t) − C·t.
pub fn backlog(server: Server, groups: &[GroupCurves]) -> Option<i128> {
    let all = total(groups, |g| g.class.all().plus(g.higher.all()).plus(g.line_or_zero()));
    if !server.is_exact(all) {
        return None;
    }
    let curves: Vec<Lines> = groups.iter().map(|g| arrivals(g, server.cut())).collect();
    let base = Line { slope: -server.capacity_ubps, ..Line::default() };
    let most = peak(base, &curves)?.value_up();
    Some(div_up(most.max(0), FINE))
}

impl GroupCurves {
    fn line_or_zero(&self) -> Bucket {
        self.line.unwrap_or(Bucket::ZERO)
    }
}

fn total(groups: &[GroupCurves], of: impl Fn(&GroupCurves) -> Bucket) -> Bucket {
    groups.iter().map(of).fold(Bucket::ZERO, Bucket::plus)
}

/// The delay that holds without any line: (S + ΣK(0) + ΣH(0)) / (C − rates above), rounded up.
fn delay_unshaped(server: Server, groups: &[GroupCurves]) -> Option<i128> {
    let class = total(groups, |g| ended(server, g.class));
    let higher = total(groups, |g| ended(server, g.higher));
    let spare = server.capacity_ubps - higher.rate_ubps;
    if !server.is_exact(class.plus(higher)) || spare <= 0 || class.rate_ubps > spare {
        return None;
    }
    let queued = server.blocking_ubit + class.burst_ubit + higher.burst_ubit;
    Some(div_up(queued * FINE, spare))
}

/// A bucket that never lies below the flows: all that ending flows ever bring counts as burst.
fn ended(server: Server, flows: Flows) -> Bucket {
    match server.cut() {
        Some(after) => flows
            .steady
            .plus(Bucket { burst_ubit: flows.ending.grown(Picos(after)).burst_ubit, rate_ubps: 0 }),
        None => flows.all(),
    }
}

/// S + Σ min{…} − C·(t+d) where it is largest over t.
fn excess(server: Server, groups: &[GroupCurves], d: i128) -> Option<crate::peak::Peak> {
    let curves: Vec<Lines> = groups.iter().map(|g| delayed(g, d, server.cut())).collect();
    let capacity = server.capacity_ubps;
    let base = Line {
        at_zero: server.blocking_ubit * FINE - capacity * d,
        slope: -capacity,
        by_delay: -capacity,
    };
    peak(base, &curves)
}

/// S + Σ min{K + H, Λ}(w) − C·w, and how fast it falls.
fn catching_up(server: Server, groups: &[GroupCurves], w: i128) -> (i128, i128) {
    let start = (server.blocking_ubit * FINE - server.capacity_ubps * w, server.capacity_ubps);
    groups.iter().fold(start, |(value, fall), group| {
        let lines = arrivals(group, server.cut());
        let at = |line: &Line| (line.at_zero + line.slope * w, line.slope);
        let (least, slope) = lines.as_slice().iter().map(at).min().unwrap_or_default();
        (value + least, fall - slope)
    })
}

/// min{K + H, Λ}(t).
fn arrivals(group: &GroupCurves, cut: Option<i128>) -> Lines {
    let mut lines = Lines::default();
    let both = Flows {
        steady: group.class.steady.plus(group.higher.steady),
        ending: group.class.ending.plus(group.higher.ending),
    };
    shapes(both, cut).for_each(|line| lines.push(line));
    if let Some(line) = group.line {
        lines.push(plain(line));
    }
    lines
}

/// min{K(t) + H(t+d), Λ(t) + H(d), Λ(t+d)} as lines over t.
fn delayed(group: &GroupCurves, d: i128, cut: Option<i128>) -> Lines {
    let mut lines = Lines::default();
    if group.class.is_zero() && group.higher.is_zero() {
        return lines;
    }
    for higher in shapes(group.higher, cut) {
        let until = later(higher, d);
        shapes(group.class, cut).for_each(|class| lines.push(class.plus(until)));
        if let Some(line) = group.line {
            lines.push(plain(line).plus(Line { slope: 0, ..until }));
        }
    }
    if let Some(line) = group.line.filter(|_| !group.higher.is_zero()) {
        lines.push(later(plain(line), d));
    }
    lines
}

/// The one or two lines whose minimum is b + r·t of the steady and b + r·min(t, Θ) of the ending.
pub(crate) fn shapes(flows: Flows, cut: Option<i128>) -> impl Iterator<Item = Line> {
    let running = plain(flows.all());
    let ended = cut.filter(|_| flows.ending.rate_ubps > 0).map(|after| Line {
        at_zero: running.at_zero + flows.ending.rate_ubps * after,
        slope: flows.steady.rate_ubps,
        by_delay: 0,
    });
    std::iter::once(running).chain(ended)
}

pub(crate) const fn plain(bucket: Bucket) -> Line {
    Line { at_zero: bucket.burst_ubit * FINE, slope: bucket.rate_ubps, by_delay: 0 }
}

/// The same curve at t + d.
pub(crate) const fn later(line: Line, d: i128) -> Line {
    Line { at_zero: line.at_zero + line.slope * d, slope: line.slope, by_delay: line.slope }
}
