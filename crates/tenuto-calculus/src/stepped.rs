//! Delay, busy period and backlog where flows come in whole messages (theory, "Staircases").
//!
//! Between two steps the curves are as concave as buckets are: the inequality is looked at from
//! every step on, with the messages that have come by then, up to the end of the longest busy
//! period. Steps beyond it concern nobody who came within it.

use crate::bucket::FINE;
use crate::concave::Line;
use crate::deviation::{Server, TIME_PS_MAX};
use crate::nested::{At, Own, arrived, arriving};
use crate::{Bucket, GroupCurves, SteppedGroup, div_up};
use std::borrow::Cow;
use std::collections::BTreeSet;
use tenuto_units::Picos;

/// Steps of a search from below; each ends at a delay or a time that is not yet enough.
const ROUNDS_MAX: u32 = 2_000;

/// The longest busy period of classes ≤ k with messages as they are, at most `most`, which holds
/// for their buckets.
pub fn busy_period_stepped(server: Server, groups: &[SteppedGroup], most: Picos) -> Picos {
    let spare = server.capacity_ubps
        - sure_rate(groups, |group| {
            group.curves.class.steady.rate_ubps + group.curves.higher.steady.rate_ubps
        });
    let Some(groups) = in_range(server, groups, most.0).filter(|_| spare > 0) else { return most };
    // 0 is none where anything comes.
    let mut w = most.0.min(1);
    for _ in 0..ROUNDS_MAX {
        let lack = catching_up(server, &groups, w);
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
    let Some(groups) = in_range(server, &groups, until).filter(|_| spare > 0) else { return most };
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
    let groups = in_range(server, &groups, horizon.0)?;
    let mut most = 0;
    for from in instants(&groups, horizon.0, 0) {
        let capacity = server.capacity_ubps;
        let base = Line { at_zero: -capacity * from, slope: -capacity, by_delay: 0 };
        let at = At::delayed(0, server.cut()).seen_from(from);
        most = most.max(arriving(base, &groups, &at).peak()?.value_up());
    }
    Some(div_up(most, FINE))
}

/// A rate that the groups bring in any case, whichever of their bounds is the least.
fn sure_rate(groups: &[SteppedGroup], own: impl Fn(&SteppedGroup) -> i128) -> i128 {
    let mut within = vec![0_i128; groups.len()];
    let mut all = 0;
    for (place, group) in groups.iter().enumerate().rev() {
        let flows = own(group) + within[place];
        let sure = group.curves.line.map_or(flows, |line| flows.min(line.rate_ubps));
        *group.curves.around(place).map_or(&mut all, |around| &mut within[around]) += sure;
    }
    all
}

/// The groups, if every sum stays exact; where only lines farther back are too many, without those.
fn in_range(
    server: Server,
    groups: &[SteppedGroup],
    until: i128,
) -> Option<Cow<'_, [SteppedGroup]>> {
    if is_in_range(server, groups, until) {
        return Some(Cow::Borrowed(groups));
    }
    let mut without = groups.to_vec();
    without.iter_mut().filter(|set| set.curves.under.is_some()).for_each(|set| {
        set.curves = set.curves.free();
    });
    is_in_range(server, &without, until).then_some(Cow::Owned(without))
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

/// S + Σ A(t, d) − C·(t+d) where it is largest over t.
fn excess(server: Server, groups: &[SteppedGroup], horizon: i128, d: i128) -> Option<i128> {
    let capacity = server.capacity_ubps;
    let mut most = i128::MIN;
    for from in instants(groups, horizon, d) {
        let at_zero = server.blocking_ubit * FINE - capacity * (d + from);
        let base = Line { at_zero, slope: -capacity, by_delay: -capacity };
        let at = At::delayed(d, server.cut()).seen_from(from);
        most = most.max(arriving(base, groups, &at).peak()?.value_up());
    }
    Some(most)
}

/// S + Σ A(w, 0) − C·w.
fn catching_up(server: Server, groups: &[SteppedGroup], w: i128) -> i128 {
    let (come, _) = arrived(groups, w, server.cut());
    server.blocking_ubit * FINE - server.capacity_ubps * w + come
}

impl Own for SteppedGroup {
    fn curves(&self) -> &GroupCurves {
        &self.curves
    }

    fn come(&self, is_higher: bool, t: i128, cut: Option<i128>) -> i128 {
        self.stepped(is_higher, t, cut).saturating_mul(FINE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Staircase, backlog, busy_period, delay, ubits};
    use proptest::prelude::*;

    const MBIT: u64 = 1_000_000;
    const US: i128 = 1_000_000;

    prop_compose! {
        fn any_stairs()(
            bits in 1..20_000_u64,
            period_us in 200..3_000_i128,
            jitter_us in 0..4_000_i128,
            ppm in prop_oneof![Just(0_u32), Just(200)],
        ) -> Staircase {
            let jitter = Picos(jitter_us * US);
            Staircase { message_ubit: ubits(bits), period_ps: period_us * US, fast_ppm: ppm, jitter }
        }
    }

    prop_compose! {
        fn any_group()(
            class in (0..9_000_u64, 0..8_u64),
            higher in (0..9_000_u64, 0..8_u64),
            flows in proptest::collection::vec((any_stairs(), any::<bool>(), any::<bool>()), 0..3),
            line in proptest::option::of((0..13_000_u64, prop_oneof![Just(100_u64), Just(20), Just(5)])),
        ) -> SteppedGroup {
            let bucket = |(bits, mbps): (u64, u64)| Bucket {
                burst_ubit: ubits(bits),
                rate_ubps: ubits(mbps * MBIT),
            };
            let mut group = SteppedGroup::default();
            group.add(bucket(class), None, false, false);
            group.add(bucket(higher), None, true, false);
            for (stairs, is_higher, ends) in flows {
                let rate = (stairs.message_ubit * 1_000_200 * 1_000_000) / stairs.period_ps + 1;
                let around = Bucket { burst_ubit: stairs.message_ubit, rate_ubps: rate };
                group.add(around.grown(stairs.jitter), Some(stairs), is_higher, ends);
            }
            group.curves.line = line.map(|(bits, mbps)| Bucket::line(ubits(bits), mbps * MBIT));
            group
        }
    }

    prop_compose! {
        fn any_sets()(
            mut sets in proptest::collection::vec(any_group(), 1..5),
            around in proptest::collection::vec(proptest::option::of(0..4_usize), 5),
        ) -> Vec<SteppedGroup> {
            for (place, set) in sets.iter_mut().enumerate() {
                set.curves.under = around[place].filter(|around| *around < place);
            }
            sets
        }
    }

    /// The definition, at one instant: messages counted one by one.
    fn naive(server: Server, groups: &[SteppedGroup], t: i128, d: i128, blocking: i128) -> i128 {
        let cut = server.ending_after.map(|after| after.0);
        let bucket = |b: Bucket, t: i128| b.burst_ubit * FINE + b.rate_ubps * t;
        let steps = |group: &SteppedGroup, is_higher: bool, t: i128| -> i128 {
            let own = group.steps.iter().filter(|step| step.is_higher == is_higher);
            own.map(|step| {
                let t = cut.filter(|_| step.ends).map_or(t, |cut| t.min(cut));
                let due = |n: i128| {
                    n * step.stairs.period_ps * 1_000_000
                        / (1_000_000 + i128::from(step.stairs.fast_ppm))
                };
                let further = (1..).take_while(|n| due(*n) <= t + step.stairs.jitter.0).count();
                (further as i128 + 1) * step.stairs.message_ubit * FINE
            })
            .sum()
        };
        // A_X at t, and H'_X at d.
        fn of(
            sets: &[SteppedGroup],
            place: usize,
            (t, d): (i128, i128),
            flows: &dyn Fn(&SteppedGroup, bool, i128) -> i128,
        ) -> (i128, i128) {
            let set = &sets[place];
            let line = |t: i128| set.curves.line.map_or(i128::MAX, |b| at(b, t));
            let mut come = flows(set, false, t) + flows(set, true, t + d);
            let mut waiting = flows(set, true, d);
            for inner in (0..sets.len()).filter(|&it| sets[it].curves.under == Some(place)) {
                let (arrived, above) = of(sets, inner, (t, d), flows);
                come += arrived;
                waiting += sets[inner].curves.line.map_or(above, |b| above.min(at(b, d)));
            }
            (come.min(line(t).saturating_add(waiting)).min(line(t + d)), waiting)
        }
        fn at(b: Bucket, t: i128) -> i128 {
            b.burst_ubit * FINE + b.rate_ubps * t
        }
        let flows = |set: &SteppedGroup, is_higher: bool, t: i128| {
            let curves = if is_higher { set.curves.higher } else { set.curves.class };
            bucket(curves.steady, t) + steps(set, is_higher, t)
        };
        let roots = (0..groups.len()).filter(|&place| groups[place].curves.under.is_none());
        let sum: i128 = roots.map(|root| of(groups, root, (t, d), &flows).0).sum();
        blocking * FINE + sum - server.capacity_ubps * (t + d)
    }

    proptest! {
        #[test]
        fn whole_messages_hold_and_are_never_above_their_buckets(
            groups in any_sets(),
            cut_us in proptest::option::of(0..3_000_i128),
        ) {
            let blocking = ubits(12_304);
            let ending_after = cut_us.map(|us| Picos(us * US));
            let server = Server { ending_after, ..Server::new(100 * MBIT, blocking) };
            let buckets: Vec<GroupCurves> = groups.iter().map(SteppedGroup::buckets).collect();
            let (Some(most), Some(longest)) = (delay(server, &buckets), busy_period(server, &buckets))
            else { return Ok(()) };
            let w = busy_period_stepped(server, &groups, longest);
            prop_assert!(w <= longest && naive(server, &groups, w.0, 0, blocking) <= 0);
            let d = delay_stepped(server, &groups, w, most);
            prop_assert!(d <= most);
            let back = backlog_stepped(server, &groups, w).expect("small");
            prop_assert!(back <= backlog(server, &buckets).expect("no overload"));
            let mut instants = instants(&groups, w.0, d.0);
            instants.extend((0..=200).map(|part| w.0 * part / 200));
            for t in instants {
                for t in [t - 1, t].into_iter().filter(|t| (0..=w.0).contains(t)) {
                    prop_assert!(naive(server, &groups, t, d.0, blocking) <= 0, "t {} d {}", t, d.0);
                    prop_assert!(naive(server, &groups, t, 0, 0) <= back * FINE, "backlog at {}", t);
                }
            }
        }
    }

    #[test]
    fn a_message_that_is_not_due_again_counts_once() {
        // 1 Mbit every 40 ms and another above it every 25 ms, at 100 Mbit/s: 30 ms are over
        // before either comes a third time; buckets count what trickles in between as well.
        let flow = |bits: u64, ms: i128| {
            let message_ubit = ubits(bits);
            let stairs = Staircase {
                message_ubit,
                period_ps: ms * 1_000 * US,
                fast_ppm: 0,
                jitter: Picos(0),
            };
            let rate_ubps = message_ubit * 1_000 / ms;
            (Bucket { burst_ubit: message_ubit, rate_ubps }, Some(stairs))
        };
        let mut group = SteppedGroup::default();
        let (bucket, stairs) = flow(2_000_000, 40);
        group.add(bucket, stairs, false, false);
        let (bucket, stairs) = flow(500_000, 25);
        group.add(bucket, stairs, true, false);
        let server = Server::new(100 * MBIT, 0);
        let most = delay(server, &[group.buckets()]).expect("70 of 100 Mbit/s");
        let groups = [group];
        let w = busy_period_stepped(server, &groups, Picos(most.0 * 9));
        assert_eq!(w, Picos(30_000 * US), "20 + 5 ms reach the second message above");
        assert_eq!(delay_stepped(server, &groups, w, most), Picos(30_000 * US));
        assert!(most.0 > 30_000 * US);
    }
}
