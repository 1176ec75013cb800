//! Delay, busy period and backlog of one server (theory, "Delay of class k at port p").

use crate::bucket::FINE;
use crate::concave::{Line, Sum};
use crate::nested::{At, Own, arrived, arriving};
use crate::{Bucket, Flows, GroupCurves, UBIT_PER_BIT, div_up};
use std::borrow::Cow;
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
    let groups = &*in_range(server, groups);
    let mut known = delay_unshaped(server, groups).filter(|d| *d <= TIME_PS_MAX)?;
    if !holds(server, groups, Picos(known)) {
        return None;
    }
    // From the right along tangents: each root is itself a delay that holds.
    for _ in 0..STEPS_MAX {
        let here = excess(server, groups, known).peak()?;
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
/// C·(t+d) ≥ S + Σ A(t, d), A being min{K(t)+H(t+d), Λ(t)+H(d), Λ(t+d)} of a group, and of each
/// set within it first.
pub fn holds(server: Server, groups: &[GroupCurves], d: Picos) -> bool {
    let groups = &*in_range(server, groups);
    server.is_exact(everything(groups))
        && (0..=TIME_PS_MAX).contains(&d.0)
        && excess(server, groups, d.0).peak().is_some_and(|peak| peak.value_up() <= 0)
}

/// The longest busy period of classes ≤ k, rounded **up**: the least w > 0 with
/// S + Σ A(w, 0) ≤ C·w, and 0 where nothing comes. `None` if the load leaves no time to catch up.
pub fn busy_period(server: Server, groups: &[GroupCurves]) -> Option<Picos> {
    let groups = &*in_range(server, groups);
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
    // That nothing is there at once, as in the fluid model, says nothing of right after.
    let is_idle = server.blocking_ubit == 0 && all == Bucket::ZERO;
    Some(Picos(if is_idle { 0 } else { known.max(1) }))
}

/// The largest backlog, 10⁻⁶ bit rounded **up**: sup over t of Σ A(t, 0) − C·t.
pub fn backlog(server: Server, groups: &[GroupCurves]) -> Option<i128> {
    let groups = &*in_range(server, groups);
    if !server.is_exact(everything(groups)) {
        return None;
    }
    let base = Line { slope: -server.capacity_ubps, ..Line::default() };
    let most = arriving(base, groups, &At::delayed(0, server.cut())).peak()?.value_up();
    Some(div_up(most.max(0), FINE))
}

/// The groups as they are; where so many lines farther back leave the exact range, without those,
/// which is the safe side.
fn in_range(server: Server, groups: &[GroupCurves]) -> Cow<'_, [GroupCurves]> {
    let is_nested = groups.iter().any(|group| group.under.is_some());
    if !is_nested || server.is_exact(everything(groups)) {
        return Cow::Borrowed(groups);
    }
    let without = |group: &GroupCurves| if group.under.is_some() { group.free() } else { *group };
    Cow::Owned(groups.iter().map(without).collect())
}

fn everything(groups: &[GroupCurves]) -> Bucket {
    total(groups, |g| g.class.all().plus(g.higher.all()).plus(g.line_or_zero()))
}

impl Own for GroupCurves {
    fn curves(&self) -> &GroupCurves {
        self
    }

    fn come(&self, _: bool, _: i128, _: Option<i128>) -> i128 {
        0
    }
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

/// S + Σ A(t, d) − C·(t+d) over t.
fn excess(server: Server, groups: &[GroupCurves], d: i128) -> Sum {
    let capacity = server.capacity_ubps;
    let base = Line {
        at_zero: server.blocking_ubit * FINE - capacity * d,
        slope: -capacity,
        by_delay: -capacity,
    };
    arriving(base, groups, &At::delayed(d, server.cut()))
}

/// S + Σ A(w, 0) − C·w, and how fast it falls.
fn catching_up(server: Server, groups: &[GroupCurves], w: i128) -> (i128, i128) {
    let (come, rate) = arrived(groups, w, server.cut());
    let capacity = server.capacity_ubps;
    (server.blocking_ubit * FINE - capacity * w + come, capacity - rate)
}
