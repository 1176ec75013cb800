//! The engine's own inequality against the exact operators of tenuto-calculus.

use crate::curves::{Curves, Group, NBIT, Sum};
use proptest::prelude::*;
use tenuto_calculus::{Bucket, Flows, GroupCurves, Server, delay, ubits};
use tenuto_units::Picos;

fn sum() -> impl Strategy<Value = Sum> {
    (0_i64..20_000, 0_i64..20_000_000, 512_i64..12_240).prop_map(|(burst, rate, frame)| Sum {
        burst_nbit: i128::from(burst + frame) * NBIT,
        rate_bps: rate,
        frame_bits: frame,
    })
}

/// Lines on which a bit takes 10 ns, and two on which it takes no whole number of them.
fn rate_bps() -> impl Strategy<Value = i64> {
    prop_oneof![Just(100_000_000_i64), Just(3_000_000_000), Just(10_000_000_000)]
}

fn tick_ns(rate_bps: i64) -> i64 {
    i64::from(1_000_000_000 % rate_bps != 0)
}

fn group(rate_bps: i64, sums: Vec<Option<Sum>>, is_line: bool) -> Group {
    let early_nbit = i128::from(rate_bps * tick_ns(rate_bps)) * i128::from(is_line);
    let line_bps = is_line.then_some(rate_bps);
    let mut group = Group { line_bps, early_nbit, ..Group::default() };
    for (at, sum) in sums.into_iter().enumerate() {
        group.sums[at] = sum.unwrap_or_default();
    }
    group
}

fn curves() -> impl Strategy<Value = Curves> {
    let groups = (proptest::collection::vec(proptest::option::of(sum()), 3), any::<bool>());
    (rate_bps(), proptest::collection::vec(groups, 1..4)).prop_map(|(rate_bps, groups)| Curves {
        rate_bps,
        blocking_bits: 12_240,
        counts_whole_frames: false,
        tick_ns: tick_ns(rate_bps),
        groups: groups.into_iter().map(|(sums, is_line)| group(rate_bps, sums, is_line)).collect(),
    })
}

/// With what a line brings in a tick more than in none, and handed over a tick later.
fn exact(curves: &Curves, queue: usize) -> Option<i128> {
    let bucket = |sum: &Sum| Bucket {
        burst_ubit: sum.burst_nbit / 1_000,
        rate_ubps: i128::from(sum.rate_bps) * 1_000_000,
    };
    let tick = Picos(i128::from(tick_ns(curves.rate_bps)) * 1_000);
    let groups: Vec<GroupCurves> = curves
        .groups
        .iter()
        .map(|group| {
            let mut seen = GroupCurves::default();
            seen.class.add(bucket(&group.sums[queue]), false);
            group.sums[..queue].iter().for_each(|sum| seen.higher.add(bucket(sum), false));
            let frame = group.sums[..=queue].iter().map(|sum| sum.frame_bits).max().unwrap_or(0);
            let frame = ubits(u64::try_from(frame).expect("positive"));
            let has_flows = seen.class != Flows::default() || seen.higher != Flows::default();
            seen.line = group
                .line_bps
                .filter(|_| has_flows)
                .map(|rate| Bucket::line(frame, u64::try_from(rate).expect("positive")))
                .map(|line| line.grown(tick));
            seen
        })
        .collect();
    let blocking = ubits(u64::try_from(curves.blocking_bits).expect("positive"));
    let rate = u64::try_from(curves.rate_bps).expect("positive");
    delay(Server::new(rate, blocking), &groups).map(|delay| delay.0 + tick.0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Never below the exact delay, and above it by nanoseconds at most, from wherever the search
    /// starts.
    #[test]
    fn delays_are_those_of_the_exact_operators(
        curves in curves(),
        queue in 0_usize..3,
        guess in 0_i64..20_000_000,
    ) {
        if curves.rate_up_to(queue) >= curves.rate_bps {
            prop_assert_eq!(curves.delay_ns(queue, guess), None);
            return Ok(());
        }
        let found = i128::from(curves.delay_ns(queue, guess).expect("below capacity"));
        let exact_ps = exact(&curves, queue).expect("below capacity");
        prop_assert!(found * 1_000 >= exact_ps, "{} ns against {} ps", found, exact_ps);
        prop_assert!(found * 1_000 <= exact_ps + 100_000, "{} ns against {} ps", found, exact_ps);
        prop_assert!(curves.holds(queue, i64::try_from(found).expect("small")));
    }

    /// No backlog exceeds what came, and a longer delay never makes it smaller.
    #[test]
    fn backlogs_rise_with_the_delay(curves in curves(), queue in 0_usize..3, delay in 0_i64..5_000_000) {
        let backlog = curves.backlog_bits(queue, delay);
        prop_assert!(i128::from(backlog) * NBIT <= curves.came(queue, delay) + NBIT);
        prop_assert!(backlog <= curves.backlog_bits(queue, delay + 1_000));
    }
}
